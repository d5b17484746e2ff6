package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

var errNoHeartbeat = errors.New("store: the heartbeat's row is missing: was the database migrated?")

// Ready proves that the database can be written: it writes. It takes no part in
// the ledger's line, so that on PostgreSQL it waits for no set.
func (s *Store) Ready(ctx context.Context) error {
	res := s.write.WithContext(ctx).Exec("UPDATE heartbeat SET beats = beats + 1 WHERE id = 1")
	if res.Error == nil && res.RowsAffected != 1 {
		return errNoHeartbeat
	}
	return classify(res.Error)
}

// LookAfter notes that somebody looks after the accounts now. Where nobody had for
// longer than most, whatever the reason, one of those who look at once is told; that
// it was so stays, for whoever is cut off before he has seen to it.
func (s *Store) LookAfter(ctx context.Context, now time.Time, most time.Duration) (booking.Look, error) {
	last, back, err := s.looked(ctx)
	if err != nil {
		return booking.Look{}, err
	}
	var away *stamp
	if last != nil && now.Sub(last.t) > most {
		away, back = last, atPtr(&now)
	}
	res := s.write.WithContext(ctx).
		Exec("UPDATE heartbeat SET looked_at = ?, back_at = ? WHERE id = 1 AND looked_at IS NOT DISTINCT FROM ?", at(now), back, last)
	if res.Error == nil && res.RowsAffected == 0 { // another looks in the same instant
		away = nil
		_, back, err = s.looked(ctx)
	}
	return booking.Look{Away: away.ptr(), BackAt: back.ptr()}, errors.Join(classify(res.Error), err)
}

// looked is when somebody last looked after the accounts, and when somebody last did
// after nobody had.
func (s *Store) looked(ctx context.Context) (last, back *stamp, err error) {
	err = s.write.WithContext(ctx).Raw("SELECT looked_at, back_at FROM heartbeat WHERE id = 1").Row().Scan(&last, &back)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoHeartbeat
	}
	return last, back, classify(err)
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
