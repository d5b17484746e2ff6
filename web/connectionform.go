package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// connectForm is what an account is connected with. What is secret in it is read,
// used, and never written into a page.
type connectForm struct {
	Provider string
	// ID of the connection to connect again; uuid.Nil makes a new one.
	ID     uuid.UUID
	Name   string
	APIURL string
	User   string
	Key    string // token or API key
	From   string
	// Subscribe has the webhook registered.
	Subscribe bool
}

type connectView struct {
	connectForm
	// Old is the connection that is connected again.
	Old *connectionView
	// Authorizable offers to sign in at the provider, HasKey asks for a key.
	Authorizable, HasKey bool
	WebhookURL           string
	Today                string
	// Filled is the day of From; nil for none, or none that can be.
	Filled  *time.Time
	Trouble *trouble
	// Denied says that the person did not allow it at the provider.
	Denied bool
	Errors map[string]string
	// Unreached warns of a public URL that the provider cannot post to.
	Unreached *unreached
}

// Action is where the form goes.
func (v connectView) Action() string { return "/connections/new/" + v.Provider }

// Blamed is the field that what went wrong is about, where the browser begins; ""
// for none.
func (v connectView) Blamed() string {
	for _, field := range []string{"user", "key", "account", "api_url", "day", "connection_name"} {
		if v.Errors[field] == "" {
			continue
		}
		if field == "account" { // whose key it is
			return "key"
		}
		return field
	}
	if v.Trouble == nil || !v.HasKey {
		return ""
	}
	switch v.Trouble.Cause { //nolint:exhaustive // the rest is not about what was entered
	case account.CauseCredentials, account.CauseForbidden:
		return "key"
	case account.CauseNoAPI, account.CauseUnreachable, account.CausePrivate:
		if v.Provider == calcom && v.Old == nil {
			return "api_url"
		}
	}
	return ""
}

// Failed tells whether there is something to say at the top.
func (v connectView) Failed() bool { return v.Trouble != nil || v.Denied || len(v.Errors) > 0 }

// connectPage is the form to connect an account of a provider.
func (s *server) connectPage(c echo.Context) error {
	form, err := s.connectStart(c, c.Param("provider"), c.QueryParam("id"))
	if err != nil {
		return err
	}
	form.Subscribe = true
	if form.ID == uuid.Nil {
		form.From = s.Now().In(s.viewer(c).zone).Add(-backfillDays).Format(time.DateOnly)
	}
	return s.showConnect(c, http.StatusOK, connectView{connectForm: form})
}

// connectStart is an empty form of a provider, for whoever may connect accounts;
// old is the connection that is connected again, "" for none.
func (s *server) connectStart(c echo.Context, provider, old string) (connectForm, error) {
	f := connectForm{Provider: provider}
	if !s.viewer(c).may(access.ManageConnections) {
		return f, errNoRole
	}
	if _, known := s.Providers[f.Provider]; !known {
		return f, booking.ErrNotFound
	}
	if old == "" {
		return f, nil
	}
	id, err := parseID(old)
	if err != nil {
		return f, err
	}
	conn, err := s.Records.Connection(c.Request().Context(), id)
	if err == nil && (conn.Provider != f.Provider || f.Provider == generic) {
		err = booking.ErrNotFound
	}
	f.ID, f.Name, f.User = id, conn.Name, conn.API.User
	return f, err
}

func (s *server) showConnect(c echo.Context, status int, v connectView) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v.Authorizable, v.HasKey = s.Connect.Authorizable(v.Provider), v.Provider != generic
	v.Today = s.Now().In(who.zone).Format(time.DateOnly)
	v.Filled, _ = readDay(v.From, who.zone, s.Now()) // what is wrong with it stands beside it
	v.Key = ""                                       // whatever was typed
	v.Unreached = s.unreached(v.Provider)
	if v.ID != uuid.Nil {
		conn, err := s.Records.Connection(ctx, v.ID)
		if err != nil {
			return err
		}
		old, err := s.newConnectionView(ctx, conn, nil, who)
		if err != nil {
			return err
		}
		v.Old = &old
	}
	return s.page(c, status, "connect", page{Title: "connect.title", Section: "connections", Data: v})
}

// connectTyped is the form as it was sent.
func (s *server) connectTyped(c echo.Context, provider string) (connectForm, error) {
	f, err := s.connectStart(c, provider, c.FormValue("id"))
	if err != nil {
		return f, err
	}
	text := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	f.Name, f.APIURL, f.User, f.Key, f.From = text("connection_name"), text("api_url"), text("user"), text("key"), text("day")
	f.Subscribe = c.FormValue("subscribe") != ""
	return f, nil
}

