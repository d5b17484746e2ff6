package work

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"slotkeeper/booking"
)

// AlertStore is what alerts need of booking/store.
type AlertStore interface {
	Troubles(ctx context.Context, now time.Time) ([]booking.Trouble, error)
	FollowAlerts(ctx context.Context, troubles []booking.Trouble, now time.Time) ([]booking.AlertStep, error)
}

// alertEvery is how often somebody looks whether anything is wrong.
const (
	alertEvery = 20 * time.Second
	leastAlert = time.Second // however fast a test lets time pass
)

// followArgs have the alerts compared with what is wrong now. Of all processes one
// does so: it asks for what is, so that it matters to nobody when it is left out once.
type followArgs struct{}

func (followArgs) Kind() string { return "alerts" }

type follower struct {
	river.WorkerDefaults[followArgs]
	queue *Queue
}

func (f *follower) Work(ctx context.Context, _ *river.Job[followArgs]) error {
	o := f.queue.opts
	now := o.Now()
	troubles, err := o.Store.Troubles(ctx, now)
	if err != nil {
		return err
	}
	steps, err := o.Store.FollowAlerts(ctx, troubles, now)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Event != "" {
			o.Log.InfoContext(ctx, "alert", "event", s.Event, "alert", s.Alert.ID, "kind", s.Alert.Kind, "subject", s.Alert.Subject,
				"level", s.Alert.Level, "detail", s.Alert.Detail, "count", s.Alert.Count)
		}
	}
	return nil
}

// alerts is the periodic job.
func (q *Queue) alerts() *river.PeriodicJob {
	every := max(q.opts.Tempo.Wait(alertEvery), leastAlert)
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		opts := once()
		opts.MaxAttempts = 1 // the next comes anyway
		return followArgs{}, opts
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
