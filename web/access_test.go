package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking/access"
)

// Who may come by each way in: everybody, who is signed in, who sees the whole
// installation, operators, administrators. It says again, by hand, what the table
// in authorize.go and that of package access come to: a change of one without the
// other fails, and so does a route that stands in neither.
var (
	everybody      = "viewer limited operator administrator anonymous"
	viewers        = "viewer limited operator administrator"
	whole          = "viewer operator administrator"
	operators      = "operator administrator"
	administrators = "administrator"
)

var ways = map[string]string{
	"POST /webhooks/:provider/:connection": everybody,
	"GET /healthz":                         everybody,
	"HEAD /healthz":                        everybody,
	"GET /readyz":                          everybody,
	"HEAD /readyz":                         everybody,
	"GET /static/:name":                    everybody,
	"GET /feeds/:token":                    everybody, // the secret decides
	"HEAD /feeds/:token":                   everybody,
	"GET /":                                everybody,
	"GET /signin":                          everybody,
	"POST /signin":                         everybody,
	"POST /signout":                        everybody,
	"GET /link/:secret":                    everybody,
	"POST /link/:secret":                   everybody,
	"GET /live":                            everybody, // tells nobody anything who is not signed in

	"GET /calendar":                         viewers,
	"GET /bookings/:id":                     viewers,
	"GET /bookings/:id/cancel-at-provider":  operators,
	"POST /bookings/:id/cancel-at-provider": operators,
	"POST /effects/:id/retry":               operators,
	"POST /effects/:id/withdraw":            operators,
	"GET /conflicts":                        viewers,
	"POST /conflicts/accept":                operators,
	"GET /audit":                            viewers,
	"GET /audit/:id":                        viewers,
	"GET /audit/export.csv":                 operators,
	"GET /audit/export.jsonl":               operators,
	"GET /deliveries":                       whole,
	"GET /deliveries/:id":                   viewers,

	"GET /deliveries/replay":               operators,
	"POST /deliveries/replay":              operators,
	"GET /deliveries/replay/:id":           operators,
	"POST /deliveries/replay/:id/run":      operators,
	"POST /deliveries/replay/:id/stop":     operators,
	"GET /connections":                     whole,
	"GET /connections/:id":                 whole,
	"GET /connections/new/:provider":       administrators,
	"POST /connections/new/:provider":      administrators,
	"POST /connections/oauth":              administrators,
	"GET /connections/oauth":               administrators,
	"POST /connections/:id/check":          operators,
	"POST /connections/:id/test":           operators,
	"POST /connections/:id/compare":        operators,
	"POST /connections/:id/runs/:run/stop": operators,
	"POST /connections/:id/import":         operators,
	"POST /connections/:id/rotate":         administrators,
	"POST /connections/:id/abandon":        administrators,
	"POST /connections/:id/finish":         administrators,
	"POST /connections/:id/forms":          administrators,
	"GET /connections/:id/disconnect":      administrators,
	"POST /connections/:id/disconnect":     administrators,

	"GET /resources":               viewers,
	"GET /resources/:id":           viewers,
	"GET /resources/unmapped":      whole,
	"POST /resources/unmapped":     operators,
	"POST /resources/:id/name":     operators,
	"POST /resources/:id/zone":     operators,
	"POST /resources/:id/overlaps": operators,
	"POST /resources/:id/split":    operators,
	"GET /resources/:id/merge":     operators,
	"POST /resources/:id/merge":    operators,

	"GET /keys":                        viewers,
	"GET /settings":                    viewers,
	"POST /settings/display":           viewers,
	"POST /settings/password":          viewers,
	"GET /settings/sessions":           viewers,
	"POST /settings/sessions/end":      viewers,
	"POST /settings/sessions/end-all":  viewers,
	"GET /alerts":                      whole,
	"POST /alerts/:id/acknowledge":     operators,
	"GET /settings/alerts":             administrators,
	"POST /settings/alerts":            administrators,
	"POST /settings/alerts/:id/remove": administrators,
	"POST /settings/alerts/:id/try":    administrators,

	"GET /settings/endpoints":                              administrators,
	"POST /settings/endpoints":                             administrators,
	"GET /settings/endpoints/:id":                          administrators,
	"POST /settings/endpoints/:id/test":                    administrators,
	"POST /settings/endpoints/:id/rotate":                  administrators,
	"POST /settings/endpoints/:id/finish":                  administrators,
	"POST /settings/endpoints/:id/switch":                  administrators,
	"POST /settings/endpoints/:id/remove":                  administrators,
	"POST /settings/endpoints/:id/messages/:message/retry": administrators,

	"GET /settings/feeds":              viewers,
	"POST /settings/feeds":             viewers,
	"POST /settings/feeds/:id/revoke":  viewers,
	"GET /settings/users":              administrators,
	"POST /settings/users":             administrators,
	"GET /settings/users/:id":          administrators,
	"POST /settings/users/:id/role":    administrators,
	"POST /settings/users/:id/limit":   administrators,
	"POST /settings/users/:id/disable": administrators,
	"POST /settings/users/:id/enable":  administrators,
	"POST /settings/users/:id/link":    administrators,
	"POST /settings/users/:id/signout": administrators,
	"POST /settings/privacy":           administrators,
	"GET /settings/erase":              administrators,
	"POST /settings/erase":             administrators,
	"POST /settings/erase/confirm":     administrators,
	"GET /settings/tokens":             administrators,
	"POST /settings/tokens":            administrators,
	"POST /settings/tokens/:id/revoke": administrators,
}

