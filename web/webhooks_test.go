package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/web"
)

var (
	desk  = id(1)
	shut  = id(3)
	hook  = "/webhooks/generic/" + desk.String()
	right = []string{"X-Signature", "right", "X-Event-ID", "evt-1", "X-Kind", "invitee.created"}
)

func desks() *records {
	gone := noon.Add(-time.Hour)
	return &records{connections: []providers.Connection{
		{ID: desk, Provider: "generic", APIBase: desk.String(), Name: "Front desk", Secrets: providers.Secrets{Current: "right", Previous: "former"}},
		{ID: shut, Provider: "generic", APIBase: shut.String(), Name: "Old desk", Secrets: providers.Secrets{Current: "right"}, DisconnectedAt: &gone},
	}}
}

func (w *world) deliver(t *testing.T, path string, body io.Reader, header ...string) (answer, map[string]any) {
	t.Helper()
	res := w.do(t, w.Client(), w.request(t, http.MethodPost, path, body, header...))
	var fields map[string]any
	if err := json.Unmarshal([]byte(res.body), &fields); err != nil {
		t.Fatalf("%d %s: %v", res.StatusCode, res.body, err)
	}
	return res, fields
}

func TestAcknowledgement(t *testing.T) {
	t.Parallel()
	first := id(90)
	tests := map[string]struct {
		answer booking.Answer
		status int
		want   map[string]any
	}{
		"processed": {booking.Answer{Status: "processed"}, 200, map[string]any{"status": "processed"}},
		"unchanged": {booking.Answer{Status: "unchanged"}, 200, map[string]any{"status": "unchanged"}},
		"ignored":   {booking.Answer{Status: "ignored"}, 200, map[string]any{"status": "ignored"}},
		"pending":   {booking.Answer{Status: "pending"}, 202, map[string]any{"status": "pending"}},
		"waiting":   {booking.Answer{Status: "waiting"}, 202, map[string]any{"status": "waiting"}},
		"dead":      {booking.Answer{Status: "dead"}, 200, map[string]any{"status": "dead"}},
		"rejected": {
			booking.Answer{Status: "rejected", Reason: booking.ReasonIllegal},
			200,
			map[string]any{"status": "rejected", "error": "illegal_transition"},
		},
		"conflict": {
			booking.Answer{Status: "conflict", Reason: booking.ReasonOverlap},
			200,
			map[string]any{"status": "conflict", "error": "overlap"},
		},
		"failed": {
			booking.Answer{Status: "failed", Code: "time_missing", Error: "the booking has no time"},
			200,
			map[string]any{"status": "failed", "error": "time_missing: the booking has no time"},
		},
		"copy of what waits": {
			booking.Answer{Status: "duplicate", Original: "waiting", ReceiptID: first},
			200,
			map[string]any{"status": "duplicate", "original_status": "waiting", "event_id": first.String()},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got booking.Post
			w := newWorld(t, desks(), func(_ context.Context, p booking.Post) (booking.Answer, error) {
				got = p
				if tt.answer.ReceiptID == uuid.Nil {
					tt.answer.ReceiptID = p.ReceiptID
				}
				return tt.answer, nil
			})
			res, fields := w.deliver(t, hook, strings.NewReader(`{"a":1}`), append(right, "X-Request-ID", "req-7", "Authorization", "secret")...)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			if tt.want["event_id"] == nil {
				tt.want["event_id"] = got.ReceiptID.String()
			}
			tt.want["source_event_id"] = "evt-1"
			at, err := time.Parse(time.RFC3339, fmt.Sprint(fields["ack_timestamp"]))
			if err != nil || !at.Equal(noon) {
				t.Errorf("ack_timestamp is %v", fields["ack_timestamp"])
			}
			delete(fields, "ack_timestamp")
			if fmt.Sprint(fields) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", fields, tt.want)
			}
			if got.ConnectionID != desk || got.Actor != booking.ActorWebhook || string(got.Body) != `{"a":1}` || got.RequestID != "req-7" ||
				got.VerifiedBy != providers.ByCurrent || got.Signature != "right" || got.EventKey != "key|hmac" || !got.ReceivedAt.Equal(noon) ||
				got.ReceiptID.Version() != 7 || got.Header["X-Event-Id"] != "evt-1" {
				t.Errorf("the intake got %+v", got)
			}
			if _, leaks := got.Header["Authorization"]; leaks {
				t.Error("a header that may be secret is kept")
			}
			if res.Header.Get("X-Request-ID") != "req-7" {
				t.Errorf("the request id is not echoed: %v", res.Header)
			}
			line := lineOf(t, w, "delivery")
			for key, want := range map[string]string{
				"request_id": "req-7", "provider": "generic", "connection": desk.String(), "event_key": "key|hmac",
				"kind": "invitee.created", "status": string(tt.answer.Status), "reason": string(tt.answer.Reason), "attempt": "1",
			} {
				if fmt.Sprint(line[key]) != want {
					t.Errorf("the log's %s is %v, want %s", key, line[key], want)
				}
			}
		})
	}
}

