package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// connecting are the values of the sets of texts about connections.
func connecting() map[string][]string {
	all := []string{"calendly", "calcom", "acuity", "generic"}
	var causes []string
	for _, c := range account.Causes() {
		causes = append(causes, string(c))
	}
	states := []string{
		string(providers.StateWorking), string(providers.StateQuiet), string(providers.StateFailing), string(providers.StateNeedsSignIn),
		string(providers.StateDisconnected),
	}
	return map[string][]string{
		"health": states, "health.help": states, "down": {string(providers.StateFailing), string(providers.StateNeedsSignIn)},
		"trouble": causes, "remedy": causes,
		"run.cause":     {"asked", "connected", "reconnected", "outage", "periodic", "registered"},
		"done":          {"connected", "reconnected", "checked", "undelivered", "remade", "comparing", "importing", "stopped", "rotated", "rotated_over", "finished", "abandoned", "disconnected", "disconnected_already", "forms_kept", "forms_dropped"},
		"connect.needs": all, "connect.what": all, "connect.lead": all, "byhand.where": all,
		"hop": {
			string(account.HopAddress), string(account.HopConnect), string(account.HopTLS), string(account.HopPost), string(account.HopAnswer),
			string(account.HopReceipt), string(account.HopAPI), string(account.HopWebhook),
		},
		"connect.key": {"calendly", "calcom", "acuity"}, "connect.key.again": {"calendly", "calcom", "acuity"}, "connect.retype": {"calendly", "calcom", "acuity"}, "connect.where": {"calendly", "calcom", "acuity"},
	}
}

func connectionPath(n byte, rest ...string) string {
	return "/connections/" + id(n).String() + strings.Join(rest, "")
}

func TestConnectionPages(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	var all []string
	for _, provider := range []string{"calendly", "calcom", "acuity", "generic"} {
		all = append(all, "/connections/new/"+provider)
	}
	all = append(all, "/connections", "/calendar", "/connections/new/calendly?id="+id(5).String(), "/connections/new/calcom?id="+id(6).String())
	for _, n := range []byte{1, 2, 3, 5, 6, 7, 8, 9} {
		all = append(all, connectionPath(n), connectionPath(n, "?done=connected"), connectionPath(n, "?done=rotated"))
		if n != 3 {
			all = append(all, connectionPath(n, "/disconnect"))
		}
	}
	browser := w.user(t, "ayu", access.Administrator)
	for _, lang := range []string{"en", "id"} {
		for _, path := range all {
			t.Run(lang+" "+path, func(t *testing.T) {
				t.Parallel()
				res := w.get(t, browser, path, "Accept-Language", lang)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("status %d: %s", res.StatusCode, res.body)
				}
				wholesome(t, res, lang)
			})
		}
	}
}

func TestConnectionsSayHowTheyAre(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	viewer := w.user(t, "tono", access.Viewer)
	list := w.get(t, viewer, "/connections").body
	has(t, "the list", list, "Working", "Quiet", "Failing", "Key no longer accepted", "Disconnected", "maren.oduya@harbourclinic.example",
		"3 in a row", `The provider has trouble of its own`, `<q class="said" lang="en">&lt;b&gt;bold&lt;/b&gt; trouble</q>`, "41 at the provider, 40 here, 1 different", "gone at the provider since",
		"250 bookings read, 240 changes here, <span class=\"bad\">1 conflict</span>", "to be entered by hand; waiting for the first delivery", "30 Nov 2026, 09:00 WIB")
	hasNot(t, "a viewer's list", list, "/connections/new/")
	one := w.get(t, viewer, connectionPath(5)).body
	has(t, "a connection", one, `<a href="/resources/`+id(10).String()+`">Consulting room</a>`, "Nobody yet", "no resource",
		`<a href="/bookings/`+id(23).String()+`">`, "/scheduled_events/YY", "Not allowed", "Import", "by schedule", "1 conflict</span>")
	hasNot(t, "a viewer's page", one, "<form method=\"post\" action=\"/connections", "planted-secret")
	operator := w.get(t, w.user(t, "rani", access.Operator), connectionPath(5)).body
	has(t, "an operator's page", operator, connectionPath(5, "/check"), connectionPath(5, "/import"))
	hasNot(t, "an operator's page", operator, connectionPath(5, "/disconnect"), connectionPath(5, "/rotate"))
}

