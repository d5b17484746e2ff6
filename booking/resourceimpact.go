package booking

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Affected is a booking whose state a change of resources changes.
type Affected struct {
	Booking  Booking // as the change leaves it
	StartsAt time.Time
	EndsAt   time.Time
	// With are the bookings that hold the place, of a conflict that is made, or
	// held it, of one that is released.
	With []Booking
}

// Impact is what a change of resources does to bookings: what a person sees
// before it is made, and again when it is.
type Impact struct {
	// Conflicts that the change makes, and those that it releases, by time.
	Conflicts []Affected
	Released  []Affected
	// Sessions whose claims change.
	Sessions int
}

// ImpactOf tells what changes do to what is stored.
func ImpactOf(st *State, ch Changes) Impact {
	after := make(map[uuid.UUID]Booking, len(ch.Bookings))
	for _, b := range ch.Bookings {
		after[b.ID] = b
	}
	describe := func(b Booking, with []uuid.UUID) Affected {
		s := st.Sessions[b.SessionID]
		out := Affected{Booking: b, StartsAt: s.StartsAt, EndsAt: s.EndsAt}
		for _, id := range with {
			if o, ok := after[id]; ok {
				out.With = append(out.With, o)
			} else if o, ok := st.Bookings[id]; ok {
				out.With = append(out.With, o)
			}
		}
		return out
	}
	var out Impact
	for _, b := range ch.Bookings {
		switch old := st.Bookings[b.ID]; {
		case old.Status != Conflicted && b.Status == Conflicted:
			out.Conflicts = append(out.Conflicts, describe(b, b.ConflictsWith))
		case old.Status == Conflicted && b.Status == Active:
			out.Released = append(out.Released, describe(b, old.ConflictsWith))
		}
	}
	inTime := func(a, b Affected) int {
		return cmp.Or(a.StartsAt.Compare(b.StartsAt), bytes.Compare(a.Booking.ID[:], b.Booking.ID[:]))
	}
	slices.SortFunc(out.Conflicts, inTime)
	slices.SortFunc(out.Released, inTime)
	moved := map[uuid.UUID]bool{}
	for _, s := range ch.Slots {
		moved[s.SessionID] = true
	}
	out.Sessions = len(moved)
	return out
}

// Open are the conflicts that end after a time and that no rule accepted.
func (i Impact) Open(after time.Time) []Affected {
	return slices.DeleteFunc(slices.Clone(i.Conflicts), func(a Affected) bool { return !a.EndsAt.After(after) || a.Booking.OverlapAccepted })
}

// Mark is equal for impacts on the same bookings: whoever agreed to one did not
// agree to another.
func (i Impact) Mark() string {
	h := sha256.New()
	for _, list := range [][]Affected{i.Conflicts, i.Released} {
		for _, a := range list {
			h.Write(a.Booking.ID[:])
			for _, w := range a.With {
				h.Write(w.ID[:])
			}
			h.Write([]byte("|"))
		}
		h.Write([]byte("||"))
	}
	return hex.EncodeToString(h.Sum(nil))
}
