package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking/access"
)

var (
	linkShown  = regexp.MustCompile(`http://slots\.example(/link/[A-Za-z0-9_-]+)`)
	tokenShown = regexp.MustCompile(`slk_[A-Za-z0-9_-]+`)
	sessionRow = regexp.MustCompile(`name="session" value="([0-9a-f]{64})"`)
)

func userPath(u access.User) string { return "/settings/users/" + u.ID.String() }

func (w *world) userNamed(t *testing.T, name string) access.User {
	t.Helper()
	u, err := w.store.UserByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// An administrator adds somebody, passes the link on, and later narrows, locks out
// and lets in again what they may do, all by page; each stands in the log.
func TestManageUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	root := w.user(t, "root", access.Administrator)

	for what, form := range map[string]url.Values{
		"no name":          {"name": {""}, "role": {"viewer"}, "with": {"link"}},
		"a role of none":   {"name": {"budi"}, "role": {"king"}, "with": {"link"}},
		"no password":      {"name": {"budi"}, "role": {"viewer"}, "with": {"password"}},
		"a short password": {"name": {"budi"}, "role": {"viewer"}, "with": {"password"}, "password": {"short"}},
	} {
		res := w.post(t, root, "/settings/users", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `class="notice bad summary" role="alert" tabindex="-1" autofocus`) {
			t.Errorf("%s: %d", what, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	res := w.post(t, root, "/settings/users", url.Values{"name": {"Budi"}, "role": {"viewer"}, "with": {"link"}})
	wholesome(t, res, "en")
	m := linkShown.FindStringSubmatch(res.body)
	if res.StatusCode != http.StatusCreated || m == nil {
		t.Fatalf("%d: %s", res.StatusCode, res.body)
	}
	if res := w.post(t, root, "/settings/users", url.Values{"name": {"budi"}, "role": {"viewer"}, "with": {"link"}}); res.StatusCode != http.StatusConflict {
		t.Errorf("the name was taken twice: %d", res.StatusCode)
	}
	browser, u := w.browser(t), w.userNamed(t, "budi")
	if res := w.post(t, browser, m[1], nil); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("the link gives %d", res.StatusCode)
	}
	if strings.Contains(w.get(t, root, userPath(u)).body, "/link/") {
		t.Error("the link shows again")
	}

	did := func(path string, form url.Values, location, action string) {
		t.Helper()
		res := w.post(t, root, userPath(u)+path, form)
		if res.StatusCode != http.StatusSeeOther || !strings.HasSuffix(res.Header.Get("Location"), location) {
			t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Location"))
		}
		if e := w.store.logged(); e.Action != action || e.Subject != "user:"+u.ID.String() || !strings.HasPrefix(string(e.Actor), "user:") {
			t.Errorf("%s is logged as %+v", path, e)
		}
		wholesome(t, w.get(t, root, userPath(u)+location), "en")
	}
	did("/limit", url.Values{"sees": {"chosen"}, "resource": {id(11).String()}}, "?done=limit", access.DidLimitUser)
	if res := w.get(t, browser, "/bookings/"+id(21).String()); res.StatusCode != http.StatusNotFound {
		t.Errorf("another resource's booking: %d", res.StatusCode)
	}
	for what, form := range map[string]url.Values{
		"nothing chosen": {"sees": {"chosen"}}, "no id": {"sees": {"chosen"}, "resource": {"x"}},
	} {
		if res := w.post(t, root, userPath(u)+"/limit", form); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", what, res.StatusCode)
		}
	}
	did("/limit", url.Values{"sees": {"all"}}, "?done=limit", access.DidLimitUser)
	if res := w.get(t, browser, "/bookings/"+id(21).String()); res.StatusCode != http.StatusOK {
		t.Errorf("after the limit was lifted: %d", res.StatusCode)
	}
	did("/role", url.Values{"role": {"operator"}}, "?done=role", access.DidSetRole)
	did("/disable", nil, "?done=disabled", access.DidDisableUser)
	if res := w.get(t, browser, "/calendar"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("who is locked out goes on: %d", res.StatusCode)
	}
	if res := w.post(t, root, userPath(u)+"/disable", nil); res.StatusCode != http.StatusConflict {
		t.Errorf("locked out twice: %d", res.StatusCode)
	}
	if res := w.post(t, root, userPath(u)+"/link", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a link for who is locked out: %d", res.StatusCode)
	}
	did("/enable", nil, "?done=enabled", access.DidEnableUser)
	for _, path := range []string{"/role", "/limit", "/disable", "/enable", "/link", "/signout"} {
		for _, none := range []string{uuid.NewString(), "x"} {
			if res := w.post(t, root, "/settings/users/"+none+path, nil); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s of nobody: %d", path, res.StatusCode)
			}
		}
	}
}

