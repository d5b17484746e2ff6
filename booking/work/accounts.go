package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// Accounts are the connected accounts that the queue reads and looks after.
type Accounts interface {
	Work(ctx context.Context, run uuid.UUID) error
	Watch(ctx context.Context) (account.Due, error)
	CheckAndRepair(ctx context.Context, connection uuid.UUID) error
}

const (
	// A comparison of a large account goes on for hours within its provider's rate
	// limit, and is worth nothing until it is through. What keeps it from hanging are
	// the timeouts of its calls. A job of a process that died stands as running for as
	// long: nobody waits for it.
	readTimeout = 24 * time.Hour
	// So its workers are its own: nothing else waits behind accounts that are read.
	readQueue    = "reads"
	readers      = 20
	readPoll     = time.Second // of what other processes ask for
	checkTimeout = 2 * time.Minute
	// replayTimeout ends a job, not its replay: another goes on where it is.
	replayTimeout = 15 * time.Minute
	readAttempts  = 3
)

// readArgs name a run to work on. It is held by its row, not by its job: one that
// is woken twice is worked on once.
type readArgs struct {
	Run uuid.UUID `json:"run"`
}

func (readArgs) Kind() string { return "read" }

type reader struct {
	river.WorkerDefaults[readArgs]
	queue *Queue
}

func (*reader) Timeout(*river.Job[readArgs]) time.Duration { return readTimeout }

func (r *reader) Work(ctx context.Context, job *river.Job[readArgs]) error {
	return r.queue.later(r.queue.opts.Accounts.Work(ctx, job.Args.Run))
}

// later has a job come back when its provider asked to be left alone.
func (q *Queue) later(err error) error {
	var later *providers.LaterError
	if errors.As(err, &later) {
		return river.JobSnooze(q.opts.Tempo.Wait(jittered(max(later.After, firstWait))))
	}
	return err
}

// checkArgs name a connection to check.
type checkArgs struct {
	Connection uuid.UUID `json:"connection"`
}

func (checkArgs) Kind() string { return "check" }

type checker struct {
	river.WorkerDefaults[checkArgs]
	queue *Queue
}

func (*checker) Timeout(*river.Job[checkArgs]) time.Duration { return checkTimeout }

func (c *checker) Work(ctx context.Context, job *river.Job[checkArgs]) error {
	return c.queue.later(c.queue.opts.Accounts.CheckAndRepair(ctx, job.Args.Connection))
}

// watchArgs have all connections looked at.
type watchArgs struct{}

func (watchArgs) Kind() string { return "watch" }

type watcher struct {
	river.WorkerDefaults[watchArgs]
	queue *Queue
}

func (w *watcher) Work(ctx context.Context, _ *river.Job[watchArgs]) error {
	due, err := w.queue.opts.Accounts.Watch(ctx)
	for _, id := range due.Runs {
		err = errors.Join(err, w.queue.WakeRun(ctx, id))
	}
	err = errors.Join(err, w.queue.wakeReplays(ctx))
	for _, id := range due.Checks {
		err = errors.Join(err, w.queue.WakeCheck(ctx, id))
	}
	return err
}

// periodic is the job that River's leader of all processes asks for.
func (q *Queue) periodic() []*river.PeriodicJob {
	return []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(account.WatchEvery(q.opts.Tempo)),
		func() (river.JobArgs, *river.InsertOpts) {
			opts := once()
			opts.MaxAttempts = 1 // the next comes anyway
			return watchArgs{}, opts
		}, &river.PeriodicJobOpts{RunOnStart: true})}
}

// WakeRun has a run worked on.
func (q *Queue) WakeRun(ctx context.Context, run uuid.UUID) error {
	// Watch wakes it again as long as it is under way: jobs that went on by
	// themselves would become more and more while a provider is away.
	if _, err := q.client.Insert(ctx, readArgs{Run: run}, &river.InsertOpts{MaxAttempts: readAttempts, Queue: readQueue}); err != nil {
		return fmt.Errorf("work: wake a run: %w", err)
	}
	return nil
}

// WakeCheck has a connection checked at once.
func (q *Queue) WakeCheck(ctx context.Context, connection uuid.UUID) error {
	if _, err := q.client.Insert(ctx, checkArgs{Connection: connection}, once()); err != nil {
		return fmt.Errorf("work: wake a check: %w", err)
	}
	return nil
}
