package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// Store is what telling endpoints needs of booking/store.
type Store interface {
	Endpoints(ctx context.Context) ([]booking.Endpoint, error)
	Endpoint(ctx context.Context, id uuid.UUID) (booking.Endpoint, error)
	AskWebhooks(ctx context.Context, e booking.Endpoint, now time.Time) (cursor int64, err error)
	ClaimWebhooks(ctx context.Context, endpoint uuid.UUID, n int, now, until time.Time) ([]booking.Effect, error)
	SettleWebhook(ctx context.Context, e booking.Effect, a booking.Attempt) (booking.EndpointOff, error)
	BeginTest(ctx context.Context, e booking.Effect, until time.Time, by access.By) error
}

// Options are what a Dispatcher needs.
type Options struct {
	Store Store
	// Body is what a message says, as it stands when it is sent.
	Body   func(ctx context.Context, to booking.Endpoint, e booking.Effect) ([]byte, error)
	Sender *Sender
	Now    func() time.Time
	Log    *slog.Logger
	Tempo  providers.Tempo
	// Observe is told of every try's outcome; nil for nobody.
	Observe func(kind booking.EffectKind, status booking.EffectStatus)
	// Tried is told why each try of a message failed, "" of one that got through; nil
	// for nobody. Tests are left out: they say nothing of what is to be told.
	Tried func(endpoint uuid.UUID, cause booking.AttemptCause)
}

const (
	// perEndpoint messages are under way to one endpoint at once, in each process.
	perEndpoint = 8
	// lookEvery is how often is looked for what is to be told.
	lookEvery = 500 * time.Millisecond
	// A claim outlasts Timeout and the writing of the outcome; whose process died is
	// told again by another after it.
	claimTime = 40 * time.Second
	// longestRetryAfter is the longest that an endpoint is left alone: as long as the
	// schedule's longest wait.
	longestRetryAfter = 24 * time.Hour
	leastClaim        = 5 * time.Second
	settleLimit       = 10 * time.Second
)

// Dispatcher tells endpoints what they are to be told: first it asks for it, from the
// audit log, and then it sends what is due. It needs no queue besides: what is due
// stands in the effects' rows, who is at it in their claims, and so any number of
// processes do it together. An endpoint that hangs holds up its own messages alone.
type Dispatcher struct {
	o    Options
	done chan uuid.UUID // an endpoint has a free hand again
	busy map[uuid.UUID]int
	wait sync.WaitGroup
}

// NewDispatcher makes one; Run starts it.
func NewDispatcher(o Options) *Dispatcher {
	return &Dispatcher{o: o, done: make(chan uuid.UUID, 64), busy: map[uuid.UUID]int{}}
}

// Run tells until ctx ends; then what is being sent is waited for, which takes Timeout
// at most.
func (d *Dispatcher) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var all map[uuid.UUID]booking.Endpoint
	for {
		select {
		case <-ctx.Done():
			d.finish()
			return nil
		case id := <-d.done:
			d.busy[id]--
			if e, known := all[id]; known {
				d.send(ctx, e)
			}
		case <-tick.C:
			all = d.look(ctx)
		}
	}
}

// finish waits for what is under way, whose ends nobody else hears of any more.
func (d *Dispatcher) finish() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.wait.Wait()
	}()
	for {
		select {
		case <-d.done:
		case <-over:
			return
		}
	}
}

// look asks for what is new to each endpoint and begins to send what is due.
func (d *Dispatcher) look(ctx context.Context) map[uuid.UUID]booking.Endpoint {
	all, err := d.o.Store.Endpoints(ctx)
	if err != nil {
		d.behind(ctx, "reading the endpoints", err, booking.Endpoint{})
		return nil
	}
	on := map[uuid.UUID]booking.Endpoint{}
	for _, e := range all {
		if e.Off != "" {
			continue
		}
		on[e.ID] = e
		d.ask(ctx, e)
		d.send(ctx, e)
	}
	return on
}

// ask asks for telling an endpoint what is new, until there is nothing more or enough
// is open.
func (d *Dispatcher) ask(ctx context.Context, e booking.Endpoint) {
	for {
		cursor, err := d.o.Store.AskWebhooks(ctx, e, d.o.Now())
		if err != nil {
			d.behind(ctx, "asking for what is new", err, e)
		}
		if err != nil || cursor == e.Cursor {
			return
		}
		e.Cursor = cursor
	}
}

// send begins to send what is due to an endpoint, as far as it has hands free.
func (d *Dispatcher) send(ctx context.Context, to booking.Endpoint) {
	free := perEndpoint - d.busy[to.ID]
	if free <= 0 || ctx.Err() != nil {
		return
	}
	now := d.o.Now()
	due, err := d.o.Store.ClaimWebhooks(ctx, to.ID, free, now, d.until(now))
	if err != nil {
		d.behind(ctx, "taking up what is due", err, to)
		return
	}
	for _, e := range due {
		d.busy[to.ID]++
		d.wait.Go(func() {
			defer func() { d.done <- to.ID }()
			// What was begun is brought to an end when the process is asked to stop.
			d.tell(context.WithoutCancel(ctx), to, e)
		})
	}
}

func (d *Dispatcher) until(now time.Time) time.Time {
	return now.Add(max(d.o.Tempo.Wait(claimTime), leastClaim))
}

