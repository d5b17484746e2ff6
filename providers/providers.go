// Package providers is the contract between Slotkeeper and whoever sends it
// webhooks: what an adapter must do, and what a connected account is. Each
// adapter is a package below; cmd/slotkeeper/providers.go is the one list of
// them. docs/adding-a-provider.md says how to write one.
package providers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Why a post is refused before anything of it is read or stored.
var (
	ErrSignatureMissing = errors.New("the signature is missing")
	ErrSignatureInvalid = errors.New("the signature does not fit the body")
	ErrSignatureTooOld  = errors.New("the signature's time is outside the tolerance")
	ErrEventIDMissing   = errors.New("the event id header is missing")
)

// Request is a post as it arrived: header and raw body.
type Request struct {
	Header http.Header
	Body   []byte
}

// Origin is what an adapter needs to know of where a post came in.
type Origin struct {
	Source       booking.Source
	ConnectionID uuid.UUID
	// EmailKey makes the HMAC that stands for an e-mail in identities and keys.
	EmailKey func(email string) string
}

// Provider is an adapter. It holds no state of any connection.
type Provider interface {
	// Name is the provider's in URLs and in the database.
	Name() string
	// APIBase is the default for connections that name none; "" makes each
	// connection its own base.
	APIBase() string
	// Verify proves over the raw bytes, in constant time and before anything is
	// parsed, that the holder of one of the secrets sent them, and says which
	// (ByCurrent, ByPrevious), or returns one of the errors above. It fails
	// closed: an empty secret verifies nothing.
	Verify(r Request, s Secrets, now time.Time) (by string, err error)
	// Parse says what the body means. It never fails and never panics: a body
	// that it cannot use comes back as status failed, with a code and a text
	// that says what is wrong and what to do; a kind that we have no use for as
	// ignored; a host's absence as a Block. Kind and EventKey are always set.
	Parse(r Request, o Origin) booking.Delivery
	// Redact replaces the secrets inside a body (tokens, passwords, join links)
	// for whoever is shown it. What it cannot read it withholds altogether.
	Redact(body []byte) []byte
	// Sign is the header that the provider would send with the body.
	Sign(body []byte, secret string, now time.Time) http.Header
	// Selftest is a body in the provider's form that only says that it came: Parse
	// makes an ignored delivery of it, of kind selftest, so that a connection's way
	// can be tried without a booking. Another id is another event.
	Selftest(id string) []byte
}

// Claim is a receipt that something is left to be done about, taken up.
type Claim struct {
	Connection Connection
	ReceiptID  uuid.UUID
	EventKey   string
	Kind       booking.Kind
	// Status is pending, when something is to be fetched, or failed, when it
	// could not be applied.
	Status booking.ReceiptStatus
	// Subject is the external id of what a pending one is about.
	Subject string
	Body    []byte
	// Ticket is later than that of every claim before (R2).
	Ticket time.Time
}

// Fetcher is an adapter some of whose posts say too little: they come from Parse
// as pending, and what they are about is fetched from the provider's API.
type Fetcher interface {
	Provider
	// Fetch asks the connection's API about what a pending post was about
	// (booking.Delivery.Subject). body is the post's. ErrGone says that the API knows no such thing; a *LaterError
	// that it is to be asked again no sooner than After; any other error that it
	// may be asked again.
	Fetch(ctx context.Context, client *http.Client, c Connection, subject string, body []byte) (Fetched, error)
	// Read says what a fetched answer means, as Parse does of a body. at is the
	// ticket of its fetch, the clock of all that it says (R2). kind and eventKey
	// are those of the receipt.
	Read(snapshot []byte, o Origin, at time.Time, kind booking.Kind, eventKey string) booking.Delivery
}

// Fetched is what a provider's API answered.
type Fetched struct {
	// Snapshot is the answer to keep: JSON of the adapter's own, at most a MiB,
	// without the provider's secrets in it, and without Forms.
	Snapshot []byte
	// Forms of the booking, when the connection has them kept; else nil.
	Forms *booking.Forms
}

// FormKeeper is an adapter whose API tells what clients filled into forms. It does so
// only of connections with KeepForms.
type FormKeeper interface {
	Account
	TellsForms()
}

// ErrGone says that the provider's API answered 404.
var ErrGone = errors.New("the provider knows no such thing")

// LaterError says that the provider asked to be left alone for a while.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }

func (e *LaterError) Unwrap() error { return e.Err }
