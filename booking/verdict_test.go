package booking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

const (
	req  = booking.KindRequested
	cre  = booking.KindCreated
	mov  = booking.KindMoved
	can  = booking.KindCanceled
	det  = booking.KindDetails
	miss = booking.KindNoShow
)

// R13: what the last delivery of a story is answered, and which transitions it
// leaves, as "event from>to outcome reason actor".
func TestVerdicts(t *testing.T) {
	created := bt.New(bt.Generic, cre, "a", 5, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"), bt.Title("Intro"))
	canceled := bt.New(bt.Generic, can, "a", 9)
	rival := bt.New(bt.Calcom, cre, "r", 2, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("kofi"))
	tests := []struct {
		name   string
		story  []*booking.Event
		status booking.ReceiptStatus
		reason booking.Reason
		trail  []string
	}{
		{"first create", []*booking.Event{created}, booking.StatusProcessed, "", []string{"create >active applied  webhook"}},
		{
			"late create after its cancel",
			[]*booking.Event{canceled, created},
			booking.StatusRejected, booking.ReasonIllegal,
			[]string{"create canceled>canceled rejected illegal_transition webhook"},
		},
		{
			"late request after its cancel",
			[]*booking.Event{canceled, bt.New(bt.Generic, req, "a", 1, bt.When("10:00", "10:30"))},
			booking.StatusRejected, booking.ReasonIllegal,
			[]string{"request canceled>canceled rejected illegal_transition webhook"},
		},
		{
			"a newer move after a cancel is refused too",
			[]*booking.Event{created, canceled, bt.New(bt.Generic, mov, "a", 20, bt.When("12:00", "12:30"))},
			booking.StatusRejected, booking.ReasonIllegal,
			[]string{"move canceled>canceled rejected illegal_transition webhook"},
		},
		{"cancel of an unknown booking leaves a tombstone", []*booking.Event{canceled}, booking.StatusProcessed, booking.ReasonCanceled, []string{"cancel >canceled applied canceled webhook"}},
		{"second cancel", []*booking.Event{canceled, bt.New(bt.Generic, can, "a", 12)}, booking.StatusUnchanged, "", nil},
		{
			"a stronger reason changes only the reason",
			[]*booking.Event{canceled, bt.New(bt.Generic, can, "a", 1, bt.Because(booking.ReasonDeclined))},
			booking.StatusProcessed, "", nil,
		},
		{
			"second subscription's copy",
			[]*booking.Event{created, bt.New(bt.Generic, cre, "a", 6, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"), bt.Title("Intro"), bt.Booked(5))},
			booking.StatusUnchanged, "", nil,
		},
		{
			"overtaken move",
			[]*booking.Event{created, bt.New(bt.Generic, mov, "a", 9, bt.When("12:00", "12:30")), bt.New(bt.Generic, mov, "a", 7, bt.When("11:00", "11:30"))},
			booking.StatusRejected, booking.ReasonStale,
			[]string{"move active>active rejected stale webhook"},
		},
		{
			"overtaken no-show",
			[]*booking.Event{
				created, bt.New(bt.Generic, miss, "a", 9, bt.For("priya"), bt.Missed(true)),
				bt.New(bt.Generic, miss, "a", 8, bt.For("priya"), bt.Missed(false)),
			},
			booking.StatusRejected, booking.ReasonStale,
			[]string{"no_show active>active rejected stale webhook"},
		},
		{
			"older confirming move still confirms",
			[]*booking.Event{
				bt.New(bt.Calcom, req, "c", 5, bt.When("10:00", "10:30"), bt.With("theo"), bt.For("priya")),
				bt.New(bt.Calcom, mov, "c", 2, bt.When("11:00", "11:30"), bt.With("theo"), bt.For("priya"), bt.Confirmed()),
			},
			booking.StatusProcessed, "",
			[]string{"move pending>active applied  webhook"},
		},
		{
			"older create still confirms",
			[]*booking.Event{bt.New(bt.Generic, req, "a", 9, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")), created},
			booking.StatusProcessed, "",
			[]string{"create pending>active applied  webhook"},
		},
		{
			"late request that says nothing new",
			[]*booking.Event{created, bt.New(bt.Generic, req, "a", 1, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"), bt.Booked(5))},
			booking.StatusUnchanged, "", nil,
		},
		{
			"late request that fills a field is refused, the field is kept",
			[]*booking.Event{
				bt.New(bt.Generic, cre, "a", 5, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")),
				bt.New(bt.Generic, req, "a", 1, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"), bt.Title("Asked"), bt.Booked(5)),
			},
			booking.StatusRejected, booking.ReasonIllegal,
			[]string{"request active>active rejected illegal_transition webhook"},
		},
		{
			"details alone",
			[]*booking.Event{created, bt.New(bt.Generic, det, "a", 9, bt.Title("New"))},
			booking.StatusProcessed, "", nil,
		},
		{"details of nobody wait", []*booking.Event{bt.New(bt.Generic, det, "a", 9, bt.Title("New"))}, booking.StatusWaiting, "", nil},
		{
			"a move of time is a transition",
			[]*booking.Event{created, bt.New(bt.Generic, mov, "a", 9, bt.When("12:00", "12:30"))},
			booking.StatusProcessed, "",
			[]string{"move active>active applied  webhook"},
		},
		{
			"a held slot",
			[]*booking.Event{rival, created},
			booking.StatusConflict, booking.ReasonSlotTaken,
			[]string{"create >conflicted applied slot_taken webhook"},
		},
		{
			"an overlapped slot",
			[]*booking.Event{rival, bt.New(bt.Generic, cre, "o", 5, bt.When("10:15", "10:45"), bt.With("maren"), bt.For("lena"))},
			booking.StatusConflict, booking.ReasonOverlap,
			[]string{"create >conflicted applied overlap webhook"},
		},
		{
			"the holder leaves",
			[]*booking.Event{rival, created, bt.New(bt.Calcom, can, "r", 20, bt.For("kofi"))},
			booking.StatusProcessed, booking.ReasonCanceled,
			[]string{"cancel active>canceled applied canceled webhook", "release conflicted>active applied  system"},
		},
		{
			"a successor ends its predecessor first",
			[]*booking.Event{created, bt.New(bt.Generic, cre, "b", 9, bt.When("10:15", "10:45"), bt.With("maren"), bt.For("priya"), bt.From("a"))},
			booking.StatusProcessed, "",
			[]string{"cancel active>canceled applied rescheduled webhook", "create >active applied  webhook"},
		},
		{
			"late cancel after a reschedule",
			[]*booking.Event{
				created, bt.New(bt.Generic, cre, "b", 9, bt.When("10:15", "10:45"), bt.With("maren"), bt.For("priya"), bt.From("a")),
				bt.New(bt.Generic, can, "a", 8),
			},
			booking.StatusUnchanged, "", nil,
		},
		{
			"a group's fellows move along",
			[]*booking.Event{
				bt.New(bt.Generic, cre, "a", 0, bt.In("g"), bt.When("10:00", "11:00"), bt.With("maren"), bt.For("priya")),
				bt.New(bt.Generic, cre, "b", 1, bt.In("g"), bt.When("10:00", "11:00"), bt.With("maren"), bt.For("kofi")),
				bt.New(bt.Generic, mov, "a", 5, bt.In("g"), bt.When("14:00", "15:00"), bt.With("maren")),
			},
			booking.StatusProcessed, "",
			[]string{"move active>active applied  webhook", "move active>active applied  webhook"},
		},
		{
			"one transition per listed attendee",
			[]*booking.Event{bt.New(bt.Calcom, cre, "u", 1, bt.When("10:00", "11:00"), bt.With("maren"), bt.For("kofi", "lena"), bt.Seats(8))},
			booking.StatusProcessed, "",
			[]string{"create >active applied  webhook", "create >active applied  webhook"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := booking.NewState()
			var ch booking.Changes
			for i, e := range tt.story {
				ch = booking.Decide(st, []booking.Delivery{bt.Deliver(e, i)}, bt.Day)
				bt.Merge(st, ch)
			}
			a := ch.Answers[0]
			if a.Status != tt.status || a.Reason != tt.reason {
				t.Errorf("answered %s %q %s, want %s %q", a.Status, a.Reason, a.Error, tt.status, tt.reason)
			}
			if (a.Status == booking.StatusUnchanged || a.Reason == booking.ReasonStale) && lastChanged(ch, a.ReceiptID) {
				t.Error("it changed nothing, and is named as the last that changed a booking")
			}
			var trail []string
			for _, tr := range ch.Transitions {
				trail = append(trail, fmt.Sprintf("%s %s>%s %s %s %s", tr.Event, tr.From, tr.To, tr.Outcome, tr.Reason, tr.Actor))
			}
			if !slices.Equal(trail, tt.trail) {
				t.Errorf("transitions\n%s\nwant\n%s", strings.Join(trail, "\n"), strings.Join(tt.trail, "\n"))
			}
			if why := bt.Check(st); why != "" {
				t.Error(why)
			}
		})
	}
}

// What is refused names who holds the slot and the fence that stands behind it.
func TestConflictNamesItsHolder(t *testing.T) {
	st := booking.NewState()
	holder := bt.New(bt.Calcom, cre, "r", 2, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("kofi"))
	loser := bt.New(bt.Generic, cre, "a", 5, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"))
	ch := booking.Decide(st, []booking.Delivery{bt.Deliver(holder, 1), bt.Deliver(loser, 1)}, bt.Day)
	tr := ch.Transitions[1]
	if want := booking.ID(bt.Calcom, "r", ""); tr.HolderID == nil || *tr.HolderID != want || tr.Constraint != booking.FenceSlot {
		t.Errorf("holder %v, constraint %q", tr.HolderID, tr.Constraint)
	}
}

// R7: what waited applies in the set that makes its booking, and its receipt
// says so.
func TestWaitingIsResolved(t *testing.T) {
	st := booking.NewState()
	missed := bt.New(bt.Calendly, miss, "a", 9, bt.In("s"), bt.For("priya"), bt.Missed(true))
	bt.Merge(st, booking.Decide(st, []booking.Delivery{bt.Deliver(missed, 1)}, bt.Day))
	made := bt.New(bt.Calendly, cre, "a", 0, bt.In("s"), bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"))
	ch := booking.Decide(st, []booking.Delivery{bt.Deliver(made, 1)}, bt.Day)
	if len(ch.Resolved) != 1 || ch.Resolved[0].Status != booking.StatusProcessed || ch.Resolved[0].Event != nil {
		t.Errorf("resolved: %+v", ch.Resolved)
	}
	if len(ch.Bookings) != 1 || !ch.Bookings[0].NoShow {
		t.Errorf("the no-show was lost: %+v", ch.Bookings)
	}
}

func TestCopiesInsideASet(t *testing.T) {
	e := bt.New(bt.Generic, cre, "a", 5, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"))
	ch := booking.Decide(booking.NewState(), []booking.Delivery{bt.Deliver(e, 1), bt.Deliver(e, 1)}, bt.Day)
	if a := ch.Answers[1]; a.Status != booking.StatusDuplicate || a.Original != booking.StatusProcessed || a.ReceiptID != ch.Answers[0].ReceiptID {
		t.Errorf("the copy was answered %+v", a)
	}
	if len(ch.Receipts) != 1 || len(ch.Transitions) != 1 {
		t.Errorf("%d receipts, %d transitions", len(ch.Receipts), len(ch.Transitions))
	}
}

func TestAuditChainFindsAChange(t *testing.T) {
	e := bt.New(bt.Generic, cre, "a", 5, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya"))
	tr := booking.Decide(booking.NewState(), []booking.Delivery{bt.Deliver(e, 1)}, bt.Day).Transitions[0]
	for _, change := range []func(*booking.Transition){
		func(t *booking.Transition) { t.Reason = booking.ReasonOverlap },
		func(t *booking.Transition) { t.Seq++ },
		func(t *booking.Transition) { t.From, t.Event = "c", "reate" },
		func(t *booking.Transition) { t.HolderID = &t.ID },
		func(t *booking.Transition) { t.RecordedAt = t.RecordedAt.Add(1000) },
		func(t *booking.Transition) { t.Prev[0]++ },
	} {
		c := tr
		change(&c)
		if c.Sum() == tr.Hash {
			t.Errorf("unnoticed: %+v", c)
		}
	}
}

// Mapping a host by hand claims its sessions' places: who booked first holds.
func TestRemapClaims(t *testing.T) {
	st := booking.NewState()
	for i, e := range []*booking.Event{
		bt.New(bt.Calendly, cre, "late", 5, bt.In("s1"), bt.When("10:00", "10:30"), bt.NoEmail("maren"), bt.For("priya")),
		bt.New(bt.Calendly, cre, "early", 2, bt.In("s2"), bt.When("10:15", "10:45"), bt.NoEmail("maren"), bt.For("kofi")),
		bt.New(bt.Calcom, cre, "held", 9, bt.When("12:00", "12:30"), bt.With("maren"), bt.For("lena")),
		bt.New(bt.Calendly, cre, "loses", 1, bt.In("s3"), bt.When("12:00", "12:30"), bt.NoEmail("maren"), bt.For("sean")),
	} {
		bt.Merge(st, booking.Decide(st, []booking.Delivery{bt.Deliver(e, i)}, bt.Day))
	}
	maren := booking.Resource{ID: booking.ResourceIDByEmail("maren@harbourclinic.example"), Name: "Maren"}
	ch := booking.Remap(st, booking.Identity{Source: bt.Calendly, ExternalID: "/users/maren"}, maren, booking.ActorSystem, bt.Day)
	bt.Merge(st, ch)
	for id, want := range map[string]booking.Status{"early": booking.Active, "late": booking.Conflicted, "loses": booking.Conflicted} {
		if b := st.Bookings[booking.ID(bt.Calendly, id, "")]; b.Status != want || b.Reason == booking.ReasonUnmapped {
			t.Errorf("%s is %s %s, want %s", id, b.Status, b.Reason, want)
		}
	}
	if why := bt.Check(st); why != "" {
		t.Error(why)
	}
	if len(ch.Transitions) != 2 {
		t.Errorf("%d transitions", len(ch.Transitions))
	}
}
