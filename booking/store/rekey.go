package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking/access"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// ErrRekeying says that a change of the key was begun and not ended: neither key
// opens everything.
var ErrRekeying = errors.New("the secret key is being changed: run `slotkeeper key rotate` to the end, with the key of before and the new one")

// sealedTable is a table with columns that the vault seals, all of a row for one
// context.
type sealedTable struct {
	name    string
	columns []string
	context func(column string, id uuid.UUID) string
	// bodies says that the columns are guarded by a run.
	bodies bool
}

// sealedTables are all of them but the installation's own. Whatever is sealed
// anywhere must stand here, or a change of the key would lose it.
var sealedTables = []sealedTable{
	{
		name: "connections", columns: []string{"secret_current", "secret_previous", "secret_older", "api_token", "api_refresh"},
		context: func(_ string, id uuid.UUID) string { return secretContext(id) },
	},
	{
		name: "webhook_receipts", columns: []string{"raw_body", "snapshot", "waiting_event"}, bodies: true,
		context: func(column string, id uuid.UUID) string {
			switch column {
			case "raw_body":
				return bodyContext(id)
			case "snapshot":
				return snapshotContext(id)
			}
			return eventContext(id)
		},
	},
	{
		name: "booking_forms", columns: []string{"forms"},
		context: func(_ string, id uuid.UUID) string { return formsContext(id) },
	},
	{
		name: "alert_recipients", columns: []string{"address"},
		context: func(_ string, id uuid.UUID) string { return recipientContext(id) },
	},
	{name: "endpoints", columns: []string{"url", "secret", "old_secret"}, context: endpointContext},
	{
		name: "effect_attempts", columns: []string{"answer"},
		context: func(_ string, id uuid.UUID) string { return answerContext(id) },
	},
	{
		name: "effects", columns: []string{"payload"},
		context: func(_ string, id uuid.UUID) string { return payloadContext(id) },
	},
}

// How long, and how often, it is asked whether whoever else was there has left.
const (
	leavesIn    = 3 * time.Second
	leavesAsked = 30
)

// Few at once: a body may have a megabyte.
const rekeyBatch = 100

// Rekeyed is what a change of the key did.
type Rekeyed struct {
	// Already says that the database has the new key: an earlier run ended.
	Already bool
	// Values that were sealed anew in this run.
	Values int64
}

// Rekey seals everything anew under the next vault's key. Nobody else may have the
// database open: whoever knows one key only would lose what the other seals. Cut
// off at any point, it is gone on with by calling it again; until it ended,
// Installation lets nobody in. The pepper stays, and with it all event keys. progress
// is told after each batch how many values that were; its error ends the run.
func (s *Store) Rekey(ctx context.Context, next *vault.Vault, now time.Time, progress func(values int64) error) (Rekeyed, error) {
	var out Rekeyed
	already, err := s.beginRekey(ctx, next)
	if err != nil || already {
		return Rekeyed{Already: already}, err
	}
	run := retentionRow{ID: uuid.New(), Kind: runRekey, Cutoff: at(now), StartedAt: at(now)}
	if err := s.write.WithContext(ctx).Create(&run).Error; err != nil {
		return out, classify(err)
	}
	for _, t := range sealedTables {
		if err := s.rekeyTable(ctx, t, next, run.ID, &out.Values, progress); err != nil {
			return out, fmt.Errorf("store: seal %s anew: %w", t.name, err)
		}
	}
	return out, s.endRekey(ctx, next, run.ID, now, out.Values)
}

// beginRekey notes which key comes next, and finds out whether anybody else is
// there. In that order: who starts later finds the note.
func (s *Store) beginRekey(ctx context.Context, next *vault.Vault) (already bool, err error) {
	begun := false
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		var row installationRow
		if err := tx.Take(&row, 1).Error; err != nil {
			return err
		}
		if _, err := next.Open(row.KeyCheck, keyCheckContext); err == nil {
			already = true
			return nil
		}
		if _, err := s.vault.Open(row.KeyCheck, keyCheckContext); err != nil {
			return wrongKey(err)
		}
		if row.NextKeyCheck != nil {
			if _, err := next.Open(row.NextKeyCheck, keyCheckContext); err != nil {
				return errors.New("a change to another new key was begun: end it with that one first")
			}
			return nil
		}
		begun = true
		return tx.Exec("UPDATE installation SET next_key_check = ? WHERE id = 1", next.Seal(keyCheckWord, keyCheckContext)).Error
	})
	if err != nil || already {
		return already, err
	}
	if err := s.nobodyElse(ctx); err != nil {
		if begun {
			err = errors.Join(err, classify(s.write.WithContext(ctx).Exec("UPDATE installation SET next_key_check = NULL WHERE id = 1").Error))
		}
		return false, err
	}
	return false, nil
}

