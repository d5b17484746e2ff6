package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// Whoever has forms kept says first that the organisation answers for it; others see
// whether they are.
func TestKeepingForms(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	admin, operator := w.user(t, "ayu", access.Administrator), w.user(t, "rani", access.Operator)
	path, action := connectionPath(7), connectionPath(7, "/forms")
	page := w.get(t, admin, path).body
	has(t, "the account's page", page, "Intake forms and notes", "Not kept.", "health data", "90 days after they were read last", `action="`+action+`"`)
	hasNot(t, "an account without forms", w.get(t, admin, connectionPath(5)).body, "Intake forms")
	seen := w.get(t, operator, path).body
	has(t, "an operator's page", seen, "Not kept.")
	hasNot(t, "an operator's page", seen, action)

	if res := w.post(t, operator, action, url.Values{"keep": {"yes"}, "understood": {"yes"}}); res.StatusCode != http.StatusForbidden {
		t.Errorf("an operator has them kept: %d", res.StatusCode)
	}
	res := w.post(t, admin, action, url.Values{"keep": {"yes"}})
	has(t, "not understood", res.body, "Tick the box first")
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("not understood: %d", res.StatusCode)
	}
	wholesome(t, res, "en")
	for _, step := range []struct {
		form url.Values
		done string
		says string
	}{
		{url.Values{"keep": {"yes"}, "understood": {"yes"}}, "forms_kept", "They are kept"},
		{url.Values{"keep": {"no"}}, "forms_dropped", "Not kept."},
	} {
		res := w.post(t, admin, action, step.form)
		if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != path+"?done="+step.done {
			t.Fatalf("%v: %d, %s", step.form, res.StatusCode, to)
		}
		for _, lang := range []string{"en", "id"} {
			wholesome(t, w.get(t, admin, path+"?done="+step.done, "Accept-Language", lang), lang)
		}
		has(t, step.done, w.get(t, operator, path).body, step.says)
		// Only a choice changes what is kept: a form that comes empty does not drop it.
		for _, form := range []url.Values{{}, {"keep": {""}}, {"keep": {"No"}}, {"understood": {"yes"}}} {
			res := w.post(t, admin, action, form)
			has(t, "no choice", res.body, "Nothing was changed", step.says)
			if res.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%v: %d", form, res.StatusCode)
			}
			wholesome(t, res, "en")
		}
	}
}

// What clients told is opened by those who see names, on purpose, and every look is
// logged; nothing else shows it.
func TestFormsAreForOperators(t *testing.T) {
	t.Parallel()
	data := full()
	told := booking.KeptForms{ToldAt: noon, Forms: booking.Forms{
		Notes: "Bring the\nX-ray <script>alert(1)</script>", Cut: true,
		Filled: []booking.Form{{Name: "Intake", Fields: []booking.FormField{{Name: "Medication", Value: "warfarin"}, {Name: "Allergies"}}}},
	}}
	data.forms = map[uuid.UUID]booking.KeptForms{id(21): told}
	for _, role := range access.Roles() {
		w := newWorld(t, data, nil)
		browser := w.user(t, string(role), role)
		path := "/bookings/" + id(21).String()
		sees := role != access.Viewer
		w.store.forget()
		page := w.get(t, browser, path)
		hasNot(t, "unasked", page.body, "warfarin", "X-ray", "Medication")
		if strings.Contains(page.body, `href="?forms=show#forms"`) != sees {
			t.Errorf("a %s is offered them: %t", role, !sees)
		}
		if n := len(w.store.entries()); n != 0 {
			t.Errorf("%s: %d looks are logged before there was one", role, n)
		}
		res := w.get(t, browser, path+"?forms=show")
		wholesome(t, res, "en")
		if shown := strings.Contains(res.body, "warfarin") && strings.Contains(res.body, "Bring the\nX-ray &lt;script&gt;"); shown != sees {
			t.Errorf("a %s sees them: %t", role, shown)
		}
		log := w.store.entries()
		if logged := len(log) == 1 && log[0].Action == access.DidReadForms && log[0].Subject == "booking:"+id(21).String(); logged != sees || len(log) > 1 {
			t.Errorf("%s: the log has %+v", role, log)
		}
		bearer, answers := w.token(t, access.Admin), map[string]string{}
		for _, a := range apiAddresses(data) {
			answers[a] = w.do(t, w.Client(), w.request(t, http.MethodGet, "/api/v1"+a, nil, "Authorization", bearer)).body
		}
		without(t, answers, "warfarin", "X-ray", "Medication")
		shown := w.crawl(t, browser, everyAddress(data)...)
		for address := range shown {
			if strings.Contains(address, "forms=show") {
				delete(shown, address)
			}
		}
		without(t, shown, "warfarin", "X-ray", "Medication")
	}
}

// From whose role names or numbers are hidden forms are too, since they have both.
func TestFormsAreHiddenWithNames(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"names", "phones"} {
		data := full()
		data.forms = map[uuid.UUID]booking.KeptForms{id(21): {Forms: booking.Forms{Notes: "warfarin"}, ToldAt: noon}}
		for i := range data.connections {
			data.connections[i].KeepForms = true
		}
		w := newWorld(t, data, nil, func(d *web.Deps) {
			d.Providers = map[string]providers.Provider{"generic": house{}, "calendly": ownKey{api{name: "calendly", base: "https://api.calendly.com"}}}
		})
		root := w.user(t, "root", access.Administrator)
		if res := w.post(t, root, "/settings/privacy", url.Values{"form": {"privacy"}, "operator_" + hidden: {"on"}}); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d", res.StatusCode)
		}
		browser := w.user(t, "rani", access.Operator)
		w.store.forget()
		for _, query := range []string{"", "?forms=show"} {
			res := w.get(t, browser, "/bookings/"+id(21).String()+query)
			hasNot(t, hidden, res.body, "warfarin", `href="?forms=show`)
			has(t, hidden, res.body, "hidden from your role")
			wholesome(t, res, "en")
		}
		if n := len(w.store.entries()); n != 0 {
			t.Errorf("%d looks are logged", n)
		}
		has(t, "an administrator's", w.get(t, root, "/bookings/"+id(21).String()+"?forms=show").body, "warfarin")
	}
}
