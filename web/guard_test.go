package web_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

func (r *records) PeopleOf(_ context.Context, ids []uuid.UUID) (map[uuid.UUID][]booking.Person, error) {
	out := map[uuid.UUID][]booking.Person{}
	for _, b := range r.bookings {
		for _, o := range r.bookings {
			if slices.Contains(ids, b.ID) && (o.SessionID == b.SessionID || o.ChainID == b.ChainID) {
				out[b.ID] = append(out[b.ID], o.Invitee)
			}
		}
	}
	return out, r.failing()
}

func (r *records) ConnectionsOf(_ context.Context, resources []uuid.UUID) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for _, b := range r.bookings {
		if slices.ContainsFunc(b.ResourceIDs, func(id uuid.UUID) bool { return slices.Contains(resources, id) }) {
			out = append(out, b.ConnectionID)
		}
	}
	return out, r.failing()
}

// Who is limited to a resource that a provider knows by e-mail only is told that its
// account is down, may narrow to it, and reads its name; of another's account nothing.
func TestLimitedViewerIsToldOfAccountsByEmail(t *testing.T) {
	t.Parallel()
	data := full()
	for i := range data.bookings {
		if slices.Equal(data.bookings[i].ResourceIDs, []uuid.UUID{id(11)}) {
			data.bookings[i].Provider, data.bookings[i].ConnectionID = "generic", id(2)
		}
	}
	data.bookings = slices.DeleteFunc(data.bookings, func(b booking.View) bool { return len(b.ResourceIDs) > 1 })
	data.resources[1].Identities = []booking.Identity{{ExternalID: "ayu@example.com", Email: "ayu@example.com", ResourceID: id(11)}}
	data.connections[1].Health = providers.Health{NeedsSignIn: true}
	w := newWorld(t, data, nil)
	browser := w.limited(t, "dewi", 11)
	res := w.get(t, browser, "/calendar")
	if stale := shows(t, res, "stale"); len(stale) != 1 || !strings.Contains(stale[0], "Front desk") || !strings.Contains(stale[0], "Ayu Lestari") {
		t.Errorf("the calendar tells %q", stale)
	}
	if strings.Contains(res.body, "Clinic") {
		t.Error("another's account shows")
	}
	if page := w.get(t, browser, "/audit?show=all&range=all"); !strings.Contains(page.body, id(2).String()) {
		t.Error("the audit cannot be narrowed to the account")
	}
	if page := w.get(t, browser, "/bookings/"+id(24).String()); !strings.Contains(page.body, "Front desk") {
		t.Error("the booking's page does not name its account")
	}
}

// A title that names another seat of the session shows no name to who sees none.
func TestHiddenNamesOfOtherSeats(t *testing.T) {
	t.Parallel()
	data := full()
	data.bookings[2].Title = "Group with Jonas Keller"
	data.bookings[3].SessionID = data.bookings[2].SessionID
	for i := range data.transitions {
		if data.transitions[i].BookingID == data.bookings[2].ID {
			data.transitions[i].Title = data.bookings[2].Title
		}
	}
	for i := range data.receipts {
		data.receipts[i].EventKey = "visit-jonas-keller|created"
	}
	data.about[id(40)] = []uuid.UUID{data.bookings[2].ID}
	w := newWorld(t, data, nil)
	root := w.user(t, "root", access.Administrator)
	if res := w.post(t, root, "/settings/privacy", url.Values{string(access.Viewer) + "_names": {"on"}, string(access.Viewer) + "_phones": {"on"}, "form": {"privacy"}}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	browser, shown := w.user(t, "ayu", access.Viewer), map[string]string{}
	for _, address := range []string{
		"/calendar", "/calendar?view=day", "/conflicts", "/bookings/" + id(21).String(), "/bookings/" + id(22).String(),
		"/audit?show=all&range=all", "/audit/" + id(60).String(), "/deliveries/" + id(40).String(),
	} {
		shown[address] = w.get(t, browser, address).body
	}
	without(t, shown, "keller", "jonas")
	if !strings.Contains(shown["/bookings/"+id(21).String()], "Group with") {
		t.Error("the title is gone")
	}
	bearer := w.token(t, access.Read)
	res := w.do(t, w.Client(), w.request(t, http.MethodGet, "/api/v1/bookings/"+id(21).String(), nil, "Authorization", bearer))
	without(t, map[string]string{"the API": res.body}, "keller", "jonas")
}

// Who is limited reads no list of the house's people: only who did something seen.
func TestLimitedViewerSeesNoList(t *testing.T) {
	t.Parallel()
	data := full()
	w := newWorld(t, data, nil)
	for _, name := range []string{"known-operator", "other-operator"} {
		w.user(t, name, access.Operator)
	}
	actors, err := data.Actors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range data.transitions {
		if data.transitions[i].ID == id(61) {
			data.transitions[i].ResourceIDs = []uuid.UUID{id(11)}
		}
		of := map[uuid.UUID]string{id(61): "known-operator", id(60): "other-operator"}[data.transitions[i].ID]
		for actor, name := range actors {
			if of != "" && name == of {
				data.transitions[i].Actor = actor
			}
		}
	}
	page := w.get(t, w.limited(t, "dewi", 11), "/audit?show=all&range=all")
	without(t, map[string]string{"the audit": page.body}, "other-operator")
	if !strings.Contains(page.body, "known-operator") {
		t.Error("who did what is seen has no name")
	}
}
