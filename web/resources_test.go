package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

// registry is the store of resources: it keeps what it was asked to change.
type registry struct {
	records  *records
	unmapped []booking.UnmappedView
	impact   booking.Impact
	err      error
	asked    []string
}

func (g *registry) FindResources(_ context.Context, text string, p booking.Page) (booking.List[booking.ResourceView], error) {
	return page(g.records.resources, p, func(v booking.ResourceView) bool {
		return strings.Contains(strings.ToLower(v.Name), strings.ToLower(text))
	})
}

func (g *registry) Coming(_ context.Context, after time.Time) (map[uuid.UUID]int, error) {
	out := map[uuid.UUID]int{}
	for _, b := range g.records.bookings {
		if b.EndsAt != nil && b.EndsAt.After(after) && b.Status != booking.Canceled {
			for _, r := range b.ResourceIDs {
				out[r]++
			}
		}
	}
	return out, g.records.failing()
}

func (g *registry) Unmapped(context.Context, time.Time) ([]booking.UnmappedView, error) {
	return g.unmapped, nil
}

func (g *registry) ask(by access.By, format string, args ...any) error {
	if g.err == nil {
		g.asked = append(g.asked, strings.SplitN(string(by.Actor), ":", 2)[0]+" "+by.Remote+" "+fmt.Sprintf(format, args...))
	}
	return g.err
}

func (g *registry) RenameResource(_ context.Context, by access.By, id uuid.UUID, name string, _ time.Time) error {
	if name == "" {
		return &booking.InvalidError{Field: "name", Detail: "must not be empty"}
	}
	return g.ask(by, "name %s %s", id, name)
}

func (g *registry) SetZone(_ context.Context, by access.By, id uuid.UUID, zone string, _ time.Time) error {
	if _, err := time.LoadLocation(zone); err != nil {
		return &booking.InvalidError{Field: "zone", Detail: "is none"}
	}
	return g.ask(by, "zone %s %s", id, zone)
}

func (g *registry) PreviewMerge(context.Context, uuid.UUID, uuid.UUID, time.Time) (booking.Impact, error) {
	if g.err != nil && !errors.Is(g.err, booking.ErrImpactChanged) {
		return booking.Impact{}, g.err
	}
	return g.impact, nil
}

func (g *registry) MergeResources(_ context.Context, by access.By, from, into uuid.UUID, agreed string, _ time.Time) (booking.Impact, error) {
	return g.impact, g.ask(by, "merge %s %s %t", from, into, agreed == g.impact.Mark())
}

func (g *registry) SplitIdentity(_ context.Context, by access.By, key booking.IdentityKey, to booking.Resource, _ time.Time) (booking.Impact, error) {
	known := slices.ContainsFunc(g.records.resources, func(r booking.ResourceView) bool { return r.ID == to.ID })
	if !known {
		// A new one is shown right after.
		g.records.resources = append(g.records.resources, booking.ResourceView{Resource: to})
	}
	return g.impact, g.ask(by, "split %s %s %t %s", key.Source.Provider, key.ExternalID, known, to.Name)
}

func (g *registry) MapIdentity(
	_ context.Context, by access.By, id booking.Identity, to booking.Resource, _ time.Time,
) (booking.Resource, booking.Impact, error) {
	if to.Name == "" {
		return to, booking.Impact{}, &booking.InvalidError{Field: "name", Detail: "must not be empty"}
	}
	return to, g.impact, g.ask(by, "map %s %s %s %t", id.Source.Base, id.ExternalID, to.Name, to.NameGiven)
}

