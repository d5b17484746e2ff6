package web_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// crawl follows the links of pages from the calendar on, and tries what it is given
// besides; it returns what was shown, by address.
func (w *world) crawl(t *testing.T, browser *http.Client, more ...string) map[string]string {
	t.Helper()
	most := 80 + len(more)
	shown := map[string]string{}
	queue := append([]string{"/calendar", "/settings"}, more...)
	for len(queue) > 0 && len(shown) < most {
		address := queue[0]
		queue = queue[1:]
		if _, done := shown[address]; done || strings.HasPrefix(address, "/static/") || strings.HasPrefix(address, "/live") || strings.HasPrefix(address, "#") {
			continue
		}
		res := w.get(t, browser, address)
		shown[address] = res.body
		if res.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s gives %d", address, res.StatusCode)
		}
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, l := range links(t, res) {
			at, err := url.Parse(l)
			if err != nil {
				t.Fatal(err)
			}
			base, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			at = base.ResolveReference(at)
			at.Fragment = ""
			if at.Host == "" && at.Scheme == "" {
				queue = append(queue, at.String())
			}
		}
	}
	return shown
}

// everyAddress are pages and exports that a curious person may try.
func everyAddress(r *records) []string {
	all := append(slices.Clone(paths), "/calendar?view=month", "/calendar?view=day", "/calendar?view=resources", "/calendar?q=rani", "/calendar?q=keller",
		"/audit/export.csv?show=all&range=all", "/audit/export.jsonl?show=all&range=all", "/audit?show=all&range=all&q=wijaya",
		"/audit?show=all&range=all&resource="+id(10).String(), "/conflicts?past=1", "/deliveries", "/connections", "/resources/unmapped", "/resources/"+id(10).String())
	for _, b := range r.bookings {
		all = append(all, "/bookings/"+b.ID.String(), "/bookings/"+b.ID.String()+"/cancel-at-provider", "/audit?show=all&range=all&booking="+b.ID.String())
	}
	for _, tr := range r.transitions {
		all = append(all, "/audit/"+tr.ID.String(), "/audit/"+tr.ID.String()+"?body=1")
	}
	for _, v := range r.receipts {
		all = append(all, "/deliveries/"+v.ID.String(), "/deliveries/"+v.ID.String()+"?body=1")
	}
	return all
}

func apiAddresses(r *records) []string {
	all := []string{"/bookings", "/slots", "/transitions", "/receipts", "/connections", "/resources"}
	for _, b := range r.bookings {
		all = append(all, "/bookings/"+b.ID.String(), "/bookings/"+b.ID.String()+"/effects")
	}
	for _, tr := range r.transitions {
		all = append(all, "/transitions/"+tr.ID.String())
	}
	return all
}

// without tells where something stands that must not.
func without(t *testing.T, shown map[string]string, hidden ...string) {
	t.Helper()
	for address, body := range shown {
		// What was typed into the address is shown back in the search field.
		body = strings.ToLower(body)
		for _, h := range hidden {
			h = strings.ToLower(h)
			if typed, err := url.QueryUnescape(address); err == nil && strings.Contains(strings.ToLower(typed), h) {
				continue
			}
			if i := strings.Index(body, h); i >= 0 {
				t.Errorf("%s shows %q: …%s…", address, h, body[max(0, i-80):min(len(body), i+80)])
			}
		}
	}
}

