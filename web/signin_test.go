package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"slotkeeper/booking/access"
	"slotkeeper/web"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	w.withPassword(t, "ayu", access.Viewer)
	browser := w.browser(t)
	wholesome(t, w.get(t, browser, "/signin"), "en")

	for name, form := range map[string]url.Values{
		"wrong password": {"username": {"ayu"}, "password": {"wrong"}},
		"unknown name":   {"username": {"nobody"}, "password": {password}},
		"nothing":        {},
	} {
		res := w.post(t, browser, "/signin", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, "The name or the password is wrong.") {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
		if strings.Contains(res.body, password) {
			t.Errorf("%s: the password is shown again", name)
		}
		wholesome(t, res, "en")
	}
	if res := w.get(t, browser, "/calendar"); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/signin?next=%2Fcalendar" {
		t.Errorf("signed out: %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	res := w.post(t, browser, "/signin", url.Values{"username": {"Ayu"}, "password": {password}, "next": {"/audit?show=all"}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/audit?show=all" {
		t.Errorf("signed in: %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	cookie := res.Header.Get("Set-Cookie")
	for _, want := range []string{"slotkeeper_session=", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q has no %s", cookie, want)
		}
	}
	if res := w.get(t, browser, "/"); res.Header.Get("Location") != "/calendar" {
		t.Errorf("home leads to %q", res.Header.Get("Location"))
	}
	if res := w.get(t, browser, "/signin"); res.Header.Get("Location") != "/calendar" {
		t.Errorf("the sign-in page leads to %q", res.Header.Get("Location"))
	}
	if res := w.post(t, browser, "/signout", nil); res.Header.Get("Location") != "/signin" {
		t.Errorf("signing out leads to %q", res.Header.Get("Location"))
	}
	if res := w.get(t, browser, "/"); res.Header.Get("Location") != "/signin" {
		t.Errorf("after signing out home leads to %q", res.Header.Get("Location"))
	}
}

// Whatever a link says, signing in leads to a page of ours.
func TestSignInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for next, want := range map[string]string{
		"/audit": "/audit", "": "/calendar", "https://evil.example/": "/calendar", "//evil.example/x": "/calendar",
		`/\evil.example`: "/calendar", "/\t/evil.example": "/calendar", "javascript:alert(1)": "/calendar", "/signin?next=/signin": "/calendar",
		"evil": "/calendar", "/bookings/1?zone=UTC": "/bookings/1?zone=UTC", "%zz": "/calendar",
	} {
		if got := w.get(t, browser, "/signin?next="+url.QueryEscape(next)).Header.Get("Location"); got != want {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, w *world){
		"disabled": func(t *testing.T, w *world) {
			t.Helper()
			if err := w.accounts.DisableUser(t.Context(), access.System, "ayu"); err != nil {
				t.Fatal(err)
			}
		},
		"another password": func(t *testing.T, w *world) {
			t.Helper()
			if err := w.accounts.SetPassword(t.Context(), access.System, "ayu", "another few words"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, full(), nil)
			browser := w.user(t, "ayu", access.Viewer)
			if res := w.get(t, browser, "/calendar"); res.StatusCode != http.StatusOK {
				t.Fatalf("before: %d", res.StatusCode)
			}
			end(t, w)
			if res := w.get(t, browser, "/calendar"); res.StatusCode != http.StatusSeeOther {
				t.Errorf("after: %d", res.StatusCode)
			}
		})
	}
}

func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.browser(t)
	for range 40 {
		res := w.post(t, browser, "/signin", url.Values{"username": {"ayu"}, "password": {"guess"}})
		if res.StatusCode == http.StatusTooManyRequests {
			if res.Header.Get("Retry-After") == "" || !strings.Contains(res.body, "Too many wrong passwords. Wait 2 seconds") {
				t.Errorf("%v", res.Header)
			}
			wholesome(t, res, "en")
			return
		}
	}
	t.Error("forty guesses are not too many")
}

func TestOverTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil, func(d *web.Deps) { d.PublicURL = &url.URL{Scheme: "https", Host: "slots.example"} })
	if _, err := w.accounts.AddUser(t.Context(), access.System, "ayu", access.Viewer, password); err != nil {
		t.Fatal(err)
	}
	res := w.post(t, w.browser(t), "/signin", url.Values{"username": {"ayu"}, "password": {password}})
	cookie := res.Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-slotkeeper_session=") || !strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie is %q", cookie)
	}
	if res.Header.Get("Strict-Transport-Security") == "" {
		t.Error("browsers are not told to stay with TLS")
	}
}

// Another site's page cannot post in a signed-in browser.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	form := url.Values{"language": {"id"}, "zone": {""}}
	for name, header := range map[string][]string{
		"another site": {"Sec-Fetch-Site", "cross-site"}, "a sibling": {"Sec-Fetch-Site", "same-site"}, "an old browser": {"Origin", "https://evil.example"},
		"a hidden origin": {"Origin", "null"},
	} {
		for _, path := range []string{"/settings/display", "/settings/password", "/signout", "/signin", "/link/abc"} {
			res := w.post(t, browser, path, form, header...)
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, res.StatusCode)
			}
		}
	}
	for name, header := range map[string][]string{
		"our page": {"Sec-Fetch-Site", "same-origin"}, "our page in an old browser": {"Origin", w.URL},
		"through a proxy that changes Host": {"Origin", "http://slots.example"},
	} {
		if res := w.post(t, browser, "/settings/display", form, header...); res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
}

func TestFirstAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &records{}, nil)
	secret, err := w.accounts.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	browser, path := w.browser(t), web.LinkPath(secret)
	for range 3 { // scanners may look as often as they like
		res := w.get(t, browser, path)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, res.body)
		}
		wholesome(t, res, "en")
	}
	for _, bad := range []url.Values{
		{"username": {"ayu"}, "password": {"short"}}, {"username": {"ayu"}, "password": {""}}, {"username": {"a b"}, "password": {password}},
	} {
		res := w.post(t, browser, path, bad)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `class="error"`) || strings.Contains(res.body, password) {
			t.Errorf("%v: %d", bad, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	res := w.post(t, browser, path, url.Values{"username": {"ayu"}, "password": {password}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/calendar" {
		t.Fatalf("%d %s", res.StatusCode, res.body)
	}
	res = w.get(t, browser, "/calendar")
	if !strings.Contains(res.body, "No account is connected yet") {
		t.Error("the first page does not lead to connecting an account")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		res := w.do(t, w.browser(t), w.request(t, method, path, nil))
		if res.StatusCode != http.StatusNotFound || !strings.Contains(res.body, "does not work any more") {
			t.Errorf("%s again: %d", method, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	if strings.Contains(w.logs.String(), secret) {
		t.Error("the link stands in the log")
	}
}

func TestSignInLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	u, err := w.accounts.AddUser(t.Context(), access.System, "demo", access.Operator, "")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := w.accounts.SignInLink(t.Context(), access.System, u.ID)
	if err != nil {
		t.Fatal(err)
	}
	browser := w.browser(t)
	shown := w.get(t, browser, web.LinkPath(secret), "Accept-Language", "id")
	wholesome(t, shown, "id")
	has(t, "the link", shown.body, "Anda masuk sebagai demo.")
	hasNot(t, "the link, with nobody signed in", shown.body, "Di peramban ini")
	// It is said whom it would sign out: else somebody goes on under another name.
	has(t, "the link of another", w.get(t, w.user(t, "ayu", access.Viewer), web.LinkPath(secret)).body,
		"signs you in as demo.", "you are signed in as ayu: the link signs that account out here")
	if res := w.post(t, browser, web.LinkPath(secret), nil); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/calendar" {
		t.Fatalf("%d", res.StatusCode)
	}
	// Who has no password sets the first without giving one.
	if res := w.post(t, browser, "/settings/password", url.Values{"password": {password}}); res.Header.Get("Location") != "/settings?saved=password" {
		t.Errorf("%d %s", res.StatusCode, res.Header.Get("Location"))
	}
	if res := w.get(t, browser, "/calendar"); res.StatusCode != http.StatusOK {
		t.Errorf("after that: %d", res.StatusCode)
	}
	if res := w.post(t, w.browser(t), web.LinkPath(secret), nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("again: %d", res.StatusCode)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser, other := w.withPassword(t, "ayu", access.Viewer), w.browser(t)
	w.post(t, other, "/signin", url.Values{"username": {"ayu"}, "password": {password}})

	for field, form := range map[string]url.Values{
		"timezone": {"language": {"id"}, "zone": {"Mars/Base"}}, "language": {"language": {"tlh"}, "zone": {"UTC"}},
	} {
		res := w.post(t, browser, "/settings/display", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `class="error"`) {
			t.Errorf("%s: %d", field, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	if res := w.post(t, browser, "/settings/display", url.Values{"language": {"id"}, "zone": {"Asia/Makassar"}}); res.Header.Get("Location") != "/settings?saved=display" {
		t.Errorf("%d", res.StatusCode)
	}
	res := w.get(t, browser, "/calendar", "Accept-Language", "en")
	wholesome(t, res, "id") // the profile wins over the browser
	if !strings.Contains(res.body, "WITA") {
		t.Error("times are not the profile's zone's")
	}

	for name, form := range map[string]url.Values{
		"wrong":     {"current": {"wrong"}, "password": {"another few words"}},
		"too short": {"current": {password}, "password": {"short"}},
	} {
		res := w.post(t, browser, "/settings/password", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `class="error"`) {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
		wholesome(t, res, "id")
	}
	res = w.post(t, browser, "/settings/password", url.Values{"current": {password}, "password": {"another few words"}})
	if res.Header.Get("Location") != "/settings?saved=password" {
		t.Errorf("%d", res.StatusCode)
	}
	if res := w.get(t, browser, "/settings"); res.StatusCode != http.StatusOK {
		t.Errorf("who changed it is signed out: %d", res.StatusCode)
	}
	if res := w.get(t, other, "/settings"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the other session goes on: %d", res.StatusCode)
	}
}

func TestLargeForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	res := w.post(t, w.browser(t), "/signin", url.Values{"username": {strings.Repeat("a", 100<<10)}, "password": {"x"}})
	if res.StatusCode >= 500 || strings.Contains(res.body, strings.Repeat("a", 1000)) {
		t.Errorf("%d", res.StatusCode)
	}
}
