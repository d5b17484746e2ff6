package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserCalendar lives in the calendar as a front desk does: every view, by
// keyboard, on a narrow screen, without a script, and open all day beside another
// browser's.
func TestBrowserCalendar(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "", "TZ=America/New_York")
	desk := furnish(t, s)
	b := newBrowser(t, s)
	b.entersCalendar()
	b.seesEveryView()
	b.readsADayOnAPhone(desk)
	b.keepsItsFilters()
	b.goesByKeys()
	b.opensDetails()
	b.seesChanges(desk)
	b.readsWithoutScripts()
	// Signed out elsewhere, a page that is open hears so.
	endsWithTheSession(t, s, b.cookie())
}

// desk is who tells of the calendar's bookings: four weeks of six resources, with
// conflicts, a group, moves and a night.
type desk struct {
	connected
	clinic
	n int
}

// clinicDay is the Monday of the weeks.
var clinicDay = time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)

func furnish(t *testing.T, s *server) *desk {
	t.Helper()
	d := &desk{clinic: tellClinic(t, s), connected: s.connect(t, "generic", "--name", "Front desk")}
	for week := range 4 {
		for r := range 6 {
			for day := range 5 {
				at := clinicDay.AddDate(0, 0, 7*week+day).Add(time.Duration(9+r) * time.Hour)
				d.books(t, fmt.Sprint("Room ", r), at, 45*time.Minute)
			}
		}
	}
	noonOfMonday := clinicDay.Add(12 * time.Hour)
	d.books(t, "Room 3", noonOfMonday.Add(10*time.Minute), 30*time.Minute) // there is one at 12:00
	for range 5 {
		d.n++
		d.tells(t, "invitee.created", fmt.Sprint("g-", d.n), "Hall", noonOfMonday, 2*time.Hour, map[string]any{"session": "class", "capacity": 8})
	}
	d.tells(t, "invitee.created", "moved", "Room 0", clinicDay.Add(14*time.Hour), 30*time.Minute, nil)
	d.tells(t, "booking.moved", "moved", "Room 0", clinicDay.Add(38*time.Hour), 30*time.Minute, nil)
	d.books(t, "Room 5", clinicDay.Add(22*time.Hour), 4*time.Hour)
	d.books(t, "Garden", clinicDay.AddDate(0, 0, 2), 24*time.Hour)
	// Both hours of New York's night that has one twice.
	d.books(t, "Room 1", time.Date(2026, 11, 1, 5, 15, 0, 0, time.UTC), 30*time.Minute)
	d.books(t, "Room 1", time.Date(2026, 11, 1, 6, 15, 0, 0, time.UTC), 30*time.Minute)
	return d
}

func (d *desk) books(t *testing.T, resource string, from time.Time, length time.Duration) acknowledgement {
	t.Helper()
	d.n++
	return d.tells(t, "invitee.created", fmt.Sprint("b-", d.n), resource, from, length, nil)
}

func (d *desk) tells(t *testing.T, kind, id, resource string, from time.Time, length time.Duration, more map[string]any) acknowledgement {
	t.Helper()
	said := time.Now()
	booking := map[string]any{
		"id": id, "title": "Visit " + id, "resource": resource, "starts_at": from.UTC().Format(time.RFC3339), "ends_at": from.Add(length).UTC().Format(time.RFC3339),
		"invitee": map[string]any{"name": "Dewi of " + id, "email": "dewi." + id + "@mail.example", "phone": "+62 811 555 0100"},
	}
	for k, v := range more {
		booking[k] = v
	}
	body, err := json.Marshal(map[string]any{"type": kind, "occurred_at": said.UTC().Format(time.RFC3339Nano), "booking": booking})
	if err != nil {
		t.Fatal(err)
	}
	return d.must(t, body)
}

func (b *browser) entersCalendar() {
	b.t.Helper()
	b.open("/signin", http.StatusOK)
	b.must(chromedp.SendKeys(chromedp.ID("username"), "admin"), chromedp.SendKeys(chromedp.ID("password"), adminPassword))
	b.click("main button")
	b.isAt("/calendar")
}

const (
	onMonday   = "date=2026-12-07&zone=UTC"
	onDST      = "date=2026-11-01&zone=America/New_York"
	allOfViews = "agenda day week month resources"
)

