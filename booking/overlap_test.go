package booking_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// Which overlaps rules accept depends on what stands, and on no order.
func TestOrderDoesNotMatterToRules(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, story := range bt.OverlapStories() {
		t.Run(story.Name, func(t *testing.T) {
			var set []booking.Delivery
			for _, e := range story.Events {
				set = append(set, bt.Deliver(e, 1))
			}
			want := bt.Picture(playOn(t, story.Begin(), set, one), story.Rivals)
			permutations(len(set), func(p []int) {
				var order []booking.Delivery
				for _, i := range p {
					order = append(order, set[i])
				}
				for _, sizes := range []func() int{one, func() int { return 1 + r.IntN(4) }} {
					copied := withCopies(r, order, story.Events)
					st := playOn(t, story.Begin(), copied, sizes)
					if got := bt.Picture(st, story.Rivals); got != want {
						t.Fatalf("order %v\nends in\n%s\n\nbut the first in\n%s", keys(copied), got, want)
					}
					if why := bt.Check(st) + bt.CheckRules(st); why != "" {
						t.Fatalf("order %v: %s", keys(copied), why)
					}
					if got := bt.Accepted(st); story.Accepted != nil && !slices.Equal(got, story.Accepted) {
						t.Fatalf("order %v: accepted are %v", keys(copied), got)
					}
				}
			})
		})
	}
}

var operator = booking.Actor("user:0b9d6f0e-0000-4000-8000-0000000000aa")

// bookedAt is a create at maren's that the provider took at minute n.
func bookedAt(s booking.Source, id string, n int, from, to string, more ...bt.Option) *booking.Event {
	return bt.New(s, booking.KindCreated, id, n, append([]bt.Option{bt.When(from, to), bt.With("maren"), bt.For("priya")}, more...)...)
}

func takes(t *testing.T, st *booking.State, events ...*booking.Event) booking.Changes {
	t.Helper()
	var set []booking.Delivery
	for _, e := range events {
		set = append(set, bt.Deliver(e, 1))
	}
	ch := booking.Decide(st, set, bt.Day)
	audit(t, st.Ledger, ch)
	bt.Merge(st, ch)
	if why := bt.Check(st); why != "" {
		t.Fatal(why)
	}
	return ch
}

func generic(id string) uuid.UUID { return booking.ID(bt.Generic, id, "") }

func TestAcceptOverlaps(t *testing.T) {
	t.Parallel()
	st := booking.NewState()
	takes(t, st, bookedAt(bt.Generic, "holder", 0, "10:00", "10:30"), bookedAt(bt.Generic, "loser", 1, "10:15", "10:45"),
		bookedAt(bt.Generic, "gone", 2, "12:00", "12:30"), bt.New(bt.Generic, booking.KindCanceled, "gone", 3))
	later := bt.Day.Add(time.Hour)
	ids := []uuid.UUID{generic("loser"), generic("holder"), generic("gone"), generic("loser"), uuid.New()}
	ch, answers := booking.AcceptOverlaps(st, ids, operator, later)
	audit(t, st.Ledger, ch)
	if len(answers) != 3 || answers[0].Refused != nil || answers[0].Unchanged || answers[1].Refused == nil || answers[2].Refused == nil {
		t.Fatalf("answers are %+v", answers)
	}
	if got := answers[1].Refused.Error(); got != "booking: no transition for accept_overlap from active" {
		t.Error(got)
	}
	var told []string
	for _, tr := range ch.Transitions {
		told = append(told, strings.Join([]string{string(tr.Event), string(tr.From), string(tr.To), string(tr.Outcome), string(tr.Reason), tr.Constraint}, " "))
		if tr.Actor != operator || tr.ReceiptID != uuid.Nil || !tr.RecordedAt.Equal(later) {
			t.Errorf("%+v", tr)
		}
	}
	want := []string{
		"accept_overlap conflicted conflicted applied overlap no_overlapping_slots",
		"accept_overlap active active rejected illegal_transition ", "accept_overlap canceled canceled rejected illegal_transition ",
	}
	if !slices.Equal(told, want) {
		t.Errorf("transitions are %q", told)
	}
	if h := ch.Transitions[0].HolderID; h == nil || *h != generic("holder") {
		t.Errorf("the holder is %v", h)
	}
	bt.Merge(st, ch)
	if b := st.Bookings[generic("loser")]; b.Status != booking.Conflicted || !b.OverlapAccepted || b.Reason != booking.ReasonOverlap {
		t.Errorf("it is %+v", b)
	}
	if why := bt.Check(st); why != "" {
		t.Error(why)
	}
	ch, answers = booking.AcceptOverlaps(st, ids[:1], operator, later)
	if len(ch.Transitions)+len(ch.Bookings) > 0 || !answers[0].Unchanged {
		t.Errorf("once more: %+v, %+v", ch, answers)
	}
}

