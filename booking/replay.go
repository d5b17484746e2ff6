package booking

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// ActorReplay makes the transitions of replays.
const ActorReplay Actor = "replay"

// MaxReplayed is how many receipts a replay may name one by one.
const MaxReplayed = 1000

// MaxReplayChanges is how many changes a report lists; it counts all of them.
const MaxReplayChanges = 500

// ReplayFilter says which receipts are replayed. Zero fields do not filter; the
// window, of when they came, is [From, To). Only what a webhook told is replayed:
// what was read from a provider's API is read again by the next comparison.
type ReplayFilter struct {
	From         *time.Time      `json:"from,omitempty"`
	To           *time.Time      `json:"to,omitempty"`
	Provider     string          `json:"provider,omitempty"`
	ConnectionID *uuid.UUID      `json:"connection_id,omitempty"`
	Kind         Kind            `json:"kind,omitempty"`
	Statuses     []ReceiptStatus `json:"statuses,omitempty"`
	IDs          []uuid.UUID     `json:"ids,omitempty"`
}

// All tells whether nothing narrows the filter.
func (f ReplayFilter) All() bool {
	return f.From == nil && f.To == nil && f.Provider == "" && f.ConnectionID == nil && f.Kind == "" && len(f.Statuses) == 0 && len(f.IDs) == 0
}

// Validate says what of the filter could never fit anything.
func (f ReplayFilter) Validate() error {
	switch {
	case len(f.IDs) > MaxReplayed:
		return &InvalidError{Field: "ids", Detail: fmt.Sprintf("are at most %d; name a time, a connection, a kind or a status instead", MaxReplayed)}
	case f.From != nil && f.To != nil && !f.From.Before(*f.To):
		return &InvalidError{Field: "to", Detail: "must be later than from"}
	}
	for _, s := range f.Statuses {
		if !slices.Contains(ReceiptStatuses(), s) {
			return &InvalidError{Field: "status", Detail: "is none that a delivery can have"}
		}
	}
	return nil
}

// ReplayRequest is what somebody asks for.
type ReplayRequest struct {
	Filter  ReplayFilter
	DryRun  bool
	Refetch bool
	// Everything says that a filter that narrows nothing is meant.
	Everything bool
}

// ReplayBroken is a replay's Error when going on failed for a reason of our own.
const ReplayBroken = "going on failed; the server's log says why"

// Replay is a job that takes receipts through today's code once more, oldest
// first. A dry one writes nothing but its report.
type Replay struct {
	ID     uuid.UUID
	Filter ReplayFilter
	DryRun bool
	// Refetch has the provider asked again about what only it knows, by the queue.
	Refetch bool
	Status  RunStatus
	// At is the place behind the receipt that was looked at last.
	At ReplayPlace
	// Total is how many receipts fitted when the replay began; nil until counted.
	Total *int
	ReplayCounts
	// Failures in a row of going on, and the last one's text.
	Failures int
	Error    string
	Actor    Actor // who asked for it: system, user:…, token:…

	StartedAt  time.Time
	MovedAt    time.Time
	FinishedAt *time.Time
}

// ReplayPlace is where a receipt stands in the order of replays.
type ReplayPlace struct {
	ReceivedAt time.Time
	ID         uuid.UUID
}

