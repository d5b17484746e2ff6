package booking_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

var alertNow = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// The levels are DESIGN's: 1 is a notice, 5 or a quarter of an hour a warning, 20 or an
// hour a page.
func TestTroubleLevels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind   booking.TroubleKind
		count  int
		lasts  time.Duration
		want   booking.AlertLevel
		detail string
	}{
		{booking.TroubleConnection, 1, 0, booking.LevelNotice, ""},
		{booking.TroubleConnection, 4, 15*time.Minute - time.Second, booking.LevelNotice, ""},
		{booking.TroubleConnection, 5, 0, booking.LevelWarning, ""},
		{booking.TroubleConnection, 1, 15 * time.Minute, booking.LevelWarning, ""},
		{booking.TroubleReceipts, 19, time.Hour - time.Second, booking.LevelWarning, ""},
		{booking.TroubleReceipts, 20, 0, booking.LevelPage, ""},
		{booking.TroubleOpen, 0, time.Hour, booking.LevelPage, ""},
		{booking.TroubleConflict, 1, 100 * time.Hour, booking.LevelWarning, ""},
		{booking.TroubleConflicts, 900, 0, booking.LevelWarning, ""},
		{booking.TroubleDead, 1, 0, booking.LevelWarning, ""},
		{booking.TroubleCopies, 90, time.Hour, booking.LevelNotice, ""},
		{booking.TroubleEndpoint, 1, 15*time.Minute - time.Second, booking.LevelNotice, ""},
		{booking.TroubleEndpoint, 1, 15 * time.Minute, booking.LevelWarning, ""},
		{booking.TroubleEndpoint, 1, 0, booking.LevelWarning, "off_gone"},
		{booking.TroubleUnproven, 90, time.Hour, booking.LevelNotice, booking.UnprovenSome},
		{booking.TroubleUnproven, 5, 2 * time.Hour, booking.LevelWarning, booking.UnprovenAll},
	} {
		got := booking.Trouble{Kind: tt.kind, Count: tt.count, Detail: tt.detail, Since: alertNow.Add(-tt.lasts)}.Level(alertNow)
		if got != tt.want {
			t.Errorf("%s, %d in a row for %s: %s, want %s", tt.kind, tt.count, tt.lasts, got, tt.want)
		}
	}
}

// One outage is one alert, told when it begins, when it becomes worse, and when it is
// over; never twice, and not when it becomes less.
func TestStepAlerts(t *testing.T) {
	t.Parallel()
	failing := func(count int, at time.Time) []booking.Trouble {
		return []booking.Trouble{{Kind: booking.TroubleConnection, Subject: "c", Count: count, Since: at}}
	}
	var open []booking.Alert
	began := alertNow
	for i, tt := range []struct {
		after    time.Duration
		troubles []booking.Trouble
		event    booking.AlertEvent
		level    booking.AlertLevel
	}{
		{0, failing(1, began), booking.AlertOpened, booking.LevelNotice},
		{time.Minute, failing(2, began), "", booking.LevelNotice},
		{5 * time.Minute, failing(6, began), booking.AlertWorse, booking.LevelWarning},
		{6 * time.Minute, failing(2, began), "", booking.LevelWarning}, // it was worse: it stays what it was
		{70 * time.Minute, failing(2, began), booking.AlertWorse, booking.LevelPage},
		{71 * time.Minute, nil, "", booking.LevelPage}, // it may come back
		{81 * time.Minute, nil, booking.AlertRecovered, booking.LevelPage},
	} {
		steps := booking.StepAlerts(open, tt.troubles, alertNow.Add(tt.after))
		if len(steps) != 1 || steps[0].Event != tt.event || steps[0].Alert.Level != tt.level {
			t.Fatalf("step %d: %+v, want %s at %s", i, steps, tt.event, tt.level)
		}
		if len(open) > 0 && steps[0].Alert.ID != open[0].ID {
			t.Errorf("step %d: another alert", i)
		}
		open = []booking.Alert{steps[0].Alert}
	}
	lasts := booking.StepAlerts(nil, failing(1, began), alertNow)[0].Alert
	if steps := booking.StepAlerts([]booking.Alert{lasts}, failing(1, began), alertNow.Add(time.Minute)); len(steps) != 0 {
		t.Errorf("nothing happened to it, and it is written again: %+v", steps)
	}
	// Nobody knows since when: since it was found, and it grows old from there.
	steps := booking.StepAlerts(nil, []booking.Trouble{{Kind: booking.TroubleReceipts, Subject: "c", Count: 1}}, alertNow)
	steps = booking.StepAlerts([]booking.Alert{steps[0].Alert}, []booking.Trouble{{Kind: booking.TroubleReceipts, Subject: "c", Count: 1}}, alertNow.Add(time.Hour))
	if steps[0].Event != booking.AlertWorse || steps[0].Alert.Level != booking.LevelPage || !steps[0].Alert.Since.Equal(alertNow) {
		t.Errorf("%+v", steps)
	}
}