// lineOf finds the one log line with the message.
func lineOf(t *testing.T, w *world, message string) map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(w.logs.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == message {
			found = append(found, fields)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines say %q:\n%s", len(found), message, w.logs.String())
	}
	return found[0]
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	with := func(h ...string) []string { return h }
	tests := map[string]struct {
		path   string
		body   io.Reader
		header []string
		status int
		code   string
	}{
		"no signature":       {hook, strings.NewReader("{}"), nil, 401, "signature_missing"},
		"wrong signature":    {hook, strings.NewReader("{}"), with("X-Signature", "wrong"), 401, "signature_invalid"},
		"old signature":      {hook, strings.NewReader("{}"), with("X-Signature", "old"), 401, "signature_too_old"},
		"no event id":        {hook, strings.NewReader("{}"), with("X-Signature", "right"), 400, "event_id_missing"},
		"unknown provider":   {"/webhooks/acme/" + desk.String(), strings.NewReader("{}"), right, 404, "connection_unknown"},
		"unknown connection": {"/webhooks/generic/" + id(99).String(), strings.NewReader("{}"), right, 404, "connection_unknown"},
		"no id":              {"/webhooks/generic/desk", strings.NewReader("{}"), right, 404, "connection_unknown"},
		"another's provider": {"/webhooks/calendly/" + desk.String(), strings.NewReader("{}"), right, 404, "connection_unknown"},
		"disconnected":       {"/webhooks/generic/" + shut.String(), strings.NewReader("{}"), right, 404, "connection_unknown"},
		"too large":          {hook, bytes.NewReader(make([]byte, 1<<20+1)), right, 413, "body_too_large"},
		"too large, unknown": {"/webhooks/generic/" + id(99).String(), bytes.NewReader(make([]byte, 1<<20+1)), right, 413, "body_too_large"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, desks(), func(context.Context, booking.Post) (booking.Answer, error) {
				t.Error("it was taken")
				return booking.Answer{}, nil
			})
			res, fields := w.deliver(t, tt.path, tt.body, tt.header...)
			if res.StatusCode != tt.status || fields["code"] != tt.code {
				t.Errorf("got %d %v, want %d %s", res.StatusCode, fields, tt.status, tt.code)
			}
			if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
			if strings.Contains(res.body+w.logs.String(), "right") {
				t.Error("a secret shows")
			}
		})
	}
}

func TestLargestBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, desks(), nil)
	if res, fields := w.deliver(t, hook, bytes.NewReader(make([]byte, 1<<20)), right...); res.StatusCode != http.StatusOK {
		t.Errorf("got %d %v", res.StatusCode, fields)
	}
}

// Ten thousand forged posts from the provider's own address leave the way open
// for the genuine one, touch the database a few times only, and the log too.
func TestForgedPostsLockNobodyOut(t *testing.T) {
	t.Parallel()
	var taken atomic.Int32
	w := newWorld(t, desks(), func(ctx context.Context, p booking.Post) (booking.Answer, error) {
		taken.Add(1)
		return accepted(ctx, p)
	})
	codes := map[int]int{}
	for range 10_000 {
		res, _ := w.deliver(t, hook, strings.NewReader("{}"), "X-Signature", "forged")
		codes[res.StatusCode]++
		if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") == "" {
			t.Fatal("429 without Retry-After")
		}
	}
	if codes[401] == 0 || codes[429] == 0 || codes[401]+codes[429] != 10_000 {
		t.Errorf("codes are %v", codes)
	}
	if res, fields := w.deliver(t, hook, strings.NewReader("{}"), right...); res.StatusCode != http.StatusOK {
		t.Errorf("the genuine one gets %d %v", res.StatusCode, fields)
	}
	if taken.Load() != 1 {
		t.Errorf("%d were taken", taken.Load())
	}
	w.records.mu.Lock()
	reads := w.records.reads
	w.records.mu.Unlock()
	if reads > 50 {
		t.Errorf("%d reads of the database", reads)
	}
	if n := strings.Count(w.logs.String(), "delivery refused"); n > 40 {
		t.Errorf("%d log lines", n)
	}
	// Another client is not held up by them, and the limit passes.
	w.clock.pass(time.Hour)
	if res, _ := w.deliver(t, hook, strings.NewReader("{}"), "X-Signature", "forged"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an hour later a forged post gets %d", res.StatusCode)
	}
}

// Strangers that try ids cause few reads, and are held up as one client.
func TestUnknownConnectionsCostLittle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, desks(), nil)
	codes := map[int]int{}
	for range 500 {
		res, _ := w.deliver(t, "/webhooks/generic/"+uuid.NewString(), strings.NewReader("{}"), right...)
		codes[res.StatusCode]++
	}
	if codes[404] == 0 || codes[429] == 0 || codes[404]+codes[429] != 500 {
		t.Errorf("codes are %v", codes)
	}
	w.records.mu.Lock()
	defer w.records.mu.Unlock()
	if w.records.reads > 30 {
		t.Errorf("%d reads of the database", w.records.reads)
	}
}

