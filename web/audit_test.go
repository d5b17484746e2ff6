package web_test

import (
	"net/http"
	"strings"
	"testing"

	"slotkeeper/booking/access"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	const create, conflict, stale, cancel = "/audit/01000000-0000-7000-8000-000000000040", "/audit/01000000-0000-7000-8000-00000000003f",
		"/audit/01000000-0000-7000-8000-00000000003e", "/audit/01000000-0000-7000-8000-00000000003d"
	rows := []string{create, conflict, stale, cancel}
	for query, want := range map[string][]string{
		"":                                {create, conflict, stale},
		"show=rejected":                   {create, stale},
		"show=all":                        rows,
		"reason=stale":                    {stale},
		"provider=calcom":                 {conflict},
		"provider=calcom&reason=stale":    {},
		"from=2026-11-30&to=2026-11-30":   {create, conflict, stale},
		"from=2026-12-01":                 {},
		"to=2026-11-29":                   {},
		"range=24h":                       {create, conflict, stale},
		"booking=" + id(22).String():      {conflict},
		"show=all&reason=rescheduled":     {cancel},
		"range=nonsense&show=nonsense":    {create, conflict, stale},
		"range=30d&from=2026-11-30&to=":   {create, conflict, stale},
		"booking=" + id(21).String() + "": {stale},
	} {
		res := w.get(t, browser, "/audit?"+query)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%q: %d", query, res.StatusCode)
		}
		for _, row := range rows {
			wanted := false
			for _, x := range want {
				wanted = wanted || x == row
			}
			if strings.Contains(res.body, `href="`+row+`"`) != wanted {
				t.Errorf("%q: %s is shown: %v", query, row, !wanted)
			}
		}
		wholesome(t, res, "en")
	}
	for query, want := range map[string]string{
		"from=2026-12-01": "No refused transitions in this period", "from=2026-12-01&show=all": "No transitions in this period",
		"reason=overlap": "Nothing fits these filters",
	} {
		if res := w.get(t, browser, "/audit?"+query); !strings.Contains(res.body, want) {
			t.Errorf("%q does not say %q", query, want)
		}
	}
	for _, bad := range []string{"from=soon", "to=2026-02-30", "booking=mine", "cursor=nonsense"} {
		res := w.get(t, browser, "/audit?"+bad)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, "is not valid") {
			t.Errorf("%q: %d", bad, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	empty := newWorld(t, &records{}, nil)
	if res := empty.get(t, empty.user(t, "ayu", access.Viewer), "/audit"); !strings.Contains(res.body, "Nothing is recorded yet") {
		t.Error("an audit without anything does not say so")
	}
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	r := full()
	for range 120 {
		r.transitions = append(r.transitions, r.transitions[0])
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	path, pages := "/audit?show=rejected", 0
	for path != "" {
		res := w.get(t, browser, path)
		pages++
		path = ""
		for _, l := range links(t, res) {
			if strings.Contains(l, "cursor=") {
				path = l
			}
		}
	}
	if pages != 3 {
		t.Errorf("122 rows stand on %d pages", pages)
	}
}

// What a provider sent is for those who work with it, and without its secrets.
func TestPayloadIsForOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	paths := []string{"/audit/" + id(60).String(), "/bookings/" + id(21).String() + "?receipt=" + id(40).String()}
	for role, sees := range map[access.Role]bool{access.Viewer: false, access.Operator: true, access.Administrator: true} {
		browser := w.user(t, string(role), role)
		for _, path := range paths {
			res := w.get(t, browser, path)
			if strings.Contains(res.body, "&#34;event&#34;: &#34;invitee.created&#34;") != sees {
				t.Errorf("%s on %s sees it: %v", role, path, !sees)
			}
			if strings.Contains(res.body, "hunter2") || strings.Contains(res.body, "<script>alert") {
				t.Errorf("%s on %s: the body is shown as it came", role, path)
			}
			wholesome(t, res, "en")
		}
	}
}

func TestTransitionSaysWhatWouldHaveBeenAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/audit/"+id(64).String())
	for _, want := range []string{"canceled", "active", "What would have been allowed", "Cancel, Details, No-show", "A canceled booking never becomes active again."} {
		if !strings.Contains(res.body, want) {
			t.Errorf("there is no %q", want)
		}
	}
}
