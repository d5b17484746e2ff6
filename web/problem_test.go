package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		status int
		code   string
		detail string
		retry  string
	}{
		"not found":        {fmt.Errorf("store: %w", booking.ErrNotFound), 404, "not_found", "", ""},
		"unavailable":      {fmt.Errorf("store: %w", booking.ErrUnavailable), 503, "unavailable", "", "5"},
		"too slow":         {fmt.Errorf("store: %w", context.DeadlineExceeded), 503, "unavailable", "", "5"},
		"invalid":          {fmt.Errorf("store: %w", &booking.InvalidError{Field: "limit", Detail: "is too large"}), 422, "invalid", "limit: is too large", ""},
		"conflict":         {&booking.ConflictError{Detail: "it is taken"}, 409, "conflict", "it is taken", ""},
		"throttled":        {&access.ThrottledError{RetryAfter: 1500 * time.Millisecond}, 429, "rate_limited", "", "2"},
		"anything else":    {errors.New("sql: a secret in an error"), 500, "internal", "", ""},
		"a fence":          {&booking.FenceError{Constraint: "a secret in an error"}, 500, "internal", "", ""},
		"somebody's own":   {fmt.Errorf("wrapped: %w", errors.New("a secret in an error")), 500, "internal", "", ""},
		"a canceled query": {fmt.Errorf("store: %w", context.Canceled), 500, "internal", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, full(), nil)
			browser := w.user(t, "ayu", access.Viewer)
			bearer := w.token(t, access.Read)
			w.records.fail(tt.err)

			res := w.get(t, w.Client(), "/api/v1/bookings", "Authorization", bearer)
			p := problemIn(t, res)
			if res.StatusCode != tt.status || p["code"] != tt.code || res.Header.Get("Retry-After") != tt.retry {
				t.Errorf("API: %d %v, Retry-After %q", res.StatusCode, p, res.Header.Get("Retry-After"))
			}
			if detail, _ := p["detail"].(string); detail != tt.detail {
				t.Errorf("detail is %q, want %q", detail, tt.detail)
			}
			shown := res.body
			res = w.get(t, browser, "/calendar")
			if res.StatusCode != tt.status || res.Header.Get("Retry-After") != tt.retry {
				t.Errorf("page: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
			}
			wholesome(t, res, "en")
			if strings.Contains(shown+res.body, "a secret in an error") {
				t.Error("the cause shows")
			}
			if told := strings.Contains(res.body, "give this number"); told != (tt.status != http.StatusNotFound) {
				t.Errorf("a number to report it by: %v", told)
			}
			if logged := strings.Contains(w.logs.String(), "request failed"); logged != (tt.status >= 500) {
				t.Errorf("logged is %v", logged)
			}
		})
	}
}

func problemIn(t *testing.T, res answer) map[string]any {
	t.Helper()
	if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q", got)
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(res.body), &p); err != nil {
		t.Fatalf("%s: %v", res.body, err)
	}
	code := fmt.Sprint(p["code"])
	if p["type"] != "urn:slotkeeper:problem:"+code || p["title"] == "" || p["title"] == nil || fmt.Sprint(p["status"]) != fmt.Sprint(res.StatusCode) ||
		p["request_id"] != res.Header.Get("X-Request-ID") {
		t.Errorf("problem is %v", p)
	}
	return p
}

func TestProblemsOfRouting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	tests := []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/api/v1/nothing", 404, "not_found"},
		{"GET", "/api", 404, "not_found"},
		{"POST", "/api/v1/bookings", 405, "method_not_allowed"},
		{"GET", hook, 405, "method_not_allowed"},
		{"POST", "/webhooks/generic", 404, "not_found"},
		{"DELETE", "/healthz", 405, "method_not_allowed"},
	}
	for _, tt := range tests {
		res := w.do(t, w.Client(), w.request(t, tt.method, tt.path, nil))
		if p := problemIn(t, res); res.StatusCode != tt.status || p["code"] != tt.code {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, res.StatusCode, p)
		}
	}
	for method, status := range map[string]int{"GET": 404, "HEAD": 404} {
		res := w.do(t, w.Client(), w.request(t, method, "/nothing", nil))
		if res.StatusCode != status {
			t.Errorf("%s /nothing: %d", method, res.StatusCode)
		}
		if method == "GET" {
			wholesome(t, res, "en")
		}
	}
}

