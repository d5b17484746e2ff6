package storetest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"slotkeeper/migrations"
)

// filled are the tables that applying fills, in the order of their references.
var filled = []string{
	"transitions", "slots", "links", "attendances", "bookings", "session_hosts", "sessions", "deliveries", "webhook_receipts",
	"identities", "resources",
}

// Empty removes all that was applied, and leaves the connections: a test that
// plays many stories needs no database for each. It goes past the triggers that
// keep receipts and transitions, as nothing but a test may.
func (b *Bench) Empty(t testing.TB) {
	t.Helper()
	empty := emptySQLite
	if b.Dialect() == migrations.Postgres {
		empty = emptyPostgres
	}
	ctx := context.Background()
	tx, err := b.SQL.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty(ctx, tx); err != nil {
		t.Fatal(errors.Join(err, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func emptyPostgres(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		return err
	}
	return deleteAll(ctx, tx, "decode(repeat('00', 32), 'hex')")
}

func emptySQLite(ctx context.Context, tx *sql.Tx) error {
	triggers, err := readTriggers(ctx, tx)
	if err != nil {
		return err
	}
	for name := range triggers {
		if _, err := tx.ExecContext(ctx, "DROP TRIGGER "+name); err != nil {
			return err
		}
	}
	if err := deleteAll(ctx, tx, "zeroblob(32)"); err != nil {
		return err
	}
	for _, text := range triggers {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func readTriggers(ctx context.Context, tx *sql.Tx) (map[string]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, rows.Err()
}

func deleteAll(ctx context.Context, tx *sql.Tx, zero string) error {
	for _, table := range filled {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE ledger SET seq = 0, head = "+zero)
	return err
}
