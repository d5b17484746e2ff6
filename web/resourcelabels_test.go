package web_test

import (
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// TestNamesakes has rooms that share a name told apart wherever one is chosen: access to
// the wrong one shows somebody's bookings to others.
func TestNamesakes(t *testing.T) {
	t.Parallel()
	acuity := booking.Source{Provider: "acuity", Base: "https://acuityscheduling.com"}
	calendly := booking.Source{Provider: "calendly", Base: "https://api.calendly.com"}
	r := full()
	named := func(n byte, name string, identities ...booking.Identity) {
		r.resources = append(r.resources, booking.ResourceView{Resource: booking.Resource{ID: id(n), Name: name}, Identities: identities})
	}
	mail := func(address string) booking.Identity { return booking.Identity{ExternalID: address, Email: address} }
	of := func(source booking.Source, external string) booking.Identity {
		return booking.Identity{Source: source, ExternalID: external}
	}
	named(12, "Room 2", mail("room2@harbourclinic.example"), of(calendly, "/users/R2"))
	named(13, "Room 2", of(acuity, "calendar|5"))
	named(14, "room 2", of(calendly, "/users/R9"))
	named(15, "Studio", of(acuity, "calendar|6"))
	named(16, "Studio", of(acuity, "calendar|7"))
	named(17, "Hall")
	named(18, "Hall")
	r.connections = append(r.connections, providers.Connection{
		ID: id(4), Provider: "acuity", APIBase: acuity.Base, Name: "Uptown", Owner: providers.Profile{Hosts: []booking.Host{{ExternalID: "calendar|6"}}},
	}, providers.Connection{
		ID: id(5), Provider: "acuity", APIBase: acuity.Base, Name: "Downtown", Owner: providers.Profile{Hosts: []booking.Host{{ExternalID: "calendar|7"}}},
	})
	want := []string{
		"Room 2 · room2@harbourclinic.example", "Room 2 · Acuity", "room 2 · /users/R9", "Studio · Uptown", "Studio · Downtown",
		"Hall · " + id(17).String(), "Hall · " + id(18).String(), "Consulting room",
	}
	g := &registry{records: r}
	w := newWorld(t, r, nil, func(d *web.Deps) { d.Resources = g })
	browser := w.user(t, "ayu", access.Administrator)
	w.user(t, "budi", access.Viewer)
	g.unmapped = []booking.UnmappedView{{Identity: of(acuity, "calendar|9"), Bookings: 1}}
	for path, wanted := range map[string][]string{
		"/calendar?view=resources": want, "/conflicts": want, "/audit": want, userPath(w.userNamed(t, "budi")): want,
		"/settings/feeds": want, "/settings/endpoints": want, "/settings/alerts": want, unmappedPath(g): want,
		"/resources/" + id(10).String():                                    want[:7],
		"/resources/" + id(13).String() + "/merge?into=" + id(12).String(): want[:2],
	} {
		res := w.get(t, browser, path)
		for _, label := range wanted {
			if !strings.Contains(res.body, label) {
				t.Errorf("%s (%d) does not tell of %q", path, res.StatusCode, label)
			}
		}
	}
	if strings.Contains(w.get(t, browser, "/settings/feeds").body, "Consulting room ·") {
		t.Error("more is said than the name of a room that has no namesake")
	}
}
