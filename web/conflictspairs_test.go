package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Who cancels one of a group at a provider that can only cancel the whole meeting must
// know that before the click: one button stands for all. Where each has a seat of their
// own, each has a button.
func TestGroupThatHoldsASlot(t *testing.T) {
	t.Parallel()
	const whole, one = "Cancel the whole meeting", "Cancel this one"
	for name, tt := range map[string]struct {
		provider string
		asked    byte // for whom a cancel is under way; 0 for nobody
		whole    int  // buttons on the holder's side
		one      int
	}{
		"a provider that cancels meetings":       {provider: "calendly", whole: 1},
		"which is asked to, at another of them":  {provider: "calendly", asked: 36},
		"a provider that cancels one seat":       {provider: "calcom", one: 3},
		"which is asked to cancel one of theirs": {provider: "calcom", asked: 36, one: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e := acting(t)
			e.list = nil
			r := w.records
			holder, waits := &r.bookings[2], &r.bookings[3]
			holder.Provider = tt.provider
			for n, who := range map[byte]string{36: "Kofi <b>", 37: "Yusuf"} {
				b := *holder
				b.ID, b.Invitee = id(n), booking.Person{Name: who, Email: fmt.Sprintf("p%d@example.com", n)}
				r.bookings = append(r.bookings, b)
			}
			r.bookings[3].ConflictsWith = []uuid.UUID{holder.ID, id(36), id(37)}
			if tt.asked != 0 {
				e.list = append(e.list, booking.Effect{
					ID: id(190), Kind: booking.EffectCancel, Status: booking.EffectPending, CreatedAt: noon, DueAt: noon,
					Lane: booking.Lane{BookingID: id(tt.asked), Target: "there"},
				})
			}
			browser := w.user(t, "ayu", access.Operator)
			for _, lang := range []string{"en", "id"} {
				wholesome(t, w.get(t, browser, "/conflicts", "Accept-Language", lang), lang)
				wholesome(t, w.get(t, browser, "/bookings/"+waits.ID.String(), "Accept-Language", lang), lang)
			}
			_, side, _ := strings.Cut(w.get(t, browser, "/conflicts?booking="+id(22).String()).body, "Holds the slot")
			side, _, _ = strings.Cut(side, "</ol>")
			has(t, "the holder's side", side, "3 people", "Rani Wijaya", "Kofi &lt;b&gt;", "mailto:p37@example.com")
			if got := strings.Count(side, ">Intake call</a>"); got != 1 {
				t.Errorf("the title stands there %d times", got)
			}
			if got := strings.Count(side, whole); got != tt.whole {
				t.Errorf("%d buttons for the whole meeting, want %d", got, tt.whole)
			}
			if got := strings.Count(side, one); got != tt.one {
				t.Errorf("%d buttons for one of them, want %d", got, tt.one)
			}
			page := w.get(t, browser, "/bookings/"+id(22).String()).body
			has(t, "the booking's page", page, "a group meeting with 3 people holds its time", "Kofi &lt;b&gt;")
			hasNot(t, "the booking's page", page, "its place is held by another")
		})
	}
}

// A booking without a seat is in the meeting that it waits for.
func TestFullGroupIsCanceledWhole(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	e.list = nil
	holder, waits := w.records.bookings[2], &w.records.bookings[3]
	waits.Provider, waits.SessionID, waits.Reason = holder.Provider, holder.SessionID, booking.ReasonCapacityFull
	browser := w.user(t, "ayu", access.Operator)
	page := w.get(t, browser, "/conflicts?booking="+id(22).String()).body
	if strings.Count(page, "Cancel the whole meeting") != 2 || strings.Contains(page, "Cancel this one") {
		t.Errorf("either side cancels the whole meeting, and the page offers %q", page)
	}
	has(t, "the booking's page", w.get(t, browser, "/bookings/"+id(22).String()).body, "every seat of the group is taken")
}

// What lies in the past is beyond help: it neither comes first nor looks urgent, however
// much of it there is.
func TestPastConflictsComeLast(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	browser := w.user(t, "ayu", access.Operator)
	page := w.get(t, browser, "/conflicts?past=1")
	wholesome(t, page, "en")
	if past, coming := strings.Index(page.body, "Person 33"), strings.Index(page.body, "Person 32"); past < coming || coming < 0 {
		t.Error("the one that is over comes first")
	}
	_, over, found := strings.Cut(page.body, `class="card pair over"`)
	if !found || strings.Contains(over, "Person 32") {
		t.Fatal("the wrong one is over")
	}
	has(t, "the one that is over", over, `<span class="tag">over</span>`)
	has(t, "in Indonesian", w.get(t, browser, "/conflicts?past=1", "Accept-Language", "id").body, "sudah lewat")

	base := o.records.bookings[3]
	from, to := noon.Add(-3*time.Hour), noon.Add(-2*time.Hour)
	base.StartsAt, base.EndsAt = &from, &to
	for n := range 30 {
		b := base
		b.ID, b.SessionID = uuid.UUID{1, byte(n)}, uuid.UUID{2, byte(n)}
		b.Invitee = booking.Person{Name: fmt.Sprintf("Past %d.", n)}
		o.records.bookings = append([]booking.View{b}, o.records.bookings...)
	}
	seen, path := map[string]int{}, "/conflicts?past=1"
	for n := 0; path != "" && n < 5; n++ {
		body := w.get(t, browser, path).body
		if (n == 0) != strings.Contains(body, "Person 32") {
			t.Errorf("page %d: the one to come stands on the first", n)
		}
		for i := range 30 {
			if strings.Contains(body, fmt.Sprintf("Past %d.</a>", i)) {
				seen[fmt.Sprint(i)]++
			}
		}
		before, _, more := strings.Cut(body, `" rel="next"`)
		path = ""
		if more {
			path = strings.ReplaceAll(before[strings.LastIndex(before, `href="`)+len(`href="`):], "&amp;", "&")
		}
	}
	if len(seen) != 30 {
		t.Errorf("%d of 30 are listed", len(seen))
	}
	for who, n := range seen {
		if n != 1 {
			t.Errorf("Past %s is listed %d times", who, n)
		}
	}
	hasNot(t, "without the past", w.get(t, browser, "/conflicts").body, "Past 1.")
}

// What somebody accepted looks settled.
func TestAcceptedConflictIsCalm(t *testing.T) {
	t.Parallel()
	w, _ := quarrels(t)
	page := w.get(t, w.user(t, "ayu", access.Operator), "/conflicts?show=accepted").body
	pairs := section(t, page, `<ol class="pairs">`, "</ol>")
	has(t, "page", pairs, "Accepted overlap", "Has no slot of its own", "overlap accepted")
	hasNot(t, "page", pairs, "⚠", "is-conflicted", "Waits, without a slot", "slot is taken")
}
