package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"slotkeeper/booking"
)

// classify says in the domain's words what a database's error means: nothing
// was stored and trying again is safe (booking.ErrUnavailable), a fence refused
// the write (*booking.FenceError), or there is no such row
// (booking.ErrNotFound). Anything else, also an error that is classified
// already, comes back as it is.
func classify(err error) error {
	var fence *booking.FenceError
	var pg *pgconn.PgError
	var lite *sqlite.Error
	switch {
	case err == nil, errors.Is(err, booking.ErrUnavailable), errors.Is(err, booking.ErrNotFound), errors.As(err, &fence):
		return err
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return booking.ErrNotFound
	case errors.As(err, &pg):
		return classifyPostgres(err, pg)
	case errors.As(err, &lite):
		return classifySQLite(err, lite)
	case lostConnection(err):
		return unavailable(err)
	}
	return err
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", booking.ErrUnavailable, err) }

// lostConnection knows the errors of a connection that broke, could not be
// made, or was given up because time was over.
func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// passing are the SQLSTATE classes and codes of a database that cannot do the
// work now, whatever the work.
var passing = []string{
	"08",    // connection
	"28",    // authorization: the password was changed under us
	"3D000", // the database is gone
	"40001", // serialization
	"40P01", // deadlock
	"53",    // out of disk, memory or connections
	"57",    // shut down, canceled, timed out
	"58",    // input or output
	"55P03", // lock timeout
	"25006", // read-only: a standby
	"25P03", // idle in transaction
}

func classifyPostgres(err error, pg *pgconn.PgError) error {
	for _, code := range passing {
		if strings.HasPrefix(pg.Code, code) {
			return unavailable(err)
		}
	}
	switch pg.Code {
	case "23505", "23P01", "23001": // unique, exclusion, refused by a trigger of ours
		return &booking.FenceError{Constraint: pg.ConstraintName, Err: err}
	}
	return err
}

func classifySQLite(err error, lite *sqlite.Error) error {
	switch lite.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return &booking.FenceError{Constraint: sqliteConstraint(lite.Error()), Err: err}
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return unavailable(err)
	}
	return err
}

// sqliteNames are the unique constraints by the columns that SQLite names
// instead of them.
var sqliteNames = map[string]string{ //nolint:gosec // G101: names of columns, not credentials
	"api_tokens.hash":                   "api_tokens_hash",
	"effects.booking_id":                "one_open_cancel",
	"slots.resource_id,slots.starts_at": "one_booking_per_slot",
	"users.name":                        "users_name",
	"sessions.external_id,sessions.provider,sessions.api_base":      "sessions_identity",
	"connections.account,connections.api_base,connections.provider": constraintOneConnection,
	"webhook_receipts.event_key,webhook_receipts.connection_id":     "one_receipt_per_event",
}

// SQLite tells the constraint in its message alone: the text that a trigger
// raises, the columns of a unique one, or the name of an index on expressions.
var (
	sqliteUnique  = regexp.MustCompile(`UNIQUE constraint failed: (?:index '(\w+)'|([\w., ]+))`)
	sqliteTrigger = regexp.MustCompile(`^constraint failed: (\w+)`)
)

func sqliteConstraint(message string) string {
	if m := sqliteUnique.FindStringSubmatch(message); m != nil {
		if m[1] != "" {
			return m[1]
		}
		columns := strings.ReplaceAll(strings.TrimSpace(m[2]), " ", "")
		if name := sqliteNames[columns]; name != "" {
			return name
		}
		return columns
	}
	if m := sqliteTrigger.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return message
}
