package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// What is left in the place of an erased e-mail is for telling bookings apart: people
// are told that whoever came was erased, and programs get what is stored.
func TestErasedPeople(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	gone := booking.Person{Email: strings.Repeat("0a", 16) + booking.ErasedDomain}
	for i := range o.records.bookings {
		o.records.bookings[i].Invitee = gone
	}
	for i := range o.records.transitions {
		o.records.transitions[i].Invitee, o.records.transitions[i].Erased = "", true
	}
	browser := w.user(t, "ayu", access.Administrator)
	held, lost := id(21).String(), id(22).String()
	for _, path := range []string{
		"/calendar", "/calendar?view=day", "/calendar?view=week", "/calendar?view=month", "/calendar?view=resources", "/calendar?booking=" + lost, "/calendar?booking=" + held,
		"/bookings/" + held, "/bookings/" + lost, "/conflicts", "/bookings/" + lost + "/cancel-at-provider", "/audit?range=all&show=all", "/audit/" + id(63).String(),
		"/deliveries", "/deliveries/" + id(40).String(), "/connections/" + id(1).String(),
	} {
		for lang, want := range map[string]string{"en": "Erased person", "id": "Orang yang datanya dihapus"} {
			t.Run(lang+" "+path, func(t *testing.T) {
				t.Parallel()
				res := w.get(t, browser, path, "Accept-Language", lang)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("status %d", res.StatusCode)
				}
				hasNot(t, "the page", res.body, "erased.invalid")
				if !strings.HasPrefix(path, "/connections/") {
					has(t, "the page", res.body, want)
				}
				wholesome(t, res, lang)
			})
		}
	}
	told := shows(t, w.get(t, browser, "/bookings/"+held), "facts")
	if len(told) == 0 || !strings.Contains(told[0], "Erased: this person's data was removed for good.") {
		t.Errorf("the booking's facts are %q", told)
	}
	if got := w.get(t, w.Client(), "/api/v1/bookings/"+held, "Authorization", w.token(t, access.Read)); !strings.Contains(got.body, fmt.Sprintf(`"email":%q`, gone.Email)) {
		t.Errorf("the API says %s", got.body)
	}
}
