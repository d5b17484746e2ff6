package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// Retention works in batches, each a short transaction: whoever applies a
// delivery stands behind one of them at most.
const retentionBatch = 500

// settledStatus is of receipts that nothing will be done about any more.
const settledStatus = "status IN ('processed', 'unchanged', 'rejected', 'conflict', 'ignored')"

// What a run of retention_runs is for.
const (
	runRetention = "retention"
	runErase     = "erase"
	runRekey     = "rekey"
)

// retentionRow is a row of retention_runs.
type retentionRow struct {
	ID         uuid.UUID
	Kind       string
	Cutoff     stamp
	StartedAt  stamp
	FinishedAt *stamp
	Emptied    int64
	Snapshots  int64
	Forms      int64
	Deliveries int64
	Sessions   int64
	Links      int64
	Reads      int64
	Replays    int64
	Alerts     int64
	Messages   int64
	Reached    *stamp
}

func (retentionRow) TableName() string { return "retention_runs" }

func (r retentionRow) toDomain() booking.RetentionRun {
	return booking.RetentionRun{
		ID: r.ID, StartedAt: r.StartedAt.t, FinishedAt: r.FinishedAt.ptr(), Bodies: r.Emptied, Snapshots: r.Snapshots, Forms: r.Forms,
		Deliveries: r.Deliveries, Sessions: r.Sessions, Links: r.Links, Reads: r.Reads,
		Replays: r.Replays, Alerts: r.Alerts, Messages: r.Messages,
	}
}

// retention is a run under way.
type retention struct {
	*Store
	row retentionRow
	// between is called after each batch that removed something.
	between func(context.Context) error
}

// Retain removes what is older than keep says, and tells what that was. between is
// called between batches, to let others in; its error ends the run, as ctx does.
// A run that was cut off is gone on with by the next.
func (s *Store) Retain(ctx context.Context, keep booking.Keep, now time.Time, between func(context.Context) error) (booking.RetentionRun, error) {
	r := &retention{Store: s, between: between, row: retentionRow{
		ID: uuid.New(), Kind: runRetention, Cutoff: at(now.Add(-keep.Bodies)), StartedAt: at(now),
	}}
	err := s.write.WithContext(ctx).Create(&r.row).Error
	for _, step := range []func() error{
		func() error { return r.bodies(ctx, keep.Bodies) },
		func() error { return r.forms(ctx, keep.Bodies) },
		func() error { return r.deliveries(ctx, keep.Deliveries) },
		func() error { return r.reads(ctx, keep.Reads) },
		func() error { return r.replays(ctx, keep.Reads) },
		func() error { return r.alerts(ctx, keep.Alerts) },
		func() error { return r.messages(ctx, keep.Messages) },
		func() error { return r.expired(ctx) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err == nil {
		r.row.FinishedAt = atOrNull(now)
		err = r.write.WithContext(ctx).Exec("UPDATE retention_runs SET finished_at = ?, reached = ? WHERE id = ?", at(now), r.row.Reached, r.row.ID).Error
	}
	return r.row.toDomain(), classify(err)
}

// open lets fn empty bodies: the run stands open for its transaction alone. fn
// returns by how much each of the run's counts grows.
func (s *Store) openRun(ctx context.Context, run uuid.UUID, fn func(tx *gorm.DB) (map[string]int64, error)) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := standInLine(tx, s.dialect); err != nil {
			return err
		}
		if err := tx.Exec("UPDATE retention_runs SET open = 1 WHERE id = ?", run).Error; err != nil {
			return err
		}
		counts, err := fn(tx)
		if err != nil {
			return err
		}
		columns := map[string]any{"open": nil}
		for name, n := range counts {
			columns[name] = gorm.Expr(name+" + ?", n)
		}
		return tx.Table("retention_runs").Where("id = ?", run).Updates(columns).Error
	})
}

