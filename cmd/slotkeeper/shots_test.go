package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// tallest is how much is kept of a long page: to the end of all but those that list
// hundreds.
const tallest = 9000

// TestShots takes a picture of every page in every language, in the light and the
// dark, on a desk and on a phone, into the folder that SLOTKEEPER_SHOTS names: make
// shots. What TestBrowserPages asks of one language is asked here of each, and that
// no page says anything in another.
func TestShots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLOTKEEPER_SHOTS")
	if dir == "" {
		t.Skip("make shots takes the pictures")
	}
	must(t, os.MkdirAll(dir, 0o755))
	w := newWorld(t)
	b := newBrowser(t, w.server)
	only := regexp.MustCompile(os.Getenv("SLOTKEEPER_SHOTS_OF")) // a part of the pages
	b.open("/signin", http.StatusOK)
	b.shoots(dir, []photo{{name: "signin", path: "/signin"}, {name: "link-spent", path: "/link/spent", status: http.StatusNotFound}}, only)
	b.speak("en")
	b.entersCalendar()
	pages := w.pages(b)
	coversEveryRoute(t, append(pages, photo{path: "/signin"}))
	b.shoots(dir, pages, only)
	b.shoots(dir, w.answers(b), only)
}

// answers are the pages that come of what somebody does: each is done anew for every
// picture.
func (w *world) answers(b *browser) []photo {
	b.t.Helper()
	fill := func(selector, text string) {
		eval[bool](b, fmt.Sprintf(`(document.querySelector(%q).value = %q) !== undefined`, selector, text))
	}
	does := func(path string, status int64, click string, fields ...string) func(b *browser) {
		return func(b *browser) {
			if path != "" {
				b.expect(b.url+path, status)
			}
			for i := 0; i+1 < len(fields); i += 2 {
				fill(fields[i], fields[i+1])
			}
			b.click(click)
		}
	}
	b.open("/settings/users", http.StatusOK)
	viewer := eval[string](b, `document.querySelector("tbody tr:nth-child(3) a").getAttribute("href")`)
	link := does("", 0, `form[action$="/link"] button`)
	b.open("/settings/alerts", http.StatusOK)
	does("", 0, `form[action="/settings/alerts"] button`, "#channel", "mail", "#address", "night.desk@mail.example")(b)
	b.open("/alerts", http.StatusOK)
	b.click(".alert form button")
	failing := "/bookings/" + w.losesItsCancel(b)
	group := "/bookings/" + w.group.ID.String() + "/cancel-at-provider"
	again := "/connections/new/acuity?id=" + w.dead.ID.String()
	return []photo{
		{name: "alerts-seen", path: "/alerts?done=acknowledged"},
		{name: "booking-cancel-failed", path: failing},
		{name: "cancel-unconfirmed", path: group, after: does(group, http.StatusUnprocessableEntity, `form.card .danger`, "#confirm", "7")},
		{name: "connect-refused", path: again, after: does("/connections/new/acuity", http.StatusUnprocessableEntity, `form.card .primary`, "#key", "not-the-key")},
		{name: "connection-tested", path: "/connections/" + w.works.ID.String(), after: does("", 0, `form[action$="/test"] button`)},
		{name: "link", path: viewer, after: func(b *browser) {
			link(b)
			at, err := url.Parse(eval[string](b, `document.querySelector("code.secret").textContent`))
			must(b.t, err)
			b.open(at.Path, http.StatusOK)
		}},
		{name: "settings-alerts-told", path: "/settings/alerts"},
		{name: "settings-alerts-wrong", path: "/settings/alerts", after: does("/settings/alerts", http.StatusUnprocessableEntity, `form[action="/settings/alerts"] button`, "#channel", "mail", "#address", "nobody")},
		{name: "settings-feed-made", path: "/settings/feeds", after: does("", 0, `form[action="/settings/feeds"] button`, "#name", "Front desk")},
		{name: "settings-link-made", path: viewer, after: link},
		{name: "settings-password-wrong", path: "/settings", after: does("/settings/password", http.StatusUnprocessableEntity, `form[action="/settings/password"] button`, "#current", "wrong", "#password", "a few unrelated words")},
		{name: "settings-token-made", path: "/settings/tokens", after: does("", 0, `form[action="/settings/tokens"] button`, "#name", "Door display")},
		{name: "settings-user-taken", path: "/settings/users", after: does("/settings/users", http.StatusConflict, `form[action="/settings/users"] button`, "#name", "front.desk")},
	}
}

