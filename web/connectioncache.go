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

// connectionCache keeps which connections there are, and the secrets of those
// that are posted to, for a second: whoever posts to ids that do not exist, or
// forges signatures, causes a few reads a second and no more. What it does not
// know, and secrets that did not verify, are looked up again at once within that
// bound, so that a connection that was just made, or changed, works.
type connectionCache struct {
	records connectionRecords
	now     func() time.Time
	log     *slog.Logger
	reading singleflight.Group
	extra   *rate.Limiter

	mu      sync.Mutex
	ids     map[uuid.UUID]bool // nil before the first reading
	listed  time.Time          // when that was tried
	failed  error              // why the last reading of the list failed
	secrets map[uuid.UUID]heldConnection
}

// heldConnection is a connection with its secrets, as of a time.
type heldConnection struct {
	providers.Connection
	tried time.Time
	known bool
}

func newConnectionCache(records connectionRecords, now func() time.Time, log *slog.Logger) *connectionCache {
	return &connectionCache{
		records: records, now: now, log: log, extra: rate.NewLimiter(10, 20),
		secrets: map[uuid.UUID]heldConnection{},
	}
}

// get finds a connection. While the database is away it answers from what it
// knew last, and with booking.ErrUnavailable about what it did not know.
func (c *connectionCache) get(ctx context.Context, id uuid.UUID) (providers.Connection, bool, error) {
	if c.listStale() {
		c.readList(ctx)
	} else if there, _ := c.exists(id); !there && c.extra.AllowN(c.now(), 1) {
		c.readList(ctx)
	}
	there, err := c.exists(id)
	if !there {
		if err != nil {
			return providers.Connection{}, false, fmt.Errorf("%w: read connections: %w", booking.ErrUnavailable, err)
		}
		return providers.Connection{}, false, nil
	}
	held := c.held(id)
	if !held.known || c.now().Sub(held.tried) >= connectionsLast {
		if err = c.read(ctx, id); errors.Is(err, booking.ErrNotFound) {
			return providers.Connection{}, false, nil
		}
		held = c.held(id)
	}
	if !held.known {
		return providers.Connection{}, false, fmt.Errorf("%w: read a connection: %w", booking.ErrUnavailable, err)
	}
	return held.Connection, true, nil
}

// again looks up a connection whose secrets did not verify, and tells whether
// they are others now.
func (c *connectionCache) again(ctx context.Context, old providers.Connection) (providers.Connection, bool) {
	if !c.extra.AllowN(c.now(), 1) || c.read(ctx, old.ID) != nil {
		return old, false
	}
	held := c.held(old.ID)
	return held.Connection, held.known && held.DisconnectedAt == nil && held.Secrets != old.Secrets
}

func (c *connectionCache) listStale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed.IsZero() || c.now().Sub(c.listed) >= connectionsLast
}

func (c *connectionCache) exists(id uuid.UUID) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[id], c.failed
}

func (c *connectionCache) held(id uuid.UUID) heldConnection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secrets[id]
}

// once reads once for all who ask at the same time. The reading is nobody's own:
// a client that leaves does not end it for the others.
func (c *connectionCache) once(ctx context.Context, key string, read func(context.Context) error) error {
	_, err, _ := c.reading.Do(key, func() (any, error) {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), connectionsTimeout)
		defer stop()
		err := read(ctx)
		if err != nil && !errors.Is(err, booking.ErrNotFound) {
			c.log.LogAttrs(ctx, slog.LevelError, "connections cannot be read", slog.Any("error", err))
		}
		return nil, err
	})
	return err
}

func (c *connectionCache) readList(ctx context.Context) {
	_ = c.once(ctx, "", func(ctx context.Context) error { // kept as c.failed
		all, err := booking.Everything(ctx, c.records.Connections)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listed, c.failed = c.now(), err
		if err != nil {
			return err
		}
		c.ids = make(map[uuid.UUID]bool, len(all))
		for _, conn := range all {
			c.ids[conn.ID] = true
		}
		return nil
	})
}

func (c *connectionCache) read(ctx context.Context, id uuid.UUID) error {
	return c.once(ctx, id.String(), func(ctx context.Context) error {
		conn, err := c.records.Connection(ctx, id)
		c.mu.Lock()
		defer c.mu.Unlock()
		held := c.secrets[id]
		held.tried = c.now()
		if err == nil {
			held.Connection, held.known = conn, true
		}
		c.secrets[id] = held
		return err
	})
}
