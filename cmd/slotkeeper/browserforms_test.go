package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"slotkeeper/providers/acuity/acuitytest"
)

// TestBrowserForms has intake forms kept as an administrator does, opens what a client
// told, and has it removed, with pictures of each on the way (make shots).
func TestBrowserForms(t *testing.T) {
	t.Parallel()
	long(t)
	s := newStudio(t, "")
	who := acuitytest.Client{FirstName: "Kofi", LastName: "Mensah", Email: "kofi.mensah@mail.example", Timezone: "Africa/Accra"}
	id, posts, err := s.Book(who, 1, 1, monday)
	must(t, err)
	s.deliverAll(t, posts)
	held := s.until(t, id, "active", monday)
	account := "/connections/" + s.id.String()

	b := newBrowser(t, s.server)
	b.signIn("admin", adminPassword)
	b.seesForms("forms-off", account)
	b.open(account, 200)
	b.must(chromedp.Click(chromedp.CSS(`input[name="understood"]`)))
	b.click(`button[name="keep"][value="yes"]`)
	b.shows(`[role="status"]`, "kept from now on")
	b.seesForms("forms-on", account)

	posts, err = s.Tell(id, "Asked about her knee.\nWants the early hours.",
		acuitytest.Answer{Question: "What brings you here?", Text: "The knee since the spring:\n- stairs\n- running, after some three kilometres"},
		acuitytest.Answer{Question: "Medication", Text: "ibuprofen, 400 mg"}, acuitytest.Answer{Question: "Allergies"})
	must(t, err)
	s.deliverAll(t, posts)
	s.settled(t)
	b.seesForms("booking-forms", "/bookings/"+held.ID.String())
	b.open("/bookings/"+held.ID.String(), 200)
	b.click(`a[href^="?forms=show"]`)
	b.shows(`.answers`, "What brings you here?", "ibuprofen, 400 mg", "no answer")
	b.seesForms("booking-forms-shown", "/bookings/"+held.ID.String()+"?forms=show")

	b.open(account, 200)
	b.click(`button[name="keep"][value="no"]`)
	b.shows(`[role="status"]`, "no longer kept")
	b.open("/bookings/"+held.ID.String()+"?forms=show", 200)
	if text := eval[string](b, `document.body.innerText`); strings.Contains(text, "ibuprofen") {
		t.Error("what is no longer kept is shown")
	}
}

// seesForms looks at a page in every language, light and dark, on a desk and a phone.
func (b *browser) seesForms(name, path string) {
	b.t.Helper()
	dir := os.Getenv("SLOTKEEPER_SHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	b.shoots(dir, []photo{{name: name, path: path}}, regexp.MustCompile(""))
	b.speak("en")
	b.screen(1280)
	b.scheme("light")
}
