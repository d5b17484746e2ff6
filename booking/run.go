package booking

import (
	"time"

	"github.com/google/uuid"
)

// RunKind is why an account's bookings are read.
type RunKind string

// A backfill brings in what was booked before we listened; a reconcile finds what
// its webhooks did not tell.
const (
	RunBackfill  RunKind = "backfill"
	RunReconcile RunKind = "reconcile"
)

// RunKinds are all there are.
func RunKinds() []RunKind { return []RunKind{RunBackfill, RunReconcile} }

// RunStatus is how far a run is.
type RunStatus string

// A run that failed, or that somebody had stopped, is not taken up again; the next
// one begins anew.
const (
	RunRunning RunStatus = "running"
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed"
	RunStopped RunStatus = "stopped"
)

// RunStatuses are all there are.
func RunStatuses() []RunStatus { return []RunStatus{RunRunning, RunDone, RunFailed, RunStopped} }

// The actors of runs.
const (
	ActorBackfill  Actor = "backfill"
	ActorReconcile Actor = "reconcile"
)

// Actor is who makes the transitions of a run.
func (k RunKind) Actor() Actor {
	if k == RunBackfill {
		return ActorBackfill
	}
	return ActorReconcile
}

// Run is one reading of an account's bookings over a window of their beginnings.
type Run struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	Kind         RunKind
	// Cause is what it was begun for: asked, connected, reconnected, registered,
	// outage, periodic.
	Cause    string
	From, To time.Time
	Status   RunStatus
	// Cursor is where the next page begins, the adapter's own; "" at first.
	Cursor string
	RunCounts
	// Failures in a row of reading the next page, and the last one's text.
	Failures int
	Error    string
	Actor    Actor // who asked for it: system, user:…, token:…

	StartedAt  time.Time
	MovedAt    time.Time
	FinishedAt *time.Time
}

// RunCounts are what a run has found so far.
type RunCounts struct {
	Pages    int
	Requests int
	// AtProvider are bookings that stand there, Here those that stand here in the
	// same window, both without the canceled ones. Here is counted by a reconcile
	// alone, at its end.
	AtProvider int
	Here       int
	// Differed are those that were otherwise here, whether that was set right or
	// not; of them Conflicts found their place taken, Refused were not let in by the
	// machine, and Unreadable could not be understood.
	Differed   int
	Conflicts  int
	Refused    int
	Unreadable int
}

// Look is what somebody finds who looks after the accounts.
type Look struct {
	// Away is since when nobody had looked, of the one who finds that out; nil of
	// all others.
	Away *time.Time
	// BackAt is when that was last found out; nil when it never was.
	BackAt *time.Time
}

// DriftKind is how a provider's word and ours differ for good.
type DriftKind string

// DriftRefused: the provider has it as the rules do not allow. DriftGone: the
// provider knows it no longer, seen once. DriftUnreadable: it cannot be understood.
const (
	DriftRefused    DriftKind = "refused"
	DriftGone       DriftKind = "gone"
	DriftUnreadable DriftKind = "unreadable"
)

// DriftKinds are all there are.
func DriftKinds() []DriftKind { return []DriftKind{DriftRefused, DriftGone, DriftUnreadable} }

// Drift is a booking that its provider has otherwise than we do, and that no
// machine may set right.
type Drift struct {
	ConnectionID uuid.UUID
	ExternalID   string
	Kind         DriftKind
	// Detail is for people, without personal data.
	Detail string
	// BookingID is ours, uuid.Nil when there is none.
	BookingID uuid.UUID
	// StartsAt is when the provider has it; nil where it does not say.
	StartsAt *time.Time
	// ImportFrom is where the import begins that saw it last; nil of a comparison.
	ImportFrom *time.Time
	FoundAt    time.Time
	SeenAt     time.Time
}

// Standing is a booking that stands here, as far as a run needs it.
type Standing struct {
	ID         uuid.UUID
	ExternalID string
	Email      string
	// Shared says that the external id may stand for several bookings (R10).
	Shared bool
}