// For programs; a token is what its scope's role is, and never limited.
var apiWays = map[string]string{
	"GET /metrics":                                 whole,
	"GET /api/v1/openapi.json":                     everybody,
	"GET /api/v1/openapi.yaml":                     everybody,
	"GET /api/v1/openapi-3.0.json":                 everybody,
	"GET /api/v1/openapi-3.0.yaml":                 everybody,
	"GET /api/v1/bookings":                         viewers,
	"GET /api/v1/bookings/:id":                     viewers,
	"GET /api/v1/bookings/:id/effects":             viewers,
	"POST /api/v1/bookings/:id/accept-overlap":     operators,
	"POST /api/v1/bookings/:id/cancel-at-provider": operators,
	"POST /api/v1/effects/:id/retry":               operators,
	"POST /api/v1/effects/:id/withdraw":            operators,
	"GET /api/v1/slots":                            viewers,
	"GET /api/v1/transitions":                      viewers,
	"GET /api/v1/transitions/:id":                  viewers,
	"GET /api/v1/receipts":                         whole,
	"GET /api/v1/receipts/:id":                     whole,
	"POST /api/v1/replays":                         operators,
	"GET /api/v1/replays/:id":                      operators,
	"GET /api/v1/connections":                      whole,
	"GET /api/v1/connections/:id":                  whole,
	"GET /api/v1/resources":                        viewers,
}

