package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers/apitest"
)

// accountTempo lets a quarter of an hour, after which an account is compared with
// its provider again, take three seconds.
const accountTempo = 300

// office is an account at a stand-in for its provider, with what happens there.
type office interface {
	Name() string
	APIBase() string
	Set(trouble apitest.Trouble, only ...string)
	Count(part string) int

	// credentials are the flags that open it. revoke ends them; after renew there
	// are others.
	credentials() []string
	revoke()
	renew()
	// listPath is in the path of what lists bookings.
	listPath() string

	// hooks counts the webhooks that post to target, dropHooks removes them as a
	// person at the provider may.
	hooks(t *testing.T, target string) int
	dropHooks(t *testing.T, target string)

	// before is what is booked before anybody connects, meanwhile what happens
	// while that is brought in, more is one change after the other, and silent what
	// no webhook tells of.
	before(t *testing.T)
	meanwhile(t *testing.T) []apitest.Post
	more(t *testing.T) []apitest.Post
	silent(t *testing.T)
	// standings are all bookings, and chains the ids of those that followed each
	// other.
	standings(t *testing.T) []standing
	chains() [][]string
}

// standing is a booking as its provider has it.
type standing struct {
	id, email  string
	status     string // active, pending or canceled
	start, end time.Time
	hosts      []string // the provider's names of them
	noShow     bool
}

// dates gives every booking of an office an hour of its own.
type dates struct{ n int }

func firstHour() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(56 * time.Hour) }

func (d *dates) hour() time.Time {
	d.n++
	return firstHour().Add(time.Duration(d.n) * time.Hour)
}

// visitorNamed is the nth who books; all are invented.
func visitorNamed(n int) (name, email string) {
	first := []string{"Priya", "Tomas", "Ines", "Yusuf", "Hanna", "Kofi", "Lien", "Marek"}[n%8]
	last := []string{"Raman", "Okafor", "Lindqvist", "Petrov", "Abe", "Costa", "Weber"}[n%7]
	return first + " " + last, fmt.Sprintf("%s.%s.%d@mail.example", first, last, n)
}

// TestAccountsEndToEnd connects an account of each provider as its owner would,
// and lets happen what happens in a life: bookings come in while older ones are
// brought in, the key is revoked, the webhook removed, deliveries are lost. At the
// end all is here as it is there.
func TestAccountsEndToEnd(t *testing.T) {
	t.Parallel()
	long(t)
	for name, open := range map[string]func(*testing.T) office{
		"calendly": newCalendlyOffice, "calcom": newCalcomOffice, "acuity": newAcuityOffice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("sqlite", func(t *testing.T) {
				t.Parallel()
				lifeOf(t, "", open(t))
			})
			t.Run("postgres", func(t *testing.T) {
				t.Parallel()
				lifeOf(t, migratetest.EmptyPostgres(t), open(t))
			})
		})
	}
}

func lifeOf(t *testing.T, databaseURL string, o office) {
	t.Helper()
	o.before(t)
	l := newLife(t, databaseURL, o)
	for _, phase := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"connected", l.connects},
		{"revoked", l.losesItsKey},
		{"unhooked", l.losesItsWebhook},
		{"deaf", l.losesDeliveries},
		{"rotated", l.getsAnotherSecret},
		{"silent", l.missesWhatNobodyTells},
		{"again", l.isReadAgain},
		{"disconnected", l.isDisconnected},
	} {
		began := time.Now()
		phase.run(t)
		t.Logf("%s took %s", phase.name, time.Since(began).Round(10*time.Millisecond))
	}
	l.endsInOrder(t)
}

// life is an office's connection and the installation that has it.
type life struct {
	*server
	office
	id     uuid.UUID
	target string
	token  string
}

// connectionItem is what is read of a connection.
type connectionItem struct {
	ID         uuid.UUID `json:"id"`
	WebhookURL string    `json:"webhook_url"`
	Subscribed bool      `json:"subscribed"`
	State      string    `json:"state"`
	Owner      any       `json:"owner"`
	Failure    string    `json:"failure"`
	Secret     string    `json:"signing_secret"`
	Run        *runItem  `json:"run"`
}

type runItem struct {
	Kind       string `json:"kind"`
	Status     string `json:"status"`
	AtProvider int    `json:"at_provider"`
	Here       int    `json:"here"`
	Differed   int    `json:"differed"`
	Refused    int    `json:"refused"`
	Unreadable int    `json:"unreadable"`
}