// seesEveryView opens each view in both languages, where there is little room.
func (b *browser) seesEveryView() {
	b.t.Helper()
	b.screen(320)
	for _, lang := range []string{"en", "id"} {
		b.speak(lang)
		for view := range strings.FieldsSeq(allOfViews) {
			for _, at := range []string{onMonday, onDST, "date=2031-01-01", onMonday + "&q=nobody", onMonday + "&status=canceled"} {
				b.open("/calendar?view="+view+"&"+at, http.StatusOK)
				b.fits(320)
			}
		}
	}
	b.speak("en")
	b.screen(1280)
	b.open("/calendar?view=day&"+onDST, http.StatusOK)
	b.shows(".gutter", "01:00 EDT", "01:00 EST")
	if n := eval[int](b, `document.querySelectorAll(".entry").length`); n != 2 {
		b.t.Errorf("in the night of 25 hours there are %d bookings, want 2", n)
	}
	b.open("/calendar?view=week&"+onMonday, http.StatusOK)
	b.shows(".calendar", "Visit g-", "5 people", "moved to Tue 14:00", "Visit b-")
	b.open("/calendar?view=resources&"+onMonday, http.StatusOK)
	b.shows(".grid", "Room 0", "Room 5", "Hall")
	b.open("/calendar?view=month&"+onMonday, http.StatusOK)
	b.shows(".month", "+", "more", "Dewi of")
	// Paper has the list, with whom to call.
	b.open("/calendar?days=1&"+onMonday, http.StatusOK)
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		b.t.Fatal(err)
	}
	b.shows("body", "Visit b-1", "Dewi of b-1", "+62 811 555 0100")
	if eval[bool](b, `document.querySelector(".calendar-tools").offsetParent !== null`) {
		b.t.Error("the filters are printed")
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}); err != nil {
		b.t.Fatal(err)
	}
}

// readsADayOnAPhone looks at short bookings that stand beside one another where there
// is little room: each says who comes, and all of it when it is asked.
func (b *browser) readsADayOnAPhone(d *desk) {
	b.t.Helper()
	busy := clinicDay.AddDate(0, 0, 28).Add(9 * time.Hour)
	for n := range 15 { // one, two, … and five abreast
		for abreast, first := range []int{0, 1, 3, 6, 10} {
			if n >= first && n <= first+abreast {
				d.books(b.t, fmt.Sprint("Room ", n-first), busy.Add(time.Duration(abreast)*time.Hour), time.Duration(15+15*(n%2))*time.Minute)
			}
		}
	}
	const nameless = `[...document.querySelectorAll(".entry:not(.more)")].filter(e => {
		const box = e.getBoundingClientRect();
		return ![...e.querySelectorAll(".entry-name")].some(n => {
			const r = n.getBoundingClientRect();
			return r.width >= 20 && r.height >= 8 && r.top >= box.top && r.bottom <= box.bottom + 1 && r.left >= box.left && r.right <= box.right + 1;
		});
	}).map(e => e.innerText).join("; ")`
	const overlapping = `(() => { const all = [...document.querySelectorAll(".entry")].map(e => e.getBoundingClientRect());
		return all.filter((a, i) => all.some((o, n) => n !== i && a.left < o.right - 1 && o.left < a.right - 1 && a.top < o.bottom - 1 && o.top < a.bottom - 1)).length; })()`
	for _, width := range []int64{390, 320} {
		b.screen(width)
		for _, at := range []string{"date=2027-01-04&zone=UTC", onMonday} {
			b.open("/calendar?view=day&"+at, http.StatusOK)
			b.fits(width)
			if text := eval[string](b, nameless); text != "" {
				b.t.Errorf("%s, %d px wide, does not say who comes to %s", at, width, text)
			}
			if n := eval[int](b, overlapping); n > 0 {
				b.t.Errorf("%s, %d px wide: %d bookings lie over one another", at, width, n)
			}
		}
	}
	b.open("/calendar?view=day&date=2027-01-04&zone=UTC", http.StatusOK)
	const narrow = `document.querySelector(".entry[class*='-5']")`
	const cut = narrow + `.querySelector(".entry-name").scrollWidth > ` + narrow + `.querySelector(".entry-name").clientWidth`
	if !eval[bool](b, cut) {
		b.t.Fatal("nothing is too long for its place")
	}
	eval[bool](b, narrow+`.querySelector("a").focus({ focusVisible: true }) === undefined`)
	if eval[bool](b, cut) || !eval[bool](b, narrow+`.innerText.includes("Room")`) {
		b.t.Errorf("with the focus it says %q", eval[string](b, narrow+`.innerText`))
	}
	// What is tapped comes up where it is seen, however far down that was.
	eval[bool](b, `[...document.querySelectorAll(".entry a")].at(-1).click() === undefined`)
	waitFor(b.t, "the booking's detail", func() error {
		if !eval[bool](b, `document.getElementById("detail") !== null`) {
			return errors.New("it is not open")
		}
		return nil
	})
	if !eval[bool](b, `(() => { const r = document.getElementById("detail").getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight - 100 && r.bottom <= innerHeight + 1; })()`) {
		b.t.Error("the detail is out of sight")
	}
	b.fits(320)
	b.screen(1280)
}

