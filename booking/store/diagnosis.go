package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/libtnb/sqlite"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// Diagnosis looks at a database from outside: it migrates nothing and makes
// nothing, so that what is wrong can be seen before it is changed. Each question
// is apart, since a database that cannot answer one may answer the others.
type Diagnosis struct {
	db      *sql.DB
	address address
	// startupRefused is why the session's settings were not taken; nil if they were.
	startupRefused error
}

// Diagnose connects to a database as the store would. The file of an SQLite
// database must be there.
func Diagnose(ctx context.Context, url string) (*Diagnosis, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	if a.dialect == migrations.SQLite {
		db, err := sql.Open(sqlite.DriverName, a.sqliteDSN("_txlock=immediate"))
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		return reached(ctx, &Diagnosis{db: db, address: a})
	}
	// Named statements are what some poolers break; the questions do not need them.
	a.pg.DefaultQueryExecMode = pgx.QueryExecModeExec
	plain := a.pg.Copy()
	a.sessionSettings()
	d, err := reached(ctx, &Diagnosis{db: stdlib.OpenDB(*a.pg), address: a})
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == protocolViolation {
		return reached(ctx, &Diagnosis{db: stdlib.OpenDB(*plain), address: a, startupRefused: refused})
	}
	return d, err
}

// protocolViolation is how poolers refuse settings that they do not know.
const protocolViolation = "08P01"

func reached(ctx context.Context, d *Diagnosis) (*Diagnosis, error) {
	if err := d.db.PingContext(ctx); err != nil {
		return nil, errors.Join(classify(err), d.db.Close())
	}
	return d, nil
}

// Close ends the connections.
func (d *Diagnosis) Close() error { return d.db.Close() }

// Dialect is the kind of database.
func (d *Diagnosis) Dialect() migrations.Dialect { return d.address.dialect }

// Place is where the database is, without credentials.
func (d *Diagnosis) Place() string {
	if d.address.dialect == migrations.SQLite {
		return d.address.path
	}
	return fmt.Sprintf("%s on %s, port %d", d.address.pg.Database, d.address.pg.Host, d.address.pg.Port)
}

// Version is the server's or the library's own; number is PostgreSQL's major one.
func (d *Diagnosis) Version(ctx context.Context) (text string, number int, err error) {
	if d.address.dialect == migrations.SQLite {
		err = d.one(ctx, "SELECT sqlite_version()", &text)
		return text, 0, err
	}
	err = d.one(ctx, "SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000", &text, &number)
	text, _, _ = strings.Cut(text, " ") // what follows is the package's
	return text, number, err
}

func (d *Diagnosis) one(ctx context.Context, query string, into ...any) error {
	return classify(d.db.QueryRowContext(ctx, query).Scan(into...))
}

