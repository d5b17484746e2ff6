package booking

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// explain derives for the bookings around what changed why they are conflicted
// and with whom, or that they stand without a slot (R12, R16).
func (t *turn) explain(touched []uuid.UUID, area []claim) {
	for _, id := range t.around(touched, area) {
		s, ok := t.sessions.get(id)
		if !ok {
			continue
		}
		for _, b := range t.membersOf(id) {
			old := b
			switch b.Status {
			case Active:
				b.Reason, b.ConflictsWith = NoReason, nil
				if len(t.claims(&s)) == 0 {
					b.Reason = ReasonUnmapped
				}
			case Conflicted:
				b.Reason, b.ConflictsWith, _ = t.conflict(&s, b)
			case Pending:
				b.Reason, b.ConflictsWith = NoReason, nil
			case Canceled, New:
				continue
			}
			if b.Reason != old.Reason || !slices.Equal(b.ConflictsWith, old.ConflictsWith) {
				t.save(b)
			}
		}
	}
}

// conflict says why a booking has no place: who holds it at the same instant,
// who overlaps it, or who has the seats.
func (w *work) conflict(s *Session, b Booking) (Reason, []uuid.UUID, *uuid.UUID) {
	reason := ReasonCapacityFull
	var holders, exact []Booking
	for _, c := range w.claims(s) {
		for _, o := range w.overlapping(c, SlotActive) {
			if o.SessionID == s.ID {
				continue
			}
			for _, m := range w.membersOf(o.SessionID) {
				if m.Status != Active {
					continue
				}
				holders = append(holders, m)
				if o.StartsAt.Equal(c.from) {
					exact = append(exact, m)
				}
			}
		}
	}
	switch {
	case len(exact) > 0:
		reason = ReasonSlotTaken
	case len(holders) > 0:
		reason, exact = ReasonOverlap, holders
	default:
		for _, m := range w.membersOf(s.ID) {
			if m.Status == Active && m.ID != b.ID {
				holders = append(holders, m)
			}
		}
		exact = holders
	}
	ids := make([]uuid.UUID, 0, len(holders))
	for _, h := range holders {
		ids = append(ids, h.ID)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var first *uuid.UUID
	if len(exact) > 0 {
		id := slices.MinFunc(exact, inTurn).ID
		first = &id
	}
	return reason, slices.Compact(ids), first
}

// The database's fences (DESIGN §4).
const (
	FenceSlot    = "one_booking_per_slot"
	FenceOverlap = "no_overlapping_slots"
)

// fence names who holds a conflicted booking's place, and the constraint that
// would refuse it.
func (w *work) fence(b Booking) (*uuid.UUID, string) {
	s, ok := w.sessions.get(b.SessionID)
	if !ok {
		return nil, ""
	}
	reason, _, holder := w.conflict(&s, b)
	if reason == ReasonSlotTaken {
		return holder, FenceSlot
	}
	if reason == ReasonOverlap {
		return holder, FenceOverlap
	}
	return holder, ""
}
