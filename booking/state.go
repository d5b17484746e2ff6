package booking

import (
	"github.com/google/uuid"
)

// ReceiptKey names a receipt: a copy has the same.
type ReceiptKey struct {
	ConnectionID uuid.UUID
	EventKey     string
}

// Ref names a booking's identity without its seat, or a session's.
type Ref struct {
	Source     Source
	ExternalID string
}

// IdentityKey names a provider's identity of a resource; an e-mail's has an
// empty Source.
type IdentityKey struct {
	Source     Source
	ExternalID string
}

// AttendanceKey names what is kept of one listed e-mail of a shared uid.
type AttendanceKey struct {
	Ref Ref
	Key string
}

// LinkKey names a link.
type LinkKey struct {
	Source      Source
	Predecessor string
	Successor   string
	Key         string
}

// State is what is stored, as far as a set of deliveries touches it. Decide
// never changes it. A store must load, for every event of the set and every
// receipt that waits for its booking:
//   - receipts by key, and those waiting whose event names a loaded booking;
//   - bookings, attendances and links of the external ids that it names, of
//     those that links lead to, and of all their chains;
//   - the sessions of all those, the session that it names, and the ones' bookings;
//   - identities of its hosts and of the sessions' hosts; when it tells of a new
//     one, the sessions whose hosts had no resource;
//   - around every window that those sessions have or get: slots that are not
//     released with their sessions and bookings not canceled, and around the
//     waiting ones the same again, twice.
type State struct {
	Ledger      Ledger
	Receipts    map[ReceiptKey]Receipt
	Bookings    map[uuid.UUID]Booking
	Sessions    map[uuid.UUID]Session
	Slots       map[uuid.UUID]Slot
	Attendances map[AttendanceKey]Attendance
	Links       map[LinkKey]Link
	Identities  map[IdentityKey]Identity
	Resources   map[uuid.UUID]Resource
}

// NewState is a state of nothing.
func NewState() *State {
	return &State{
		Receipts:    map[ReceiptKey]Receipt{},
		Bookings:    map[uuid.UUID]Booking{},
		Sessions:    map[uuid.UUID]Session{},
		Slots:       map[uuid.UUID]Slot{},
		Attendances: map[AttendanceKey]Attendance{},
		Links:       map[LinkKey]Link{},
		Identities:  map[IdentityKey]Identity{},
		Resources:   map[uuid.UUID]Resource{},
	}
}

// Changes is what a set leaves to be saved: net results, each row whole. A row
// stands here only when it differs from what was stored, or is new.
type Changes struct {
	// Answers, one for each delivery of the set, in its order.
	Answers []Answer
	// Receipts that are new (in the set's order), and stored ones that no
	// longer wait.
	Receipts    []Receipt
	Resolved    []Receipt
	Bookings    []Booking
	Sessions    []Session
	Slots       []Slot
	Attendances []Attendance
	Links       []Link
	Identities  []Identity
	Resources   []Resource
	// Blocks that the set told of, each as said last. What is stored may have been
	// said later still: a store keeps that.
	Blocks []ToldBlock
	// Transitions in order, already chained.
	Transitions []Transition
	Ledger      Ledger
}
