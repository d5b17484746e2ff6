package calendly_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
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

const target = "https://hooks.example/webhooks/calendly/1"

var (
	theo   = calendlytest.Host{ID: "2a9b1d63-5c4e-4f8a-9b21-7d1c6e0f5b02", Name: "Theo Adeyemi", Email: "Theo.Adeyemi@northpier.example"}
	ines   = calendlytest.Host{ID: "3b8c2e74-6d5f-4a9b-8c32-8e2d7f1a6c03", Name: "Ines Carvalho", Email: "ines.carvalho@northpier.example"}
	window = providers.Window{From: monday.AddDate(0, 0, -7), To: monday.AddDate(0, 0, 60)}
	origin = providertest.Origin(calendly.New(0))

	withSmallPages = func(o *calendlytest.Options) { o.PageSize = 2 }
)

// newTeam is an account of three, whose posts are those of today, once subscribed.
func newTeam(t *testing.T, options ...func(*calendlytest.Options)) *account {
	t.Helper()
	a := newAccount(t, options...)
	a.SetHook(calendlytest.Hook{})
	a.AddUser(theo, calendlytest.Member)
	a.AddUser(ines, calendlytest.Admin)
	return a
}

// as gives the connection the token of another user.
func (a *account) as(t *testing.T, h calendlytest.Host) {
	t.Helper()
	a.conn.API.Token = "token of " + h.ID
	if err := a.AddToken(a.conn.API.Token, h.ID); err != nil {
		t.Fatal(err)
	}
}

func (a *account) profile(t *testing.T) providers.Profile {
	t.Helper()
	p, err := calendly.New(0).Identify(context.Background(), a.client, a.conn)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIdentify(t *testing.T) {
	host := func(h calendlytest.Host) booking.Host {
		return booking.Host{ExternalID: "/users/" + h.ID, Name: h.Name, Email: strings.ToLower(h.Email)}
	}
	all := []booking.Host{host(mara), host(theo), host(ines)}
	for _, c := range []struct {
		name string
		as   calendlytest.Host
		wide bool
		want []booking.Host
	}{
		{"the owner", mara, true, all},
		{"an administrator", ines, true, []booking.Host{host(ines), host(mara), host(theo)}},
		{"a member", theo, false, []booking.Host{host(theo)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newTeam(t, withSmallPages)
			a.as(t, c.as)
			p := a.profile(t)
			want := providers.Profile{
				ExternalID: "/users/" + c.as.ID, Name: c.as.Name, Email: strings.ToLower(c.as.Email), Timezone: "Europe/Stockholm",
				Organization: calendlytest.Organization, Wide: c.wide,
			}
			if !slices.Equal(p.Hosts, c.want) {
				t.Errorf("hosts %+v, want %+v", p.Hosts, c.want)
			}
			p.Hosts = nil
			if p.ExternalID != want.ExternalID || p.Name != want.Name || p.Email != want.Email || p.Timezone != want.Timezone || p.Organization != want.Organization || p.Wide != want.Wide {
				t.Errorf("got %+v, want %+v", p, want)
			}
		})
	}
}

// A host is spelled as the bookings spell him.
func TestHostsAreSpelledAsBookingsDo(t *testing.T) {
	a := newTeam(t)
	a.subscribe(t)
	_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", theo, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	booked := parse(string(posts[0].Body)).Event.Session.Hosts[0]
	if !slices.Contains(a.profile(t).Hosts, booked) {
		t.Errorf("the bookings' %+v is none of %+v", booked, a.profile(t).Hosts)
	}
}

func (a *account) subscribe(t *testing.T) []providers.Hook {
	t.Helper()
	hooks, err := calendly.New(0).Subscribe(context.Background(), a.client, a.conn, target, a.profile(t))
	if err != nil {
		t.Fatal(err)
	}
	return hooks
}

func (a *account) hooks(t *testing.T) []providers.Hook {
	t.Helper()
	hooks, err := calendly.New(0).Hooks(context.Background(), a.client, a.conn, target)
	if err != nil {
		t.Fatal(err)
	}
	return hooks
}

// verified tells which of the connection's secrets signs what is posted now; "" when
// nothing is posted to the target.
func (a *account) verified(t *testing.T, host calendlytest.Host) string {
	t.Helper()
	_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", host, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(posts) == 0 {
		return ""
	}
	if len(posts) > 1 || posts[0].URL != target {
		t.Errorf("%d posts, the first to %s", len(posts), posts[0].URL)
	}
	by, err := calendly.New(0).Verify(providers.Request{Header: posts[0].Header, Body: posts[0].Body}, a.conn.Secrets, a.at)
	if err != nil {
		t.Error(err)
	}
	if d := parse(string(posts[0].Body)); d.Event == nil {
		t.Errorf("the post is %+v", d)
	}
	return by
}

