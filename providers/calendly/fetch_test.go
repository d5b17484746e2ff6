package calendly_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
	"slotkeeper/providers/providertest"
)

const (
	legacy = "90_legacy_v2_2022_invitee_created_no_scheduled_event.json"
	token  = "demo-access-token-1"
	tempo  = 100

	signingKey = "the signing key"

	// anyTime is a wait that whoever asks for it may choose.
	anyTime = -1
)

var (
	monday = time.Date(2026, 12, 7, 9, 0, 0, 0, time.UTC)
	mara   = calendlytest.Host{ID: "1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a01", Name: "Mara Lindqvist", Email: "mara.lindqvist@northpier.example"}
)

type account struct {
	*calendlytest.Server
	client *http.Client
	conn   providers.Connection
	at     time.Time
}

// newAccount is a stand-in and a connection to it. Its posts are old bodies.
func newAccount(t *testing.T, options ...func(*calendlytest.Options)) *account {
	t.Helper()
	a := &account{at: monday}
	o := calendlytest.Options{Token: token, Owner: mara, Tempo: tempo, Now: func() time.Time { return a.at }}
	for _, set := range options {
		set(&o)
	}
	a.Server = calendlytest.New(o)
	a.SetHook(calendlytest.Hook{URL: "https://hooks.example", Key: signingKey})
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
	a.conn = providers.Connection{Provider: calendly.Name, APIBase: a.APIBase(), API: providers.Credentials{Token: token}, Secrets: providers.Secrets{Current: signingKey}}
	return a
}

// complete takes a post's way: it is verified and parsed as pending, what it
// leaves out is fetched, and the two are read.
func (a *account) complete(t *testing.T, post apitest.Post) (booking.Delivery, *booking.Event) {
	t.Helper()
	p := calendly.New(0)
	r := providers.Request{Header: post.Header, Body: post.Body}
	if _, err := p.Verify(r, providers.Secrets{Current: signingKey}, a.at); err != nil {
		t.Fatal(err)
	}
	o := providertest.Origin(p)
	d := p.Parse(r, o)
	providertest.CheckDelivery(t, d)
	if d.Status != booking.StatusPending || d.Poke {
		t.Fatalf("%+v", d)
	}
	fetched, err := p.Fetch(context.Background(), a.client, a.conn, d.Subject, post.Body)
	if err != nil {
		t.Fatal(err)
	}
	ticket := a.at.Add(time.Hour)
	out := p.Read(fetched.Snapshot, o, ticket, d.Kind, d.EventKey)
	providertest.CheckFetched(t, out, d.Kind, d.EventKey)
	if out.Event == nil || out.Event.ExternalID != d.Subject {
		t.Fatalf("%+v", out)
	}
	return d, out.Event
}

func TestOldBodiesAreCompleted(t *testing.T) {
	a := newAccount(t)
	_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday.Add(time.Hour), monday.Add(90*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	_, e := a.complete(t, posts[0])
	if e.Kind != booking.KindCreated || !e.At.Equal(monday) || !e.Session.StartsAt.Equal(monday.Add(time.Hour)) || !e.Session.EndsAt.Equal(monday.Add(90*time.Minute)) {
		t.Errorf("%+v", e)
	}
	if h := e.Session.Hosts; len(h) != 1 || h[0].Email != mara.Email || *e.Session.Capacity != 1 || *e.Location != "Zoom" || *e.Title != "Intro call (30 min)" {
		t.Errorf("%+v", e)
	}
}

// A move's halves and a cancel stay what they are, at the times that they give.
func TestOldBodiesKeepTheirClock(t *testing.T) {
	a := newAccount(t)
	old, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday.Add(time.Hour), monday.Add(90*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	a.at = monday.Add(time.Minute)
	next, posts, err := a.Move(old, monday.Add(3*time.Hour), monday.Add(4*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, gone := a.complete(t, posts[0])
	_, come := a.complete(t, posts[1])
	if gone.Kind != booking.KindCanceled || gone.Reason != booking.ReasonRescheduled || gone.Successor != next || !gone.At.Equal(a.at) {
		t.Errorf("the old half: %+v", gone)
	}
	if come.Kind != booking.KindCreated || come.Predecessor != old || come.ExternalID != next || !come.Session.StartsAt.Equal(monday.Add(3*time.Hour)) {
		t.Errorf("the new half: %+v", come)
	}
	a.at = monday.Add(2 * time.Minute)
	posts, err = a.Cancel(next)
	if err != nil {
		t.Fatal(err)
	}
	if _, e := a.complete(t, posts[0]); e.Kind != booking.KindCanceled || e.Reason != booking.ReasonCanceled || !e.At.Equal(a.at) {
		t.Errorf("the cancel: %+v", e)
	}
	if _, err := a.Cancel(next); !errors.Is(err, calendlytest.ErrUnknown) {
		t.Errorf("canceled twice: %v", err)
	}
}

func TestFetchTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble apitest.Trouble
		gone    bool
		after   time.Duration
		text    string
	}{
		{apitest.Healthy, false, 0, ""},
		{apitest.Slow, false, 0, ""},
		{apitest.Missing, true, 0, "could not be found"},
		{apitest.Limited, false, time.Minute, "429"},
		{apitest.Blocked, false, anyTime, "403"},
		{apitest.Unauthorized, false, 0, "The access token is invalid"},
		{apitest.Forbidden, false, 0, "You do not have permission"},
		{apitest.Broken, false, 0, "500"},
		{apitest.Hanging, false, 0, "deadline"},
		{apitest.Garbage, false, 0, "not what it documents"},
		{apitest.Misshapen, false, 0, "not what it documents"},
		{apitest.Cut, false, 0, "not what it documents"},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			a := newAccount(t)
			_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			a.Set(c.trouble)
			fetched, err := calendly.New(0).Fetch(context.Background(), a.client, a.conn, "", posts[0].Body)
			var later *providers.LaterError
			if (err != nil) != (c.text != "") || errors.Is(err, providers.ErrGone) != c.gone || errors.As(err, &later) != (c.after != 0) {
				t.Fatalf("got %v", err)
			}
			if c.after > 0 && later.After != c.after || c.after != 0 && later.After <= 0 {
				t.Errorf("later by %s, want %s", later.After, c.after)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("the error has the token: %v", err)
			}
			for _, secret := range []string{calendlytest.JoinSecret, "https://calendly.com/cancellations", "https://calendly.com/reschedulings"} {
				if strings.Contains(string(fetched.Snapshot), secret) {
					t.Errorf("%q is kept", secret)
				}
			}
		})
	}
}

