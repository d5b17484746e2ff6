package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestBrowser looks at the product as people do: the built binary on a server in
// one zone, a real browser that shows another. What pages do behind the scenes is
// watched all the time: a violation of the content security policy, an error in
// the console, a request that fails or leaves the server fails the test.
func TestBrowser(t *testing.T) {
	t.Parallel()
	long(t)
	t.Run("clinic", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "", "TZ=America/New_York")
		told := tellClinic(t, s)
		b := newBrowser(t, s)
		b.signIn("admin", adminPassword)
		b.seesTheRightHour(told.held)
		b.seesWhatBecameOf(told)
		b.seesEveryPageIn("en", "Calendar", told)
		b.seesEveryPageIn("id", "Kalender", told)
		b.signOut()
	})
	t.Run("first administrator", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "", "SLOTKEEPER_ADMIN_PASSWORD=")
		newBrowser(t, s).becomesTheFirstAdministrator()
	})
}

// clinic is what was told to the server: two bookings that want one slot, and
// one whose cancel overtook its creation.
type clinic struct {
	held, conflicted, canceled bookingItem
}

// tellClinic posts bodies that Cal.com and Calendly sent, signed as they do.
func tellClinic(t *testing.T, s *server) clinic {
	t.Helper()
	calcom, calendly := s.connect(t, "calcom"), s.connect(t, "calendly")
	send := func(a connected, body []byte, status string) {
		t.Helper()
		if ack := a.must(t, body); ack.Status != status {
			t.Fatalf("answered %+v, want %s\n%s", ack, status, s.log)
		}
	}
	// 3 November 2026, 15:00 UTC: 10:00 in New York, 20:45 in Kathmandu.
	send(calcom, fixture(t, "calcom/testdata/booking_created_1to1.json"), "processed")
	// The same host and hour, taken through the other provider.
	rival := fixture(t, "calendly/testdata/01_one_on_one_invitee_created.json")
	for _, change := range [][2]string{
		{"mara.lindqvist@northpier.example", "maren.oduya@harbourclinic.example"},
		{"2026-12-08T14:00:00.000000Z", "2026-11-03T15:00:00.000000Z"},
		{"2026-12-08T14:30:00.000000Z", "2026-11-03T15:45:00.000000Z"},
	} {
		if !bytes.Contains(rival, []byte(change[0])) {
			t.Fatalf("the fixture has no %s", change[0])
		}
		rival = bytes.ReplaceAll(rival, []byte(change[0]), []byte(change[1]))
	}
	send(calendly, rival, "conflict")
	send(calendly, fixture(t, "calendly/testdata/04_reschedule_01_invitee_canceled_old_half.json"), "processed")
	send(calendly, fixture(t, "calendly/testdata/04_reschedule_00_original_created.json"), "rejected")

	var told clinic
	for _, b := range api[bookingItem](t, s, s.token(t, "read"), "bookings") {
		switch b.Status {
		case "active":
			told.held = b
		case "conflicted":
			told.conflicted = b
		case "canceled":
			told.canceled = b
		}
	}
	return told
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "providers", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unfoldsConflicts opens the line that says how many there are.
func (b *browser) unfoldsConflicts() {
	b.t.Helper()
	b.must(chromedp.Click(chromedp.CSS("#conflicts-list summary")))
}

// seesTheRightHour looks for a booking at 15:00 UTC in the server's zone, then in
// one that is three quarters of an hour off, chosen in the page.
func (b *browser) seesTheRightHour(held bookingItem) {
	entry := fmt.Sprintf(`tbody tr:has(.what > a[href^="/bookings/%s"])`, held.ID)
	b.open("/calendar?date=2026-11-03", http.StatusOK)
	b.shows(entry, "10:00–10:30", "EST", "Priya Raman", "Cal.com")
	b.shows(entry+" time", "10:00–10:30")

	b.must(chromedp.SetValue(chromedp.CSS("#zone"), "Asia/Kathmandu"))
	b.click(".filters button")
	b.shows("tbody:has(a[href*='"+held.ID.String()+"']) h2", "Tuesday, 3 November 2026")
	b.shows(entry, "20:45–21:15", "UTC+05:45")
	b.unfoldsConflicts()
	b.shows(".trouble", "1 conflict needs a person", "the slot is taken")
	if at := eval[string](b, `document.querySelector('`+entry+` time').dateTime`); at != "2026-11-03T15:00:00Z" {
		b.t.Errorf("the agenda's time is %s for machines", at)
	}

	b.click(`.segments a[href*="view=week"]`)
	// In the week the place says when: below the line of its hour by three
	// quarters, in the column of its day.
	b.shows(`.day:has(a[href*="`+held.ID.String()+`"]) .day-head`, "Tue", "3")
	b.shows(`.entry a[href*="`+held.ID.String()+`"]`, "20:45")
	type place struct{ Top, Height, Eight, Nine float64 }
	p := eval[place](b, `(() => {
		const line = text => [...document.querySelectorAll(".gutter .hour")].find(h => h.textContent === text);
		const top = e => e ? e.offsetTop : NaN;
		const entry = document.querySelector('.entry:has(a[href*="`+held.ID.String()+`"])');
		return {Top: top(entry), Height: entry.offsetHeight, Eight: top(line("20:00")), Nine: top(line("21:00"))};
	})()`)
	hour := p.Nine - p.Eight
	if within := (p.Top - p.Eight) / hour; within < 0.65 || within > 0.85 {
		b.t.Errorf("in the week the booking stands %.2f of an hour below 20:00 (%+v), want 0.75", within, p)
	}
	if long := p.Height / hour; long < 0.35 || long > 0.6 {
		b.t.Errorf("in the week the booking is %.2f of an hour long (%+v), want 0.5", long, p)
	}
}

// seesWhatBecameOf follows a booking to its timeline, and the two that were not
// let in to the audit.
func (b *browser) seesWhatBecameOf(told clinic) {
	b.open("/calendar?date=2026-11-03&zone=Asia/Kathmandu", http.StatusOK)
	b.click(fmt.Sprintf(`tbody a[href^="/bookings/%s"]`, told.held.ID))
	b.shows("h1", "Intro Call")
	b.shows(".facts", "20:45–21:15 UTC+05:45", "priya.raman@mail.example")
	b.must(chromedp.Click(chromedp.CSS(".ids summary")))
	b.shows(".ids", "sotbT28Keb5YAmXYsNghnx", told.held.ID.String())
	b.shows(".timeline li", "Booking created", "processed", "Create", "active", "applied")

	b.open("/audit", http.StatusOK)
	refused := fmt.Sprintf(`tr:has(a[href="/bookings/%s"])`, told.canceled.ID)
	b.shows(refused, "refused", "Create", "canceled", "not allowed from this state", "Calendly")
	conflict := fmt.Sprintf(`tr:has(a[href="/bookings/%s"])`, told.conflicted.ID)
	b.shows(conflict, "conflict", "Create", "the slot is taken", "Jonas Whitfield", "Calendly")
	if n := eval[int](b, `document.querySelectorAll("tbody tr").length`); n != 2 {
		b.t.Errorf("the audit opens on %d rows, want the refusal and the conflict", n)
	}
	b.click(refused + ` a[href^="/audit/"]`)
	b.shows("main", "A canceled booking never becomes active again", "Booking created")

	b.open("/audit?reason=slot_taken", http.StatusOK)
	b.click(conflict + ` a[href^="/audit/"]`)
	b.shows("main", "Another booking starts at the same moment", "Intro Call", "one_booking_per_slot")

	b.open("/bookings/"+told.conflicted.ID.String(), http.StatusOK)
	b.click(".trouble li a")
	b.shows("h1", "Intro Call")
	b.isAt("/bookings/" + told.held.ID.String())
}

// seesEveryPageIn opens every page in a language.
func (b *browser) seesEveryPageIn(language, calendar string, told clinic) {
	b.speak(language)
	b.open("/calendar", http.StatusOK)
	b.shows(".nav [aria-current]", calendar)
	transition := eval[string](b, `(async () => (await (await fetch("/audit")).text()).match(/\/audit\/[0-9a-f-]{36}/)[0])()`, chromedp.EvalAwaitPromise)
	foreign := textsOfOthers(b.t, language)
	for path, status := range map[string]int64{
		"/calendar?date=2026-11-03":                                    http.StatusOK,
		"/calendar?date=2026-11-03&view=week":                          http.StatusOK,
		"/calendar?date=2026-11-01&view=week&zone=America/New_York":    http.StatusOK, // the clock is changed
		"/calendar?date=2020-01-01":                                    http.StatusOK, // empty
		"/calendar?date=2026-11-03&zone=Nowhere/Nowhere&status=active": http.StatusOK,
		"/bookings/" + told.held.ID.String():                           http.StatusOK,
		"/bookings/" + told.conflicted.ID.String():                     http.StatusOK,
		"/bookings/" + told.canceled.ID.String():                       http.StatusOK,
		"/bookings/none":                                               http.StatusNotFound,
		"/audit":                                                       http.StatusOK,
		"/audit?show=all&range=all":                                    http.StatusOK,
		"/audit?from=2020-01-01&to=2020-01-02":                         http.StatusOK, // empty
		transition:                                                     http.StatusOK,
		"/connections":                                                 http.StatusOK,
		"/resources":                                                   http.StatusOK,
		"/settings":                                                    http.StatusOK,
		"/nowhere":                                                     http.StatusNotFound,
		"/link/spent":                                                  http.StatusNotFound,
	} {
		b.open(path, status)
		b.speaksOnly(language, foreign)
	}
}

// textsOfOthers are the sentences of the other languages that this one has
// otherwise: none may stand on its pages.
func textsOfOthers(t *testing.T, language string) []string {
	t.Helper()
	texts := map[string]map[string]any{}
	for _, l := range []string{"en", "id"} {
		var all map[string]any
		if _, err := toml.DecodeFile("../../web/locales/active."+l+".toml", &all); err != nil {
			t.Fatal(err)
		}
		texts[l] = all
	}
	var out []string
	for l, all := range texts {
		for key, v := range all {
			s, ok := v.(string)
			// Short ones are names, or words within others; some are within others too, as
			// the names of a provider's own menus.
			within := slices.ContainsFunc(slices.Collect(maps.Values(texts[language])), func(v any) bool { return strings.Contains(fmt.Sprint(v), s) })
			if ok && !within && l != language && len(s) > 20 && !strings.Contains(s, "{{") && s != texts[language][key] && !strings.HasPrefix(key, "language.") {
				out = append(out, s)
			}
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d texts to look for", len(out))
	}
	return out
}

// signIn asks for a page, is sent to the form, and comes back to the page.
func (b *browser) signIn(name, password string) {
	b.open("/audit?show=all", http.StatusOK)
	b.isAt("/signin")
	b.must(chromedp.SendKeys(chromedp.ID("username"), name), chromedp.SendKeys(chromedp.ID("password"), "not "+password))
	b.expect(b.url+"/signin", http.StatusUnprocessableEntity)
	b.click("main button")
	b.shows("[role=alert]", "wrong")
	b.must(chromedp.SendKeys(chromedp.ID("password"), password))
	b.click("main button")
	b.isAt("/audit?show=all")
	b.shows(".account-name", name)
}

// signOut ends the session: no page shows anything any more.
func (b *browser) signOut() {
	b.speak("en")
	b.open("/calendar", http.StatusOK)
	session := b.cookie()
	b.click(`form[action="/signout"] button`)
	b.isAt("/signin")
	for _, path := range []string{"/", "/calendar", "/audit", "/connections", "/resources", "/settings"} {
		b.open(path, http.StatusOK)
		b.isAt("/signin")
	}
	// The cookie is worth nothing to whoever kept it.
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/calendar", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	req.AddCookie(session)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if to := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/signin") {
		b.t.Errorf("after signing out the old cookie is answered %s, to %q", resp.Status, to)
	}
}

// becomesTheFirstAdministrator uses the link that the first start prints: looking at it
// does not use it up, using it does.
func (b *browser) becomesTheFirstAdministrator() {
	t, s := b.t, b.server
	found := regexp.MustCompile(regexp.QuoteMeta(s.url) + `(/link/[A-Za-z0-9_-]{43})\b`).FindStringSubmatch(s.log.String())
	if found == nil {
		t.Fatalf("no link was printed:\n%s", s.log)
	}
	link := found[1]
	for range 2 {
		b.open(link, http.StatusOK)
		b.shows("h1", "Make the first administrator")
	}
	b.expect(s.url+link, http.StatusUnprocessableEntity)
	b.must(chromedp.SetValue(chromedp.ID("username"), "head.office"), chromedp.SendKeys(chromedp.ID("password"), "short"))
	b.click("main button")
	b.shows("#password-error", "too short")
	b.must(chromedp.SendKeys(chromedp.ID("password"), adminPassword))
	b.click("main button")
	b.isAt("/calendar")
	b.shows(".account-name", "head.office")
	b.shows("main", "No account is connected yet")

	resp, err := client.PostForm(s.url+link, url.Values{"username": {"second"}, "password": {adminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || len(resp.Cookies()) != 0 {
		t.Errorf("used twice, the link was answered %s with cookies %v", resp.Status, resp.Cookies())
	}
	b.open(link, http.StatusNotFound)
	b.shows("h1", "This link does not work any more")
	// Nor does a second start print another. An open page would ask for its stream meanwhile.
	b.must(chromedp.Navigate("about:blank"))
	s.stop(t)
	before := len(s.log.String())
	s.start(t)
	if again := s.log.String()[before:]; strings.Contains(again, "/link/") {
		t.Errorf("the second start printed a link:\n%s", again)
	}
}

// browser is a Chromium with an empty profile on one server.
type browser struct {
	*server
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	expected map[string]int64 // what is meant to be answered with an error
}

func newBrowser(t *testing.T, s *server) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("this test needs Chromium: apt-get install chromium (.ci/install-tools does it)")
	}
	ctx := context.Background()
	if late, ok := t.Deadline(); ok { // before all tests are ended, so that it says where it was
		within, cancel := context.WithDeadline(ctx, late.Add(-10*time.Second))
		t.Cleanup(cancel)
		ctx = within
	}
	ctx, cancel := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Headless,
		chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("accept-lang", "en"), chromedp.WindowSize(1280, 900))
	t.Cleanup(cancel)
	return tab(ctx, t, s)
}

// beside is another browser on the same server, of somebody who is not signed in.
func (b *browser) beside() *browser {
	b.t.Helper()
	return tab(b.ctx, b.t, b.server, chromedp.WithNewBrowserContext())
}

func tab(ctx context.Context, t *testing.T, s *server, opts ...chromedp.ContextOption) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, opts...)
	t.Cleanup(cancel)
	b := &browser{server: s, t: t, ctx: ctx, expected: map[string]int64{}}
	if err := chromedp.Listen(ctx, b.watch); err != nil {
		t.Fatal(err)
	}
	// Of several tabs each has the focus, as if it were alone.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.speak("en")
	return b
}

