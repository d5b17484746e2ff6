package main

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly/calendlytest"
)

const calendlyTheoToken = "calendly-token-of-theo-0123456789"

// TestTwoConnectionsOfOneOrganization connects an organization by its owner's token and
// by that of a member, whose webhook tells of what he hosts alone: of that, everything
// comes twice. It is one booking, whichever tells first and whichever tells the end, and
// stays when one of the two connections ends.
func TestTwoConnectionsOfOneOrganization(t *testing.T) {
	t.Parallel()
	long(t)
	o, ok := newCalendlyOffice(t).(*calendlyOffice)
	if !ok {
		t.Fatal("it is another office")
	}
	must(t, o.AddToken(calendlyTheoToken, calendlyTheo.ID))
	at, err := url.Parse(o.APIBase())
	must(t, err)
	s := newServer(t, migratetest.EmptyPostgres(t), "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host)
	// Comparisons that nobody asked for come a minute after this one has looked, and
	// would be the first to tell.
	waitFor(t, "the first look at what is connected", func() error {
		var seen int
		err := s.database(t).QueryRowContext(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'watch' AND state = 'completed'").Scan(&seen)
		if err == nil && seen == 0 {
			err = errors.New("nobody looked")
		}
		return err
	})
	d := &doubly{calendlyOffice: o, server: s, token: s.token(t, "read")}
	d.wide, d.own = d.connects(t, calendlyFirstToken), d.connects(t, calendlyTheoToken)
	d.hooksAre(t, "organization", d.wide)
	d.hooksAre(t, "user", d.own)

	for _, tt := range []struct {
		name         string
		first, other connectionItem
	}{
		{"the organization's tells of the booking first, the user's of its end", d.wide, d.own},
		{"the user's tells of the booking first, the organization's of its end", d.own, d.wide},
	} {
		path, posts := o.book(t, o.hour(), calendlyTheo)
		d.tells(t, tt.first, posts, "processed")
		d.tells(t, tt.other, posts, "unchanged")
		d.stands(t, tt.name, path, "active", tt.first, 1)

		posts, err := o.Cancel(path)
		must(t, err)
		d.tells(t, tt.other, posts, "processed")
		d.stands(t, tt.name, path, "canceled", tt.first, 2)
		d.tells(t, tt.first, posts, "unchanged")
		d.stands(t, tt.name, path, "canceled", tt.first, 2)
	}

	// A move is two posts over each: here they come crosswise.
	first, posts := o.book(t, o.hour(), calendlyTheo)
	d.tells(t, d.own, posts, "processed")
	d.tells(t, d.wide, posts, "unchanged")
	second, posts := o.move(t, first)
	of := map[bool][]apitest.Post{}
	for _, p := range posts {
		canceled := strings.Contains(string(p.Body), `"event":"invitee.canceled"`)
		of[canceled] = append(of[canceled], p)
	}
	d.tells(t, d.wide, of[false], "processed")
	d.tells(t, d.own, of[true], "unchanged") // the successor has said so
	d.tells(t, d.wide, of[true], "unchanged")
	d.tells(t, d.own, of[false], "unchanged")
	d.stands(t, "moved", first, "canceled", d.own, 2)
	d.stands(t, "moved", second, "active", d.wide, 1)

	// What another hosts is told to the organization alone.
	mara, posts := o.book(t, o.hour(), calendlyOwner)
	if len(posts) != 1 {
		t.Errorf("what another hosts is sent %d times", len(posts))
	}
	d.tells(t, d.wide, posts, "processed")
	d.stands(t, "another's", mara, "active", d.wide, 1)
	for _, c := range []connectionItem{d.own, d.wide} {
		var run runItem
		decode(t, d.run(t, "connections", "sync", c.ID.String(), "--json"), &run)
		if run.Status != "done" || run.Differed+run.Refused+run.Unreadable != 0 {
			t.Errorf("comparing after all was told: %+v", run)
		}
	}

	// One of the two ends: its webhook goes, and all else stays.
	here := d.all(t)
	d.run(t, "connections", "disconnect", d.own.ID.String())
	d.hooksAre(t, "user")
	d.hooksAre(t, "organization", d.wide)
	if now := d.all(t); !slices.Equal(now, here) {
		t.Errorf("after one was disconnected there are %+v, and were %+v", now, here)
	}
	posts, err = o.Cancel(second)
	must(t, err)
	if len(posts) != 1 {
		t.Errorf("what is hosted by a user who is disconnected is sent %d times", len(posts))
	}
	d.tells(t, d.wide, posts, "processed")
	d.stands(t, "canceled over the one that is left", second, "canceled", d.wide, 2)
}

// doubly is an organization with two connections.
type doubly struct {
	*calendlyOffice
	*server
	token     string
	wide, own connectionItem
}

func (d *doubly) connects(t *testing.T, token string) connectionItem {
	t.Helper()
	var c connectionItem
	decode(t, d.run(t, "connect", "calendly", "--api-url", d.APIBase(), "--api-token", token, "--subscribe"), &c)
	if !c.Subscribed || c.State != "working" {
		t.Errorf("connected as %+v", c)
	}
	return c
}

// hooksAre asks the stand-in, as another administrator, for the webhooks of a scope.
func (d *doubly) hooksAre(t *testing.T, scope string, want ...connectionItem) {
	t.Helper()
	q := url.Values{"organization": {calendlytest.Organization}, "scope": {scope}}
	if scope == "user" {
		q.Set("user", "https://api.calendly.com/users/"+calendlyTheo.ID)
	}
	var is struct {
		Collection []struct {
			URL string `json:"callback_url"`
		}
	}
	askStandIn(t, d.APIBase()+"/webhook_subscriptions?"+q.Encode(), http.Header{"Authorization": {"Bearer " + calendlyAuditToken}}, &is)
	var got, wanted []string
	for _, h := range is.Collection {
		got = append(got, h.URL)
	}
	for _, c := range want {
		wanted = append(wanted, c.WebhookURL)
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("the webhooks of the scope %s are %v, want %v", scope, got, wanted)
	}
}

// tells posts, of what Calendly sends, what is a connection's, and wants an answer.
func (d *doubly) tells(t *testing.T, over connectionItem, posts []apitest.Post, want string) {
	t.Helper()
	sent := 0
	for _, p := range posts {
		if p.URL != over.WebhookURL {
			continue
		}
		sent++
		ack, err := postTo(t.Context(), p.URL, p.Body, p.Header)
		if err != nil || ack.HTTP != http.StatusOK || ack.Status != want {
			t.Errorf("over %s it is answered %+v, %v; want %s", over.ID, ack, err, want)
		}
	}
	if sent != 1 {
		t.Errorf("%d posts are sent over %s", sent, over.ID)
	}
}

// bookingOver is a booking with the connection that first told of it.
type bookingOver struct {
	ID           uuid.UUID
	ExternalID   string    `json:"external_id"`
	ConnectionID uuid.UUID `json:"connection_id"`
	Status       string
}

func (d *doubly) all(t *testing.T) []bookingOver {
	t.Helper()
	return api[bookingOver](t, d.server, d.token, "bookings")
}

// stands wants one booking of that name in a state, first told of by a connection, and
// as many transitions of it.
func (d *doubly) stands(t *testing.T, story, path, status string, first connectionItem, transitions int) {
	t.Helper()
	all := slices.DeleteFunc(d.all(t), func(b bookingOver) bool { return b.ExternalID != path })
	if len(all) != 1 || all[0].Status != status || all[0].ConnectionID != first.ID {
		t.Errorf("%s: %s is %+v, want one that is %s and was first told of over %s", story, path, all, status, first.ID)
		return
	}
	if got := api[transitionItem](t, d.server, d.token, "transitions?booking_id="+all[0].ID.String()); len(got) != transitions {
		t.Errorf("%s: %d transitions, want %d: %+v", story, len(got), transitions, got)
	}
}
