package account

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	// reconcileEvery is how often what a provider has is compared with what we have. A
	// comparison that took long used up what the API allows: then others have as long a
	// time for theirs, but no longer than longestRest.
	reconcileEvery = 15 * time.Minute
	longestRest    = time.Hour

	watchEvery = time.Minute
	leastWatch = time.Second // however fast a test lets time pass
	// unwatchedFor is how long nobody looks after the accounts until that was an
	// outage of ours: two looks in a row were missed. An upgrade takes less.
	unwatchedFor   = 5 * watchEvery / 2
	leastUnwatched = 5 * time.Second
)

// WatchEvery is how often Watch is to be called.
func WatchEvery(tempo providers.Tempo) time.Duration {
	return max(tempo.Wait(watchEvery), leastWatch)
}

// Due is what is to be done about the connections now.
type Due struct {
	// Runs that nobody works on, Checks of connections.
	Runs   []uuid.UUID
	Checks []uuid.UUID
}

// Watch begins the reconciles that are due and says what else is. It is called
// every minute by one process of all. When it was not, no process was there, or the
// database was not: posts were refused then, and not every provider sends them again.
// So that all accounts are compared at once.
func (a *Accounts) Watch(ctx context.Context) (Due, error) {
	var due Due
	now := a.opts.Now()
	back, err := a.lookAfter(ctx, now)
	if err != nil {
		return due, err
	}
	open, err := a.opts.Store.OpenRuns(ctx)
	if err != nil {
		return due, err
	}
	all, err := booking.Everything(ctx, a.opts.Store.Connections)
	if err != nil {
		return due, err
	}
	locked := map[uuid.UUID]bool{}
	for _, c := range all {
		locked[c.ID] = c.Health.NeedsSignIn && c.DisconnectedAt == nil
	}
	busy := map[uuid.UUID]bool{}
	for _, r := range open {
		if r.Kind == booking.RunReconcile {
			busy[r.ConnectionID] = true
		}
		// Whoever works on one holds it; waking it twice does no harm.
		if now.Sub(r.MovedAt) > a.opts.Tempo.Wait(heldFor) && !locked[r.ConnectionID] {
			due.Runs = append(due.Runs, r.ID)
		}
	}
	for _, c := range all {
		if c.DisconnectedAt != nil || c.Owner.ExternalID == "" {
			continue // nothing can be asked
		}
		if c.ConnectingSince != nil {
			if now.Sub(*c.ConnectingSince) > a.opts.Tempo.Wait(unfinishedFor) {
				due.Checks = append(due.Checks, c.ID)
			}
			continue
		}
		if next := c.Health.NextCheckAt; next == nil || !next.After(now) {
			due.Checks = append(due.Checks, c.ID)
		}
		if busy[c.ID] || c.Health.NeedsSignIn {
			continue
		}
		last, err := a.opts.Store.NewestRun(ctx, c.ID, booking.RunReconcile)
		if err != nil && !errors.Is(err, booking.ErrNotFound) {
			return due, err
		}
		cause, begun, next := "periodic", last.StartedAt, a.again(last)
		if err != nil {
			begun = c.CreatedAt
			if c.ReadFrom != nil {
				// Its first import reads the same, and has just begun.
				next = begun.Add(a.opts.Tempo.Wait(reconcileEvery))
			}
		}
		switch {
		case begun.Before(back):
			// Also of one that had begun before: it may have read all that by then.
			cause = "outage"
		case now.Before(next):
			continue
		}
		// A list has no secrets, without which nothing can be asked.
		full, err := a.opts.Store.Connection(ctx, c.ID)
		if err == nil {
			_, err = a.Reconcile(ctx, full, cause, booking.ActorSystem)
		}
		if err != nil && !errors.Is(err, ErrCannotAsk) && !errors.Is(err, booking.ErrNotFound) {
			return due, err
		}
	}
	return due, nil
}

// again is when a comparison may follow the last one.
func (a *Accounts) again(last booking.Run) time.Time {
	next := last.StartedAt.Add(a.opts.Tempo.Wait(reconcileEvery))
	if last.Status != booking.RunDone || last.FinishedAt == nil {
		return next
	}
	took := last.FinishedAt.Sub(last.StartedAt)
	return latestOf(next, last.FinishedAt.Add(min(took, a.opts.Tempo.Wait(longestRest))))
}

// lookAfter notes that somebody looks after the accounts, and gives the end of the
// last time in which nobody did: the zero time for none.
func (a *Accounts) lookAfter(ctx context.Context, now time.Time) (back time.Time, err error) {
	look, err := a.opts.Store.LookAfter(ctx, now, max(a.opts.Tempo.Wait(unwatchedFor), leastUnwatched))
	if err != nil {
		return back, err
	}
	if look.Away != nil {
		a.opts.Log.WarnContext(ctx, "nobody looked after the accounts: what was sent meanwhile may be lost, so that all are compared",
			"since", *look.Away, "lasted", now.Sub(*look.Away).Round(time.Second))
	}
	// Of a clock that was set back since, every comparison would be before it.
	if look.BackAt != nil && !look.BackAt.After(now) {
		back = *look.BackAt
	}
	return back, nil
}

// CheckAndRepair checks a connection and, when posts may have been missed, has it
// compared with its provider at once. One that nobody connected to the end is
// removed. One that somebody changes just now is left alone: Watch finds it again.
func (a *Accounts) CheckAndRepair(ctx context.Context, id uuid.UUID) error {
	f, err := a.checkOrSweep(ctx, id)
	var later *providers.LaterError
	var busy *booking.ConflictError
	switch {
	case errors.Is(err, ErrCannotAsk), errors.Is(err, booking.ErrNotFound), errors.As(err, &busy):
		return nil
	case errors.As(err, &later):
		return err
	case err != nil:
		return err
	}
	if f.Err != nil {
		if f.OnlyHookLost() {
			a.opts.Log.WarnContext(ctx, "webhook could not be registered anew", "connection", f.ID, "provider", f.Provider, "err", f.Err)
		} else {
			a.opts.Log.WarnContext(ctx, "connection cannot be asked", "connection", f.ID, "provider", f.Provider, "failures", f.Health.Failures,
				"needs_sign_in", f.Health.NeedsSignIn, "err", f.Err)
		}
		return nil // it stands with the connection, which is looked at again
	}
	if !f.Recovered && !f.Remade {
		return nil
	}
	a.opts.Log.InfoContext(ctx, "connection works again", "connection", f.ID, "provider", f.Provider, "webhook_remade", f.Remade)
	cause := "outage"
	if f.Remade {
		cause = "registered"
	}
	_, err = a.Reconcile(ctx, f.Connection, cause, booking.ActorSystem)
	return err
}

// checkOrSweep checks a connection that is connected, and removes another.
func (a *Accounts) checkOrSweep(ctx context.Context, id uuid.UUID) (Finding, error) {
	c, err := a.opts.Store.Connection(ctx, id)
	if err != nil {
		return Finding{}, err
	}
	if c.ConnectingSince == nil {
		return a.Check(ctx, id)
	}
	_, err = a.sweep(ctx, id, true)
	return Finding{}, err
}
