package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// harbour is the account that the connections of linked are in.
var harbour = booking.Source{Provider: "calendly", Base: "https://api.calendly.com"}

// cutOff is a house whose public URL leads to its own machine alone.
func cutOff(t *testing.T, change func(*web.Deps)) *world {
	t.Helper()
	return housedAt(t, "http://localhost:8080", change)
}

// housedAt is a linked house with a public URL.
func housedAt(t *testing.T, address string, change func(*web.Deps)) *world {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, linked(), nil, func(d *web.Deps) {
		d.PublicURL = u
		d.Providers = map[string]providers.Provider{"generic": house{}, "calendly": api{name: "calendly", base: harbour.Base}}
		if change != nil {
			change(d)
		}
	})
}

// Where posts cannot come in, no page says beneath that warning that nothing is
// wrong; and no page says that nobody can post who does.
func TestUnreachedIsSaidThroughout(t *testing.T) {
	t.Parallel()
	w := cutOff(t, nil)
	browser := w.user(t, "ayu", access.Administrator)
	one := w.get(t, browser, connectionPath(5))
	wholesome(t, one, "en")
	has(t, "a connection", one.body, "Asked every 15 minutes; posts cannot come in (see above).")
	hasNot(t, "a connection", one.body, "Nothing is known to be wrong")
	has(t, "the list", w.get(t, browser, "/connections").body, "Asked every 15 minutes; posts cannot come in (see above).")
	w.records.change(t, id(5), func(c *providers.Connection) { c.Owner = providers.Profile{} })
	has(t, "one without a key", w.get(t, browser, connectionPath(5)).body, "Posts from outside cannot come in (see above).")
	has(t, "the list", w.get(t, browser, "/connections").body, "Posts from outside cannot come in (see above).")
	has(t, "the form", w.get(t, browser, "/connections/new/calendly").body, "Posts come only once the address above is mended.")
	for path, texts := range map[string][]string{"/connections/new/generic": {"Only systems on this machine can post here"}, connectionPath(2): {"Only systems on this machine can post here"}} {
		page := w.get(t, browser, path).body
		has(t, path, page, texts...)
		hasNot(t, path, page, "cannot post to this server", "cannot come in")
	}
	reached := housedAt(t, "https://slots.example.org", nil)
	page := reached.get(t, reached.user(t, "ayu", access.Administrator), "/connections/new/calendly").body
	hasNot(t, "a house that is reached", page, "Posts come only once", "SLOTKEEPER_PUBLIC_URL")
	has(t, "a house that is reached", page, "unless you make the subscription through Calendly&#39;s API")
}

// A self-test that came through has no tick over what needs attention.
func TestSelfTestThatNeedsAttention(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	k.hops = []account.Hop{
		{Name: account.HopAddress, OK: true, Found: account.FoundPrivateIP, Values: map[string]string{"Addresses": "127.0.0.1"}},
		{Name: account.HopReceipt, OK: true, Found: account.FoundStored},
	}
	operator := w.user(t, "ayu", access.Operator)
	minded := section(t, w.post(t, operator, connectionPath(5, "/test"), nil).body, `id="tested"`, "</section>")
	has(t, "the answer", minded, "⚠</span> The self-test came through, but needs attention: Address", "Address: needs attention")
	hasNot(t, "the answer", minded, "✓</span> The self-test")
	k.hops = k.hops[1:]
	has(t, "all well", w.post(t, operator, connectionPath(5, "/test"), nil).body, "✓</span> The self-test came through</h2>")
}

// A comparison that failed is not called none.
func TestFailedComparison(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	viewer := w.user(t, "ayu", access.Viewer)
	failed := func(name string, n byte) {
		t.Helper()
		for _, path := range []string{connectionPath(n), "/connections"} {
			has(t, name+", "+path, w.get(t, viewer, path).body, `The last try failed:</span> <time datetime="`)
		}
	}
	failed("none has succeeded", 6)
	page := w.get(t, viewer, connectionPath(6)).body
	has(t, "none has succeeded", page, "None has succeeded lately.", "No recent comparison has succeeded, so differences are not known.")
	hasNot(t, "none has succeeded", page, "not yet")
	hasNot(t, "all well", w.get(t, viewer, connectionPath(5)).body, "The last try failed")

	last := w.records.runs[2]
	last.ID, last.ConnectionID = id(94), id(5)
	w.records.runs = append([]booking.Run{last}, w.records.runs...)
	failed("one before it did", 5)
	has(t, "one before it did", w.get(t, viewer, connectionPath(5)).body, "41 at the provider, 40 here, 1 different")
}

// One fault has one name, and what cannot help until it is mended is not offered.
func TestDeadKey(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	admin := w.user(t, "ayu", access.Administrator)
	page := w.get(t, admin, connectionPath(7))
	wholesome(t, page, "en")
	has(t, "a key that ended", page.body, "Key no longer accepted</span>", "Comparing and importing need a key or sign-in that Acuity accepts", connectionPath(7, "/check"))
	hasNot(t, "a key that ended", page.body, "Needs a new sign-in", "The account&#39;s key or token is no longer accepted.", connectionPath(7, "/compare"), connectionPath(7, "/import"))
	has(t, "one that works", w.get(t, admin, connectionPath(5)).body, connectionPath(5, "/compare"), connectionPath(5, "/import"))
	has(t, "the form", w.get(t, admin, "/connections/new/acuity?id="+id(7).String()).body, "Acuity no longer accepts the key or token that is kept here.", "Connect the same account", "the connection stays as it is")
	hasNot(t, "the form of one that works", w.get(t, admin, "/connections/new/calendly?id="+id(5).String()).body, "no longer accepts")

	// What the provider said is told, and why it may not, when that is something else.
	w.records.change(t, id(7), func(c *providers.Connection) { c.Health.Failure = "the API answered 401: Unauthorized" })
	has(t, "the answer", w.get(t, admin, connectionPath(7)).body, `<q class="said" lang="en">Unauthorized</q>`)
	w.records.change(t, id(7), func(c *providers.Connection) { c.Health.Failure = "the API answered 403: no" })
	has(t, "may not", w.get(t, admin, connectionPath(7)).body, "The account&#39;s key or token may not do this.")

	w.records.change(t, id(5), func(c *providers.Connection) { c.API.Refresh, c.Health.NeedsSignIn = "planted-secret", true })
	for _, path := range []string{connectionPath(5), "/connections"} {
		page := w.get(t, admin, path)
		wholesome(t, page, "en")
		has(t, path, page.body, "Needs a new sign-in</span>", ">Sign in again with Calendly</button>")
	}
}

