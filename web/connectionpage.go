package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// Connector connects accounts and asks their providers; *account.Accounts.
type Connector interface {
	Connect(ctx context.Context, r account.Request) (account.Connected, error)
	// Disconnect ends a connection. left says why a webhook may be left at the
	// provider.
	Disconnect(ctx context.Context, id uuid.UUID) (left, err error)
	Rotate(ctx context.Context, id uuid.UUID) error
	FinishRotation(ctx context.Context, id uuid.UUID) error
	Check(ctx context.Context, id uuid.UUID) (account.Finding, error)
	Begin(ctx context.Context, c providers.Connection, kind booking.RunKind, cause string, from time.Time, by booking.Actor) (booking.Run, error)
	Reconcile(ctx context.Context, c providers.Connection, cause string, by booking.Actor) (booking.Run, error)
	// Authorizable tells whether people may connect by signing in at the provider.
	Authorizable(provider string) bool
	AuthURL(provider, redirect, state, verifier string) (string, error)
	Redeem(ctx context.Context, provider, redirect, code, verifier string) (c providers.Credentials, signingKey string, err error)
}

// SecretKeeper keeps the connections that have no API, and the secrets that
// people enter at the providers by hand; *store.Store.
type SecretKeeper interface {
	CreateConnection(ctx context.Context, c providers.Connection) error
	// RotateSecret keeps the secret before as the previous.
	RotateSecret(ctx context.Context, id uuid.UUID, secret string) error
}

// newestRuns is how many runs, and mostDrifts how many differences, a page shows.
const (
	newestRuns = 20
	mostDrifts = 200
)

type connectionsView struct {
	Connections []connectionView
	Providers   []string
	May         bool // connect accounts
}

// connectionsPage lists the accounts and how each is.
func (s *server) connectionsPage(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return err
	}
	open, err := s.Records.OpenRuns(ctx)
	if err != nil {
		return err
	}
	v := connectionsView{May: s.viewer(c).may(access.ManageConnections), Providers: s.connectable()}
	for _, conn := range all {
		row, err := s.newConnectionView(ctx, conn, open)
		if err != nil {
			return err
		}
		runs, err := s.Records.Runs(ctx, conn.ID, newestRuns)
		if err != nil {
			return err
		}
		row.Compared = lastReconcile(runs)
		v.Connections = append(v.Connections, row)
	}
	slices.SortStableFunc(v.Connections, func(a, b connectionView) int { return urgency(a) - urgency(b) })
	return s.page(c, http.StatusOK, "connections", page{Title: "connections.title", Section: "connections", Data: v})
}

// urgency puts what needs a person first, and what is over last.
func urgency(v connectionView) int {
	switch {
	case v.Down():
		return 0
	case v.DisconnectedAt == nil:
		return 1
	}
	return 2
}

// connectable are the providers by name, the generic one last.
func (s *server) connectable() []string {
	names := slices.Sorted(maps.Keys(s.Providers))
	if i := slices.Index(names, generic); i >= 0 {
		names = append(slices.Delete(names, i, i+1), generic)
	}
	return names
}

// connectionPage is one connection with all that is known of it.
type connectionPageView struct {
	connectionView
	Hosts    []hostView
	Unmapped int
	History  []booking.Run
	Drifts   []driftView
	// Done says what was just done; "" for nothing.
	Done string
	// Trouble is what could not be done.
	Trouble *trouble
	// Left is why a webhook may be left at the provider.
	Left string
	// Reveal is the secret to enter at the provider, shown this once; Why is the
	// provider's reason for it.
	Reveal string
	Why    string
	// Rotating says that the secret before is still accepted.
	Rotating bool
	// ByHand says that a new secret has to be entered at the provider; Fixed that
	// the secret is not ours to change.
	ByHand, Fixed bool
	From          string
	Errors        map[string]string
	MayManage     bool
	MaySync       bool
	Again         string
}

type driftView struct {
	booking.Drift
	Booking string // where it is; "" when we have none
}

func (s *server) connectionPage(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	return s.showConnection(c, http.StatusOK, id, connectionPageView{Done: c.QueryParam("done")})
}

func (s *server) showConnection(c echo.Context, status int, id uuid.UUID, v connectionPageView) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	conn, err := s.Records.Connection(ctx, id)
	if err != nil {
		return err
	}
	v.Rotating, v.ByHand, v.Fixed = conn.Secrets.Previous != "", conn.Subscription != providers.Registered, conn.SecretFixed(s.Providers[conn.Provider])
	v.MayManage, v.MaySync = who.may(access.ManageConnections), who.may(access.SyncConnections)
	if v.MayManage && conn.DisconnectedAt == nil {
		shown := s.sessions.takeReveal(ctx, id, s.Now())
		if v.Why = shown.Why; shown.Secret && !v.Fixed {
			v.Reveal = conn.Secrets.Current
		}
	}
	if v.MayManage && conn.Provider != generic {
		v.Again = againLink(conn)
	}
	open, err := s.Records.OpenRuns(ctx)
	if err != nil {
		return err
	}
	if v.connectionView, err = s.newConnectionView(ctx, conn, open); err != nil {
		return err
	}
	if v.History, err = s.Records.Runs(ctx, id, newestRuns); err != nil {
		return err
	}
	v.Compared = lastReconcile(v.History)
	if v.Hosts, v.Unmapped, err = s.hostsOf(ctx, v.Connection); err != nil {
		return err
	}
	drifts, err := s.Records.Drifts(ctx, id, mostDrifts)
	if err != nil {
		return err
	}
	for _, d := range drifts {
		row := driftView{Drift: d}
		if d.BookingID != uuid.Nil {
			row.Booking = "/bookings/" + d.BookingID.String()
		}
		v.Drifts = append(v.Drifts, row)
	}
	if v.From == "" {
		v.From = s.Now().In(who.zone).Add(-backfillDays).Format(time.DateOnly)
	}
	return s.page(c, status, "connection", page{Title: "connection.title", Section: "connections", Data: v})
}

// Providers whose pages differ from the others'.
const (
	acuity  = "acuity"
	generic = "generic"
)

// trouble is why something could not be done, for people.
type trouble struct {
	Cause account.Cause
	// Said are the provider's own words, or the error's; "" when they tell nothing.
	Said string
}

// troubleOf is nil for errors that are no trouble with an account: those have
// pages of their own.
func troubleOf(err error) *trouble {
	t := &trouble{Cause: account.CauseOf(err)}
	if t.Cause == account.CauseOwn {
		return nil
	}
	t.Said = saidBy(err)
	return t
}

// mostSaid bounds what is repeated of an error.
const mostSaid = 300

func saidBy(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if cut := []rune(text); len(cut) > mostSaid {
		return string(cut[:mostSaid]) + "…"
	}
	return text
}
