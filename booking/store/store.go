// Package store keeps what package booking decides, on PostgreSQL or SQLite: it
// is the only place with GORM and SQL. It loads what a set of deliveries
// touches, lets booking.Decide judge, and saves the outcome in the same
// transaction; it holds no rule of its own.
//
// There is one writer. Every transaction that writes receipts, bookings, slots
// or transitions first locks the one row of ledger, so that writes are one
// line, in the order of commits. Readers never wait for it. The constraints of
// the schema stay as the last fence, against whoever does not take the lock.
//
// Row types are apart from domain types and unexported, each with toDomain and
// its opposite beside it. Times are UTC in microseconds.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// Store is a database. It is safe for concurrent use.
type Store struct {
	dialect migrations.Dialect
	// On SQLite the writer is one connection, so that transactions queue here
	// and not on the file's lock; the readers are others, which never write. On
	// PostgreSQL both are the same pool.
	write *gorm.DB
	read  *gorm.DB
	close func() error
	vault *vault.Vault
	ways  ways
	// people were erased: what comes about them is kept without them.
	people erasedPeople
	// enqueue asks for work on receipts in the transaction that stores them.
	enqueue func(ctx context.Context, tx *sql.Tx, receipts []uuid.UUID) error
	// refetch asks for another fetch of what replays opened, and of settled receipts.
	refetch func(ctx context.Context, tx *sql.Tx, replay uuid.UUID, opened, settled []uuid.UUID) error
	// wake asks for work on effects in the transaction that stores them.
	wake func(ctx context.Context, tx *sql.Tx, lanes []booking.Lane) error
}

// Options of Open.
type Options struct {
	// Vault seals raw bodies and secrets. Required.
	Vault *vault.Vault
	// MaxConns limits the connections of a PostgreSQL pool, or the readers on
	// SQLite; 0 means 10.
	MaxConns int
	// Patience is how long another process's lock on SQLite is waited for; 0 means 5
	// seconds. Who commits in between lets the other wait without an order.
	Patience time.Duration
}

// QueueWith has every receipt that something is left to be done about handed to
// f in the transaction that stores it. Call it before anything is applied.
func (s *Store) QueueWith(f func(ctx context.Context, tx *sql.Tx, receipts []uuid.UUID) error) {
	s.enqueue = f
}

// Queue lends the writer's connections to the job queue.
func (s *Store) Queue() (*sql.DB, error) { return s.write.DB() }

const defaultMaxConns = 10

// Open opens a database that is migrated already (Migrate) and proves that it
// can be reached. url is postgres://…, or sqlite:PATH, or a path of an SQLite
// file, which is made when missing.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Vault == nil {
		return nil, errors.New("store: a vault is required: bodies and secrets are never stored in clear")
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns
	}
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	a.patience = o.Patience
	s := &Store{dialect: a.dialect, vault: o.Vault, ways: ways{dialect: a.dialect}}
	if a.dialect == migrations.Postgres {
		err = s.openPostgres(ctx, a, o.MaxConns)
	} else {
		err = s.openSQLite(ctx, a, o.MaxConns)
	}
	if err != nil {
		return nil, fmt.Errorf("store: open the database: %w", classify(err))
	}
	return s, nil
}

// Close waits for nobody: what is under way fails.
func (s *Store) Close() error { return s.close() }

// Dialect is the kind of database.
func (s *Store) Dialect() migrations.Dialect { return s.dialect }

// inTx runs fn in one transaction of the writer. An error of fn, or a panic,
// rolls it back. The error comes back classified.
func (s *Store) inTx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return classify(s.write.WithContext(ctx).Transaction(fn))
}

// standInLine has a transaction stand in the writers' line. SQLite's have begun with
// its lock.
func standInLine(tx *gorm.DB, d migrations.Dialect) error {
	if d != migrations.Postgres {
		return nil
	}
	return tx.Exec("SELECT 1 FROM ledger WHERE id = 1 FOR UPDATE").Error
}

// reader starts a query outside of any transaction.
func (s *Store) reader(ctx context.Context) *gorm.DB { return s.read.WithContext(ctx) }

// Migrate brings the database up to this binary's schema and says how many
// migrations that took. Several processes may do so at once.
func Migrate(ctx context.Context, url string) (int, error) {
	n := 0
	err := withPlain(url, func(db *sql.DB, d migrations.Dialect) (err error) {
		n, err = migrations.Up(ctx, db, d)
		return err
	})
	return n, err
}

// MigrationStatus lists the migrations and when each was applied.
func MigrationStatus(ctx context.Context, url string) ([]migrations.Migration, error) {
	var out []migrations.Migration
	err := withPlain(url, func(db *sql.DB, d migrations.Dialect) (err error) {
		out, err = migrations.Status(ctx, db, d)
		return err
	})
	return out, err
}

// withPlain lends connections without timeouts, which a long migration would hit.
func withPlain(url string, fn func(*sql.DB, migrations.Dialect) error) error {
	a, err := parse(url)
	if err != nil {
		return err
	}
	db, err := a.plain()
	if err != nil {
		return err
	}
	err = fn(db, a.dialect)
	return errors.Join(classify(err), db.Close())
}

// fresh makes a query that several statements may start from: without it, each
// would inherit the conditions of the one before.
var fresh = &gorm.Session{}