func TestWhoHears(t *testing.T) {
	t.Parallel()
	room, other := uuid.New(), uuid.New()
	step := booking.AlertStep{Alert: booking.Alert{Level: booking.LevelWarning}, Event: booking.AlertOpened, Resources: []uuid.UUID{room}}
	for name, tt := range map[string]struct {
		r    booking.AlertRecipient
		want bool
	}{
		"everything":       {booking.AlertRecipient{Least: booking.LevelNotice}, true},
		"its level":        {booking.AlertRecipient{Least: booking.LevelWarning}, true},
		"pages only":       {booking.AlertRecipient{Least: booking.LevelPage}, false},
		"the resource":     {booking.AlertRecipient{Least: booking.LevelNotice, Resources: []uuid.UUID{room}}, true},
		"another resource": {booking.AlertRecipient{Least: booking.LevelNotice, Resources: []uuid.UUID{other}}, false},
		"several":          {booking.AlertRecipient{Least: booking.LevelNotice, Resources: []uuid.UUID{other, room}}, true},
	} {
		if got := tt.r.Hears(step); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	step.Event = ""
	if (booking.AlertRecipient{Least: booking.LevelNotice}).Hears(step) {
		t.Error("nothing new is told")
	}
}

// flap has a trouble be there in every other step of so long, and gives what is told.
func flap(every, lasts time.Duration) (told map[booking.AlertEvent]int, alerts int) {
	known, told, seen := map[uuid.UUID]booking.Alert{}, map[booking.AlertEvent]int{}, map[uuid.UUID]bool{}
	look := func(now time.Time, wrong bool) {
		var troubles []booking.Trouble
		if wrong {
			troubles = []booking.Trouble{{Kind: booking.TroubleConnection, Subject: "c", Count: 1, Since: now}}
		}
		var all []booking.Alert
		for _, a := range known {
			if a.ClosedAt == nil || now.Sub(*a.ClosedAt) < booking.ReturnsWithin {
				all = append(all, a)
			}
		}
		for _, s := range booking.StepAlerts(all, troubles, now) {
			known[s.Alert.ID] = s.Alert
			seen[s.Alert.ID] = true
			told[s.Event]++
		}
	}
	const look20 = 20 * time.Second
	for at := time.Duration(0); at < lasts; at += look20 {
		look(alertNow.Add(at), (at/every)%2 == 0)
	}
	for at := lasts; at < lasts+2*time.Hour; at += look20 {
		look(alertNow.Add(at), false)
	}
	return told, len(seen)
}

// Whoever is told of something that comes and goes each minute is told once that it is
// and once that it is over, not sixty times. Slower coming and going is told at most
// twice an hour, and never lost.
func TestFlapping(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		every, lasts     time.Duration
		opened, returned int
	}{
		"each minute, for an hour":      {time.Minute, time.Hour, 1, 0},
		"each minute, for a day":        {time.Minute, 24 * time.Hour, 1, 0},
		"each quarter of an hour":       {15 * time.Minute, 6 * time.Hour, 1, 1},
		"every hour and a half, a day":  {90 * time.Minute, 24 * time.Hour, 8, 0},
		"once, for a look":              {20 * time.Second, 40 * time.Second, 1, 0},
		"away for less than it is calm": {9 * time.Minute, time.Hour, 1, 0},
	} {
		told, alerts := flap(tt.every, tt.lasts)
		if told[booking.AlertOpened] != tt.opened || told[booking.AlertReturned] != tt.returned || alerts != tt.opened {
			t.Errorf("%s: told %v in %d alerts", name, told, alerts)
		}
		if told[booking.AlertRecovered] != tt.opened+tt.returned {
			t.Errorf("%s: %d times over, %v", name, told[booking.AlertRecovered], told)
		}
		if n := told[booking.AlertOpened] + told[booking.AlertReturned] + told[booking.AlertRecovered]; n > 2+2*int(tt.lasts/time.Hour) {
			t.Errorf("%s: told %d times", name, n)
		}
	}
}

