package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// Records is what pages and API read; *store.Store. Bookings come in order of
// their start, those without a time last; slots in order of their start;
// transitions and receipts newest first.
type Records interface {
	bookingRecords
	auditRecords
	receiptRecords
	connectionRecords
	formRecords
	blockRecords
	calendarRecords
	peopleRecords
	// EndpointNames are the names of other systems that are or were told, by id.
	EndpointNames(ctx context.Context) (map[uuid.UUID]string, error)
	Slots(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.SlotView], error)
	Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error)
	// Ready fails when the database cannot be written.
	Ready(ctx context.Context) error
}

type bookingRecords interface {
	Bookings(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.View], error)
	Booking(ctx context.Context, id uuid.UUID) (booking.View, error)
	// BookingsByID are those of the ids that exist, in no order.
	BookingsByID(ctx context.Context, ids []uuid.UUID) ([]booking.View, error)
	// OpenConflicts counts the open conflicts that end after a time.
	OpenConflicts(ctx context.Context, after time.Time) (int, error)
	Chain(ctx context.Context, chainID uuid.UUID) ([]booking.View, error)
}

type auditRecords interface {
	Transitions(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error)
	Transition(ctx context.Context, id uuid.UUID) (booking.TransitionView, error)
	// Tally counts the filter's transitions by reason.
	Tally(ctx context.Context, f booking.Filter) ([]booking.Tally, error)
	// AdminLog lists what people and commands did, newest first.
	AdminLog(ctx context.Context, f access.EntryFilter, p booking.Page) (booking.List[access.LoggedEntry], error)
	// Actors names users and tokens.
	Actors(ctx context.Context) (map[booking.Actor]string, error)
}

type receiptRecords interface {
	Receipts(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ReceiptView], error)
	Receipt(ctx context.Context, id uuid.UUID) (booking.ReceiptView, error)
	// ReceiptBody is the raw body; empty once retention emptied it.
	ReceiptBody(ctx context.Context, id uuid.UUID) ([]byte, error)
	Copies(ctx context.Context, receiptID uuid.UUID) ([]booking.Copy, error)
	// CountReceipts counts by connection, kind and status, and by parts of a time.
	CountReceipts(ctx context.Context, f booking.CountFilter, now time.Time) (booking.ReceiptCounts, error)
	// BookingsOfReceipts are the bookings that receipts are about, by receipt.
	BookingsOfReceipts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error)
	// Failing is how many of a connection's newest receipts failed in a row.
	Failing(ctx context.Context, connection uuid.UUID) (booking.Failing, error)
	Backlogger
}

type connectionRecords interface {
	// Connections come without their secrets.
	Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error)
	Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error)
	// Runs are the newest of a connection, OpenRuns those under way of all.
	Runs(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Run, error)
	OpenRuns(ctx context.Context) ([]booking.Run, error)
	// Drifts are what a connection's provider has otherwise, the oldest first.
	Drifts(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Drift, error)
}

// Accounts says who may do what; *access.Accounts.
type Accounts interface {
	SignIn(ctx context.Context, name, password, remote string) (access.User, error)
	User(ctx context.Context, id uuid.UUID) (access.User, error)
	SetPassword(ctx context.Context, by access.By, name, password string) error
	SetDisplay(ctx context.Context, by access.By, id uuid.UUID, d access.Display) error
	Link(ctx context.Context, secret string) (access.Purpose, access.User, error)
	SignInByLink(ctx context.Context, secret, remote string) (access.User, error)
	FirstAdministrator(ctx context.Context, secret, name, password, remote string) (access.User, error)
	Authenticate(ctx context.Context, bearer string) (access.Principal, error)
	accountManager
	// Note keeps in the admin log what was done elsewhere.
	Note(ctx context.Context, by access.By, action, subject string, detail access.Facts) error
}

// accountManager changes what people and programs may do.
type accountManager interface {
	Users(ctx context.Context) ([]access.User, error)
	AddUser(ctx context.Context, by access.By, name string, role access.Role, password string) (access.User, error)
	SignInLink(ctx context.Context, by access.By, id uuid.UUID) (string, error)
	SetRole(ctx context.Context, by access.By, name string, role access.Role) error
	LimitUser(ctx context.Context, by access.By, name string, l access.Limit) error
	DisableUser(ctx context.Context, by access.By, name string) error
	EnableUser(ctx context.Context, by access.By, name string) error
	Privacy(ctx context.Context) (map[access.Role]access.Hidden, error)
	SetPrivacy(ctx context.Context, by access.By, p access.RolePrivacy) error
	Tokens(ctx context.Context) ([]access.Token, error)
	CreateToken(ctx context.Context, by access.By, name string, scope access.Scope) (string, access.Token, error)
	RevokeToken(ctx context.Context, by access.By, id uuid.UUID) error
	Sessions(ctx context.Context, user uuid.UUID) ([]access.Session, error)
	AllSessions(ctx context.Context) ([]access.Session, error)
	SawSession(ctx context.Context, id, remote string) error
	EndSession(ctx context.Context, by access.By, s access.Session) error
	EndSessions(ctx context.Context, by access.By, user uuid.UUID) error
}