// connectAccount connects an account with what was typed.
func (s *server) connectAccount(c echo.Context) error {
	f, err := s.connectTyped(c, c.Param("provider"))
	if err != nil {
		return err
	}
	if f.Provider == generic {
		return s.connectGeneric(c, f)
	}
	if f.Key == "" {
		return s.connectFailed(c, f, &booking.InvalidError{Field: "key", Detail: "is missing"})
	}
	if f.Provider == acuity && f.User == "" {
		return s.connectFailed(c, f, &booking.InvalidError{Field: "user", Detail: "is missing"})
	}
	r, err := s.requestOf(c, f)
	if err != nil {
		return s.connectFailed(c, f, err)
	}
	if f.Provider == acuity {
		// Its API key is also what its posts are signed with.
		r.API, r.Secret = providers.Credentials{User: f.User}, f.Key
	} else {
		r.API = providers.Credentials{Token: f.Key}
	}
	return s.connect(c, f, r)
}

// requestOf is what of a form is asked for, but for the credentials.
func (s *server) requestOf(c echo.Context, f connectForm) (account.Request, error) {
	r := account.Request{ID: f.ID, Provider: f.Provider, Name: f.Name, Subscribe: f.Subscribe, By: s.by(c).Actor}
	if len([]rune(f.Name)) > mostName {
		return r, &booking.InvalidError{Field: "connection_name", Detail: "is too long"}
	}
	var err error
	if r.APIBase, err = account.Base(s.Providers[f.Provider], f.APIURL); err != nil {
		return r, err
	}
	r.From, err = readDay(f.From, s.viewer(c).zone, s.Now())
	return r, err
}

// mostName bounds what people call a connection.
const mostName = 100

// connect connects, and goes to the connection with what came of it.
func (s *server) connect(c echo.Context, f connectForm, r account.Request) error {
	ctx := c.Request().Context()
	out, err := s.Connect.Connect(ctx, r)
	if err != nil {
		return s.connectFailed(c, f, err)
	}
	did, done := access.DidConnect, doneConnected
	if r.ID != uuid.Nil {
		did, done = access.DidReconnect, doneReconnected
	}
	detail := access.Facts{"provider": out.Provider, "webhook": string(out.Subscription)}
	if err := s.note(c, did, out.ID, detail); err != nil {
		return err
	}
	if out.Subscription == providers.Manual {
		shown := reveal{ID: out.ID, Secret: out.SecretMade}
		if out.Manual != nil {
			shown.Unable, shown.Why = true, out.Manual.Said
		}
		s.sessions.putReveal(ctx, shown, s.Now())
	}
	return s.toConnection(c, out.ID, done)
}

// connectGeneric makes a connection of a system that has no API: there is nobody
// to ask, so all there is to do is to show where and how to post.
func (s *server) connectGeneric(c echo.Context, f connectForm) error {
	ctx := c.Request().Context()
	r, err := s.requestOf(c, f)
	if err != nil {
		return s.connectFailed(c, f, err)
	}
	conn := providers.Connection{
		ID: newID(), Provider: f.Provider, Name: r.Name, CreatedAt: s.Now(), Subscription: providers.Manual,
		Secrets: providers.Secrets{Current: account.NewSecret()},
	}
	conn.APIBase = conn.ID.String()
	if conn.Name == "" {
		conn.Name = s.viewer(c).language.t("connect.generic.name")
	}
	if err := s.Senders.CreateConnection(ctx, conn); err != nil {
		return err
	}
	if err := s.note(c, access.DidConnect, conn.ID, access.Facts{"provider": conn.Provider}); err != nil {
		return err
	}
	s.sessions.putReveal(ctx, reveal{ID: conn.ID, Secret: true}, s.Now())
	return s.toConnection(c, conn.ID, doneConnected)
}

// connectFailed shows the form again, with what was typed but for what is secret.
func (s *server) connectFailed(c echo.Context, f connectForm, err error) error {
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showConnect(c, http.StatusUnprocessableEntity, connectView{
			connectForm: f, Errors: s.viewer(c).language.fieldErrors(invalid),
		})
	}
	t := troubleOf(err)
	if t == nil {
		return err
	}
	// Whose account it is nobody knows by now; the error may repeat what was typed.
	s.logTrouble(c, t, err)
	detail := access.Facts{"provider": f.Provider, "reason": string(t.Cause)}
	if err := s.Accounts.Note(context.WithoutCancel(c.Request().Context()), s.by(c), access.DidFailConnect, "", detail); err != nil {
		return err
	}
	return s.showConnect(c, http.StatusUnprocessableEntity, connectView{connectForm: f, Trouble: t})
}
