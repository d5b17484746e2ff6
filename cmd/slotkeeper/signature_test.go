package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestUnsignedIsRefused lets a stranger behind the provider's own address post
// forgeries by the thousand: none leaves a row, the log stays small, and what is
// genuine is taken all the while.
func TestUnsignedIsRefused(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, forgeries)
}

// TestRotatedKeyIsRefused changes the secrets of connections while posts come
// in: until it is finished either key verifies, afterwards only the new one.
func TestRotatedKeyIsRefused(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		for _, name := range []string{"calendly", "calcom", "generic"} {
			t.Run(name, func(t *testing.T) { rotation(t, s.connect(t, name)) })
		}
	})
}

// forgery is a way in which a post is not what it pretends to be. Its code is
// what it is told while it is not past the limit.
type forgery struct {
	provider string
	name     string
	code     string
	post     func(a connected, body []byte) ([]byte, http.Header)
}

// forgeriesOf lists them; stolen is the secret of another connection.
func forgeriesOf(stolen string) []forgery {
	out := []forgery{
		{"calendly", "an old time stamp", "signature_too_old", func(a connected, body []byte) ([]byte, http.Header) {
			return body, a.Sign(body, a.secret, time.Now().Add(-26*time.Hour))
		}},
		{"calendly", "a time stamp to come", "signature_too_old", func(a connected, body []byte) ([]byte, http.Header) {
			return body, a.Sign(body, a.secret, time.Now().Add(time.Hour))
		}},
		{"calendly", "a new time stamp on an old signature", "signature_invalid", func(a connected, body []byte) ([]byte, http.Header) {
			h := a.Sign(body, a.secret, time.Now().Add(-26*time.Hour))
			_, signature, _ := strings.Cut(h.Get("Calendly-Webhook-Signature"), ",")
			h.Set("Calendly-Webhook-Signature", fmt.Sprintf("t=%d,%s", time.Now().Unix(), signature))
			return body, h
		}},
		{"calcom", "no-secret-provided", "signature_invalid", func(_ connected, body []byte) ([]byte, http.Header) {
			return body, http.Header{"X-Cal-Signature-256": {"no-secret-provided"}}
		}},
	}
	for _, provider := range []string{"calendly", "calcom", "generic"} {
		for _, key := range [][2]string{
			{"a wrong key", "a key that was guessed by somebody"}, {"the key of another connection", stolen}, {"an empty key", ""},
		} {
			out = append(out, forgery{provider, key[0], "signature_invalid", func(a connected, body []byte) ([]byte, http.Header) {
				return body, a.Sign(body, key[1], time.Now())
			}})
		}
		out = append(out,
			forgery{provider, "no signature", "signature_missing", func(_ connected, body []byte) ([]byte, http.Header) {
				return body, http.Header{"Content-Type": {"application/json"}, "X-Event-Id": {"evt_1"}}
			}},
			forgery{provider, "an altered body", "signature_invalid", func(a connected, body []byte) ([]byte, http.Header) {
				return []byte(strings.Replace(string(body), "forged", "Forged", 1)), a.signed(body)
			}})
	}
	return out
}

func forgeries(t *testing.T, s *server) {
	const posts, genuineEvery = 10_100, 101
	accounts := s.connectAll(t)
	kinds := forgeriesOf(s.connect(t, "generic").secret)
	db := s.database(t)

	// The first booking of each makes the resources.
	day := func(i int) time.Time { return monday.Add(time.Duration(i) * time.Hour) }
	genuine := func(a connected, i int) {
		body := a.body(t, said{kind: "create", id: fmt.Sprintf("genuine-%d", i), from: day(i), at: monday})
		if got := a.deliver(t, body); got.status != http.StatusOK || got.text("status") != "processed" {
			t.Errorf("a genuine post of %s got %d %s", a.Name(), got.status, got.body)
		}
	}
	names := []string{"calendly", "calcom", "generic"}
	for i, name := range names {
		genuine(accounts[name], -1-i)
	}
	forged := func(k forgery, i int) answer {
		a := accounts[k.provider]
		body, header := k.post(a, a.body(t, said{kind: "create", id: fmt.Sprintf("forged-%d", i), from: day(i), at: monday}))
		// Nobody but a trusted proxy may say for whom it speaks.
		header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i%250))
		return ask(t, http.MethodPost, a.webhook(), body, header)
	}
	before := s.rowCounts(t, db)

	for i, k := range kinds {
		if got := forged(k, i); got.status != http.StatusUnauthorized || got.text("code") != k.code {
			t.Errorf("%s with %s got %d %s, want 401 %s", k.provider, k.name, got.status, got.body, k.code)
		}
	}
	var taken, limited atomic.Int64
	var mu sync.Mutex
	answers := map[string]int{}
	each(posts, 16, func(i int) {
		if i%genuineEvery == 0 {
			genuine(accounts[names[i/genuineEvery%len(names)]], i)
			taken.Add(1)
			return
		}
		k := kinds[i%len(kinds)]
		got := forged(k, i)
		code := got.text("code")
		switch {
		case got.status == http.StatusUnauthorized && code == k.code:
		case got.status == http.StatusTooManyRequests && code == "rate_limited" && got.header.Get("Retry-After") != "":
			limited.Add(1)
		default:
			t.Errorf("%s with %s got %d %s", k.provider, k.name, got.status, got.body)
		}
		mu.Lock()
		defer mu.Unlock()
		answers[code]++
	})
	t.Logf("%d genuine posts were taken among these refused: %v", taken.Load(), answers)
	if limited.Load() < posts*9/10 {
		t.Errorf("only %d of %d were told to slow down", limited.Load(), posts)
	}

	leftNoRow(t, before, s.rowCounts(t, db), int(taken.Load()))
	for table, text := range s.dump(t, db) {
		if strings.Contains(strings.ToLower(text), "forged") {
			t.Errorf("a forgery left something in %s", table)
		}
	}
	countedAll(t, s, posts-int(taken.Load())+len(kinds))
	s.stop(t)
	summary(t, s, len(names))
}

