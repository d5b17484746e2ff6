package booking

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// EffectKind is what an effect does outside.
type EffectKind string

// EffectCancel cancels a booking at its provider.
const EffectCancel EffectKind = "cancel_at_provider"

// EffectKinds are all of them.
func EffectKinds() []EffectKind {
	return []EffectKind{EffectCancel, EffectAlertMail, EffectAlertSlack, EffectWebhook}
}

// EffectStatus is how far an effect is.
type EffectStatus string

// An effect is pending until it is tried, failed while it is to be tried again,
// and ends done, or dead: given up until a person has it tried again. What was
// withdrawn was taken back before it was done, and stays so.
const (
	EffectPending   EffectStatus = "pending"
	EffectFailed    EffectStatus = "failed"
	EffectDone      EffectStatus = "done"
	EffectDead      EffectStatus = "dead"
	EffectWithdrawn EffectStatus = "withdrawn"
)

// EffectStatuses are all of them.
func EffectStatuses() []EffectStatus {
	return []EffectStatus{EffectPending, EffectFailed, EffectDone, EffectDead, EffectWithdrawn}
}

// Open tells whether the effect is still to be done by itself.
func (s EffectStatus) Open() bool { return s == EffectPending || s == EffectFailed }

// Lane is where effects wait for one another: those of one booking to one target
// are done in the order in which they were asked for, and one that fails holds
// back the later ones until it is given up.
type Lane struct {
	// BookingID is uuid.Nil of what is about no booking.
	BookingID uuid.UUID `json:"booking"`
	Target    string    `json:"target"`
}

// Effect is something to be done outside because of a transition or of an
// operator's action: asked for in the transaction of its cause, once, under one
// id that whoever it reaches may see again after a crash.
type Effect struct {
	Seq int64
	ID  uuid.UUID
	// Action is the transition's or the operator's action's id: of one action
	// there is one effect of a kind to a target, however often it is asked for.
	Action uuid.UUID
	Kind   EffectKind
	// Event is what an endpoint is told of; "" of other kinds.
	Event EndpointEvent
	// Lane says what the effect is about and where it goes. The target holds no
	// personal data.
	Lane
	// ConnectionID is whose API is called; uuid.Nil for none.
	ConnectionID uuid.UUID
	// RequestID is that of the request or delivery that led to it.
	RequestID string
	Actor     Actor
	Status    EffectStatus
	// Attempts are the tries begun, and Before those of them that were begun before
	// a person last asked to try again.
	Attempts  int
	Before    int
	Error     string // of the newest try that failed
	CreatedAt time.Time
	DueAt     time.Time  // when it is tried next, while open
	DoneAt    *time.Time // when it was done or withdrawn
	// Payload is what the doing needs and others need not see. It is kept sealed,
	// and only read by whoever does the effect.
	Payload []byte
}

// Tries are those since a person last asked.
func (e *Effect) Tries() int { return e.Attempts - e.Before }

// EffectCount is how many effects of a kind have a status.
type EffectCount struct {
	Kind   EffectKind
	Status EffectStatus
	Count  int
}

// CancelRequest asks for a cancel at the provider.
type CancelRequest struct {
	BookingID uuid.UUID
	// Action is the request's own id: asked again under it, nothing more is done.
	Action uuid.UUID
	// Message is shown to those who are affected.
	Message string
	// Confirm is how many bookings whoever asks expects to be canceled.
	Confirm   int
	RequestID string
}

// CancelOrder is the payload of EffectCancel.
type CancelOrder struct {
	// Affected are the bookings that whoever asked was shown: no other may be
	// canceled with them.
	Affected []uuid.UUID `json:"affected"`
	// Accepted are those of Affected whose overlap was accepted when they were shown.
	// One that is accepted later is to be kept.
	Accepted []uuid.UUID `json:"accepted,omitempty"`
	Message  string      `json:"message,omitempty"`
}

// Order is the payload of a cancel as it is planned.
func (p CancelPlan) Order(message string) CancelOrder {
	o := CancelOrder{Affected: p.IDs(), Message: message}
	for _, b := range p.Affected {
		if b.OverlapAccepted {
			o.Accepted = append(o.Accepted, b.ID)
		}
	}
	return o
}