// A viewer who is limited to one resource sees nothing of another on any page, by
// any filter, link or address, and no count of it.
func TestLimitedViewerSeesNothingElse(t *testing.T) {
	t.Parallel()
	data := full()
	data.bookings[2].Invitee.Phone = "+62 811 555 0199"
	w := newWorld(t, data, nil)
	browser := w.limited(t, "dewi", 11)
	shown := w.crawl(t, browser, everyAddress(data)...)
	// Rani and Jonas are booked in the room alone; the room itself; and the
	// connection that has no name for what is seen.
	without(t, shown, "Rani Wijaya", "Jonas Keller", "555 0199", "Consulting room", "Front desk", "hunter2")
	if !strings.Contains(strings.Join(slices.Collect(maps.Values(shown)), "\n"), "Siti Rahma") {
		t.Error("what is seen does not show either")
	}
	if page := shown["/calendar"]; !strings.Contains(page, `id="open-conflicts" data-count="0"`) {
		t.Error("conflicts elsewhere are counted in the frame")
	}
	for _, closed := range []string{"/deliveries", "/connections", "/audit/export.csv?show=all&range=all"} {
		if res := w.get(t, browser, closed); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", closed, res.StatusCode)
		}
	}
	for _, gone := range []string{"/bookings/" + id(21).String(), "/audit/" + id(60).String(), "/resources/" + id(10).String(), "/deliveries/" + id(40).String()} {
		if res := w.get(t, browser, gone); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", gone, res.StatusCode)
		}
	}

	// Limited to nothing there is nothing, not everything.
	none := w.crawl(t, w.limited(t, "edo"), everyAddress(data)...)
	without(t, none, "Rani Wijaya", "Jonas Keller", "Siti Rahma", "Maya Putri", "Consulting room", "Ayu Lestari", "Night watch")
}

// What is hidden from a role stands on no page, in no export, and in no answer to
// its tokens; no search finds by it.
func TestHiddenNamesShowNowhere(t *testing.T) {
	t.Parallel()
	secrets := []string{"Wijaya", "Keller", "Rahma", "someone@example.com", "Santoso", "555 0199", "5550199", "hunter2"}
	for _, role := range access.HideableRoles() {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			data := full()
			for i := range data.bookings {
				b := &data.bookings[i]
				if b.Invitee.Name != "" {
					b.Title += " between Ayu and " + b.Invitee.Name
					b.Invitee.Phone, b.Location = "+62 811 555 0199", "Phone: +62 811 555-0199"
				}
			}
			w := newWorld(t, data, nil)
			root := w.user(t, "root", access.Administrator)
			if res := w.post(t, root, "/settings/privacy", url.Values{"form": {"privacy"}, string(role) + "_names": {"on"}, string(role) + "_phones": {"on"}}); res.StatusCode != http.StatusSeeOther {
				t.Fatalf("%d", res.StatusCode)
			}
			browser := w.user(t, "ayu", role)
			shown := w.crawl(t, browser, everyAddress(data)...)
			without(t, shown, secrets...)
			if !strings.Contains(shown["/bookings/"+id(21).String()], "R.W.") {
				t.Error("there are no initials")
			}

			scope := access.Scopes()[slices.Index(access.Roles(), role)]
			bearer, answers := w.token(t, scope), map[string]string{}
			for _, a := range apiAddresses(data) {
				res := w.do(t, w.Client(), w.request(t, http.MethodGet, "/api/v1"+a, nil, "Authorization", bearer))
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d", a, res.StatusCode)
				}
				answers[a] = res.body
			}
			without(t, answers, secrets...)

			// Administrators see everything still.
			if page := w.get(t, root, "/bookings/"+id(21).String()); !strings.Contains(page.body, "Rani Wijaya") {
				t.Error("hidden from administrators, too")
			}
			// Who does not see phone numbers gets no raw body, whatever the role.
			if entry := w.store.entries(); slices.ContainsFunc(entry, func(e access.Entry) bool { return e.Action == access.DidReadBody }) {
				t.Error("a raw body was read")
			}
		})
	}
}

// A request that nobody was let in for sees nothing: a page that forgets to ask who
// looks is empty, not open.
func TestNobodySeesNothing(t *testing.T) {
	t.Parallel()
	if s := booking.Nothing(); s.Sees(id(10)) || !s.Hides() {
		t.Errorf("nobody sees %+v", s)
	}
	w := newWorld(t, full(), nil)
	for _, p := range []string{"/", "/signin", "/link/none", "/live"} {
		res, err := w.browser(t).Do(w.request(t, http.MethodGet, p, nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		without(t, map[string]string{p: string(body)}, "Wijaya", "Consulting room", "Clinic")
	}
}
