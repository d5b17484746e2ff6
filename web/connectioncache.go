package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// How long connections are believed, and how long reading them may take. The
// commands beside the server change them, so it is a second and no more.
const (
	connectionsLast    = time.Second
	connectionsTimeout = 2 * time.Second
)

// connectionCache keeps all connections for a second, so that whoever posts to
// ids that do not exist, or forges signatures, causes a few reads a second and
// no more. What it does not know, and secrets that did not verify, are looked up
// again at once, within that bound: a connection that was just made works.
type connectionCache struct {
	read    func(context.Context) ([]providers.Connection, error)
	now     func() time.Time
	log     *slog.Logger
	reading singleflight.Group
	extra   *rate.Limiter

	mu     sync.Mutex
	byID   map[uuid.UUID]providers.Connection // nil before the first reading
	tried  time.Time
	failed error
}

func newConnectionCache(read func(context.Context) ([]providers.Connection, error), now func() time.Time, log *slog.Logger) *connectionCache {
	return &connectionCache{read: read, now: now, log: log, extra: rate.NewLimiter(10, 20)}
}

// get finds a connection. While the database is away it answers from what it
// knew last, and with booking.ErrUnavailable about what it did not know.
func (c *connectionCache) get(ctx context.Context, id uuid.UUID) (providers.Connection, bool, error) {
	if c.stale() {
		c.refresh(ctx)
	} else if _, found, _ := c.look(id); !found && c.extra.AllowN(c.now(), 1) {
		c.refresh(ctx)
	}
	conn, found, failed := c.look(id)
	if !found && failed != nil {
		return providers.Connection{}, false, fmt.Errorf("%w: read connections: %w", booking.ErrUnavailable, failed)
	}
	return conn, found, nil
}

// again looks up a connection whose secrets did not verify, and tells whether
// they are others now.
func (c *connectionCache) again(ctx context.Context, old providers.Connection) (providers.Connection, bool) {
	if !c.extra.AllowN(c.now(), 1) {
		return old, false
	}
	c.refresh(ctx)
	conn, found, _ := c.look(old.ID)
	return conn, found && conn.DisconnectedAt == nil && conn.Secrets != old.Secrets
}

func (c *connectionCache) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried.IsZero() || c.now().Sub(c.tried) >= connectionsLast
}

func (c *connectionCache) look(id uuid.UUID) (providers.Connection, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn, found := c.byID[id]
	return conn, found, c.failed
}

// refresh reads once for all who ask at the same time. The reading is nobody's
// own: a client that leaves does not end it for the others.
func (c *connectionCache) refresh(ctx context.Context) {
	_, _, _ = c.reading.Do("", func() (any, error) {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), connectionsTimeout)
		defer stop()
		all, err := c.read(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tried, c.failed = c.now(), err
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				c.log.LogAttrs(ctx, slog.LevelError, "connections cannot be read", slog.Any("error", err))
			}
			return nil, nil
		}
		c.byID = make(map[uuid.UUID]providers.Connection, len(all))
		for _, conn := range all {
			c.byID[conn.ID] = conn
		}
		return nil, nil
	})
}
