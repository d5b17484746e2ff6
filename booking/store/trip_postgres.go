package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Trips on PostgreSQL: pgx pipelines their statements on the connection that the
// transaction has from the pool, so that a set costs a few round trips however
// many statements it takes.

var arrayTypes = map[columnKind]string{
	kindText: "text[]", kindID: "uuid[]", kindTime: "timestamptz[]", kindBytes: "bytea[]", kindBool: "boolean[]", kindInt: "integer[]", kindBig: "bigint[]",
}

func sendPostgres(ctx context.Context, driverConn any, steps []*step) (err error) {
	c, ok := driverConn.(*stdlib.Conn)
	if !ok {
		return fmt.Errorf("%w: %T", errNoConn, driverConn)
	}
	var batch pgx.Batch
	for _, s := range steps {
		batch.Queue(s.text, postgresArgs(s)...)
	}
	results := c.Conn().SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, s := range steps {
		if s.each == nil {
			tag, err := results.Exec()
			if err != nil {
				return s.failed(err)
			}
			if err := s.check(tag.RowsAffected()); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return s.failed(err)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err == nil {
				err = s.each(values)
			}
			if err != nil {
				rows.Close()
				return s.failed(err)
			}
		}
		if err := rows.Err(); err != nil {
			return s.failed(err)
		}
	}
	return nil
}

// postgresArgs are a statement's arguments in types that pgx writes in binary.
func postgresArgs(s *step) []any {
	if s.table != nil && len(s.rows) == 1 {
		return postgresValues(s.rows[0])
	}
	if s.table != nil {
		out := make([]any, len(s.table.columns))
		for i, c := range s.table.columns {
			out[i] = array(c.kind, s.rows, i)
		}
		return out
	}
	return postgresValues(s.args)
}

func postgresValues(values []any) []any {
	out := make([]any, len(values))
	for i, a := range values {
		switch a := a.(type) {
		case uuid.UUID:
			out[i] = pgtype.UUID{Bytes: a, Valid: true}
		case []uuid.UUID:
			ids := make([]pgtype.UUID, len(a))
			for n, id := range a {
				ids[n] = pgtype.UUID{Bytes: id, Valid: true}
			}
			out[i] = ids
		default:
			out[i] = a
		}
	}
	return out
}

// array is one column of rows.
func array(kind columnKind, rows [][]any, column int) any {
	switch kind {
	case kindID:
		return arrayOf(rows, column, func(v uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: v, Valid: true} })
	case kindTime:
		return arrayOf(rows, column, func(v time.Time) pgtype.Timestamptz { return pgtype.Timestamptz{Time: v, Valid: true} })
	case kindBytes:
		return arrayOf(rows, column, func(v []byte) []byte { return v })
	case kindBool:
		return arrayOf(rows, column, func(v bool) pgtype.Bool { return pgtype.Bool{Bool: v, Valid: true} })
	case kindInt:
		return arrayOf(rows, column, func(v int64) pgtype.Int4 { return pgtype.Int4{Int32: int32(v), Valid: true} }) //nolint:gosec // G115: the column is as wide
	case kindBig:
		return arrayOf(rows, column, func(v int64) pgtype.Int8 { return pgtype.Int8{Int64: v, Valid: true} })
	case kindText:
	}
	return arrayOf(rows, column, func(v string) pgtype.Text { return pgtype.Text{String: v, Valid: true} })
}

// arrayOf leaves null what is nil: the zero value of pgtype's types is not valid.
func arrayOf[V, P any](rows [][]any, column int, f func(V) P) []P {
	out := make([]P, len(rows))
	for i, row := range rows {
		if v, ok := row[column].(V); ok {
			out[i] = f(v)
		}
	}
	return out
}