// tell sends one message and writes what came of it.
func (d *Dispatcher) tell(ctx context.Context, to booking.Endpoint, e booking.Effect) {
	body, err := d.o.Body(ctx, to, e)
	if errors.Is(err, booking.ErrUnavailable) {
		d.behind(ctx, "reading what a message says", err, to)
		return // the claim ends, and it is tried again
	}
	a := booking.Attempt{Effect: e.ID, Number: e.Attempts, At: d.o.Now()}
	if err != nil {
		a.Cause, a.Error = booking.AttemptUnmade, "the message cannot be made: "+err.Error()
	} else {
		a = d.o.Sender.Send(ctx, to, e, body)
	}
	if d.o.Tried != nil {
		d.o.Tried(to.ID, a.Cause)
	}
	_ = d.settle(ctx, to, e, a) // logged, and the claim's end has it sent again
}

// settle writes what became of a try, and when the next one is. Its error says that it
// is not written, and is logged.
func (d *Dispatcher) settle(ctx context.Context, to booking.Endpoint, e booking.Effect, a booking.Attempt) error {
	e.Status, e.Error, e.DueAt = booking.EffectDone, a.Error, a.At
	if a.Error != "" {
		schedule := booking.WebhookSchedule()
		if n := e.Tries(); n > len(schedule) || e.Event == booking.EventTest {
			e.Status = booking.EffectDead
		} else {
			// One that met a 410 too: it waits until the endpoint is on again.
			e.Status = booking.EffectFailed
			// Jitter only ever adds: no try comes before it was asked for.
			wait := max(schedule[n-1], min(a.RetryAfter, longestRetryAfter))
			wait += time.Duration(rand.Int64N(int64(wait)/10 + 1)) //nolint:gosec // a spread, not a secret
			e.DueAt = d.o.Now().Add(d.o.Tempo.Wait(wait))
		}
	}
	keep, stop := context.WithTimeout(ctx, settleLimit)
	defer stop()
	off, err := d.o.Store.SettleWebhook(keep, e, a)
	log := d.o.Log.With("endpoint", to.ID, "effect", e.ID, "event", e.Event, "request_id", e.RequestID,
		"attempt", a.Number, "answered", a.Status, "took", a.Took, "status", e.Status)
	if e.BookingID != uuid.Nil {
		log = log.With("booking", e.BookingID)
	}
	switch {
	case errors.Is(err, booking.ErrEndpointRemoved), errors.Is(err, booking.ErrSkipped):
		log.InfoContext(ctx, "a message was taken back while it was being sent", "because", err, "err", a.Error)
		return nil
	case errors.Is(err, booking.ErrNotFound):
		log.WarnContext(ctx, "a message took too long and was taken up by another", "err", a.Error)
		return nil
	case err != nil:
		log.ErrorContext(ctx, "what became of a message was not written: it is sent again", "err", err)
		return err
	}
	if d.o.Observe != nil {
		d.o.Observe(e.Kind, e.Status)
	}
	switch e.Status {
	case booking.EffectDead:
		if e.Event == booking.EventTest {
			log.WarnContext(ctx, "test not taken", "err", a.Error) // whoever asked sees it
			break
		}
		log.ErrorContext(ctx, "message given up", "err", a.Error)
	case booking.EffectFailed:
		log.WarnContext(ctx, "message not told yet", "err", a.Error, "due", e.DueAt)
	case booking.EffectDone, booking.EffectPending, booking.EffectWithdrawn:
		log.InfoContext(ctx, "message told")
	}
	if off != "" {
		log.ErrorContext(ctx, "endpoint switched off", "why", off)
	}
	return nil
}

// behind logs what did not work and is tried again soon, as while the database is away.
func (d *Dispatcher) behind(ctx context.Context, at string, err error, to booking.Endpoint) {
	if ctx.Err() == nil {
		d.o.Log.WarnContext(ctx, "endpoints are told late", "at", at, "endpoint", to.ID, "err", err)
	}
}

// Test sends an endpoint a message at once, whether it is on or off, and tells what
// came of it. It is not tried again. An unknown endpoint is booking.ErrNotFound.
func (d *Dispatcher) Test(ctx context.Context, endpoint uuid.UUID, requestID string, by access.By) (booking.Attempt, error) {
	to, err := d.o.Store.Endpoint(ctx, endpoint)
	if err != nil {
		return booking.Attempt{}, err
	}
	now := d.o.Now()
	id := uuid.Must(uuid.NewV7())
	e := booking.Effect{
		ID: id, Action: id, Kind: booking.EffectWebhook, Event: booking.EventTest, Lane: booking.Lane{Target: to.Target()}, Attempts: 1,
		RequestID: requestID, Actor: by.Actor, Status: booking.EffectPending, CreatedAt: now, DueAt: now,
	}
	body, err := d.o.Body(ctx, to, e)
	if err != nil {
		return booking.Attempt{}, err
	}
	if err := d.o.Store.BeginTest(ctx, e, d.until(now), by); err != nil {
		return booking.Attempt{}, err
	}
	// Whoever asked may leave; what was sent is written down all the same.
	ctx = context.WithoutCancel(ctx)
	a := d.o.Sender.Send(ctx, to, e, body)
	if err := d.settle(ctx, to, e, a); err != nil {
		return a, fmt.Errorf("endpoint: write what came of the test: %w", err)
	}
	return a, nil
}
