package main

import (
	"cmp"
	"context"
	"database/sql" //nolint:depguard // the past is written past the program that is measured
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/libtnb/sqlite" //nolint:depguard // see database/sql
)

// past is what stands in a database before it is measured: what some people had
// booked until the load's own time begins.
type past struct {
	people      int
	bookings    int
	cancelEvery int // of so many bookings one is canceled
	// began and gap are when events came: one every gap from then on. Zero is the
	// past of long ago.
	began time.Time
	gap   time.Duration
	// second is another connection, that some of the events are of; then some were
	// refused too. Without one, all is well.
	second string
}

// longAgo is when a past begins that says nothing else.
var longAgo = time.Date(2025, 1, 2, 9, 0, 0, 0, time.UTC)

// timing is when the past began, and what stands between two events.
func (p past) timing() (began time.Time, seconds float64) {
	if p.began.IsZero() {
		return longAgo, 30
	}
	return p.began, p.gap.Seconds()
}

func (p past) varied() int {
	if p.second == "" {
		return 0
	}
	return 1
}

// perWeek is how many bookings of one person the scripts put into a week.
const perWeek = 50

// receipts is how many the past has: one of each booking, one of each cancel.
func (p past) receipts() int { return p.bookings + p.bookings/p.cancelEvery }

func (p past) weeks() int { return (p.bookings + p.people*perWeek - 1) / (p.people * perWeek) }

// first is the Monday on which the past begins.
func (p past) first() time.Time { return freeStart.AddDate(0, 0, -7*p.weeks()) }

// fill writes a past into an installation on which no server ran yet.
func (b *bench) fill(ctx context.Context, i installation, p past) error {
	if i.database == "" {
		return fillEmbedded(ctx, i, p)
	}
	began, gap := p.timing()
	_, err := b.psql(ctx, i.database,
		"-v", "began="+began.Format(time.RFC3339), "-v", "gap="+strconv.FormatFloat(gap, 'f', -1, 64), "-v", "varied="+strconv.Itoa(p.varied()),
		"-v", "second="+cmp.Or(p.second, i.connection.ID), "-v", "connection="+i.connection.ID, "-v", "people="+strconv.Itoa(p.people), "-v", "bookings="+strconv.Itoa(p.bookings),
		"-v", "cancel_every="+strconv.Itoa(p.cancelEvery), "-v", "first="+p.first().Format(time.DateOnly), "-f", b.files["history-postgres.sql"])
	return err
}

func fillEmbedded(ctx context.Context, i installation, p past) (err error) {
	script, err := scripts.ReadFile("testdata/history-sqlite.sql")
	if err != nil {
		return err
	}
	// Nothing of this need outlive a crash, and foreign keys hold by construction.
	db, err := openEmbedded(i.file(), "journal_mode(OFF)", "synchronous(OFF)", "cache_size(-1000000)", "temp_store(MEMORY)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	again, err := takeAway(ctx, db)
	if err != nil {
		return err
	}
	began, gap := p.timing()
	if _, err := db.ExecContext(ctx, string(script),
		sql.Named("began", began.Unix()), sql.Named("gap", gap), sql.Named("varied", p.varied()), sql.Named("second", cmp.Or(p.second, i.connection.ID)),
		sql.Named("connection", i.connection.ID), sql.Named("people", p.people), sql.Named("bookings", p.bookings),
		sql.Named("cancel_every", p.cancelEvery), sql.Named("first", p.first().Format(time.DateOnly))); err != nil {
		return fmt.Errorf("history-sqlite.sql: %w", err)
	}
	for _, statement := range again {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	// The disk is to be quiet when the measuring begins.
	f, err := os.Open(i.file())
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// takeAway drops the indexes and triggers of the tables that are filled, and
// returns what makes them anew: over all rows at once that is faster.
func takeAway(ctx context.Context, db *sql.DB) (again []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name IN
		('webhook_receipts', 'deliveries', 'sessions', 'session_hosts', 'bookings', 'slots', 'transitions')`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var drops []string
	for rows.Next() {
		var kind, name, statement string
		if err := rows.Scan(&kind, &name, &statement); err != nil {
			return nil, err
		}
		drops, again = append(drops, "DROP "+kind+" "+name), append(again, statement)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, drop := range drops {
		if _, err := db.ExecContext(ctx, drop); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// openEmbedded opens the embedded database beside a server.
func openEmbedded(file string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	return sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
}

// queryEmbedded returns the one value that a query has.
func queryEmbedded(ctx context.Context, file, query string) (value string, err error) {
	db, err := openEmbedded(file, "query_only(1)")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, query).Scan(&value)
	return value, err
}
