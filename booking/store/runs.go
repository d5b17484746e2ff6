package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
)

// runRow is a row of runs.
type runRow struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	Kind         booking.RunKind
	Cause        string
	WindowFrom   stamp
	WindowTo     stamp
	Status       booking.RunStatus
	Cursor       string
	Pages        int
	Requests     int
	AtProvider   int
	Here         int
	Differed     int
	Conflicts    int
	Refused      int
	Unreadable   int
	Failures     int
	Error        string
	Actor        booking.Actor
	StartedAt    stamp
	MovedAt      stamp
	FinishedAt   *stamp
}

func (runRow) TableName() string { return "runs" }

func runFromDomain(r booking.Run) runRow {
	return runRow{
		ID: r.ID, ConnectionID: r.ConnectionID, Kind: r.Kind, Cause: r.Cause, WindowFrom: at(r.From), WindowTo: at(r.To), Status: r.Status,
		Cursor: storable(r.Cursor), Pages: r.Pages, Requests: r.Requests, AtProvider: r.AtProvider, Here: r.Here, Differed: r.Differed,
		Conflicts: r.Conflicts, Refused: r.Refused, Unreadable: r.Unreadable, Failures: r.Failures, Error: storable(r.Error), Actor: r.Actor,
		StartedAt: at(r.StartedAt), MovedAt: at(r.MovedAt), FinishedAt: atPtr(r.FinishedAt),
	}
}

func (r runRow) toDomain() booking.Run {
	return booking.Run{
		ID: r.ID, ConnectionID: r.ConnectionID, Kind: r.Kind, Cause: r.Cause, From: r.WindowFrom.t, To: r.WindowTo.t, Status: r.Status, Cursor: r.Cursor,
		RunCounts: booking.RunCounts{
			Pages: r.Pages, Requests: r.Requests, AtProvider: r.AtProvider, Here: r.Here, Differed: r.Differed, Conflicts: r.Conflicts,
			Refused: r.Refused, Unreadable: r.Unreadable,
		},
		Failures: r.Failures, Error: r.Error, Actor: r.Actor, StartedAt: r.StartedAt.t, MovedAt: r.MovedAt.t, FinishedAt: r.FinishedAt.ptr(),
	}
}

// BeginRun keeps a new run, or finds the one of its kind that is under way: there
// is one at a time for a connection.
func (s *Store) BeginRun(ctx context.Context, r booking.Run) (booking.Run, error) {
	for range beginTries {
		row := runFromDomain(r)
		var rows []runRow
		err := s.inTx(ctx, func(tx *gorm.DB) error {
			// The conflict is with a partial index, whose condition stands in the text.
			insert := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
			if insert.Error != nil {
				return insert.Error
			}
			return tx.Where("connection_id = ? AND kind = ? AND status = 'running'", r.ConnectionID, r.Kind).Find(&rows).Error
		})
		if err != nil {
			return r, err
		}
		if len(rows) > 0 {
			return rows[0].toDomain(), nil
		}
		// The one that was under way has ended since: this one can begin.
	}
	return r, fmt.Errorf("store: a run of connection %s does not begin: others do and end: %w", r.ConnectionID, booking.ErrUnavailable)
}

// beginTries is how often a run may be kept from beginning by one that ends at once.
const beginTries = 10

// ClaimRun takes a run for its next page. It is false when somebody else has it, or
// it has ended.
func (s *Store) ClaimRun(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (booking.Run, bool, error) {
	var r booking.Run
	mine := false
	err := s.inTx(ctx, func(tx *gorm.DB) (err error) {
		if mine, err = claim(tx, s.dialect, "runs", id, now, h); err != nil || !mine {
			return err
		}
		r, err = oneRun(tx.Where("id = ?", id))
		return err
	})
	return r, mine && err == nil, err
}

// HoldRun keeps a claimed run for longer, with what was found so far unless that is
// nil. booking.ErrNotHeld says that it was taken over, or stopped.
func (s *Store) HoldRun(ctx context.Context, id uuid.UUID, found *booking.Run, h booking.Hold) error {
	set := map[string]any{"claimed_until": at(h.Until)}
	if found != nil {
		for column, value := range progress(*found) {
			set[column] = value
		}
	}
	res := held(s.write.WithContext(ctx), "runs", id, h.By).Updates(set)
	return classify(oneRow(res, booking.ErrNotHeld))
}

// ReleaseRun gives a run back, with what was found and its new status.
// booking.ErrNotHeld says that it was taken over, or stopped: nothing is written
// then.
func (s *Store) ReleaseRun(ctx context.Context, r booking.Run, by uuid.UUID) error {
	set := progress(r)
	set["status"], set["finished_at"], set["claimed_by"], set["claimed_until"] = r.Status, atPtr(r.FinishedAt), nil, nil
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := oneRow(held(tx, "runs", r.ID, by).Updates(set), booking.ErrNotHeld); err != nil {
			return err
		}
		return letGo(tx, r.ID)
	})
}

