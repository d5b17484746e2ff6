package booking

import (
	"time"

	"github.com/google/uuid"
)

// Keep is how long is kept what nobody needs for good; zero keeps it for ever.
// Nothing that is open is ever touched: what is queued, waits, failed or was given
// up keeps its body, so that it can be tried again.
type Keep struct {
	// Bodies of settled receipts and what was fetched for them, since they came.
	// Their SHA-256 and event keys stay, so that a copy is known for good. Forms of
	// bookings go as long after they were told last.
	Bodies time.Duration
	// Deliveries: when each copy of a settled receipt came, and what it was answered.
	Deliveries time.Duration
	// Reads: what imports and comparisons found, but of each connection and kind the
	// newest that was done; and the reports of replays.
	Reads time.Duration
	// Alerts that are over.
	Alerts time.Duration
	// Messages that other systems were told or were not, with their tries: since they
	// were asked for. Those still to be sent stay.
	Messages time.Duration
}

// The periods of Keep when nobody says otherwise, and the shortest that work:
// the page of deliveries counts the last 40 days, and a reading is looked at
// for a while.
const (
	KeepBodies       = 90 * 24 * time.Hour
	KeepDeliveries   = 400 * 24 * time.Hour
	KeepReads        = 90 * 24 * time.Hour
	KeepAlerts       = 400 * 24 * time.Hour
	KeepMessages     = 30 * 24 * time.Hour
	LeastBodies      = 24 * time.Hour
	LeastDeliveries  = 41 * 24 * time.Hour
	LeastReads       = 7 * 24 * time.Hour
	LeastAlerts      = 7 * 24 * time.Hour
	LeastMessages    = 7 * 24 * time.Hour
	RetentionEvery   = 6 * time.Hour
	RetentionOverdue = 2 * 24 * time.Hour
)

// RetentionRun is what one run of retention removed.
type RetentionRun struct {
	ID         uuid.UUID
	StartedAt  time.Time
	FinishedAt *time.Time // nil of one that is under way, or was cut off

	Bodies     int64
	Snapshots  int64
	Forms      int64
	Deliveries int64
	Sessions   int64 // expired ones
	Links      int64 // expired one-time links
	Reads      int64
	Replays    int64 // reports of them
	Alerts     int64 // that were over
	Messages   int64
}