func TestSubscribe(t *testing.T) {
	kinds := []string{"invitee.canceled", "invitee.created", "invitee_no_show.created", "invitee_no_show.deleted"}
	for _, c := range []struct {
		name          string
		as            calendlytest.Host
		theirs, other string // what verifies posts about one's own and about others' bookings
	}{
		{"the owner, for all", mara, providers.ByCurrent, providers.ByCurrent},
		{"an administrator, for all", ines, providers.ByCurrent, providers.ByCurrent},
		{"a member, for himself", theo, providers.ByCurrent, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newTeam(t)
			a.as(t, c.as)
			made := a.subscribe(t)
			if len(made) != 1 || !made[0].Active || made[0].FailingSince != nil || !slices.Equal(made[0].Kinds, kinds) {
				t.Fatalf("made %+v", made)
			}
			if standing := a.hooks(t); len(standing) != 1 || standing[0].ID != made[0].ID || !standing[0].Active {
				t.Errorf("there stand %+v, made was %+v", standing, made)
			}
			other := mara
			if c.as == mara {
				other = theo
			}
			if own, others := a.verified(t, c.as), a.verified(t, other); own != c.theirs || others != c.other {
				t.Errorf("one's own are verified by %q, others' by %q", own, others)
			}
		})
	}
}

// What stands already is replaced, for nobody can tell what it signs with.
func TestSubscribeReplaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, a *account)
	}{
		{"our own", func(t *testing.T, a *account) { a.subscribe(t) }},
		{"our own, with the key before the rotation", func(t *testing.T, a *account) {
			a.conn.Secrets = providers.Secrets{Current: "the key before"}
			a.subscribe(t)
			a.conn.Secrets = providers.Secrets{Current: signingKey, Previous: "the key before"}
		}},
		{"a disabled one", func(t *testing.T, a *account) {
			a.subscribe(t)
			a.Fail(target, true)
			if h := a.hooks(t); len(h) != 1 || h[0].Active || h[0].FailingSince == nil || !h[0].FailingSince.Equal(a.at) {
				t.Errorf("the disabled one is %+v", h)
			}
		}},
		{"one that is tried again", func(t *testing.T, a *account) {
			a.subscribe(t)
			a.Fail(target, false)
			if h := a.hooks(t); len(h) != 1 || !h[0].Active || h[0].FailingSince == nil {
				t.Errorf("the failing one is %+v", h)
			}
		}},
		{"of the user alone, from before he became the owner", func(t *testing.T, a *account) {
			p := a.profile(t)
			p.Wide = false
			if _, err := calendly.New(0).Subscribe(context.Background(), a.client, a.conn, target, p); err != nil {
				t.Fatal(err)
			}
		}},
		{"another administrator's, which does not collide", func(t *testing.T, a *account) {
			mine := a.conn.API
			a.as(t, ines)
			a.subscribe(t)
			a.conn.API = mine
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newTeam(t, withSmallPages)
			others := a.conn
			for _, url := range []string{target + "0", target + "/", "https://hooks.example/another"} {
				if _, err := calendly.New(0).Subscribe(context.Background(), a.client, others, url, a.profile(t)); err != nil {
					t.Fatal(err)
				}
			}
			c.before(t, a)
			made := a.subscribe(t)
			if standing := a.hooks(t); len(standing) != 1 || len(made) != 1 || standing[0].ID != made[0].ID || !standing[0].Active {
				t.Fatalf("there stand %+v, made was %+v", standing, made)
			}
			_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", theo, monday, monday.Add(time.Hour))
			if err != nil || len(posts) != 4 {
				t.Fatalf("%d posts (%v), want those of the other URLs too", len(posts), err)
			}
			ours := slices.IndexFunc(posts, func(p apitest.Post) bool { return p.URL == target })
			by, err := calendly.New(0).Verify(providers.Request{Header: posts[ours].Header, Body: posts[ours].Body}, a.conn.Secrets, a.at)
			if by != providers.ByCurrent {
				t.Errorf("verified by %q (%v)", by, err)
			}
		})
	}
}

