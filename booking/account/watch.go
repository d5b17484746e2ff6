package account

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// reconcileEvery is how often what a provider has is compared with what we have. A
// comparison that took long used up what the API allows: then others have as long a
// time for theirs, but no longer than longestRest.
const (
	reconcileEvery = 15 * time.Minute
	longestRest    = time.Hour
)

// Due is what is to be done about the connections now.
type Due struct {
	// Runs that nobody works on, Checks of connections.
	Runs   []uuid.UUID
	Checks []uuid.UUID
}

// Watch begins the reconciles that are due and says what else is. It is called
// every minute by one process of all.
func (a *Accounts) Watch(ctx context.Context) (Due, error) {
	var due Due
	now := a.opts.Now()
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
		next := a.again(last)
		if err != nil && c.ReadFrom != nil {
			// Its first import reads the same, and has just begun.
			next = c.CreatedAt.Add(a.opts.Tempo.Wait(reconcileEvery))
		}
		if now.Before(next) {
			continue
		}
		// A list has no secrets, without which nothing can be asked.
		full, err := a.opts.Store.Connection(ctx, c.ID)
		if err == nil {
			_, err = a.Reconcile(ctx, full, "periodic", booking.ActorSystem)
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
