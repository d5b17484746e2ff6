package work

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// RetentionStore is what retention needs of booking/store.
type RetentionStore interface {
	Retain(ctx context.Context, keep booking.Keep, now time.Time, between func(context.Context) error) (booking.RetentionRun, error)
}

const (
	retentionTimeout = time.Hour
	// breath is how long others are let in between two batches.
	breath = 50 * time.Millisecond
)

// retainArgs have what is too old removed. Of all processes one does so.
type retainArgs struct{}

func (retainArgs) Kind() string { return "retain" }

type retainer struct {
	river.WorkerDefaults[retainArgs]
	queue *Queue
}

func (*retainer) Timeout(*river.Job[retainArgs]) time.Duration { return retentionTimeout }

func (r *retainer) Work(ctx context.Context, _ *river.Job[retainArgs]) error {
	o := r.queue.opts
	run, err := o.Store.Retain(ctx, o.Keep, o.Now(), breathe(o.Tempo))
	if err != nil {
		return err
	}
	o.Log.InfoContext(ctx, "retention done", "bodies", run.Bodies, "snapshots", run.Snapshots, "forms", run.Forms, "deliveries", run.Deliveries,
		"sessions", run.Sessions, "links", run.Links, "reads", run.Reads, "replays", run.Replays, "alerts", run.Alerts, "messages", run.Messages)
	return nil
}

// breathe lets others in between two batches.
func breathe(tempo providers.Tempo) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(tempo.Wait(breath))
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// retention is the periodic job. A restart does not bring it forward by much: it
// finds little to do then.
func (q *Queue) retention() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(booking.RetentionEvery), func() (river.JobArgs, *river.InsertOpts) {
		opts := once()
		opts.MaxAttempts = 3
		return retainArgs{}, opts
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
