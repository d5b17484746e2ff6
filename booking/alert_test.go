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
		kind  booking.TroubleKind
		count int
		lasts time.Duration
		want  booking.AlertLevel
	}{
		{booking.TroubleConnection, 1, 0, booking.LevelNotice},
		{booking.TroubleConnection, 4, 15*time.Minute - time.Second, booking.LevelNotice},
		{booking.TroubleConnection, 5, 0, booking.LevelWarning},
		{booking.TroubleConnection, 1, 15 * time.Minute, booking.LevelWarning},
		{booking.TroubleReceipts, 19, time.Hour - time.Second, booking.LevelWarning},
		{booking.TroubleReceipts, 20, 0, booking.LevelPage},
		{booking.TroubleOpen, 0, time.Hour, booking.LevelPage},
		{booking.TroubleConflict, 1, 100 * time.Hour, booking.LevelWarning},
		{booking.TroubleConflicts, 900, 0, booking.LevelWarning},
		{booking.TroubleDead, 1, 0, booking.LevelWarning},
		{booking.TroubleCopies, 90, time.Hour, booking.LevelNotice},
	} {
		got := booking.Trouble{Kind: tt.kind, Count: tt.count, Since: alertNow.Add(-tt.lasts)}.Level(alertNow)
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
		{71 * time.Minute, nil, booking.AlertRecovered, booking.LevelPage},
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
	if steps := booking.StepAlerts(nil, failing(1, began), alertNow); steps[0].Alert.ID == open[0].ID {
		t.Error("the next outage is the same alert")
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
		"the resource":     {booking.AlertRecipient{Least: booking.LevelNotice, ResourceID: room}, true},
		"another resource": {booking.AlertRecipient{Least: booking.LevelNotice, ResourceID: other}, false},
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
