package store

import (
	"context"
	"errors"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// Ready proves that the database can be written: it writes. It takes no part in
// the ledger's line, so that on PostgreSQL it waits for no set.
func (s *Store) Ready(ctx context.Context) error {
	res := s.write.WithContext(ctx).Exec("UPDATE heartbeat SET beats = beats + 1 WHERE id = 1")
	if res.Error == nil && res.RowsAffected != 1 {
		return errors.New("store: the heartbeat's row is missing: was the database migrated?")
	}
	return classify(res.Error)
}

// settings are what decides whether a commit survives a crash, as the live
// database has it.
var settings = map[migrations.Dialect][]string{
	migrations.Postgres: {"fsync", "full_page_writes", "synchronous_commit", "lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"},
	migrations.SQLite:   {"synchronous", "journal_mode", "foreign_keys", "busy_timeout"},
}

// Settings asks the writer's connection how it is set.
func (s *Store) Settings(ctx context.Context) (map[string]string, error) {
	ask := "SHOW "
	if s.dialect == migrations.SQLite {
		ask = "PRAGMA "
	}
	out := map[string]string{}
	for _, name := range settings[s.dialect] {
		var value string
		if err := s.write.WithContext(ctx).Raw(ask + name).Row().Scan(&value); err != nil {
			return nil, classify(err)
		}
		out[name] = value
	}
	return out, nil
}

// Ledger is the head of the audit chain.
func (s *Store) Ledger(ctx context.Context) (booking.Ledger, error) {
	var row ledgerRow
	if err := s.reader(ctx).Where("id = 1").Take(&row).Error; err != nil {
		return booking.Ledger{}, classify(err)
	}
	out := booking.Ledger{Seq: row.Seq}
	copy(out.Head[:], row.Head)
	return out, nil
}
