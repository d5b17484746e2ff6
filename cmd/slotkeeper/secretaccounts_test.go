package main

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/providers/calendly/calendlytest"
)

// What an installation's app at Calendly has.
const (
	plantedClientSecret = "planted-oauth-client-secret-01"
	plantedSigningKey   = "planted-oauth-signing-key-0001"
)

// withApp starts the server again with an app at a stand-in for Calendly.
func (s *server) withApp(t *testing.T) *calendlytest.Server {
	t.Helper()
	c := calendlytest.New(calendlytest.Options{
		Token: calendlyFirstToken, Owner: calendlyOwner, Tempo: accountTempo, Now: time.Now,
		App: calendlytest.App{
			ClientID: "planted-client", ClientSecret: plantedClientSecret, RedirectURI: s.url + "/connections/oauth", SigningKey: plantedSigningKey,
		},
	})
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	s.stop(t)
	s.env = append(s.env, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS=127.0.0.1", "SLOTKEEPER_TEMPO="+strconv.Itoa(accountTempo),
		"SLOTKEEPER_CALENDLY_CLIENT_ID=planted-client", "SLOTKEEPER_CALENDLY_CLIENT_SECRET="+plantedClientSecret,
		"SLOTKEEPER_CALENDLY_SIGNING_KEY="+plantedSigningKey, "SLOTKEEPER_CALENDLY_AUTH_URL="+c.APIBase())
	s.start(t)
	return c
}

// plantAccounts connects accounts with keys, tokens and by signing in, lets the keys
// be wrong, revoked and new, and what is booked come in by all ways.
func (h *hiding) plantAccounts(t *testing.T, signIn *calendlytest.Server) {
	t.Helper()
	hide := func(name string, values ...string) {
		for _, value := range values {
			h.secrets = append(h.secrets, planted{name, value})
		}
	}
	hide("an OAuth client's secret", plantedClientSecret)
	hide("an OAuth app's signing key", plantedSigningKey)
	// The stand-in numbers what it gives.
	hide("an OAuth code", "demo-code-")
	hide("an OAuth access token", "demo-access-token-")
	hide("an OAuth refresh token", "demo-refresh-token-")
	hide("a token of Calendly's", calendlyFirstToken, calendlyNextToken)
	hide("a key of Cal.com's", calcomFirstKey, calcomNextKey)
	hide("a key of Acuity's", acuityKey, acuityNextKey)
	hide("a wrong key", wrongKey)
	h.inBodies = append(h.inBodies, planted{"a meeting's password", calendlytest.JoinSecret}, planted{"a meeting's password", calcomtest.JoinSecret})

	h.signsInAt(t, signIn)
	for _, open := range []func(*testing.T) office{newCalendlyOffice, newCalcomOffice, newAcuityOffice} {
		h.keepsAnAccount(t, open(t))
	}
}

const wrongKey = "a-key-of-somebody-else-0123"

func (h *hiding) keepsAnAccount(t *testing.T, o office) {
	t.Helper()
	switch o := o.(type) {
	case *calendlyOffice:
		o.book(t, o.hour(), calendlyOwner)
	case *calcomOffice:
		o.book(t, calcomSingle, o.hour())
	case *acuityOffice:
		id, _ := o.book(t, acuitySingle, acuityMaren, o.hour())
		h.inBodies = append(h.inBodies, planted{"the secret of an appointment", acuitytest.Secret(id)})
	}
	l := &life{server: h.server, office: o, token: h.token}
	wrong := o.credentials()
	wrong[len(wrong)-1] = wrongKey
	out, err := h.try(t, "", l.connectArgs(wrong, "--subscribe")...)
	if err == nil {
		t.Fatalf("a wrong key connected: %s", out)
	}
	absent(t, "what the command says of a wrong key", out+err.Error(), h.secrets)

	printed := h.run(t, l.connectArgs(o.credentials(), "--subscribe", "--backfill", firstDay())...)
	absent(t, "what connecting prints", printed, h.secrets)
	var c connectionItem
	decode(t, printed, &c)
	l.id, l.target = c.ID, c.WebhookURL
	o.revoke()
	l.awaits(t, "needs_sign_in")
	_, err = h.try(t, "", "connections", "backfill", l.id.String(), "--from", firstDay())
	if err == nil {
		t.Error("a revoked key reads")
	} else {
		absent(t, "what the command says of a revoked key", err.Error(), h.secrets)
	}
	o.renew()
	absent(t, "what connecting again prints", h.run(t, slices.Concat([]string{"connect", o.Name(), "--reconnect", l.id.String()}, o.credentials())...), h.secrets)
	waitFor(t, "the account's bookings", func() error {
		if len(api[bookingItem](t, h.server, h.token, "bookings?connection_id="+l.id.String())) == 0 {
			return errors.New("there are none")
		}
		return nil
	})
	absent(t, "what a comparison prints", h.run(t, "connections", "sync", l.id.String()), h.secrets)
	h.run(t, "connections", "disconnect", l.id.String())
}

// signsInAt connects by signing in, as an administrator does in his browser.
func (h *hiding) signsInAt(t *testing.T, c *calendlytest.Server) {
	t.Helper()
	admin := h.cookie(t, h.form(t, "/signin", "", url.Values{"username": {"admin"}, "password": {adminPassword}}))
	leaving := h.form(t, "/connections/oauth", admin, url.Values{
		"provider": {"calendly"}, "connection_name": {"Signed in"}, "api_url": {c.APIBase()}, "subscribe": {"on"},
	})
	_, to, ok := strings.Cut(leaving.header.Get("Refresh"), "url=")
	if !ok {
		t.Fatalf("no way to the provider: %d %s", leaving.status, leaving.body)
	}
	back, err := url.Parse(ask(t, http.MethodGet, to, nil, http.Header{}).header.Get("Location"))
	must(t, err)
	got := h.visit(t, http.MethodGet, back.RequestURI(), "", admin)
	if got.status != http.StatusSeeOther {
		t.Fatalf("signed in, it is answered %d %s", got.status, got.body)
	}
	if page := h.page(t, got.header.Get("Location"), admin, http.StatusOK); !strings.Contains(page, calendlyOwner.Name) {
		t.Error("the page does not say whose account it is")
	} else {
		absent(t, "the connection's page", page, h.secrets)
	}
}
