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
	Posts        int
	// Since is the beginning of the first part that has any. Proven tells whether
	// anything was proven since.
	Since  time.Time
	Proven bool
}

// The causes of TroubleUnproven.
const (
	// UnprovenAll: nothing that came was proven. Most likely the secret here is not the
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

// Trouble is what it says to a person, if anything.
func (u Unproven) Trouble() (Trouble, bool) {
	t := Trouble{Kind: TroubleUnproven, Subject: u.ConnectionID.String(), Detail: UnprovenAll, Count: u.Posts, Since: u.Since}
	if u.Proven {
		t.Detail = UnprovenSome
		return t, u.Posts >= manyUnproven
	}
	return t, u.Posts >= fewUnproven
}