// routes are all ways in that the server has.
func (w *world) routes(t *testing.T) []string {
	t.Helper()
	e, ok := w.Config.Handler.(*echo.Echo)
	if !ok {
		t.Fatalf("the server is a %T", w.Config.Handler)
	}
	var out []string
	for _, r := range e.Routes() {
		if r.Method != echo.RouteNotFound {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	slices.Sort(out)
	return out
}

// pathOf a route, of things that do not exist.
func pathOf(route string) string {
	return strings.NewReplacer(":provider", "calendly", ":id", id(250).String(), ":run", id(251).String(), ":connection", id(250).String(),
		":name", "app.css", ":secret", "none").Replace(route)
}

// status of an answer, whose body is not read: one of them never ends.
func (w *world) status(t *testing.T, c *http.Client, way, body string, header ...string) answer {
	t.Helper()
	method, route, _ := strings.Cut(way, " ")
	if body == "" && method == http.MethodPost {
		header = append(header, "Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := c.Do(w.request(t, method, pathOf(route), strings.NewReader(body), header...))
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer{Response: res}
}

func TestEveryRouteIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	routes := w.routes(t)
	for _, r := range routes {
		if ways[r] == "" && apiWays[r] == "" {
			t.Errorf("%s: say in this test who may come by it", r)
		}
	}
	for _, table := range []map[string]string{ways, apiWays} {
		for r := range table {
			if !slices.Contains(routes, r) {
				t.Errorf("%s is no route", r)
			}
		}
	}
}

// Every way in, tried by everybody: with a session, with a token of each scope, and
// with none. A session is worth nothing for programs' ways, and a token nothing for
// pages.
func TestEveryRouteByEverybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	sessions := map[string]*http.Client{
		"anonymous": w.browser(t),
		"viewer":    w.user(t, "ayu", access.Viewer), "operator": w.user(t, "budi", access.Operator), "administrator": w.user(t, "citra", access.Administrator),
		"limited": w.limited(t, "dewi", 10),
	}
	tokens := map[string]string{
		"anonymous": "", "viewer": w.token(t, access.Read), "operator": w.token(t, access.Operate), "administrator": w.token(t, access.Admin),
	}
	for _, way := range w.routes(t) {
		may, page := ways[way]
		if !page {
			may = apiWays[way]
		}
		for who, browser := range sessions {
			res := w.status(t, browser, way, "")
			allowed := strings.Contains(may, who)
			if !page {
				allowed = may == everybody // whoever is signed in
			}
			denied(t, way+" by the session of "+who, res, allowed, page, who == "anonymous" || !page)
		}
		for who, token := range tokens {
			body := ""
			var header []string
			if token != "" {
				header = append(header, "Authorization", token)
			}
			if strings.Contains(way, "/api/") && strings.HasPrefix(way, "POST") {
				body, header = `{"reason": "agreed"}`, append(header, "Content-Type", "application/json")
				if strings.Contains(way, "cancel") {
					body = `{}`
				}
			}
			allowed := strings.Contains(may, who)
			if page {
				allowed = may == everybody
			}
			denied(t, way+" with the token of "+who, w.status(t, w.browser(t), way, body, header...), allowed, page, who == "anonymous" || page)
		}
	}
}

// denied checks that an answer lets in, or keeps out in the way that the way in
// has: pages ask who is nobody to sign in.
func denied(t *testing.T, what string, res answer, allowed, page, nobody bool) {
	t.Helper()
	toSignIn := res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.Header.Get("Location"), "/signin?") ||
		res.StatusCode == http.StatusSeeOther && res.Request.Method == http.MethodPost && res.Header.Get("Location") == "/signin"
	if res.Request.URL.Path == "/signout" {
		toSignIn = false // where it leads anyway
	}
	kept := toSignIn || res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	if strings.HasPrefix(res.Request.URL.Path, "/webhooks") {
		kept = false // unsigned posts are another matter
	}
	switch {
	case allowed && kept:
		t.Errorf("%s: %d %s", what, res.StatusCode, res.Header.Get("Location"))
	case allowed && res.StatusCode >= http.StatusInternalServerError:
		t.Errorf("%s: %d", what, res.StatusCode)
	case allowed:
	case page && nobody && !toSignIn, !page && nobody && res.StatusCode != http.StatusUnauthorized, !nobody && res.StatusCode != http.StatusForbidden:
		t.Errorf("%s is let in: %d %s", what, res.StatusCode, res.Header.Get("Location"))
	}
}

// limited adds a viewer who sees some resources only.
func (w *world) limited(t *testing.T, name string, resources ...byte) *http.Client {
	t.Helper()
	browser := w.user(t, name, access.Viewer)
	limit := access.Limit{Limited: true}
	for _, n := range resources {
		limit.Resources = append(limit.Resources, id(n))
	}
	if err := w.accounts.LimitUser(t.Context(), access.System, name, limit); err != nil {
		t.Fatal(err)
	}
	return browser
}

// No form of ours can be sent from another site, whatever its route: neither by a
// browser of today, which says so, nor by an old one, which sends only an Origin.
func TestEveryFormRefusesOtherSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Administrator)
	before := len(w.store.entries())
	tried := 0
	for _, way := range w.routes(t) {
		if !strings.HasPrefix(way, "POST ") || strings.Contains(way, "/api/") || strings.Contains(way, "/webhooks/") {
			continue
		}
		tried++
		for name, header := range map[string][]string{
			"cross-site":   {"Sec-Fetch-Site", "cross-site"},
			"same-site":    {"Sec-Fetch-Site", "same-site"},
			"other origin": {"Origin", "https://evil.example"},
			"null origin":  {"Origin", "null"},
			"other port":   {"Origin", "http://slots.example:81"},
		} {
			if res := w.status(t, browser, way, "", header...); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %s: %d", way, name, res.StatusCode)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d forms", tried)
	}
	if after := len(w.store.entries()); after != before {
		t.Errorf("%d things were done", after-before)
	}
	if res := w.get(t, browser, "/settings"); res.StatusCode != http.StatusOK {
		t.Errorf("signed out by another site: %d", res.StatusCode)
	}
}

func sessionCookie(t *testing.T, w *world, browser *http.Client) string {
	t.Helper()
	at, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range browser.Jar.Cookies(at) {
		if strings.HasSuffix(c.Name, "slotkeeper_session") {
			return c.Value
		}
	}
	return ""
}

// A session that was planted in a browser is worth nothing after the sign-in, and
// one from before a change of role nothing after it.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	thief, victim := w.withPassword(t, "mallory", access.Viewer), w.browser(t)
	planted := sessionCookie(t, w, thief)
	at, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	victim.Jar.SetCookies(at, []*http.Cookie{{Name: "slotkeeper_session", Value: planted, Path: "/"}})
	if _, err := w.accounts.AddUser(t.Context(), access.System, "ayu", access.Viewer, password); err != nil {
		t.Fatal(err)
	}
	if res := w.post(t, victim, "/signin", url.Values{"username": {"ayu"}, "password": {password}}); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	own := sessionCookie(t, w, victim)
	if own == planted || own == "" {
		t.Error("the session is the one that was planted")
	}
	if res := w.get(t, thief, "/settings"); strings.Contains(res.body, "ayu") {
		t.Error("who planted it is signed in as the victim")
	}

	if err := w.accounts.SetRole(t.Context(), access.System, "ayu", access.Administrator); err != nil {
		t.Fatal(err)
	}
	old := w.browser(t)
	old.Jar.SetCookies(at, []*http.Cookie{{Name: "slotkeeper_session", Value: own, Path: "/"}})
	if res := w.get(t, victim, "/settings/users"); res.StatusCode != http.StatusOK {
		t.Errorf("the new role does not hold: %d", res.StatusCode)
	}
	if sessionCookie(t, w, victim) == own {
		t.Error("the session stays the same when the role changes")
	}
	w.store.shelf.lapse() // requests that were under way are done
	if res := w.get(t, old, "/settings"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the session from before goes on: %d", res.StatusCode)
	}
	if res := w.get(t, victim, "/settings/users"); res.StatusCode != http.StatusOK {
		t.Errorf("signed out by the change: %d", res.StatusCode)
	}
}

