package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"slotkeeper/booking"
)

// ErrNoCredentials says that a connection has nothing to call its API with.
var ErrNoCredentials = errors.New("the connection has no API credentials")

// Account is an adapter whose connections can be asked through an API: who they
// are, what is booked, whether our webhook stands. It holds no state of any
// connection; what it is given is a Connection whose token is fresh. Every error
// may be a *LaterError (asked to wait), an *AnswerError (the API's refusal, with
// its own message), or one of the network's.
type Account interface {
	Provider
	// Identify says whose account the credentials open, and who can be booked in
	// it, read to the last page.
	Identify(ctx context.Context, client *http.Client, c Connection) (Profile, error)

	// HookKinds are the events that Subscribe has posted.
	HookKinds() []HookKind
	// Hooks are the registrations of webhooks whose posts go to target, whoever
	// made them, as far as the API tells.
	Hooks(ctx context.Context, client *http.Client, c Connection, target string) ([]Hook, error)
	// Subscribe has all kinds that we use posted to target, signed with the
	// connection's current secret, and returns the registrations. What stands
	// already is adopted when its secret is known to be ours, else replaced;
	// calling it again changes nothing. A *ManualError says that a person has to
	// enter URL and secret at the provider, an *UnhookedError that nothing may stand
	// any more.
	Subscribe(ctx context.Context, client *http.Client, c Connection, target string, p Profile) ([]Hook, error)
	// Unsubscribe removes every registration for target; that there is none, or
	// that the provider has forgotten it, is no error.
	Unsubscribe(ctx context.Context, client *http.Client, c Connection, target string) error

	// List reads a page of what is booked, canceled ones too, in sessions that
	// begin within w. cursor is "" at first, then the page's Next. at is the clock
	// of what the provider gives no time of change for (R2).
	List(ctx context.Context, client *http.Client, c Connection, o Origin, w Window, cursor string, at time.Time) (Page, error)
	// Look reads one booking by its external id, as List would have it. Of a
	// shared id it is the session with all that attend. ErrGone says that the
	// provider knows no such thing.
	Look(ctx context.Context, client *http.Client, c Connection, o Origin, externalID string, at time.Time) (Standing, error)

	// Cancel cancels a booking at the provider, who tells us by webhook. That it is
	// canceled already is no error. message is shown to those affected; "" has the
	// adapter send what the provider demands.
	Cancel(ctx context.Context, client *http.Client, c Connection, t CancelTarget, message string) error
}

// Blocker is an Account whose API lists when resources are unavailable.
type Blocker interface {
	Account
	// Blocks reads all blocks that touch the window.
	Blocks(ctx context.Context, client *http.Client, c Connection, w Window) ([]booking.Block, error)
}

// OAuthEndpoint is where an app is authorised. Scopes are those that all of
// Account needs.
type OAuthEndpoint struct {
	AuthURL, TokenURL string
	Scopes            []string
	// InParams sends the client's id and secret in the form; else in the header.
	InParams bool
}

// Authorizer is an Account that an app may be authorised for.
type Authorizer interface {
	Account
	// OAuth is the provider's endpoint; base replaces the provider's own host ("":
	// the provider's).
	OAuth(base string) OAuthEndpoint
}

// KeyProver is an Account that an app may be authorised for, and whose posts are
// signed with a key that the app's token neither uses nor reveals.
type KeyProver interface {
	Account
	// ProveKey asks the API once with the key that signs (Secrets.Current) whether it is
	// that of the connection's Owner, as whom the token was accepted. A *KeyError says
	// that it is not.
	ProveKey(ctx context.Context, client *http.Client, c Connection) error
}

// KeyError says that a key was given that the account's posts are not signed with:
// each of them would be refused.
type KeyError struct {
	// Foreign says that the key is good, and another account's.
	Foreign bool
	// Err is the API's refusal; nil of a foreign key.
	Err error
}

func (e *KeyError) Error() string {
	if e.Foreign {
		return "the API key is that of another account than the one that was signed in at: take the key of that account, or sign in at the key's"
	}
	return fmt.Sprintf("the API key that posts are signed with is not accepted: copy user id and API key again, both from the same page (%v)", e.Err)
}

func (e *KeyError) Unwrap() error { return e.Err }

// Profile is whose account it is.
type Profile struct {
	// ExternalID of the account's user at the provider.
	ExternalID string
	Name       string
	Email      string // lower case; "" when the API does not tell
	Timezone   string // IANA; "" when the API does not tell
	// Organization that the user acts in, as the provider names it; "" for none.
	Organization string
	// Wide says that the credentials see the whole organization, not one user.
	Wide bool
	// Hosts who can be booked, as their bookings name them.
	Hosts []booking.Host
}

// Window is the sessions that begin at From or later and before To.
type Window struct{ From, To time.Time }

// Standing is a booking as the provider says that it stands, or, of a shared
// external id, its session with all that attend.
type Standing struct {
	// Delivery has Kind and either Event or what is wrong with it (failed, with
	// code and text). The Event is a snapshot, a request or a cancel; keys and
	// receipt are the caller's to give.
	booking.Delivery
	// Body is what was read, reduced to what is kept: JSON without the provider's
	// secrets, as Redact leaves it.
	Body []byte
	// Forms of the booking, when the connection has them kept; else nil.
	Forms *booking.Forms
}

// Page is a part of what is booked.
type Page struct {
	Standings []Standing
	// Next is the next page's cursor; "" after the last.
	Next string
	// Requests is how many the page took.
	Requests int
}

// CancelTarget is a booking to cancel at its provider.
type CancelTarget struct {
	ExternalID        string
	SessionExternalID string
	// Seat says that only this e-mail's seat of a shared booking is meant.
	Seat string
}

// ManualError says that the API does not let us register a webhook; a person
// enters its URL and secret at the provider.
type ManualError struct {
	// Why is the provider's own reason, or ours.
	Why string
	// Said is the provider's own reason; "" when Why is ours.
	Said string
	// Where names the place in the provider's pages.
	Where string
}

func (e *ManualError) Error() string {
	return fmt.Sprintf("the webhook has to be entered at the provider by hand (%s): %s", e.Where, e.Why)
}

// UnhookedError says that registering a webhook anew broke off once the one before was
// removed, or may have been: the provider may post nothing any more.
type UnhookedError struct{ Err error }

func (e *UnhookedError) Error() string {
	return fmt.Sprintf("the webhook before was removed, and no other made: %v", e.Err)
}

// Unwrap is why no other was made.
func (e *UnhookedError) Unwrap() error { return e.Err }

// NeedsSignIn tells whether an error says that the credentials are no longer
// accepted, whatever else is right.
func NeedsSignIn(err error) bool {
	var answer *AnswerError
	return errors.As(err, &answer) && answer.Status == http.StatusUnauthorized
}