// leftNoRow compares the tables before and after: each genuine booking has its
// rows, and there is nothing else.
func leftNoRow(t *testing.T, before, after map[string]int, genuine int) {
	t.Helper()
	perBooking := map[string]bool{
		"webhook_receipts": true, "deliveries": true, "bookings": true, "sessions": true, "slots": true, "transitions": true,
		"session_hosts": true,
	}
	for table, n := range after {
		more := n - before[table]
		switch {
		case table == "attendances": // those of Cal.com have a list and an attendee each
		case table == "retention_runs": // the server's own, whenever it comes to it
		case perBooking[table] && more != genuine:
			t.Errorf("%s has %d more rows after %d genuine posts", table, more, genuine)
		case !perBooking[table] && more != 0:
			t.Errorf("%s has %d more rows", table, more)
		}
	}
}

// countedAll finds every forgery in the metrics.
func countedAll(t *testing.T, s *server, forged int) {
	t.Helper()
	failures, refusals := 0, 0
	for line := range strings.Lines(s.get(t, "/metrics", s.token(t, "read"))) {
		var n int
		if _, value, ok := strings.Cut(line, "} "); ok {
			_, _ = fmt.Sscan(value, &n)
		}
		switch {
		case strings.HasPrefix(line, "slotkeeper_signature_failures_total{"):
			failures += n
		case strings.HasPrefix(line, "slotkeeper_refusals_total{"):
			refusals += n
		}
	}
	if failures != forged || refusals != forged {
		t.Errorf("the metrics count %d failed signatures and %d refusals, want %d", failures, refusals, forged)
	}
}

// summary is all that the log may say of the forgeries: for each connection the
// first, and then each tenfold number.
func summary(t *testing.T, s *server, connections int) {
	t.Helper()
	refused := s.logged(t, "delivery refused")
	if n := len(refused); n < connections || n > 4*connections {
		t.Errorf("%d lines tell of forgeries", n)
	}
	most := 0.0
	for _, l := range refused {
		failures, _ := l["failures"].(float64)
		most = max(most, failures)
		if l["level"] != "WARN" || l["client"] != "127.0.0.1" || l["code"] == nil || l["provider"] == nil {
			t.Errorf("the log says %v", l)
		}
	}
	if most < 1000 {
		t.Errorf("no line sums up: the most that one counts is %v", most)
	}
	for _, l := range s.logLines(t) {
		if l["level"] == "ERROR" || l["level"] == "WARN" && l["msg"] != "delivery refused" {
			t.Errorf("the log says %v", l)
		}
	}
}

func rotation(t *testing.T, old connected) {
	next := old
	n := 0
	booked := func(a connected) answer {
		n++
		from := monday.Add(time.Duration(n) * time.Hour)
		return a.deliver(t, a.body(t, said{"create", fmt.Sprintf("%s-%d", a.id, n), from, monday, nil}))
	}
	taken := func(a connected, by string) {
		t.Helper()
		got := booked(a)
		if got.status != http.StatusOK || verifiedBy(t, a.server, got.text("event_id")) != by {
			t.Errorf("got %d %s, want it to be verified by the %s key", got.status, got.body, by)
		}
	}
	taken(old, "current")

	var out struct {
		Secret string `json:"signing_secret"`
	}
	decode(t, old.run(t, "connections", "rotate", old.id.String()), &out)
	next.secret = out.Secret
	if next.secret == "" || next.secret == old.secret {
		t.Fatal("no new secret was printed")
	}
	taken(next, "current")
	taken(old, "previous")

	if out := old.run(t, "connections", "rotate", old.id.String(), "--finish"); strings.Contains(out, next.secret) {
		t.Errorf("the secret was printed again: %s", out)
	}
	// The server may believe for a second what it knew before.
	waitFor(t, "the old key to be refused", func() error {
		if got := booked(old); got.status != http.StatusUnauthorized || got.text("code") != "signature_invalid" {
			return errors.New(string(got.body))
		}
		return nil
	})
	taken(next, "current")
	if got := booked(old); got.status != http.StatusUnauthorized {
		t.Errorf("the old key got %d after it was refused", got.status)
	}
}

func verifiedBy(t *testing.T, s *server, receipt string) string {
	t.Helper()
	var by string
	query := "SELECT verified_by FROM webhook_receipts WHERE CAST(id AS text) = '" + receipt + "'"
	if err := s.database(t).QueryRowContext(t.Context(), query).Scan(&by); err != nil {
		t.Fatal(err)
	}
	return by
}
