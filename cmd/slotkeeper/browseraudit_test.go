package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestBrowserAudit asks what an auditor asks, with nothing but the pages: why is this
// person not booked, and what became of what came today. What pages do behind the
// scenes is watched as in TestBrowser.
func TestBrowserAudit(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	told := tellClinic(t, s)
	b := newBrowser(t, s)
	b.signIn("admin", adminPassword)
	b.findsWhoHoldsTheSlot(told)
	b.findsWhyItIsCanceled(told)
	b.followsANumber()
	paths := []string{
		"/deliveries", "/deliveries?range=30d", "/deliveries?range=today&status=rejected", "/audit", "/audit?view=admin",
		"/bookings/" + told.held.ID.String(), "/bookings/" + told.conflicted.ID.String(), "/bookings/" + told.canceled.ID.String(),
	}
	for _, list := range []string{"/deliveries", "/audit"} {
		b.open(list, http.StatusOK)
		paths = append(paths, eval[string](b, `document.querySelector('tbody a[href^="`+list+`/"]').getAttribute("href")`)+"?body=1")
	}
	b.fitsA(320, paths)
	b.cutsNoText("/deliveries?range=all")
	b.foldsFilters()
	b.keepsTheBarOutOfTheWay()
	b.worksWithoutScripts()
}

// findsWhoHoldsTheSlot goes from somebody's e-mail to who sits in their place.
func (b *browser) findsWhoHoldsTheSlot(told clinic) {
	b.open("/audit", http.StatusOK)
	b.must(chromedp.SendKeys(chromedp.ID("q"), "jonas.whitfield@brightfen.example"))
	b.click(".filters button")
	b.shows("tbody", "conflict", "the slot is taken", "Jonas Whitfield")
	if n := eval[int](b, `document.querySelectorAll("tbody tr").length`); n != 1 {
		b.t.Errorf("the search leaves %d rows", n)
	}
	shared := b.location()
	b.click(`tbody .when a`)
	b.shows("main", "Another booking starts at the same moment", "one_booking_per_slot")
	b.click(`.facts a[href="/bookings/` + told.held.ID.String() + `"]`)
	b.shows("main", "Priya Raman", "priya.raman@mail.example")
	// From here it is a click to who waits.
	b.click(`.trouble a[href^="/bookings/` + told.conflicted.ID.String() + `"]`)
	b.shows(".timeline", "Another booking starts at the same moment")
	// The link that was shared finds the same.
	b.open(strings.TrimPrefix(shared, b.url), http.StatusOK)
	b.shows("tbody", "Jonas Whitfield")
}

// findsWhyItIsCanceled goes from part of an e-mail to the refusal and its reason.
func (b *browser) findsWhyItIsCanceled(told clinic) {
	b.open("/audit", http.StatusOK)
	b.must(chromedp.SendKeys(chromedp.ID("q"), "PRIYA.RAMAN@Quillworks"))
	b.click(".filters button")
	b.shows("tbody", "refused", "not allowed from this state")
	b.click(`tbody .when a`)
	b.shows("main", "A canceled booking never becomes active again", "Allowed instead")
	b.click(`.facts a[href="/bookings/` + told.canceled.ID.String() + `"]`)
	b.shows("h1 + p", "canceled")
	b.shows(".timeline", "refused", "A canceled booking never becomes active again")
}

// followsANumber goes from the dashboard's number to the deliveries that it counts.
func (b *browser) followsANumber() {
	b.click(`.nav a[href="/deliveries"]`)
	b.shows(".board tfoot", "4") // received
	b.shows(".board", "Calendly", "Cal.com", "Booking created", "Booking canceled")
	b.shows(".chart-card", "Processed, changed nothing or ignored")
	for status, want := range map[string]int{"processed": 2, "conflict": 1, "rejected": 1} {
		b.open("/deliveries", http.StatusOK)
		b.click(`.board tfoot a[href*="status=` + status + `"]`)
		b.isAt("/deliveries")
		if n := eval[int](b, `document.querySelectorAll(".deliveries tbody tr").length`); n != want {
			b.t.Errorf("the dashboard counts %d %s, and the list has %d", want, status, n)
		}
	}
	b.click(".deliveries tbody .what a")
	b.shows("main", "Each time it came", "What it changed")
}

// fitsA checks that a screen of so many pixels shows pages without moving sideways.
func (b *browser) fitsA(width int64, paths []string) {
	b.screen(width)
	for _, path := range paths {
		b.open(path, http.StatusOK)
		b.fits(width)
	}
	b.screen(1280)
}

func (b *browser) screen(width int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
	if err != nil {
		b.t.Fatal(err)
	}
}

