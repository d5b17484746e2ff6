// Package intake gathers verified deliveries into sets and has each set applied
// in one transaction. It owns who is answered when, and what is tried again; it
// does not know what a booking is, nor SQL.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"slotkeeper/booking"
)

// Store applies sets; booking/store is the one that matters.
type Store interface {
	// Apply saves the set and its consequences in one transaction and returns an
	// answer for each member in order. An error means that nothing was saved,
	// or, when it is booking.ErrUnavailable, that nobody knows.
	Apply(ctx context.Context, set []booking.Post, now time.Time) ([]booking.Answer, error)
	// KeepFailed stores a receipt alone, as failed, because of cause.
	KeepFailed(ctx context.Context, p booking.Post, cause error, now time.Time) (booking.Answer, error)
}

// Options of an intake.
type Options struct {
	// MaxSet is the most deliveries in one transaction; 1 turns sets off.
	MaxSet int
	// Now is the clock, UTC.
	Now func() time.Time
	Log *slog.Logger
	// Observe is told the size of each set and the answers after its commit.
	Observe func(set []booking.Post, answers []booking.Answer)
}

// What one set may hold and how long it may take. The time is the set's own:
// a client that leaves cancels nobody. A member alone may take longer, though
// never so long that its sender has given up.
const (
	DefaultMaxSet = 64
	maxAttendees  = 1000
	setTimeout    = 5 * time.Second
	aloneTimeout  = 9 * time.Second
	attempts      = 3
)

// errTooSlow says that a set's time ran out: perhaps the database is away, or one
// member takes more than its share. Which it is, its members find out alone.
var errTooSlow = errors.New("the set's time ran out")

// Intake is the one committer of its process.
type Intake struct {
	store    Store
	opts     Options
	arrivals chan arrival
	stopped  chan struct{}

	mu     sync.RWMutex // held for writing only to close arrivals
	closed bool
}

type arrival struct {
	post   booking.Post
	answer chan result // buffered: the committer never waits for a client
}

type result struct {
	answer booking.Answer
	err    error
}

// New starts an intake; Stop ends it.
func New(store Store, opts Options) *Intake {
	if opts.MaxSet < 1 {
		opts.MaxSet = DefaultMaxSet
	}
	in := &Intake{store: store, opts: opts, arrivals: make(chan arrival, 4*DefaultMaxSet), stopped: make(chan struct{})}
	go in.commit()
	return in
}

// Take has the delivery applied and returns when it is committed. The error is
// booking.ErrUnavailable when nothing could be stored: the sender may try
// again, and a copy of what was stored after all is a duplicate. When ctx ends
// first, the delivery is still applied.
func (in *Intake) Take(ctx context.Context, p booking.Post) (booking.Answer, error) {
	a := arrival{post: p, answer: make(chan result, 1)}
	if err := in.enter(ctx, a); err != nil {
		return booking.Answer{}, err
	}
	select {
	case r := <-a.answer:
		return r.answer, r.err
	case <-ctx.Done():
		return booking.Answer{}, ctx.Err()
	}
}

// TakeSet has a set of reads applied in a transaction of their own, in the caller's
// turn, so that deliveries slip in before and after, and rests then. What cannot be
// applied comes back as failed and is not kept: it will be read again. The error is
// booking.ErrUnavailable when nothing was stored.
func (in *Intake) TakeSet(ctx context.Context, set []booking.Post) ([]booking.Answer, error) {
	began := in.opts.Now()
	defer func() { Rest(ctx, in.opts.Now().Sub(began)) }()
	in.mu.RLock()
	defer in.mu.RUnlock()
	if in.closed {
		return nil, fmt.Errorf("intake: stopping: %w", booking.ErrUnavailable)
	}
	answers, err := in.applySet(set) //nolint:contextcheck // a set's context is its own
	if err == nil {
		in.committed(set, answers)
		return answers, nil
	}
	if errors.Is(err, booking.ErrUnavailable) {
		return nil, err
	}
	answers = answers[:0]
	for _, p := range set {
		one, err := in.tryAlone(p) //nolint:contextcheck // a set's context is its own
		if errors.Is(err, booking.ErrUnavailable) {
			return nil, err
		}
		if err != nil {
			in.opts.Log.ErrorContext(ctx, "a read could not be applied", "connection", p.ConnectionID, "event_key", p.EventKey, "err", err)
			one = booking.Answer{Status: booking.StatusFailed, Code: booking.CodeApplyFailed, Error: "applying it failed"}
		} else {
			in.committed([]booking.Post{p}, []booking.Answer{one})
		}
		answers = append(answers, one)
	}
	return answers, nil
}