// What a person ends is over at once; if it is there again soon, it is the alert from
// before, told anew and under a name of its own, and nobody sees to it yet.
func TestAlertReturns(t *testing.T) {
	t.Parallel()
	wrong := []booking.Trouble{{Kind: booking.TroubleConflict, Subject: "b", Count: 1, Since: alertNow}}
	step := func(known booking.Alert, troubles []booking.Trouble, after time.Duration, want booking.AlertEvent) booking.Alert {
		t.Helper()
		var all []booking.Alert
		if known.ID != uuid.Nil {
			all = append(all, known)
		}
		steps := booking.StepAlerts(all, troubles, alertNow.Add(after))
		if len(steps) != 1 || steps[0].Event != want {
			t.Fatalf("after %s: %+v, want %s", after, steps, want)
		}
		return steps[0].Alert
	}
	a := step(booking.Alert{}, wrong, 0, booking.AlertOpened)
	a.AcknowledgedBy, a.AcknowledgedAt = "user:x", &alertNow
	first := a.ToldBefore()
	over := step(a, nil, time.Minute, booking.AlertRecovered)
	again := step(over, wrong, 2*time.Minute, booking.AlertReturned)
	if again.ID != a.ID || again.ClosedAt != nil || again.GoneAt != nil || again.AcknowledgedBy != "" || again.AcknowledgedAt != nil {
		t.Errorf("%+v", again)
	}
	for _, id := range again.ToldBefore() {
		for _, before := range first {
			if id == before {
				t.Error("who was told the first time is taken for told of the second")
			}
		}
	}
	if over.Told(booking.AlertRecovered) == again.Told(booking.AlertRecovered) {
		t.Error("that it is over a second time would be told to nobody")
	}
	gone := step(again, nil, 3*time.Minute, "")
	if steps := booking.StepAlerts([]booking.Alert{gone}, nil, alertNow.Add(60*time.Minute)); len(steps) != 0 {
		t.Errorf("over too soon: %+v", steps)
	}
	step(gone, nil, 63*time.Minute, booking.AlertRecovered)
}

// A wrong secret shows after a few posts, since its bookings do not arrive. A stranger
// who posts beside the provider is a notice, and not at each try.
func TestUnprovenTrouble(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return alertNow.Add(time.Duration(minutes) * time.Minute) }
	for name, tt := range map[string]struct {
		posts  [3]int // in parts that begin at 9:00, 9:05 and 9:10
		proven time.Time
		want   string
		count  int
	}{
		"a few, none proven":        {[3]int{2, 0, 3}, time.Time{}, booking.UnprovenAll, 5},
		"fewer":                     {[3]int{4, 0, 0}, time.Time{}, "", 0},
		"a few before":              {[3]int{5, 0, 54}, at(11), "", 0},
		"many before":               {[3]int{5, 0, 55}, at(11), booking.UnprovenSome, 60},
		"the secret changed at two": {[3]int{3, 4, 1}, at(2), booking.UnprovenAll, 5},
	} {
		u := booking.Unproven{ConnectionID: uuid.New(), Proven: tt.proven}
		for i, n := range tt.posts {
			if n > 0 {
				u.Parts = append(u.Parts, booking.UnprovenPosts{At: at(5 * i), Posts: n})
			}
		}
		got, is := u.Trouble()
		if is != (tt.want != "") || is && (got.Detail != tt.want || got.Count != tt.count) {
			t.Errorf("%s: %+v, %v", name, got, is)
		}
	}
}