func TestDownConnectionsShowEverywhere(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	admin := w.user(t, "ayu", access.Administrator)
	has(t, "the conflicts", w.get(t, admin, "/conflicts").body, "Quay", "its key or token is no longer accepted. Bookings may be missing since", "30 Nov 2026, 09:00 WIB",
		`<strong>Quay</strong> (Acuity)`, `<a href="/connections/new/acuity?id=`+id(7).String()+`">Connect again<`, "Mole", "Dock", "3 connections do not work",
		`<strong>Mole</strong> (Cal.com): it cannot be asked`, `<strong>Dock</strong> (Calendly): its webhooks do not all arrive. Bookings have come late since`, `<a href="`+connectionPath(6)+`">See what to do<`)
	// The calendar says it once, with whose bookings may be missing.
	page := w.get(t, admin, "/calendar").body
	has(t, "the calendar", page, "No data from Quay since", "Acuity no longer accepts its key or token.",
		`<a href="/connections/new/acuity?id=`+id(7).String()+`">Connect again<`, "No data from Mole", "It is tried again by itself.", "Webhooks from Dock do not all arrive since", "3 connections do not work",
		`<a href="`+connectionPath(6)+`">See what to do<`)
	hasNot(t, "the calendar", page, "its key or token is no longer accepted. Bookings")
	viewer := w.user(t, "rani", access.Viewer)
	for _, path := range []string{"/bookings/" + id(21).String(), "/conflicts", "/audit", "/deliveries", "/resources"} {
		body := w.get(t, viewer, path).body
		has(t, path, body, "Quay</strong> (Acuity): its key or token is no longer accepted", `<a href="`+connectionPath(7)+`">See what to do<`)
		hasNot(t, path, body, "/connections/new/")
	}
	page = w.get(t, viewer, "/calendar").body
	has(t, "a viewer's calendar", page, "No data from Quay since", `<a href="`+connectionPath(7)+`">See what to do<`)
	hasNot(t, "a viewer's calendar", page, "/connections/new/")
	page = w.get(t, w.limited(t, "tia", 10), "/calendar").body
	has(t, "the calendar of who sees one resource", page, "No data from Quay since", "Tell an administrator if it stays so.")
	hasNot(t, "the calendar of who sees one resource", page, "See what to do<", "/connections/")
	hasNot(t, "the connections, whose cards say it", w.get(t, viewer, "/connections").body, "See what to do<")
	whole := newWorld(t, full(), nil)
	hasNot(t, "a whole house", whole.get(t, whole.user(t, "ayu", access.Viewer), "/calendar").body, "not work", "may be missing")
}

func hasNot(t *testing.T, what, body string, none ...string) {
	t.Helper()
	for _, text := range none {
		if strings.Contains(body, text) {
			t.Errorf("%s has %q", what, text)
		}
	}
}

