package web_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// section is what a page has from one text on to another.
func section(t *testing.T, body, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(body, from)
	if !found {
		t.Fatalf("there is no %q", from)
	}
	part, _, _ := strings.Cut(rest, to)
	return part
}

func has(t *testing.T, where, body string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(body, w) {
			t.Errorf("%s: there is no %q in %s", where, w, body)
		}
	}
}

// Whatever period and states are shown, the conflicts to come stand above it; those of
// other resources and providers than are shown are counted there.
func TestConflictsAreOnTop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, query := range []string{
		"", "view=week", "status=active", "q=nobody", "provider=calcom", "resource=" + id(10).String(),
		"date=2030-01-01", "view=week&date=2030-01-01", "view=week&date=2020-01-01&status=canceled",
	} {
		body := w.get(t, browser, "/calendar?"+query).body
		box := section(t, body, `<section class="trouble"`, "</section>")
		has(t, query, box, "1 conflict needs a person", "Jonas Keller", "Intake call · Rani Wijaya · Calendly", "14:00–14:45",
			`href="mailto:someone@example.com"`, "probably the same person twice")
		if at := strings.Index(body, `<section class="trouble"`); at > strings.Index(body+"<table", "<table") {
			t.Errorf("%q: the conflict stands below the calendar", query)
		}
	}
	for _, query := range []string{"provider=acuity", "resource=" + id(11).String()} {
		box := section(t, w.get(t, browser, "/calendar?"+query).body, `<section class="trouble"`, "</section>")
		has(t, query, box, "1 conflict outside of these filters needs a person", `href="/conflicts"`)
		if strings.Contains(box, "Jonas Keller") {
			t.Errorf("%s lists a conflict of others", query)
		}
	}
}

func TestConflictsThatNeedNobody(t *testing.T) {
	t.Parallel()
	over, accepted := full(), full()
	for _, r := range []*records{over, accepted} {
		for i := range r.bookings {
			if b := &r.bookings[i]; b.ID == id(22) {
				before := noon.Add(-time.Hour)
				if r == over {
					b.StartsAt, b.EndsAt = &before, &noon
				} else {
					b.OverlapAccepted = true
				}
			}
		}
	}
	for name, r := range map[string]*records{"it is over": over, "its overlap is accepted": accepted} {
		w := newWorld(t, r, nil)
		browser := w.user(t, "ayu", access.Viewer)
		for _, path := range []string{"/calendar?date=2026-12-20", "/settings"} {
			body := w.get(t, browser, path).body
			if strings.Contains(body, "needs a person") || strings.Contains(section(t, body, "<nav", "</nav>"), "open conflict") {
				t.Errorf("%s: %s warns", name, path)
			}
		}
	}
	w := newWorld(t, over, nil)
	body := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar").body
	has(t, "its own period", section(t, body, `<section class="trouble"`, "</section>"), "1 conflict needs a person", "Held by")
	if strings.Contains(section(t, body, "<nav", "</nav>"), "open conflict") {
		t.Error("the navigation counts what is over")
	}
}

func TestManyConflicts(t *testing.T) {
	t.Parallel()
	r := full()
	for _, b := range r.bookings {
		if b.Status == booking.Conflicted {
			for range 24 {
				r.bookings = append(r.bookings, b)
			}
		}
	}
	w := newWorld(t, r, nil)
	body := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?date=2030-01-01").body
	box := section(t, body, `<section class="trouble"`, "</section>")
	has(t, "box", box, "25 conflicts need a person", `<a href="/conflicts">and 5 more`)
	if n := strings.Count(box, "<li>"); n != 20 {
		t.Errorf("%d conflicts are listed", n)
	}
	has(t, "navigation", section(t, body, "<nav", "</nav>"), "25 open conflicts")
}

// Every page of a signed-in person says how many conflicts are open, also one
// that says that there is no such page.
func TestNavigationCountsConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, path := range append(paths, "/bookings/"+id(21).String(), "/deliveries/"+id(40).String(), "/audit/"+id(60).String(), "/bookings/none") {
		has(t, path, section(t, w.get(t, browser, path).body, "<nav", "</nav>"), `<span class="hidden">(1 open conflict)</span>`)
	}
	has(t, "Indonesian", w.get(t, browser, "/settings", "Accept-Language", "id").body, "1 bentrokan belum ditangani")
	if body := w.get(t, w.browser(t), "/signin").body; strings.Contains(body, "open conflict") {
		t.Error("strangers are told")
	}
	w.records.fail(errors.New("away"))
	if res := w.get(t, browser, "/settings"); res.StatusCode != http.StatusInternalServerError || !strings.Contains(res.body, "<nav") {
		t.Errorf("a database that fails gives %d", res.StatusCode)
	}
}

// backToCalendar is the way back that a link to a booking carries.
var backToCalendar = regexp.MustCompile(`\?calendar=[^"]*`)

func TestHolderKnowsItsRivals(t *testing.T) {
	t.Parallel()
	r := full()
	for i := range r.bookings {
		if b := &r.bookings[i]; b.ID == id(22) {
			b.Invitee.Email, b.Invitee.Phone = "jonas@example.com", "+62 811 000"
		}
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	want := []string{
		`<a href="/bookings/` + id(22).String() + `">Jonas Keller also booked this time</a>`, "14:00–14:30",
		`href="mailto:jonas@example.com"`, `href="tel:&#43;62%20811%20000"`,
	}
	page := w.get(t, browser, "/bookings/"+id(21).String())
	wholesome(t, page, "en")
	has(t, "page", section(t, page.body, `aria-labelledby="rivals"`, "</section>"), append(want, "Another booking was made for this slot")...)
	// Also where what the rival is is filtered away.
	agenda := w.get(t, browser, "/calendar?status=active&provider=calendly").body
	row := section(t, section(t, agenda, "<table", "</table>"), `<a href="/bookings/`+id(21).String(), "</tr>")
	has(t, "row", backToCalendar.ReplaceAllString(row, ""), want...)
	for what, body := range map[string]string{"page": page.body, "row": row} {
		if strings.Contains(body, "same person") {
			t.Errorf("%s: two people are taken for one", what)
		}
	}
	if body := w.get(t, browser, "/bookings/"+id(24).String()).body; strings.Contains(body, "also booked") {
		t.Error("a booking without rivals has one")
	}
	lost := w.get(t, browser, "/bookings/"+id(22).String()).body
	has(t, "the rival's own page", section(t, lost, `aria-labelledby="conflict"`, "</section>"), "Rani Wijaya", "14:00–14:45", "mailto:someone@example.com")

	same := newWorld(t, full(), nil)
	body := same.get(t, same.user(t, "ayu", access.Viewer), "/bookings/"+id(21).String(), "Accept-Language", "id").body
	has(t, "same", body, "Jonas Keller juga memesan waktu ini", "kemungkinan orang yang sama")
}
