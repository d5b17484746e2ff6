package work

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// Replays are the jobs that take stored receipts through today's code once more.
type Replays struct{ opts ReplayOptions }

// ReplayStore is what replays need of booking/store.
type ReplayStore interface {
	BeginReplay(ctx context.Context, r booking.Replay, e access.Entry) error
	ClaimReplay(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (booking.Replay, bool, error)
	HoldReplay(ctx context.Context, id uuid.UUID, total *int, step booking.ReplayStep, listed int, now time.Time, h booking.Hold) error
	ReleaseReplay(ctx context.Context, r booking.Replay, by uuid.UUID) error
	StopReplay(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Replay, error)
	Replay(ctx context.Context, id uuid.UUID) (booking.Replay, error)
	Replays(ctx context.Context, limit int) ([]booking.Replay, error)
	OpenReplays(ctx context.Context) ([]uuid.UUID, error)
	ReplayChanges(ctx context.Context, id uuid.UUID) ([]booking.ReplayChange, error)
	CountReplayed(ctx context.Context, r booking.Replay) (int, error)
	ReplayPage(ctx context.Context, r booking.Replay) (ids []uuid.UUID, end booking.ReplayPlace, more bool, err error)
	StoredReceipts(ctx context.Context, ids []uuid.UUID) ([]booking.StoredReceipt, error)
	LookReplay(ctx context.Context, set []booking.Post, now time.Time) (answers []booking.Answer, quiet bool, err error)
	ClaimAgain(ctx context.Context, receipt uuid.UUID, now time.Time) (booking.StoredReceipt, time.Time, error)
	ApplyReplay(ctx context.Context, set booking.ReplaySet, now time.Time) ([]booking.Answer, error)
	Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error)
}

// ReplayIntake has sets applied between those that arrive.
type ReplayIntake interface {
	Replay(ctx context.Context, set []booking.Post, apply func(context.Context) ([]booking.Answer, error)) ([]booking.Answer, error)
}

// ReplayOptions of NewReplays.
type ReplayOptions struct {
	Store     ReplayStore
	Intake    ReplayIntake
	Providers map[string]providers.Provider
	EmailKey  func(email string) string
	Now       func() time.Time
	Log       *slog.Logger
	Tempo     providers.Tempo
	// Wake has a replay worked on.
	Wake func(ctx context.Context, replay uuid.UUID) error
}

// NewReplays makes them; the queue works on them.
func NewReplays(o ReplayOptions) *Replays { return &Replays{opts: o} }

// Begin keeps a replay and has it worked on.
func (r *Replays) Begin(ctx context.Context, q booking.ReplayRequest, by access.By) (booking.Replay, error) {
	if err := q.Filter.Validate(); err != nil {
		return booking.Replay{}, err
	}
	if q.Filter.All() && !q.Everything {
		return booking.Replay{}, &booking.InvalidError{Detail: "name receipts, or a time, a connection, a kind or a status; or ask for all of them in so many words"}
	}
	now := r.opts.Now()
	out := booking.Replay{
		ID: uuid.Must(uuid.NewV7()), Filter: q.Filter, DryRun: q.DryRun, Refetch: q.Refetch, Status: booking.RunRunning,
		Actor: by.Actor, StartedAt: now.UTC().Truncate(time.Microsecond),
	}
	out.MovedAt = out.StartedAt
	if err := r.opts.Store.BeginReplay(ctx, out, r.entry(by, access.DidReplay, out)); err != nil {
		return booking.Replay{}, err
	}
	r.opts.Log.InfoContext(ctx, "replay asked for", "replay", out.ID, "by", out.Actor, "dry_run", out.DryRun, "refetch", out.Refetch)
	return out, r.opts.Wake(ctx, out.ID)
}

// Stop ends a replay that is under way. What it did stays.
func (r *Replays) Stop(ctx context.Context, id uuid.UUID, by access.By) (booking.Replay, error) {
	was, err := r.opts.Store.Replay(ctx, id)
	if err != nil {
		return was, err
	}
	return r.opts.Store.StopReplay(ctx, id, r.entry(by, access.DidStopReplay, was))
}

// Replay is one, or booking.ErrNotFound.
func (r *Replays) Replay(ctx context.Context, id uuid.UUID) (booking.Replay, error) {
	return r.opts.Store.Replay(ctx, id)
}

// Newest are the newest replays.
func (r *Replays) Newest(ctx context.Context, limit int) ([]booking.Replay, error) {
	return r.opts.Store.Replays(ctx, limit)
}

// Changes are what a replay's report lists.
func (r *Replays) Changes(ctx context.Context, id uuid.UUID) ([]booking.ReplayChange, error) {
	return r.opts.Store.ReplayChanges(ctx, id)
}

// Due are the replays that are under way, for whoever looks that none is left.
func (r *Replays) Due(ctx context.Context) ([]uuid.UUID, error) { return r.opts.Store.OpenReplays(ctx) }

