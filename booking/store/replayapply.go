package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// storedReceiptRow is a receipt as a replay reads it.
type storedReceiptRow struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         booking.Kind
	Subject      string
	Status       booking.ReceiptStatus
	Code         string
	RawBody      []byte
	Snapshot     []byte
	SnapshotAt   *stamp
	ReceivedAt   stamp
	Newest       bool
}

// StoredReceipts are receipts with their bodies and snapshots, in the order of
// replays. Whoever asks for many holds many bodies in memory.
func (s *Store) StoredReceipts(ctx context.Context, ids []uuid.UUID) ([]booking.StoredReceipt, error) {
	var rows []storedReceiptRow
	err := s.reader(ctx).Table("webhook_receipts r").
		Select(`r.id, r.connection_id, r.event_key, r.kind, r.subject, r.status, r.code, r.raw_body, r.snapshot, r.snapshot_at, r.received_at,
			NOT EXISTS (SELECT 1 FROM webhook_receipts n WHERE n.subject = r.subject AND n.subject <> '' AND n.connection_id = r.connection_id
				AND n.snapshot IS NOT NULL AND (n.received_at, n.id) > (r.received_at, r.id)) AS newest`).
		Where("r.id IN ?", ids).Order("r.received_at, r.id").Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make([]booking.StoredReceipt, 0, len(rows))
	for _, r := range rows {
		stored := booking.StoredReceipt{
			ID: r.ID, ConnectionID: r.ConnectionID, EventKey: r.EventKey, Kind: r.Kind, Subject: r.Subject, Status: r.Status, Code: r.Code,
			ReceivedAt: r.ReceivedAt.t, SnapshotAt: r.SnapshotAt.time(), Newest: r.Newest,
		}
		if r.RawBody != nil {
			if stored.Body, err = s.vault.Open(r.RawBody, bodyContext(r.ID)); err != nil {
				return nil, fmt.Errorf("store: the body of receipt %s: %w", r.ID, err)
			}
		}
		if r.Snapshot != nil {
			if stored.Snapshot, err = s.vault.Open(r.Snapshot, snapshotContext(r.ID)); err != nil {
				return nil, fmt.Errorf("store: the snapshot of receipt %s: %w", r.ID, err)
			}
		}
		out = append(out, stored)
	}
	return out, nil
}

// QueueRefetchWith has receipts that a replay asks about again handed to f in the
// transaction that decides so: those that it opened, and those that stay settled.
// Call it before anything is replayed.
func (s *Store) QueueRefetchWith(f func(ctx context.Context, tx *sql.Tx, replay uuid.UUID, opened, settled []uuid.UUID) error) {
	s.refetch = f
}

// LookReplay decides stored receipts once more and saves nothing. It holds up
// nobody: it reads one state of the database, without the ledger's lock. quiet says
// that everything would stay as it is, so that having looked is having replayed.
func (s *Store) LookReplay(ctx context.Context, set []booking.Post, now time.Time) (answers []booking.Answer, quiet bool, err error) {
	err = s.inLook(ctx, func(tx *transaction) error { //nolint:contextcheck // trips have the transaction's
		st, err := s.load(tx, set)
		if err != nil {
			return err
		}
		ch := booking.Decide(st, deliveriesOf(set), now)
		answers, quiet = ch.Answers, ch.Quiet(st)
		if !quiet {
			return nil
		}
		quiet, err = toldBefore(tx, ch.Blocks)
		return err
	})
	return answers, quiet, err
}

func deliveriesOf(set []booking.Post) []booking.Delivery {
	out := make([]booking.Delivery, len(set))
	for i, p := range set {
		out[i] = p.Delivery
	}
	return out
}