func TestConnecting(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.FixedZone("WIB", 7*3600))
	for name, tt := range map[string]struct {
		provider string
		form     url.Values
		want     account.Request
	}{
		"calendly": {
			"calendly",
			url.Values{"key": {" typed-token "}, "day": {"2026-11-01"}, "subscribe": {"yes"}, "connection_name": {"Harbour 2"}},
			account.Request{Name: "Harbour 2", APIBase: "https://api.calendly.com", API: providers.Credentials{Token: "typed-token"}, Subscribe: true, From: &day},
		},
		"calcom of our own": {
			"calcom",
			url.Values{"key": {"cal_x"}, "api_url": {"https://Cal.Example.org/api/v2/"}},
			account.Request{APIBase: "https://cal.example.org/api/v2", API: providers.Credentials{Token: "cal_x"}},
		},
		"acuity": {
			"acuity",
			url.Values{"user": {"123"}, "key": {"typed-key"}, "subscribe": {"yes"}},
			account.Request{APIBase: "https://acuityscheduling.com", API: providers.Credentials{User: "123"}, Secret: "typed-key", Subscribe: true},
		},
		"again": {
			"calendly",
			url.Values{"id": {id(5).String()}, "key": {"typed-token"}, "subscribe": {"yes"}},
			account.Request{ID: id(5), APIBase: "https://api.calendly.com", API: providers.Credentials{Token: "typed-token"}, Subscribe: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := connectWorld(t)
			browser := w.user(t, "ayu", access.Administrator)
			res := w.post(t, browser, "/connections/new/"+tt.provider, tt.form)
			if res.StatusCode != http.StatusSeeOther {
				t.Fatalf("status %d: %s", res.StatusCode, res.body)
			}
			got := k.asked[0]
			if tt.want.From != nil && (got.From == nil || !got.From.Equal(*tt.want.From)) {
				t.Errorf("from %v", got.From)
			}
			by := got.By
			got.From, got.By, tt.want.From, tt.want.Provider = nil, "", nil, tt.provider
			if got != tt.want || !strings.HasPrefix(string(by), "user:") {
				t.Errorf("asked for %+v by %s", got, by)
			}
			page := w.get(t, browser, res.Header.Get("Location"))
			wholesome(t, page, "en")
			has(t, "the result", page.body, "Connected", "It is the account of Maren Oduya (maren.oduya@harbourclinic.example).", "3 hosts can be booked in it.")
			hasNot(t, "the result", page.body, "typed-", "cal_x", "made-for")
			if last := w.store.logged(); last.Action != access.DidConnect && last.Action != access.DidReconnect || strings.Contains(strings.Join(values(last.Detail), " "), "typed-") {
				t.Errorf("logged %+v", last)
			}
		})
	}
}

func values(m access.Facts) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestConnectingFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fails  error
		status int
		texts  []string
	}{
		"wrong key":  {&providers.AnswerError{Status: 401, Message: "Invalid <token>"}, 422, []string{"The key or token is not accepted.", "Copy it again", "Invalid &lt;token&gt;"}},
		"forbidden":  {&providers.AnswerError{Status: 403, Message: "Upgrade"}, 422, []string{"may not do this", "Upgrade"}},
		"away":       {context.DeadlineExceeded, 422, []string{"No answer came."}},
		"later":      {&providers.LaterError{After: time.Minute, Err: errors.New("429")}, 422, []string{"asks to come back later"}},
		"trouble":    {&providers.AnswerError{Status: 500}, 422, []string{"trouble of its own"}},
		"private":    {&providers.AddressError{Host: "cal.local"}, 422, []string{"SLOTKEEPER_ALLOW_PRIVATE_HOSTS"}},
		"another":    {&booking.InvalidError{Field: "account", Detail: "x"}, 422, []string{"This is another account", `href="#key"`}},
		"database":   {booking.ErrUnavailable, 503, []string{"The database cannot be reached"}},
		"unheard of": {errors.New("a surprise"), 422, []string{"Something unexpected"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := connectWorld(t)
			k.fails = tt.fails
			form := url.Values{"key": {"typed-token"}, "connection_name": {"Pier <5>"}, "day": {"2026-11-01"}}
			res := w.post(t, w.user(t, "ayu", access.Administrator), "/connections/new/calcom", form)
			if res.StatusCode != tt.status {
				t.Fatalf("status %d: %s", res.StatusCode, res.body)
			}
			wholesome(t, res, "en")
			has(t, "the form", res.body, tt.texts...)
			if tt.status != http.StatusServiceUnavailable {
				has(t, "the form", res.body, `value="Pier &lt;5&gt;"`, `value="2026-11-01"`)
				hasNot(t, "the form", res.body, `name="subscribe" value="yes" checked`)
			}
			hasNot(t, "the form", res.body, "typed-token", "a surprise")
			hasNot(t, "the log", w.logs.String(), "typed-token")
		})
	}
	w, k := connectWorld(t)
	browser := w.user(t, "ayu", access.Administrator)
	for path, form := range map[string]url.Values{
		"/connections/new/calendly": {}, "/connections/new/acuity": {"key": {"x"}}, "/connections/new/calcom": {"key": {"x"}, "api_url": {"ftp://x"}},
		"/connections/new/generic": {"connection_name": {strings.Repeat("x", 101)}},
	} {
		res := w.post(t, browser, path, form)
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s gives %d", path, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	for _, day := range []string{"2027-01-01", "1066-01-01", "soon"} {
		res := w.post(t, browser, "/connections/new/calcom", url.Values{"key": {"x"}, "day": {day}})
		has(t, day, res.body, "Give a day that has come.")
	}
	if len(k.asked) > 0 {
		t.Error("a form that is not right was sent on")
	}
	for _, path := range []string{"/connections/new/nothing", "/connections/new/calendly?id=" + id(6).String(), connectionPath(200)} {
		if res := w.get(t, browser, path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s gives %d", path, res.StatusCode)
		}
	}
}

