// Package work does what is left to be done about receipts after their senders
// were answered: it fetches what a provider's post only hinted at, and tries
// again what could not be applied. Jobs are River's: they stand in the same
// database, and are asked for in the transaction that stores the receipt, so
// that none is lost between the two.
package work

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"slotkeeper/booking"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// Store is what work needs of booking/store.
type Store interface {
	Claim(ctx context.Context, receipt uuid.UUID, now time.Time) (providers.Claim, error)
	TriedInVain(ctx context.Context, receipt uuid.UUID, why string) error
	GiveUp(ctx context.Context, receipt uuid.UUID, why string, now time.Time) error
	Unsettled(ctx context.Context, limit int) ([]uuid.UUID, error)
	QueueWith(f func(ctx context.Context, tx *sql.Tx, receipts []uuid.UUID) error)
	QueueRefetchWith(f func(ctx context.Context, tx *sql.Tx, replay uuid.UUID, opened, settled []uuid.UUID) error)
	Queue() (*sql.DB, error)
	Dialect() migrations.Dialect
	EffectStore
	RetentionStore
	AlertStore
}

// Intake applies what was found out.
type Intake interface {
	Take(ctx context.Context, p booking.Post) (booking.Answer, error)
}

// Options of New.
type Options struct {
	Store    Store
	Intake   Intake
	Accounts Accounts
	// Replays are worked on too; nil for none.
	Replays   *Replays
	Providers map[string]providers.Provider
	// Client calls the providers' APIs.
	Client   *http.Client
	EmailKey func(email string) string
	Now      func() time.Time
	Log      *slog.Logger
	Tempo    providers.Tempo
	Effects  EffectOptions
	// Keep is how long is kept what retention removes.
	Keep booking.Keep
}

// How long is waited, and for how many tries.
const (
	firstWait   = 5 * time.Second
	longestWait = 30 * time.Minute
	maxAttempts = 25 // with the waits above, about nine hours
	// goneWait is how long a 404 is doubted: the first changes nothing (R15).
	goneWait = 10 * time.Minute
	// A job whose process died is taken up again after rescueAfter.
	jobTimeout    = time.Minute
	rescueAfter   = 3 * time.Minute
	leastTimeout  = 2 * time.Second // however fast a test lets time pass
	fetchCooldown = 10 * time.Millisecond
	pollInterval  = 250 * time.Millisecond
	workers       = 20
)

// Queue is the process's share of the work.
type Queue struct {
	opts   Options
	client *river.Client[*sql.Tx]
}

// settleArgs names the receipt to settle.
type settleArgs struct {
	Receipt uuid.UUID `json:"receipt"`
	// Gone says that the provider has answered 404 once already.
	Gone bool `json:"gone,omitempty"`
	// Again says that the receipt is settled, and that what it is about is fetched
	// once more.
	Again bool `json:"again,omitempty"`
	// Replay is which one asked for it: a job of before, that is about to end, must not
	// stand for this one.
	Replay *uuid.UUID `json:"replay,omitempty"`
}

func (settleArgs) Kind() string { return "settle" }

// New makes the queue and has the store ask it for work; Start begins to do it.
func New(o Options) (*Queue, error) {
	db, err := o.Store.Queue()
	if err != nil {
		return nil, err
	}
	q := &Queue{opts: o}
	jobs := river.NewWorkers()
	err = errors.Join(river.AddWorkerSafely(jobs, &settler{queue: q}), river.AddWorkerSafely(jobs, &reader{queue: q}),
		river.AddWorkerSafely(jobs, &checker{queue: q}), river.AddWorkerSafely(jobs, &watcher{queue: q}))
	if err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := river.AddWorkerSafely(jobs, &drainer{queue: q}); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := river.AddWorkerSafely(jobs, &retainer{queue: q}); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := river.AddWorkerSafely(jobs, &replayer{queue: q}); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := river.AddWorkerSafely(jobs, &follower{queue: q}); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	var driver riverdriver.Driver[*sql.Tx] = riverdatabasesql.New(db)
	if o.Store.Dialect() == migrations.SQLite {
		driver = riversqlite.New(db)
	}
	q.client, err = river.NewClient(driver, &river.Config{
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: workers},
			readQueue:          {MaxWorkers: readers, FetchPollInterval: readPoll},
		},
		Workers:              jobs,
		Logger:               slog.New(levelled{o.Log.Handler(), slog.LevelWarn}),
		JobTimeout:           max(o.Tempo.Wait(jobTimeout), leastTimeout),
		RescueStuckJobsAfter: max(o.Tempo.Wait(rescueAfter), 2*leastTimeout),
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    pollInterval,
		MaxAttempts:          maxAttempts,
		RetryPolicy:          retryPolicy{o.Tempo},
		PeriodicJobs:         append(q.periodic(), q.retention(), q.alerts()),
	})
	if err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	o.Store.QueueWith(q.enqueue)
	o.Store.QueueRefetchWith(q.refetch)
	o.Store.QueueEffectsWith(q.wake)
	return q, nil
}

