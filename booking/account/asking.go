package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// How long a comparison waits in its place. One that was asked to wait for longer asks
// again earlier, in vain and at no cost: whether it is still ours is seen then.
const (
	shortestPause = 5 * time.Second
	longestPause  = 5 * time.Minute
	// mostStumbles in a row of a provider end the waiting. None is counted that asked
	// to be left alone: it will answer.
	mostStumbles = 5
)

// ask has the provider asked something, with a token that is good for a while and as
// of a ticket.
//
// What a comparison met is in memory alone, and is lost when it gives its run back: a
// larger account would be begun anew for ever. So once it has read something it waits
// where it is, holding its run, until the provider answers again. Whoever has read
// nothing yet, and a backfill, which knows where it was, give the run back.
func (r *reading) ask(ctx context.Context, call func(ticket time.Time) error) error {
	stumbles, waited := 0, false
	for {
		err := r.once(ctx, call)
		if r.run.Kind != booking.RunReconcile || r.run.Pages == 0 || ctx.Err() != nil {
			return err
		}
		var later *providers.LaterError
		pause := shortestPause << stumbles
		switch {
		case errors.As(err, &later):
			pause = min(max(later.After, shortestPause), longestPause)
		case stumbled(err) && !providers.NeedsSignIn(err) && stumbles < mostStumbles:
			stumbles++
		default:
			if waited {
				r.run.Error = ""
			}
			return err
		}
		if err := r.pause(ctx, pause, err); err != nil {
			return err
		}
		waited = true
	}
}

// once asks. Of a connection that was given other credentials meanwhile, or was ended,
// is known before that.
func (r *reading) once(ctx context.Context, call func(ticket time.Time) error) error {
	conn, api, err := r.Ready(ctx, r.run.ConnectionID)
	if err != nil {
		return err
	}
	r.conn, r.api = conn, api
	// The ticket is committed before the provider is asked: it is the clock of what
	// the answer says (R2).
	ticket, err := r.opts.Store.Ticket(ctx, r.opts.Now())
	if err != nil {
		return err
	}
	return call(ticket)
}

// pause waits, and says in the run and in the log for what.
func (r *reading) pause(ctx context.Context, d time.Duration, because error) error {
	r.run.Error = because.Error()
	if err := r.save(ctx); err != nil {
		return err
	}
	if later := (*providers.LaterError)(nil); errors.As(because, &later) {
		r.note(ctx, r.conn, because)
	}
	r.opts.Log.InfoContext(ctx, "comparison waits for its provider", "run", r.run.ID, "connection", r.conn.ID, "pages", r.run.Pages, "wait", d, "err", because)
	timer := time.NewTimer(r.opts.Tempo.Wait(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the provider: %w", ctx.Err())
	}
}