// Settings are those of a session that the store opens.
func (d *Diagnosis) Settings(ctx context.Context) (map[string]string, error) {
	ask := "SHOW "
	if d.address.dialect == migrations.SQLite {
		ask = "PRAGMA "
	}
	out := map[string]string{}
	for _, name := range settings[d.address.dialect] {
		var value string
		if err := d.one(ctx, ask+name, &value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// Timeouts are what a session of the store asks of PostgreSQL; without them a
// stuck writer holds everybody up.
func Timeouts() []string {
	out := make([]string, 0, len(timeouts))
	for name := range timeouts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// SchemaState is how far a database is from this binary's schema.
type SchemaState struct {
	Applied int
	// Pending are the migrations that are not applied yet.
	Pending []string
	// Newer are applied ones that this binary does not know.
	Newer []int64
}

const migrationsTable = "goose_db_version"

// Schema compares the migrations.
func (d *Diagnosis) Schema(ctx context.Context) (SchemaState, error) {
	var s SchemaState
	found, err := d.has(ctx, migrationsTable)
	if err != nil {
		return s, err
	}
	if !found { // asking goose would make its table
		s.Pending, err = migrationFiles(d.address.dialect)
		return s, err
	}
	all, err := migrations.Status(ctx, d.db, d.address.dialect)
	if err != nil {
		return s, classify(err)
	}
	known := map[int64]bool{0: true}
	for _, m := range all {
		known[m.Version] = true
		if m.AppliedAt.IsZero() {
			s.Pending = append(s.Pending, m.Name)
		} else {
			s.Applied++
		}
	}
	applied, err := values[int64](ctx, d.db, "SELECT version_id FROM "+migrationsTable+" WHERE is_applied ORDER BY version_id")
	for _, version := range applied {
		if !known[version] {
			s.Newer = append(s.Newer, version)
		}
	}
	return s, err
}

func migrationFiles(d migrations.Dialect) ([]string, error) {
	files, err := migrations.Files(d)
	if err != nil {
		return nil, err
	}
	return fs.Glob(files, "*.sql")
}

// has tells whether there is a table.
func (d *Diagnosis) has(ctx context.Context, table string) (found bool, err error) {
	query := "SELECT to_regclass($1) IS NOT NULL"
	if d.address.dialect == migrations.SQLite {
		query = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)"
	}
	err = d.db.QueryRowContext(ctx, query, table).Scan(&found)
	return found, classify(err)
}

// values reads a query's one column.
func values[T any](ctx context.Context, db *sql.DB, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, classify(err)
		}
		out = append(out, v)
	}
	return out, classify(rows.Err())
}

// KeyFits tries the vault's key on what was sealed at the first start. made is
// false while there was none.
func (d *Diagnosis) KeyFits(ctx context.Context, v *vault.Vault) (made bool, err error) {
	var check, pepper []byte
	err = d.one(ctx, "SELECT key_check, pepper FROM installation WHERE id = 1", &check, &pepper)
	if errors.Is(err, booking.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := v.Open(check, keyCheckContext); err != nil {
		return true, wrongKey(err)
	}
	if _, err := v.Open(pepper, pepperContext); err != nil {
		return true, wrongKey(err)
	}
	return true, nil
}

// Write proves that the database can be written, as readiness does.
func (d *Diagnosis) Write(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "UPDATE heartbeat SET beats = beats + 1 WHERE id = 1")
	return classify(err)
}

// Beats counts the writes of those who asked for readiness: a server whose answer
// moves it has this database.
func (d *Diagnosis) Beats(ctx context.Context) (n int64, err error) {
	err = d.one(ctx, "SELECT beats FROM heartbeat WHERE id = 1", &n)
	return n, err
}

// Clock is how far the clock that now reads is ahead of the database's; within is
// how sure that is. SQLite has no clock of its own.
func (d *Diagnosis) Clock(ctx context.Context, now func() time.Time) (ahead, within time.Duration, err error) {
	var theirs time.Time
	before := now()
	if err := d.one(ctx, "SELECT clock_timestamp()", &theirs); err != nil {
		return 0, 0, err
	}
	within = now().Sub(before) / 2
	return before.Add(within).Sub(theirs), within, nil
}

// Damage is what SQLite finds wrong with its file, a few lines at most.
func (d *Diagnosis) Damage(ctx context.Context) ([]string, error) {
	found, err := values[string](ctx, d.db, "PRAGMA quick_check(5)")
	if len(found) == 1 && found[0] == "ok" {
		found = nil
	}
	return found, err
}

// Backlog is what is left to be done about a connection's receipts.
type Backlog struct {
	// Pending wait for their turn, Failed could not be used or applied, Dead were
	// given up.
	Pending, Failed, Dead int
	// OldestPending is when the first of the pending came.
	OldestPending *time.Time
}

// Backlogs are those of the connections that have one.
func (d *Diagnosis) Backlogs(ctx context.Context) (map[uuid.UUID]Backlog, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT connection_id, status, count(*), min(received_at) FROM webhook_receipts
		WHERE status IN ('pending', 'failed', 'dead') GROUP BY connection_id, status`)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	out := map[uuid.UUID]Backlog{}
	for rows.Next() {
		var (
			id     uuid.UUID
			status booking.ReceiptStatus
			n      int
			oldest stamp
		)
		if err := rows.Scan(&id, &status, &n, &oldest); err != nil {
			return nil, classify(err)
		}
		b := out[id]
		switch status {
		case booking.StatusPending:
			b.Pending, b.OldestPending = n, &oldest.t
		case booking.StatusFailed:
			b.Failed = n
		default:
			b.Dead = n
		}
		out[id] = b
	}
	return out, classify(rows.Err())
}