// Of oneself nothing is offered that is refused, or that would throw oneself out.
func TestOwnUserPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	root := w.user(t, "root", access.Administrator)
	self := userPath(w.userNamed(t, "root"))
	own := func(offers bool) {
		t.Helper()
		page := w.get(t, root, self)
		wholesome(t, page, "en")
		has(t, "own page", page.body, `<a class="button" href="/settings">`, `<a class="button" href="/settings/sessions">`)
		for _, form := range []string{"/link", "/signout", "/disable"} {
			if strings.Contains(page.body, `action="`+self+form) {
				t.Errorf("it offers %s", form)
			}
		}
		if strings.Contains(page.body, `action="`+self+`/role`) != offers || strings.Contains(page.body, "You are the only administrator") == offers {
			t.Errorf("another role is offered: %t", !offers)
		}
	}
	own(false)
	w.user(t, "citra", access.Administrator)
	citra := userPath(w.userNamed(t, "citra"))
	own(true)
	has(t, "another's page", w.get(t, root, citra).body, citra+"/link", citra+"/disable", citra+"/role", "A one-time link signs them in")
	if res := w.post(t, root, citra+"/disable", nil); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	own(false) // who is locked out administers nothing
}

// A wrong password sends to an administrator who is none.
func TestWrongCurrentPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for _, role := range []access.Role{access.Viewer, access.Administrator} {
		browser := w.withPassword(t, "user-"+string(role), role)
		res := w.post(t, browser, "/settings/password", url.Values{"current": {"not that one"}, "password": {"another four unrelated words"}})
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("%d", res.StatusCode)
		}
		has(t, "page", res.body, "That is not your current password.")
		if strings.Contains(res.body, "An administrator can") != (role == access.Viewer) {
			t.Errorf("a %s is sent to the wrong person", role)
		}
	}
}