// house of resources: one to come conflict, one that is over, one that ends.
func withResources(t *testing.T) (*world, *registry) {
	t.Helper()
	r := full()
	at := func(id byte, who string, from time.Time, with ...booking.Booking) booking.Affected {
		b := booking.Booking{ID: uuid.UUID{15: id}, Source: booking.Source{Provider: "calcom"}, Title: booking.Text{Value: "Intake <b>bold</b>"}}
		b.Invitee.Name.Value = who
		return booking.Affected{Booking: b, StartsAt: from, EndsAt: from.Add(time.Hour), With: with}
	}
	holder := booking.Booking{ID: uuid.UUID{15: 99}, Source: booking.Source{Provider: "calendly"}, Invitee: booking.Invitee{Name: booking.Text{Value: "Holder"}}}
	g := &registry{
		records: r,
		impact: booking.Impact{
			Conflicts: []booking.Affected{at(1, "Gone", noon.Add(-48*time.Hour), holder), at(2, "Rani", noon.Add(time.Hour), holder)},
			Released:  []booking.Affected{at(3, "Freed", noon.Add(2*time.Hour), holder)},
			Sessions:  7,
		},
		unmapped: []booking.UnmappedView{{
			Identity: booking.Identity{Source: booking.Source{Provider: "acuity", Base: "https://acuityscheduling.com"}, ExternalID: "calendar|2 <b>bold</b>"},
			Bookings: 12, Coming: 3,
		}},
	}
	return newWorld(t, r, nil, func(d *web.Deps) { d.Resources = g }), g
}

func unmappedPath(g *registry) string {
	u := g.unmapped[0]
	return "/resources/unmapped?" + url.Values{"provider": {u.Source.Provider}, "base": {u.Source.Base}, "identity": {u.ExternalID}}.Encode()
}

func TestResourcePages(t *testing.T) {
	t.Parallel()
	w, g := withResources(t)
	room, host := id(10).String(), id(11).String()
	for role, name := range map[access.Role]string{access.Operator: "ayu", access.Viewer: "budi"} {
		browser := w.user(t, name, role)
		for _, lang := range []string{"en", "id"} {
			for _, path := range []string{
				"/resources", "/resources?q=room", "/resources/" + room, "/resources/" + host, "/resources/" + room + "?done=merged&made=2",
				"/resources/" + room + "?done=nonsense&made=x", unmappedPath(g), unmappedPath(g) + "&past=1", "/resources/" + room + "/merge?into=" + host,
			} {
				res := w.get(t, browser, path, "Accept-Language", lang)
				want := http.StatusOK
				if role == access.Viewer && strings.Contains(path, "/merge") {
					want = http.StatusForbidden
				}
				if res.StatusCode != want {
					t.Fatalf("%s %s gives %d: %s", role, path, res.StatusCode, res.body)
				}
				wholesome(t, res, lang)
				if strings.Contains(res.body, `method="post" action="/resources`) != (role == access.Operator && !strings.HasSuffix(path, "/resources") && !strings.Contains(path, "?q=")) {
					t.Errorf("%s %s: forms are shown to the wrong people", role, path)
				}
			}
		}
		if alone := strings.Contains(w.get(t, browser, "/resources/"+host).body, "Split off a name"); alone {
			t.Error("a name can be split off where there is none beside it")
		}
		list := w.get(t, browser, "/resources").body
		has(t, "list", list, "1 calendar has no resource", "calendar|2 &lt;b&gt;", "12 bookings in all", "3 to come", "Asia/Makassar", "It has no e-mail address", `<span class="muted">Asia/Jakarta</span>`,
			`<a href="/resources/`+room+`">Consulting room</a>`, "set by hand")
		if found := w.get(t, browser, "/resources?q=consult").body; strings.Contains(found, "Ayu Lestari") || !strings.Contains(found, "Consulting room") {
			t.Error("the search finds another")
		}
	}
	browser := w.user(t, "citra", access.Operator)
	preview := w.get(t, browser, "/resources/"+room+"/merge?into="+host).body
	has(t, "preview", preview, "This makes 1 conflict", "Rani", "Held by", "Holder", "This ends 1 conflict", "Freed", "Was held by", "7 meetings, past ones too, move to Ayu Lestari", "cannot be undone",
		"1 more conflict is over", g.impact.Mark(), "Consulting room becomes part of Ayu Lestari")
	if strings.Contains(preview, "Gone") {
		t.Error("the preview lists what is over")
	}
	for path, want := range map[string]int{
		"/resources/x": http.StatusNotFound, "/resources/" + id(99).String(): http.StatusNotFound, "/resources/unmapped": http.StatusNotFound,
		"/resources/" + room + "/merge": http.StatusUnprocessableEntity, "/resources/" + room + "/merge?into=" + id(99).String(): http.StatusUnprocessableEntity,
		"/resources?cursor=nonsense": http.StatusUnprocessableEntity,
	} {
		if res := w.get(t, browser, path); res.StatusCode != want {
			t.Errorf("%s gives %d", path, res.StatusCode)
		}
	}
}

