package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// Whoever opens a connection that does not work finds what happened and the one
// button that mends it, unless somebody else has to press it.
func TestDeadConnectionsLeadToTheirCure(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	w.records.change(t, id(9), func(c *providers.Connection) { c.API.Refresh = "planted-secret" }) // its webhook is gone
	since := noon.Add(-time.Hour)
	for n, provider := range map[byte]string{5: "calendly", 8: "calcom"} {
		w.records.change(t, id(n), func(c *providers.Connection) {
			c.Provider, c.API.Refresh = provider, "planted-secret"
			c.Health = providers.Health{FailingSince: &since, Failures: 1, NeedsSignIn: true}
		})
	}
	again := func(provider string, n byte) string {
		return `<a class="button primary" href="/connections/new/` + provider + `?id=` + id(n).String() + `">Connect again<`
	}
	check := func(n byte) string {
		return `action="` + connectionPath(n, "/check") + `" data-busy="One moment …"><button class="primary">Check now<`
	}
	signIn := `action="/connections/oauth" data-busy="One moment …"><input type="hidden" name="provider" value="calendly"><input type="hidden" name="id" value="` + id(5).String()
	for name, tt := range map[string]struct {
		n     byte
		role  access.Role
		has   []string
		lacks []string
	}{
		"a key that ended":         {7, access.Administrator, []string{"Acuity no longer accepts", again("acuity", 7)}, []string{"Sign in again"}},
		"for an operator":          {7, access.Operator, []string{"Acuity no longer accepts", "An administrator can do that."}, []string{"/connections/new/"}},
		"a sign-in that ended":     {5, access.Administrator, []string{signIn, ">Sign in again with Calendly</button>", "Use a token instead"}, nil},
		"an app that is no more":   {8, access.Administrator, []string{again("calcom", 8)}, []string{"Sign in again"}},
		"a webhook that is gone":   {9, access.Administrator, []string{"The webhook at Calendly is not whole", check(9), "Connect again"}, nil},
		"no answer":                {6, access.Operator, []string{"Cal.com could not be asked", check(6)}, []string{"/connections/new/"}},
		"no answer, for a viewer":  {6, access.Viewer, []string{"Cal.com could not be asked"}, []string{"<button class=\"primary\"", "/connections/new/"}},
		"one that nothing is with": {1, access.Administrator, nil, []string{`class="cure"`}},
	} {
		browser := w.user(t, "user-"+strings.ReplaceAll(name, " ", ".")[:6]+string(tt.role)+string(rune('a'+tt.n)), tt.role)
		page := w.get(t, browser, connectionPath(tt.n))
		wholesome(t, page, "en")
		has(t, name, page.body, tt.has...)
		hasNot(t, name, page.body, tt.lacks...)
	}
	list := w.get(t, w.user(t, "ayu", access.Administrator), "/connections").body
	has(t, "the list", list, again("acuity", 7), check(9), check(6))
}

// A key that is not right says what to do, and the browser begins in its field.
func TestWrongKeysAreBlamed(t *testing.T) {
	t.Parallel()
	form := url.Values{"key": {"typed-token"}, "user": {"12"}, "day": {"2026-11-01"}}
	for name, tt := range map[string]struct {
		provider string
		err      error
		field    string
	}{
		"calendly, wrong key":      {"calendly", &providers.AnswerError{Status: 401}, "key"},
		"acuity, wrong key":        {"acuity", &providers.AnswerError{Status: 401}, "key"},
		"may not":                  {"calcom", &providers.AnswerError{Status: 403}, "key"},
		"another account":          {"calendly", &booking.InvalidError{Field: "account", Detail: "is another"}, "key"},
		"no API there":             {"calcom", providers.ErrGone, "api_url"},
		"no answer":                {"calcom", context.DeadlineExceeded, "api_url"},
		"the provider's own fault": {"calcom", &providers.AnswerError{Status: 503}, ""},
		"no answer of Calendly":    {"calendly", context.DeadlineExceeded, ""},
		"nobody knows":             {"calendly", errors.New("odd"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := connectWorld(t)
			k.fails = tt.err
			res := w.post(t, w.user(t, "ayu", access.Administrator), "/connections/new/"+tt.provider, form)
			wholesome(t, res, "en")
			if res.StatusCode != http.StatusUnprocessableEntity {
				t.Fatalf("status %d", res.StatusCode)
			}
			if got := strings.Count(res.body, " autofocus"); got != len(strings.Fields(tt.field)) {
				t.Errorf("%d fields have the focus", got)
			}
			if tt.field == "" {
				return
			}
			_, field, _ := strings.Cut(res.body, `<input id="`+tt.field+`"`)
			field, _, _ = strings.Cut(field, ">")
			has(t, "the field", field, `aria-invalid="true"`, " autofocus", "aria-describedby=")
			has(t, "the page", res.body, `href="#`+tt.field+`"`)
		})
	}
}