// enqueue asks for work on receipts in the transaction that stores them.
func (q *Queue) enqueue(ctx context.Context, tx *sql.Tx, receipts []uuid.UUID) error {
	if _, err := q.client.InsertManyTx(ctx, tx, settles(receipts)); err != nil {
		return fmt.Errorf("work: enqueue: %w", err)
	}
	return nil
}

func settles(receipts []uuid.UUID) []river.InsertManyParams {
	params := make([]river.InsertManyParams, 0, len(receipts))
	for _, id := range receipts {
		params = append(params, river.InsertManyParams{Args: settleArgs{Receipt: id}, InsertOpts: once()})
	}
	return params
}

// once keeps two jobs from being about one receipt in the same way.
func once() *river.InsertOpts {
	return &river.InsertOpts{UniqueOpts: river.UniqueOpts{
		ByArgs: true,
		ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
			rivertype.JobStateRetryable, rivertype.JobStateScheduled,
		},
	}}
}

// Start begins to work, first on what an earlier version or a lost job left.
func (q *Queue) Start(ctx context.Context) error {
	const most, batch = 10_000, 500
	left, err := q.opts.Store.Unsettled(ctx, most)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(left, batch) {
		if _, err := q.client.InsertMany(ctx, settles(part)); err != nil {
			return fmt.Errorf("work: enqueue: %w", err)
		}
	}
	if err := errors.Join(q.wakeAll(ctx, most), q.resumeReplays(ctx)); err != nil {
		return err
	}
	// The workers outlive ctx until Stop lets them finish.
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	return nil
}

// startAgain is how long is waited before another try to start.
const startAgain = time.Second

// Run starts, again while the database is away, and works until ctx ends; then it
// stops within a time. A server whose queue cannot start takes deliveries in all
// the same.
func (q *Queue) Run(ctx context.Context, within time.Duration) error {
	for {
		err := q.Start(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil // asked to stop while it began
		}
		q.opts.Log.ErrorContext(ctx, "the queue does not start yet", "err", err)
		timer := time.NewTimer(startAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return q.Stop(stop)
}

// Stop takes up no more and waits for what is under way, until ctx ends; then
// that is cut off, and begun anew by whoever comes next.
func (q *Queue) Stop(ctx context.Context) error {
	err := q.client.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return q.client.StopAndCancel(context.WithoutCancel(ctx))
	}
	return err
}

// retryPolicy waits twice as long after each try, give or take a quarter, so that
// those who failed together do not come back together.
type retryPolicy struct{ tempo providers.Tempo }

func (p retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	wait := longestWait
	if n := len(job.Errors); n < 10 {
		wait = min(firstWait<<n, longestWait)
	}
	return time.Now().Add(p.tempo.Wait(jittered(wait))) //nolint:forbidigo // River's clock is the machine's
}

func jittered(d time.Duration) time.Duration {
	return d - d/4 + rand.N(d/2) //nolint:gosec // G404: spreads load, hides nothing
}

// levelled drops what is below a level: River tells much of itself.
type levelled struct {
	slog.Handler
	least slog.Level
}

func (l levelled) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= l.least && l.Handler.Enabled(ctx, level)
}
