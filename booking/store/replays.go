package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// replayRow is a row of replays.
type replayRow struct {
	ID          uuid.UUID
	Filter      document[booking.ReplayFilter]
	DryRun      bool
	Refetch     bool
	Status      booking.RunStatus
	AtReceived  *stamp
	AtID        *uuid.UUID
	Total       *int
	Looked      int
	Changed     int
	Unchanged   int
	StillFailed int
	Open        int
	Asked       int
	NeedRefetch int
	Gone        int
	Transitions int
	Failures    int
	Error       string
	Actor       booking.Actor
	StartedAt   stamp
	MovedAt     stamp
	FinishedAt  *stamp
}

func (replayRow) TableName() string { return "replays" }

func (r replayRow) toDomain() booking.Replay {
	return booking.Replay{
		ID: r.ID, Filter: r.Filter.v, DryRun: r.DryRun, Refetch: r.Refetch, Status: r.Status,
		At: booking.ReplayPlace{ReceivedAt: r.AtReceived.time(), ID: idOrNil(r.AtID)}, Total: r.Total,
		ReplayCounts: booking.ReplayCounts{
			Looked: r.Looked, Changed: r.Changed, Unchanged: r.Unchanged, StillFailed: r.StillFailed, Open: r.Open, Asked: r.Asked,
			NeedRefetch: r.NeedRefetch, Gone: r.Gone, Transitions: r.Transitions,
		},
		Failures: r.Failures, Error: r.Error, Actor: r.Actor, StartedAt: r.StartedAt.t, MovedAt: r.MovedAt.t, FinishedAt: r.FinishedAt.ptr(),
	}
}

// BeginReplay keeps a new replay, with the entry that tells of it.
func (s *Store) BeginReplay(ctx context.Context, r booking.Replay, e access.Entry) error {
	row := replayRow{
		ID: r.ID, Filter: document[booking.ReplayFilter]{r.Filter}, DryRun: r.DryRun, Refetch: r.Refetch, Status: booking.RunRunning,
		Actor: r.Actor, StartedAt: at(r.StartedAt), MovedAt: at(r.StartedAt),
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return appendAdminLog(tx, e)
	})
}

// ClaimReplay takes a replay to go on with it. It is false when somebody else has
// it, or it has ended.
func (s *Store) ClaimReplay(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (booking.Replay, bool, error) {
	var r booking.Replay
	mine := false
	err := s.inTx(ctx, func(tx *gorm.DB) (err error) {
		if mine, err = claim(tx, s.dialect, "replays", id, now, h); err != nil || !mine {
			return err
		}
		r, err = oneReplay(tx.Where("id = ?", id))
		return err
	})
	return r, mine && err == nil, err
}

// HoldReplay keeps a claimed replay for longer, with how many receipts it is about
// unless that is nil, and with a step that changed nothing else.
// booking.ErrNotHeld says that it was taken over, or stopped.
func (s *Store) HoldReplay(ctx context.Context, id uuid.UUID, total *int, step booking.ReplayStep, changesListed int, now time.Time, h booking.Hold) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		set := map[string]any{"claimed_until": at(h.Until)}
		if total != nil {
			set["total"] = *total
		}
		return stepReplay(tx, id, h.By, step, changesListed, now, set)
	})
}

// ReleaseReplay gives a replay back, with its new status. booking.ErrNotHeld says
// that it was taken over, or stopped: nothing is written then.
func (s *Store) ReleaseReplay(ctx context.Context, r booking.Replay, by uuid.UUID) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		res := held(tx, "replays", r.ID, by).Updates(map[string]any{
			"status": r.Status, "failures": r.Failures, "error": storable(r.Error), "moved_at": at(r.MovedAt), "finished_at": atPtr(r.FinishedAt),
			"claimed_by": nil, "claimed_until": nil,
		})
		if err := oneRow(res, booking.ErrNotHeld); err != nil {
			return err
		}
		return letGo(tx, r.ID)
	})
}