// A secret that a person has to enter somewhere shows once, to whoever made it.
func TestSecretsShowOnce(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	k.manual = &providers.ManualError{Why: "your plan has no webhooks", Said: "your plan has no webhooks", Where: "Settings"}
	browser, other := w.user(t, "ayu", access.Administrator), w.user(t, "rani", access.Administrator)
	to := w.post(t, browser, "/connections/new/calcom", url.Values{"key": {"x"}, "subscribe": {"yes"}}).Header.Get("Location")
	hasNot(t, "another's page", w.get(t, other, to).body, "made-for-calcom")
	first := w.get(t, browser, to)
	wholesome(t, first, "en")
	has(t, "the first look", first.body, "made-for-calcom", "your plan has no webhooks", "Subscriber URL", "Waiting for the first delivery.", "http://slots.example/webhooks/calcom/"+id(77).String())
	second := w.get(t, browser, to).body
	hasNot(t, "the second look", second, "made-for-calcom")
	has(t, "the second look", second, "was shown once")

	// Connecting again has the provider's reason, and not the secret.
	w.post(t, browser, "/connections/new/calcom", url.Values{"id": {id(77).String()}, "key": {"x"}, "subscribe": {"yes"}})
	again := w.get(t, browser, to).body
	has(t, "connected again", again, "your plan has no webhooks")
	hasNot(t, "connected again", again, "made-for-calcom", "kept</code>")
	w.records.change(t, id(77), func(c *providers.Connection) { c.Secrets.Current = "made-for-calcom" })

	// Rotating one that was entered by hand shows the new one once, too.
	res := w.post(t, browser, connectionPath(77, "/rotate"), nil)
	made, err := w.records.Connection(t.Context(), id(77))
	if err != nil || made.Secrets.Previous != "made-for-calcom" {
		t.Fatalf("%v %v", made.Secrets, err)
	}
	page := w.get(t, browser, res.Header.Get("Location"))
	wholesome(t, page, "en")
	has(t, "the new secret", page.body, made.Secrets.Current, "Finish when the sender signs with the new one")
	if res := w.post(t, browser, connectionPath(77, "/rotate"), nil); res.StatusCode != http.StatusConflict {
		t.Errorf("a second rotation gives %d", res.StatusCode)
	}
	// One that was lost on its way is gone back from; the sender still signs with it.
	w.post(t, browser, connectionPath(77, "/abandon"), nil)
	if back, _ := w.records.Connection(t.Context(), id(77)); back.Secrets != (providers.Secrets{Current: "made-for-calcom"}) {
		t.Errorf("after going back: %v", back.Secrets)
	}
	w.post(t, browser, connectionPath(77, "/rotate"), nil)
	w.post(t, browser, connectionPath(77, "/finish"), nil)
	if made, _ = w.records.Connection(t.Context(), id(77)); made.Secrets.Previous != "" {
		t.Error("the old secret is still there")
	}
	w.post(t, browser, connectionPath(77, "/rotate"), nil)
	w.clock.pass(11 * time.Minute)
	hasNot(t, "too late", w.get(t, browser, connectionPath(77)).body, mustConnection(t, w, 77).Secrets.Current)
}

