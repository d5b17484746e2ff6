package web

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	// provider. One that is ended already is account.ErrDisconnected.
	Disconnect(ctx context.Context, id uuid.UUID) (left, err error)
	Rotate(ctx context.Context, id uuid.UUID) error
	// RotateByHand keeps the secret before as the previous.
	RotateByHand(ctx context.Context, id uuid.UUID, secret string, force bool) error
	// AbandonRotation goes back to the secret before.
	AbandonRotation(ctx context.Context, id uuid.UUID) error
	FinishRotation(ctx context.Context, id uuid.UUID) error
	Check(ctx context.Context, id uuid.UUID) (account.Finding, error)
	// SelfTest posts a signed selftest through the public URL and follows it.
	SelfTest(ctx context.Context, id uuid.UUID) ([]account.Hop, error)
	Begin(ctx context.Context, c providers.Connection, kind booking.RunKind, cause string, from time.Time, by booking.Actor) (booking.Run, error)
	Reconcile(ctx context.Context, c providers.Connection, cause string, by booking.Actor) (booking.Run, error)
	// StopRun ends a run that is under way; one that has ended is a
	// *booking.ConflictError.
	StopRun(ctx context.Context, id uuid.UUID, by booking.Actor) (booking.Run, error)
	// Authorizable tells whether people may connect by signing in at the provider.
	Authorizable(provider string) bool
	AuthURL(provider, redirect, state, verifier string) (string, error)
	Redeem(ctx context.Context, provider, redirect, code, verifier string) (c providers.Credentials, signingKey string, err error)
}

// SenderStore keeps the connections that have no API; *store.Store.
type SenderStore interface {
	CreateConnection(ctx context.Context, c providers.Connection) error
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
	// Unreached warns of a public URL that providers cannot post to; nil for none.
	Unreached *unreached
	Busy      bool // something is under way
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
	resources, err := booking.Everything(ctx, s.Records.Resources)
	if err != nil {
		return err
	}
	who := s.viewer(c)
	v := connectionsView{May: who.may(access.ManageConnections), Providers: s.connectable()}
	for _, conn := range all {
		if conn.Health.NeedsSignIn { // how it was connected tells what it needs, and no list has that
			if conn, err = s.Records.Connection(ctx, conn.ID); err != nil {
				return err
			}
		}
		row, err := s.newConnectionView(ctx, conn, open, who)
		if err != nil {
			return err
		}
		runs, err := s.Records.Runs(ctx, conn.ID, newestRuns)
		if err != nil {
			return err
		}
		row.compared(runs)
		row.maps(resources, who.language)
		v.Connections, v.Busy = append(v.Connections, row), v.Busy || row.Busy()
	}
	live := map[string]int{}
	for _, conn := range all {
		if conn.DisconnectedAt == nil {
			live[conn.Provider]++
		}
	}
	for i, row := range v.Connections {
		if row.DisconnectedAt == nil && live[row.Provider] == 1 {
			v.Connections[i].Calendar = "/calendar?" + url.Values{"provider": {row.Provider}}.Encode()
		}
	}
	if v.May || len(all) > 0 {
		v.Unreached = s.unreached("")
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
	// History are the newest runs that tell of something, Quiet the comparisons that
	// found all as it should be.
	History, Quiet []runView
	Drifts         []driftView
	// Changes are what the last comparison set right, as many as fit.
	Changes []booking.TransitionView
	// Compare is the last comparison as a run, for what else it says.
	Compare *runView
	// Tested is a selftest that was just made; nil for none.
	Tested *selftestView
	// Done says what was just done; "" for nothing.
	Done string
	// Was is how the webhook was before it was made anew; "" unless it was just now.
	Was string
	// Trouble is what could not be done.
	Trouble *trouble
	// Left is why a webhook may be left at the provider; nil for no such.
	Left *errorText
	// Reveal is the secret to enter at the provider, shown this once. Unable says that
	// the provider let us register no webhook, Why are its own words for it.
	Reveal string
	Unable bool
	Why    string
	// Rotating says that the secret before is still accepted.
	Rotating bool
	// ByHand says that a new secret has to be entered at the provider; Fixed that
	// the secret is not ours to change.
	ByHand, Fixed bool
	// TellsForms says that its provider has intake forms, which may be kept, for
	// KeepDays; 0 for ever.
	TellsForms bool
	KeepDays   int
	// Day is from when an import begins, as it stands in its form, Filled the same to
	// be read; nil of none that can be.
	Day    string
	Filled *time.Time
	Errors map[string]string
	// Unreached warns of a public URL that the provider cannot post to.
	Unreached *unreached
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
	if who.may(access.ManageConnections) && conn.DisconnectedAt == nil {
		shown := s.sessions.takeReveal(ctx, id, s.Now())
		if v.Unable, v.Why = shown.Unable, shown.Why; shown.Secret && !v.Fixed {
			v.Reveal = conn.Secrets.Current
		}
	}
	open, err := s.Records.OpenRuns(ctx)
	if err != nil {
		return err
	}
	if v.connectionView, err = s.newConnectionView(ctx, conn, open, who); err != nil {
		return err
	}
	if err := s.history(ctx, &v, conn, who); err != nil {
		return err
	}
	if err := s.hostsOf(ctx, &v.connectionView, who); err != nil {
		return err
	}
	if v.Drifts, err = s.driftsOf(ctx, id, who); err != nil {
		return err
	}
	if v.Changes, err = s.changesOf(ctx, v.Compared); err != nil {
		return err
	}
	if v.Compared != nil {
		compare := newRunView(s.Providers[conn.Provider], *v.Compared, who)
		v.Compare = &compare
	}
	if v.Done == doneRemade {
		v.Was = who.language.hookWrong(remadeOf(c, s.hookKinds(conn.Provider)), conn.Provider)
	}
	v.TellsForms, v.KeepDays = s.tellsForms(conn.Provider) || conn.KeepForms, keptDays(s.FormsKept)
	if conn.DisconnectedAt == nil {
		v.Unreached = s.unreached(conn.Provider)
	}
	if v.Day == "" {
		v.Day = s.Now().In(who.zone).Add(-backfillDays).Format(time.DateOnly)
	}
	v.Filled, _ = readDay(v.Day, who.zone, s.Now()) // what is wrong with it stands beside it
	return s.page(c, status, "connection", page{Title: "connection.title", Section: "connections", Data: v})
}

// Providers whose pages differ from the others'.
const (
	acuity  = "acuity"
	calcom  = "calcom"
	generic = "generic"
)

// trouble is why something could not be done, for people.
type trouble struct {
	Cause account.Cause
	// Said are the provider's own words; "" when it said none.
	Said string
}

// troubleOf is nil for errors that are no trouble with an account: those have
// pages of their own.
func troubleOf(err error) *trouble {
	var conflict *booking.ConflictError
	t := &trouble{Cause: account.CauseOf(err)}
	if t.Cause == account.CauseOwn || errors.As(err, &conflict) {
		return nil // the problem page says it, under its own status
	}
	t.Said = account.Said(err)
	return t
}

// logTrouble keeps the error's own words for whoever runs the server: the page has
// the cause alone.
func (s *server) logTrouble(c echo.Context, t *trouble, err error) {
	ctx := c.Request().Context()
	s.Log.WarnContext(ctx, "an account could not be asked", slog.String("request_id", requestIDOf(ctx)), slog.String("cause", string(t.Cause)), slog.Any("error", err))
}