func progress(r booking.Run) map[string]any {
	return map[string]any{
		"cursor": storable(r.Cursor), "pages": r.Pages, "requests": r.Requests, "at_provider": r.AtProvider,
		"here": r.Here, "differed": r.Differed, "conflicts": r.Conflicts, "refused": r.Refused, "unreadable": r.Unreadable,
		"failures": r.Failures, "error": storable(r.Error), "moved_at": at(r.MovedAt),
	}
}

// StopRun ends a run that is under way, whoever works on it: he finds out at his next
// hold. One that has ended is a *booking.ConflictError.
func (s *Store) StopRun(ctx context.Context, id uuid.UUID, now time.Time) (booking.Run, error) {
	var out booking.Run
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		res := tx.Table("runs").Where("id = ? AND status = 'running'", id).
			Updates(map[string]any{"status": booking.RunStopped, "finished_at": at(now), "claimed_by": nil, "claimed_until": nil})
		if res.Error != nil {
			return res.Error
		}
		var err error
		if out, err = oneRun(tx.Where("id = ?", id)); err == nil && res.RowsAffected == 0 {
			err = &booking.ConflictError{Code: "ended", Detail: "it has ended already: it is " + string(out.Status)}
		}
		if err != nil {
			return err
		}
		return letGo(tx, id)
	})
	return out, err
}

// Runs lists the newest runs of a connection.
func (s *Store) Runs(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Run, error) {
	var rows []runRow
	err := s.reader(ctx).Where("connection_id = ?", connection).Order("started_at DESC, id DESC").Limit(limit).Find(&rows).Error
	return rowsOf(rows, runRow.toDomain), classify(err)
}

// Run is one run, or booking.ErrNotFound.
func (s *Store) Run(ctx context.Context, id uuid.UUID) (booking.Run, error) {
	return oneRun(s.reader(ctx).Where("id = ?", id))
}

// NewestRun is a connection's newest run of a kind, or booking.ErrNotFound.
func (s *Store) NewestRun(ctx context.Context, connection uuid.UUID, kind booking.RunKind) (booking.Run, error) {
	return oneRun(s.reader(ctx).Where("connection_id = ? AND kind = ?", connection, kind).Order("started_at DESC, id DESC"))
}

func oneRun(q *gorm.DB) (booking.Run, error) {
	var row runRow
	err := classify(q.Take(&row).Error)
	return row.toDomain(), err
}

// OpenRuns are those that are under way, of all connections.
func (s *Store) OpenRuns(ctx context.Context) ([]booking.Run, error) {
	var rows []runRow
	err := s.reader(ctx).Where("status = 'running'").Order("started_at").Find(&rows).Error
	return rowsOf(rows, runRow.toDomain), classify(err)
}

// driftRow is a row of drifts.
type driftRow struct {
	ConnectionID uuid.UUID
	ExternalID   string
	Kind         booking.DriftKind
	Detail       string
	BookingID    *uuid.UUID
	StartsAt     *stamp
	ImportFrom   *stamp
	FoundAt      stamp
	SeenAt       stamp
}

func (driftRow) TableName() string { return "drifts" }

func (r driftRow) toDomain() booking.Drift {
	return booking.Drift{
		ConnectionID: r.ConnectionID, ExternalID: r.ExternalID, Kind: r.Kind, Detail: r.Detail, BookingID: idOrNil(r.BookingID),
		StartsAt: r.StartsAt.ptr(), ImportFrom: r.ImportFrom.ptr(), FoundAt: r.FoundAt.t, SeenAt: r.SeenAt.t,
	}
}

