package providers

import "time"

// Reached is how far the pages went that come before a cursor.
type Reached struct {
	// Until is where the reading stands: what begins before it was read. Zero when
	// the cursor does not tell.
	Until time.Time
	// Canceled says that what stands was read to its end, and that Until is about
	// the canceled ones, which this provider lists apart.
	Canceled bool
}

// Gauge is an Account whose cursors tell how far a List has come. It is for
// people who wait; nothing is decided by it.
type Gauge interface {
	Account
	// Reached reads a cursor of List's. One that is none of the list's, or that an
	// earlier version made, tells nothing.
	Reached(cursor string) Reached
}
