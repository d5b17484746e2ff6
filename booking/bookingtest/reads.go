package bookingtest

import (
	"fmt"

	b "slotkeeper/booking"
)

// Read is what the provider's API said of a booking in the nth reading, as of
// minute n: what a backfill or a reconcile has applied among the webhooks.
func Read(s b.Source, kind b.Kind, id string, n, reading int, opts ...Option) *b.Event {
	e := New(s, kind, id, n, opts...)
	e.Key = fmt.Sprintf("read|%06d|%s", reading, id)
	for _, a := range e.Attendees {
		e.Key += ":" + a.Key
	}
	return e
}

// reads are bookings whose webhooks come before, between and after readings, or
// never. Calendly's readings have the invitee's time, Cal.com's their own (R2). That
// one is gone is said only of what was seen here, so that it has no other order.
func reads() []Scenario {
	snap := b.KindSnapshot
	return []Scenario{
		{
			Name: "read while its webhooks are under way",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1), Title("Intro")),
				New(Calendly, miss, "a", 9, In("s"), For("priya"), Missed(true)),
				Read(Calendly, snap, "a", 0, 100, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(false), Room(1), Title("Intro")),
				Read(Calendly, snap, "a", 9, 200, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(true), Room(1), Title("Intro")),
			},
			Want: map[string]string{"calendly/a/": "active "},
		},
		{
			Name: "read before and after a reschedule",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
				Read(Calendly, snap, "a", 0, 100, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
				New(Calendly, can, "a", 5, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), To("c"), Because(b.ReasonRescheduled)),
				New(Calendly, cre, "c", 5, In("s2"), When("10:15", "10:45"), With("maren"), For("priya"), From("a"), Room(1)),
				Read(Calendly, can, "a", 5, 200, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), To("c"), Because(b.ReasonRescheduled)),
				Read(Calendly, snap, "c", 5, 200, In("s2"), When("10:15", "10:45"), With("maren"), For("priya"), From("a"), Room(1)),
			},
			Want: map[string]string{"calendly/a/": "canceled rescheduled", "calendly/c/": "active "},
		},
		{
			Name: "a host was changed in silence",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				Read(Calcom, cre, "a", 20, 100, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
				Read(Calcom, cre, "a", 40, 200, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
			},
			Want: map[string]string{"calcom/a/": "active "},
		},
		{
			Name:   "a host was changed in silence onto a rival's hour",
			Rivals: true,
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				Read(Calcom, cre, "a", 20, 100, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
				New(Calendly, cre, "r", 3, In("s"), When("10:15", "10:45"), With("theo"), For("kofi"), Room(1)),
			},
		},
		{
			Name: "seats read between their webhooks",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya"), Seats(3)),
				New(Calcom, cre, "a", 4, When("10:00", "10:30"), With("maren"), For("kofi"), Seats(3)),
				Read(Calcom, cre, "a", 10, 100, When("10:00", "10:30"), With("maren"), For("priya", "kofi"), Seats(3), Confirmed(), Booked(0)),
				New(Calcom, can, "a", 12, For("kofi"), Seats(3)),
				Read(Calcom, cre, "a", 20, 200, When("10:00", "10:30"), With("maren"), For("priya"), Seats(3), Confirmed(), Booked(0)),
			},
			Want: map[string]string{"calcom/a/priya": "active ", "calcom/a/kofi": "canceled canceled"},
		},
		{
			Name: "only readings tell of it",
			Events: []*b.Event{
				Read(Calcom, req, "a", 10, 100, When("10:00", "10:30"), With("maren"), For("priya"), Booked(0)),
				Read(Calcom, cre, "a", 20, 200, When("10:00", "10:30"), With("maren"), For("priya"), Confirmed(), Booked(0)),
				Read(Calcom, can, "a", 30, 300, When("10:00", "10:30"), With("maren"), For("priya"), Booked(0)),
			},
			Want: map[string]string{"calcom/a/": "canceled canceled"},
		},
	}
}