func (in *Intake) enter(ctx context.Context, a arrival) error {
	in.mu.RLock()
	defer in.mu.RUnlock()
	if in.closed {
		return fmt.Errorf("intake: stopping: %w", booking.ErrUnavailable)
	}
	select {
	case in.arrivals <- a:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop refuses new deliveries, finishes those that were taken, and returns.
func (in *Intake) Stop() {
	in.mu.Lock()
	if !in.closed {
		in.closed = true
		close(in.arrivals)
	}
	in.mu.Unlock()
	<-in.stopped
}

func (in *Intake) commit() {
	defer close(in.stopped)
	var next *arrival
	for {
		set, after, ok := in.gather(next)
		if !ok {
			return
		}
		next = after
		in.apply(set)
	}
}

// gather returns whoever has arrived, without waiting for more once there is
// one. carried is an arrival that did not fit into the set before.
func (in *Intake) gather(carried *arrival) (set []arrival, next *arrival, ok bool) {
	first := carried
	if first == nil {
		a, open := <-in.arrivals
		if !open {
			return nil, nil, false
		}
		first = &a
	}
	set = []arrival{*first}
	people := attendees(*first)
	for len(set) < in.opts.MaxSet {
		select {
		case a, open := <-in.arrivals:
			if !open {
				return set, nil, true
			}
			if people += attendees(a); people > maxAttendees {
				return set, &a, true
			}
			set = append(set, a)
		default:
			return set, nil, true
		}
	}
	return set, nil, true
}

func attendees(a arrival) int {
	if a.post.Event == nil {
		return 0
	}
	return len(a.post.Event.Attendees)
}

// apply commits a set and answers its members. A set that fails for any reason
// but a lost database is applied again member by member, so that one bad
// delivery fails alone.
func (in *Intake) apply(set []arrival) {
	posts := make([]booking.Post, len(set))
	for i, a := range set {
		posts[i] = a.post
	}
	answers, err := in.applySet(posts)
	switch {
	case err == nil:
		in.committed(posts, answers)
		for i, a := range set {
			a.answer <- result{answer: answers[i]}
		}
	case errors.Is(err, booking.ErrUnavailable):
		refuse(set, err)
	default:
		if len(set) > 1 {
			in.opts.Log.Warn("set failed, applying its members one by one", "size", len(set), "err", err)
		}
		for i, a := range set {
			answer, err := in.applyOne(a.post)
			if errors.Is(err, booking.ErrUnavailable) {
				refuse(set[i:], err) // the others would find the same
				return
			}
			in.committed([]booking.Post{a.post}, []booking.Answer{answer})
			a.answer <- result{answer: answer}
		}
	}
}

func refuse(set []arrival, err error) {
	for _, a := range set {
		a.answer <- result{err: err}
	}
}

// committed tells of what is stored: to whoever observes, and each transition
// that was refused to the log.
func (in *Intake) committed(posts []booking.Post, answers []booking.Answer) {
	in.opts.Observe(posts, answers)
	for i, p := range posts {
		in.logRefused(p, answers[i])
	}
}

func (in *Intake) logRefused(p booking.Post, a booking.Answer) {
	for _, t := range a.Transitions {
		if t.Outcome == booking.Rejected {
			in.opts.Log.Warn("transition refused",
				"request_id", p.RequestID, "connection", p.ConnectionID, "receipt", t.ReceiptID, "event_key", p.EventKey,
				"booking", t.BookingID, "event", t.Event, "from", t.From, "reason", t.Reason, "seq", t.Seq)
		}
	}
}

func (in *Intake) applySet(set []booking.Post) ([]booking.Answer, error) {
	return in.applyWithin(setTimeout, set)
}

func (in *Intake) applyWithin(timeout time.Duration, set []booking.Post) ([]booking.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answers, err := in.store.Apply(ctx, set, in.opts.Now())
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Only its text: to the store a deadline of ours looks like a database
		// that is away.
		return nil, fmt.Errorf("%w: %s", errTooSlow, err.Error())
	}
	return answers, err
}

// applyOne applies a delivery alone. A fence means that somebody wrote past the
// ledger's lock: read again, it becomes a conflict. What fails for itself is
// kept as a failed receipt and answered 2xx: no retry of the provider's helps.
func (in *Intake) applyOne(p booking.Post) (booking.Answer, error) {
	answer, cause := in.tryAlone(p)
	if cause == nil || errors.Is(cause, booking.ErrUnavailable) {
		return answer, cause
	}
	in.opts.Log.Error("delivery could not be applied, kept as failed",
		"request_id", p.RequestID, "connection", p.ConnectionID, "receipt", p.ReceiptID, "event_key", p.EventKey, "err", cause)
	ctx, cancel := context.WithTimeout(context.Background(), setTimeout)
	defer cancel()
	a, err := in.store.KeepFailed(ctx, p, cause, in.opts.Now())
	if err != nil { // not even that: the database is away
		return booking.Answer{}, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
	}
	return a, nil
}

// tryAlone applies a delivery alone, again when a fence refused it.
func (in *Intake) tryAlone(p booking.Post) (booking.Answer, error) {
	var cause error
	for range attempts {
		answers, err := in.applyWithin(aloneTimeout, []booking.Post{p})
		if err == nil {
			return answers[0], nil
		}
		cause = err
		var fence *booking.FenceError
		if errors.Is(err, booking.ErrUnavailable) || !errors.As(err, &fence) {
			break
		}
	}
	return booking.Answer{}, cause
}
