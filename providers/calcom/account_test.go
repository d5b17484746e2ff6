package calcom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/providers/providertest"
)

const (
	tempo  = 100
	apiKey = "cal_test_0123456789abcdef0123456789abcdef"
	secret = "whsec_of_the_connection"
	target = "https://slots.example/webhooks/calcom/1"

	intro   = 90210
	consult = 90211
	yoga    = 90212
	panel   = 90213
)

var (
	maren = calcomtest.Host{ID: 4711, Name: "Maren Oduya", Email: "Maren.Oduya@harbourclinic.example", Username: "maren-oduya", Timezone: "Europe/Berlin"}
	theo  = calcomtest.Host{ID: 4712, Name: "Theo Adeyemi", Email: "theo.adeyemi@harbourclinic.example", Username: "theo", Timezone: "Europe/Berlin"}

	priya = calcomtest.Person{Name: "Priya Raman", Email: "priya.raman@mail.example", Timezone: "America/New_York", Phone: "+12025550143"}
	sean  = calcomtest.Person{Name: "Seán O'Brien", Email: "sean.obrien@mail.example", Timezone: "Europe/Dublin"}
	kofi  = calcomtest.Person{Name: "Kofi Mensah", Email: "kofi.mensah@mail.example", Timezone: "Africa/Accra"}
	lena  = calcomtest.Person{Name: "Lena Fischer", Email: "lena.fischer@mail.example", Timezone: "Europe/Berlin"}

	today = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	noon  = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
)

// clock is the stand-in's.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// account is one at the stand-in, and what asks it.
type account struct {
	*calcomtest.Server
	provider *calcom.Provider
	client   *http.Client
	conn     providers.Connection
	origin   providers.Origin
	clock    *clock
}

func newAccount(t *testing.T, change ...func(*calcomtest.Options)) *account {
	t.Helper()
	a := &account{provider: calcom.New(), clock: &clock{at: today}}
	o := calcomtest.Options{Key: apiKey, User: maren, Tempo: tempo, Now: a.clock.now}
	for _, c := range change {
		c(&o)
	}
	a.Server = calcomtest.New(o)
	a.AddEventType(calcomtest.EventType{ID: intro, Slug: "intro-30", Title: "Intro Call", Minutes: 30, Location: "integrations:daily"})
	a.AddEventType(calcomtest.EventType{ID: consult, Slug: "consult-45", Title: "Consultation", Minutes: 45, Confirm: true, Location: "integrations:google:meet"})
	a.AddEventType(calcomtest.EventType{ID: yoga, Slug: "group-yoga", Title: "Group Yoga", Minutes: 60, Seats: 8, Location: "Studio 4, Hafenstr. 12"})
	a.AddEventType(calcomtest.EventType{ID: panel, Slug: "panel", Title: "Panel", Minutes: 60, Location: "+49 30 5550100", Team: []calcomtest.Host{theo}})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // nothing is kept
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	a.client = providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: o.Tempo, Now: time.Now})
	t.Cleanup(a.client.CloseIdleConnections)
	a.conn = providers.Connection{
		ID: uuid.New(), Provider: calcom.Name, APIBase: a.APIBase(), API: providers.Credentials{Token: apiKey}, Secrets: providers.Secrets{Current: secret},
	}
	a.origin = providertest.Origin(a.provider)
	a.origin.Source = a.conn.Source()
	return a
}

func (a *account) list(from, to time.Time, cursor string) (providers.Page, error) {
	return a.provider.List(context.Background(), a.client, a.conn, a.origin, providers.Window{From: from, To: to}, cursor, a.clock.now())
}

func (a *account) look(uid string) (providers.Standing, error) {
	return a.provider.Look(context.Background(), a.client, a.conn, a.origin, uid, a.clock.now())
}

// stands is what Look reads of a booking, which must be readable.
func (a *account) stands(t *testing.T, uid string) *booking.Event {
	t.Helper()
	s, err := a.look(uid)
	if err != nil {
		t.Fatal(err)
	}
	a.check(t, s)
	if s.Event == nil {
		t.Fatalf("%s: %s", s.Code, s.Error)
	}
	return s.Event
}

// check is what holds of every standing.
func (a *account) check(t *testing.T, s providers.Standing) {
	t.Helper()
	providertest.CheckFetched(t, s.Delivery, s.Kind, "")
	if s.Event != nil && (s.Event.Source != a.conn.Source() || !s.Event.Shared) {
		t.Errorf("%+v", s.Event)
	}
	if !json.Valid(s.Body) || strings.Contains(string(s.Body), calcomtest.JoinSecret) || strings.Contains(string(s.Body), "://") || strings.Contains(string(s.Body), "seatUid") {
		t.Errorf("kept: %s", s.Body)
	}
	if got := a.provider.Redact(s.Body); !bytes.Equal(got, s.Body) {
		t.Errorf("redacted: %s, kept: %s", got, s.Body)
	}
}

func (a *account) book(t *testing.T, typeID int, who calcomtest.Person, start time.Time) (string, []apitest.Post) {
	t.Helper()
	uid, posts, err := a.Book(typeID, who, start)
	if err != nil {
		t.Fatal(err)
	}
	return uid, posts
}

