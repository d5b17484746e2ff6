package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// meeting is a full house in which three people are in the meeting that holds what
// Jonas Keller waits for.
func meeting() *records {
	r := full()
	names := map[byte]string{41: "Hanna Lindqvist", 42: "Kofi Petrov"}
	var held booking.View
	for i := range r.bookings {
		switch b := &r.bookings[i]; b.ID {
		case id(21):
			held = *b
		case id(22):
			b.ConflictsWith = []uuid.UUID{id(21), id(41), id(42)}
		}
	}
	for n, name := range names {
		b := held
		b.ID, b.ChainID, b.Invitee = id(n), id(n), booking.Person{Name: name}
		r.bookings = append(r.bookings, b)
	}
	return r
}

// An overlap that somebody accepted is settled: no view shows it as what waits for a
// person.
func TestAcceptedOverlapIsCalm(t *testing.T) {
	t.Parallel()
	r := full()
	for i := range r.bookings {
		if b := &r.bookings[i]; b.ID == id(22) {
			b.OverlapAccepted = true
		}
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Operator)
	for _, view := range []string{"day", "week", "resources", "month"} {
		accepted := shows(t, w.get(t, browser, "/calendar?view="+view), "accepted")
		if len(accepted) == 0 || !strings.HasPrefix(accepted[0], "✓ overlap accepted:") || strings.Contains(accepted[0], "⚠") {
			t.Errorf("%s: %q", view, accepted)
		}
	}
	open := newWorld(t, full(), nil)
	for _, view := range []string{"day", "week", "resources", "month"} {
		res := open.get(t, open.user(t, "of."+view, access.Operator), "/calendar?view="+view)
		if accepted := shows(t, res, "accepted"); len(accepted) > 0 {
			t.Errorf("%s: nobody accepted %q", view, accepted)
		}
		if lost := shows(t, res, "is-conflicted"); !slices.ContainsFunc(lost, func(s string) bool {
			return strings.Contains(s, "⚠ conflicted:") && strings.Contains(s, "Jonas Keller")
		}) {
			t.Errorf("%s: %q", view, lost)
		}
	}
}

// Whoever looks at the one that holds a slot learns of the one that waits, in the grids
// as in the list; and of the one that waits who holds it.
func TestBothSidesOfAConflictSaySo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Operator)
	for _, view := range []string{"day", "week", "resources"} {
		marked := slices.DeleteFunc(shows(t, w.get(t, browser, "/calendar?view="+view), "is-active"), func(s string) bool { return !strings.Contains(s, "⚠") })
		if len(marked) != 1 || !strings.Contains(marked[0], "Rani Wijaya") || !strings.Contains(marked[0], "Jonas Keller also booked this time") {
			t.Errorf("%s: %q", view, marked)
		}
	}
	lost := section(t, w.get(t, browser, "/calendar").body, `<tr role="row" class="is-conflicted"`, "</tr>")
	has(t, "the row that waits", lost, "Held by", `/bookings/`+id(21).String(), "Rani Wijaya", "14:00–14:45")
}

// A meeting of several is one that holds the slot: it is named once, in a warning and in
// the panel, and canceling one of its people is not what helps.
func TestMeetingThatHoldsASlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, meeting(), nil)
	operator, viewer := w.user(t, "ayu", access.Operator), w.user(t, "budi", access.Viewer)
	agenda := w.get(t, operator, "/calendar")
	if n := strings.Count(agenda.body, "Jonas Keller also booked this time"); n != 1 {
		t.Errorf("the list warns of one booking %d times", n)
	}
	row := section(t, agenda.body, `<tr role="row" class="is-conflicted"`, "</tr>")
	has(t, "the row that waits", row, "3 people")
	if n := strings.Count(row, "Held by"); n != 1 {
		t.Errorf("it is held by %d meetings", n)
	}
	detail := func(browser *http.Client, n byte) string {
		return strings.Join(shows(t, w.get(t, browser, "/calendar?booking="+id(n).String()), "detail"), "")
	}
	const whole = "move or cancel the booking of Jonas Keller, or the whole meeting (3 people), at its provider"
	waits := detail(operator, 22)
	has(t, "who waits", waits, "Intake call · Jonas Keller", "3 people", "Rani Wijaya", "Hanna Lindqvist", "Kofi Petrov", "What to do: "+whole)
	if n := strings.Count(waits, "14:00–14:45"); n != 1 {
		t.Errorf("the meeting is told %d times: %q", n, waits)
	}
	has(t, "who waits, to a viewer", detail(viewer, 22), "ask an operator to "+whole)
	for _, n := range []byte{21, 41} {
		has(t, "who holds", detail(operator, n), "What to do: "+whole)
	}
	for _, text := range []string{waits, detail(operator, 21)} {
		hasNot(t, "the panel", text, "cancel one of them")
	}
}