func mustConnection(t *testing.T, w *world, n byte) providers.Connection {
	t.Helper()
	c, err := w.records.Connection(t.Context(), id(n))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConnectGeneric(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	browser := w.user(t, "ayu", access.Administrator)
	res := w.post(t, browser, "/connections/new/generic", url.Values{"connection_name": {"Front office"}})
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("status %d: %s", res.StatusCode, res.body)
	}
	page := w.get(t, browser, res.Header.Get("Location"))
	wholesome(t, page, "en")
	w.records.mu.Lock()
	made := w.records.connections[len(w.records.connections)-1]
	w.records.mu.Unlock()
	if made.APIBase != made.ID.String() || made.Name != "Front office" || len(made.Secrets.Current) < 40 {
		t.Errorf("made %+v", made)
	}
	has(t, "the page", page.body, made.Secrets.Current, "openssl dgst", "/webhooks/generic/"+made.ID.String())
}

func TestSignInAtProvider(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	browser := w.user(t, "ayu", access.Administrator)
	begin := func(form url.Values) url.Values {
		t.Helper()
		res := w.post(t, browser, "/connections/oauth", form)
		to, found := strings.CutPrefix(res.Header.Get("Refresh"), "0; url=")
		u, err := url.Parse(to)
		if res.StatusCode != http.StatusOK || !found || err != nil || u.Host != "auth.example" {
			t.Fatalf("status %d, to %q: %s", res.StatusCode, to, res.body)
		}
		if !strings.Contains(res.body, "Go to") {
			t.Error("there is no link for browsers that do not go by themselves")
		}
		return u.Query()
	}
	form := url.Values{"provider": {"calendly"}, "connection_name": {"Harbour 3"}, "day": {"2026-11-01"}, "subscribe": {"yes"}}
	q := begin(form)
	if q.Get("redirect_uri") != "http://slots.example/connections/oauth" || len(q.Get("state")) < 40 || len(q.Get("verifier")) < 43 {
		t.Errorf("sent %v", q)
	}
	finish := func(b *http.Client, query url.Values) answer {
		t.Helper()
		return w.get(t, b, "/connections/oauth?"+query.Encode())
	}
	res := finish(browser, url.Values{"code": {"c-1"}, "state": {q.Get("state")}})
	if res.StatusCode != http.StatusSeeOther || k.redeemed.Get("verifier") != q.Get("verifier") || k.redeemed.Get("code") != "c-1" {
		t.Fatalf("status %d, redeemed %v: %s", res.StatusCode, k.redeemed, res.body)
	}
	if got := k.asked[0]; got.Name != "Harbour 3" || got.API.Refresh == "" || got.Secret != "app-signing-key" || got.From == nil || !got.Subscribe {
		t.Errorf("asked for %+v", got)
	}

	spent := func(name string, res answer) {
		t.Helper()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s gives %d", name, res.StatusCode)
		}
		wholesome(t, res, "en")
		has(t, name, res.body, "That sign-in does not count any more")
	}
	spent("a second use", finish(browser, url.Values{"code": {"c-1"}, "state": {q.Get("state")}}))
	q = begin(form)
	spent("another state", finish(browser, url.Values{"code": {"c"}, "state": {"x"}}))
	spent("after another state", finish(browser, url.Values{"code": {"c"}, "state": {q.Get("state")}}))
	q = begin(form)
	spent("another browser", finish(w.user(t, "rani", access.Administrator), url.Values{"code": {"c"}, "state": {q.Get("state")}}))
	w.clock.pass(10 * time.Minute)
	spent("too late", finish(browser, url.Values{"code": {"c"}, "state": {q.Get("state")}}))
	q = begin(form)
	denied := finish(browser, url.Values{"error": {"access_denied"}, "state": {q.Get("state")}})
	wholesome(t, denied, "en")
	has(t, "denied", denied.body, "The access was not allowed at Calendly.", `value="Harbour 3"`)
	q = begin(form)
	has(t, "an error", finish(browser, url.Values{"error": {"server_error"}, "error_description": {"<oops>"}, "state": {q.Get("state")}}).body, "&lt;oops&gt;")

	// Acuity's posts are signed with the API key: it comes along, and stands in the
	// session only sealed.
	has(t, "without the key", w.post(t, browser, "/connections/oauth", url.Values{"provider": {"acuity"}}).body, "Enter the key or token.")
	q = begin(url.Values{"provider": {"acuity"}, "key": {"typed-key"}})
	sessions, ok := k.sessions.(scs.IterableStore)
	if !ok {
		t.Fatal("the sessions cannot be listed")
	}
	stored, err := sessions.All()
	if err != nil || len(stored) == 0 {
		t.Fatal(len(stored), err)
	}
	for _, b := range stored {
		hasNot(t, "the stored session", string(b), "typed-key", q.Get("verifier"), q.Get("state"))
	}
	finish(browser, url.Values{"code": {"code-of-the-second"}, "state": {q.Get("state")}})
	if got := k.asked[len(k.asked)-1]; got.Provider != "acuity" || got.Secret != "typed-key" || got.API.Token == "" {
		t.Errorf("asked for %+v", got)
	}
	// A key that signs nothing of this account is told of in words, and typed anew.
	for said, wrong := range map[string]error{
		"The sign-in was accepted, but the API key was not": &providers.KeyError{Err: &providers.AnswerError{Status: 401, Message: "Unauthorized"}},
		"another account’s than the one":                    &providers.KeyError{Foreign: true},
	} {
		q = begin(url.Values{"provider": {"acuity"}, "key": {"typed-key"}})
		k.fails = wrong
		refused := finish(browser, url.Values{"code": {"code-of-the-second"}, "state": {q.Get("state")}})
		k.fails = nil
		if refused.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", said, refused.StatusCode)
		}
		wholesome(t, refused, "en")
		has(t, "another key", refused.body, said)
		hasNot(t, "another key", refused.body, "typed-key")
	}
	if res := w.post(t, browser, "/connections/oauth", url.Values{"provider": {"calcom"}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("without an app: %d", res.StatusCode)
	}
	hasNot(t, "the log", w.logs.String(), "typed-key", "planted-secret", "code-of-the-second", q.Get("state"))
}

