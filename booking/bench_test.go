package booking_test

import (
	"fmt"
	"testing"

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