// ReplayCounts are what a replay has found so far. Looked is the sum of the
// others but Transitions.
type ReplayCounts struct {
	Looked    int `json:"looked"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	// StillFailed cannot be used by today's code either.
	StillFailed int `json:"still_failed"`
	// Open are still worked on by themselves.
	Open int `json:"open"`
	// Asked are asked about again at their provider; NeedRefetch would have to be.
	Asked       int `json:"asked"`
	NeedRefetch int `json:"need_refetch"`
	// Gone have no body any more.
	Gone int `json:"gone"`
	// Transitions that the replay made, or would make.
	Transitions int `json:"transitions"`
}

// ReplayOutcome is what a replay finds of one receipt.
type ReplayOutcome string

// The outcomes, each counted by the field of its name.
const (
	ReplayChanged     ReplayOutcome = "changed"
	ReplayUnchanged   ReplayOutcome = "unchanged"
	ReplayStillFailed ReplayOutcome = "still_failed"
	ReplayOpen        ReplayOutcome = "open"
	ReplayAsked       ReplayOutcome = "asked"
	ReplayNeedRefetch ReplayOutcome = "need_refetch"
	ReplayGone        ReplayOutcome = "gone"
)

// Count counts one receipt's outcome.
func (c *ReplayCounts) Count(o ReplayOutcome) {
	c.Looked++
	switch o {
	case ReplayChanged:
		c.Changed++
	case ReplayUnchanged:
		c.Unchanged++
	case ReplayStillFailed:
		c.StillFailed++
	case ReplayOpen:
		c.Open++
	case ReplayAsked:
		c.Asked++
	case ReplayNeedRefetch:
		c.NeedRefetch++
	case ReplayGone:
		c.Gone++
	}
}

// ReplayChange is what a replay changed about one receipt, or would change.
type ReplayChange struct {
	ReceiptID    uuid.UUID
	ConnectionID uuid.UUID
	Kind         Kind
	ReceivedAt   time.Time
	Before       ReceiptStatus
	After        ReceiptStatus
	// Verdict is what today's code makes of the event; the status of one that was
	// settled before stays.
	Verdict     ReceiptStatus
	Transitions []ReplayedTransition
}

// ReplayedTransition is a transition in a report. In a dry run it has no row: its
// booking may not have one either.
type ReplayedTransition struct {
	BookingID uuid.UUID `json:"booking_id"`
	Event     Action    `json:"event"`
	From      Status    `json:"from"`
	To        Status    `json:"to"`
	Outcome   Outcome   `json:"outcome"`
	Reason    Reason    `json:"reason,omitempty"`
}

// ReplayStep is what one set of a replay found: it is added to the job in the
// transaction that applies the set, so that a killed one is neither counted twice
// nor forgotten.
type ReplayStep struct {
	At      ReplayPlace
	Counts  ReplayCounts
	Changes []ReplayChange
}

// Add counts the step into the job.
func (r *Replay) Add(s ReplayStep) {
	r.At = s.At
	r.Looked += s.Counts.Looked
	r.Changed += s.Counts.Changed
	r.Unchanged += s.Counts.Unchanged
	r.StillFailed += s.Counts.StillFailed
	r.Open += s.Counts.Open
	r.Asked += s.Counts.Asked
	r.NeedRefetch += s.Counts.NeedRefetch
	r.Gone += s.Counts.Gone
	r.Transitions += s.Counts.Transitions
}

// ReplaySet is a set that a replay applies.
type ReplaySet struct {
	Replay uuid.UUID
	Hold   Hold
	Posts  []Post
	// Ask are settled receipts that the provider is asked about again.
	Ask []uuid.UUID
	// Step is what the set found, once it is decided: it is added to the replay in the
	// same transaction.
	Step func([]Answer) ReplayStep
	// Listed is how many changes the report has already.
	Listed int
}

// ErrReplayOutdated says that a receipt has lost its body since the set read it:
// retention or an erasure came between. Nothing was written; read the set again.
var ErrReplayOutdated = errors.New("a receipt's body was removed meanwhile")

// StoredReceipt is a receipt with all that a replay needs of it.
type StoredReceipt struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         Kind
	// Subject as it is stored (Subject).
	Subject    string
	Status     ReceiptStatus
	Code       string
	ReceivedAt time.Time
	// Body and Snapshot are nil where there is none, or none any more.
	Body     []byte
	Snapshot []byte
	// SnapshotAt is the ticket of the snapshot's fetch.
	SnapshotAt time.Time
	// Newest says that no later receipt about the same has a snapshot: asking once
	// about a booking is enough.
	Newest bool
}

// Place is the receipt's in the order of replays.
func (r *StoredReceipt) Place() ReplayPlace { return ReplayPlace{r.ReceivedAt, r.ID} }

// settled tells whether the receipt has had its verdict. Its status then stays,
// and what is refused is not recorded again: the audit has it, or had reason not to.
func (r *Receipt) settled() bool { return r.Status.Settled() }

// Settled tells whether a receipt of the status was applied, or refused for good.
func (s ReceiptStatus) Settled() bool {
	switch s {
	case StatusProcessed, StatusUnchanged, StatusRejected, StatusConflict:
		return true
	case StatusIgnored, StatusPending, StatusWaiting, StatusFailed, StatusDead, StatusDuplicate:
	}
	return false
}

// replayed decides a stored receipt once more. Its answer's status is the verdict
// on the event, Original what the receipt's status is now.
func (w *work) replayed(d Delivery, key ReceiptKey, was Receipt) (a Answer) {
	a = Answer{ReceiptID: was.ID, Status: was.Status, Original: was.Status, Reason: was.Reason, Code: was.Code, Error: was.Error}
	if was.Status == StatusPending {
		return a // a job is at it
	}
	r, ledger, transitions := was, w.ledger, len(w.transitions)
	if (was.Status == StatusFailed || was.Status == StatusDead) && d.Kind != "" {
		r.Kind = d.Kind // it may not have been understood
	}
	verdict := d.Status
	defer func() {
		if p := recover(); p != nil {
			w.drop()
			w.ledger, w.transitions = ledger, w.transitions[:transitions]
			a.Status, a.Code = StatusFailed, CodeApplyFailed
			a.Error = fmt.Sprintf("applying the event failed: %v; it is kept and can be replayed", p)
			return
		}
		if !sameReceipt(was, r) {
			w.receipts.put(key, r)
		}
		w.keep()
		a.Status, a.Original, a.Reason, a.Code, a.Error = verdict, r.Status, r.Reason, r.Code, r.Error
		a.Transitions = w.transitions[transitions:len(w.transitions):len(w.transitions)]
	}()
	var reason Reason
	switch {
	case d.Event != nil:
		w.again = was.settled()
		verdict, reason = w.turn(d.Event, was.ID, d.ConnectionID, d.Actor)
		w.again = false
		w.disown(was.ID)
		if !was.settled() {
			r.Status, r.Reason, r.Code, r.Error, r.Event = verdict, reason, "", "", nil
			r.Subject = Subject(d.Event.Source, d.Event.ExternalID)
			if verdict == StatusWaiting {
				r.Event = d.Event
				w.index.wait(key, d.Event)
			}
			if !sameReceipt(was, r) {
				w.receipts.put(key, r)
			}
		}
		w.resolveWaiting(d.Event)
	case d.Block != nil:
		verdict = StatusUnchanged
		w.block(d.Block, was.ID, d.ConnectionID)
		if !was.settled() {
			r.Status, r.Reason, r.Code, r.Error, r.Event = StatusProcessed, NoReason, "", "", nil
		}
	case was.settled() || was.Status == StatusDead && d.Status == StatusFailed:
		// Nothing that is applied is taken back because today's code cannot read it,
		// and what was given up stays given up.
		verdict, r = d.Status, was
	default:
		r.Status, r.Reason, r.Code, r.Error, r.Event = d.Status, NoReason, d.Code, d.Error, nil
		if d.Subject != "" {
			r.Subject = d.Subject
		}
	}
	return a
}

// sameReceipt compares what is stored of two. The event of one that waits has been
// through JSON, which does not tell empty from missing.
func sameReceipt(a, b Receipt) bool {
	was, err := json.Marshal(a.Event)
	now, nowErr := json.Marshal(b.Event)
	a.Event, b.Event = nil, nil
	return err == nil && nowErr == nil && bytes.Equal(was, now) && reflect.DeepEqual(a, b)
}

// Quiet tells whether the changes leave everything as it was stored, but for
// blocks, of which the domain does not know what is stored.
func (ch *Changes) Quiet(st *State) bool {
	return len(ch.Receipts)+len(ch.Resolved)+len(ch.Transitions) == 0 && ch.Ledger == st.Ledger &&
		allStored(ch.Bookings, st.Bookings, func(b Booking) uuid.UUID { return b.ID }) &&
		allStored(ch.Sessions, st.Sessions, func(s Session) uuid.UUID { return s.ID }) &&
		allStored(ch.Slots, st.Slots, func(s Slot) uuid.UUID { return s.ID }) &&
		allStored(ch.Attendances, st.Attendances, func(a Attendance) AttendanceKey {
			return AttendanceKey{Ref{a.Source, a.ExternalID}, a.Key}
		}) &&
		allStored(ch.Links, st.Links, func(l Link) LinkKey { return LinkKey{l.Source, l.Predecessor, l.Successor, l.Key} }) &&
		allStored(ch.Identities, st.Identities, func(i Identity) IdentityKey { return IdentityKey{i.Source, i.ExternalID} }) &&
		allStored(ch.Resources, st.Resources, func(r Resource) uuid.UUID { return r.ID })
}

func allStored[K comparable, V any](rows []V, stored map[K]V, key func(V) K) bool {
	for _, v := range rows {
		old, ok := stored[key(v)]
		if !ok || !reflect.DeepEqual(old, v) {
			return false
		}
	}
	return true
}