func TestConnectionActions(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	k.finding = account.Finding{Connection: mustConnection(t, w, 5)}
	operator, admin := w.user(t, "rani", access.Operator), w.user(t, "ayu", access.Administrator)
	do := func(b *http.Client, n byte, what string, form url.Values) answer {
		t.Helper()
		return w.post(t, b, connectionPath(n, "/"+what), form)
	}
	for what, did := range map[string]string{"check": "check", "compare": "reconcile asked"} {
		k.did = nil
		if res := do(operator, 5, what, nil); res.StatusCode != http.StatusSeeOther || !slices.Equal(k.did, []string{did}) {
			t.Errorf("%s gives %d, did %v", what, res.StatusCode, k.did)
		}
	}
	k.did, k.finding.Remade = nil, true
	if do(operator, 5, "check", nil); !slices.Equal(k.did, []string{"check", "reconcile registered"}) {
		t.Errorf("did %v", k.did)
	}
	k.finding = account.Finding{Err: &providers.AnswerError{Status: 401, Message: "no more"}}
	res := do(admin, 5, "check", nil)
	wholesome(t, res, "en")
	has(t, "a check that fails", res.body, "not accepted", "no more", "Connect again")

	k.did = nil
	if res := do(operator, 5, "import", url.Values{"day": {"2026-10-01"}}); res.StatusCode != http.StatusSeeOther || !slices.Equal(k.did, []string{"backfill asked"}) {
		t.Errorf("import gives %d, did %v", res.StatusCode, k.did)
	}
	if last := w.store.logged(); last.Action != access.DidImportConnection || last.Subject != "connection:"+id(5).String() {
		t.Errorf("logged %+v", last)
	}
	res = do(operator, 5, "import", url.Values{"day": {""}})
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("no day gives %d", res.StatusCode)
	}
	wholesome(t, res, "en")

	for _, what := range []string{"rotate", "finish", "disconnect"} {
		if res := do(operator, 5, what, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("an operator's %s gives %d", what, res.StatusCode)
		}
	}
	viewer := w.user(t, "tono", access.Viewer)
	for _, what := range []string{"check", "compare", "import", "rotate", "finish", "disconnect"} {
		if res := do(viewer, 5, what, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("a viewer's %s gives %d", what, res.StatusCode)
		}
		res := do(admin, 3, what, nil)
		if what == "disconnect" { // the second of two who do it is told that it is done
			if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != connectionPath(3, "?done=disconnected_already") {
				t.Errorf("disconnected again: %d, %s", res.StatusCode, to)
			}
			continue
		}
		if res.StatusCode != http.StatusConflict {
			t.Errorf("%s of a disconnected one gives %d", what, res.StatusCode)
		}
		wholesome(t, res, "en")
		has(t, what, res.body, "This account is disconnected. Connect it again first.")
	}
	if res := w.get(t, operator, "/connections/new/calendly"); res.StatusCode != http.StatusForbidden {
		t.Errorf("an operator's form gives %d", res.StatusCode)
	}
	if res := do(admin, 7, "rotate", nil); res.StatusCode != http.StatusConflict {
		t.Errorf("rotating Acuity's key gives %d", res.StatusCode)
	}
	if do(admin, 5, "finish", nil); mustConnection(t, w, 5).Secrets.Previous != "" {
		t.Error("the rotation is not finished")
	}
	k.did = nil
	if do(admin, 5, "rotate", nil); !slices.Equal(k.did, []string{"rotate"}) {
		t.Errorf("did %v", k.did)
	}
	k.left = &providers.AnswerError{Status: http.StatusInternalServerError}
	res = do(admin, 6, "disconnect", nil)
	wholesome(t, res, "en")
	has(t, "what is left", res.body, "A webhook may be left at Cal.com", "The provider has trouble of its own.", "/webhooks/calcom/"+id(6).String())
	if last := w.store.logged(); last.Action != access.DidDisconnect || last.Detail["webhook"] != "left" {
		t.Errorf("logged %+v", last)
	}
}

