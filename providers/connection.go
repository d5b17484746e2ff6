package providers

import (
	"errors"
	"net/url"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Secrets verify a connection's posts. Previous is kept while rotating, else "", and
// Older where another one came before that was done.
type Secrets struct {
	Current  string
	Previous string
	Older    string
}

// Replaced has another current secret. Those that there were go on verifying: nobody
// knows which of them the provider has.
func (s Secrets) Replaced(secret string) Secrets {
	out := Secrets{Current: secret, Previous: s.Current, Older: s.Previous}
	if out.Older == secret {
		out.Older = s.Older
	}
	return out
}

// Beside has another secret that verifies, after those that there are.
func (s Secrets) Beside(secret string) Secrets {
	switch {
	case secret == s.Current || secret == s.Previous:
	case s.Previous == "":
		s.Previous = secret
	default:
		s.Older = secret
	}
	return s
}

// Which secret verified a post.
const (
	ByCurrent  = "current"
	ByPrevious = "previous"
)

// Credentials call a connection's API on its account's behalf. Which of them a
// provider needs is its own: Acuity a User and the API key, which is also what
// its posts are signed with (Secrets.Current); Calendly a Token.
type Credentials struct {
	User  string
	Token string
	// Refresh gets the next token of an app that was authorised (OAuth); "" for a
	// token that a person made. It may work only once.
	Refresh string
	// ExpiresAt is the token's end; nil for one without.
	ExpiresAt *time.Time
}

// Subscription is how a connection's posts come.
type Subscription string

// Registered: by webhooks that we registered through the API. Manual: by one that
// a person enters at the provider, since the API does not let us. Otherwise nobody
// said.
const (
	Unsubscribed Subscription = ""
	Registered   Subscription = "registered"
	Manual       Subscription = "manual"
)

// Subscriptions are all there are.
func Subscriptions() []Subscription { return []Subscription{Unsubscribed, Registered, Manual} }

// Health is how calls to a connection's API fare.
type Health struct {
	// CheckedAt is the last check's time, SucceededAt the last success's, NextCheckAt
	// when it is looked at again; nil for never.
	CheckedAt, SucceededAt, NextCheckAt *time.Time
	// FailingSince is the first of Failures in a row; nil while it works.
	FailingSince *time.Time
	Failures     int
	// Failure is the last one's text, without secrets.
	Failure string
	// NeedsSignIn says that the credentials are no longer accepted.
	NeedsSignIn bool
	// HookLostAt is when our webhook was found gone, switched off or narrowed and could
	// not be made anew, or since when the provider says that it cannot deliver to us;
	// nil while all posts come. Failure begins with the HookState then.
	HookLostAt *time.Time
}

// State is a connection's health in a word.
type State string

// The states, the worst first. StateQuiet works as far as can be told, but no
// post has come for long; StateByHand cannot be asked, and has not been quiet.
const (
	StateDisconnected State = "disconnected"
	StateNeedsSignIn  State = "needs_sign_in"
	StateFailing      State = "failing"
	StateQuiet        State = "quiet"
	StateWorking      State = "working"
)

// quietAfter is how long nothing may come before somebody should wonder.
const quietAfter = 7 * 24 * time.Hour

// State says how the connection is.
func (c Connection) State(now time.Time) State {
	last := c.CreatedAt
	if c.LastDeliveryAt != nil {
		last = *c.LastDeliveryAt
	}
	switch {
	case c.DisconnectedAt != nil:
		return StateDisconnected
	case c.Health.NeedsSignIn:
		return StateNeedsSignIn
	case c.Health.Failures > 0, c.Health.HookLostAt != nil:
		return StateFailing
	case now.Sub(last) > quietAfter, c.Subscription != Registered && c.LastDeliveryAt == nil:
		return StateQuiet
	}
	return StateWorking
}

// Connection is one connected account of a provider.
type Connection struct {
	ID       uuid.UUID
	Provider string
	// APIBase is where the account's API lives, without a trailing slash. It is
	// part of every booking's identity. A generic connection's is its own id.
	APIBase string
	Name    string
	Secrets Secrets
	API     Credentials
	// Owner is whose account it is; zero until the API was asked.
	Owner        Profile
	Subscription Subscription
	// ReadFrom is the day from which its bookings were brought in; nil when they
	// were not.
	ReadFrom *time.Time
	Health   Health
	// KeepForms says that somebody had the intake forms of its bookings, and the notes
	// about them, kept: without, an adapter does not even tell them (FormKeeper).
	KeepForms      bool
	CreatedAt      time.Time
	DisconnectedAt *time.Time
	// ConnectingSince is when somebody began to connect it; nil once that is done. It
	// takes posts already, and is removed when it is never done.
	ConnectingSince *time.Time
	// Generation counts how often its credentials were given: what was found out with
	// those of before says nothing about it any more.
	Generation int
	// LastDeliveryAt is the newest delivery's arrival; nil before the first.
	LastDeliveryAt *time.Time
}

// Change is what an act changes of a connection; what is nil stays as it is, so that
// nobody writes back what another changed meanwhile. New credentials, an end and a
// new beginning are the next generation.
type Change struct {
	Name         *string
	Secrets      *Secrets
	API          *Credentials
	Owner        *Profile
	Subscription *Subscription
	ReadFrom     *time.Time
	Health       *Health
	// Disconnected is when it was ended, Reopened that it no longer is.
	Disconnected *time.Time
	Reopened     bool
	// Connected says that it is no longer being connected.
	Connected bool
}

// ErrConnected says that another connection has the account: two would each know a
// part of its bookings.
var ErrConnected = errors.New("another connection has the account")

// DownSince is when the connection stopped working: when the first of the failures
// in a row came, or posts went missing; nil while it works.
func (c Connection) DownSince() *time.Time {
	since := c.Health.FailingSince
	if lost := c.Health.HookLostAt; lost != nil && (since == nil || lost.Before(*since)) {
		since = lost
	}
	return since
}

// OnlyHookLost tells whether its posts alone are missing. Its API works: what is booked
// there still comes in, when it is compared.
func (c Connection) OnlyHookLost() bool {
	return c.Health.HookLostAt != nil && c.Health.Failures == 0 && !c.Health.NeedsSignIn
}

// WebhookURL is where the connection's provider posts to, at a server that is
// reached at base.
func (c Connection) WebhookURL(base *url.URL) string {
	return base.JoinPath("webhooks", c.Provider, c.ID.String()).String()
}

// Source is where the connection's bookings have their identities.
func (c Connection) Source() booking.Source {
	return booking.Source{Provider: c.Provider, Base: c.APIBase}
}

// OwnKey is an adapter whose accounts sign their posts with their own API key.
type OwnKey interface {
	Provider
	SignsWithAPIKey()
}

// SecretFixed tells whether what signs a connection's posts is not ours to change:
// the account's own API key, or the key of an app that somebody signed in for.
func (c Connection) SecretFixed(p Provider) bool {
	_, own := p.(OwnKey)
	return own || c.API.Refresh != ""
}