// toldBefore tells whether all that is said of blocks was said already, or later.
func toldBefore(tx *transaction, blocks []booking.ToldBlock) (bool, error) {
	for _, b := range blocks {
		var n int64
		err := tx.Table("unavailable").Where("external_id = ? AND provider = ? AND api_base = ? AND told >= ?",
			storable(b.ExternalID), b.Source.Provider, b.Source.Base, clockColumn{clock(b.At)}).Count(&n).Error
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// inLook runs fn in a transaction that reads one state of the database and writes
// nothing. Its statements go as the writer's do, but on a connection of the readers.
func (s *Store) inLook(ctx context.Context, fn func(tx *transaction) error) (err error) {
	defer func() { err = classify(err) }()
	db, err := s.read.DB()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // only gives it back
	ways := &ways{dialect: s.dialect}
	defer func() { err = errors.Join(err, ways.forget(conn)) }()
	var opts *sql.TxOptions // SQLite's readers see one state anyway
	if s.dialect == migrations.Postgres {
		opts = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := conn.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	g := s.read.Session(&gorm.Session{Context: ctx, NewDB: true})
	g.Statement.ConnPool = tx
	return fn(&transaction{DB: g.Session(fresh), conn: conn, sql: tx, ways: ways, look: true})
}

// forget closes the statements that were prepared on a connection which others use
// from now on.
func (w *ways) forget(conn *sql.Conn) error {
	if len(w.prepared.statements) == 0 {
		return nil
	}
	return conn.Raw(func(any) error {
		var errs []error
		for _, statement := range w.prepared.statements {
			errs = append(errs, statement.Close())
		}
		w.prepared = prepared{}
		return errors.Join(errs...)
	})
}

// ApplyReplay decides stored receipts once more and saves the outcome, as Apply does
// for what arrives, and with it how far the replay is. booking.ErrNotHeld says that
// the replay is another's by now, or was stopped: then nothing was written.
func (s *Store) ApplyReplay(ctx context.Context, set booking.ReplaySet, now time.Time) ([]booking.Answer, error) {
	var answers []booking.Answer
	err := s.inTripsAgain(ctx, func(tx *transaction) error { //nolint:contextcheck // what Decide does in memory is not to be broken off
		st, err := s.load(tx, set.Posts)
		if err != nil {
			return err
		}
		if err := bodiesStand(tx, set.Posts); err != nil {
			return err
		}
		ch := booking.Decide(st, deliveriesOf(set.Posts), now)
		if err := s.save(tx, st, ch, set.Posts, now); err != nil {
			return err
		}
		answers = ch.Answers
		if err := s.recount(tx, st, set.Posts, answers); err != nil {
			return err
		}
		if err := s.queueReplayed(tx, set, ch); err != nil {
			return err
		}
		return stepReplay(tx.DB, set.Replay, set.Hold.By, set.Step(answers), set.Listed, now, map[string]any{"claimed_until": at(set.Hold.Until)})
	})
	return answers, err
}

// bodiesStand holds what the set was read from against what is stored now, under
// the ledger's lock: what was erased must not come back.
func bodiesStand(tx *transaction, set []booking.Post) error {
	ids := make([]uuid.UUID, len(set))
	for i, p := range set {
		ids[i] = p.ReceiptID
	}
	var gone int64
	err := tx.Table("webhook_receipts").Where("id IN ? AND raw_body IS NULL AND snapshot IS NULL", ids).Count(&gone).Error
	if err == nil && gone > 0 {
		err = booking.ErrReplayOutdated
	}
	return err
}

// queueReplayed asks for the fetches of receipts that a replay opened, and of those
// that stay settled.
func (s *Store) queueReplayed(tx *transaction, set booking.ReplaySet, ch booking.Changes) error {
	var opened []uuid.UUID
	for _, r := range ch.Resolved {
		if r.Status == booking.StatusPending {
			opened = append(opened, r.ID)
		}
	}
	if len(opened)+len(set.Ask) == 0 || s.refetch == nil {
		return nil
	}
	return s.refetch(tx.Statement.Context, tx.sql, set.Replay, opened, set.Ask)
}

// settleReplayed writes what became of a receipt that was replayed. One that is
// fetched for again counts as claimed: no poke joins it.
func (s *Store) settleReplayed(t *trip, r booking.Receipt, now time.Time) error {
	event, err := s.sealEvent(r)
	if err != nil {
		return err
	}
	var claimed any
	if r.Status == booking.StatusPending {
		claimed = at(now).t
	}
	t.write(1, "settle replayed receipt "+r.ID.String(),
		`UPDATE webhook_receipts SET kind = ?, status = ?, reason = ?, code = ?, error = ?, subject = ?, waiting_event = ?, processed_at = ?,
			claimed_at = coalesce(claimed_at, ?) WHERE id = ?`,
		storable(string(r.Kind)), string(r.Status), string(r.Reason), storable(r.Code), storable(r.Error), storable(r.Subject), event,
		timeOrNil(processedAt(r.Status, r.Code, now)), claimed, r.ID)
	return nil
}

// keepSnapshots writes what was fetched again for settled receipts.
func (s *Store) keepSnapshots(t *trip, set []booking.Post) {
	for _, p := range set {
		if !p.Replays || p.Snapshot == nil {
			continue
		}
		t.write(-1, "keep a snapshot", "UPDATE webhook_receipts SET snapshot = ?, snapshot_at = ? WHERE id = ? AND (snapshot_at IS NULL OR snapshot_at < ?)",
			s.vault.Seal(p.Snapshot, snapshotContext(p.ReceiptID)), at(p.SnapshotAt).t, p.ReceiptID, at(p.SnapshotAt).t)
	}
}

// recount moves settled receipts that changed their status from one count to the
// other: the counts take it that they do not.
func (s *Store) recount(tx *transaction, st *booking.State, set []booking.Post, answers []booking.Answer) error {
	for i, p := range set {
		before := st.Receipts[keyOf(p)]
		after := answers[i].Original
		if before.Status == after || !settled(string(before.Status)) || before.ID != p.ReceiptID {
			continue
		}
		const row = " WHERE connection_id = ? AND kind = ? AND told AND status = ? AND quarter = ?"
		key := []any{before.ConnectionID, storable(string(before.Kind)), before.Status, at(quarterOf(p.ReceivedAt))}
		for _, step := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO receipt_counts (quarter, connection_id, kind, told, status, receipts)
				SELECT quarter, connection_id, kind, told, CAST(? AS text), 1 FROM receipt_counts` + row + `
				ON CONFLICT (connection_id, kind, told, status, quarter) DO UPDATE SET receipts = receipt_counts.receipts + 1`, slices.Concat([]any{after}, key)},
			{"DELETE FROM receipt_counts" + row + " AND receipts = 1", key},
			{"UPDATE receipt_counts SET receipts = receipts - 1" + row, key},
		} {
			if err := tx.Exec(step.text, step.args...).Error; err != nil {
				return err
			}
		}
	}
	return nil
}

// ClaimAgain gives a settled receipt a ticket, so that it is asked about once more.
// One that is being worked on is booking.ErrNotFound.
func (s *Store) ClaimAgain(ctx context.Context, receipt uuid.UUID, now time.Time) (booking.StoredReceipt, time.Time, error) {
	var ticket time.Time
	found, err := s.StoredReceipts(ctx, []uuid.UUID{receipt})
	if err != nil {
		return booking.StoredReceipt{}, ticket, err
	}
	if len(found) == 0 || !settled(string(found[0].Status)) {
		return booking.StoredReceipt{}, ticket, booking.ErrNotFound
	}
	err = s.inTx(ctx, func(tx *gorm.DB) (err error) {
		ticket, err = nextTicket(tx, now)
		return err
	})
	return found[0], ticket, err
}