// What follows by itself is marked, and ends when there is nothing to follow.
func TestConnectionPageFollows(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	browser := w.user(t, "ayu", access.Viewer)
	live := regexp.MustCompile(`id="live-[a-z]+" data-live`)
	for n, want := range map[byte]bool{5: true, 8: true, 6: false, 1: false} {
		if got := live.MatchString(w.get(t, browser, connectionPath(n)).body); got != want {
			t.Errorf("connection %d is followed: %v", n, got)
		}
	}
	w.records.change(t, id(8), func(c *providers.Connection) { c.LastDeliveryAt = &noon })
	if live.MatchString(w.get(t, browser, connectionPath(8)).body) {
		t.Error("it is followed although its first delivery came")
	}
}

func TestConnectionMetric(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	res := w.get(t, w.browser(t), "/metrics", "Authorization", w.token(t, access.Read))
	for n, up := range map[byte]string{5: "1", 6: "0", 7: "0", 8: "1", 9: "0"} {
		has(t, "metrics", res.body, `slotkeeper_connection_up{connection="`+id(n).String()+`"} `+up)
		since := `slotkeeper_connection_down_since_seconds{connection="` + id(n).String() + `"} `
		if up == "0" {
			has(t, "metrics", res.body, since+"1.")
		} else {
			hasNot(t, "metrics", res.body, since)
		}
	}
	hasNot(t, "metrics", res.body, id(3).String())
}
