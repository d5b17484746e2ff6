package account

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// checkEvery is how often a working connection is looked at; one that fails is
// looked at sooner, and less often the longer it lasts.
const (
	checkEvery   = 30 * time.Minute
	checkSoonest = time.Minute
	// patience is how long an API may ask to be left alone until that is a failure,
	// too: nothing was read of it for as long as three comparisons are apart.
	patience = 3 * reconcileEvery
)

// Finding is what a check of a connection found.
type Finding struct {
	providers.Connection
	// Recovered says that it works again, Remade that its webhook was registered
	// anew: either way posts may have been missed.
	Recovered bool
	Remade    bool
	// Hook is how the webhook was found, before it was made anew.
	Hook providers.HookState
	Err  error
}

// Check asks the connection's API whether its credentials are accepted and its
// webhook stands, registers that anew when it does not, and notes what it found.
func (a *Accounts) Check(ctx context.Context, id uuid.UUID) (Finding, error) {
	c, api, err := a.Ready(ctx, id)
	if err != nil && c.ID == uuid.Nil {
		return Finding{}, err
	}
	f := Finding{Connection: c}
	if errors.Is(err, ErrCannotAsk) || errors.Is(err, booking.ErrUnavailable) {
		return f, err
	}
	lost := c.Health.HookLostAt
	if err == nil {
		lost, err = a.checkHook(ctx, &f, api)
	}
	if busy := (*booking.ConflictError)(nil); errors.As(err, &busy) || errors.Is(err, ErrCannotAsk) || errors.Is(err, booking.ErrUnavailable) {
		return f, err // neither does this: it is being changed, was ended meanwhile, or we cannot tell
	}
	if later := (*providers.LaterError)(nil); errors.As(err, &later) && a.patient(c.Health) {
		return f, err // it says nothing about the connection
	}
	f.Err = err
	f.Recovered = err == nil && (c.Health.Failures > 0 || c.Health.NeedsSignIn || c.Health.HookLostAt != nil && lost == nil)
	f.Health = a.after(c.Health, err)
	switch hook := (*hookError)(nil); {
	case errors.As(err, &hook) && !f.Health.NeedsSignIn:
		f.Health = a.unhooked(c.Health, *lost, err.Error())
	case err == nil && lost != nil:
		f.Health = a.unhooked(c.Health, *lost, f.Hook.String())
		if c.Health.HookLostAt == nil {
			a.opts.Log.WarnContext(ctx, "the provider cannot deliver to us", "connection", c.ID, "provider", c.Provider, "webhook", f.Hook.String())
		}
	}
	f.Health.HookLostAt = lost
	return f, a.opts.Store.NoteHealth(ctx, id, c.Generation, f.Health)
}

// checkHook finds out whether our webhook stands, and makes it anew when not. lost is
// since when posts are missing; nil while they come.
func (a *Accounts) checkHook(ctx context.Context, f *Finding, api providers.Account) (lost *time.Time, err error) {
	c := f.Connection
	asked, err := a.inquire(ctx, c, api)
	f.Hook = asked.Hook
	switch {
	case !asked.Registered:
		return nil, err
	case err != nil:
		return c.Health.HookLostAt, err
	case asked.Hook.Whole():
		return asked.Hook.FailingSince, nil
	}
	err = a.changing(ctx, c.ID, func(ctx context.Context, by uuid.UUID) (err error) {
		f.Remade, err = a.remake(ctx, by, c.ID)
		return err
	})
	if err == nil {
		if !f.Remade {
			return asked.Hook.FailingSince, nil // another was faster, or there is no more to be had
		}
		return nil, nil
	}
	if asked.Hook.Posted() && CauseOf(err) == CauseForbidden {
		return asked.Hook.FailingSince, nil // what only newer versions know is not worth a failure
	}
	since := c.Health.HookLostAt
	if since == nil {
		now := a.opts.Now()
		since = &now
	}
	return since, &hookError{asked.Hook, err}
}

