package acuity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/providertest"
)

func (p *place) identify(t *testing.T) (providers.Profile, error) {
	t.Helper()
	return p.provider.Identify(t.Context(), p.client, p.conn)
}

func TestIdentify(t *testing.T) {
	p := newPlace(t)
	got, err := p.identify(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []booking.Host{
		{ExternalID: "calendar|9120041", Name: "Dr. Ines Falk"},
		{ExternalID: "calendar|9120052", Name: "Studio B", Email: "studio@example.com"},
	}
	if !slices.Equal(got.Hosts, want) {
		t.Errorf("hosts %+v, want %+v", got.Hosts, want)
	}
	got.Hosts = nil
	if got.ExternalID != "90000001" || got.Email != "frontdesk@example.com" || got.Name != "Harbour Physiotherapy" || got.Timezone != "America/New_York" || !got.Wide || got.Organization != "" {
		t.Errorf("%+v", got)
	}
	// Bookings name the hosts as they are found here.
	id := p.book(t, consult, studio)
	if e := p.read(t, id); e.Session.Hosts[0] != want[1] {
		t.Errorf("a booking's host is %+v", e.Session.Hosts[0])
	}
}

// method is one of the account's, and what it is of.
type method struct {
	name string
	call func(ctx context.Context, p *place) error
}

// patient is a tempo at which a busy machine is not taken for an API that hangs.
const patient = 10

const target = "https://bookings.example/webhooks/acuity/7f3a"

// methods are all that ask the API.
func methods(id string) []method {
	return []method{
		{"Identify", func(ctx context.Context, p *place) error {
			_, err := p.provider.Identify(ctx, p.client, p.conn)
			return err
		}},
		{"Hooks", func(ctx context.Context, p *place) error {
			_, err := p.provider.Hooks(ctx, p.client, p.conn, target)
			return err
		}},
		{"Subscribe", func(ctx context.Context, p *place) error {
			_, err := p.provider.Subscribe(ctx, p.client, p.conn, target, providers.Profile{})
			return err
		}},
		{"Unsubscribe", func(ctx context.Context, p *place) error {
			return p.provider.Unsubscribe(ctx, p.client, p.conn, target)
		}},
		{"List", func(ctx context.Context, p *place) error {
			_, err := p.provider.List(ctx, p.client, p.conn, providertest.Origin(p.provider), around, "", noon)
			return err
		}},
		{"Look", func(ctx context.Context, p *place) error {
			_, err := p.provider.Look(ctx, p.client, p.conn, providertest.Origin(p.provider), id, noon)
			return err
		}},
		{"Blocks", func(ctx context.Context, p *place) error {
			_, err := p.provider.Blocks(ctx, p.client, p.conn, around)
			return err
		}},
		{"Cancel", func(ctx context.Context, p *place) error {
			return p.provider.Cancel(ctx, p.client, p.conn, providers.CancelTarget{ExternalID: id}, "")
		}},
		{"Fetch", func(ctx context.Context, p *place) error {
			_, err := p.provider.Fetch(ctx, p.client, p.conn, id, nil)
			return err
		}},
	}
}

// Whatever the API does instead of answering, each method says so, in words
// without a secret, and tells signing in again and waiting from the rest.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble apitest.Trouble
		text    string
	}{
		{apitest.Limited, "Rate limit reached"},
		{apitest.Blocked, "403"},
		{apitest.Unauthorized, "401: Unauthorized"},
		{apitest.Broken, "500"},
		{apitest.Unavailable, "503"},
		{apitest.NotHere, "404"},
		{apitest.Hanging, "deadline"},
		{apitest.Dropped, "EOF"},
		{apitest.Elsewhere, "another host"},
		{apitest.Garbage, "not what it documents"},
		{apitest.Misshapen, "not what it documents"},
		{apitest.Cut, "not what it documents"},
		{apitest.Endless, "too large"},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for _, m := range methods("1841200301") {
				p := placeAt(t, patient)
				if id := p.book(t, consult, doctor); id != "1841200301" {
					t.Fatalf("the first is %s", id)
				}
				p.Set(c.trouble)
				all.Go(func() { checkTrouble(t, m.name, m.call(t.Context(), p), c.trouble, c.text) })
			}
			all.Wait()
		})
	}
}

func checkTrouble(t *testing.T, method string, err error, trouble apitest.Trouble, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), apiKey) {
		t.Errorf("%s: %v, want %q in it", method, err, text)
	}
	var later *providers.LaterError
	if want := trouble == apitest.Limited || trouble == apitest.Blocked; errors.As(err, &later) != want {
		t.Errorf("%s: to be asked later: %v", method, err)
	}
	if want := trouble == apitest.Unauthorized; providers.NeedsSignIn(err) != want {
		t.Errorf("%s: to sign in again: %v", method, err)
	}
	if errors.Is(err, providers.ErrGone) {
		t.Errorf("%s: gone: %v", method, err)
	}
}