// Drifts are what a connection's provider has otherwise, the oldest first.
func (s *Store) Drifts(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Drift, error) {
	var rows []driftRow
	err := s.reader(ctx).Where("connection_id = ?", connection).Order("found_at, external_id").Limit(limit).Find(&rows).Error
	return rowsOf(rows, driftRow.toDomain), classify(err)
}

// NoteDrift keeps a drift; one that is known keeps the time at which it was found
// as long as it is of the same kind.
func (s *Store) NoteDrift(ctx context.Context, d booking.Drift) error {
	return classify(s.write.WithContext(ctx).Exec(`INSERT INTO drifts (connection_id, external_id, kind, detail, booking_id, starts_at, import_from, found_at, seen_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (external_id, connection_id) DO UPDATE SET
			found_at = CASE WHEN drifts.kind = excluded.kind AND drifts.detail = excluded.detail THEN drifts.found_at ELSE excluded.found_at END,
			kind = excluded.kind, detail = excluded.detail, booking_id = excluded.booking_id, starts_at = excluded.starts_at,
			import_from = excluded.import_from, seen_at = excluded.seen_at`,
		d.ConnectionID, storable(d.ExternalID), d.Kind, storable(d.Detail), idOrNull(d.BookingID), atPtr(d.StartsAt), atPtr(d.ImportFrom),
		at(d.FoundAt), at(d.SeenAt)).Error)
}

// forgetting is which drifts of a connection a run that is done could have seen. What
// a comparison noted is the next one's to find again. What an import noted may lie
// where no comparison looks: it stays until one reads there, or an import from as far
// back. An import asks for nothing that was not listed, and knows of nothing gone.
var forgetting = map[booking.RunKind]string{
	booking.RunReconcile: `DELETE FROM drifts WHERE connection_id = @connection AND seen_at < @began
		AND (import_from IS NULL OR starts_at >= @from AND starts_at < @to)`,
	booking.RunBackfill: `DELETE FROM drifts WHERE connection_id = @connection AND seen_at < @began AND kind <> 'gone'
		AND (starts_at >= @from AND starts_at < @to OR starts_at IS NULL AND import_from >= @from)`,
}

// ForgetDrifts removes those of a connection's drifts that a run of it which is done
// could have seen, and did not.
func (s *Store) ForgetDrifts(ctx context.Context, r booking.Run) error {
	return classify(s.write.WithContext(ctx).Exec(forgetting[r.Kind], map[string]any{
		"connection": r.ConnectionID, "began": at(r.StartedAt), "from": at(r.From), "to": at(r.To),
	}).Error)
}

// StandingHere are the bookings that one of some connections was the first to tell of, that
// are not canceled, and whose sessions begin in the window: by external id.
func (s *Store) StandingHere(ctx context.Context, connections []uuid.UUID, from, to time.Time) (map[string][]booking.Standing, error) {
	var rows []booking.Standing
	err := s.reader(ctx).Table("bookings b").Joins("JOIN sessions s ON s.id = b.session_id").
		Where("s.starts_at >= ? AND s.starts_at < ? AND b.connection_id IN ? AND b.status <> 'canceled'", at(from), at(to), connections).
		Select(`b.id, b.external_id, b.invitee_email AS email, EXISTS (SELECT 1 FROM attendances a
			WHERE a.external_id = b.external_id AND a.provider = b.provider AND a.api_base = b.api_base) AS shared`).Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := map[string][]booking.Standing{}
	for _, r := range rows {
		out[r.ExternalID] = append(out[r.ExternalID], r)
	}
	return out, nil
}

// ClosedSince are those of a source's external ids whose bookings a webhook canceled
// since a time, as recorded here.
func (s *Store) ClosedSince(ctx context.Context, source booking.Source, ids []string, since time.Time) (map[string]bool, error) {
	var closed []string
	err := s.reader(ctx).Table("bookings b").Joins("JOIN transitions t ON t.booking_id = b.id").
		Where("b.external_id IN ? AND b.provider = ? AND b.api_base = ?", ids, source.Provider, source.Base).
		Where("t.recorded_at >= ? AND t.event = 'cancel' AND t.outcome = 'applied' AND t.actor = 'webhook'", at(since)).
		Distinct().Pluck("b.external_id", &closed).Error
	out := map[string]bool{}
	for _, id := range closed {
		out[id] = true
	}
	return out, classify(err)
}