// Who is locked out, gets another password, or signs out everywhere is out
// everywhere, with the next request.
func TestLogoutEverywhere(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *world, access.User){
		"password": func(t *testing.T, w *world, u access.User) {
			t.Helper()
			if err := w.accounts.SetPassword(t.Context(), access.System, u.Name, "another few words"); err != nil {
				t.Fatal(err)
			}
		},
		"disabled": func(t *testing.T, w *world, u access.User) {
			t.Helper()
			if err := w.accounts.DisableUser(t.Context(), access.System, u.Name); err != nil {
				t.Fatal(err)
			}
		},
		"disabled and enabled": func(t *testing.T, w *world, u access.User) {
			t.Helper()
			if err := w.accounts.DisableUser(t.Context(), access.System, u.Name); err != nil {
				t.Fatal(err)
			}
			if err := w.accounts.EnableUser(t.Context(), access.System, u.Name); err != nil {
				t.Fatal(err)
			}
		},
		"by an administrator": func(t *testing.T, w *world, u access.User) {
			t.Helper()
			root := w.user(t, "root", access.Administrator)
			if res := w.post(t, root, "/settings/users/"+u.ID.String()+"/signout", nil); res.StatusCode != http.StatusSeeOther {
				t.Fatalf("%d", res.StatusCode)
			}
			if res := w.get(t, root, "/settings"); res.StatusCode != http.StatusOK {
				t.Errorf("the administrator is out, too: %d", res.StatusCode)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, full(), nil)
			browsers := []*http.Client{w.withPassword(t, "ayu", access.Viewer), w.browser(t)}
			w.post(t, browsers[1], "/signin", url.Values{"username": {"ayu"}, "password": {password}})
			u, err := w.store.UserByName(t.Context(), "ayu")
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range browsers {
				if res := w.get(t, b, "/settings"); res.StatusCode != http.StatusOK {
					t.Fatalf("not signed in: %d", res.StatusCode)
				}
			}
			end(t, w, u)
			for i, b := range browsers {
				if res := w.get(t, b, "/settings"); res.StatusCode != http.StatusSeeOther {
					t.Errorf("browser %d goes on: %d", i, res.StatusCode)
				}
			}
		})
	}
}

// The requests that a browser sends at the same time after a change of role all go
// on, in one session that has one new cookie; who signs out of it is out, whichever
// cookie is asked.
func TestOneSuccessorAfterAChangeOfRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	own := sessionCookie(t, w, browser)
	if err := w.accounts.SetRole(t.Context(), access.System, "ayu", access.Administrator); err != nil {
		t.Fatal(err)
	}
	const tabs = 8
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		given = map[string]bool{}
	)
	ask := func(cookie, path string) (status int, cookies []*http.Cookie) {
		r := w.request(t, http.MethodGet, path, nil)
		r.AddCookie(&http.Cookie{Name: "slotkeeper_session", Value: cookie})
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		return res.StatusCode, res.Cookies()
	}
	for range tabs {
		wait.Go(func() {
			status, cookies := ask(own, "/settings/users")
			mu.Lock()
			defer mu.Unlock()
			if status != http.StatusOK {
				t.Errorf("one of those at the same time gets %d", status)
			}
			for _, c := range cookies {
				given[c.Value] = true
			}
		})
	}
	wait.Wait()
	if len(given) != 1 || given[own] || w.store.shelf.successions() != 1 {
		t.Fatalf("%d cookies were given, %d sessions made", len(given), w.store.shelf.successions())
	}
	at, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	var heir string
	for heir = range given {
		browser.Jar.SetCookies(at, []*http.Cookie{{Name: "slotkeeper_session", Value: heir, Path: "/"}})
	}
	if res := w.post(t, browser, "/signout", nil); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d", res.StatusCode)
	}
	for name, cookie := range map[string]string{"new": heir, "old": own} {
		if status, _ := ask(cookie, "/settings"); status != http.StatusSeeOther {
			t.Errorf("after the sign-out the %s cookie gets %d", name, status)
		}
	}
}
