package booking

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// View is a booking as people and the API see it: the row joined with its
// session's time and resources. Times are UTC and nil where a tombstone does
// not know.
type View struct {
	ID              uuid.UUID
	Provider        string
	ConnectionID    uuid.UUID
	ExternalID      string
	SessionID       uuid.UUID
	Title           string
	Location        string
	Status          Status
	Reason          Reason
	ResourceIDs     []uuid.UUID
	StartsAt        *time.Time
	EndsAt          *time.Time
	BookedAt        *time.Time
	Capacity        *int
	Invitee         Person
	NoShow          bool
	ChainID         uuid.UUID
	Supersedes      *uuid.UUID
	SupersededBy    *uuid.UUID
	ConflictsWith   []uuid.UUID
	OverlapAccepted bool
}

// Person is an invitee's details without their clocks; "" is unknown.
type Person struct {
	Name     string
	Email    string
	Phone    string
	Timezone string
}

// SlotView is a slot with its session's bookings that are not canceled.
type SlotView struct {
	Slot
	BookingIDs []uuid.UUID
}

// ReceiptView is a receipt as people and the API see it.
type ReceiptView struct {
	ID           uuid.UUID
	Provider     string
	ConnectionID uuid.UUID
	EventKey     string
	Kind         Kind
	Status       ReceiptStatus
	Reason       Reason
	Code         string
	Error        string
	Deliveries   int
	ReceivedAt   time.Time
	ProcessedAt  *time.Time
}

// Copy is one delivery of a receipt's event: the first, or a copy that came again.
type Copy struct {
	ReceivedAt time.Time
	RequestID  string
	Answer     ReceiptStatus
}

// TransitionView is a transition with what names it to a person.
type TransitionView struct {
	Transition
	Provider    string
	Title       string // of the booking
	Invitee     string // name of the booking's invitee
	Erased      bool   // says that the invitee's data was erased
	ResourceIDs []uuid.UUID
	ReceiptKind Kind
	// ConnectionID is whose delivery caused it; the zero id of what no delivery did.
	ConnectionID uuid.UUID
	// Note is why a person did it, in their own words; "" for none.
	Note string
}

// AcceptedByHand tells whether a person or a program accepted an overlap by it, and
// no rule did.
func (t *TransitionView) AcceptedByHand() bool {
	return t.Event == AcceptOverlap && t.Outcome == Applied && t.Actor != ActorSystem
}

// ResourceView is a resource with the identities that map to it.
type ResourceView struct {
	Resource
	Timezone   string // IANA; "" is the installation's
	Identities []Identity
}

// UnmappedView is a host that has no resource, with how many bookings that are
// not canceled it has: all, and those to come.
type UnmappedView struct {
	Identity
	Bookings int
	Coming   int
}

// Filter narrows a list. Zero fields do not filter. From and To are a window:
// of bookings and slots what overlaps [From, To), of transitions and receipts
// what was recorded or received in it.
type Filter struct {
	// Scope is what whoever asks may see: it narrows bookings, slots, transitions and
	// resources, and a text finds nothing by what is hidden.
	Scope        Scope
	From         *time.Time
	To           *time.Time
	ResourceID   *uuid.UUID
	Provider     string
	ConnectionID *uuid.UUID
	BookingID    *uuid.UUID
	// Host narrows bookings to those of a provider's identity, mapped or not.
	Host *IdentityKey
	// ReceiptID narrows transitions to one receipt's.
	ReceiptID *uuid.UUID
	// Kind narrows receipts to those of one kind.
	Kind     Kind
	Statuses []string
	Outcome  Outcome
	Reason   Reason
	// OpenConflicts narrows bookings to the conflicted whose overlap nobody
	// accepted.
	OpenConflicts bool
	// AcceptedOverlaps narrows bookings to the conflicted whose overlap is
	// accepted.
	AcceptedOverlaps bool
	// Troubled narrows transitions to what a person should see: the refused
	// ones, and those that ended conflicted (R12). An overlap that was accepted ends
	// conflicted too, and is none of them: somebody has seen to it.
	Troubled bool
	// Actor narrows transitions to who made them: one actor, or with "user" or
	// "token" alone any person or any token.
	Actor string
	// Text narrows bookings to those that have it in title, external id, or the
	// invitee's name or e-mail, in whatever case, and transitions to those of such
	// bookings. There what is exactly the id of bookings finds only those. Of receipts it finds those whose
	// id or event key it is, and those about a booking whose id it is. Where names
	// are hidden, ids are all that it finds by: a title may have the name in it.
	Text string
}

// Reasons are what a transition that fits the filter can have as its reason, the
// filter's own reason aside.
func (f Filter) Reasons() []Reason {
	out := []Reason{ReasonIllegal, ReasonStale}
	if f.Outcome == Rejected {
		return out
	}
	out = append(out, ReasonSlotTaken, ReasonOverlap, ReasonCapacityFull)
	if f.Troubled {
		return out
	}
	return append(out, ReasonRescheduled, ReasonDeclined, ReasonRemoved, ReasonCanceled, ReasonUnmapped)
}

// Page asks for part of a list. Limit is 1 to MaxLimit. Cursor is what an
// earlier page gave as Next, opaque.
type Page struct {
	Limit  int
	Cursor string
}

// MaxLimit of a page, and DefaultLimit where none is asked for.
const (
	MaxLimit     = 200
	DefaultLimit = 50
)

// List is one page of a list; Next is "" on the last. A page with fewer items than
// its limit, or none, that has a Next is one that was searched only so far: a
// filter may fit rarely, and no page reads without end.
type List[T any] struct {
	Items []T
	Next  string
}

// Everything reads all pages of a list that is known to be short.
func Everything[T any](ctx context.Context, read func(context.Context, Filter, Page) (List[T], error)) ([]T, error) {
	return Whole(ctx, Filter{}, read)
}

// Whole reads all pages of what a filter lets through.
func Whole[T any](ctx context.Context, f Filter, read func(context.Context, Filter, Page) (List[T], error)) ([]T, error) {
	var all []T
	p := Page{Limit: MaxLimit}
	for {
		l, err := read(ctx, f, p)
		if err != nil {
			return nil, err
		}
		all = append(all, l.Items...)
		if l.Next == "" {
			return all, nil
		}
		p.Cursor = l.Next
	}
}

// Tally counts the transitions of a filter that share a reason: what the audit
// page offers as filters. With More it stopped counting, and there are at least
// so many.
type Tally struct {
	Reason Reason
	Count  int
	More   bool
}

// MaxTally is where a Tally stops counting.
const MaxTally = 10_000

// Failing is how many of a connection's newest receipts failed or were given up,
// with none between them that worked: 0 as soon as one did. Newest is the status
// of the newest of them.
type Failing struct {
	Count  int
	Newest ReceiptStatus
}

// Backlog is what was received and is not settled: the number of receipts that
// are pending, failed or dead, by status, and of those that are still tried when
// the oldest came, and which it is.
type Backlog struct {
	Open     map[ReceiptStatus]int
	Oldest   *time.Time
	OldestID uuid.UUID
}