// A token is shown once, works at once, and is dead at once.
func TestManageTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	root := w.user(t, "root", access.Administrator)
	for what, form := range map[string]url.Values{
		"no name": {"name": {" "}, "scope": {"read"}}, "no scope": {"name": {"ci"}, "scope": {"all"}},
	} {
		res := w.post(t, root, "/settings/tokens", form)
		if res.StatusCode != http.StatusUnprocessableEntity || tokenShown.MatchString(res.body) {
			t.Errorf("%s: %d", what, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	res := w.post(t, root, "/settings/tokens", url.Values{"name": {"<b>desk</b>"}, "scope": {"read"}})
	wholesome(t, res, "en")
	secret := tokenShown.FindString(res.body)
	if res.StatusCode != http.StatusCreated || secret == "" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d: %s", res.StatusCode, res.body)
	}
	call := func() int {
		return w.do(t, w.Client(), w.request(t, http.MethodGet, "/api/v1/bookings", nil, "Authorization", "Bearer "+secret)).StatusCode
	}
	if got := call(); got != http.StatusOK {
		t.Errorf("the token gives %d", got)
	}
	page := w.get(t, root, "/settings/tokens")
	if strings.Contains(page.body, secret) || !strings.Contains(page.body, "root") {
		t.Error("it shows again, or not who made it")
	}
	revoke := "/settings/tokens/" + w.store.tokens[0].ID.String() + "/revoke"
	if res := w.post(t, root, revoke, nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("%d", res.StatusCode)
	}
	if got := call(); got != http.StatusUnauthorized {
		t.Errorf("the revoked token gives %d", got)
	}
	if res := w.post(t, root, revoke, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("revoked twice: %d", res.StatusCode)
	}
	if strings.Contains(w.logs.String(), secret) {
		t.Error("the log has the token")
	}
}

// People see where they are signed in, and end what they do not know; of others'
// sessions they learn nothing.
func TestManageSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	phone, desk := w.browser(t), w.withPassword(t, "ayu", access.Viewer)
	if res := w.post(t, phone, "/signin", url.Values{"username": {"ayu"}, "password": {password}},
		"User-Agent", "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0<script>"); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	other := w.user(t, "budi", access.Viewer)
	root := w.user(t, "root", access.Administrator)

	page := w.get(t, desk, "/settings/sessions")
	wholesome(t, page, "en")
	rows := sessionRow.FindAllStringSubmatch(page.body, -1)
	if len(rows) != 2 || !strings.Contains(page.body, "Firefox on Android") || strings.Contains(page.body, "budi") {
		t.Fatalf("%d sessions: %s", len(rows), page.body)
	}
	theirs := sessionRow.FindAllStringSubmatch(w.get(t, other, "/settings/sessions").body, -1)
	if res := w.post(t, desk, "/settings/sessions/end", url.Values{"session": {theirs[0][1]}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("another's session: %d", res.StatusCode)
	}
	onPhone := sessionCookie(t, w, phone)
	if res := w.post(t, desk, "/settings/sessions/end", url.Values{"session": {access.SessionID(onPhone)}}); res.Header.Get("Location") != "/settings/sessions?done=ended" {
		t.Errorf("%d", res.StatusCode)
	}
	if e := w.store.logged(); e.Action != access.DidEndSession {
		t.Errorf("logged %+v", e)
	}
	if res := w.get(t, phone, "/settings"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the ended session goes on: %d", res.StatusCode)
	}
	w.post(t, phone, "/signin", url.Values{"username": {"ayu"}, "password": {password}})
	if res := w.post(t, desk, "/settings/sessions/end-all", nil); res.Header.Get("Location") != "/settings/sessions?done=all" {
		t.Errorf("%d", res.StatusCode)
	}
	if here, there := w.get(t, desk, "/settings").StatusCode, w.get(t, phone, "/settings").StatusCode; here != http.StatusOK || there != http.StatusSeeOther {
		t.Errorf("here %d, there %d", here, there)
	}

	all := w.get(t, root, "/settings/sessions")
	wholesome(t, all, "en")
	if !strings.Contains(all.body, ">budi</a>") || !strings.Contains(all.body, ">ayu</a>") {
		t.Error("an administrator does not see all")
	}
	if res := w.post(t, root, "/settings/sessions/end", url.Values{"session": {theirs[0][1]}}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("%d", res.StatusCode)
	}
	if res := w.get(t, other, "/settings"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("ended by an administrator, it goes on: %d", res.StatusCode)
	}
	// One's own from the list is signing out.
	mine := sessionCookie(t, w, desk)
	if res := w.post(t, desk, "/settings/sessions/end", url.Values{"session": {access.SessionID(mine)}}); res.Header.Get("Location") != "/signin" {
		t.Errorf("%d %s", res.StatusCode, res.Header.Get("Location"))
	}
}

// What somebody chose holds from the first byte of every page: no script has to
// put it right.
func TestProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	page := w.get(t, browser, "/calendar")
	if !strings.Contains(page.body, `<html lang="en">`) || !strings.Contains(page.body, `<meta name="color-scheme" content="light dark">`) {
		t.Error("nobody chose an appearance, and it is one")
	}
	form := url.Values{"language": {"id"}, "zone": {"Asia/Jayapura"}, "first_weekday": {"0"}, "appearance": {"dark"}, "sound": {"on"}}
	if res := w.post(t, browser, "/settings/display", form); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	page = w.get(t, browser, "/calendar")
	for _, want := range []string{
		`<html lang="id" data-theme="dark">`, `<meta name="color-scheme" content="dark">`, `data-shortcuts="off"`, `data-sound="on"`, "WIT",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for what, bad := range map[string]url.Values{
		"an appearance": {"appearance": {"sepia"}}, "a first day": {"first_weekday": {"3"}}, "a day of the week": {"first_weekday": {"9"}},
	} {
		res := w.post(t, browser, "/settings/display", bad)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, "summary") {
			t.Errorf("%s that is none: %d", what, res.StatusCode)
		}
		wholesome(t, res, "id")
	}
}
