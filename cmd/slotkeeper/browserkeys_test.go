package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// errand is what somebody does who has a keyboard and nothing else.
type errand struct {
	*browser
	*world
}

// doesEverything goes through what the pages are for: sign in, narrow the calendar,
// open a booking, look into cancelling it, accept that it overlaps, ask the audit,
// connect an account.
func (e errand) doesEverything(waits bookingItem, who string, scripts bool) {
	b := e.browser
	b.t.Helper()
	week := "/calendar?view=week&zone=Europe/Berlin&date=" + waits.StartsAt.Format("2006-01-02")
	b.open(week, http.StatusOK)
	b.isAt("/signin")
	b.enters("#username", "admin")
	b.enters("#password", adminPassword)
	b.presses(kb.Enter)
	b.isAt("/calendar")

	// Past the frame at once.
	b.must(chromedp.KeyEvent(kb.Tab))
	b.waits(`document.activeElement.classList.contains("skip")`)
	b.must(chromedp.KeyEvent(kb.Enter))
	b.waits(`location.hash === "#main"`)
	b.waits(`document.activeElement.id === "main"`)

	b.enters("#q", who)
	b.follows(".filters button")
	b.shows(".narrowed", who)
	b.tabsTo(`.entry.is-conflicted a`)
	if scripts {
		b.must(chromedp.KeyEvent(kb.Enter))
		b.waits(`document.getElementById("detail")`)
	} else {
		b.presses(kb.Enter)
	}
	b.shows("#detail", who, "conflicted")
	b.follows(".detail-go a")
	b.isAt("/bookings/" + waits.ID.String())
	b.shows("main", who)

	b.follows(`a[href^="/conflicts?booking="]`)
	b.tabsTo(`[name=booking]`)
	b.must(chromedp.KeyEvent(" "))
	if !scripts { // else it opens by itself
		b.tabsTo(".accept-bar summary")
		b.must(chromedp.KeyEvent(kb.Enter))
	}
	b.enters("#reason", "They share the room")
	b.presses(kb.Enter)
	b.isAt("/conflicts")
	b.shows(".notice.good", "accepted")

	b.follows(`.nav a[href="/audit"]`)
	b.enters("#q", "jonas.whitfield")
	b.presses(kb.Enter)
	b.shows("tbody", "Jonas Whitfield", "the slot is taken")
	b.follows("tbody .when a")
	b.shows("main", "Another booking starts at the same moment")

	b.follows(`.nav a[href="/connections"]`)
	b.follows(`a[href="/connections/new/generic"]`)
	b.enters("#connection_name", "Door "+who)
	b.expect(b.url+"/connections/new/generic", http.StatusCreated)
	b.presses(kb.Enter)
	b.shows("h1", "Door "+who)
	b.shows("main", "Shown once")
}

// looksIntoCancelling begins at a booking of many: they are named, and their number
// must be typed before they are asked to go.
func (e errand) looksIntoCancelling(group bookingItem, many int) {
	b := e.browser
	b.t.Helper()
	path := "/bookings/" + group.ID.String()
	b.open(path, http.StatusOK)
	b.enters("#message", "We are closed that evening")
	b.follows(`form[action$="/cancel-at-provider"] button`)
	b.isAt(path + "/cancel-at-provider")
	if n := eval[int](b, `document.querySelectorAll("[aria-labelledby=affected] li").length`); n != many {
		b.t.Errorf("%d are named, want %d", n, many)
	}
	if kept := eval[string](b, `document.querySelector("#message").value`); kept != "We are closed that evening" {
		b.t.Errorf("of the message is kept %q", kept)
	}
	b.enters("#confirm", fmt.Sprint(many+1))
	b.expect(b.url+path+"/cancel-at-provider", http.StatusUnprocessableEntity)
	b.presses(kb.Enter)
	b.shows("[role=alert], .summary", fmt.Sprint(many))
	b.tabsTo("#confirm")
	b.shows("#confirm-error", fmt.Sprint(many))
}

// tabsTo moves the focus by Tab until it is on what a selector means. On the way
// every stop is seen, and is seen to have the focus.
func (b *browser) tabsTo(selector string) {
	b.t.Helper()
	var way []string
	for range 400 {
		at := eval[struct {
			There, Body, Seen bool
			What              string
		}](b, fmt.Sprintf(`(() => {
			const e = document.activeElement;
			const box = e.getBoundingClientRect(), style = getComputedStyle(e);
			return {There: e.matches(%q), Body: e === document.body, What: e.outerHTML.slice(0, 120),
				Seen: box.width > 2 && box.height > 2 && box.right > 0 && box.left < innerWidth && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1};
		})()`, selector))
		if len(way) > 0 && !at.Body && !at.Seen {
			b.t.Errorf("on %s the focus is not seen on %s", strings.TrimPrefix(b.location(), b.url), at.What)
		}
		if at.There {
			return
		}
		way = append(way, at.What)
		b.must(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("no Tab leads to %s on %s; it went by\n%s", selector, b.location(), strings.Join(way, "\n"))
}

// enters goes to a field and types over what stands there.
func (b *browser) enters(selector, text string) {
	b.t.Helper()
	b.tabsTo(selector)
	b.must(chromedp.KeyEvent(text))
}

// follows goes to a link or button, and presses Enter.
func (b *browser) follows(selector string) {
	b.t.Helper()
	b.tabsTo(selector)
	b.presses(kb.Enter)
}

// presses a key that leads to another page, and waits for it.
func (b *browser) presses(key string) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(key)); err != nil {
		b.t.Fatalf("pressed %q on %s: %v", key, b.location(), err)
	}
}
