package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// photo is a page that people see, under a name that tells it from the others.
type photo struct {
	name, path string
	status     int64
	// after is done once it is open.
	after func(b *browser)
}

// pages are all that somebody who is signed in may open, in every view.
func (w *world) pages(b *browser) []photo {
	b.t.Helper()
	week := "zone=Europe/Berlin&date=2026-12-07"
	coming := "zone=Europe/Berlin&date=" + w.group.StartsAt.Format(time.DateOnly)
	night := "zone=America/New_York&date=2026-11-01"
	first := func(list, selector string) string {
		b.open(list, http.StatusOK)
		return eval[string](b, `document.querySelector('`+selector+`').getAttribute("href")`)
	}
	room := strings.TrimPrefix(first("/resources?q=Room+1", `tbody th a`), "/resources/")
	other := strings.TrimPrefix(first("/resources?q=Room+2", `tbody th a`), "/resources/")
	person := first("/resources?q=Maren", `tbody th a`)
	return []photo{
		{name: "calendar", path: "/calendar?" + week},
		{name: "calendar-coming", path: "/calendar?" + coming},
		{name: "calendar-day", path: "/calendar?view=day&" + week},
		{name: "calendar-day-coming", path: "/calendar?view=day&" + coming},
		{name: "calendar-day-dst", path: "/calendar?view=day&" + night},
		{name: "calendar-week", path: "/calendar?view=week&" + week},
		{name: "calendar-week-coming", path: "/calendar?view=week&" + coming},
		{name: "calendar-week-all", path: "/calendar?view=week&status=active&status=pending&status=conflicted&status=canceled&" + coming},
		{name: "calendar-month", path: "/calendar?view=month&" + week},
		{name: "calendar-resources", path: "/calendar?view=resources&" + week},
		{name: "calendar-filtered", path: "/calendar?view=week&q=visit&provider=generic&resource=" + room + "&" + week},
		{name: "calendar-hidden", path: "/calendar?q=nobody+of+that+name&" + week},
		{name: "calendar-empty", path: "/calendar?date=2031-01-01"},
		{name: "calendar-zone-unknown", path: "/calendar?zone=Nowhere/Nowhere&date=2026-12-07"},
		{name: "calendar-detail", path: "/calendar?view=week&booking=" + w.lone.ID.String() + "&" + coming},
		{name: "calendar-keys", path: "/calendar?view=week&" + week, after: func(b *browser) {
			b.must(chromedp.KeyEvent("?"))
			b.waits(`document.querySelector("dialog[open]")`)
		}},
		{name: "calendar-lost", path: "/calendar?" + week, after: saysOfItself("lost")},
		{name: "calendar-back", path: "/calendar?" + week, after: saysOfItself("back")},
		{name: "calendar-changed", path: "/calendar?" + week, after: saysOfItself("changed")},
		{name: "keys", path: "/keys"},
		{name: "booking", path: "/bookings/" + w.held.ID.String()},
		{name: "booking-conflicted", path: "/bookings/" + w.lone.ID.String()},
		{name: "booking-group", path: "/bookings/" + w.group.ID.String()},
		{name: "booking-moved", path: "/bookings/" + w.moved.ID.String()},
		{name: "booking-accepted", path: "/bookings/" + w.accepted.ID.String()},
		{name: "booking-canceled", path: "/bookings/" + w.canceled.ID.String()},
		{name: "booking-unknown", path: "/bookings/none", status: http.StatusNotFound},
		{name: "cancel", path: "/bookings/" + w.lone.ID.String() + "/cancel-at-provider"},
		{name: "cancel-group", path: "/bookings/" + w.group.ID.String() + "/cancel-at-provider"},
		{name: "conflicts", path: "/conflicts?past=1"},
		{name: "conflicts-accepted", path: "/conflicts?show=accepted&past=1"},
		{name: "conflicts-none", path: "/conflicts?provider=generic&resource=" + strings.TrimPrefix(person, "/resources/")},
		{name: "audit", path: "/audit"},
		{name: "audit-all", path: "/audit?show=all&range=all"},
		{name: "audit-searched", path: "/audit?q=jonas"},
		{name: "audit-empty", path: "/audit?from=2020-01-01&to=2020-01-02"},
		{name: "audit-backwards", path: "/audit?from=2026-12-07&to=2026-12-01", status: http.StatusUnprocessableEntity},
		{name: "transition", path: first("/audit?show=rejected", `tbody .when a`) + "?body=1"},
		{name: "transition-conflict", path: first("/audit?reason=overlap", `tbody .when a`)},
		{name: "adminlog", path: "/audit?view=admin"},
		{name: "deliveries", path: "/deliveries"},
		{name: "deliveries-month", path: "/deliveries?range=30d"},
		{name: "deliveries-waiting", path: "/deliveries?status=waiting"},
		{name: "deliveries-empty", path: "/deliveries?q=nobody"},
		{name: "delivery", path: first("/deliveries?status=conflict", `tbody .what a`) + "?body=1"},
		{name: "delivery-waiting", path: first("/deliveries?status=waiting", `tbody .what a`)},
		{name: "replays", path: "/deliveries/replay"},
		{name: "replay", path: w.replay},
		{name: "connections", path: "/connections"},
		{name: "connection", path: "/connections/" + w.works.ID.String()},
		{name: "connection-dead", path: "/connections/" + w.dead.ID.String()},
		{name: "connection-generic", path: "/connections/" + w.id.String()},
		{name: "connect-calendly", path: "/connections/new/calendly"},
		{name: "connect-calcom", path: "/connections/new/calcom"},
		{name: "connect-acuity", path: "/connections/new/acuity"},
		{name: "connect-generic", path: "/connections/new/generic"},
		{name: "connect-again", path: "/connections/new/acuity?id=" + w.dead.ID.String()},
		{name: "disconnect", path: "/connections/" + w.works.ID.String() + "/disconnect"},
		{name: "resources", path: "/resources"},
		{name: "resources-none", path: "/resources?q=nobody"},
		{name: "resource", path: "/resources/" + room},
		{name: "resource-person", path: person},
		{name: "merge", path: "/resources/" + room + "/merge?into=" + other},
		{name: "unmapped", path: first("/resources", `.trouble a[href^="/resources/unmapped"]`)},
		{name: "settings", path: "/settings"},
		{name: "settings-sessions", path: "/settings/sessions"},
		{name: "settings-users", path: "/settings/users"},
		{name: "settings-self", path: first("/settings/users", `tbody tr:has(.tag) a`)},
		{name: "settings-viewer", path: first("/settings/users", `tbody tr:nth-child(3) a`)},
		{name: "settings-tokens", path: "/settings/tokens"},
		{name: "settings-feeds", path: "/settings/feeds"},
		{name: "settings-alerts", path: "/settings/alerts"},
		{name: "settings-endpoints", path: "/settings/endpoints"},
		{name: "settings-endpoint", path: first("/settings/endpoints", `tbody a`)},
		{name: "settings-erase", path: "/settings/erase"},
		{name: "alerts", path: "/alerts"},
		{name: "problem", path: "/nowhere", status: http.StatusNotFound},
		{name: "link-spent", path: "/link/spent", status: http.StatusNotFound},
	}
}

