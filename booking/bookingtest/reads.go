package bookingtest

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	b "slotkeeper/booking"
)

// importing is the reading that brings in what is booked; those after it compare.
const importing = 100

// Read is what the provider's API said of a booking in the nth reading, as of
// minute n: what a backfill or a reconcile has applied among the webhooks.
func Read(s b.Source, kind b.Kind, id string, n, reading int, opts ...Option) *b.Event {
	e := New(s, kind, id, n, opts...)
	e.Key = readKey(reading) + id
	for _, a := range e.Attendees {
		e.Key += ":" + a.Key
	}
	return e
}

func readKey(reading int) string { return fmt.Sprintf("read|%06d|", reading) }

// IsRead tells whether an event was read and not told.
func IsRead(eventKey string) bool { return strings.HasPrefix(eventKey, "read|") }

// reader is who delivers an event that was read.
func reader(eventKey string) b.Actor {
	if strings.HasPrefix(eventKey, readKey(importing)) {
		return b.ActorBackfill
	}
	return b.ActorReconcile
}

// Kept says what is wrong with the receipts of a state, "" when nothing: of deliveries
// that were told each has one, and every row names one that there is. What was read
// has one only where it changed something, which depends on the order.
func Kept(st *b.State, set []b.Delivery) string {
	for _, d := range set {
		if _, ok := st.Receipts[b.ReceiptKey{ConnectionID: d.ConnectionID, EventKey: d.EventKey}]; !ok && !d.Read {
			return "no receipt is kept of " + d.EventKey
		}
	}
	kept := map[uuid.UUID]bool{}
	for _, r := range st.Receipts {
		kept[r.ID] = true
	}
	for _, row := range st.Bookings {
		if !kept[row.LastReceiptID] {
			return fmt.Sprintf("booking %s names a receipt that is not kept", row.ExternalID)
		}
	}
	for _, row := range st.Slots {
		if !kept[row.ReceiptID] {
			return fmt.Sprintf("slot %v names a receipt that is not kept", row)
		}
	}
	return ""
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
				Read(Calendly, snap, "a", 0, importing, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(false), Room(1), Title("Intro")),
				Read(Calendly, snap, "a", 9, 200, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(true), Room(1), Title("Intro")),
			},
			Want: map[string]string{"calendly/a/": "active "},
		},
		{
			// The deletion was told to nobody. What is read last changes nothing where the
			// no-show has not come in yet, and still is the newest that was said of it.
			Name: "a no-show was taken back in silence",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
				New(Calendly, miss, "a", 9, In("s"), For("priya"), Missed(true)),
				Read(Calendly, snap, "a", 0, importing, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(false), Room(1)),
				Read(Calendly, snap, "a", 12, 200, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Missed(false), Room(1)),
			},
			Want: map[string]string{"calendly/a/": "active "},
		},
		{
			Name: "read before and after a reschedule",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
				Read(Calendly, snap, "a", 0, importing, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
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
				Read(Calcom, cre, "a", 20, importing, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
				Read(Calcom, cre, "a", 40, 200, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
			},
			Want: map[string]string{"calcom/a/": "active "},
		},
		{
			Name:   "a host was changed in silence onto a rival's hour",
			Rivals: true,
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				Read(Calcom, cre, "a", 20, importing, When("10:00", "10:30"), With("theo"), For("priya"), Confirmed(), Booked(0)),
				New(Calendly, cre, "r", 3, In("s"), When("10:15", "10:45"), With("theo"), For("kofi"), Room(1)),
			},
		},
		{
			Name: "seats read between their webhooks",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya"), Seats(3)),
				New(Calcom, cre, "a", 4, When("10:00", "10:30"), With("maren"), For("kofi"), Seats(3)),
				Read(Calcom, cre, "a", 10, importing, When("10:00", "10:30"), With("maren"), For("priya", "kofi"), Seats(3), Confirmed(), Booked(0)),
				New(Calcom, can, "a", 12, For("kofi"), Seats(3)),
				Read(Calcom, cre, "a", 20, 200, When("10:00", "10:30"), With("maren"), For("priya"), Seats(3), Confirmed(), Booked(0)),
			},
			Want: map[string]string{"calcom/a/priya": "active ", "calcom/a/kofi": "canceled canceled"},
		},
		{
			Name: "only readings tell of it",
			Events: []*b.Event{
				Read(Calcom, req, "a", 10, importing, When("10:00", "10:30"), With("maren"), For("priya"), Booked(0)),
				Read(Calcom, cre, "a", 20, 200, When("10:00", "10:30"), With("maren"), For("priya"), Confirmed(), Booked(0)),
				Read(Calcom, can, "a", 30, 300, When("10:00", "10:30"), With("maren"), For("priya"), Booked(0)),
			},
			Want: map[string]string{"calcom/a/": "canceled canceled"},
		},
	}
}
