package booking

import (
	"time"

	"github.com/google/uuid"
)

// ReceiptStatus is what became of a delivery (DESIGN §9).
type ReceiptStatus string

// Duplicate is a copy's answer, never a receipt's status. StatusWaiting is a
// receipt about a booking not yet known (R7).
const (
	StatusProcessed ReceiptStatus = "processed"
	StatusUnchanged ReceiptStatus = "unchanged"
	StatusRejected  ReceiptStatus = "rejected"
	StatusConflict  ReceiptStatus = "conflict"
	StatusIgnored   ReceiptStatus = "ignored"
	StatusPending   ReceiptStatus = "pending"
	StatusWaiting   ReceiptStatus = "waiting"
	StatusFailed    ReceiptStatus = "failed"
	StatusDead      ReceiptStatus = "dead"
	StatusDuplicate ReceiptStatus = "duplicate"
)

// ReceiptStatuses are all that a receipt can have.
func ReceiptStatuses() []ReceiptStatus {
	return []ReceiptStatus{
		StatusProcessed, StatusUnchanged, StatusRejected, StatusConflict, StatusIgnored,
		StatusPending, StatusWaiting, StatusFailed, StatusDead,
	}
}

// Delivery is one post that was verified and parsed, as the state machine gets
// it. The receipt's bytes stay with whoever stores them.
type Delivery struct {
	// ReceiptID is the id that the receipt gets if the delivery is no copy.
	ReceiptID    uuid.UUID
	ConnectionID uuid.UUID
	// EventKey is unique within the connection: the same key is a copy.
	EventKey string
	// SourceEventID is the sender's own id of the event, given back in the answer
	// (the generic provider's); "" when it has none. It identifies nothing.
	SourceEventID string
	Kind          Kind
	// Subject of what a pending post is about, to be fetched: its external id
	// from an adapter, with its source (Subject) from then on. An Event has its own.
	Subject string
	// Poke says that a pending post tells only to look again (R15): it joins a
	// receipt about the same whose fetch has not begun.
	Poke bool
	// Settles says that the receipt is stored and not settled, and that this
	// settles it: what was fetched for a pending one, or another try of one that
	// could not be applied.
	Settles bool
	// Replays says that the receipt is stored, whatever became of it, and is decided
	// once more by today's code. It comes with Settles.
	Replays bool
	// Read says that the event was read from the provider's API by us, and not told:
	// when it changes nothing that people see, what it says is kept, and no receipt.
	Read bool
	// Event is nil for what the machine has no business with; Status then says
	// what becomes of it (ignored, pending or failed), unless there is a Block.
	Event *Event
	// Block is what a post tells that is about a host's absence and no booking.
	Block  *Block
	Status ReceiptStatus
	Code   string // of failed: json_invalid, time_missing, …
	Error  string // of failed: what is wrong and what to do, without personal data
	Actor  Actor
}

// Actor is who made a transition: webhook, backfill, reconcile, replay, system,
// user:<id> or token:<id>.
type Actor string

// The actors without an id.
const (
	ActorWebhook Actor = "webhook"
	ActorSystem  Actor = "system"
)

// Post is a delivery with all that is stored of it: what arrived, when, and who
// vouches for it.
type Post struct {
	Delivery
	// Body is what was received, raw; it is sealed before it is stored.
	Body []byte
	// Erased says that the body is about somebody who was erased: of it, and of the
	// snapshot, only the SHA-256 is kept.
	Erased bool
	// Snapshot is what was fetched for the receipt, sealed as well; nil for none.
	// SnapshotAt is the ticket of its fetch, the clock of all that it says.
	Snapshot   []byte
	SnapshotAt time.Time
	// Forms are those of the booking, as of Event.At; nil when nothing was said of
	// them. They are kept only while their connection has them kept.
	Forms *Forms
	// Header holds what is worth keeping of the request's header, without
	// anything secret: content type, user agent, the provider's own names.
	Header map[string]string
	// Signature is the signature header's value as it came.
	Signature  string
	VerifiedBy string // which secret: current or previous
	RequestID  string
	ReceivedAt time.Time
}

// Subject is how a receipt names the booking that it is about.
func Subject(s Source, externalID string) string { return s.String() + "|" + externalID }

// Answer is what the sender is told.
type Answer struct {
	// ReceiptID is the receipt's, for a copy the first one's.
	ReceiptID uuid.UUID
	Status    ReceiptStatus
	// Original is the receipt's status when Status is duplicate.
	Original ReceiptStatus
	Reason   Reason
	Code     string
	Error    string
	// Transitions that the delivery made, for logs and metrics; none of a copy.
	Transitions []Transition
}

// open tells whether something may still settle the receipt: a fetch, or another
// try. What waits for its booking is settled by that alone (R7).
func (r *Receipt) open() bool {
	return r.Status == StatusPending || (r.Status == StatusFailed && r.Code == CodeApplyFailed)
}

// Receipt is what the machine needs of one that is stored.
type Receipt struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         Kind
	// Subject is the identity of the booking that it is about (Subject); "" when
	// it is about none.
	Subject string
	Status  ReceiptStatus
	Reason  Reason
	Code    string
	Error   string
	// Claimed says that the fetch of a pending one has begun: no poke joins it.
	Claimed bool
	// Event waits for its booking while Status is waiting (R7); else nil.
	Event *Event
	Actor Actor
}