// Where every seat of a group is taken, one that is given up is enough.
func TestFullGroupNeedsOneSeat(t *testing.T) {
	t.Parallel()
	r := meeting()
	for i := range r.bookings {
		if b := &r.bookings[i]; b.ID == id(22) {
			b.SessionID, b.Reason = id(121), booking.ReasonCapacityFull
		}
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Operator)
	for _, n := range []byte{21, 22} {
		has(t, "the panel", w.get(t, browser, "/calendar?booking="+id(n).String()).body, "What to do: cancel one of them")
	}
}

// A conflict in a column that is seen only by scrolling has a way to it.
func TestConflictBeyondTheColumnsSeen(t *testing.T) {
	t.Parallel()
	r := full()
	for n := range 9 {
		r.resources = append(r.resources, booking.ResourceView{Resource: booking.Resource{ID: id(byte(50 + n)), Name: "Booth " + string(rune('1'+n))}})
	}
	w := newWorld(t, r, nil)
	body := w.get(t, w.user(t, "ayu", access.Operator), "/calendar?view=resources").body
	has(t, "above the columns", section(t, body, `<p class="many">`, "</p>"), "Conflicts further right:", `<a href="#r-`+id(10).String()+`">Consulting room</a>`)
	has(t, "the column", body, `id="r-`+id(10).String()+`"`)
}

// What lasts nearly a day stands on top of its days, with its hours: in the grid it
// would take half the width of what is booked beside it.
func TestLongBookingsStandOnTopOfTheirDays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to string
		want     []string
	}{
		"a day from one to one":  {"2026-11-30T18:00:00Z", "2026-12-01T18:00:00Z", []string{"✓ active: from 01:00 Only one", "✓ active: until 01:00 Only one"}},
		"a whole day":            {"2026-11-30T17:00:00Z", "2026-12-01T17:00:00Z", []string{"✓ active: Only one"}},
		"most of one":            {"2026-11-30T19:00:00Z", "2026-12-01T15:30:00Z", []string{"✓ active: 02:00–22:30 Only one"}},
		"a long shift is no day": {"2026-11-30T19:00:00Z", "2026-12-01T14:30:00Z", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, booked(tt.from, tt.to), nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?view=week")
			got := slices.DeleteFunc(shows(t, res, "allday"), func(s string) bool { return s == "" })
			if !slices.Equal(got, tt.want) {
				t.Errorf("on top of the days there is %q, want %q", got, tt.want)
			}
			if entries := shows(t, res, "entry"); (len(entries) == 0) != (tt.want != nil) {
				t.Errorf("in the grid there is %q", entries)
			}
		})
	}
}

// In the hour that happens twice each booking says which of the two it is in, and the
// hours' column has both zones.
func TestRepeatedHourHasItsZone(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-01T05:15:00Z", "2026-11-01T05:45:00Z")
	again := r.bookings[0]
	from, to := again.StartsAt.Add(time.Hour), again.EndsAt.Add(time.Hour)
	again.ID, again.Title, again.StartsAt, again.EndsAt = id(22), "Another", &from, &to
	day := again
	nine, ten := from.Add(8*time.Hour), to.Add(8*time.Hour)
	day.ID, day.Title, day.StartsAt, day.EndsAt = id(23), "By day", &nine, &ten
	r.bookings = append(r.bookings, again, day)
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range []string{"day", "week", "resources"} {
		res := w.get(t, browser, "/calendar?view="+view+"&zone=America/New_York&date=2026-11-01")
		want := []string{"✓ active: 01:15 EDT –01:45 EDT Only one", "✓ active: 01:15 EST –01:45 EST Another", "✓ active: 09:15 –09:45 By day"}
		if got := shows(t, res, "entry"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", view, got, want)
		}
		has(t, view, res.body, `title="01:15–01:45 EDT · Only one"`, `title="01:15–01:45 EST · Another"`, `title="09:15–09:45 · By day"`)
		if head := shows(t, res, "gutter-head"); len(head) != 1 || !strings.Contains(head[0], "EST") || view != "week" && head[0] != "EDT/EST" {
			t.Errorf("%s: over the hours it says %q", view, head)
		}
	}
	month := shows(t, w.get(t, browser, "/calendar?view=month&zone=America/New_York&date=2026-11-01"), "pill-time")
	if !slices.Equal(month, []string{"01:15 EDT", "01:15 EST", "09:15"}) {
		t.Errorf("in the month: %q", month)
	}
}
