package web_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/web"
)

// ledger of posts that were not proven.
type unprovenLedger struct {
	mu     sync.Mutex
	writes int
	posts  map[uuid.UUID]int
	away   bool
}

func (l *unprovenLedger) AddUnproven(_ context.Context, posts map[uuid.UUID]int, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errors.New("the database is away")
	}
	l.writes++
	for id, n := range posts {
		l.posts[id] += n
	}
	return nil
}

func (l *unprovenLedger) be(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

func (l *unprovenLedger) sum() (writes int, posts map[uuid.UUID]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes, maps.Clone(l.posts)
}

// However many posts a stranger makes, and however many connections he invents, what
// is written is one number of each connection that exists, once in a while; and none
// is lost while the database is away or when the server ends.
func TestUnprovenPostsAreCounted(t *testing.T) {
	t.Parallel()
	r := full()
	ledger := &unprovenLedger{posts: map[uuid.UUID]int{}}
	unproven := web.NewUnproven(ledger, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	w := newWorld(t, r, nil, func(d *web.Deps) { d.Unproven = unproven })
	conn := r.connections[0]
	post := func(id string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/webhooks/"+conn.Provider+"/"+id, strings.NewReader(`{"forged":true}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := w.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for range 70 { // past the limit too
		if got := post(conn.ID.String()); got != http.StatusUnauthorized && got != http.StatusTooManyRequests {
			t.Fatalf("answered %d", got)
		}
	}
	for range 20 {
		post(uuid.NewString())
	}
	ctx, stop := context.WithCancel(t.Context())
	tick, done := make(chan time.Time), make(chan error)
	go func() { done <- unproven.Run(ctx, tick) }()
	ledger.be(true)
	tick <- noon
	tick <- noon // the one before is done with
	ledger.be(false)
	tick <- noon
	tick <- noon
	if writes, posts := ledger.sum(); writes != 1 || len(posts) != 1 || posts[conn.ID] != 70 {
		t.Errorf("%d writes of %v", writes, posts)
	}
	post(conn.ID.String())
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if writes, posts := ledger.sum(); writes != 2 || posts[conn.ID] != 71 {
		t.Errorf("at the end %d writes of %v", writes, posts)
	}
}