// keepsItsFilters sets them in the form, loads the page anew and opens its link in
// another browser: it shows the same.
func (b *browser) keepsItsFilters() {
	b.t.Helper()
	b.open("/calendar?view=week&"+onMonday, http.StatusOK)
	room := eval[string](b, `[...document.querySelectorAll("#resource option")].find(o => o.textContent === "Room 3").value`)
	b.must(chromedp.SetValue(chromedp.CSS("#resource"), room), chromedp.SetValue(chromedp.CSS("#provider"), "generic"),
		chromedp.SetValue(chromedp.CSS("#zone"), "Asia/Kathmandu"), chromedp.SetValue(chromedp.CSS("#q"), "visit"))
	b.must(chromedp.Click(chromedp.CSS("input[name=status][value=canceled]")))
	b.click(".filters button")
	const state = `JSON.stringify([...document.querySelectorAll("#q, #resource, #provider, #zone")].map(e => e.value).concat(
		[...document.querySelectorAll("[name=status]")].map(e => e.checked), document.querySelector("h1").innerText, document.querySelector(".grid").innerText))`
	want := eval[string](b, state)
	if !strings.Contains(want, "Asia/Kathmandu") || !strings.Contains(want, "visit") || strings.Contains(want, "Room 4") {
		b.t.Errorf("the filters are %s", want)
	}
	address := strings.TrimPrefix(b.location(), b.url)
	b.open(address, http.StatusOK)
	if got := eval[string](b, state); got != want {
		b.t.Errorf("loaded anew it shows\n%s\nnot\n%s", got, want)
	}
	link := eval[string](b, `document.querySelector(".calendar-foot a").getAttribute("href")`)
	other := b.beside()
	other.entersCalendar()
	other.open(link, http.StatusOK)
	if got := eval[string](other, state); got != want {
		b.t.Errorf("its link shows another\n%s\nnot\n%s", got, want)
	}
}

// goesByKeys goes everywhere by the keys alone.
func (b *browser) goesByKeys() {
	b.t.Helper()
	b.open("/calendar?view=week&"+onMonday, http.StatusOK)
	for _, step := range []struct{ key, want string }{
		{"n", "2026-12-14"},
		{"j", "2026-12-21"},
		{"p", "2026-12-14"},
		{"k", "2026-12-07"},
		{"d", "view=day"},
		{"m", "view=month"},
		{"r", "view=resources"},
		{"w", "view=week"},
		{"a", "date=2026-12-07&zone=UTC"},
	} {
		if _, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(step.key)); err != nil {
			b.t.Fatalf("%s: %v", step.key, err)
		}
		if at := b.location(); !strings.Contains(at, step.want) {
			b.t.Errorf("%s leads to %s, want %s", step.key, at, step.want)
		}
	}
	for key, want := range map[string]string{"/": "q", "f": "resource", "z": "zone"} {
		b.must(chromedp.KeyEvent(key))
		b.waits(fmt.Sprintf("document.activeElement.id === %q", want))
		b.must(chromedp.KeyEvent(kb.Escape))
	}
	// While something is typed they are letters.
	b.must(chromedp.KeyEvent("/"), chromedp.KeyEvent("twn"))
	if got := eval[string](b, `document.getElementById("q").value`); !strings.HasSuffix(got, "twn") {
		b.t.Errorf("typed %q", got)
	}
	b.must(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("?"))
	b.waits(`document.querySelector("dialog[open]")`)
	b.shows("dialog[open]", "Keyboard shortcuts", "Resources side by side")
	b.must(chromedp.KeyEvent(kb.Escape))
	b.waits(`!document.querySelector("dialog[open]")`)
	b.open("/keys", http.StatusOK)
	b.shows("main", "Keyboard shortcuts", "your settings")
}

// opensDetails opens a booking beside the calendar and closes it again: the focus is
// where it was, and the address says what is shown.
func (b *browser) opensDetails() {
	b.t.Helper()
	b.open("/calendar?view=week&"+onMonday, http.StatusOK)
	eval[any](b, `document.querySelector(".entry.is-conflicted a").focus()`)
	from := eval[string](b, `document.activeElement.getAttribute("href")`)
	b.must(chromedp.KeyEvent(kb.Enter))
	b.waits(`document.getElementById("detail")`)
	b.shows("#detail", "Visit", "conflicted", "The slot is held by", "+62 811 555 0100")
	b.waits(`document.activeElement.id === "detail"`)
	shared := strings.TrimPrefix(b.location(), b.url)
	b.must(chromedp.KeyEvent(kb.Escape))
	b.waits(`!document.getElementById("detail")`)
	b.waits(fmt.Sprintf(`document.activeElement.getAttribute("href") === %q`, from))
	if strings.Contains(b.location(), "booking=") {
		b.t.Errorf("closed, the address is %s", b.location())
	}
	b.open(shared, http.StatusOK)
	b.shows("#detail", "The slot is held by")
	b.click(".detail-go a")
	b.shows("h1", "Visit")
}