// saysOfItself shows what a page says of its connection, without waiting for it: see
// TestBrowserLivesThroughARestart for that.
func saysOfItself(state string) func(b *browser) {
	return func(b *browser) {
		eval[any](b, `(() => {
			const notice = document.getElementById("live-lost");
			notice.dataset.says = "`+state+`";
			notice.hidden = notice.querySelector("[data-state=`+state+`]").hidden = false;
		})()`)
	}
}

// looks opens a page and waits for what belongs to it.
func (b *browser) looks(p photo) {
	b.t.Helper()
	status := p.status
	if status == 0 {
		status = http.StatusOK
	}
	b.open(p.path, status)
	if p.after != nil {
		p.after(b)
	}
}

// TestBrowserPages opens every page and every view in a browser that tells of errors
// and of what the policy forbids (see watch): axe finds nothing, in the light or the
// dark, on a desk or on the smallest phone, and the phone never moves sideways. Then
// the pages are used: by links that somebody passed on, without scripts, and with
// nothing but a keyboard.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	long(t)
	w := newWorld(t)
	b := newBrowser(t, w.server)
	took := func(what string, do func()) {
		began := time.Now()
		do()
		t.Logf("%s took %s", what, time.Since(began).Round(100*time.Millisecond))
	}
	var pages []photo
	took("looking at every page", func() {
		b.seesPage(photo{name: "signin", path: "/signin"})
		b.entersCalendar()
		pages = w.pages(b)
		coversEveryRoute(t, append(pages, photo{path: "/signin"}))
		for _, p := range pages {
			b.seesPage(p)
		}
		b.scheme("light")
		b.screen(1280)
	})
	took("sharing filters", func() {
		b.sharesFilters([]string{
			"/calendar?date=2026-12-07", "/calendar?view=resources&date=2026-12-07", "/conflicts", "/audit", "/audit?view=admin", "/deliveries", "/resources",
		})
	})
	took("reading without scripts", func() {
		b.scripts(false)
		for _, p := range pages {
			if !strings.HasPrefix(p.name, "calendar-") { // they are read in TestBrowserCalendar
				b.readsPlainly(p)
			}
		}
		b.scripts(true)
	})
	took("going by keyboard", func() {
		errand{b.beside(), w}.doesEverything(w.lone, "First visit", true)
		plain := errand{b.beside(), w}
		plain.scripts(false)
		plain.doesEverything(w.rival, "Dewi of", false)
		plain.looksIntoCancelling(w.group, 3)
	})
}