func TestRevokedKey(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, studio)
	for _, m := range methods(id) {
		if err := m.call(t.Context(), p); err != nil {
			t.Errorf("%s before: %v", m.name, err)
		}
	}
	p.SetKey("")
	for _, m := range methods(id) {
		if err := m.call(t.Context(), p); !providers.NeedsSignIn(err) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	p.SetKey("another")
	p.conn.Secrets.Current = "another"
	if _, err := p.identify(t); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	p.conn.Secrets.Current = ""
	for _, m := range methods(id) {
		if err := m.call(t.Context(), p); err == nil || providers.NeedsSignIn(err) || !strings.Contains(err.Error(), "Integrations, API") {
			t.Errorf("%s without a key: %v", m.name, err)
		}
	}
}

// An e-mail that was not told because the key was revoked meanwhile is not the
// same as none: nothing is read of the appointment.
func TestKeyRevokedBetweenTwoCalls(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, studio)
	p.Set(apitest.Unauthorized, "/calendars")
	for _, m := range methods(id) {
		if !slices.Contains([]string{"Identify", "Look", "Fetch"}, m.name) {
			continue
		}
		if err := m.call(t.Context(), p); !providers.NeedsSignIn(err) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	_, err := p.provider.List(t.Context(), p.client, p.conn, providertest.Origin(p.provider), around, "2026-09-15", noon)
	if !providers.NeedsSignIn(err) {
		t.Errorf("List: %v", err)
	}
}

func TestOAuthEndpoint(t *testing.T) {
	p := adapter()
	for base, want := range map[string]string{
		"":                                    "https://acuityscheduling.com",
		"https://acuityscheduling.com/api/v1": "https://acuityscheduling.com",
		"http://127.0.0.1:8080/":              "http://127.0.0.1:8080",
	} {
		e := p.OAuth(base)
		if e.AuthURL != want+"/oauth2/authorize" || e.TokenURL != want+"/oauth2/token" || !slices.Equal(e.Scopes, []string{"api-v1"}) || !e.InParams {
			t.Errorf("%q: %+v", base, e)
		}
	}
}

// An app is authorised, its token opens all that the key does, and posts are
// signed with the key all the same.
func TestOAuth(t *testing.T) {
	app := acuitytest.App{ClientID: "app", ClientSecret: "app secret", RedirectURI: "https://bookings.example/oauth/callback"}
	p := placeWith(t, acuitytest.Options{Tempo: tempo, App: app})
	token := p.authorizeApp(t, app)
	p.conn.API = providers.Credentials{Token: token}
	if _, err := p.provider.Subscribe(t.Context(), p.client, p.conn, target, providers.Profile{}); err != nil {
		t.Fatal(err)
	}
	id, posts, err := p.Book(mirela, consult, doctor, noon)
	if err != nil || len(posts) != 2 {
		t.Fatalf("%d posts (%v)", len(posts), err)
	}
	if _, err := p.provider.Verify(providers.Request{Header: posts[0].Header, Body: posts[0].Body}, p.conn.Secrets, noon); err != nil {
		t.Error(err)
	}
	for _, m := range methods(number(id)) {
		if err := m.call(t.Context(), p); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	p.SetKey("")
	for _, m := range methods(number(id)) {
		if err := m.call(t.Context(), p); !providers.NeedsSignIn(err) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// authorizeApp goes the way of a browser and then of the app.
func (p *place) authorizeApp(t *testing.T, app acuitytest.App) string {
	t.Helper()
	e := p.provider.OAuth(p.URL())
	status, header, _ := send(t, http.MethodGet, e.AuthURL+"?"+url.Values{
		"response_type": {"code"}, "scope": e.Scopes, "client_id": {app.ClientID}, "redirect_uri": {app.RedirectURI}, "state": {"xyz"},
	}.Encode(), "", nil)
	back, err := url.Parse(header.Get("Location"))
	if status != http.StatusFound || err != nil || !strings.HasPrefix(back.String(), app.RedirectURI) || back.Query().Get("state") != "xyz" {
		t.Fatalf("%d to %s", status, back)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {app.RedirectURI},
		"client_id": {app.ClientID}, "client_secret": {app.ClientSecret},
	}
	header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	status, _, body := send(t, http.MethodPost, e.TokenURL, form.Encode(), header)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.AccessToken == "" {
		t.Fatalf("%d %s", status, body)
	}
	// A code is good once, and the secret is asked for.
	if status, _, _ := send(t, http.MethodPost, e.TokenURL, form.Encode(), header); status != http.StatusBadRequest {
		t.Errorf("a code was taken twice: %d", status)
	}
	return answer.AccessToken
}

func TestSelftest(t *testing.T) {
	p := adapter()
	seen := map[string]bool{}
	for _, id := range []string{"7f3a", "a b&action=scheduled", "ü"} {
		body := p.Selftest(id)
		r := providers.Request{Header: p.Sign(body, apiKey, noon), Body: body}
		if _, err := p.Verify(r, providers.Secrets{Current: apiKey}, noon); err != nil {
			t.Error(err)
		}
		d := p.Parse(r, providertest.Origin(p))
		providertest.CheckDelivery(t, d)
		if d.Kind != booking.KindSelftest || d.Status != booking.StatusIgnored || seen[d.EventKey] {
			t.Errorf("%s: %+v", id, d)
		}
		seen[d.EventKey] = true
	}
}
