package booking_test

import (
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/bookingtest"
)

// TestReadsLeaveNoTraceOfNothing reads what stands already: what was read is
// newer and is kept, but there is no receipt, so that comparing every quarter of an
// hour does not grow the database. A read that changes something has one.
func TestReadsLeaveNoTraceOfNothing(t *testing.T) {
	t.Parallel()
	at := []bookingtest.Option{bookingtest.When("10:00", "10:30"), bookingtest.With("maren"), bookingtest.For("priya")}
	told := bookingtest.New(bookingtest.Calcom, booking.KindCreated, "a", 0, at...)
	st := booking.NewState()
	apply(t, st, deliver(told))

	same := deliver(bookingtest.Read(bookingtest.Calcom, booking.KindCreated, "a", 20, 1, at...))
	ch := booking.Decide(st, []booking.Delivery{same}, bookingtest.Said(60))
	if a := ch.Answers[0]; a.Status != booking.StatusUnchanged || len(ch.Receipts) != 0 || len(ch.Transitions) != 0 {
		t.Errorf("answered %+v with %d receipts and %d transitions", a, len(ch.Receipts), len(ch.Transitions))
	}
	if len(ch.Sessions) == 0 || !ch.Sessions[0].TimeAt.At.Equal(bookingtest.Said(20)) {
		t.Errorf("the time of the read is not kept: %+v", ch.Sessions)
	}

	other := deliver(bookingtest.Read(bookingtest.Calcom, booking.KindCreated, "a", 30, 2,
		bookingtest.When("11:00", "11:30"), bookingtest.With("maren"), bookingtest.For("priya")))
	ch = booking.Decide(st, []booking.Delivery{same, other}, bookingtest.Said(60))
	if len(ch.Receipts) != 1 || ch.Receipts[0].ID != other.ReceiptID || len(ch.Transitions) != 1 {
		t.Errorf("receipts %+v, %d transitions", ch.Receipts, len(ch.Transitions))
	}
	for _, b := range ch.Bookings {
		if b.LastReceiptID != other.ReceiptID && b.LastReceiptID != bookingtest.Deliver(told, 1).ReceiptID {
			t.Errorf("a booking names a receipt that is not kept: %+v", b)
		}
	}
}

func deliver(e *booking.Event) booking.Delivery { return bookingtest.Deliver(e, 1) }

func apply(t *testing.T, st *booking.State, set ...booking.Delivery) {
	t.Helper()
	ch := booking.Decide(st, set, bookingtest.Said(60))
	for _, a := range ch.Answers {
		if a.Status == booking.StatusFailed {
			t.Fatalf("%+v", a)
		}
	}
	bookingtest.Merge(st, ch)
}