func TestSubscribeByHand(t *testing.T) {
	a := newTeam(t)
	a.SetWebhooks(false)
	_, err := calendly.New(0).Subscribe(context.Background(), a.client, a.conn, target, a.profile(t))
	var manual *providers.ManualError
	if !errors.As(err, &manual) || manual.Why != "Please upgrade to a paid Calendly account." || !strings.Contains(manual.Where, "API and webhooks") {
		t.Errorf("without webhooks in the plan: %v", err)
	}
	a.SetWebhooks(true)
	p := a.profile(t)
	a.as(t, theo) // who may not subscribe for all any more
	_, err = calendly.New(0).Subscribe(context.Background(), a.client, a.conn, target, p)
	if !errors.As(err, &manual) || manual.Why != "You do not have permission" {
		t.Errorf("without the right: %v", err)
	}
	a.conn.Secrets = providers.Secrets{Previous: signingKey}
	if _, err := calendly.New(0).Subscribe(context.Background(), a.client, a.conn, target, p); err == nil || errors.As(err, &manual) || a.Subscribed() != nil {
		t.Errorf("without a key: %v, %v", err, a.Subscribed())
	}
}

func TestUnsubscribe(t *testing.T) {
	for _, as := range []calendlytest.Host{mara, theo} {
		a := newTeam(t)
		a.as(t, as)
		a.subscribe(t)
		if _, err := calendly.New(0).Subscribe(context.Background(), a.client, a.conn, "https://hooks.example/another", a.profile(t)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := calendly.New(0).Unsubscribe(context.Background(), a.client, a.conn, target); err != nil {
				t.Fatal(err)
			}
			if h, left := a.hooks(t), a.Subscribed(); len(h) > 0 || len(left) != 1 {
				t.Errorf("%s leaves %+v, %v", as.Name, h, left)
			}
		}
	}
}

// A subscription that an app makes is signed with the app's key; none is sent along.
func TestSubscribeAsAnApp(t *testing.T) {
	a := newTeam(t, withApp)
	var sent strings.Builder
	a.client = &http.Client{Transport: overhearing{a.client.Transport, &sent}}
	a.subscribe(t)
	if !strings.Contains(sent.String(), `"signing_key":"`+signingKey+`"`) {
		t.Errorf("with a personal token was sent %s", &sent)
	}
	a.Unsubscribe(target)
	sent.Reset()
	a.conn.API.Token, a.conn.API.Refresh = a.signIn(t)
	a.conn.Secrets = providers.Secrets{Current: demoApp.SigningKey}
	a.subscribe(t)
	if sent.Len() == 0 || strings.Contains(sent.String(), "signing_key") {
		t.Errorf("with an app's was sent %s", &sent)
	}
	if by := a.verified(t, theo); by != providers.ByCurrent {
		t.Errorf("verified by %q", by)
	}
}

// overhearing notes the bodies that are sent.
type overhearing struct {
	next http.RoundTripper
	sent *strings.Builder
}