// stepReplay adds what a set found to a replay that is held by somebody.
func stepReplay(tx *gorm.DB, id, by uuid.UUID, step booking.ReplayStep, changesListed int, now time.Time, set map[string]any) error {
	c := step.Counts
	if step.At.ID != uuid.Nil {
		set["at_received"], set["at_id"], set["moved_at"] = at(step.At.ReceivedAt), step.At.ID, at(now)
		set["failures"], set["error"] = 0, ""
	}
	for column, n := range map[string]int{
		"looked": c.Looked, "changed": c.Changed, "unchanged": c.Unchanged, "still_failed": c.StillFailed, "open": c.Open,
		"asked": c.Asked, "need_refetch": c.NeedRefetch, "gone": c.Gone, "transitions": c.Transitions,
	} {
		if n != 0 {
			set[column] = gorm.Expr(`"`+column+`" + ?`, n)
		}
	}
	if err := oneRow(held(tx, "replays", id, by).Updates(set), booking.ErrNotHeld); err != nil {
		return err
	}
	room := min(max(booking.MaxReplayChanges-changesListed, 0), len(step.Changes))
	rows := rowsOf(step.Changes[:room], func(c booking.ReplayChange) replayChangeRow { return replayChangeFromDomain(id, c) })
	if len(rows) == 0 {
		return nil
	}
	return tx.Create(&rows).Error
}

// StopReplay ends a replay that is under way, whoever works on it: he finds out at
// his next set. One that has ended is a *booking.ConflictError.
func (s *Store) StopReplay(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Replay, error) {
	var out booking.Replay
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		res := tx.Table("replays").Where("id = ? AND status = 'running'", id).
			Updates(map[string]any{"status": booking.RunStopped, "finished_at": at(e.At), "claimed_by": nil, "claimed_until": nil})
		if res.Error != nil {
			return res.Error
		}
		var err error
		if out, err = oneReplay(tx.Where("id = ?", id)); err != nil {
			return err
		}
		if res.RowsAffected == 0 {
			return &booking.ConflictError{Code: "ended", Detail: "it has ended already: it is " + string(out.Status)}
		}
		if err := letGo(tx, id); err != nil {
			return err
		}
		return appendAdminLog(tx, e)
	})
	return out, err
}

// Replay is one replay, or booking.ErrNotFound.
func (s *Store) Replay(ctx context.Context, id uuid.UUID) (booking.Replay, error) {
	return oneReplay(s.reader(ctx).Where("id = ?", id))
}

// Replays are the newest.
func (s *Store) Replays(ctx context.Context, limit int) ([]booking.Replay, error) {
	var rows []replayRow
	err := s.reader(ctx).Order("started_at DESC, id DESC").Limit(limit).Find(&rows).Error
	return rowsOf(rows, replayRow.toDomain), classify(err)
}

// OpenReplays are those that are under way, the oldest first.
func (s *Store) OpenReplays(ctx context.Context) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := s.reader(ctx).Table("replays").Where("status = 'running'").Order("started_at").Pluck("id", &ids).Error
	return ids, classify(err)
}

func oneReplay(q *gorm.DB) (booking.Replay, error) {
	var row replayRow
	err := classify(q.Take(&row).Error)
	return row.toDomain(), err
}

// replayChangeRow is a row of replay_changes.
type replayChangeRow struct {
	ReplayID     uuid.UUID
	ReceiptID    uuid.UUID
	ConnectionID uuid.UUID
	Kind         booking.Kind
	ReceivedAt   stamp
	Before       booking.ReceiptStatus
	After        booking.ReceiptStatus
	Verdict      booking.ReceiptStatus
	Transitions  document[[]booking.ReplayedTransition]
}

func (replayChangeRow) TableName() string { return "replay_changes" }

func replayChangeFromDomain(replay uuid.UUID, c booking.ReplayChange) replayChangeRow {
	return replayChangeRow{
		ReplayID: replay, ReceiptID: c.ReceiptID, ConnectionID: c.ConnectionID, Kind: c.Kind, ReceivedAt: at(c.ReceivedAt),
		Before: c.Before, After: c.After, Verdict: c.Verdict, Transitions: document[[]booking.ReplayedTransition]{c.Transitions},
	}
}

func (r replayChangeRow) toDomain() booking.ReplayChange {
	return booking.ReplayChange{
		ReceiptID: r.ReceiptID, ConnectionID: r.ConnectionID, Kind: r.Kind, ReceivedAt: r.ReceivedAt.t,
		Before: r.Before, After: r.After, Verdict: r.Verdict, Transitions: r.Transitions.v,
	}
}