func TestIdentify(t *testing.T) {
	a := newAccount(t)
	p, err := a.provider.Identify(context.Background(), a.client, a.conn)
	if err != nil {
		t.Fatal(err)
	}
	email := "maren.oduya@harbourclinic.example"
	if p.ExternalID != "4711" || p.Email != email || p.Name != maren.Name || p.Timezone != "Europe/Berlin" || p.Wide || p.Organization != "" ||
		len(p.Hosts) != 1 || p.Hosts[0] != (booking.Host{ExternalID: email, Email: email, Name: maren.Name}) {
		t.Errorf("%+v", p)
	}
	a.conn.API.Token = ""
	if _, err := a.provider.Identify(context.Background(), a.client, a.conn); err == nil || a.Count("/") != 1 {
		t.Errorf("asked without a key: %v", err)
	}
}

// calls are all that an account can be asked.
func (a *account) calls(uid string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"identify": func(ctx context.Context) error {
			_, err := a.provider.Identify(ctx, a.client, a.conn)
			return err
		},
		"hooks": func(ctx context.Context) error {
			_, err := a.provider.Hooks(ctx, a.client, a.conn, target)
			return err
		},
		"subscribe": func(ctx context.Context) error {
			_, err := a.provider.Subscribe(ctx, a.client, a.conn, target, providers.Profile{})
			return err
		},
		"unsubscribe": func(ctx context.Context) error {
			return a.provider.Unsubscribe(ctx, a.client, a.conn, target)
		},
		"list": func(ctx context.Context) error {
			_, err := a.provider.List(ctx, a.client, a.conn, a.origin, providers.Window{From: today, To: today.AddDate(0, 1, 0)}, "", today)
			return err
		},
		"look": func(ctx context.Context) error {
			_, err := a.provider.Look(ctx, a.client, a.conn, a.origin, uid, today)
			return err
		},
		"cancel": func(ctx context.Context) error {
			return a.provider.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: uid}, "")
		},
		"cancel a seat": func(ctx context.Context) error {
			return a.provider.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: uid, Seat: lena.Email}, "")
		},
	}
}

func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble apitest.Trouble
		text    string
		later   bool
		signIn  bool
	}{
		{apitest.Slow, "", false, false},
		{apitest.Limited, "429", true, false},
		{apitest.Blocked, "403", true, false},
		{apitest.Unauthorized, "401: Unauthorized", false, true},
		{apitest.NotHere, "404", false, false},
		{apitest.Broken, "500", false, false},
		{apitest.Unavailable, "503", false, false},
		{apitest.Dropped, "EOF", false, false},
		{apitest.Elsewhere, "another host", false, false},
		{apitest.Garbage, "not what it documents", false, false},
		{apitest.Misshapen, "not what it documents", false, false},
		{apitest.Cut, "not what it documents", false, false},
		{apitest.Hanging, "deadline", false, false},
		{apitest.Endless, "too large", false, false},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			first := newAccount(t)
			uid, _ := first.book(t, yoga, lena, noon)
			for name := range first.calls(uid) {
				a := newAccount(t, func(o *calcomtest.Options) {
					if c.trouble == apitest.Endless {
						o.Tempo = 2 // so much takes its time, on a busy machine
					}
				})
				uid, _ := a.book(t, yoga, lena, noon)
				a.AddWebhook(calcomtest.Webhook{URL: target})
				a.Set(c.trouble)
				err := a.calls(uid)[name](context.Background())
				var later *providers.LaterError
				var manual *providers.ManualError
				if (err != nil) != (c.text != "") || errors.As(err, &later) != c.later || providers.NeedsSignIn(err) != c.signIn || errors.As(err, &manual) || errors.Is(err, providers.ErrGone) {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if err == nil {
					continue
				}
				if !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), apiKey) || strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v, want %q in it", name, err, c.text)
				}
			}
		})
	}
}

// What the API says of a request does not say what it was asked with.
func TestSecretsAreNotInErrors(t *testing.T) {
	a := newAccount(t)
	a.conn.API.Token = "cal_test_another"
	for name, call := range a.calls("none") {
		err := call(context.Background())
		if !providers.NeedsSignIn(err) || !strings.Contains(err.Error(), "not valid") || strings.Contains(err.Error(), "cal_test_another") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSelftest(t *testing.T) {
	p := calcom.New()
	one, two := p.Selftest("1"), p.Selftest("2")
	a := p.Parse(providers.Request{Body: one}, providertest.Origin(p))
	b := p.Parse(providers.Request{Body: two}, providertest.Origin(p))
	providertest.CheckDelivery(t, a)
	if a.Kind != booking.KindSelftest || a.Status != booking.StatusIgnored || a.EventKey == b.EventKey {
		t.Errorf("%+v and %+v", a, b)
	}
	if _, err := p.Verify(providers.Request{Header: p.Sign(one, secret, today), Body: one}, providers.Secrets{Current: secret}, today); err != nil {
		t.Error(err)
	}
	if got := p.Redact(one); !bytes.Equal(got, one) {
		t.Errorf("redacted: %s", got)
	}
}

// Any number of workers of one key stay within 120 requests a minute.
func TestStaysWithinTheLimits(t *testing.T) {
	t.Parallel()
	const workers, looks = 8, 184
	a := newAccount(t, func(o *calcomtest.Options) { o.Tempo = 20 })
	uid, _ := a.book(t, intro, priya, noon)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range looks / workers {
				if _, err := a.look(uid); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := a.Count("/bookings"); n != looks {
		t.Errorf("%d requests", n)
	}
	for _, r := range a.Requests() {
		if r.Status != http.StatusOK {
			t.Errorf("answered %d", r.Status)
		}
	}
}