// Whoever is signed in stays in the frame that they know, in their language, wherever a
// link leads; and is shown the way on that helps.
func TestProblemsKeepTheFrame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser, stranger := w.user(t, "ayu", access.Operator), w.browser(t)
	w.post(t, browser, "/settings/display", url.Values{"language": {"id"}, "zone": {"Asia/Makassar"}, "appearance": {"dark"}})
	unknown := "/bookings/" + id(98).String()
	for path, tt := range map[string]struct {
		status int
		want   []string
	}{
		"/nothing":                       {404, []string{"Halaman itu tidak ada", `<a class="button" href="/">Ke kalender</a>`}},
		"/nothing?q=%00":                 {422, []string{"alamat"}},
		"/settings/display":              {405, []string{`<a class="button" href="/">Ke kalender</a>`}},
		unknown:                          {404, []string{"Pemesanan itu tidak ada", `href="/calendar#q"`}},
		unknown + "/cancel-at-provider":  {404, []string{"Pemesanan itu tidak ada", `href="/calendar#q"`}},
		"/bookings/half":                 {404, []string{"Pemesanan itu tidak ada"}},
		"/resources/" + id(98).String():  {404, []string{"Halaman itu tidak ada"}},
		web.LinkPath("long-since-spent"): {404, []string{"Anda sudah masuk sebagai ayu"}},
	} {
		res := w.get(t, browser, path)
		if res.StatusCode != tt.status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		wholesome(t, res, "id")
		has(t, path, res.body, append(tt.want, `href="/conflicts"`, `data-theme="dark"`, "Asia/Makassar")...)
	}
	for path, want := range map[string]string{"/nothing": "There is no such page", web.LinkPath("long-since-spent"): "if you have a password"} {
		res := w.get(t, stranger, path)
		wholesome(t, res, "en")
		has(t, path, res.body, want, `<a class="button" href="/signin">Sign in</a>`)
		hasNot(t, path, res.body, `href="/conflicts"`, "not_found")
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	bearer := w.token(t, access.Read)
	w.records.mu.Lock()
	w.records.panics = true
	w.records.mu.Unlock()
	for _, res := range []answer{w.get(t, browser, "/bookings/"+id(21).String()), w.get(t, w.Client(), "/api/v1/bookings", "Authorization", bearer)} {
		if res.StatusCode != http.StatusInternalServerError || strings.Contains(res.body, "a secret in a panic") {
			t.Errorf("%d %s", res.StatusCode, res.body)
		}
	}
	if !strings.Contains(w.logs.String(), "a secret in a panic") {
		t.Error("the panic is not logged")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		if res := w.get(t, w.Client(), path); res.StatusCode != http.StatusOK || strings.TrimSpace(res.body) != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, res.body)
		}
		if res := w.do(t, w.Client(), w.request(t, http.MethodHead, path, nil)); res.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, res.StatusCode)
		}
	}
	w.records.fail(errors.New("disk full"))
	if res := w.get(t, w.Client(), "/readyz"); res.StatusCode != http.StatusOK {
		t.Errorf("within the second the answer holds, got %d", res.StatusCode)
	}
	w.clock.pass(2 * time.Second)
	res := w.get(t, w.Client(), "/readyz")
	if p := problemIn(t, res); res.StatusCode != http.StatusServiceUnavailable || p["code"] != "unavailable" || strings.Contains(res.body, "disk full") {
		t.Errorf("not writable: %d %v", res.StatusCode, p)
	}
	if res := w.get(t, w.Client(), "/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("alive all the same, got %d", res.StatusCode)
	}
}
