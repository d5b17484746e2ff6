package work

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

// EffectStore is what effects need of booking/store.
type EffectStore interface {
	ClaimEffect(ctx context.Context, l booking.Lane, now, until time.Time) (booking.Effect, error)
	SettleEffect(ctx context.Context, e booking.Effect, now time.Time) error
	OpenLanes(ctx context.Context, limit int) ([]booking.Lane, error)
	CancelPlan(ctx context.Context, id uuid.UUID) (booking.CancelPlan, error)
	QueueEffectsWith(f func(ctx context.Context, tx *sql.Tx, lanes []booking.Lane) error)
}

// EffectOptions are those of doing effects.
type EffectOptions struct {
	// Cancel cancels a booking at a connection's provider. Its error says what a person
	// can do.
	Cancel func(ctx context.Context, connection uuid.UUID, t providers.CancelTarget, message string) error
	// Tell tells somebody of an alert.
	Tell func(ctx context.Context, e booking.Effect) error
	// Observe is told of every try's outcome.
	Observe func(kind booking.EffectKind, status booking.EffectStatus)
}

const (
	// effectTries are made before an effect is given up: with the waits between
	// them about two hours. A cancel that comes later would surprise.
	effectTries = 12
	// A claim outlasts its job's time, so that no two processes are at one effect,
	// and is over before the job of a process that died is taken up again.
	claimTime   = 2 * time.Minute
	settleLimit = 10 * time.Second
)

// laneArgs names where effects are to be done. Jobs only wake and wait: what is to
// be done, and how often it was tried, stands in the effects' rows.
type laneArgs struct {
	booking.Lane
}

func (laneArgs) Kind() string { return "effects" }

// wake asks for work on lanes in the transaction that asks for their effects. Not
// unique: a job that is about to end would swallow the new one.
func (q *Queue) wake(ctx context.Context, tx *sql.Tx, lanes []booking.Lane) error {
	params := make([]river.InsertManyParams, 0, len(lanes))
	for _, l := range lanes {
		params = append(params, river.InsertManyParams{Args: laneArgs{l}})
	}
	if _, err := q.client.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("work: enqueue effects: %w", err)
	}
	return nil
}

// wakeAll asks for work on what an earlier version or a lost job left.
func (q *Queue) wakeAll(ctx context.Context, limit int) error {
	lanes, err := q.opts.Store.OpenLanes(ctx, limit)
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if _, err := q.client.Insert(ctx, laneArgs{l}, once()); err != nil {
			return fmt.Errorf("work: enqueue effects: %w", err)
		}
	}
	return nil
}

// drainer does the effects of a lane, one a run. A run whose process dies is
// repeated: what was done already is found so by whoever it reaches.
type drainer struct {
	river.WorkerDefaults[laneArgs]
	queue *Queue
}

// Work does the lane's first effect, when it is due.
func (d *drainer) Work(ctx context.Context, job *river.Job[laneArgs]) error {
	q := d.queue
	now := q.opts.Now()
	e, err := q.opts.Store.ClaimEffect(ctx, job.Args.Lane, now, now.Add(max(q.opts.Tempo.Wait(claimTime), 2*leastTimeout)))
	var early *booking.NotDueError
	switch {
	case errors.Is(err, booking.ErrNotFound):
		return nil // all done
	case errors.As(err, &early):
		return river.JobSnooze(max(early.At.Sub(now), 0))
	case err != nil:
		return err
	}
	err = q.perform(ctx, e)
	if errors.Is(err, booking.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return err // nothing that could be said about the effect
	}
	return q.settleEffect(ctx, e, err)
}

