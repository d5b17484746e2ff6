package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserLivesThroughARestart leaves calendars open while the server is away, and
// bookings fight for a slot meanwhile: the pages say that they are not live, and that
// they are again, and show what happened, without moving what somebody looks at.
func TestBrowserLivesThroughARestart(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	d := &desk{connected: s.connect(t, "generic", "--name", "Front desk")}
	at := clinicDay.AddDate(0, 0, 7).Add(10 * time.Hour)
	for hour := range 8 { // a page that is long enough to be scrolled
		d.books(t, "Room 0", at.Add(time.Duration(hour-4)*time.Hour), 30*time.Minute)
	}
	b := newBrowser(t, s)
	b.entersCalendar()
	other := b.beside()
	other.entersCalendar()
	other.speak("id")
	const week = "/calendar?view=week&date=2026-12-14&zone=UTC"
	b.open(week, http.StatusOK)
	other.open(week, http.StatusOK)
	other.must(chromedp.Click(chromedp.CSS(".entry a")))
	other.waits(`document.getElementById("detail")`)
	eval[any](b, `(document.querySelector("#zone").focus(), scrollTo(0, 200))`)
	reading := eval[string](other, `document.getElementById("detail").innerText`)
	// What comes is seen: both listen.
	d.books(t, "Room 1", at, time.Hour)
	b.waits(fmt.Sprintf(`document.querySelector(".grid").textContent.includes("Visit b-%d")`, d.n))
	other.waits(`!document.getElementById("live-fresh").hidden`)

	// The line of conflicts that comes pushes nothing away from who looks at it.
	const place = `Math.round([...document.querySelectorAll(".entry a")].find((e) => e.textContent.includes("Visit b-6")).getBoundingClientRect().top)`
	seen := eval[int](b, place)
	for _, page := range []*browser{b, other} {
		page.expect(page.url+"/live", http.StatusBadGateway)
	}
	s.stop(t)
	const says = `!document.getElementById("live-lost").hidden && document.querySelector("#live-lost [data-state=%s]").offsetParent`
	for page, text := range map[*browser]string{b: "The connection to the server is lost. What you see may be old; trying again…", other: "Sambungan ke server terputus."} {
		page.waits(fmt.Sprintf(says, "lost"))
		page.shows("[role=status] #live-lost", text)
	}
	// Whoever puts that away still sees it in the frame, for as long as it is so.
	const off = `document.getElementById("live-off").checkVisibility()`
	eval[any](b, `document.querySelector("#live-lost button").click()`)
	b.waits(`document.getElementById("live-lost").hidden && ` + off)
	// Another process takes in what happens meanwhile.
	away := s.second(t)
	desk := &desk{connected: d.on(away), n: d.n}
	desk.books(t, "Room 0", at.AddDate(0, 0, 1), time.Hour)
	if ack := desk.books(t, "Room 0", at.AddDate(0, 0, 1), time.Hour); ack.Status != "conflict" {
		t.Fatalf("answered %+v", ack)
	}
	away.stop(t)
	if eval[bool](b, fmt.Sprintf(`document.querySelector(".grid").textContent.includes("Visit b-%d")`, desk.n)) {
		t.Fatal("the page shows what it cannot know")
	}

	s.start(t)
	for page, text := range map[*browser]string{b: "This page is live again.", other: "Halaman ini kembali diperbarui langsung."} {
		page.waits(fmt.Sprintf(says, "back"))
		page.shows("[role=status] #live-lost", text)
	}
	b.waits(fmt.Sprintf(`document.querySelector(".grid").textContent.includes("Visit b-%d")`, desk.n))
	b.waits("!" + off)
	b.waits(`document.title.startsWith("(1) ") && !document.getElementById("live-alert").hidden`)
	b.shows("#live-alert", "1 open conflict")
	b.shows("#open-conflicts", "1")
	b.waits(`document.querySelector("#live-said[aria-live=polite]").textContent === "The calendar is up to date again."`)
	if focus, now := eval[string](b, "document.activeElement.id"), eval[int](b, place); focus != "zone" || max(seen-now, now-seen) > 1 {
		t.Errorf("the focus went to %q, and what was looked at from %d to %d", focus, seen, now)
	}
	// Who reads a detail is told, and reads on.
	other.waits(`document.querySelector("#live-fresh").innerText.startsWith("3 ")`)
	if got := eval[string](other, `document.getElementById("detail").innerText`); got != reading {
		t.Error("what somebody was reading changed")
	}
	other.must(chromedp.KeyEvent(kb.Escape))
	eval[any](other, `document.activeElement.blur()`)
	other.waits(fmt.Sprintf(`document.querySelector(".grid").textContent.includes("Visit b-%d")`, desk.n))
	// It says so once.
	b.waits(`document.getElementById("live-lost").hidden`)

	// One that hangs breaks nothing off: it falls silent, and that is noticed too.
	must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	b.waits(fmt.Sprintf(says, "lost"))
	must(t, s.cmd.Process.Signal(syscall.SIGCONT))
	b.waits(fmt.Sprintf(says, "back"))
}
