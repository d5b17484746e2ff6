package web

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Posts that are not proven: a client may fail 60 times at a connection at once,
// and then once in ten seconds; past that it gets 429.
const (
	refusalBurst = 60
	refusalEvery = 10 * time.Second
	// refusalWindow is after how long a client's count begins anew in the log.
	refusalWindow = 10 * time.Minute
)

// refusals counts failed posts by client and connection and logs them in
// summary: the first of a client, then each tenfold count, and never more than a
// line a second, so that a stranger can fill neither memory nor disk.
type refusals struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	clients  generations[refusedBy, *tries]
	lines    *rate.Limiter
	unlogged int
}

type refused struct {
	client, provider, connection, code string
}

type refusedBy struct{ client, connection string }

type tries struct {
	limit *rate.Limiter
	since time.Time
	count int
	next  int // the count at which to log
}

func newRefusals(log *slog.Logger, now func() time.Time) *refusals {
	return &refusals{log: log, now: now, lines: rate.NewLimiter(1, 30)}
}

// note counts a failure and tells whether it is past the limit.
func (r *refusals) note(ctx context.Context, f refused) (limited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	t := r.tries(refusedBy{f.client, f.connection}, now)
	t.count++
	limited = !t.limit.AllowN(now, 1)
	if t.count < t.next {
		return limited
	}
	t.next *= 10
	if !r.lines.AllowN(now, 1) {
		r.unlogged++
		return limited
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "delivery refused",
		slog.String("request_id", requestIDOf(ctx)), slog.String("provider", f.provider),
		slog.String("connection", f.connection), slog.String("client", f.client), slog.String("code", f.code),
		slog.Int("failures", t.count), slog.Bool("limited", limited), slog.Int("lines_left_out", r.unlogged))
	r.unlogged = 0
	return limited
}

// tries finds or makes the count of a client.
func (r *refusals) tries(key refusedBy, now time.Time) *tries {
	t := r.clients.get(key, func() *tries {
		return &tries{limit: rate.NewLimiter(rate.Every(refusalEvery), refusalBurst), since: now, next: 1}
	})
	if now.Sub(t.since) >= refusalWindow {
		t.since, t.count, t.next = now, 0, 1
	}
	return t
}