// watch fails the test for whatever a page should not do.
func (b *browser) watch(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		meant := e.Entry.Source == log.EntrySourceNetwork && b.expects(e.Entry.URL) != 0
		if e.Entry.Level != log.EntryLevelVerbose && !meant {
			b.t.Errorf("console: %s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.t.Errorf("console: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		b.t.Errorf("console.%s was called by a page", e.Type)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.url+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			b.t.Errorf("a page asked for %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		if e.Canceled && e.Type == network.ResourceTypeEventSource {
			return // a page that was left stopped listening
		}
		if e.Type == network.ResourceTypeEventSource && b.expects(b.url+"/live") != 0 {
			return // the server is meant to be away
		}
		b.t.Errorf("a request failed: %s %s %s", e.Type, e.ErrorText, e.BlockedReason)
	case *network.EventResponseReceived:
		if want := b.expects(e.Response.URL); e.Response.Status >= 400 && e.Response.Status != want {
			b.t.Errorf("%s was answered %d", e.Response.URL, e.Response.Status)
		}
		if e.Type == network.ResourceTypeDocument && header(e.Response.Headers, "Content-Security-Policy") == "" {
			b.t.Errorf("%s has no content security policy", e.Response.URL)
		}
	}
}

func header(h network.Headers, name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return fmt.Sprint(v)
		}
	}
	return ""
}

