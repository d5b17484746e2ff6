package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"slotkeeper/booking/access"
)

// TestFormsComeWhole: of a form that cannot be read, or is not there, nothing is
// taken: a box that is missing would lift what it protects.
func TestFormsComeWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	root := w.user(t, "root", access.Administrator)
	w.user(t, "ayu", access.Viewer)
	user := userPath(w.userNamed(t, "ayu"))
	resource := id(11).String()
	for path, form := range map[string]url.Values{
		"/settings/privacy": {"form": {"privacy"}, "viewer_names": {"on"}},
		user + "/limit":     {"sees": {"chosen"}, "resource": {resource}},
	} {
		if res := w.post(t, root, path, form); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s gives %d", path, res.StatusCode)
		}
	}
	const form, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	for name, c := range map[string]struct {
		kind, body string
		status     int
	}{
		"JSON":           {"application/json", "{}", http.StatusUnsupportedMediaType},
		"no kind":        {"", "sees=all", http.StatusUnsupportedMediaType},
		"too long":       {form, "form=privacy&sees=all&pad=" + strings.Repeat("x", 300<<10), http.StatusRequestEntityTooLarge},
		"bad percents":   {form, "form=privacy&sees=all&pad=%zz", http.StatusBadRequest},
		"broken in half": {multipart, "--x\r\nContent-Disposition: form-data; name=\"sees\"\r\n\r\nal", http.StatusBadRequest},
		"empty":          {form, "", http.StatusUnprocessableEntity},
	} {
		for _, path := range []string{"/settings/privacy", user + "/limit"} {
			res := w.do(t, root, w.request(t, http.MethodPost, path, strings.NewReader(c.body), "Content-Type", c.kind))
			if res.StatusCode != c.status {
				t.Errorf("%s to %s gives %d, not %d", name, path, res.StatusCode, c.status)
			}
		}
	}
	hidden, err := w.accounts.Privacy(t.Context())
	if err != nil || !hidden[access.Viewer].Names {
		t.Errorf("names show again: %+v (%v)", hidden, err)
	}
	u, err := w.accounts.User(t.Context(), w.userNamed(t, "ayu").ID)
	if err != nil || !u.Limited {
		t.Errorf("the limit is gone: %+v (%v)", u, err)
	}
	// All, and some beside it, is no answer.
	if res := w.post(t, root, user+"/limit", url.Values{"sees": {"all"}, "resource": {resource}}); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("all beside some gives %d", res.StatusCode)
	} else {
		has(t, "the page", res.body, "only those that you tick")
	}
}