// hookError is why a webhook was not made anew, of an API that had just answered:
// what is booked there can still be read.
type hookError struct {
	state providers.HookState
	err   error
}

func (e *hookError) Error() string { return e.state.String() + ": " + e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// errUnchanged says that a provider took our webhook, and has it as it was before.
var errUnchanged = errors.New("the provider was given it anew, and it is as it was")

// remake registers the webhook of a connection that is held, unless it was ended
// meanwhile, or another has registered it. What this version of the provider does not
// know is no reason to make it anew: then it is asked for in vain, and nothing is.
func (a *Accounts) remake(ctx context.Context, by, id uuid.UUID) (bool, error) {
	c, api, err := a.Ready(ctx, id)
	if err != nil {
		return false, err
	}
	asked, err := a.inquire(ctx, c, api)
	if err != nil || !asked.Registered || asked.Hook.Whole() {
		return false, err
	}
	now, err := a.register(ctx, by, c, api)
	switch {
	case err != nil:
		return false, err
	case !now.Same(asked.Hook):
		a.opts.Log.WarnContext(ctx, "webhook registered anew", "connection", c.ID, "provider", c.Provider, "because", asked.Hook.String())
		return true, nil
	case !now.Posted():
		return false, errUnchanged
	}
	return false, nil
}

// after is a connection's health after a call.
func (a *Accounts) after(h providers.Health, err error) providers.Health {
	now := a.opts.Now()
	next := now.Add(a.opts.Tempo.Wait(checkEvery))
	h.CheckedAt = &now
	if err == nil {
		h.SucceededAt, h.FailingSince, h.Failures, h.Failure, h.NeedsSignIn = &now, nil, 0, "", false
	} else {
		if h.FailingSince == nil {
			h.FailingSince = &now
		}
		h.Failures++
		h.Failure, h.NeedsSignIn = err.Error(), providers.NeedsSignIn(err)
		wait := checkEvery
		if h.Failures < 6 {
			wait = min(checkSoonest<<(h.Failures-1), checkEvery)
		}
		next = now.Add(a.opts.Tempo.Wait(wait))
	}
	h.NextCheckAt = &next
	return h
}

// unhooked is a connection's health when its posts alone are missing, since lost. It
// is looked at again after as long as that has lasted.
func (a *Accounts) unhooked(h providers.Health, lost time.Time, why string) providers.Health {
	h = a.after(h, nil)
	h.Failure = why
	wait := max(a.opts.Now().Sub(lost), a.opts.Tempo.Wait(checkSoonest))
	next := a.opts.Now().Add(min(wait, a.opts.Tempo.Wait(checkEvery)))
	h.NextCheckAt = &next
	return h
}

// patient tells whether that an API asks to be left alone says nothing yet.
func (a *Accounts) patient(h providers.Health) bool {
	return h.SucceededAt == nil || a.opts.Now().Sub(*h.SucceededAt) < a.opts.Tempo.Wait(patience)
}

// note keeps how a call went that was made for something else. It does not put off
// the next check: what else is asked says nothing of the webhook.
func (a *Accounts) note(ctx context.Context, c providers.Connection, err error) {
	if errors.Is(err, booking.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return
	}
	var later *providers.LaterError
	current, readErr := a.opts.Store.Connection(ctx, c.ID)
	if readErr == nil && errors.As(err, &later) && a.patient(current.Health) {
		return
	}
	if readErr == nil {
		h := a.after(current.Health, err)
		h.CheckedAt, h.HookLostAt = current.Health.CheckedAt, current.Health.HookLostAt
		if err == nil && current.OnlyHookLost() {
			h.Failure = current.Health.Failure // that is about its webhook
		}
		if next := current.Health.NextCheckAt; next != nil && next.Before(*h.NextCheckAt) {
			h.NextCheckAt = next
		}
		readErr = a.opts.Store.NoteHealth(ctx, c.ID, c.Generation, h)
	}
	if readErr != nil {
		a.opts.Log.ErrorContext(ctx, "a connection's health was not kept", "connection", c.ID, "err", readErr)
	}
}