// bodies empties those of settled receipts, from where the last run ended. That is
// before the oldest receipt that is not settled: once it is, it will be met.
func (r *retention) bodies(ctx context.Context, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	var before []struct{ Reached *stamp }
	err := r.reader(ctx).Table("retention_runs").Where("kind = ? AND finished_at IS NOT NULL", runRetention).
		Order("started_at DESC").Limit(1).Find(&before).Error
	if err != nil {
		return err
	}
	var from stamp
	if len(before) > 0 {
		from = at(before[0].Reached.time())
	}
	reached := r.row.Cutoff
	var open []struct{ ReceivedAt stamp }
	if err := r.reader(ctx).Table("webhook_receipts").Where(unsettled).Order("received_at").Limit(1).Find(&open).Error; err != nil {
		return err
	}
	if len(open) > 0 && open[0].ReceivedAt.t.Before(reached.t) {
		reached = open[0].ReceivedAt
	}
	var last uuid.UUID
	for {
		var rows []struct {
			ID         uuid.UUID
			ReceivedAt stamp
			Full       bool
		}
		err := r.reader(ctx).Table("webhook_receipts").
			Select("id, received_at, "+settledStatus+" AND (raw_body IS NOT NULL OR snapshot IS NOT NULL) AS \"full\"").
			Where("received_at < ? AND (received_at, id) > (?, ?)", r.row.Cutoff, from, last).
			Order("received_at, id").Limit(retentionBatch).Find(&rows).Error
		if err != nil {
			return err
		}
		var full []uuid.UUID
		for _, row := range rows {
			if row.Full {
				full = append(full, row.ID)
			}
		}
		if err := r.empty(ctx, full); err != nil {
			return err
		}
		if len(rows) < retentionBatch {
			r.row.Reached = &reached
			return nil
		}
		from, last = rows[len(rows)-1].ReceivedAt, rows[len(rows)-1].ID
	}
}

func (r *retention) empty(ctx context.Context, receipts []uuid.UUID) error {
	if len(receipts) == 0 {
		return nil
	}
	err := r.openRun(ctx, r.row.ID, func(tx *gorm.DB) (map[string]int64, error) {
		// Judged again: a replay may have opened one meanwhile.
		of := tx.Table("webhook_receipts").Where("id IN ? AND "+settledStatus, receipts).Session(fresh)
		bodies := of.Where("raw_body IS NOT NULL").Update("raw_body", nil)
		if bodies.Error != nil {
			return nil, bodies.Error
		}
		snapshots := of.Where("snapshot IS NOT NULL").Update("snapshot", nil)
		r.row.Emptied += bodies.RowsAffected
		r.row.Snapshots += snapshots.RowsAffected
		return map[string]int64{"emptied": bodies.RowsAffected, "snapshots": snapshots.RowsAffected}, snapshots.Error
	})
	if err != nil {
		return err
	}
	return r.between(ctx)
}

// deliveries removes those of settled receipts.
func (r *retention) deliveries(ctx context.Context, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	// The table has no key: its rows are named by their place.
	text := `DELETE FROM deliveries WHERE rowid IN (SELECT d.rowid FROM deliveries d JOIN webhook_receipts r ON r.id = d.receipt_id
		WHERE d.connection_id = ? AND d.received_at < ? AND r.` + settledStatus + ` ORDER BY d.received_at LIMIT ?)`
	if r.dialect == migrations.Postgres {
		text = `DELETE FROM deliveries WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM deliveries d JOIN webhook_receipts r ON r.id = d.receipt_id
			WHERE d.connection_id = ? AND d.received_at < ? AND r.` + settledStatus + ` ORDER BY d.received_at LIMIT ?))`
	}
	var connections []uuid.UUID
	if err := r.reader(ctx).Table("connections").Pluck("id", &connections).Error; err != nil {
		return err
	}
	for _, c := range connections {
		if err := r.remove(ctx, "deliveries", &r.row.Deliveries, text, c, at(r.row.StartedAt.t.Add(-keep)), retentionBatch); err != nil {
			return err
		}
	}
	return nil
}

// reads removes what imports and comparisons found, but the newest that was done.
func (r *retention) reads(ctx context.Context, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	return r.remove(ctx, "reads", &r.row.Reads, `DELETE FROM runs WHERE id IN (SELECT o.id FROM runs o WHERE o.finished_at < ?
		AND EXISTS (SELECT 1 FROM runs n WHERE n.connection_id = o.connection_id AND n.kind = o.kind AND n.status = 'done' AND n.started_at > o.started_at)
		LIMIT ?)`, at(r.row.StartedAt.t.Add(-keep)), retentionBatch)
}

// replays removes what replays reported that have ended, their lists of changes first.
// What they changed stands in the audit.
func (r *retention) replays(ctx context.Context, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	before := at(r.row.StartedAt.t.Add(-keep))
	var lines int64
	err := r.remove(ctx, "", &lines, `DELETE FROM replay_changes WHERE (replay_id, receipt_id) IN (SELECT c.replay_id, c.receipt_id
		FROM replay_changes c JOIN replays p ON p.id = c.replay_id WHERE p.finished_at < ? LIMIT ?)`, before, retentionBatch)
	if err != nil {
		return err
	}
	return r.remove(ctx, "replays", &r.row.Replays, `DELETE FROM replays WHERE id IN (SELECT id FROM replays WHERE finished_at < ? LIMIT ?)`, before, retentionBatch)
}