// A selftest shows every hop and from where it was sent, and stands in the log.
func TestSelfTestPage(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	k.hops = []account.Hop{
		{Name: account.HopAddress, OK: true, Found: account.FoundPrivate, Values: map[string]string{"Host": "slots.example", "Addresses": "10.0.0.1"}, Detail: "in English"},
		{Name: account.HopPost, OK: true, Found: account.FoundPosted, Values: map[string]string{"Status": "502"}, Remedy: "in English"},
		{Name: account.HopAnswer, Found: account.FoundNotOurs, Values: map[string]string{"Status": "502"}, Said: "<b>bold</b> Bad Gateway", Detail: "in English", Remedy: "in English"},
	}
	operator := w.user(t, "ayu", access.Operator)
	for _, lang := range []string{"en", "id"} {
		page := w.post(t, operator, connectionPath(5, "/test"), nil, "Accept-Language", lang)
		if page.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", page.StatusCode, page.body)
		}
		wholesome(t, page, lang)
		for _, found := range []string{"slots.example", "10.0.0.1", "502", "Bad Gateway"} {
			has(t, lang, page.body, found)
		}
		if strings.Contains(page.body, "in English") {
			t.Errorf("%s: a hop's own text shows", lang)
		}
	}
	page := w.post(t, operator, connectionPath(5, "/test"), nil)
	has(t, "the page", page.body, "The self-test failed at: Answer", "not from the provider", "Address", `data-live="`+connectionPath(5)+`"`)
	if last := w.store.logged(); last.Action != access.DidTestConnection || last.Subject != "connection:"+id(5).String() || last.Detail["ok"] != "false" || last.Detail["failed_at"] != "answer" {
		t.Errorf("logged %+v", last)
	}
	k.hops = k.hops[:2]
	has(t, "all well", w.post(t, operator, connectionPath(5, "/test"), nil).body, "The self-test came through")
	if last := w.store.logged(); last.Detail["ok"] != "true" {
		t.Errorf("logged %+v", last)
	}
	for path, want := range map[string]int{connectionPath(3, "/test"): http.StatusConflict, connectionPath(99, "/test"): http.StatusNotFound} {
		if res := w.post(t, operator, path, nil); res.StatusCode != want {
			t.Errorf("%s gives %d", path, res.StatusCode)
		}
	}
	before := len(k.did)
	if res := w.post(t, w.user(t, "budi", access.Viewer), connectionPath(5, "/test"), nil); res.StatusCode != http.StatusForbidden || len(k.did) != before {
		t.Errorf("a viewer's is answered %d, did %v", res.StatusCode, k.did)
	}
}

// A run under way can be stopped by who may begin one, and only there.
func TestStopRun(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	operator := w.user(t, "ayu", access.Operator)
	stop := connectionPath(5, "/runs/"+id(91).String()+"/stop")
	has(t, "the page", w.get(t, operator, connectionPath(5)).body, `action="`+stop+`"`)
	viewer := w.user(t, "budi", access.Viewer)
	hasNot(t, "a viewer's page", w.get(t, viewer, connectionPath(5)).body, "/stop")
	for name, tt := range map[string]struct {
		who  *http.Client
		path string
		want int
	}{
		"a viewer":               {viewer, stop, http.StatusForbidden},
		"of another connection":  {operator, connectionPath(6, "/runs/"+id(91).String()+"/stop"), http.StatusNotFound},
		"one that is not there":  {operator, connectionPath(5, "/runs/"+id(98).String()+"/stop"), http.StatusNotFound},
		"one that has ended":     {operator, connectionPath(5, "/runs/"+id(92).String()+"/stop"), http.StatusConflict},
		"none":                   {operator, connectionPath(5, "/runs/x/stop"), http.StatusNotFound},
		"of one that is no more": {operator, connectionPath(3, "/runs/"+id(91).String()+"/stop"), http.StatusConflict},
		"of what does not exist": {operator, connectionPath(99, "/runs/"+id(91).String()+"/stop"), http.StatusNotFound},
	} {
		if res := w.post(t, tt.who, tt.path, nil); res.StatusCode != tt.want || len(k.did) > 0 {
			t.Errorf("%s: %d, did %v", name, res.StatusCode, k.did)
		}
	}
	res := w.post(t, operator, stop, nil)
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != connectionPath(5, "?done=stopped") {
		t.Fatalf("%d, %s", res.StatusCode, to)
	}
	if last := w.store.logged(); last.Action != access.DidStopRun || last.Detail["run"] != id(91).String() {
		t.Errorf("logged %+v", last)
	}
	page := w.get(t, operator, connectionPath(5, "?done=stopped"))
	wholesome(t, page, "en")
	has(t, "afterwards", page.body, "It is stopped.", "stopped</span>")
	hasNot(t, "afterwards", page.body, "/stop\"")
}

// Who connects an account to a server that its provider cannot reach is told so
// before he wonders why nothing comes.
func TestUnreachablePublicURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://localhost:8080": "only works on this machine", "http://10.0.0.4": "is on a private network", "http://slots.example.org": "is without TLS",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			r := linked()
			w := newWorld(t, r, nil, func(d *web.Deps) {
				d.PublicURL = u
				d.Providers = map[string]providers.Provider{"generic": house{}, "calendly": api{name: "calendly", base: "https://api.calendly.com"}}
			})
			browser := w.user(t, "ayu", access.Administrator)
			for _, path := range []string{"/connections", "/connections/new/calendly", connectionPath(5)} {
				page := w.get(t, browser, path)
				wholesome(t, page, "en")
				has(t, path, page.body, want, "SLOTKEEPER_PUBLIC_URL=https://", "<code>"+address)
			}
			local := strings.Contains(address, "localhost") // a sender of one's own may be as near as that
			if generic := w.get(t, browser, "/connections/new/generic").body; strings.Contains(generic, "SLOTKEEPER_PUBLIC_URL") != local {
				t.Error("the form of a generic sender warns wrongly")
			}
			hasNot(t, "a connection that has ended", w.get(t, browser, connectionPath(3)).body, "SLOTKEEPER_PUBLIC_URL")
		})
	}
}
