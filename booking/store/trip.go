package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"

	"slotkeeper/migrations"
)

// transaction is one of the writer's: for GORM, for the job queue, and for trips.
type transaction struct {
	*gorm.DB

	conn  *sql.Conn
	sql   *sql.Tx
	ways  *ways
	begun bool // a trip was made
	look  bool // nothing is written: the ledger is read, not locked
	again bool // its commit does not wait for the disk
}

// plansOnce has PostgreSQL plan the transaction's statements once for a connection
// and not each time: what a list holds looks cheaper than any list, so that it would
// never settle for one plan, and planning takes longer than these searches do. All of
// them are by an index, whatever is known of the tables' sizes.
const plansOnce = "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"

// inTrips runs fn in one transaction of the writer whose statements may go in
// trips. An error of fn, or a panic, rolls it back. The error comes back
// classified.
func (s *Store) inTrips(ctx context.Context, fn func(tx *transaction) error) error {
	return s.trips(ctx, false, fn)
}

// inTripsAgain is inTrips for what is done again where a crash of the database's
// machine takes it back: its commit does not wait for the disk, which would hold the
// ledger from whoever posts. What commits after it and waits takes it along, so that
// nobody has been answered, and nothing sent, on the strength of what is lost.
func (s *Store) inTripsAgain(ctx context.Context, fn func(tx *transaction) error) error {
	return s.trips(ctx, true, fn)
}

func (s *Store) trips(ctx context.Context, again bool, fn func(tx *transaction) error) (err error) {
	defer func() { err = classify(err) }()
	db, err := s.write.DB()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // only gives it back
	if again && s.dialect == migrations.SQLite {
		defer func() { err = errors.Join(err, s.ways.syncsAgain(ctx, conn)) }()
		if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
			return err
		}
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	g := s.write.Session(&gorm.Session{Context: ctx, NewDB: true})
	g.Statement.ConnPool = tx
	if err := fn(&transaction{DB: g.Session(fresh), conn: conn, sql: tx, ways: &s.ways, again: again}); err != nil {
		return err
	}
	return tx.Commit()
}

// trip is statements that need nothing of one another's outcome, and go to the
// database together: on PostgreSQL in one round trip. They are executed in order,
// and the first error is the trip's.
type trip struct {
	tx    *transaction
	steps []*step
	err   error // of the making
}

// step is a statement. With rows it is executed for all of them at once.
type step struct {
	text string
	args []any // of the kinds of table.values, []string, []uuid.UUID or []time.Time
	// rows are what an insertion writes, each as table.values.
	table *table
	rows  [][]any
	// each gets the values of every row that comes back; nil for none.
	each func(values []any) error
	// want is how many rows the statement must touch; below 0 for any number.
	want int64
	what string // for errors
}

func (tx *transaction) trip() *trip { return &trip{tx: tx} }

// read asks for rows of R; what comes after FROM and the table's name is rest,
// with ? for arguments and "= any(?)" for lists. out gets them when the trip is made.
func read[R interface{ TableName() string }](t *trip, rest string, args ...any) (out *[]R) {
	table := tableOf[R]()
	return query[R](t, "SELECT "+table.list("")+` FROM "`+table.name+`" `+rest, args...)
}

// query is read with a whole statement, whose columns are R's in order.
func query[R interface{ TableName() string }](t *trip, text string, args ...any) (out *[]R) {
	table := tableOf[R]()
	out = new([]R)
	t.steps = append(t.steps, &step{
		text: t.tx.ways.text(text), args: args, want: -1, what: "read " + table.name,
		each: func(values []any) error {
			var row R
			if err := table.fill(reflect.ValueOf(&row).Elem(), values); err != nil {
				return err
			}
			*out = append(*out, row)
			return nil
		},
	})
	return out
}

// write executes a statement that must touch want rows; below 0 for any number.
func (t *trip) write(want int64, what, text string, args ...any) {
	t.steps = append(t.steps, &step{text: t.tx.ways.text(text), args: args, want: want, what: what})
}

