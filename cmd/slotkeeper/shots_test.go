package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// tallest is how much is kept of a long page.
const tallest = 2600

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
	b.shoots(dir, w.pages(b), only)
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
