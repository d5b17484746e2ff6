package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/libtnb/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"slotkeeper/migrations"
)

// What a session on PostgreSQL may wait for. Each is below the time that a set
// is given, or ends a transaction whose process is gone: without them a stuck
// writer would hold the ledger's lock until somebody noticed.
var timeouts = map[string]string{
	"lock_timeout":                        "4s",
	"statement_timeout":                   "10s",
	"idle_in_transaction_session_timeout": "10s",
}

// Connections to PostgreSQL are renewed, so that a failover or a changed
// address is not remembered for good.
const (
	connLifetime = 30 * time.Minute
	connIdle     = 5 * time.Minute
	connectIn    = 5 * time.Second
)

// address is a database's URL, understood.
type address struct {
	dialect migrations.Dialect
	path    string // of SQLite
	// patience is how long another's lock on it is waited for; 0 for the usual.
	patience time.Duration
	pg       *pgx.ConnConfig // of PostgreSQL
}

func parse(raw string) (address, error) {
	scheme, rest, _ := strings.Cut(raw, ":")
	switch scheme {
	case "postgres", "postgresql":
		cfg, err := pgx.ParseConfig(raw)
		if err != nil {
			// pgx's text may quote the URL, and with it the password.
			return address{}, errors.New("store: the database's URL cannot be read: give postgres://USER:PASSWORD@HOST:PORT/DATABASE")
		}
		if cfg.ConnectTimeout == 0 {
			cfg.ConnectTimeout = connectIn
		}
		return address{dialect: migrations.Postgres, pg: cfg}, nil
	case "sqlite":
		raw = strings.TrimPrefix(rest, "//")
	}
	if raw == "" {
		return address{}, errors.New("store: the database's file has no name")
	}
	if strings.Contains(raw, "://") {
		return address{}, fmt.Errorf("store: no database is known as %s: give postgres://… or the path of a file", scheme)
	}
	return address{dialect: migrations.SQLite, path: raw}, nil
}

// patience is how long another process's lock on SQLite is waited for.
const patience = 5 * time.Second

// sqliteDSN opens the file. What SQLite has to put down meanwhile (how a large statement
// is taken back, what is sorted) stays in memory: it looks for /tmp and its like
// otherwise, and where a container has none that may be written, sets of deliveries
// fail. A folder could be named, but for the whole process, and not while others work.
func (a address) sqliteDSN(params ...string) string {
	if a.patience == 0 {
		a.patience = patience
	}
	q := append([]string{
		"_timezone=UTC", fmt.Sprintf("_pragma=busy_timeout(%d)", a.patience.Milliseconds()), "_pragma=journal_mode(WAL)", "_pragma=foreign_keys(1)", "_pragma=synchronous(FULL)",
		"_pragma=temp_store(MEMORY)",
	}, params...)
	return "file:" + (&url.URL{Path: a.path}).EscapedPath() + "?" + strings.Join(q, "&")
}

// makeFile makes a missing database file for its owner alone, since it will
// hold people's names; SQLite would let others read it. A file that is there is
// not touched: closing it here could drop the locks that this process has on
// it. Why it cannot be made, SQLite says better.
func (a address) makeFile() {
	f, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = f.Close()
	}
}

// plain opens connections without any timeout of ours.
func (a address) plain() (*sql.DB, error) {
	if a.dialect == migrations.Postgres {
		return stdlib.OpenDB(*a.pg), nil
	}
	a.makeFile()
	db, err := sql.Open(sqlite.DriverName, a.sqliteDSN("_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return db, nil
}

func gormConfig() *gorm.Config {
	return &gorm.Config{
		// Sets span many statements: their transaction is begun by hand.
		SkipDefaultTransaction: true,
		// On PostgreSQL a prepared statement would be made and dropped in every
		// transaction; pgx keeps its own.
		PrepareStmt: false,
		// Its logger would print values, which are people's.
		Logger: logger.Discard,
	}
}

// sessionSettings are what our sessions on PostgreSQL ask for when they begin.
func (a address) sessionSettings() {
	for name, value := range timeouts {
		if a.pg.RuntimeParams[name] == "" {
			a.pg.RuntimeParams[name] = value
		}
	}
	a.pg.RuntimeParams["timezone"] = "UTC"
	if a.pg.RuntimeParams["application_name"] == "" {
		a.pg.RuntimeParams["application_name"] = "slotkeeper"
	}
}

func (s *Store) openPostgres(ctx context.Context, a address, maxConns int) error {
	a.sessionSettings()
	db := stdlib.OpenDB(*a.pg)
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxLifetime(connLifetime)
	db.SetConnMaxIdleTime(connIdle)
	if err := db.PingContext(ctx); err != nil {
		return errors.Join(err, db.Close())
	}
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), gormConfig())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.write, s.read, s.close = g, g, db.Close
	return nil
}

func (s *Store) openSQLite(ctx context.Context, a address, readers int) error {
	a.makeFile()
	// The writer goes through every index for every delivery: 16 MiB keep their
	// upper pages at hand after a year, and pages that are written again and again
	// go to the file once in 4,000.
	writer, err := sql.Open(sqlite.DriverName, a.sqliteDSN("_txlock=immediate", "_pragma=cache_size(-16384)", "_pragma=wal_autocheckpoint(4000)"))
	if err != nil {
		return err
	}
	// One connection: a second would only wait for the first at the file's lock,
	// where waiting is polling.
	writer.SetMaxOpenConns(1)
	if err := writer.PingContext(ctx); err != nil {
		return errors.Join(err, writer.Close())
	}
	reader, err := sql.Open(sqlite.DriverName, a.sqliteDSN("_txlock=deferred", "_pragma=query_only(1)"))
	if err != nil {
		return errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	s.close = func() error { return errors.Join(reader.Close(), writer.Close()) }
	if s.write, err = gorm.Open(sqlite.New(sqlite.Config{Conn: writer}), gormConfig()); err == nil {
		s.read, err = gorm.Open(sqlite.New(sqlite.Config{Conn: reader}), gormConfig())
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}