// ReplayChanges are what a replay's report lists, in the order of the replay.
func (s *Store) ReplayChanges(ctx context.Context, id uuid.UUID) ([]booking.ReplayChange, error) {
	var rows []replayChangeRow
	err := s.reader(ctx).Where("replay_id = ?", id).Order("received_at, receipt_id").Limit(booking.MaxReplayChanges).Find(&rows).Error
	return rowsOf(rows, replayChangeRow.toDomain), classify(err)
}

// replaySearch is a replay's filter, taken apart: what leads is read by an index in
// the replay's order, the rest is asked of each row.
type replaySearch struct{ lead, rest []condition }

func searchReplay(r booking.Replay) replaySearch {
	f := r.Filter
	var out replaySearch
	leads := func(text string, args ...any) { out.lead = append(out.lead, condition{text, args}) }
	asks := func(asked bool, text string, args ...any) {
		if asked {
			out.rest = append(out.rest, condition{text, args})
		}
	}
	// What came after it was asked for came to today's code.
	leads("r.received_at <= ?", at(r.StartedAt))
	if f.From != nil {
		leads("r.received_at >= ?", at(*f.From))
	}
	if f.To != nil {
		leads("r.received_at < ?", at(*f.To))
	}
	if len(f.IDs) > 0 {
		leads("r.id IN ?", f.IDs)
	}
	statuses := make([]string, len(f.Statuses))
	for i, status := range f.Statuses {
		statuses[i] = string(status)
	}
	if len(statuses) > 0 && !slices.ContainsFunc(statuses, settled) {
		leads(isUnsettled)
	}
	asks(true, "r.actor = ?", booking.ActorWebhook)
	asks(f.Provider != "", "r.connection_id IN (SELECT id FROM connections WHERE provider = ?)", f.Provider)
	asks(f.ConnectionID != nil, "r.connection_id = ?", f.ConnectionID)
	asks(f.Kind != "", "r.kind = ?", storable(string(f.Kind)))
	asks(len(statuses) > 0, "r.status IN ?", statuses)
	return out
}

func (q replaySearch) led(tx *gorm.DB) *gorm.DB {
	tx = tx.Table("webhook_receipts r")
	for _, c := range q.lead {
		tx = tx.Where(c.sql, c.args...)
	}
	return tx
}

// CountReplayed is how many receipts a replay is about.
func (s *Store) CountReplayed(ctx context.Context, r booking.Replay) (int, error) {
	q := searchReplay(r)
	tx := q.led(s.reader(ctx))
	for _, c := range q.rest {
		tx = tx.Where(c.sql, c.args...)
	}
	var n int64
	err := tx.Count(&n).Error
	return int(n), classify(err)
}

// replayPage is how many receipts are looked through at once, whether they fit or
// not.
const replayPage = 512

// ReplayPage names the receipts that a replay goes on with, in order, and the place
// behind the last that was looked through. more is false when none are left.
func (s *Store) ReplayPage(ctx context.Context, r booking.Replay) (ids []uuid.UUID, end booking.ReplayPlace, more bool, err error) {
	q := searchReplay(r)
	fits, args := make([]string, len(q.rest)), []any{}
	for i, c := range q.rest {
		fits[i], args = c.sql, append(args, c.args...)
	}
	tx := q.led(s.reader(ctx)).Select("r.id, r.received_at, CASE WHEN "+strings.Join(fits, " AND ")+" THEN 1 ELSE 0 END AS fits", args...)
	if r.At.ID != uuid.Nil {
		tx = tx.Where("(r.received_at, r.id) > (?, ?)", at(r.At.ReceivedAt), r.At.ID)
	}
	var rows []struct {
		ID         uuid.UUID
		ReceivedAt stamp
		Fits       int
	}
	if err := tx.Order("r.received_at, r.id").Limit(replayPage).Find(&rows).Error; err != nil {
		return nil, end, false, classify(err)
	}
	end = r.At
	for _, row := range rows {
		end = booking.ReplayPlace{ReceivedAt: row.ReceivedAt.t, ID: row.ID}
		if row.Fits == 1 {
			ids = append(ids, row.ID)
		}
	}
	return ids, end, len(rows) == replayPage, nil
}
