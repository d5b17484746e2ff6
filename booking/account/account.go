package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Store is what the accounts need of booking/store.
type Store interface {
	Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error)
	BeginConnection(ctx context.Context, c providers.Connection, h booking.Hold) error
	TakeConnection(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (bool, error)
	RenewConnection(ctx context.Context, id uuid.UUID, h booking.Hold) error
	LeaveConnection(ctx context.Context, id, by uuid.UUID) error
	ChangeConnection(ctx context.Context, id, by uuid.UUID, c providers.Change) error
	DropConnection(ctx context.Context, id, by uuid.UUID) error
	Introduce(ctx context.Context, source booking.Source, hosts []booking.Host, by booking.Actor, now time.Time) error
	NoteHealth(ctx context.Context, id uuid.UUID, generation int, h providers.Health) error
	BeginRefresh(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (bool, error)
	KeepToken(ctx context.Context, id, by uuid.UUID, generation int, token providers.Credentials) error
	EndRefresh(ctx context.Context, id, by uuid.UUID) error

	Ticket(ctx context.Context, now time.Time) (time.Time, error)
	BeginRun(ctx context.Context, r booking.Run) (booking.Run, error)
	ClaimRun(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (booking.Run, bool, error)
	HoldRun(ctx context.Context, id uuid.UUID, found *booking.Run, h booking.Hold) error
	ReleaseRun(ctx context.Context, r booking.Run, by uuid.UUID) error
	StopRun(ctx context.Context, id uuid.UUID, now time.Time) (booking.Run, error)
	StandingHere(ctx context.Context, connections []uuid.UUID, from, to time.Time) (map[string][]booking.Standing, error)
	ClosedSince(ctx context.Context, source booking.Source, ids []string, since time.Time) (map[string]bool, error)
	ReplaceBlocks(ctx context.Context, connection uuid.UUID, source booking.Source, from, to time.Time, blocks []booking.Block, ticket time.Time) error
	Drifts(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Drift, error)
	NoteDrift(ctx context.Context, d booking.Drift) error
	LookAfter(ctx context.Context, now time.Time, most time.Duration) (booking.Look, error)
	OpenRuns(ctx context.Context) ([]booking.Run, error)
	Runs(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Run, error)
	NewestRun(ctx context.Context, connection uuid.UUID, kind booking.RunKind) (booking.Run, error)
	Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error)
	ForgetDrifts(ctx context.Context, r booking.Run) error
	Receipts(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ReceiptView], error)
}

// Intake applies what was read.
type Intake interface {
	TakeSet(ctx context.Context, set []booking.Post) ([]booking.Answer, error)
}

// App is an OAuth app of this installation at a provider.
type App struct {
	ID, Secret string
	// SigningKey is what the provider signs an app's webhooks with (Calendly's); ""
	// where each connection has its own.
	SigningKey string
	// Base replaces the provider's own host of its authorisation; "" for that.
	Base string
}

// Options of New.
type Options struct {
	Store     Store
	Intake    Intake
	Providers map[string]providers.Provider
	// Client calls the providers' APIs.
	Client *http.Client
	// PublicURL is where providers reach us.
	PublicURL *url.URL
	EmailKey  func(email string) string
	// Apps by provider.
	Apps  map[string]App
	Now   func() time.Time
	Log   *slog.Logger
	Tempo providers.Tempo
	// Wake has a run worked on, and WakeCheck a connection checked.
	Wake      func(ctx context.Context, run uuid.UUID) error
	WakeCheck func(ctx context.Context, connection uuid.UUID) error
}

// Accounts are the installation's connected accounts.
type Accounts struct {
	opts Options
	// looks bounds what one comparison asks for one by one.
	looks int
}

// New makes them.
func New(o Options) *Accounts { return &Accounts{opts: o, looks: mostLooks} }

// ErrCannotAsk says that the provider has no API, or the connection nothing to
// call it with.
var ErrCannotAsk = errors.New("the connection has no API credentials; connect it again with them")

// Target is the webhook URL of a connection.
func (a *Accounts) Target(c providers.Connection) string {
	return c.WebhookURL(a.opts.PublicURL)
}

// adapter is the connection's, when its API can be asked.
func (a *Accounts) adapter(c providers.Connection) (providers.Account, error) {
	p, ok := a.opts.Providers[c.Provider]
	if !ok {
		return nil, fmt.Errorf("there is no adapter for %s in this version", c.Provider)
	}
	api, ok := p.(providers.Account)
	if !ok || !HasCredentials(c) {
		return nil, ErrCannotAsk
	}
	return api, nil
}

// HasCredentials tells whether the connection's API can be called.
func HasCredentials(c providers.Connection) bool { return c.API.Token != "" || c.API.User != "" }

func (a *Accounts) origin(c providers.Connection) providers.Origin {
	return providers.Origin{Source: c.Source(), ConnectionID: c.ID, EmailKey: a.opts.EmailKey}
}

// Ready is a connection with a token that is good for a while, and its adapter.
func (a *Accounts) Ready(ctx context.Context, id uuid.UUID) (providers.Connection, providers.Account, error) {
	c, err := a.opts.Store.Connection(ctx, id)
	if err != nil {
		return c, nil, err
	}
	if c.DisconnectedAt != nil {
		return c, nil, fmt.Errorf("%w: it is disconnected", ErrCannotAsk)
	}
	api, err := a.adapter(c)
	if err != nil {
		return c, nil, err
	}
	c, err = a.fresh(ctx, c, api)
	return c, api, err
}