// entry tells the admin log what was asked for.
func (r *Replays) entry(by access.By, action string, of booking.Replay) access.Entry {
	detail := access.Facts{"dry_run": strconv.FormatBool(of.DryRun), "refetch": strconv.FormatBool(of.Refetch)}
	f := of.Filter
	for name, t := range map[access.Fact]*time.Time{"from": f.From, "to": f.To} {
		if t != nil {
			detail[name] = t.UTC().Format(time.RFC3339)
		}
	}
	if f.ConnectionID != nil {
		detail["connection"] = f.ConnectionID.String()
	}
	for name, text := range map[access.Fact]string{"provider": f.Provider, "kind": string(f.Kind)} {
		if text != "" {
			detail[name] = text
		}
	}
	if len(f.Statuses) > 0 {
		detail["status"] = fmt.Sprint(f.Statuses)
	}
	const few = 5
	switch {
	case len(f.IDs) > few:
		detail["receipts"] = strconv.Itoa(len(f.IDs))
	case len(f.IDs) > 0:
		detail["receipts"] = fmt.Sprint(f.IDs)
	}
	return access.Entry{At: r.opts.Now(), Actor: by.Actor, Action: action, Subject: "replay:" + of.ID.String(), Detail: detail, Remote: by.Remote}
}

// replayArgs name a replay to go on with. It is held by its row, not by its job.
type replayArgs struct {
	Replay uuid.UUID `json:"replay"`
}

func (replayArgs) Kind() string { return "replay" }

type replayer struct {
	river.WorkerDefaults[replayArgs]
	queue *Queue
}

func (*replayer) Timeout(*river.Job[replayArgs]) time.Duration { return replayTimeout }

func (w *replayer) Work(ctx context.Context, job *river.Job[replayArgs]) error {
	return w.queue.opts.Replays.Work(ctx, job.Args.Replay)
}

// WakeReplay has a replay worked on.
func (q *Queue) WakeReplay(ctx context.Context, replay uuid.UUID) error {
	// As with runs: whoever watches wakes it again as long as it is under way.
	if _, err := q.client.Insert(ctx, replayArgs{Replay: replay}, &river.InsertOpts{MaxAttempts: readAttempts}); err != nil {
		return fmt.Errorf("work: wake a replay: %w", err)
	}
	return nil
}

// wakeReplays has replays gone on with whose worker died.
func (q *Queue) wakeReplays(ctx context.Context) error {
	if q.opts.Replays == nil {
		return nil
	}
	due, err := q.opts.Replays.Due(ctx)
	for _, id := range due {
		err = errors.Join(err, q.WakeReplay(ctx, id))
	}
	return err
}

// resumeReplays has replays gone on with at a start: at once, and again when the hold
// of whoever died over them has ended.
func (q *Queue) resumeReplays(ctx context.Context) error {
	if q.opts.Replays == nil {
		return nil
	}
	due, err := q.opts.Replays.Due(ctx)
	for _, id := range due {
		err = errors.Join(err, q.WakeReplay(ctx, id))
		at := time.Now().Add(q.opts.Replays.holdTime()) //nolint:forbidigo // River's clock is the machine's
		if _, laterErr := q.client.Insert(ctx, replayArgs{Replay: id}, &river.InsertOpts{MaxAttempts: readAttempts, ScheduledAt: at}); laterErr != nil {
			err = errors.Join(err, fmt.Errorf("work: wake a replay: %w", laterErr))
		}
	}
	return err
}

// refetch asks in the transaction of a replay for a look at receipts that it opened,
// and for another at settled ones.
func (q *Queue) refetch(ctx context.Context, tx *sql.Tx, replay uuid.UUID, opened, settled []uuid.UUID) error {
	var params []river.InsertManyParams
	for _, id := range opened {
		params = append(params, river.InsertManyParams{Args: settleArgs{Receipt: id, Replay: &replay}, InsertOpts: once()})
	}
	for _, id := range settled {
		params = append(params, river.InsertManyParams{Args: settleArgs{Receipt: id, Replay: &replay, Again: true}, InsertOpts: once()})
	}
	if _, err := q.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("work: ask again: %w", err)
	}
	return nil
}

// lookAgain fetches once more what a settled receipt was about. What it says now is
// applied and kept with the receipt, whose status stays.
func (s *settler) lookAgain(ctx context.Context, receipt uuid.UUID) error {
	q := s.queue
	if q.opts.Replays == nil {
		return nil
	}
	stored, ticket, err := q.opts.Replays.opts.Store.ClaimAgain(ctx, receipt, q.opts.Now())
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	post, err := q.opts.Replays.fetched(ctx, q, stored, ticket)
	switch {
	case errors.Is(err, providers.ErrGone):
		// One 404 changes nothing; the next comparison sees to it (R15).
		q.opts.Log.WarnContext(ctx, "the provider knows a replayed receipt's booking no more", "receipt", receipt)
		return nil
	case err != nil:
		return q.later(err)
	}
	answer, err := q.opts.Intake.Take(ctx, post)
	if err != nil {
		return err
	}
	q.opts.Log.InfoContext(ctx, "receipt looked at again", "receipt", receipt, "connection", stored.ConnectionID, "kind", stored.Kind,
		"verdict", answer.Status, "reason", answer.Reason, "code", answer.Code)
	return nil
}