// nobodyElse looks for other sessions of this program; ours is one. An embedded
// database is found to be free before it is opened (Alone).
func (s *Store) nobodyElse(ctx context.Context) error {
	if s.dialect == migrations.SQLite {
		return nil
	}
	// One that has just ended is seen for a moment longer.
	tick := time.NewTicker(leavesIn / leavesAsked)
	defer tick.Stop()
	for range leavesAsked {
		var others int64
		err := s.write.WithContext(ctx).Raw(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND application_name = current_setting('application_name')`).Scan(&others).Error
		if err != nil || others == 0 {
			return classify(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ErrInUse
}

// Alone proves that nobody has the embedded database open; of PostgreSQL it says
// nothing.
func Alone(ctx context.Context, url string) error {
	a, err := parse(url)
	if err != nil || a.dialect != migrations.SQLite {
		return err
	}
	release, err := a.alone(ctx)
	if err != nil {
		return err
	}
	return release()
}

func (s *Store) rekeyTable(ctx context.Context, t sealedTable, next *vault.Vault, run uuid.UUID, sum *int64, progress func(int64) error) error {
	var last uuid.UUID
	for {
		var n int
		batch := func(tx *gorm.DB) error {
			rows, err := t.after(tx, last)
			if n = len(rows); err != nil || n == 0 {
				return err
			}
			for _, r := range rows {
				changed, err := t.reseal(tx, s.vault, next, r)
				if err != nil {
					return err
				}
				*sum += changed
			}
			last = rows[n-1].id
			return nil
		}
		var err error
		if t.bodies {
			err = s.openRun(ctx, run, func(tx *gorm.DB) (map[string]int64, error) { return nil, batch(tx) })
		} else {
			err = s.inTx(ctx, batch)
		}
		if err == nil && n > 0 {
			err = progress(*sum)
		}
		if err != nil || n < rekeyBatch {
			return err
		}
	}
}

// sealedRow is a row's sealed columns, in the table's order.
type sealedRow struct {
	id     uuid.UUID
	values [][]byte
}

func (t sealedTable) after(tx *gorm.DB, last uuid.UUID) ([]sealedRow, error) {
	rows, err := tx.Table(t.name).Select("id, "+strings.Join(t.columns, ", ")).Where("id > ?", last).Order("id").Limit(rekeyBatch).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []sealedRow
	for rows.Next() {
		r := sealedRow{values: make([][]byte, len(t.columns))}
		into := []any{&r.id}
		for i := range r.values {
			into = append(into, &r.values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func (t sealedTable) reseal(tx *gorm.DB, from, next *vault.Vault, r sealedRow) (changed int64, err error) {
	set := map[string]any{}
	for i, column := range t.columns {
		if r.values[i] == nil || next.Sealed(r.values[i]) {
			continue
		}
		context := t.context(column, r.id)
		plain, err := from.Open(r.values[i], context)
		if err != nil {
			return 0, fmt.Errorf("%s of %s: %w", column, r.id, err)
		}
		set[column] = next.Seal(plain, context)
	}
	if len(set) == 0 {
		return 0, nil
	}
	return int64(len(set)), tx.Table(t.name).Where("id = ?", r.id).Updates(set).Error
}

// endRekey changes the installation's own, and says in the same transaction that
// it did. From then on the key of before opens nothing.
func (s *Store) endRekey(ctx context.Context, next *vault.Vault, run uuid.UUID, now time.Time, values int64) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if s.dialect == migrations.Postgres { // it reads all that is sealed
			if err := tx.Exec("SET LOCAL statement_timeout = 0").Error; err != nil {
				return err
			}
		}
		for _, t := range sealedTables {
			for _, column := range t.columns {
				var left int64
				if err := tx.Table(t.name).Where(column+" IS NOT NULL AND substr("+column+", 1, ?) <> ?", vault.HeadSize, next.Head()).Count(&left).Error; err != nil {
					return err
				}
				if left > 0 {
					return fmt.Errorf("store: %d values of %s.%s came meanwhile under the key of before: %w", left, t.name, column, ErrInUse)
				}
			}
		}
		var row installationRow
		if err := tx.Take(&row, 1).Error; err != nil {
			return err
		}
		pepper, err := s.vault.Open(row.Pepper, pepperContext)
		if err != nil {
			return wrongKey(err)
		}
		err = tx.Exec("UPDATE installation SET pepper = ?, key_check = ?, next_key_check = NULL WHERE id = 1",
			next.Seal(pepper, pepperContext), next.Seal(keyCheckWord, keyCheckContext)).Error
		if err != nil {
			return err
		}
		if err := tx.Exec("UPDATE retention_runs SET finished_at = ? WHERE id = ?", at(now), run).Error; err != nil {
			return err
		}
		return appendAdminLog(tx, access.Entry{
			At: now, Actor: access.System.Actor, Action: access.DidRotateKey, Detail: access.Facts{"values": strconv.FormatInt(values, 10)},
		})
	})
}
