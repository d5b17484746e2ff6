package booking

import (
	"errors"
	"fmt"
	"time"
)

// Why a booking is not canceled at its provider.
var (
	ErrAlreadyCanceled = errors.New("the booking is canceled already")
	ErrAlreadyAsked    = errors.New("it is being canceled at the provider already")
)

// CannotCancelError says that a cancel at the provider is not possible, and what
// to do instead; its text may be shown. Code names what it is for pages in other
// languages.
type CannotCancelError struct{ Code, Detail string }

func (e *CannotCancelError) Error() string { return e.Detail }

// The codes of why a cancel is not possible.
const (
	CannotKeyless     = "keyless"     // the connection has nothing to ask its API with
	CannotSeatless    = "seatless"    // the seat cannot be told from the others
	CannotUnconnected = "unconnected" // no account that was told of it is connected
	CannotNoAPI       = "no_api"      // there is no API to cancel through
	CannotSeatsHidden = "seats_hidden"
	CannotUnnamed     = "unnamed" // its id is not one that the provider cancels by
)

// What an adapter returns of a cancel that no later try helps. It is not wrapped: rows
// keep its text, by which UndoneIn knows it.
var (
	ErrSeatsHidden = &CannotCancelError{
		Code:   CannotSeatsHidden,
		Detail: "the API does not show whose seat is which to this key, so that none can be canceled alone: cancel it in the provider's own pages",
	}
	ErrUnnamed = &CannotCancelError{
		Code: CannotUnnamed, Detail: "the booking does not bear an id that the provider cancels by: cancel it in the provider's own pages",
	}
)

var errKeyless = &CannotCancelError{Code: CannotKeyless, Detail: "the connection has no API credentials: connect it again with them, or cancel in the provider's own pages"}

var errUnconnected = &CannotCancelError{
	Code:   CannotUnconnected,
	Detail: "no account that was told of the booking is connected: reconnect it, or cancel in the provider's own pages",
}

var errSeatless = &CannotCancelError{Code: CannotSeatless, Detail: "the seat cannot be told from the others, for its e-mail is not known: cancel it in the provider's own pages"}

// Why a cancel that was agreed to is not carried out.
var (
	ErrJoined = errors.New("somebody else has joined since the cancellation was confirmed and would be canceled too: nothing was done, look at it again")
	// ErrAcceptedMeanwhile also ends a cancel that was asked for at the very moment at
	// which the overlap was accepted.
	ErrAcceptedMeanwhile = errors.New("the overlap was accepted since the cancellation was confirmed: nothing was done, cancel it again if that is still meant")
	ErrMovedAway         = errors.New("the booking was rescheduled meanwhile: nothing was done, look at the new one")
)

// The codes of a cancel that was agreed to and is not carried out.
const (
	UndoneJoined   = "joined"
	UndoneAccepted = "accepted"
	UndoneMoved    = "moved"
)

// UndoneIn finds in the text that an effect's row keeps of its last error the code of
// why it is not done; "" when it failed otherwise.
func UndoneIn(text string) string {
	for code, err := range map[string]error{
		UndoneJoined: ErrJoined, UndoneAccepted: ErrAcceptedMeanwhile, UndoneMoved: ErrMovedAway,
		CannotKeyless: errKeyless, CannotSeatless: errSeatless, CannotUnconnected: errUnconnected,
		CannotSeatsHidden: ErrSeatsHidden, CannotUnnamed: ErrUnnamed,
	} {
		if text == err.Error() {
			return code
		}
	}
	return ""
}

// UnconfirmedError says that a cancel goes further than was agreed to.
type UnconfirmedError struct {
	// Affected is how many would be canceled.
	Affected int
}

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("it cancels %d bookings: confirm that number", e.Affected)
}

// Why an effect is not withdrawn.
var (
	ErrNothingToWithdraw = errors.New("the effect is not to be done any more")
	// ErrBeingTried says that it is too late or too early to tell: in a moment it is
	// done, or waits for its next try and can be withdrawn.
	ErrBeingTried = errors.New("the cancel is being tried at the provider at this moment: look again in a moment")
)

// Why what came of a try of a message to an endpoint is not written: it was taken back
// while it was being sent.
var (
	ErrEndpointRemoved = errors.New("its endpoint was removed")
	ErrSkipped         = errors.New("its endpoint was switched on again without what it missed")
)

// ErrNothingToRetry says that an effect is done or about to be tried.
var ErrNothingToRetry = errors.New("the effect is done, or is being tried now")

// NotDueError says that a lane has effects but none that may be tried before At:
// the first is in another's hands, or waits after a failure.
type NotDueError struct{ At time.Time }

func (e *NotDueError) Error() string { return "nothing is due before " + e.At.Format(time.RFC3339) }
