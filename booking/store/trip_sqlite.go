package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
)

// Trips on SQLite: there is no way to save, but there are texts to save reading.
// The writer is one connection, and keeps what it has prepared.

// prepared are statements of one connection. They are used only while that is
// lent out, hence by one at a time.
type prepared struct {
	conn       driver.Conn
	statements map[string]driver.Stmt
}

// syncsAgain has the writer's connection wait for the disk again. One that cannot be
// told so (its transaction is only just being rolled back) is closed: the next begins
// as all do.
func (w *ways) syncsAgain(ctx context.Context, conn *sql.Conn) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = FULL"); err == nil {
		return nil
	}
	if err := w.forget(conn); err != nil {
		return fmt.Errorf("store: close the statements of a connection that does not wait for the disk: %w", err)
	}
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); err != nil && !errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("store: give up a connection that does not wait for the disk: %w", err)
	}
	return nil
}

func (w *ways) sendSQLite(ctx context.Context, driverConn any, steps []*step) error {
	c, ok := driverConn.(interface {
		driver.Conn
		driver.ConnPrepareContext
	})
	if !ok {
		return fmt.Errorf("%w: %T", errNoConn, driverConn)
	}
	if w.prepared.conn != driver.Conn(c) {
		w.prepared = prepared{conn: c, statements: map[string]driver.Stmt{}} // those of another went with it
	}
	for _, s := range steps {
		statement, ok := w.prepared.statements[s.text]
		if !ok {
			var err error
			if statement, err = c.PrepareContext(ctx, s.text); err != nil {
				return s.failed(err)
			}
			w.prepared.statements[s.text] = statement
		}
		if err := s.executeSQLite(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) executeSQLite(ctx context.Context, statement driver.Stmt) error {
	if s.each != nil {
		return s.querySQLite(ctx, statement)
	}
	rows := s.rows
	if s.table == nil {
		rows = [][]any{s.args}
	}
	exec, ok := statement.(driver.StmtExecContext)
	if !ok {
		return fmt.Errorf("%w: %T", errNoConn, statement)
	}
	for _, row := range rows {
		args, err := sqliteArgs(row)
		if err != nil {
			return s.failed(err)
		}
		result, err := exec.ExecContext(ctx, args)
		if err != nil {
			return s.failed(err)
		}
		if s.want < 0 {
			continue
		}
		n, err := result.RowsAffected()
		if err != nil {
			return s.failed(err)
		}
		if err := s.check(n); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) querySQLite(ctx context.Context, statement driver.Stmt) (err error) {
	ask, ok := statement.(driver.StmtQueryContext)
	if !ok {
		return fmt.Errorf("%w: %T", errNoConn, statement)
	}
	args, err := sqliteArgs(s.args)
	if err != nil {
		return s.failed(err)
	}
	rows, err := ask.QueryContext(ctx, args)
	if err != nil {
		return s.failed(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	got := make([]driver.Value, len(rows.Columns()))
	values := make([]any, len(got))
	for {
		err := rows.Next(got)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.failed(err)
		}
		for i, v := range got {
			values[i] = v
		}
		if err := s.each(values); err != nil {
			return s.failed(err)
		}
	}
}

// sqliteArgs are arguments as SQLite stores them: ids and times as text, lists as
// JSON.
func sqliteArgs(values []any) ([]driver.NamedValue, error) {
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		switch a := v.(type) {
		case uuid.UUID:
			v = a.String()
		case time.Time:
			v = a.UTC().Format(stampFormat)
		case []string, []uuid.UUID, [][]string:
			text, err := json.Marshal(a)
			if err != nil {
				return nil, err
			}
			v = string(text)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out, nil
}