// readsPlainly opens a page in a browser that runs no scripts: all of it is there,
// and nothing that would need one.
func (b *browser) readsPlainly(p photo) {
	b.t.Helper()
	p.after = nil
	b.looks(p)
	if eval[string](b, `document.querySelector("main h1")?.innerText ?? ""`) == "" {
		b.t.Errorf("%s has no heading without scripts", p.path)
	}
	const idle = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, [role=button]")].find(e =>
		e.checkVisibility() && (e.type === "button" || !e.form || !e.form.getAttribute("method") || !e.form.querySelector("button")))?.outerHTML ?? ""`
	if control := eval[string](b, idle); control != "" {
		b.t.Errorf("%s shows what does nothing without scripts: %s", p.path, control)
	}
}

func (b *browser) seesPage(p photo) {
	b.t.Helper()
	b.scheme("light")
	b.screen(1280)
	b.looks(p)
	b.fits(1280)
	b.accessible(axeRules)
	b.scheme("dark")
	b.screen(320)
	b.fits(320)
	b.accessible(axeLooks)
}

// fits checks that a page on a screen of so many pixels does not move sideways.
func (b *browser) fits(width int64) {
	b.t.Helper()
	if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
		b.t.Errorf("%s is %d pixels wide on a screen of %d:\n%s", strings.TrimPrefix(b.location(), b.url), wide, width, eval[string](b, sideways))
	}
	if unseen := eval[string](b, unseenCounts); unseen != "" {
		b.t.Errorf("%s on a screen of %d does not show how many are open of: %s", strings.TrimPrefix(b.location(), b.url), width, unseen)
	}
}

// unseenCounts names the entries of the menu whose count is not on the screen.
const unseenCounts = `[...document.querySelectorAll(".nav .open:not([hidden])")].filter(e => {
	const at = e.getBoundingClientRect(), list = e.closest("ul");
	return at.left < 0 || at.right > innerWidth || list.scrollWidth > list.clientWidth + 1;
}).map(e => e.parentElement.innerText).join(", ")`

// sideways names what is wider than the screen, but for what moves in a box of its own.
const sideways = `(() => {
	const clipped = e => e.parentElement && e.parentElement !== document.body &&
		(getComputedStyle(e.parentElement).overflowX !== "visible" || clipped(e.parentElement));
	return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.checkVisibility() && !clipped(e))
		.slice(0, 4).map(e => e.outerHTML.slice(0, 160)).join("\n");
})()`