func (b *browser) expects(address string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.expected[address]
}

func (b *browser) expect(address string, status int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected[address] = status
}

// speak sets what the browser asks for in Accept-Language.
func (b *browser) speak(language string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Accept-Language": language},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) must(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a path and waits for its page.
func (b *browser) open(path string, status int64) {
	b.t.Helper()
	if status >= 400 {
		b.expect(b.url+path, status)
	}
	resp, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(b.url+path))
	if err != nil {
		b.t.Fatalf("open %s: %v\n%s", path, err, b.log)
	}
	if resp == nil || resp.Status != status {
		b.t.Fatalf("%s was answered %+v, want %d\n%s", path, resp, status, b.log)
	}
}

// click follows a link or sends a form, and waits for the page.
func (b *browser) click(selector string) {
	b.t.Helper()
	if n := eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector)); n == 0 {
		b.t.Fatalf("there is no %s on %s:\n%s", selector, b.location(), eval[string](b, "document.body.innerText"))
	}
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		b.t.Fatalf("click %s: %v", selector, err)
	}
}

func (b *browser) location() string {
	b.t.Helper()
	at, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

func (b *browser) isAt(path string) {
	b.t.Helper()
	at := strings.TrimPrefix(b.location(), b.url)
	if at != path && !strings.HasPrefix(at, path+"?") {
		b.t.Fatalf("the browser is at %s, want %s:\n%s", at, path, eval[string](b, "document.body.innerText"))
	}
}

// shows wants texts in what a selector finds first.
func (b *browser) shows(selector string, texts ...string) {
	b.t.Helper()
	text := eval[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
	text = strings.NewReplacer("\u00a0", " ", "\u2060", "").Replace(text) // what only holds a line together
	for _, want := range texts {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) { // styles may change letters
			b.t.Errorf("%s on %s says %q, want %q", selector, b.location(), text, want)
		}
	}
}

// cookie is the session's.
func (b *browser) cookie() *http.Cookie {
	b.t.Helper()
	got, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(got.Cookies) != 1 || !got.Cookies[0].HTTPOnly || got.Cookies[0].SameSite != network.CookieSameSiteLax {
		b.t.Fatalf("cookies: %+v", got.Cookies)
	}
	return &http.Cookie{Name: got.Cookies[0].Name, Value: got.Cookies[0].Value}
}

// eval is what an expression is in the page.
func eval[T any](b *browser, js string, opts ...chromedp.EvaluateOption) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js, opts...))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}