// settleEffect writes what became of a try, and has the lane looked at again when
// its next effect may be due.
func (q *Queue) settleEffect(ctx context.Context, e booking.Effect, failed error) error {
	now := q.opts.Now()
	e.Status, e.Error, e.DueAt = booking.EffectDone, "", now
	if failed != nil {
		e.Status, e.Error = booking.EffectFailed, failed.Error()
		if e.Tries() >= effectTries || final(failed) {
			e.Status = booking.EffectDead
		} else {
			e.DueAt = now.Add(q.opts.Tempo.Wait(jittered(effectWait(e.Tries(), failed))))
		}
	}
	// The job's own time may be over: that was what failed.
	keep, stop := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer stop()
	log := q.opts.Log.With("effect", e.ID, "kind", e.Kind, "booking", e.BookingID, "connection", e.ConnectionID,
		"request_id", e.RequestID, "attempt", e.Attempts, "status", e.Status)
	switch err := q.opts.Store.SettleEffect(keep, e, now); {
	case errors.Is(err, booking.ErrNotFound):
		log.WarnContext(ctx, "an effect took too long and was taken up by another", "err", failed)
		return river.JobSnooze(0)
	case err != nil:
		return err
	}
	if q.opts.Effects.Observe != nil {
		q.opts.Effects.Observe(e.Kind, e.Status)
	}
	switch e.Status {
	case booking.EffectDead:
		log.ErrorContext(ctx, "effect given up", "err", failed)
	case booking.EffectFailed:
		log.WarnContext(ctx, "effect not done yet", "err", failed, "due", e.DueAt)
	case booking.EffectDone, booking.EffectPending, booking.EffectWithdrawn:
		log.InfoContext(ctx, "effect done")
	}
	return river.JobSnooze(max(e.DueAt.Sub(now), 0))
}

// effectWait is twice as long after each try, and no shorter than was asked for.
func effectWait(tries int, failed error) time.Duration {
	wait := longestWait
	if tries < 10 {
		wait = min(firstWait<<max(tries-1, 0), longestWait)
	}
	var later *providers.LaterError
	if errors.As(failed, &later) {
		// Jitter may take a quarter off, and must not come before the time.
		wait = max(wait, later.After+later.After/3)
	}
	return wait
}

// final tells of failures that trying again does not mend, but only a person.
func final(err error) bool {
	var answer *providers.AnswerError
	var later *providers.LaterError
	var cannot *booking.CannotCancelError
	switch {
	case errors.Is(err, booking.ErrJoined), errors.Is(err, booking.ErrMovedAway), errors.Is(err, booking.ErrAcceptedMeanwhile), errors.Is(err, account.ErrCannotAsk), errors.Is(err, providers.ErrNoCredentials), errors.As(err, &cannot), errors.Is(err, providers.ErrGone),
		errors.Is(err, notify.ErrRefused), errors.Is(err, notify.ErrNoMail):
		return true
	case errors.As(err, &later), !errors.As(err, &answer):
		return false
	}
	switch answer.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false // 401: somebody may sign in again meanwhile
	}
	return answer.Status >= http.StatusBadRequest && answer.Status < http.StatusInternalServerError
}

// perform does an effect. It may have been done before.
func (q *Queue) perform(ctx context.Context, e booking.Effect) error {
	switch e.Kind {
	case booking.EffectCancel:
		return q.cancelAtProvider(ctx, e)
	case booking.EffectAlertMail, booking.EffectAlertSlack:
		return q.opts.Effects.Tell(ctx, e)
	case booking.EffectWebhook: // the dispatcher's, never in a lane
	}
	return fmt.Errorf("this version does not know effects of kind %q", e.Kind)
}

// cancelAtProvider has the provider cancel. What that changes here, its webhook
// tells.
func (q *Queue) cancelAtProvider(ctx context.Context, e booking.Effect) error {
	var order booking.CancelOrder
	if err := json.Unmarshal(e.Payload, &order); err != nil {
		return fmt.Errorf("work: the payload of effect %s: %w", e.ID, err)
	}
	plan, err := q.opts.Store.CancelPlan(ctx, e.BookingID)
	if err != nil {
		return err
	}
	if stands, err := order.Stands(plan); err != nil || !stands {
		return err
	}
	return q.opts.Effects.Cancel(ctx, e.ConnectionID, providers.CancelTarget(plan.Target), order.Message)
}
