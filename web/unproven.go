package web

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
)

// UnprovenInterval is how often what was counted is written at most, whatever is posted.
const UnprovenInterval = 15 * time.Second

// unprovenTimeout bounds a writing.
const unprovenTimeout = 5 * time.Second

// UnprovenStore keeps the counts; *store.Store.
type UnprovenStore interface {
	AddUnproven(ctx context.Context, posts map[uuid.UUID]int, now time.Time) error
}

// Unproven counts posts that were not proven, by the connection that they came to. A
// stranger controls neither how much is remembered, for only connections that exist
// are counted, nor how often it is written.
type Unproven struct {
	store UnprovenStore
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	posts map[uuid.UUID]int
}

// NewUnproven counts; Run writes.
func NewUnproven(store UnprovenStore, now func() time.Time, log *slog.Logger) *Unproven {
	return &Unproven{store: store, now: now, log: log, posts: map[uuid.UUID]int{}}
}

// count one post to a connection that exists.
func (u *Unproven) count(connection uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.posts[connection]++
}

// Run writes at every tick what was counted since the one before, and once more when
// ctx ends.
func (u *Unproven) Run(ctx context.Context, tick <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			u.write(context.WithoutCancel(ctx))
			return nil
		case <-tick:
			u.write(ctx)
		}
	}
}

// write keeps what could not be written for the next time.
func (u *Unproven) write(ctx context.Context) {
	u.mu.Lock()
	counted := u.posts
	u.posts = map[uuid.UUID]int{}
	u.mu.Unlock()
	if len(counted) == 0 {
		return
	}
	limited, stop := context.WithTimeout(ctx, unprovenTimeout)
	defer stop()
	err := u.store.AddUnproven(limited, maps.Clone(counted), u.now())
	if err == nil {
		return
	}
	u.log.LogAttrs(ctx, slog.LevelWarn, "posts that were not proven are not written yet", slog.Any("error", err))
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, n := range counted {
		u.posts[id] += n
	}
}