func TestManyResourcesArePaged(t *testing.T) {
	t.Parallel()
	r := &records{}
	for i := range 120 {
		r.resources = append(r.resources, booking.ResourceView{Resource: booking.Resource{ID: id(byte(i)), Name: fmt.Sprintf("Room %03d", i)}})
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	seen, path := 0, "/resources?q=room"
	for range 3 {
		body := w.get(t, browser, path).body
		seen += strings.Count(body, `<tr role="row"><th`) - 1
		next := strings.Split(body, `rel="next"`)
		if len(next) < 2 {
			break
		}
		at := strings.LastIndex(next[0], `href="`)
		path = strings.ReplaceAll(strings.SplitN(next[0][at+len(`href="`):], `"`, 2)[0], "&amp;", "&")
	}
	if seen != 120 {
		t.Errorf("%d resources on three pages", seen)
	}
}

func TestResourceForms(t *testing.T) {
	t.Parallel()
	room, host := id(10).String(), id(11).String()
	split := url.Values{"identity": {"1"}, "name-0": {"room@example.com"}, "name-1": {"/users/BB"}}
	with := func(v url.Values, key, value string) url.Values {
		out := url.Values{}
		for k, values := range v {
			out[k] = values
		}
		out.Set(key, value)
		return out
	}
	_, shape := withResources(t)
	mark := shape.impact.Mark()
	u := shape.unmapped[0]
	mapping := url.Values{"provider": {u.Source.Provider}, "base": {u.Source.Base}, "identity": {u.ExternalID}}
	for name, c := range map[string]struct {
		path   string
		form   url.Values
		status int
		asked  string // "" for nothing
		to     string // where it leads, or what the page says
	}{
		"rename":              {"/resources/" + room + "/name", url.Values{"name": {"Room 1"}}, 303, "name " + room + " Room 1", "/resources/" + room + "?done=renamed"},
		"no name":             {"/resources/" + room + "/name", url.Values{}, 422, "", `id="name-error">Give a name`},
		"zone":                {"/resources/" + room + "/zone", url.Values{"zone": {"Asia/Jakarta"}}, 303, "zone " + room + " Asia/Jakarta", "?done=zone"},
		"no zone":             {"/resources/" + room + "/zone", url.Values{"zone": {"Nowhere"}}, 422, "", `id="zone-error">That time zone`},
		"nothing there":       {"/resources/" + id(99).String() + "/name", url.Values{"name": {"x"}}, 404, "", ""},
		"split off":           {"/resources/" + room + "/split", split, 303, "split calendly /users/BB false /users/BB", "?done=split&made=1"},
		"split to another":    {"/resources/" + room + "/split", with(split, "to", host), 303, "split calendly /users/BB true ", "/resources/" + host + "?done=split&made=1"},
		"split to nobody":     {"/resources/" + room + "/split", with(split, "to", id(99).String()), 422, "", `id="to-error">Choose a resource`},
		"split what is gone":  {"/resources/" + room + "/split", with(split, "name-1", "/users/CC"), 422, "", `id="identity-error">It cannot go there`},
		"split nothing":       {"/resources/" + room + "/split", url.Values{}, 422, "", `id="identity-error"`},
		"merge":               {"/resources/" + room + "/merge", url.Values{"into": {host}, "agreed": {mark}}, 303, "merge " + room + " " + host + " true", "/resources/" + host + "?done=merged&made=1"},
		"merge unseen":        {"/resources/" + room + "/merge", url.Values{"into": {host}}, 422, "", "This makes 1 conflict"},
		"merge into nothing":  {"/resources/" + room + "/merge", url.Values{"agreed": {mark}}, 422, "", `id="into-error">Choose another resource`},
		"map to a new one":    {"/resources/unmapped", with(mapping, "name", "Room 2"), 303, "map https://acuityscheduling.com calendar|2 <b>bold</b> Room 2 true", "?done=mapped&made=1"},
		"map to one there is": {"/resources/unmapped", with(mapping, "resource", room), 303, "map https://acuityscheduling.com calendar|2 <b>bold</b> Consulting room false", "/resources/" + room},
		"map without a name":  {"/resources/unmapped", mapping, 422, "", `id="name-error">Give a name`},
		"map to nothing":      {"/resources/unmapped", with(mapping, "resource", "x"), 422, "", `id="resource-error">Choose a resource`},
		"map what is mapped":  {"/resources/unmapped", url.Values{"provider": {"acuity"}, "identity": {"x"}}, 404, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, g := withResources(t)
			for _, who := range []struct {
				name string
				role access.Role
			}{{"stranger", ""}, {"viewer", access.Viewer}} {
				browser, want := w.browser(t), http.StatusSeeOther // to the sign-in page
				if who.role != "" {
					browser, want = w.user(t, who.name, who.role), http.StatusForbidden
				}
				if res := w.post(t, browser, c.path, c.form); res.StatusCode != want || len(g.asked) > 0 {
					t.Errorf("a %s gets %d, asked was %q", who.name, res.StatusCode, g.asked)
				}
			}
			browser := w.user(t, "ayu", access.Operator)
			if res := w.post(t, browser, c.path, c.form, "Sec-Fetch-Site", "cross-site"); res.StatusCode != http.StatusForbidden || len(g.asked) > 0 {
				t.Errorf("another site gets %d", res.StatusCode)
			}
			res := w.post(t, browser, c.path, c.form)
			if res.StatusCode != c.status {
				t.Fatalf("status %d: %s", res.StatusCode, res.body)
			}
			if c.asked == "" != (len(g.asked) == 0) || c.asked != "" && !strings.HasPrefix(g.asked[0], "user 127.0.0.1 "+c.asked) {
				t.Errorf("asked was %q, want %q", g.asked, c.asked)
			}
			if c.status == http.StatusSeeOther {
				if to := res.Header.Get("Location"); !strings.Contains(to, c.to) {
					t.Errorf("it leads to %s, want %s", to, c.to)
				} else if page := w.get(t, browser, to); page.StatusCode != http.StatusOK && !strings.Contains(name, "new one") {
					t.Errorf("%s gives %d", to, page.StatusCode)
				}
				return
			}
			wholesome(t, res, "en")
			has(t, "page", res.body, c.to)
		})
	}
}

func TestMergeThatChanged(t *testing.T) {
	t.Parallel()
	w, g := withResources(t)
	browser := w.user(t, "ayu", access.Operator)
	path := "/resources/" + id(10).String() + "/merge"
	form := url.Values{"into": {id(11).String()}, "agreed": {"another"}}
	g.err = booking.ErrImpactChanged
	res := w.post(t, browser, path, form)
	if res.StatusCode != http.StatusConflict {
		t.Fatalf("status %d", res.StatusCode)
	}
	wholesome(t, res, "en")
	has(t, "page", res.body, "nothing was merged", "This makes 1 conflict", g.impact.Mark())
	g.err = &booking.InvalidError{Field: "from", Detail: "was merged"}
	if res = w.post(t, browser, path, form); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("status %d", res.StatusCode)
	}
	wholesome(t, res, "en")
	has(t, "page", res.body, "merged into another already")
	g.err = errors.New("away")
	if res = w.post(t, browser, path, form); res.StatusCode != http.StatusInternalServerError {
		t.Errorf("status %d", res.StatusCode)
	}
}