// Intake takes a proven post. It returns once the post is committed, or
// booking.ErrUnavailable when nothing is known to be stored.
type Intake interface {
	Take(ctx context.Context, p booking.Post) (booking.Answer, error)
}

// Deps is what the server needs.
type Deps struct {
	Log      *slog.Logger
	Now      func() time.Time
	Records  Records
	Accounts Accounts
	Intake   Intake
	Effects  Effects
	Connect  Connector
	Senders  SenderStore
	Forms    FormKeeper
	// FormsKept is how long intake forms are kept after they were told last; 0 for ever.
	FormsKept time.Duration
	// Resources lists for people what can be booked, and changes it.
	Resources Resources
	Overlaps  Overlaps
	Replays   Replays
	Feeds     Feeds
	// Revisions tell feeds how often chains changed.
	Revisions func(ctx context.Context, chains []uuid.UUID) (map[uuid.UUID]booking.Revision, error)
	Alerts    Alerts
	Trier     Trier
	Eraser    Eraser
	Endpoints Endpoints
	Tester    Tester
	// PrivateHosts tells whether a "host:port" may be reached on a private network.
	PrivateHosts func(address string) bool
	Metrics      *Metrics
	// Unproven counts posts that were not proven, while it runs.
	Unproven *Unproven
	// Live tells open pages of changes while it runs.
	Live *Live
	// Providers are the adapters by name: the only ones that have webhooks.
	Providers map[string]providers.Provider
	// EmailKey makes the HMAC that stands for an e-mail in identities and keys.
	EmailKey func(email string) string
	// Sessions keeps the sessions of the pages.
	Sessions SessionStore
	// PublicURL is how the outside reaches the server: webhook URLs are made of
	// it, and with https cookies are sent over TLS only.
	PublicURL *url.URL
	// TrustedProxies may say in X-Forwarded-For whom they speak for. Without any
	// the header is ignored.
	TrustedProxies []netip.Prefix
	// Zone is what pages show to whoever chose none. One that is named Local is
	// replaced by the one that the machine is set to.
	Zone    *time.Location
	Version string
	// MetricsElsewhere keeps /metrics off this server: an admin listener has it.
	MetricsElsewhere bool
}

func (d *Deps) validate() error {
	var errs []error
	need := func(ok bool, name string) {
		if !ok {
			errs = append(errs, errors.New("web: Deps."+name+" is missing"))
		}
	}
	need(d.Log != nil, "Log")
	need(d.Now != nil, "Now")
	need(d.Records != nil, "Records")
	need(d.Accounts != nil, "Accounts")
	need(d.Intake != nil, "Intake")
	need(d.Effects != nil, "Effects")
	need(d.Connect != nil, "Connect")
	need(d.Senders != nil, "Senders")
	need(d.Forms != nil, "Forms")
	need(d.Resources != nil, "Resources")
	need(d.Overlaps != nil, "Overlaps")
	need(d.Replays != nil, "Replays")
	need(d.Feeds != nil, "Feeds")
	need(d.Revisions != nil, "Revisions")
	need(d.Alerts != nil, "Alerts")
	need(d.Trier != nil, "Trier")
	need(d.Eraser != nil, "Eraser")
	need(d.Metrics != nil, "Metrics")
	need(d.Unproven != nil, "Unproven")
	need(d.Live != nil, "Live")
	need(len(d.Providers) > 0, "Providers")
	need(d.EmailKey != nil, "EmailKey")
	need(d.Sessions != nil, "Sessions")
	need(d.PublicURL != nil && d.PublicURL.Host != "", "PublicURL")
	need(d.Zone != nil, "Zone")
	return errors.Join(errs...)
}

// server holds what handlers share.
type server struct {
	Deps
	embedded
	sessions *sessions
	webhooks *webhooks
	health   *health
	// How often programs may read one feed, and ask for feeds that do not exist.
	feedReads, feedMisses *limits
}

// New is the server of the main listener.
func New(deps Deps) (http.Handler, error) {
	if err := deps.validate(); err != nil {
		return nil, err
	}
	deps.Zone = NamedZone(deps.Zone)
	files, err := embeddedFiles()
	if err != nil {
		return nil, err
	}
	s := &server{Deps: deps, embedded: files}
	s.Records, s.Effects, s.Resources = guarded{deps.Records}, guardedEffects{deps.Effects, deps.Records}, guardedResources{deps.Resources}
	s.sessions = newSessions(deps)
	s.webhooks = newWebhooks(deps)
	s.feedReads, s.feedMisses = newLimits(feedReadEvery, feedReadBurst), newLimits(feedMissEvery, feedMissBurst)
	s.health = &health{ready: deps.Records.Ready, now: deps.Now, log: deps.Log}

	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = clientAddress(deps.TrustedProxies)
	e.HTTPErrorHandler = s.handleError
	e.Use(s.requestID, s.logRequest, s.catchPanic, s.securityHeaders, plainQuery)
	if err := s.routes(e); err != nil {
		return nil, err
	}
	if err := s.checkRoutes(e); err != nil {
		return nil, err
	}
	return e, nil
}
