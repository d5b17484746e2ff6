package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// An administrator adds somebody, narrows what they see and locks them out; the
// profile holds from the first paint, in any scheme that the system has; errors
// take the focus and lead to their field. All of it also without scripts, and on a
// screen of 320 pixels.
func TestBrowserSettings(t *testing.T) {
	t.Parallel()
	long(t)
	b := newBrowser(t, newServer(t, ""))
	b.signIn("admin", adminPassword)

	// The form is refused by the server, whatever the browser would check first.
	b.open("/settings/users", http.StatusOK)
	eval[bool](b, `(document.querySelector('form[action="/settings/users"]').noValidate = true)`)
	b.expect(b.url+"/settings/users", http.StatusUnprocessableEntity)
	b.must(chromedp.SetValue(chromedp.CSS("#name"), "not a name"))
	b.click(`form[action="/settings/users"] .primary`)
	b.shows(".summary", "One thing is not right yet")
	b.waits(`document.activeElement.classList.contains("summary")`)
	b.must(chromedp.Click(chromedp.CSS(".summary a")))
	if at := eval[string](b, `location.hash`); at != "#name" {
		t.Errorf("what is wrong leads to %q", at)
	}
	b.expect(b.url+"/settings/users", http.StatusCreated)
	b.must(chromedp.SetValue(chromedp.CSS("#name"), "front.desk"))
	b.click(`form[action="/settings/users"] .primary`)
	b.shows(".secret", b.url+"/link/")
	b.shows("h1", "front.desk", "viewer")
	b.click(`form[action$="/disable"] button`)
	b.shows(".notice.good", "Locked out")
	b.click(`form[action$="/enable"] button`)
	b.shows(".notice.good", "may sign in again")

	// Dark, on a system that is light: before any script.
	b.scheme("light")
	b.scripts(false)
	b.open("/settings", http.StatusOK)
	light := b.background()
	b.must(chromedp.Click(chromedp.CSS("#appearance-dark")))
	b.click(`form[action="/settings/display"] .primary`)
	b.shows(".notice.good", "Saved")
	if dark := b.background(); dark == light {
		t.Errorf("dark is %s, as light is", dark)
	}
	if dark := b.background(); dark != "rgb(18, 21, 20)" {
		t.Errorf("dark is %s", dark)
	}
	b.click(`a[href="/settings/tokens"]`)
	b.must(chromedp.SetValue(chromedp.CSS("#name"), "desk"))
	b.expect(b.url+"/settings/tokens", http.StatusCreated)
	b.click(`form[action="/settings/tokens"] .primary`)
	b.shows(".secret", "slk_")
	b.click(`form[action$="/revoke"] button`)
	b.shows("tbody tr", "desk", "revoked")
	b.click(`a[href="/settings/feeds"]`)
	b.must(chromedp.SetValue(chromedp.CSS("#name"), "phone"))
	b.must(chromedp.Click(chromedp.CSS("#level-names")))
	b.expect(b.url+"/settings/feeds", http.StatusCreated)
	b.click(`form[action="/settings/feeds"] .primary`)
	b.shows(".secret", b.url+"/feeds/slf_")
	b.shows("tbody tr", "phone", "who comes", "all bookings", "never")
	b.click(`form[action$="/revoke"] button`)
	b.shows("tbody tr", "phone", "revoked")
	b.click(`a[href="/settings/sessions"]`)
	b.shows("tbody tr", "Chrome on Linux", "this one", "now")
	b.scripts(true)

	own := strings.TrimPrefix(eval[string](b, `document.querySelector('a[href="/settings/users"]').href`), b.url)
	b.fitsA(320, []string{"/settings", "/settings/sessions", own, "/settings/tokens", "/settings/feeds"})
}

func (b *browser) scheme(s string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) scripts(on bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		b.t.Fatal(err)
	}
}

// background is the colour that a page is painted on.
func (b *browser) background() string {
	return eval[string](b, `getComputedStyle(document.body).backgroundColor`)
}
