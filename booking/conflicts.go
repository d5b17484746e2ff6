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
				b.Reason, b.ConflictsWith, b.OverlapAccepted = NoReason, nil, false
				if len(t.claims(&s)) == 0 {
					b.Reason = ReasonUnmapped
				}
			case Conflicted:
				c := t.clash(&s)
				t.accepting(&b, &s, c)
				b.Reason, b.ConflictsWith = c.reason, c.with
			case Pending:
				b.Reason, b.ConflictsWith, b.OverlapAccepted = NoReason, nil, false
			case Canceled:
				b.OverlapAccepted = false
			case New:
				continue
			}
			if b.Reason != old.Reason || !slices.Equal(b.ConflictsWith, old.ConflictsWith) || b.OverlapAccepted != old.OverlapAccepted {
				t.save(b)
			}
		}
	}
}

// clash is why the conflicted bookings of a session have no place, who has it
// (sorted), and the first of those in turn.
type clash struct {
	reason Reason
	with   []uuid.UUID
	holder *uuid.UUID
	// ruled says that the rules of the resources where it is held accept it.
	ruled bool
}

// clash is the same for all of a session's conflicted bookings, so that it is
// found once a turn, when all claims are settled.
func (t *turn) clash(s *Session) clash {
	c, ok := t.clashes[s.ID]
	if !ok {
		c = t.findClash(s)
		t.clashes[s.ID] = c
	}
	return c
}

// findClash looks who holds the session's place at the same instant, who
// overlaps it, or who has its seats.
func (w *work) findClash(s *Session) clash {
	c := clash{reason: ReasonCapacityFull}
	var holders, exact []Booking
	ruled := true
	for _, want := range w.claims(s) {
		for _, o := range w.held(want) {
			if o.SessionID == s.ID {
				continue
			}
			ruled = ruled && w.within(s, want.resource, o.SessionID)
			active := w.activeIn(o.SessionID)
			holders = append(holders, active...)
			if o.StartsAt.Equal(want.from) {
				exact = append(exact, active...)
			}
		}
	}
	c.ruled = ruled && len(holders) > 0
	switch {
	case len(exact) > 0:
		c.reason = ReasonSlotTaken
	case len(holders) > 0:
		c.reason, exact = ReasonOverlap, holders
	default:
		holders = w.activeIn(s.ID)
		exact = holders
	}
	for _, h := range holders {
		c.with = append(c.with, h.ID)
	}
	slices.SortFunc(c.with, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	c.with = slices.Compact(c.with)
	if len(exact) > 0 {
		id := slices.MinFunc(exact, inTurn).ID
		c.holder = &id
	}
	return c
}

func (w *work) activeIn(session uuid.UUID) []Booking {
	return slices.DeleteFunc(w.membersOf(session), func(b Booking) bool { return b.Status != Active })
}

// The database's fences (DESIGN §4).
const (
	FenceSlot    = "one_booking_per_slot"
	FenceOverlap = "no_overlapping_slots"
)

// fence names who holds a conflicted booking's place, and the constraint that
// would refuse it.
func (t *turn) fence(b Booking) (*uuid.UUID, string) {
	s, ok := t.sessions.get(b.SessionID)
	if !ok {
		return nil, ""
	}
	c := t.clash(&s)
	if c.reason == ReasonSlotTaken {
		return c.holder, FenceSlot
	}
	if c.reason == ReasonOverlap {
		return c.holder, FenceOverlap
	}
	return c.holder, ""
}