// newLife starts a server that may reach the office's API.
func newLife(t *testing.T, databaseURL string, o office) *life {
	t.Helper()
	at, err := url.Parse(o.APIBase())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, databaseURL, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+strconv.Itoa(accountTempo))
	return &life{server: s, office: o, token: s.token(t, "read")}
}

// firstDay is the day from which bookings are brought in.
func firstDay() string { return time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly) }

func (l *life) connects(t *testing.T) {
	// A wrong key first: nothing stays of it.
	wrong := l.credentials()
	wrong[len(wrong)-1] = wrongKey
	if out, err := l.try(t, "", l.connectArgs(wrong, "--subscribe")...); err == nil {
		t.Fatalf("a wrong key connected: %s", out)
	}
	if all := l.list(t); len(all) != 0 {
		t.Fatalf("a wrong key left %+v", all)
	}

	l.Set(apitest.Slow, l.listPath())
	var out connectionItem
	decode(t, l.run(t, l.connectArgs(l.credentials(), "--subscribe", "--backfill", firstDay())...), &out)
	l.id, l.target = out.ID, out.WebhookURL
	switch {
	case out.Run == nil || out.Run.Kind != "backfill" || out.Run.Status != "running":
		t.Fatalf("no backfill began: %+v", out.Run)
	case !out.Subscribed || out.Secret != "" || out.State != "working" || out.Owner == "":
		t.Errorf("connected as %+v", out)
	case l.hooks(t, l.target) == 0:
		t.Error("no webhook was registered")
	}
	l.deliver(t, l.meanwhile(t))
	l.Set(apitest.Healthy)
	l.same(t)
}

func (l *life) connectArgs(credentials []string, more ...string) []string {
	return slices.Concat([]string{"connect", l.Name(), "--name", "Front desk", "--api-url", l.APIBase()}, credentials, more)
}

// losesItsKey: a key that is revoked is seen, the bookings stay, and a new key
// continues where the old one ended.
func (l *life) losesItsKey(t *testing.T) {
	before := len(api[bookingItem](t, l.server, l.token, "bookings"))
	l.revoke()
	l.awaits(t, "needs_sign_in")
	l.more(t) // of which nobody hears
	if now := len(api[bookingItem](t, l.server, l.token, "bookings")); now != before {
		t.Errorf("%d bookings are shown, there were %d", now, before)
	}

	l.renew()
	if out, err := l.try(t, "", "connect", "generic", "--reconnect", l.id.String()); err == nil {
		t.Errorf("connected to another provider: %s", out)
	}
	var out connectionItem
	args := slices.Concat([]string{"connect", l.Name(), "--reconnect", l.id.String()}, l.credentials())
	decode(t, l.run(t, args...), &out)
	if out.ID != l.id || out.WebhookURL != l.target || out.State != "working" {
		t.Errorf("connected again as %+v", out)
	}
	if all := l.list(t); len(all) != 1 {
		t.Errorf("there are %d connections", len(all))
	}
	l.same(t)
}

