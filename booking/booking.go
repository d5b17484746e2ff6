package booking

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Reason of a booking's or transition's state (DESIGN §9).
type Reason string

// The reasons: of a canceled booking, of a conflicted one, of an active one
// without a slot, and of a refused transition.
const (
	NoReason Reason = ""

	ReasonCanceled    Reason = "canceled"
	ReasonRemoved     Reason = "removed"
	ReasonDeclined    Reason = "declined"
	ReasonRescheduled Reason = "rescheduled"

	ReasonSlotTaken    Reason = "slot_taken"
	ReasonOverlap      Reason = "overlap"
	ReasonCapacityFull Reason = "capacity_full"

	ReasonUnmapped Reason = "unmapped"

	ReasonIllegal Reason = "illegal_transition"
	ReasonStale   Reason = "stale"
)

// strength orders the reasons of canceled (R6): rescheduled beats declined
// beats removed beats canceled, whatever came first.
func (r Reason) strength() int {
	return slices.Index([]Reason{ReasonCanceled, ReasonRemoved, ReasonDeclined, ReasonRescheduled}, r)
}

// Text is a field with the clock of the event that last said it (R1).
type Text struct {
	Value string
	At    Clock
}

// Invitee is the person who booked. Email is lower case; "" means unknown.
type Invitee struct {
	Name     Text
	Email    Text
	Phone    Text
	Timezone Text
}

// Booking is one invitee's reservation. A tombstone is one known only as
// canceled. Bookings live in sessions, which have the time (R1).
type Booking struct {
	ID         uuid.UUID
	Source     Source
	ExternalID string
	// Seat is the attendee's key when the uid is seated (R10), else "".
	Seat string
	// OpenedAt tells a seat that was taken again from its earlier, closed rows.
	// Zero for the first row of an identity.
	OpenedAt time.Time

	// SessionID is the meeting that the booking is in, itself a field (R1).
	SessionID uuid.UUID
	SessionAt Clock

	Status Status
	Reason Reason

	Title    Text
	Location Text
	Invitee  Invitee
	NoShow   bool
	NoShowAt Clock
	// BookedAt is the earliest time of booking that the provider gave.
	BookedAt     *time.Time
	ChainID      uuid.UUID
	Supersedes   *uuid.UUID
	SupersededBy *uuid.UUID
	// ConflictsWith are the bookings that hold what this one wants, sorted (R12).
	ConflictsWith []uuid.UUID
	// OverlapAccepted says that nobody needs to look at the conflict any more, as
	// it stands (R16): see AcceptOverlaps for when that ends.
	OverlapAccepted bool

	// ConnectionID is the first that told of the booking.
	ConnectionID uuid.UUID
	// LastReceiptID is the newest receipt that changed the row.
	LastReceiptID uuid.UUID
}

// confirmed tells whether the provider took the booking.
func (b *Booking) confirmed() bool { return b.Status == Active || b.Status == Conflicted }

// Session is the meeting that occupies time; bookings of a group share one.
type Session struct {
	ID         uuid.UUID
	Source     Source
	ExternalID string
	// StartsAt and EndsAt are zero while nobody said them.
	StartsAt time.Time
	EndsAt   time.Time
	TimeAt   Clock
	// Hosts is the newest full list; Added are hosts from lists that may be
	// cut, each with the newest clock that named it: they count while newer
	// than the full list (R9).
	Hosts   []Host
	HostsAt Clock
	Added   []AddedHost
	// HostEmails is everybody who was ever named host: an attendee among them
	// is a host, not an invitee. It only grows, so that order does not matter.
	HostEmails []string
	// Capacity is the largest said; nil is unknown and refuses nobody.
	Capacity *int
	// Seated says that a body gave a number of seats (R10).
	Seated bool
}

// AddedHost is a host from a list that may be cut.
type AddedHost struct {
	Host Host
	At   Clock
}

// EffectiveHosts are the newest full list and what newer cut lists add.
func (s *Session) EffectiveHosts() []Host {
	out := slices.Clone(s.Hosts)
	for _, a := range s.Added {
		if a.At.After(s.HostsAt) && !slices.ContainsFunc(out, func(h Host) bool { return h.ExternalID == a.Host.ExternalID }) {
			out = append(out, a.Host)
		}
	}
	return out
}

// Attendance is what is kept of one listed e-mail of a shared uid (Key is its
// HMAC, "" where a body listed nobody, "*" for the list itself): the newest
// clocks of R10 and the fields, from which the uid's bookings follow.
type Attendance struct {
	Source     Source
	ExternalID string
	Key        string

	Create      Clock
	Request     Clock
	ConfirmMove Clock
	Move        Clock
	Closing     Clock
	CloseReason Reason
	// Strongest is the strongest reason of any closing, for a uid that is not
	// seated (R6).
	Strongest Reason
	// Alone says that a body listed nobody else: then even a host's e-mail is
	// an invitee's.
	Alone bool

	Title    Text
	Location Text
	Invitee  Invitee
	NoShow   bool
	NoShowAt Clock
	BookedAt *time.Time
	// Listed is the newest list of attendees' keys, on the uid's own row only
	// (key "*"): while the uid is not seated, the first of them who is no host
	// is its invitee.
	Listed   []string
	ListedAt Clock
}

// Link is the fact that a booking took another's place (R5), kept by identity
// so that either may be unseen. Key is the attendee's for shared uids, else "".
type Link struct {
	Source      Source
	Predecessor string
	Successor   string
	Key         string
	At          Clock
}

// SlotStatus is the state of a session's claim (DESIGN §4).
type SlotStatus string

// A slot is active while any booking of its session is active; else tentative
// while any is pending; else waiting while any is conflicted; else released.
const (
	SlotActive    SlotStatus = "active"
	SlotTentative SlotStatus = "tentative"
	SlotWaiting   SlotStatus = "waiting"
	SlotReleased  SlotStatus = "released"
)

// Slot is a session's claim on one resource for [StartsAt, EndsAt). Its place
// and time never change.
type Slot struct {
	ID         uuid.UUID
	SessionID  uuid.UUID
	ResourceID uuid.UUID
	StartsAt   time.Time
	EndsAt     time.Time
	Status     SlotStatus
	ReceiptID  uuid.UUID
}

func (s *Slot) overlaps(resource uuid.UUID, from, to time.Time) bool {
	return s.ResourceID == resource && s.StartsAt.Before(to) && from.Before(s.EndsAt)
}

// Resource is what can be booked once at a time.
type Resource struct {
	ID   uuid.UUID
	Name string
	// NameGiven says that a person gave the name: deliveries leave it alone.
	NameGiven bool
	// AcceptWithinProvider is the rule that overlaps here between bookings of one
	// provider are accepted as they come (R16).
	AcceptWithinProvider bool
}

// Identity maps a provider's name for a resource to ours. An identity by
// e-mail has an empty Source and the e-mail as its ExternalID.
type Identity struct {
	Source     Source
	ExternalID string
	ResourceID uuid.UUID
	Email      string
	// Pinned says that a person mapped it: it then beats the e-mail.
	Pinned bool
}