// seesChanges has two browsers open while something happens: where nobody is at it,
// the calendar changes by itself; where a detail is open, it waits and says so.
func (b *browser) seesChanges(d *desk) {
	b.t.Helper()
	other := b.beside()
	other.entersCalendar()
	const week = "/calendar?view=week&date=2026-12-14&zone=UTC"
	b.open(week, http.StatusOK)
	other.open(week, http.StatusOK)
	other.must(chromedp.Click(chromedp.CSS(".entry a")))
	other.waits(`document.getElementById("detail")`)
	eval[any](b, `(document.querySelector("#zone").focus(), scrollTo(0, 200))`)
	before := eval[string](b, "document.title")
	reading := eval[string](other, "document.getElementById('detail').innerText")

	at := clinicDay.AddDate(0, 0, 11).Add(20 * time.Hour)
	d.books(b.t, "Room 0", at, time.Hour)
	if ack := d.books(b.t, "Room 0", at, time.Hour); ack.Status != "conflict" {
		b.t.Fatalf("answered %+v", ack)
	}
	began := time.Now()
	b.waits(fmt.Sprintf(`document.querySelector(".grid").innerText.includes("Visit b-%d")`, d.n))
	b.waits(fmt.Sprintf(`document.title !== %q && !document.getElementById("live-alert").hidden`, before))
	if took := time.Since(began); took > 10*time.Second {
		b.t.Errorf("a conflict shows after %s", took)
	}
	b.shows("#live-alert", "2 open conflicts")
	b.shows("#open-conflicts", "2")
	if focus, y := eval[string](b, "document.activeElement.id"), eval[float64](b, "scrollY"); focus != "zone" || y != 200 {
		b.t.Errorf("the focus went to %q, and the page to %v", focus, y)
	}
	other.waits(`!document.getElementById("live-fresh").hidden`)
	other.shows("#live-fresh", "2 changes since this was read", "Refresh")
	if got := eval[string](other, "document.getElementById('detail').innerText"); got != reading {
		b.t.Error("what somebody was reading changed")
	}
	// Closed, the focus is back in the calendar: it changes once that is left.
	other.must(chromedp.KeyEvent(kb.Escape))
	if eval[bool](other, `document.getElementById("live-fresh").hidden`) {
		b.t.Error("the calendar changed under the focus")
	}
	eval[any](other, `document.activeElement.blur()`)
	other.waits(fmt.Sprintf(`document.querySelector(".grid").innerText.includes("Visit b-%d")`, d.n))
	other.waits(`document.getElementById("live-fresh").hidden`)
}

// readsWithoutScripts uses the pages as they come from the server.
func (b *browser) readsWithoutScripts() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
	for view := range strings.FieldsSeq(allOfViews) {
		b.open("/calendar?view="+view+"&"+onMonday, http.StatusOK)
		b.shows("#calendar-live", "Visit")
	}
	b.open("/calendar?view=week&"+onMonday, http.StatusOK)
	b.click(".entry.is-active a")
	b.shows("#detail", "Visit", "Everything about it")
	b.click("[data-key=close]")
	b.click("[data-key=help]")
	b.shows("h1", "Keyboard shortcuts")
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{}); err != nil {
		b.t.Fatal(err)
	}
}

// endsWithTheSession follows the stream of pages and signs out beside it.
func endsWithTheSession(t *testing.T, s *server, cookie *http.Cookie) {
	t.Helper()
	ask := func(method, path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(cookie)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := ask(http.MethodGet, "/live") //nolint:bodyclose // ask closes it at the end
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream is answered %s", stream.Status)
	}
	if out := ask(http.MethodPost, "/signout"); out.StatusCode != http.StatusSeeOther { //nolint:bodyclose // as above
		t.Fatalf("signing out is answered %s", out.Status)
	}
	began, ended := time.Now(), false
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		ended = ended || lines.Text() == "event: end"
	}
	if took := time.Since(began); !ended || took > 20*time.Second {
		t.Errorf("the stream of a session that is over ends after %s, and says so: %v", took, ended)
	}
}

// waits until an expression of the page is true.
func (b *browser) waits(js string) {
	b.t.Helper()
	waitFor(b.t, js, func() error {
		if !eval[bool](b, "Boolean("+js+")") {
			return fmt.Errorf("not yet, on %s", b.location())
		}
		return nil
	})
}