// cutsNoText checks that whoever reads a list reads all of it, in either language.
func (b *browser) cutsNoText(path string) {
	b.t.Helper()
	for _, language := range []string{"en", "id"} {
		b.speak(language)
		for _, width := range []int64{1280, 1040} {
			b.screen(width)
			b.open(path, http.StatusOK)
			b.fits(width)
			if cut := eval[string](b, `[...document.querySelectorAll("table.table td, table.table th")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText).join(", ")`); cut != "" {
				b.t.Errorf("%s in %s, %d px wide, cuts %s", path, language, width, cut)
			}
		}
	}
	b.speak("en")
	b.screen(1280)
}

// foldsFilters looks for those that are not used much: they are there when they are
// set, and when days of one's own are asked for.
func (b *browser) foldsFilters() {
	b.t.Helper()
	const open = `document.querySelector(".more-filters").open`
	for path, want := range map[string]bool{
		"/audit": false, "/audit?q=jonas&show=all&range=30d": false, "/audit?provider=calendly": true, "/audit?actor=webhook": true,
		"/audit?from=2026-11-01": true, "/audit?range=custom": true,
	} {
		b.open(path, http.StatusOK)
		if got := eval[bool](b, open); got != want {
			b.t.Errorf("%s has the further filters open: %t, want %t", path, got, want)
		}
	}
	b.open("/audit", http.StatusOK)
	b.must(chromedp.SetValue(chromedp.CSS("#range"), "custom"))
	eval[any](b, `document.querySelector("#range").dispatchEvent(new Event("change", {bubbles: true}))`)
	if !eval[bool](b, open+` && document.querySelector("#from").checkVisibility()`) {
		b.t.Error("days of one's own are asked for, and there is nowhere to write them")
	}
	// A desk has all that is used in one line, a phone before the screen ends.
	for width, most := range map[int64]int{1280: 90, 390: 260, 320: 330} {
		b.screen(width)
		b.open("/audit", http.StatusOK)
		if height := eval[int](b, `Math.round(document.querySelector("main .filters").getBoundingClientRect().height)`); height > most {
			b.t.Errorf("%d px wide, the filters take %d px", width, height)
		}
	}
	b.screen(1280)
}

// keepsTheBarOutOfTheWay measures the bar that conflicts are accepted by: closed until
// something is chosen, and never over what has the focus.
func (b *browser) keepsTheBarOutOfTheWay() {
	b.t.Helper()
	const covers = `(() => {
		const bar = document.querySelector(".accept-bar").getBoundingClientRect().height;
		return Math.floor(parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom) - bar) + 0;
	})()`
	for _, language := range []string{"en", "id"} {
		b.speak(language)
		for _, width := range []int64{1280, 700, 390, 320} {
			b.screen(width)
			b.open("/conflicts?past=1", http.StatusOK)
			const open = `document.querySelector(".accept-bar details").open`
			if eval[bool](b, open) {
				b.t.Error("the bar is open before anything is chosen")
			}
			for _, state := range []string{"closed", "open"} {
				if state == "open" {
					b.must(chromedp.Click(chromedp.CSS(".accept-bar summary")))
					b.waits(open)
				}
				if room := eval[int](b, covers); room < 0 || room > 64 {
					b.t.Errorf("%s, %d px wide: the bar is %s, and %d px more are kept free", language, width, state, room)
				}
			}
		}
	}
	b.speak("en")
	b.screen(1280)
	b.open("/conflicts?past=1", http.StatusOK)
	b.must(chromedp.Click(chromedp.CSS("[name=booking]")))
	b.waits(`document.querySelector(".accept-bar details").open`)
	b.shows(".accept-bar", "chosen", "Accept the chosen")
}

// worksWithoutScripts searches, follows a number, reads a chart's table and accepts an
// overlap with scripts off.
func (b *browser) worksWithoutScripts() {
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
	b.open("/audit?q=jonas", http.StatusOK)
	b.shows("tbody", "the slot is taken")
	b.open("/deliveries", http.StatusOK)
	b.must(chromedp.Click(chromedp.CSS(".chart-card summary"))) // leads nowhere
	b.shows(".chart-card details[open] tbody", "1")
	b.click(`.board tfoot a[href*="status=conflict"]`)
	b.shows(".deliveries tbody", "conflict")
	b.open("/audit", http.StatusOK)
	b.must(chromedp.Click(chromedp.CSS(".more-filters summary")), chromedp.SetValue(chromedp.CSS("#provider"), "calcom"))
	b.click(".more-filters button")
	b.isAt("/audit")
	if at := b.location(); !strings.Contains(at, "provider=calcom") {
		b.t.Errorf("the further filters lead to %s", at)
	}
	b.open("/conflicts?past=1", http.StatusOK)
	b.must(chromedp.Click(chromedp.CSS("[name=booking]")), chromedp.Click(chromedp.CSS(".accept-bar summary")), chromedp.SendKeys(chromedp.ID("reason"), "They share the room"))
	b.click(".accept-bar button.primary")
	b.shows(".notice.good", "accepted")
}
