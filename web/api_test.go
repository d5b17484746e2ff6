package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

var update = flag.Bool("update", false, "write the golden files anew")

func (w *world) token(t *testing.T, scope access.Scope) string {
	t.Helper()
	text, _, err := w.accounts.CreateToken(t.Context(), access.System, "test", scope)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

// The answers are a contract: a change here is a change for everybody's scripts.
func TestAPIGolden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	bearer := w.token(t, access.Read)
	for name, path := range map[string]string{
		"bookings": "/bookings?limit=3", "booking": "/bookings/" + id(22).String(), "tombstone": "/bookings/" + id(29).String(),
		"slots": "/slots", "transitions": "/transitions?limit=2", "transition": "/transitions/" + id(60).String(),
		"receipts": "/receipts?limit=4", "receipt": "/receipts/" + id(40).String(),
		"connections": "/connections", "connection": "/connections/" + id(1).String(), "resources": "/resources",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := w.get(t, w.Client(), "/api/v1"+path, "Authorization", bearer)
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%d %s: %s", res.StatusCode, res.Header.Get("Content-Type"), res.body)
			}
			if strings.Contains(res.body, "planted-secret") {
				t.Error("a secret shows")
			}
			var v any
			if err := json.Unmarshal([]byte(res.body), &v); err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/api/"+name+".json", append(got, '\n'))
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s", file, got)
	}
}

func TestAPIPaging(t *testing.T) {
	t.Parallel()
	r := full()
	w := newWorld(t, r, nil)
	bearer := w.token(t, access.Operate)
	var got []string
	cursor := ""
	for {
		res := w.get(t, w.Client(), "/api/v1/bookings?limit=4&cursor="+cursor, "Authorization", bearer)
		var page struct {
			Items []struct{ ID string }
			Next  *string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(res.body), &page); err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Items {
			got = append(got, b.ID)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if len(got) != len(r.bookings) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("%d of %d bookings: %v", len(got), len(r.bookings), got)
	}
}

func TestAPIRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	bearer := w.token(t, access.Admin)
	for _, path := range []string{
		"/bookings?from=yesterday", "/bookings?limit=0", "/bookings?limit=201", "/bookings?limit=many", "/bookings?resource_id=room",
		"/bookings?status=happy", "/bookings?reason=mood", "/bookings?statuz=active", "/bookings?cursor=nonsense", "/slots?status=canceled",
		"/transitions?outcome=maybe", "/receipts?status=duplicate", "/connections?connection_id=x", "/resources?resource_id=x",
	} {
		res := w.get(t, w.Client(), "/api/v1"+path, "Authorization", bearer)
		if p := problemIn(t, res); res.StatusCode != http.StatusUnprocessableEntity || p["code"] != "invalid" || p["errors"] == nil {
			t.Errorf("%s: %d %v", path, res.StatusCode, p)
		}
	}
	for _, path := range []string{"/bookings/" + id(99).String(), "/bookings/x", "/transitions/x", "/receipts/" + id(99).String(), "/connections/x"} {
		res := w.get(t, w.Client(), "/api/v1"+path, "Authorization", bearer)
		if p := problemIn(t, res); res.StatusCode != http.StatusNotFound || p["code"] != "not_found" {
			t.Errorf("%s: %d %v", path, res.StatusCode, p)
		}
	}
}

func TestAPIFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	bearer := w.token(t, access.Read)
	for path, want := range map[string]int{
		"/bookings?status=conflicted": 1, "/bookings?status=conflicted,pending": 2, "/bookings?provider=calcom": 1,
		"/bookings?resource_id=" + id(10).String(): 3, "/bookings?booking_id=" + id(21).String(): 1,
		"/bookings?from=2026-11-30T00:00:00Z&to=2026-11-30T06:00:00Z": 2, "/bookings?from=2027-01-01": 0,
		"/transitions?outcome=rejected": 2, "/transitions?reason=stale": 1, "/transitions?booking_id=" + id(23).String(): 2,
		"/receipts?status=failed": 1, "/connections?provider=generic": 2, "/resources?resource_id=" + id(10).String(): 1, "/slots?from=2027-01-01": 0,
	} {
		res := w.get(t, w.Client(), "/api/v1"+path, "Authorization", bearer)
		var page struct {
			Items []any `json:"items"`
		}
		if err := json.Unmarshal([]byte(res.body), &page); err != nil || page.Items == nil || len(page.Items) != want {
			t.Errorf("%s: %d items, want %d: %s", path, len(page.Items), want, res.body)
		}
	}
}

func TestAPITokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	session := w.user(t, "ayu", access.Administrator)
	revoked := w.token(t, access.Admin)
	w.store.mu.Lock()
	at := noon
	w.store.tokens[0].RevokedAt = &at
	w.store.mu.Unlock()
	for name, header := range map[string]string{
		"none": "", "not ours": "Bearer abc", "unknown": "Bearer slk_abc", "revoked": revoked, "another scheme": "Basic YTpi", "empty": "Bearer ",
	} {
		for _, path := range []string{"/api/v1/bookings", "/metrics"} {
			res := w.get(t, session, path, "Authorization", header)
			if p := problemIn(t, res); res.StatusCode != http.StatusUnauthorized || p["code"] != "unauthenticated" || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: %d %v", name, path, res.StatusCode, p)
			}
		}
	}
	for _, scope := range access.Scopes() {
		if res := w.get(t, w.Client(), "/api/v1/bookings", "Authorization", w.token(t, scope)); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", scope, res.StatusCode)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &records{}, nil)
	res := w.get(t, w.Client(), "/api/v1/openapi.json")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Security  any
			Responses map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(res.body), &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bookings", "/bookings/{id}", "/slots", "/transitions", "/transitions/{id}", "/receipts", "/receipts/{id}", "/connections", "/connections/{id}", "/resources"} {
		op, ok := doc.Paths["/api/v1"+path]["get"]
		if !ok || op.Responses["200"].Content["application/json"] == nil || op.Responses["default"].Content["application/problem+json"] == nil {
			t.Errorf("%s is not described: %+v", path, op)
		}
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %q", doc.OpenAPI)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := desks()
	w := newWorld(t, r, nil)
	w.deliver(t, hook, strings.NewReader("{}"), right...)
	w.deliver(t, hook, strings.NewReader("{}"), "X-Signature", "right", "X-Event-ID", "2", "X-Kind", "whatever they like")
	w.deliver(t, hook, strings.NewReader("{}"))
	w.deliver(t, "/webhooks/made-up/"+id(9).String(), strings.NewReader("{}"))
	w.metrics.Transitioned(booking.Create, booking.Applied, "")
	w.metrics.SetApplied(3)
	res := w.get(t, w.Client(), "/metrics", "Authorization", w.token(t, access.Read))
	for _, want := range []string{
		`slotkeeper_deliveries_total{kind="invitee.created",provider="generic",status="processed"} 1`,
		`slotkeeper_deliveries_total{kind="other",provider="generic",status="processed"} 1`,
		`slotkeeper_ack_seconds_count{provider="generic"} 2`,
		`slotkeeper_transitions_total{event="create",outcome="applied",reason=""} 1`,
		`slotkeeper_receipts_open{status="pending"} 2`, `slotkeeper_receipts_open{status="failed"} 0`,
		`slotkeeper_oldest_open_receipt_seconds 60`,
		`slotkeeper_signature_failures_total{provider="generic"} 1`,
		`slotkeeper_refusals_total{code="signature_missing",provider="generic"} 1`,
		`slotkeeper_refusals_total{code="connection_unknown",provider="other"} 1`,
		`slotkeeper_set_size_count 1`,
	} {
		if !strings.Contains(res.body, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	for _, no := range []string{"whatever", "made-up"} {
		if strings.Contains(res.body, no) {
			t.Errorf("a stranger's word %q is a label", no)
		}
	}
	r.fail(fmt.Errorf("away: %w", booking.ErrUnavailable))
	w.clock.pass(time.Minute)
	if res := w.get(t, w.Client(), "/metrics", "Authorization", w.token(t, access.Read)); !strings.Contains(res.body, "slotkeeper_ack_seconds_count") {
		t.Error("without the database the other metrics are gone too")
	}
}

func TestAdminListener(t *testing.T) {
	t.Parallel()
	w := newWorld(t, desks(), nil, func(d *web.Deps) { d.MetricsElsewhere = true })
	if res := w.get(t, w.Client(), "/metrics", "Authorization", w.token(t, access.Read)); res.StatusCode != http.StatusNotFound {
		t.Errorf("metrics on the main listener: %d", res.StatusCode)
	}
	admin := web.NewAdmin(w.metrics)
	for path, want := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/calendar": 404} {
		rec := httptest.NewRecorder()
		admin.ServeHTTP(rec, w.request(t, http.MethodGet, path, nil))
		if rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
}
