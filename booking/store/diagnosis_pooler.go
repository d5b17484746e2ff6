package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// Pooling is what something between us and PostgreSQL does to our sessions. The
// store's session settings, its prepared statements and the lock of the
// migrations need a session of their own.
type Pooling struct {
	// Shared says that two connections had one session between them.
	Shared bool
	// Moved says that a connection was given another session.
	Moved bool
	// LocksLost says that a lock was not held against another connection,
	// SettingsLost that a setting was not kept or reached another connection,
	// StatementsLost that a prepared statement was forgotten.
	LocksLost, SettingsLost, StatementsLost bool
	// StartupRefused is why our settings were not taken when we connected.
	StartupRefused string
}

// Broken tells whether any of it was found.
func (p Pooling) Broken() bool { return p != Pooling{} }

// heldUp is how long a pooler with too few sessions may keep us waiting.
const heldUp = 3 * time.Second

// Pooling tries what a session must keep, on two connections in turn. A pooler in
// transaction mode gives both of them the session that is free.
func (d *Diagnosis) Pooling(ctx context.Context) (p Pooling, err error) {
	if d.startupRefused != nil {
		p.StartupRefused = d.startupRefused.Error()
	}
	one, err := d.db.Conn(ctx)
	if err != nil {
		return p, classify(err)
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	two, err := d.db.Conn(ctx)
	if err != nil {
		return p, classify(err)
	}
	defer func() { err = errors.Join(err, two.Close()) }()

	first, err := backend(ctx, one)
	if err != nil {
		return p, classify(err)
	}
	second, err := backend(ctx, two)
	if err != nil {
		return p, classify(err)
	}
	p.Shared = first == second
	if err := p.tryLock(ctx, one, two); err != nil {
		return p, classify(err)
	}
	if err := p.trySetting(ctx, one, two); err != nil {
		return p, classify(err)
	}
	return p, classify(p.tryMove(ctx, one, two))
}

func backend(ctx context.Context, c *sql.Conn) (pid int, err error) {
	err = c.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return pid, err
}

// tryLock: of two sessions only one may have the lock.
func (p *Pooling) tryLock(ctx context.Context, one, two *sql.Conn) error {
	key := rand.Int64() //nolint:gosec // G404: any number that nobody else uses
	for _, c := range []*sql.Conn{one, two} {
		var got bool
		if err := c.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil {
			return err
		}
		if c == two && got {
			p.LocksLost = true
		}
	}
	for _, c := range []*sql.Conn{one, two, one} {
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_unlock_all()"); err != nil {
			return err
		}
	}
	return nil
}

// trySetting: what one session sets must stay with it, and reach no other.
func (p *Pooling) trySetting(ctx context.Context, one, two *sql.Conn) error {
	name := fmt.Sprintf("slotkeeper-doctor-%d", rand.Int32()) //nolint:gosec // G404: to tell it from others
	if _, err := one.ExecContext(ctx, "SELECT set_config('application_name', $1, false)", name); err != nil {
		return err
	}
	for _, c := range []*sql.Conn{two, one} {
		var set string
		if err := c.QueryRowContext(ctx, "SELECT current_setting('application_name')").Scan(&set); err != nil {
			return err
		}
		if (set == name) != (c == one) {
			p.SettingsLost = true
		}
	}
	_, err := one.ExecContext(ctx, "RESET application_name")
	return err
}

const statement = "slotkeeper_doctor"

// tryMove keeps the second connection in a transaction: a pooler must then give
// the first another session, which does not know what it prepared.
func (p *Pooling) tryMove(ctx context.Context, one, two *sql.Conn) error {
	before, err := backend(ctx, one)
	if err != nil {
		return err
	}
	err = one.Raw(func(c any) error {
		_, err := c.(*stdlib.Conn).Conn().Prepare(ctx, statement, "SELECT 1") //nolint:errcheck // the driver is ours
		return err
	})
	if err != nil {
		p.StatementsLost = true
	}
	tx, err := two.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if _, err := tx.ExecContext(ctx, "SELECT 1"); err != nil {
		return err
	}
	within, stop := context.WithTimeout(ctx, heldUp)
	defer stop()
	after, err := backend(within, one)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		p.Moved = true // there is no session left for it
		return nil
	case err != nil:
		return err
	}
	p.Moved = before != after
	err = one.Raw(func(c any) error {
		var n int
		return c.(*stdlib.Conn).Conn().QueryRow(ctx, statement).Scan(&n) //nolint:errcheck // the driver is ours
	})
	if err != nil {
		p.StatementsLost = true
	}
	return nil
}