// A signed body sends our token nowhere but to a scheduled event.
func TestFetchGoesToEventsOnly(t *testing.T) {
	a := newAccount(t)
	body := fixture(t, legacy)
	const event = `"event": "https://api.calendly.com/scheduled_events/a1c0de01-0000-4000-8000-000000000001"`
	for _, other := range []string{
		"https://api.calendly.com/scheduled_events/../users/me", "https://api.calendly.com/users/me", "https://api.calendly.com/scheduled_events/",
		"https://api.calendly.com/scheduled_events/a/invitees/b", "https://api.calendly.com/scheduled_events/a%2f..%2fb",
		"https://api.calendly.com//evil.example/scheduled_events/a", "/scheduled_events/a?x=", "",
	} {
		changed := change(t, body, event, `"event": "`+other+`"`)
		d := parse(changed)
		providertest.CheckDelivery(t, d)
		if other == "/scheduled_events/a?x=" {
			continue // its path is an event's
		}
		if d.Status != booking.StatusFailed {
			t.Errorf("%s: %+v", other, d)
		}
		if _, err := calendly.New(0).Fetch(context.Background(), a.client, a.conn, "", []byte(changed)); err == nil {
			t.Errorf("%s was fetched", other)
		}
	}
	a.conn.API.Token = ""
	if _, err := calendly.New(0).Fetch(context.Background(), a.client, a.conn, "", []byte(body)); err == nil {
		t.Error("fetched without a token")
	}
	if a.Count("/") != 0 {
		t.Errorf("asked for %v", a.Requests())
	}
}

// What is kept of the fixture and a recorded event is what a body of today says.
func TestFetchedAnswers(t *testing.T) {
	a := newAccount(t)
	modern, old := parse(fixture(t, oneOnOne)), fixture(t, legacy)
	var cases []providertest.Fetched
	for name, location := range map[string]string{
		"legacy":             `{"join_url":null,"status":"processing","type":"google_conference"}`,
		"legacy_with_a_link": `{"type":"custom","location":"https://meet.google.com/abc-defg-hij"}`,
	} {
		event := `{"resource":{"uri":"https://api.calendly.com/scheduled_events/a1c0de01-0000-4000-8000-000000000001","name":"Intro call (30 min)",
			"start_time":"2026-12-08T14:00:00.000000Z","end_time":"2026-12-08T14:30:00.000000Z","status":"active","location":` + location + `,
			"invitees_counter":{"total":1,"active":1,"limit":1},"event_memberships":[{"buffered_end_time":"2026-12-08T14:30:00.000000Z",
			"user":"https://api.calendly.com/users/1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a01","user_email":"mara.lindqvist@northpier.example","user_name":"Mara Lindqvist"}],
			"calendar_event":{"external_id":"ext0001demo","kind":"google"}}}`
		client := &http.Client{Transport: answering(event)}
		fetched, err := calendly.New(0).Fetch(context.Background(), client, a.conn, "", []byte(old))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, providertest.Fetched{
			Name: name, Snapshot: fetched.Snapshot, Kind: booking.KindCreated, EventKey: modern.EventKey, Ticket: monday,
			Hidden: []string{"cancellations", "reschedulings", "ext0001demo", "Data migration", "meet.google.com"},
		})
	}
	providertest.RunFetched(t, calendly.New(0), cases...)
}

// answering answers every request with the text.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}