// What a command changes beside the server holds at once.
func TestConnectionsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, desks(), nil)
	change := func(f func(all []providers.Connection) []providers.Connection) {
		w.records.mu.Lock()
		defer w.records.mu.Unlock()
		w.records.connections = f(append([]providers.Connection{}, w.records.connections...))
	}
	status := func(path string, header ...string) int {
		res, _ := w.deliver(t, path, strings.NewReader("{}"), append(header, "X-Event-ID", "e")...)
		return res.StatusCode
	}
	if got := status(hook, "X-Signature", "right"); got != 200 {
		t.Fatalf("before: %d", got)
	}
	fresh := "/webhooks/generic/" + id(5).String()
	change(func(all []providers.Connection) []providers.Connection {
		all[0].Secrets = providers.Secrets{Current: "newer", Previous: "right"}
		return append(all, providers.Connection{ID: id(5), Provider: "generic", Secrets: providers.Secrets{Current: "mine"}})
	})
	if got := status(fresh, "X-Signature", "mine"); got != 200 {
		t.Errorf("a connection that was just made: %d", got)
	}
	for _, signature := range []string{"newer", "right"} {
		if got := status(hook, "X-Signature", signature); got != 200 {
			t.Errorf("signed with the %s secret while rotating: %d", signature, got)
		}
	}
	change(func(all []providers.Connection) []providers.Connection {
		gone := noon
		all[0].DisconnectedAt = &gone
		return all
	})
	w.clock.pass(2 * time.Second)
	if got := status(hook, "X-Signature", "newer"); got != 404 {
		t.Errorf("two seconds after it was disconnected: %d", got)
	}
}

// Without the database posts are answered 503, which providers take as a reason
// to try again, and forged ones are still refused.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	w := newWorld(t, desks(), func(ctx context.Context, p booking.Post) (booking.Answer, error) {
		if away.Load() {
			return booking.Answer{}, fmt.Errorf("store: dial: %w", booking.ErrUnavailable)
		}
		return accepted(ctx, p)
	})
	w.deliver(t, hook, strings.NewReader("{}"), right...)
	away.Store(true)
	w.records.fail(booking.ErrUnavailable)
	w.clock.pass(time.Minute)
	for name, path := range map[string]string{"known": hook, "not known": "/webhooks/generic/" + id(77).String()} {
		res, fields := w.deliver(t, path, strings.NewReader("{}"), right...)
		if res.StatusCode != http.StatusServiceUnavailable || fields["code"] != "unavailable" || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %v", name, res.StatusCode, fields)
		}
		if strings.Contains(res.body, "dial") {
			t.Errorf("the cause shows: %s", res.body)
		}
	}
	if res, _ := w.deliver(t, hook, strings.NewReader("{}"), "X-Signature", "forged"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a forged post gets %d", res.StatusCode)
	}
	away.Store(false)
	w.records.fail(nil)
	w.clock.pass(time.Minute)
	if res, _ := w.deliver(t, hook, strings.NewReader("{}"), right...); res.StatusCode != http.StatusOK {
		t.Errorf("back again: %d", res.StatusCode)
	}
}

func TestParserThatPanics(t *testing.T) {
	t.Parallel()
	var got booking.Post
	w := newWorld(t, desks(), func(_ context.Context, p booking.Post) (booking.Answer, error) {
		got = p
		return booking.Answer{ReceiptID: p.ReceiptID, Status: p.Status, Code: p.Code, Error: p.Error}, nil
	}, func(d *web.Deps) { d.Providers = map[string]providers.Provider{"generic": house{panics: true}} })
	res, fields := w.deliver(t, hook, strings.NewReader("{}"), right...)
	if res.StatusCode != http.StatusOK || fields["status"] != "failed" || got.EventKey == "" || got.ConnectionID != desk {
		t.Errorf("got %d %v, %+v", res.StatusCode, fields, got.Delivery)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		trusted   []netip.Prefix
		forwarded string
		want      string
	}{
		"no proxy is trusted":           {nil, "203.0.113.9", "127.0.0.1"},
		"a trusted proxy":               {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "203.0.113.9", "203.0.113.9"},
		"what the client itself claims": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		"another proxy":                 {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "203.0.113.9", "127.0.0.1"},
		"an IPv6 client counts by /64":  {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, desks(), nil, func(d *web.Deps) { d.TrustedProxies = tt.trusted })
			w.deliver(t, hook, strings.NewReader("{}"), "X-Forwarded-For", tt.forwarded)
			if got := lineOf(t, w, "delivery refused")["client"]; got != tt.want {
				t.Errorf("client is %v, want %s", got, tt.want)
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, desks(), nil)
	for given, kept := range map[string]bool{
		"req-1": true, "Root=1-67891233-abcdef012345678912345678": true, "": false, "a b": false, `{"x":1}`: false, strings.Repeat("a", 101): false,
	} {
		got := w.get(t, w.Client(), "/healthz", "X-Request-ID", given).Header.Get("X-Request-ID")
		if (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
}
