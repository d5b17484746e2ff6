package calendly_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

// calls are all that asks the API, of a booking that stands.
func calls(a *account, invitee string) map[string]func() error {
	p, ctx := calendly.New(0), context.Background()
	profile := providers.Profile{ExternalID: "/users/" + mara.ID, Organization: calendlytest.Organization, Wide: true}
	return map[string]func() error{
		"Identify":    func() error { _, err := p.Identify(ctx, a.client, a.conn); return err },
		"Hooks":       func() error { _, err := p.Hooks(ctx, a.client, a.conn, target); return err },
		"Subscribe":   func() error { _, err := p.Subscribe(ctx, a.client, a.conn, target, profile); return err },
		"Unsubscribe": func() error { return p.Unsubscribe(ctx, a.client, a.conn, target) },
		"List":        func() error { _, err := p.List(ctx, a.client, a.conn, origin, window, "", monday); return err },
		"Look":        func() error { _, err := p.Look(ctx, a.client, a.conn, origin, invitee, monday); return err },
		"Cancel": func() error {
			return p.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: invitee}, "Sorry")
		},
	}
}

func TestTroubles(t *testing.T) {
	for _, c := range []struct {
		trouble apitest.Trouble
		signIn  bool
		after   time.Duration
		text    string
	}{
		{apitest.Healthy, false, 0, ""},
		{apitest.Slow, false, 0, ""},
		{apitest.Limited, false, time.Minute, "429"},
		{apitest.Blocked, false, anyTime, "403"},
		{apitest.Unauthorized, true, 0, "The access token is invalid"},
		{apitest.Missing, false, 0, "could not find"},
		{apitest.NotHere, false, 0, "404"},
		{apitest.Broken, false, 0, "500"},
		{apitest.Unavailable, false, 0, "503"},
		{apitest.Hanging, false, 0, "deadline"},
		{apitest.Garbage, false, 0, "not what it documents"},
		{apitest.Misshapen, false, 0, "not what it documents"},
		{apitest.Cut, false, 0, "not what it documents"},
		{apitest.Endless, false, 0, "too large"},
		{apitest.Dropped, false, 0, "EOF"},
		{apitest.Elsewhere, false, 0, "redirects"},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			faster := providers.Tempo(tempo)
			if c.trouble == apitest.Slow || c.trouble == apitest.Hanging {
				t.Parallel()
			}
			if c.trouble == apitest.Slow {
				faster = 20 // so that a busy machine is not slower still
			}
			for name := range calls(nil, "") {
				a := newTeam(t, func(o *calendlytest.Options) { o.Tempo = faster })
				invitee, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday.Add(time.Hour), monday.Add(2*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				a.Set(c.trouble)
				err = calls(a, invitee)[name]()
				if (err != nil) != (c.text != "") || err != nil && !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s: got %v, want %q", name, err, c.text)
					continue
				}
				var later *providers.LaterError
				if errors.As(err, &later) != (c.after != 0) || c.after > 0 && later.After != c.after || c.after != 0 && later.After <= 0 {
					t.Errorf("%s: later %v, want %s", name, err, c.after)
				}
				if providers.NeedsSignIn(err) != c.signIn {
					t.Errorf("%s: to sign in anew: %t, want %t", name, providers.NeedsSignIn(err), c.signIn)
				}
				if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), signingKey)) {
					t.Errorf("%s: the error has a secret: %v", name, err)
				}
			}
		})
	}
}

// An API that repeats credentials in what it says does not get them into errors.
func TestErrorsHaveNoSecrets(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"title":"Invalid Argument","message":"` + r.Header.Get("Authorization") + " " + strings.ReplaceAll(string(body), `"`, "'") + `"}`))
	}))
	defer echo.Close()
	a := newTeam(t)
	a.conn.APIBase = echo.URL
	for name, call := range calls(a, "/scheduled_events/a/invitees/b") {
		err := call()
		if err == nil || !strings.Contains(err.Error(), providers.Redacted) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), signingKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokensEnd(t *testing.T) {
	a := newTeam(t, withApp)
	a.conn.API.Token, _ = a.signIn(t)
	a.profile(t)
	a.at = a.at.Add(2 * time.Hour)
	_, err := calendly.New(0).Identify(context.Background(), a.client, a.conn)
	if !providers.NeedsSignIn(err) || !strings.Contains(err.Error(), "The access token expired") {
		t.Errorf("after two hours: %v", err)
	}
	a.conn.API.Token = token
	a.profile(t)
	a.Revoke(token)
	if _, err = calendly.New(0).Identify(context.Background(), a.client, a.conn); !providers.NeedsSignIn(err) || !strings.Contains(err.Error(), "The access token was revoked") {
		t.Errorf("revoked: %v", err)
	}
	a.conn.API.Token = ""
	if _, err = calendly.New(0).Identify(context.Background(), a.client, a.conn); err == nil || !strings.Contains(err.Error(), "no API token") {
		t.Errorf("without a token: %v", err)
	}
}

// A subscription is replaced by deleting it and making another; an API that fails
// between the two leaves none, and whoever asked is told that.
func TestReplacedHalfway(t *testing.T) {
	for _, c := range []struct {
		name    string
		trouble apitest.Trouble
		plan    bool // has webhooks when the other is made
		left    int
		none    bool
	}{
		{"it fails from the start", apitest.Broken, true, 1, false},
		{"it fails once the old one is deleted", apitest.Halfway, true, 0, true},
		{"the plan has no webhooks any more", apitest.Healthy, false, 1, false},
		{"all is well", apitest.Healthy, true, 1, false},
	} {
		a := newTeam(t)
		subscribe := calls(a, "")["Subscribe"]
		if err := subscribe(); err != nil {
			t.Fatal(err)
		}
		a.SetWebhooks(c.plan)
		a.Set(c.trouble)
		var none *providers.UnhookedError
		if err := subscribe(); errors.As(err, &none) != c.none || (err != nil) != (c.none || c.trouble != apitest.Healthy || !c.plan) {
			t.Errorf("%s: %v", c.name, err)
		}
		a.SetWebhooks(true)
		a.Set(apitest.Healthy)
		if got := len(a.Subscribed()); got != c.left {
			t.Errorf("%s: %d subscriptions are left", c.name, got)
		}
		if err := subscribe(); err != nil || len(a.Subscribed()) != 1 {
			t.Errorf("%s: afterwards %v, %d subscriptions", c.name, err, len(a.Subscribed()))
		}
	}
}
