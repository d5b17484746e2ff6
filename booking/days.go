package booking

import (
	"time"

	"github.com/google/uuid"
)

// Period is a span of time, [From, To).
type Period struct {
	From time.Time
	To   time.Time
}

// DayCount is how many bookings in a state a day has. Day is its place among the
// days that were asked for.
type DayCount struct {
	Day    int
	Status Status
	Count  int
}

// DayPlace is a booking of a day, and how many others of its meeting are in the same
// state: a class of eight is one place.
type DayPlace struct {
	View
	Others int
}

// FormerPlace is where a booking was before its session moved.
type FormerPlace struct {
	BookingID  uuid.UUID
	ResourceID uuid.UUID
	StartsAt   time.Time
	EndsAt     time.Time
}