// CancelTarget is the provider's address of what a cancel is for.
type CancelTarget struct {
	ExternalID        string
	SessionExternalID string
	// Seat is the e-mail whose seat of a shared booking is meant; "" for all of it.
	Seat string
}

// CancelPlan is how far a cancel at the provider goes.
type CancelPlan struct {
	Booking View
	// ConnectionID is the account that cancels: one that is connected and was told
	// of the booking. uuid.Nil when there is none.
	ConnectionID uuid.UUID
	Target       CancelTarget
	// Affected are all that are canceled by it, the booking among them unless it is
	// canceled already.
	Affected []View
	// Seatless says that the booking is one of several seats and nothing names it to
	// the provider: without a name all would be canceled.
	Seatless bool
	// Open says that a cancel is under way already.
	Open bool
	// Keyless says that the connection has nothing to call its API with: it takes
	// posts alone.
	Keyless bool
}

// MaxMessage is the longest message to those who are affected, in characters.
const MaxMessage = 2000

// wholeSessions are the providers whose API cancels a meeting with all who are in
// it. That of the others cancels one booking.
var wholeSessions = []string{"calendly"}

// CancelsWhole tells whether a provider's API cancels a meeting with all who are in it,
// and not one of them.
func CancelsWhole(provider string) bool { return slices.Contains(wholeSessions, provider) }

// Canceling plans to cancel a booking at its provider. inSession are the bookings
// of its session, itself among them.
func Canceling(b View, s Session, inSession []View) CancelPlan {
	p := CancelPlan{
		Booking: b, Affected: []View{b},
		Target: CancelTarget{ExternalID: b.ExternalID, SessionExternalID: s.ExternalID},
	}
	switch {
	case CancelsWhole(b.Provider):
		p.Affected = slices.Clone(inSession)
	case s.Seated:
		p.Target.Seat, p.Seatless = b.Invitee.Email, b.Invitee.Email == ""
	}
	p.Affected = slices.DeleteFunc(p.Affected, func(o View) bool { return o.Status == Canceled })
	return p
}

// IDs of all who are affected.
func (p CancelPlan) IDs() []uuid.UUID {
	out := make([]uuid.UUID, len(p.Affected))
	for i, b := range p.Affected {
		out[i] = b.ID
	}
	return out
}

// Group tells whether the cancel goes beyond the booking.
func (p CancelPlan) Group() bool { return len(p.Affected) > 1 }

// Refuse says why the booking cannot be canceled at its provider now; nil when it
// can.
func (p CancelPlan) Refuse() error {
	switch {
	case p.Booking.Status == Canceled:
		return ErrAlreadyCanceled
	case p.Open:
		return ErrAlreadyAsked
	case p.ConnectionID == uuid.Nil:
		return errUnconnected
	case p.Keyless:
		return errKeyless
	case p.Seatless:
		return errSeatless
	}
	return nil
}

// Check refuses what whoever asks has to set right: a message that is too long, or
// a number that is not that of the group, which may have grown since it was shown.
// Of a single booking 1 and no number are the same.
func (p CancelPlan) Check(message string, confirm int) error {
	if utf8.RuneCountInString(message) > MaxMessage {
		return &InvalidError{Field: "message", Detail: fmt.Sprintf("has more than %d characters", MaxMessage)}
	}
	if confirm != len(p.Affected) && (p.Group() || confirm != 0) {
		return &UnconfirmedError{Affected: len(p.Affected)}
	}
	return nil
}

// Stands tells whether an order that was agreed to is still to be carried out: not
// when the provider told of the end meanwhile. Where carrying it out would do
// something else than was agreed to, it says so.
func (o CancelOrder) Stands(p CancelPlan) (bool, error) {
	switch {
	case p.Booking.Status == Canceled && p.Booking.Reason == ReasonRescheduled:
		return false, ErrMovedAway
	case slices.ContainsFunc(p.Affected, func(b View) bool { return !slices.Contains(o.Affected, b.ID) }):
		return false, ErrJoined
	case slices.ContainsFunc(p.Affected, func(b View) bool { return b.OverlapAccepted && !slices.Contains(o.Accepted, b.ID) }):
		return false, ErrAcceptedMeanwhile
	case p.Seatless && p.Booking.Status != Canceled:
		return false, errSeatless
	}
	return len(p.Affected) > 0, nil
}