// What was accepted is the conflict as it stood.
func TestAcceptanceEnds(t *testing.T) {
	t.Parallel()
	holder, loser := bookedAt(bt.Generic, "holder", 0, "10:00", "10:30"), bookedAt(bt.Generic, "loser", 1, "10:15", "10:45")
	move := func(id, from, to string) *booking.Event {
		return bt.New(bt.Generic, booking.KindMoved, id, 20, bt.When(from, to))
	}
	full := []*booking.Event{
		bookedAt(bt.Generic, "holder", 0, "10:00", "10:30", bt.In("s"), bt.Room(1)), bookedAt(bt.Generic, "loser", 1, "10:00", "10:30", bt.In("s"), bt.Room(1)),
	}
	for name, c := range map[string]struct {
		before []*booking.Event // holder and loser, when nil
		then   []*booking.Event
		status booking.Status
		stands bool
	}{
		"a copy":                       {then: []*booking.Event{loser}, status: booking.Conflicted, stands: true},
		"told again":                   {then: []*booking.Event{bookedAt(bt.Generic, "loser", 9, "10:15", "10:45")}, status: booking.Conflicted, stands: true},
		"details":                      {then: []*booking.Event{bt.New(bt.Generic, booking.KindDetails, "loser", 9, bt.Title("New"))}, status: booking.Conflicted, stands: true},
		"something elsewhere":          {then: []*booking.Event{bookedAt(bt.Calcom, "x", 9, "12:00", "13:00")}, status: booking.Conflicted, stands: true},
		"another waits too":            {then: []*booking.Event{bookedAt(bt.Calcom, "x", 9, "10:00", "11:00")}, status: booking.Conflicted, stands: true},
		"somebody joins the holder":    {then: []*booking.Event{bookedAt(bt.Generic, "friend", 9, "10:00", "10:30", bt.In("holder"))}, status: booking.Conflicted, stands: true},
		"released":                     {then: []*booking.Event{bt.New(bt.Generic, booking.KindCanceled, "holder", 9)}, status: booking.Active},
		"canceled":                     {then: []*booking.Event{bt.New(bt.Generic, booking.KindCanceled, "loser", 9)}, status: booking.Canceled},
		"moved to where it fits":       {then: []*booking.Event{move("loser", "11:00", "11:30")}, status: booking.Active},
		"moved, still in conflict":     {then: []*booking.Event{move("loser", "10:20", "10:50")}, status: booking.Conflicted},
		"the holder moves, still on":   {then: []*booking.Event{move("holder", "10:20", "10:50")}, status: booking.Conflicted},
		"the holder is another":        {then: []*booking.Event{bookedAt(bt.Calcom, "x", 0, "10:00", "11:00"), bt.New(bt.Generic, booking.KindCanceled, "holder", 9)}, status: booking.Conflicted},
		"another holds beside it":      {then: []*booking.Event{bookedAt(bt.Calcom, "x", 9, "10:30", "11:00")}, status: booking.Conflicted},
		"it goes to another session":   {then: []*booking.Event{bt.New(bt.Generic, booking.KindMoved, "loser", 20, bt.In("z"), bt.When("10:15", "10:45"), bt.With("maren"))}, status: booking.Conflicted},
		"too many, and a seat is free": {before: full, then: []*booking.Event{bt.New(bt.Generic, booking.KindCanceled, "holder", 9, bt.In("s"))}, status: booking.Active},
		"the holder takes its seat": {
			before: []*booking.Event{holder, bookedAt(bt.Generic, "loser", 1, "10:15", "10:45", bt.In("z"), bt.Room(1))},
			then:   []*booking.Event{bt.New(bt.Generic, booking.KindMoved, "holder", 20, bt.In("z"))}, status: booking.Conflicted,
		},
		"too many, nothing changes": {before: full, then: []*booking.Event{bookedAt(bt.Calcom, "x", 9, "10:00", "11:00")}, status: booking.Conflicted, stands: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := booking.NewState()
			if c.before == nil {
				c.before = []*booking.Event{holder, loser}
			}
			takes(t, st, c.before...)
			ch, _ := booking.AcceptOverlaps(st, []uuid.UUID{generic("loser")}, operator, bt.Day)
			bt.Merge(st, ch)
			if !st.Bookings[generic("loser")].OverlapAccepted {
				t.Fatal("it was not accepted")
			}
			takes(t, st, c.then...)
			if b := st.Bookings[generic("loser")]; b.Status != c.status || b.OverlapAccepted != c.stands {
				t.Errorf("it is %s, accepted %v", b.Status, b.OverlapAccepted)
			}
		})
	}
}

