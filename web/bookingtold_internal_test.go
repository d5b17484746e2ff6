package web

import (
	"testing"
	"time"

	"slotkeeper/booking"
)

// What canceled a booking is the change that was applied: not one that was refused,
// nor a later word about a booking that was canceled before.
func TestWhatCanceledABooking(t *testing.T) {
	t.Parallel()
	change := func(from, to booking.Status, outcome booking.Outcome, actor booking.Actor) timelineItem {
		return timelineItem{Transitions: []booking.TransitionView{{Transition: booking.Transition{From: from, To: to, Outcome: outcome, Actor: actor}}}}
	}
	items := []timelineItem{
		change(booking.Canceled, booking.Active, booking.Rejected, "late"),
		change(booking.Canceled, booking.Canceled, booking.Applied, "again"),
		change(booking.Active, booking.Canceled, booking.Applied, "it"),
	}
	if got := canceling(items); got == nil || got.Actor != "it" {
		t.Errorf("canceled by %+v", got)
	}
	if got := canceling(items[:2]); got != nil {
		t.Errorf("of a timeline that is cut, it was canceled by %s", got.Actor)
	}
}

// The provider's clock is shown where it differs from ours: a day late is worth
// knowing, the second that the way takes is noise.
func TestProvidersClockIsShownWhenApart(t *testing.T) {
	t.Parallel()
	came := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for apart, shown := range map[time.Duration]bool{0: false, time.Minute: false, 61 * time.Second: true, -61 * time.Second: true, 24 * time.Hour: true} {
		item := timelineItem{
			At: came, Receipt: &booking.ReceiptView{},
			Transitions: []booking.TransitionView{{Transition: booking.Transition{OccurredAt: came.Add(-apart)}}},
		}
		if got := item.Said(); (got != nil) != shown {
			t.Errorf("%s apart: shown %v, want %t", apart, got, shown)
		}
	}
}