func (o overhearing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	o.sent.Write(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return o.next.RoundTrip(r)
}

func TestCancel(t *testing.T) {
	a := newTeam(t)
	a.subscribe(t)
	group := a.Open(calendlytest.Session{Name: "Open clinic", Hosts: []calendlytest.Host{ines}, Start: monday.Add(time.Hour), End: monday.Add(2 * time.Hour), Limit: 10})
	var first string
	for _, name := range []string{"Dara Okonjo", "Lucian Petrescu"} {
		path, _, err := a.Join(group, name, strings.ToLower(strings.ReplaceAll(name, " ", "."))+"@fieldmark.example")
		if err != nil {
			t.Fatal(err)
		}
		first = path
	}
	p, ctx := calendly.New(0), context.Background()
	if err := p.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: first, SessionExternalID: group}, "  "+strings.Repeat("é", 10001)); err != nil {
		t.Fatal(err)
	}
	posts := a.Outbox()
	if len(posts) != 2 || len(a.Outbox()) != 0 {
		t.Fatalf("%d posts, want one for each who was coming", len(posts))
	}
	for _, post := range posts {
		if d := parse(string(post.Body)); d.Kind != booking.KindCanceled || d.Event == nil || d.Event.Reason != booking.ReasonCanceled {
			t.Errorf("a post is %+v", d)
		}
	}
	for _, again := range []providers.CancelTarget{{ExternalID: first}, {SessionExternalID: group}} {
		if err := p.Cancel(ctx, a.client, a.conn, again, ""); err != nil || len(a.Outbox()) != 0 {
			t.Errorf("again: %v", err)
		}
	}

	past, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday.Add(-time.Hour), monday)
	if err != nil {
		t.Fatal(err)
	}
	var refused *providers.AnswerError
	if err := p.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: past}, ""); !errors.As(err, &refused) || !strings.HasSuffix(refused.Message, "Event in the past") {
		t.Errorf("of the past: %v", err)
	}
	a.as(t, theo)
	if err := p.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: past}, ""); !errors.As(err, &refused) || !strings.HasSuffix(refused.Message, "You are not allowed to cancel this event") {
		t.Errorf("another's: %v", err)
	}
	if err := p.Cancel(ctx, a.client, a.conn, providers.CancelTarget{ExternalID: "/scheduled_events/none/invitees/none"}, ""); !errors.Is(err, providers.ErrGone) {
		t.Errorf("an unknown one: %v", err)
	}
	before := a.Count("/")
	for _, bad := range []providers.CancelTarget{{}, {ExternalID: "17"}, {SessionExternalID: "/users/me"}, {SessionExternalID: "/scheduled_events/../x"}} {
		if err := p.Cancel(ctx, a.client, a.conn, bad, ""); !errors.Is(err, booking.ErrUnnamed) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if a.Count("/") != before {
		t.Error("a booking of something else was asked for")
	}
}

func TestSelftest(t *testing.T) {
	p := calendly.New(0)
	body := p.Selftest(`a "test" of 1`)
	r := providers.Request{Header: p.Sign(body, signingKey, monday), Body: body}
	if _, err := p.Verify(r, providers.Secrets{Current: signingKey}, monday); err != nil {
		t.Error(err)
	}
	d := p.Parse(r, origin)
	providertest.CheckDelivery(t, d)
	if d.Kind != booking.KindSelftest || d.Status != booking.StatusIgnored {
		t.Errorf("%+v", d)
	}
	if other := p.Parse(providers.Request{Body: p.Selftest("another")}, origin); other.EventKey == d.EventKey {
		t.Error("two tests are one event")
	}
}

func TestOAuthEndpoint(t *testing.T) {
	own, other := calendly.New(0).OAuth(""), calendly.New(0).OAuth("http://127.0.0.1:1")
	if own.AuthURL != "https://auth.calendly.com/oauth/authorize" || own.TokenURL != "https://auth.calendly.com/oauth/token" || own.InParams {
		t.Errorf("%+v", own)
	}
	if other.AuthURL != "http://127.0.0.1:1/oauth/authorize" || other.TokenURL != "http://127.0.0.1:1/oauth/token" || !slices.Equal(own.Scopes, other.Scopes) {
		t.Errorf("%+v", other)
	}
}