// insertRows writes new rows; with keys, rows of the same keys are replaced whole.
func insertRows[R interface{ TableName() string }](t *trip, rows []R, keys ...string) {
	if len(rows) == 0 || t.err != nil {
		return
	}
	table := tableOf[R]()
	s := &step{table: table, want: -1, what: "write " + table.name, text: t.tx.ways.insertion(table, keys, len(rows) == 1)}
	for i := range rows {
		values, err := table.values(reflect.ValueOf(&rows[i]).Elem())
		if err != nil {
			t.err = err
			return
		}
		s.rows = append(s.rows, values)
	}
	t.steps = append(t.steps, s)
}

// make sends the statements and takes in what comes back.
func (t *trip) make() error {
	if t.err != nil || len(t.steps) == 0 {
		return t.err
	}
	if !t.tx.begun && t.tx.ways.dialect == migrations.Postgres {
		begin := []*step{{text: plansOnce, want: -1, what: "plan once"}}
		if t.tx.again {
			begin = append(begin, &step{text: "SET LOCAL synchronous_commit = off", want: -1, what: "not wait for the disk"})
		}
		t.steps = append(begin, t.steps...)
	}
	t.tx.begun = true
	t.tx.ways.trips.Add(1)
	t.tx.ways.statements.Add(int64(len(t.steps)))
	ctx := t.tx.Statement.Context
	return t.tx.conn.Raw(func(driverConn any) error {
		// database/sql rolls back by itself when ctx ends, and waits for this
		// function to do so: past this line the statements are the transaction's.
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if t.tx.ways.dialect == migrations.Postgres {
			return sendPostgres(ctx, driverConn, t.steps)
		}
		return t.tx.ways.sendSQLite(ctx, driverConn, t.steps)
	})
}

// ways are the statements' texts for the dialect, and what is prepared of them.
type ways struct {
	dialect  migrations.Dialect
	texts    memo[string, string] // by how they were written
	prepared prepared
	// How many were made, for tests that none becomes too many.
	trips, statements atomic.Int64
}

// text writes a statement in the dialect's words.
func (w *ways) text(text string) string {
	return w.texts.get(text, func() string {
		if w.dialect == migrations.SQLite {
			return strings.ReplaceAll(text, "= any(?)", "IN (SELECT value FROM json_each(?))")
		}
		return numbered(text)
	})
}

// numbered writes ? as $1, $2 and so on.
func numbered(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		fmt.Fprintf(&b, "$%d", n)
	}
	return b.String()
}

// insertion is the statement that writes rows: on PostgreSQL one row by its values,
// which is half as dear, and more with each column as an array; on SQLite it is
// executed for one row after the other. Either way its text is the same however
// many rows there are.
func (w *ways) insertion(t *table, keys []string, one bool) string {
	byValues := one || w.dialect == migrations.SQLite
	return w.texts.get(fmt.Sprint("insert ", t.name, keys, byValues), func() string {
		text := `INSERT INTO "` + t.name + `" (` + t.list("") + ") "
		if byValues {
			text += "VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
		} else {
			arrays := make([]string, 0, len(t.columns))
			for _, c := range t.columns {
				arrays = append(arrays, "?::"+arrayTypes[c.kind])
			}
			text += "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")"
		}
		if w.dialect == migrations.Postgres {
			text = numbered(text)
		}
		if len(keys) == 0 {
			return text
		}
		var set []string
		for _, c := range t.columns {
			if !slices.Contains(keys, c.name) {
				set = append(set, `"`+c.name+`" = excluded."`+c.name+`"`)
			}
		}
		return text + " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
	})
}

func (s *step) check(affected int64) error {
	if s.want >= 0 && affected != s.want {
		return fmt.Errorf("store: %s: %d rows, not %d", s.what, affected, s.want)
	}
	return nil
}

func (s *step) failed(err error) error { return fmt.Errorf("store: %s: %w", s.what, err) }

var errNoConn = errors.New("store: the pool lends another kind of connection")
