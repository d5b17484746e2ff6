package booking

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Arrival is how a booking came to stand where it does: the newest change that gave
// it its place, or that kept it from it.
type Arrival struct {
	Seq   int64
	Event Action
	From  Status
	Actor Actor
	At    time.Time // when it was recorded here
}

// HeldBecause is why a booking holds what another waits for.
type HeldBecause string

// The causes. Who waits holds nothing (R8), so that what comes later takes a place
// that is free, and who waits is let in when nobody else has it (R11).
const (
	// HeldUnknown is of what happened before anything is known.
	HeldUnknown HeldBecause = ""
	// HeldFirst stood here before the other came.
	HeldFirst HeldBecause = "first"
	// HeldRequested stood here before the other, a request until then, was confirmed.
	HeldRequested HeldBecause = "requested"
	// HeldMovedIn stood here before the other was moved to it.
	HeldMovedIn HeldBecause = "moved_in"
	// HeldReassigned kept its place when somebody changed resources.
	HeldReassigned HeldBecause = "reassigned"
	// HeldTurn was let in as the first of those who waited, HeldBooked since it was
	// booked first, and HeldFit since the other, booked before it, did not fit yet.
	HeldTurn   HeldBecause = "turn"
	HeldBooked HeldBecause = "booked"
	HeldFit    HeldBecause = "fit"
	// HeldFree came to a free place while the other waited for somebody else's.
	HeldFree HeldBecause = "free"
	// HeldMoved was moved to a free place, in its own or another booking's stead.
	HeldMoved HeldBecause = "moved"
	// HeldMeeting is of a group, whose meeting has the place whoever joins it.
	HeldMeeting HeldBecause = "meeting"
	// HeldSeat has a seat where there are no more.
	HeldSeat HeldBecause = "seat"
)

// HeldCauses are those of which something is known.
func HeldCauses() []HeldBecause {
	return []HeldBecause{HeldFirst, HeldRequested, HeldMovedIn, HeldReassigned, HeldTurn, HeldBooked, HeldFit, HeldFree, HeldMoved, HeldMeeting, HeldSeat}
}

// Holding is why one meeting holds what a booking waits for.
type Holding struct {
	Because HeldBecause
	// Holder is its booking that came to stand there first.
	Holder  uuid.UUID
	Session uuid.UUID
	// At is when that came to stand there, and Waits when the one that waits did.
	At, Waits time.Time
	// Later says that the holder was booked after the one that waits.
	Later bool
}

// Of tells whether a booking is of the meeting that holds it.
func (h Holding) Of(b View) bool {
	return b.ID == h.Holder || b.SessionID == h.Session && h.Session != uuid.Nil
}

// WhyHeld tells why those whom a conflicted booking waits for hold its place, from how
// all of them came to stand as they do: once for each meeting, in the order of the
// holders. That they were booked in another order explains nothing by itself: news of a
// booking may come late, and a booking may be moved.
func WhyHeld(waits View, holders []View, how map[uuid.UUID]Arrival) []Holding {
	w := how[waits.ID]
	var out []Holding
	told := map[uuid.UUID]bool{}
	for _, h := range holders {
		if told[h.SessionID] {
			continue
		}
		told[h.SessionID] = h.SessionID != uuid.Nil
		first, group := h, h.Capacity != nil && *h.Capacity > 1
		for _, o := range holders {
			if o.ID == h.ID || o.SessionID != h.SessionID || o.SessionID == uuid.Nil {
				continue
			}
			group = true
			if how[o.ID].Seq < how[first.ID].Seq {
				first = o
			}
		}
		out = append(out, Holding{
			Because: because(waits, w, first, how[first.ID], group), Holder: first.ID, Session: first.SessionID, At: how[first.ID].At, Waits: w.At,
			Later: waits.BookedAt != nil && first.BookedAt != nil && waits.BookedAt.Before(*first.BookedAt),
		})
	}
	return out
}

func because(waits View, w Arrival, holder View, h Arrival, group bool) HeldBecause {
	switch {
	case waits.Reason == ReasonCapacityFull:
		return HeldSeat
	case w.Seq == 0 || h.Seq == 0:
		return HeldUnknown
	case h.Seq < w.Seq:
		return w.found()
	case group:
		return HeldMeeting
	case h.Event == Release && ahead(waits.BookedAt, holder.BookedAt):
		return HeldFit
	case h.Event == Release && ahead(holder.BookedAt, waits.BookedAt):
		return HeldBooked
	case h.Event == Release:
		return HeldTurn
	case h.Event == Move || holder.Supersedes != nil:
		return HeldMoved
	}
	return HeldFree
}

// found is why a booking that came to a place found it held.
func (s Arrival) found() HeldBecause {
	switch {
	case s.Event == Move && s.From == Active && s.Actor.byHand():
		return HeldReassigned
	case s.Event == Move && s.From != New:
		return HeldMovedIn
	case s.From == Pending:
		return HeldRequested
	}
	return HeldFirst
}

// byHand tells whether somebody did it here: what providers tell moves bookings, too.
func (a Actor) byHand() bool {
	return !slices.Contains([]Actor{ActorWebhook, ActorBackfill, ActorReconcile, ActorReplay}, a)
}

// ahead is the order in which those who wait have their turn, unknown last, as far as
// the time of booking decides it.
func ahead(a, b *time.Time) bool {
	return a != nil && (b == nil || a.Before(*b))
}
