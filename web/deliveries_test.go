package web_test

import (
	"net/http"
	"strings"
	"testing"

	"slotkeeper/booking/access"
)

func TestConnectionThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/connections")
	desk := section(t, res.body, "Front desk</a> <small>", "</li>")
	has(t, "failing", desk, "The last 2 deliveries failed", `href="/deliveries?provider=generic&amp;status=failed"`)
	if strings.Contains(desk, "health is-working") {
		t.Error("a connection that fails is green")
	}
	if off := section(t, res.body, "Old desk</a> <small>", "</li>"); strings.Contains(off, "failed") {
		t.Error("a connection that was disconnected warns")
	}
	has(t, "good", section(t, res.body, "Clinic</a> <small>", "</li>"), "health is-working", "Last delivery")
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	list := w.get(t, w.user(t, "ayu", access.Viewer), "/deliveries").body
	has(t, "list", list,
		`<a href="/bookings/`+id(21).String()+`">Intake call</a><span class="who">Rani Wijaya</span>`,
		`<a href="/deliveries/`+id(40).String()+`">Booking created</a>`,
		`<a href="/deliveries/`+id(41).String()+`">2 bookings</a>`)

	for role, sees := range map[access.Role]bool{access.Viewer: false, access.Operator: true} {
		w := newWorld(t, full(), nil)
		browser := w.user(t, "ayu", role)
		closed := w.get(t, browser, "/deliveries/"+id(40).String())
		if strings.Contains(closed.body, "[redacted]") || strings.Contains(closed.body, `href="?body=1#body"`) != sees {
			t.Errorf("%s: the body is shown unasked, or can be asked for: %t", role, !sees)
		}
		res := w.get(t, browser, "/deliveries/"+id(40).String()+"?body=1")
		wholesome(t, res, "en")
		has(t, string(role), res.body, `<a href="/bookings/`+id(21).String()+`">Intake call · Rani Wijaya</a>`, `<a href="/audit/`+id(60).String()+`">`)
		if strings.Contains(res.body, "[redacted]") != sees || strings.Contains(res.body, "Operators also see") == sees {
			t.Errorf("%s: the body is shown: %t", role, !sees)
		}
		has(t, "of several", w.get(t, browser, "/deliveries/"+id(41).String()).body, "Prenatal class", "Siti Rahma", "the body has no time", "Nothing.")
		has(t, "of none", w.get(t, browser, "/deliveries/"+id(43).String()).body, "no booking is known")
		for _, path := range []string{"/deliveries/none", "/deliveries/" + id(200).String()} {
			if res := w.get(t, browser, path); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s gives %d", path, res.StatusCode)
			}
		}
	}
}
