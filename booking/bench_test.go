package booking_test

import (
	"fmt"
	"testing"
	"time"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// A thousand attendees on one uid are the most that an adapter takes: what
// Decide does with them must not grow with their square, or one delivery would
// hold up everybody's.
func BenchmarkThousandAttendees(b *testing.B) {
	var people []string
	for i := range 1000 {
		people = append(people, fmt.Sprintf("p%04d", i))
	}
	st := booking.NewState()
	seated := bt.New(bt.Calcom, cre, "u", 1, bt.When("10:00", "11:00"), bt.With("maren"), bt.For(people...), bt.Seats(8))
	bt.Merge(st, booking.Decide(st, []booking.Delivery{bt.Deliver(seated, 1)}, bt.Day))
	gone := bt.New(bt.Calcom, can, "u", 3, bt.For(people...), bt.Seats(8))
	for b.Loop() {
		if ch := booking.Decide(st, []booking.Delivery{bt.Deliver(gone, 1)}, bt.Day); len(ch.Bookings) != 1000 {
			b.Fatalf("%d bookings", len(ch.Bookings))
		}
	}
}

// Thousands wait for one place that a long booking holds: when it goes, each is
// looked at once.
func BenchmarkPileReleased(b *testing.B) {
	st := booking.NewState()
	hold := bt.New(bt.Generic, cre, "block", 0, bt.When("08:00", "20:00"), bt.With("maren"), bt.For("priya"))
	bt.Merge(st, booking.Decide(st, []booking.Delivery{bt.Deliver(hold, 1)}, bt.Day))
	for i := range 2000 {
		e := bt.New(bt.Generic, cre, fmt.Sprint("w", i), i+1, bt.With("maren"), bt.For("kofi"))
		from := bt.At("08:00").Add(time.Duration(i) * 20 * time.Second)
		to := from.Add(20 * time.Second)
		e.Session.StartsAt, e.Session.EndsAt = &from, &to
		e.Session.ExternalID = e.ExternalID
		bt.Merge(st, booking.Decide(st, []booking.Delivery{bt.Deliver(e, 1)}, bt.Day))
	}
	gone := bt.New(bt.Generic, can, "block", 5000)
	for b.Loop() {
		if ch := booking.Decide(st, []booking.Delivery{bt.Deliver(gone, 1)}, bt.Day); len(ch.Transitions) != 2001 {
			b.Fatalf("%d transitions", len(ch.Transitions))
		}
	}
}