// losesItsCancel asks an account that lost its key to cancel a booking, and gives the
// booking once that has failed.
func (w *world) losesItsCancel(b *browser) string {
	b.t.Helper()
	for _, of := range api[struct {
		ID, Provider, Status, Title string
	}](b.t, w.server, w.token(b.t, "read"), "bookings") {
		if of.Provider != "acuity" || of.Status != "active" {
			continue
		}
		b.open("/bookings/"+of.ID+"/cancel-at-provider", http.StatusOK)
		b.click("form.card .danger")
		waitFor(b.t, "the cancel to fail", func() error {
			b.open("/bookings/"+of.ID, http.StatusOK)
			if !eval[bool](b, `document.querySelector("#effects .step.bad") !== null`) {
				return errors.New("it is not tried yet")
			}
			return nil
		})
		return of.ID
	}
	b.t.Fatal("Acuity has no booking")
	return ""
}

func (b *browser) shoots(dir string, pages []photo, only *regexp.Regexp) {
	b.t.Helper()
	for _, language := range []string{"en", "id"} {
		foreign := textsOfOthers(b.t, language)
		b.speak(language)
		for _, p := range pages {
			if !only.MatchString(p.name) {
				continue
			}
			for _, width := range []int64{1280, 390} {
				b.screen(width)
				b.looks(p)
				b.speaksOnly(language, foreign)
				for _, theme := range []string{"light", "dark"} {
					b.scheme(theme)
					b.fits(width)
					if (theme == "light") == (width > 400) { // as colours differ, and widths
						b.accessible(axeRules)
					}
					b.shoot(filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%d.png", p.name, language, theme, width)), width)
				}
			}
		}
	}
}

func (b *browser) shoot(file string, width int64) {
	b.t.Helper()
	height := min(tallest, eval[float64](b, `document.documentElement.scrollHeight`))
	beyond := true
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{Width: float64(width), Height: height, Scale: 1}, CaptureBeyondViewport: &beyond,
	})
	must(b.t, err)
	must(b.t, os.WriteFile(file, shot.Data, 0o644))
}

// messageKey is what a page shows of a text that it has not.
var messageKey = regexp.MustCompile(`\b(calendar|booking|audit|alerts?|level|channel|signin|link|settings|connections?|feeds?|resources?|problem|reason|why|kind|event|receipt|outcome|column|layout|nav|deliveries|conflicts|cancel|users?|tokens|sessions|adminlog|effects?|run|drift|health|keys|merge|split|unmapped|rotate|byhand|forms|live)\.[a-z_]+\b`)

// speaksOnly fails the test for what the page says in another language, and for keys
// of texts.
func (b *browser) speaksOnly(language string, foreign []string) {
	b.t.Helper()
	at := strings.TrimPrefix(b.location(), b.url)
	if lang := eval[string](b, `document.documentElement.lang`); lang != language {
		b.t.Errorf("%s is in %q, want %q", at, lang, language)
	}
	text := eval[string](b, `document.body.innerText`)
	for _, f := range foreign {
		if strings.Contains(text, f) {
			b.t.Errorf("%s in %q says %q", at, language, f)
		}
	}
	if key := messageKey.FindString(text); key != "" {
		b.t.Errorf("%s in %q shows the message key %q", at, language, key)
	}
}
