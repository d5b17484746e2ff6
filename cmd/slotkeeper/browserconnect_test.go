package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"slotkeeper/providers/calendly/calendlytest"
)

// mostClicks leads from the list of connections to one that works, whatever was
// typed in between.
const mostClicks = 3

// TestBrowserConnects connects an account of each provider by the pages alone, as
// whoever sees them for the first time would: he is not signed in, and enters a
// wrong key first, of which the page says what it is and what to do.
func TestBrowserConnects(t *testing.T) {
	t.Parallel()
	long(t)
	stories := connectStories(t)
	var hosts []string
	for _, s := range stories {
		at, err := url.Parse(s.APIBase())
		must(t, err)
		hosts = append(hosts, at.Host)
	}
	s := newServer(t, "", "TZ=UTC", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+strings.Join(hosts, ","), "SLOTKEEPER_TEMPO="+strconv.Itoa(accountTempo))
	b := newBrowser(t, s)
	b.open("/", http.StatusOK)
	b.isAt("/signin")
	b.must(chromedp.SendKeys(chromedp.ID("username"), "admin"), chromedp.SendKeys(chromedp.ID("password"), adminPassword))
	b.click("main button")
	b.isAt("/calendar")
	b.shows("main", "No account is connected yet")
	b.click(`main a[href^="/connections"]`)
	for _, story := range stories {
		story.play(b, s.token(t, "read"))
	}
	b.open("/connections", http.StatusOK)
	if n := eval[int](b, `document.querySelectorAll(".cardlist > li").length`); n != len(stories) {
		t.Errorf("%d accounts are connected, want %d: the wrong keys left some", n, len(stories))
	}
	for _, secret := range []string{calendlyFirstToken, calcomFirstKey, acuityKey, wrongKey} {
		if strings.Contains(s.log.String(), secret) {
			t.Error("a key is in the log")
		}
	}
}

// connectStory is an account to connect and what is booked in it.
type connectStory struct {
	office
	// key and user open it, as they are entered.
	key, user string
	owner     string
	// booked are who booked, as the calendar names them.
	booked []string
	clicks int
}

func connectStories(t *testing.T) []*connectStory {
	t.Helper()
	calendly := officeAs[*calendlyOffice](t, newCalendlyOffice(t))
	first := &connectStory{office: calendly, key: calendlyFirstToken, owner: calendlyOwner.Name}
	for _, host := range []calendlytest.Host{calendlyOwner, calendlyTheo, calendlyOwner} {
		calendly.book(t, calendly.hour(), host)
		name, _ := visitorNamed(calendly.n)
		first.booked = append(first.booked, name)
	}
	calcom := officeAs[*calcomOffice](t, newCalcomOffice(t))
	calcom.n = 20 // hours of its own: nobody is booked twice
	second := &connectStory{office: calcom, key: calcomFirstKey, owner: calcomOwner.Name}
	for range 3 {
		at := calcom.hour()
		calcom.book(t, calcomSingle, at)
		name, _ := visitorNamed(calcom.n)
		second.booked = append(second.booked, name)
	}
	acuity := officeAs[*acuityOffice](t, newAcuityOffice(t))
	acuity.n = 40
	third := &connectStory{office: acuity, key: acuityKey, user: acuityUser, owner: "Harbour Clinic"}
	for range 3 {
		acuity.book(t, acuitySingle, acuityMaren, acuity.hour())
		third.booked = append(third.booked, fmt.Sprintf("Priya Raman %d", acuity.n))
	}
	return []*connectStory{first, second, third}
}

// officeAs is an office with what only its provider's has.
func officeAs[T office](t *testing.T, o office) T {
	t.Helper()
	of, ok := o.(T)
	if !ok {
		t.Fatalf("it is %T", o)
	}
	return of
}

// play begins at the list of connections and ends in the calendar.
func (c *connectStory) play(b *browser, token string) {
	b.t.Helper()
	b.open("/connections", http.StatusOK)
	c.click(b, `a[href="/connections/new/`+c.Name()+`"]`)
	form := "/connections/new/" + c.Name()
	b.isAt(form)
	c.pointToStandIn(b)
	if c.user != "" {
		c.enter(b, "user", c.user)
	}

	c.enter(b, "key", wrongKey)
	b.expect(b.url+form, http.StatusUnprocessableEntity)
	c.click(b, connectButton)
	b.isAt(form)
	b.shows("main [role=alert]", "Not connected", "The key or token is not accepted.", "make a new one there", "Nothing was saved.")
	b.waits(`document.activeElement.id === "key"`)
	if typed := eval[string](b, `document.getElementById("key").value`); typed != "" {
		b.t.Errorf("%s: the page gives the key back", c.Name())
	}
	if c.user != "" {
		if typed := eval[string](b, `document.getElementById("user").value`); typed != c.user {
			b.t.Errorf("%s: the user id was forgotten: %q", c.Name(), typed)
		}
	}
	c.pointToStandIn(b)

	// The right key goes where the browser is.
	c.enter(b, "key", c.key)
	c.click(b, connectButton)
	if !strings.Contains(b.location(), "?done=connected") {
		b.t.Fatalf("%s: the browser is at %s:\n%s", c.Name(), b.location(), eval[string](b, "document.body.innerText"))
	}
	b.shows("main .notice[role=status]", "Connected.", "It is the account of "+c.owner, "The webhook is registered.")
	b.shows("main", "Working")
	if c.clicks > mostClicks {
		b.t.Errorf("%s: it took %d clicks, want at most %d", c.Name(), c.clicks, mostClicks)
	}
	b.t.Logf("%s: %d clicks, a wrong key among them", c.Name(), c.clicks)

	waitFor(b.t, "the bookings of "+c.Name(), func() error {
		all := api[bookingItem](b.t, b.server, token, "bookings?provider="+c.Name())
		if len(all) < len(c.booked) {
			return fmt.Errorf("%d of %d are here", len(all), len(c.booked))
		}
		for _, have := range all {
			if have.Status != "active" {
				b.t.Errorf("%s: %s came in as %s", c.Name(), have.ExternalID, have.Status)
			}
		}
		return nil
	})
	b.open("/calendar?provider="+c.Name()+"&date="+time.Now().UTC().Format(time.DateOnly), http.StatusOK)
	b.shows("main", c.booked...)
}

// connectButton sends the form; signing in at the provider is another's.
const connectButton = "main form.card .actions button:not([formaction])"

// click counts what a person presses.
func (c *connectStory) click(b *browser, selector string) {
	b.t.Helper()
	c.clicks++
	b.click(selector)
}

// enter types into a field by its label's id.
func (c *connectStory) enter(b *browser, id, text string) {
	b.t.Helper()
	b.must(chromedp.SendKeys(chromedp.ID(id), text))
}

// pointToStandIn has the form name the stand-in where a person has nothing to
// enter: the provider's own API is not for tests. Cal.com's form asks for the
// address of an installation of one's own.
func (c *connectStory) pointToStandIn(b *browser) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		let at = document.querySelector("[name=api_url]");
		if (!at) {
			at = document.createElement("input");
			at.type = "hidden";
			at.name = "api_url";
			document.querySelector("main form.card").append(at);
		}
		at.value = %q;
		return true;
	})()`, c.APIBase()))
}