func acceptances(ch booking.Changes) (out []string) {
	for _, tr := range ch.Transitions {
		if tr.Event == booking.AcceptOverlap {
			out = append(out, string(tr.Actor)+" "+string(tr.Outcome)+" "+string(tr.Reason))
		}
	}
	return out
}

// A rule accepts in the set in which a booking becomes conflicted, after what made
// it so.
func TestRuleAcceptsAtOnce(t *testing.T) {
	t.Parallel()
	st := bt.OverlapStory{Ruled: []string{"maren"}}.Begin()
	ch := takes(t, st, bookedAt(bt.Generic, "a", 0, "10:00", "10:30"), bookedAt(bt.Generic, "c", 1, "10:00", "10:45"), bookedAt(bt.Calcom, "r", 2, "10:00", "11:00"))
	var got []string
	for _, tr := range ch.Transitions {
		got = append(got, string(tr.Event)+" "+string(tr.To)+" "+string(tr.Actor))
	}
	want := []string{"create active webhook", "create conflicted webhook", "accept_overlap conflicted system", "create conflicted webhook"}
	if !slices.Equal(got, want) {
		t.Errorf("transitions are %q", got)
	}
	if r := ch.Transitions[2]; r.ReceiptID != ch.Transitions[1].ReceiptID || r.HolderID == nil || r.Constraint != booking.FenceSlot {
		t.Errorf("%+v", r)
	}
	if ch.Answers[1].Status != booking.StatusConflict {
		t.Errorf("the answer is %s", ch.Answers[1].Status)
	}
	// Now one of another provider holds it too: nobody accepted that.
	takes(t, st, bt.New(bt.Generic, booking.KindCanceled, "a", 5), bt.New(bt.Generic, booking.KindCanceled, "c", 6), bookedAt(bt.Generic, "d", 7, "10:00", "10:45"))
	if b := st.Bookings[generic("d")]; b.Status != booking.Conflicted || b.OverlapAccepted {
		t.Errorf("it is %+v", b)
	}
}

func TestSetOverlapRule(t *testing.T) {
	t.Parallel()
	maren := bt.RuledID("maren")
	st := booking.NewState()
	takes(t, st, bookedAt(bt.Generic, "a", 0, "10:00", "10:30"), bookedAt(bt.Generic, "c", 1, "10:15", "10:45"), bookedAt(bt.Generic, "d", 2, "10:00", "10:20"),
		bookedAt(bt.Calcom, "r", 3, "10:00", "11:00"), bookedAt(bt.Generic, "full-1", 4, "12:00", "12:30", bt.In("s"), bt.Room(1)),
		bookedAt(bt.Generic, "full-2", 5, "12:00", "12:30", bt.In("s"), bt.Room(1)))
	ch := booking.SetOverlapRule(st, maren, true, bt.Day)
	audit(t, st.Ledger, ch)
	if got := acceptances(ch); len(got) != 2 || got[0][:14] != "system applied" {
		t.Errorf("it accepts %q", got)
	}
	bt.Merge(st, ch)
	if got := bt.Accepted(st); !slices.Equal(got, []string{"generic/c/", "generic/d/"}) {
		t.Errorf("accepted are %v", got)
	}
	if why := bt.Check(st) + bt.CheckRules(st); why != "" {
		t.Error(why)
	}
	if ch := booking.SetOverlapRule(st, maren, true, bt.Day); len(ch.Transitions)+len(ch.Resources)+len(ch.Bookings) > 0 {
		t.Errorf("once more: %+v", ch)
	}
	ch = booking.SetOverlapRule(st, maren, false, bt.Day)
	if len(ch.Transitions)+len(ch.Bookings) > 0 || len(ch.Resources) != 1 {
		t.Errorf("switched off: %+v", ch)
	}
	bt.Merge(st, ch)
	takes(t, st, bookedAt(bt.Generic, "e", 9, "10:00", "10:30"))
	if b := st.Bookings[generic("e")]; b.Status != booking.Conflicted || b.OverlapAccepted {
		t.Errorf("it is %+v", b)
	}
	if got := bt.Accepted(st); len(got) != 2 {
		t.Errorf("accepted are %v", got)
	}
	if ch := booking.SetOverlapRule(st, uuid.New(), true, bt.Day); len(ch.Resources) > 0 {
		t.Errorf("of nothing: %+v", ch)
	}
}

func TestOverlapReason(t *testing.T) {
	t.Parallel()
	for said, ok := range map[string]bool{"": false, " \n": false, "two rooms": true, " padded ": true, "\xff": false, strings.Repeat("ü", 500): true, strings.Repeat("ü", 501): false} {
		got, err := booking.OverlapReason(said)
		if (err == nil) != ok || ok && got != strings.TrimSpace(said) {
			t.Errorf("%.20q: %q, %v", said, got, err)
		}
	}
}
