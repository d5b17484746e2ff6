package booking

import (
	"strings"
	"time"
)

// Kind is what a receipt was about: one of ours below, or the provider's own
// name for a kind that we have no use for (status ignored).
type Kind string

// The kinds that adapters translate provider events into (DESIGN §9).
const (
	KindRequested Kind = "booking.requested"
	KindCreated   Kind = "invitee.created"
	KindMoved     Kind = "booking.moved"
	KindCanceled  Kind = "invitee.canceled"
	KindDetails   Kind = "invitee.details"
	KindNoShow    Kind = "invitee.no_show"
	KindSelftest  Kind = "selftest"

	// KindSnapshot is an event's only, never a receipt's: what stands at a
	// provider that tells no events (R15). The machine makes a create, a move or
	// details of it, by what stands here.
	KindSnapshot Kind = "snapshot"
)

// Known tells whether the kind is one of ours, so that a metric labelled by it
// cannot be grown by whoever names the kinds.
func (k Kind) Known() bool {
	return k == KindSelftest || k.Action() != ""
}

// Action is what the state machine makes of a kind; empty when it is none of
// the machine's business.
func (k Kind) Action() Action {
	switch k {
	case KindRequested:
		return Request
	case KindCreated:
		return Create
	case KindMoved:
		return Move
	case KindCanceled:
		return Cancel
	case KindDetails:
		return Details
	case KindNoShow:
		return NoShow
	case KindSelftest, KindSnapshot:
		return ""
	}
	return ""
}

// Source is where a booking's identity is unique: a provider and its API base
// (DESIGN §2: never a connection, but a generic connection is its own base).
type Source struct {
	Provider string
	Base     string
}

func (s Source) String() string { return s.Provider + "|" + s.Base }

// Clock orders what was said about one thing (R2): the provider's time of the
// change, never the time of arrival; then the event's rank; then its key.
// The zero Clock means that nobody said it yet.
type Clock struct {
	At   time.Time
	Rank int
	Key  string
}

// Said tells whether anybody set this clock.
func (c Clock) Said() bool { return !c.At.IsZero() }

// After tells whether c is strictly newer than d. Anything said is newer than
// what nobody said.
func (c Clock) After(d Clock) bool {
	if !c.Said() {
		return false
	}
	if !d.Said() {
		return true
	}
	if n := c.At.Compare(d.At); n != 0 {
		return n > 0
	}
	if c.Rank != d.Rank {
		return c.Rank > d.Rank
	}
	return c.Key > d.Key
}

// Event is what one delivery says, in words that no provider owns. Pointers
// and nil slices mean "the body does not say" and change nothing (R9).
type Event struct {
	Kind   Kind
	Source Source
	// Key names the event among its connection's (webhook_receipts.event_key).
	Key string
	// At is the provider's time of the change (R2), UTC, microseconds.
	At time.Time

	// ExternalID is the booking's at its provider: the Calendly invitee URI's
	// path, the Cal.com uid, the Acuity appointment id, the generic booking.id.
	ExternalID string
	// Shared says that ExternalID may stand for several attendees' bookings
	// (a Cal.com uid, R10). Otherwise exactly one attendee is listed, or none.
	Shared bool
	// Seats is the number of seats that the body gives; nil when it gives none.
	// Only meaningful with Shared: any number makes the uid seated for good.
	Seats *int
	// Confirmed says that a move's body calls the booking confirmed.
	Confirmed bool
	// Reason of a cancel: canceled, declined, removed or rescheduled.
	Reason Reason

	// Session is what the body says of the meeting itself.
	Session SessionFacts

	Title    *string
	Location *string
	// BookedAt is the time of booking that the provider gives.
	BookedAt *time.Time
	// Attendees in the order in which the body lists them.
	Attendees []Attendee
	// Predecessor and Successor are external ids of other bookings, empty when
	// the body names none (R5).
	Predecessor string
	Successor   string
}

// Action is what the state machine makes of the event.
func (e *Event) Action() Action { return e.Kind.Action() }

// Clock is the event's place in the order of all that is said.
func (e *Event) Clock() Clock {
	return Clock{At: e.At, Rank: e.Action().rank(), Key: e.Key}
}

// SessionFacts is what a body says of the meeting that occupies time.
type SessionFacts struct {
	// ExternalID of the meeting: the Calendly scheduled event URI's path, the
	// Cal.com uid, the generic session or else booking id. Empty when the event
	// says nothing of any meeting.
	ExternalID string
	// StartsAt and EndsAt are both set or both nil; UTC, EndsAt later, at most
	// MaxLength apart (the adapter refuses anything else).
	StartsAt *time.Time
	EndsAt   *time.Time
	// Hosts in the body; nil when it names none. HostsCut says that the list
	// may be cut (Cal.com confirm, reject, cancel): it adds, never removes (R9).
	Hosts    []Host
	HostsCut bool
	// Capacity is the number of seats; nil when unknown, 1 only when explicit.
	Capacity *int
}

// MaxLength of a booking; longer ones are refused (too_long), and every window
// query leans on it as its bound.
const MaxLength = 31 * 24 * time.Hour

// Host is an identity of a resource as a provider names it.
type Host struct {
	// ExternalID at the provider: a Calendly user URI's path, a Cal.com
	// organizer's e-mail, an Acuity calendar id, a generic resource name.
	ExternalID string
	// Email in lower case; the same e-mail is the same resource everywhere.
	Email string
	Name  string
	// Named says that the name itself makes a resource of this source at first
	// sight (a generic sender's resource without an e-mail).
	Named bool
}

// Attendee is an invitee as a body lists it.
type Attendee struct {
	// Key stands for the e-mail wherever an identity or event key needs one:
	// its HMAC under the installation's pepper. Empty without an e-mail.
	Key      string
	Email    string // lower case
	Name     *string
	Phone    *string
	Timezone *string // IANA, for display only
	// NoShow is what a no_show event says of this attendee.
	NoShow *bool
}

// NormalizeEmail is the one spelling of an e-mail that identities compare.
func NormalizeEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