// alerts removes those that are over.
func (r *retention) alerts(ctx context.Context, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	return r.remove(ctx, "alerts", &r.row.Alerts, `DELETE FROM alerts WHERE id IN (SELECT id FROM alerts WHERE closed_at < ? LIMIT ?)`,
		at(r.row.StartedAt.t.Add(-keep)), retentionBatch)
}

// messages removes those that are over, with their tries.
func (r *retention) messages(ctx context.Context, keep time.Duration) error {
	for keep > 0 {
		var over []uuid.UUID
		err := r.reader(ctx).Table("effects").Where("kind = 'webhook' AND created_at < ? AND NOT "+openEffects, at(r.row.StartedAt.t.Add(-keep))).
			Order("created_at").Limit(retentionBatch).Pluck("id", &over).Error
		if err != nil || len(over) == 0 {
			return err
		}
		var n int64
		err = r.inTx(ctx, func(tx *gorm.DB) error {
			// Judged again: a person may have asked to send one again meanwhile.
			var still []uuid.UUID
			q := tx.Table("effects").Where("id IN ? AND NOT "+openEffects, over)
			if r.dialect == migrations.Postgres {
				q = q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
			}
			if err := q.Pluck("id", &still).Error; err != nil {
				return err
			}
			if err := tx.Exec("DELETE FROM effect_attempts WHERE effect_id IN ?", still).Error; err != nil {
				return err
			}
			if err := tx.Exec("DELETE FROM effects WHERE id IN ?", still).Error; err != nil {
				return err
			}
			n = int64(len(still))
			return tx.Table("retention_runs").Where("id = ?", r.row.ID).Update("messages", gorm.Expr("messages + ?", n)).Error
		})
		if err != nil {
			return err
		}
		r.row.Messages += n
		if len(over) < retentionBatch {
			return nil
		}
		if err := r.between(ctx); err != nil {
			return err
		}
	}
	return nil
}

// expired removes sessions and one-time links that work no more.
func (r *retention) expired(ctx context.Context) error {
	now := r.row.StartedAt
	if err := r.remove(ctx, "sessions", &r.row.Sessions, `DELETE FROM web_sessions WHERE token IN (SELECT token FROM web_sessions WHERE expiry <= ? LIMIT ?)`, now, retentionBatch); err != nil {
		return err
	}
	return r.remove(ctx, "links", &r.row.Links, `DELETE FROM signin_links WHERE hash IN (SELECT hash FROM signin_links WHERE expires_at <= ? LIMIT ?)`, now, retentionBatch)
}

// remove executes a statement in batches. The run counts what it removed in a column,
// unless that is "".
func (r *retention) remove(ctx context.Context, column string, sum *int64, text string, args ...any) error {
	n, err := r.inBatches(ctx, r.between, func(tx *gorm.DB) (int64, error) {
		res := tx.Exec(text, args...)
		if res.Error != nil || res.RowsAffected == 0 || column == "" {
			return res.RowsAffected, res.Error
		}
		return res.RowsAffected, tx.Table("retention_runs").Where("id = ?", r.row.ID).Update(column, gorm.Expr(column+" + ?", res.RowsAffected)).Error
	})
	*sum += n
	return err
}

// inBatches removes until a batch is not whole, each in a transaction of its own, with
// between called between them. It says how much was removed, also up to an error.
func (s *Store) inBatches(ctx context.Context, between func(context.Context) error, batch func(tx *gorm.DB) (int64, error)) (sum int64, err error) {
	for {
		var n int64
		err := s.inTx(ctx, func(tx *gorm.DB) (err error) {
			n, err = batch(tx)
			return err
		})
		if err != nil {
			return sum, err
		}
		if sum += n; n < retentionBatch {
			return sum, nil
		}
		if err := between(ctx); err != nil {
			return sum, err
		}
	}
}

// LastRetention is the newest run that was finished, or booking.ErrNotFound.
func (s *Store) LastRetention(ctx context.Context) (booking.RetentionRun, error) {
	var row retentionRow
	err := s.reader(ctx).Where("kind = ? AND finished_at IS NOT NULL", runRetention).Order("started_at DESC").Take(&row).Error
	return row.toDomain(), classify(err)
}
