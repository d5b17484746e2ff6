package booking

import (
	"time"

	"github.com/google/uuid"
)

// Posts that were not proven are counted by connection and by parts of an hour, so that
// what is kept of them does not grow with how many there are.
const (
	UnprovenPart = 5 * time.Minute
	// UnprovenWithin is how far back a person is told of them.
	UnprovenWithin = time.Hour
	// UnprovenKept is how long the counts stay.
	UnprovenKept = 2 * UnprovenWithin
)

// Unproven is what came to a connection within UnprovenWithin and bore no signature
// that fits.
type Unproven struct {
	ConnectionID uuid.UUID
	Parts        []UnprovenPosts // oldest first
	// Proven is when something last came that was, within the same time; zero is never.
	Proven time.Time
}

// UnprovenPosts are those of the part of an hour that begins at At.
type UnprovenPosts struct {
	At    time.Time
	Posts int
}

// The causes of TroubleUnproven.
const (
	// UnprovenAll: nothing that came since was proven. Most likely the secret here is not the
	// provider's, and bookings do not arrive.
	UnprovenAll = "all"
	// UnprovenSome: what the provider sends is proven, and somebody else posts too.
	UnprovenSome = "some"
)

// When somebody should know. A provider with the wrong secret tries each of its posts
// again, so that few are enough where none is proven.
const (
	fewUnproven  = 5
	manyUnproven = 60
)

// Trouble is what it says to a person, if anything. What came in the part in which
// something was proven last counts as before it.
func (u Unproven) Trouble() (Trouble, bool) {
	some := Trouble{Kind: TroubleUnproven, Subject: u.ConnectionID.String(), Detail: UnprovenSome}
	all := some
	all.Detail = UnprovenAll
	for _, p := range u.Parts {
		for _, t := range []*Trouble{&some, &all} {
			if t == &all && p.At.Before(u.Proven) {
				continue
			}
			if t.Count == 0 {
				t.Since = p.At
			}
			t.Count += p.Posts
		}
	}
	if all.Count >= fewUnproven {
		return all, true
	}
	return some, some.Count >= manyUnproven
}