// losesItsWebhook: a webhook that is gone is made anew, and what it did not tell
// meanwhile is found.
func (l *life) losesItsWebhook(t *testing.T) {
	l.dropHooks(t, l.target)
	if posts := l.more(t); len(posts) != 0 {
		t.Fatalf("%d posts are sent without a webhook", len(posts))
	}
	waitFor(t, "the webhook to be made anew", func() error {
		if l.hooks(t, l.target) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	l.same(t)
	if len(l.logged(t, "webhook registered anew")) == 0 {
		t.Error("nobody is told that the webhook was made anew")
	}
	// It works: a post of it is taken.
	posts := l.more(t)
	if len(posts) == 0 {
		t.Fatal("the webhook sends nothing")
	}
	l.deliver(t, posts)
	l.same(t)
}

// getsAnotherSecret: the provider signs with the new one, which nobody has seen,
// and what it signed before is taken until the rotation is finished.
func (l *life) getsAnotherSecret(t *testing.T) {
	before := l.more(t)
	out, err := l.try(t, "", "connections", "rotate", l.id.String())
	if l.Name() == "acuity" { // which signs with the account's key
		if err == nil || !strings.Contains(err.Error(), "--reconnect") {
			t.Errorf("a key that is not ours is changed: %s %v", out, err)
		}
		l.deliver(t, before)
		return
	}
	var c connectionItem
	if must(t, err); out != "" {
		decode(t, out, &c)
	}
	if c.Secret != "" {
		t.Error("the secret is printed")
	}
	l.deliver(t, slices.Concat(before, l.more(t)))
	l.run(t, "connections", "rotate", l.id.String(), "--finish")
	l.deliver(t, l.more(t))
	l.same(t)
}

const lostAtOnce = 30

// losesDeliveries: what never came is found by the periodic comparison, and by one
// that is asked for.
func (l *life) losesDeliveries(t *testing.T) {
	l.lose(t)
	l.same(t)
	l.lose(t)
	run := l.compare(t, "sync")
	if run.Kind != "reconcile" || run.Status != "done" || run.Refused+run.Unreadable > 0 {
		t.Errorf("the comparison ended as %+v", run)
	}
	if err := l.differs(t, l.standings(t)); err != nil {
		t.Errorf("after the comparison: %v", err)
	}
}

func (l *life) lose(t *testing.T) {
	t.Helper()
	for lost := 0; lost < lostAtOnce; {
		posts := l.more(t)
		if len(posts) == 0 {
			t.Fatal("nothing would have been sent")
		}
		lost += len(posts)
	}
}

func (l *life) compare(t *testing.T, how ...string) runItem {
	t.Helper()
	var run runItem
	decode(t, l.run(t, slices.Concat([]string{"connections", how[0], l.id.String(), "--json"}, how[1:])...), &run)
	return run
}

func (l *life) missesWhatNobodyTells(t *testing.T) {
	l.silent(t)
	l.same(t)
}

// isReadAgain: bringing all in a second time changes nothing and keeps nothing.
func (l *life) isReadAgain(t *testing.T) {
	counts := func() [2]int {
		return [2]int{len(api[transitionItem](t, l.server, l.token, "transitions")), len(api[receiptItem](t, l.server, l.token, "receipts"))}
	}
	before := counts()
	run := l.compare(t, "backfill", "--from", firstDay())
	if run.Status != "done" || run.Differed != 0 || run.AtProvider == 0 {
		t.Errorf("the second time it ended as %+v", run)
	}
	if after := counts(); after != before {
		t.Errorf("%v transitions and receipts, there were %v", after, before)
	}
}

func (l *life) isDisconnected(t *testing.T) {
	before := len(api[bookingItem](t, l.server, l.token, "bookings"))
	posts := l.more(t)
	l.deliver(t, posts)
	l.same(t)
	before = max(before, len(api[bookingItem](t, l.server, l.token, "bookings")))
	l.run(t, "connections", "disconnect", l.id.String())
	if n := l.hooks(t, l.target); n != 0 {
		t.Errorf("%d webhooks are left", n)
	}
	l.awaits(t, "disconnected")
	if now := len(api[bookingItem](t, l.server, l.token, "bookings")); now != before {
		t.Errorf("%d bookings are left of %d", now, before)
	}
	waitFor(t, "posts to be refused", func() error {
		ack, err := postTo(t.Context(), posts[0].URL, posts[0].Body, posts[0].Header)
		if err == nil && ack.HTTP != http.StatusNotFound {
			err = fmt.Errorf("answered %d", ack.HTTP)
		}
		return err
	})
}

// list are the connections as the command tells of them.
func (l *life) list(t *testing.T) []connectionItem {
	t.Helper()
	var all []connectionItem
	decode(t, l.run(t, "connections", "list", "--json"), &all)
	return all
}

// awaits asks the API, which costs less than a command, and then the command.
func (l *life) awaits(t *testing.T, state string) {
	t.Helper()
	waitFor(t, "the connection to be "+state, func() error {
		var c connectionItem
		decode(t, l.get(t, "/api/v1/connections/"+l.id.String(), l.token), &c)
		if c.State != state {
			return fmt.Errorf("it is %s", c.State)
		}
		return nil
	})
	i := slices.IndexFunc(l.list(t), func(c connectionItem) bool { return c.ID == l.id && c.State == state })
	if i < 0 {
		t.Errorf("the command does not tell that it is %s", state)
	}
}

// deliver sends posts as the provider does, and wants every one taken.
func (l *life) deliver(t *testing.T, posts []apitest.Post) {
	t.Helper()
	each(len(posts), 4, func(i int) {
		p := posts[i]
		ack, err := postTo(t.Context(), p.URL, p.Body, p.Header)
		if err != nil || ack.HTTP/100 != 2 || ack.Status == "failed" {
			t.Errorf("post %d is answered %+v, %v: %s", i, ack, err, p.Body)
		}
	})
}

// askStandIn reads the stand-in's API past the product.
func askStandIn(t *testing.T, address string, header http.Header, into any) {
	t.Helper()
	got := ask(t, http.MethodGet, address, nil, header)
	if got.status != http.StatusOK {
		t.Fatalf("%s answered %d %s", address, got.status, got.body)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		t.Fatal(err)
	}
}