// Who has no resource is led to where one is assigned, which is there only once a
// booking named him, and only for who may.
func TestHostsWithoutResource(t *testing.T) {
	t.Parallel()
	named := booking.Identity{Source: harbour, ExternalID: "/users/ZZ"}
	w := cutOff(t, func(d *web.Deps) {
		d.Resources = &registry{unmapped: []booking.UnmappedView{{Identity: named, Bookings: 2}}}
	})
	w.records.change(t, id(5), func(c *providers.Connection) {
		c.Owner.Hosts = append(c.Owner.Hosts, booking.Host{ExternalID: "/users/NEW", Name: "New calendar"}, booking.Host{ExternalID: "/users/M", Email: "new@harbourclinic.example"})
	})
	operator := w.user(t, "rani", access.Operator)
	page := w.get(t, operator, connectionPath(5))
	wholesome(t, page, "en")
	hosts := section(t, page.body, `id="hosts"`, "</section>")
	to := "/resources/unmapped?" + url.Values{"provider": {named.Source.Provider}, "base": {named.Source.Base}, "identity": {named.ExternalID}}.Encode()
	has(t, "an operator's page", hosts, `href="`+strings.ReplaceAll(to, "&", "&amp;")+`">Assign a resource<span class="hidden"> Nobody yet</span>`,
		"It can be assigned one once it is booked.", "It becomes one with its first booking.")
	if n := strings.Count(hosts, "/resources/unmapped"); n != 1 {
		t.Errorf("%d links lead to where a resource is assigned", n)
	}
	hasNot(t, "a viewer's page", w.get(t, w.user(t, "tono", access.Viewer), connectionPath(5)).body, "/resources/unmapped", "once it is booked")
	has(t, "the list", w.get(t, operator, "/connections").body, `1 resource, <span class="bad">3 without a resource</span>`)
}

// Comparisons that found nothing are many, and stand apart from what tells something.
func TestQuietComparisonsAreFolded(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	for n := range 30 {
		at := noon.Add(-time.Duration(n) * 15 * time.Minute)
		w.records.runs = append([]booking.Run{{
			ID: id(byte(100 + n)), ConnectionID: id(5), Kind: booking.RunReconcile, Cause: "periodic", From: at, To: noon, Status: booking.RunDone,
			RunCounts: booking.RunCounts{AtProvider: 7, Here: 7}, Actor: booking.ActorSystem, StartedAt: at, FinishedAt: &at,
		}}, w.records.runs...)
	}
	page := w.get(t, w.user(t, "ayu", access.Viewer), connectionPath(5))
	wholesome(t, page, "en")
	told, folded, found := strings.Cut(section(t, page.body, `id="live-runs"`, "</section>"), "<details>")
	if !found {
		t.Fatal("nothing is folded")
	}
	has(t, "what tells something", told, "41 at the provider, 40 here, 1 different", "250 bookings read")
	hasNot(t, "what tells something", told, "7 at the provider, 7 here")
	has(t, "what is folded", folded, "20 comparisons that found no difference", "7 at the provider, 7 here, 0 differ")
}

// A card leads to its account's bookings only where it shows no other's.
func TestConnectionCards(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	operator := w.user(t, "rani", access.Operator)
	page := w.get(t, operator, "/connections").body
	has(t, "the list", page, `<a href="/calendar?provider=acuity">Bookings from Acuity</a>`, `action="`+connectionPath(5, "/test")+`"`)
	hasNot(t, "the list", page, "/calendar?provider=calendly", "/calendar?provider=calcom", connectionPath(3, "/test"), `href="#add"`)
	hasNot(t, "a viewer's list", w.get(t, w.user(t, "tono", access.Viewer), "/connections").body, "/test\"")
	has(t, "an administrator's list", w.get(t, w.user(t, "ayu", access.Administrator), "/connections").body, `href="#add">Connect an account<`, `id="add"`)
}

// Who disconnects is told what holds its slot all the same.
func TestDisconnectTellsComing(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	admin := w.user(t, "ayu", access.Administrator)
	all, err := w.records.Bookings(t.Context(), booking.Filter{From: &noon, Statuses: []string{string(booking.Active)}}, booking.Page{Limit: booking.MaxLimit})
	if err != nil || len(all.Items) == 0 {
		t.Fatal(len(all.Items), err)
	}
	page := w.get(t, admin, connectionPath(5, "/disconnect"))
	wholesome(t, page, "en")
	has(t, "the page", page.body, "coming bookings keep their slots.", `</span> Harbour</a>`)
	w.records.bookings = nil
	page = w.get(t, admin, connectionPath(5, "/disconnect"))
	if page.StatusCode != http.StatusOK {
		t.Fatal(page.StatusCode)
	}
	hasNot(t, "one without", page.body, "their slots", "its slot")
}
