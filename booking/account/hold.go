package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// How long something is held by a process that may die, and how long another waits
// for a connection that is held. However fast a test lets time pass there are least
// times: the machine is not faster.
const (
	heldFor    = time.Minute
	leastHold  = 2 * time.Second
	changeWait = 10 * time.Second
	leastWait  = time.Second
	holdPoll   = 250 * time.Millisecond
)

// errBusy tells whoever waited in vain for a connection what to do.
var errBusy = &booking.ConflictError{
	Code:   "busy",
	Detail: "the connection is being changed just now: connected again, ended, or given another secret or webhook. Try again in a minute",
}

// ErrDisconnected tells whoever ends a connection that another was faster: it is
// ended, and it was not him.
var ErrDisconnected = &booking.ConflictError{Code: "disconnected", Detail: "the connection is disconnected already"}

// errDisconnected refuses what only a connection that stands can be given.
var errDisconnected = &booking.ConflictError{Code: "disconnected", Detail: "the connection is disconnected: connect it again first"}

// hold begins now, of a holder that nobody else is.
func (a *Accounts) hold() booking.Hold { return a.longer(uuid.New()) }

// longer is a holder's hold from now on.
func (a *Accounts) longer(by uuid.UUID) booking.Hold {
	return booking.Hold{By: by, Until: a.opts.Now().Add(a.holdTime())}
}

func (a *Accounts) holdTime() time.Duration { return max(a.opts.Tempo.Wait(heldFor), leastHold) }

// keeping is a context for what must be written although whoever asked has left.
func keeping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
}

// changing has act change a connection while nobody else does, in any process: it
// waits a while for whoever is at it, and then is errBusy.
func (a *Accounts) changing(ctx context.Context, id uuid.UUID, act func(ctx context.Context, by uuid.UUID) error) error {
	by, err := a.take(ctx, id)
	if err != nil {
		return err
	}
	return a.held(ctx, id, by, act)
}

// take waits for the right to change a connection.
func (a *Accounts) take(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	h := a.hold()
	poll := time.NewTicker(holdPoll)
	defer poll.Stop()
	patience := time.NewTimer(max(a.opts.Tempo.Wait(changeWait), leastWait))
	defer patience.Stop()
	for {
		mine, err := a.opts.Store.TakeConnection(ctx, id, a.opts.Now(), h)
		if err != nil {
			a.leave(ctx, id, h.By) // it may have been written all the same
		}
		if err != nil || mine {
			return h.By, err
		}
		select {
		case <-poll.C:
		case <-patience.C:
			return h.By, errBusy
		case <-ctx.Done():
			return h.By, fmt.Errorf("wait for the connection: %w", context.Cause(ctx))
		}
		h = a.longer(h.By)
	}
}

// held has act change a connection that is held already, and gives it back.
func (a *Accounts) held(ctx context.Context, id, by uuid.UUID, act func(ctx context.Context, by uuid.UUID) error) error {
	defer a.leave(ctx, id, by)
	renew := func(ctx context.Context) error { return a.opts.Store.RenewConnection(ctx, id, a.longer(by)) }
	err := a.whileHeld(ctx, renew, func(ctx context.Context) error { return act(ctx, by) })
	if errors.Is(err, booking.ErrNotHeld) {
		return fmt.Errorf("%w (%w)", errBusy, err)
	}
	return err
}

func (a *Accounts) leave(ctx context.Context, id, by uuid.UUID) {
	keep, done := keeping(ctx)
	defer done()
	if err := a.opts.Store.LeaveConnection(keep, id, by); err != nil {
		a.opts.Log.WarnContext(ctx, "a connection is held in vain for a while", "connection", id, "err", err)
	}
}

// whileHeld has act done and a hold renewed meanwhile. When another has taken it, or
// it was ended, act's context ends and the error is booking.ErrNotHeld.
func (a *Accounts) whileHeld(ctx context.Context, renew, act func(context.Context) error) error {
	within, stop := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { a.beat(within, stop, renew) })
	err := act(within)
	if cause := context.Cause(within); err != nil && errors.Is(cause, booking.ErrNotHeld) {
		err = cause
	}
	stop(nil)
	beating.Wait()
	return err
}

// beat renews a hold while a page or a call takes its time.
func (a *Accounts) beat(ctx context.Context, stop context.CancelCauseFunc, renew func(context.Context) error) {
	tick := time.NewTicker(a.holdTime() / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := renew(ctx); errors.Is(err, booking.ErrNotHeld) {
			stop(err)
			return
		} else if err != nil && ctx.Err() == nil {
			a.opts.Log.WarnContext(ctx, "a hold was not renewed", "err", err)
		}
	}
}

// subscribe has the webhook registered by whoever holds the connection.
func (a *Accounts) subscribe(ctx context.Context, by uuid.UUID, c providers.Connection, api providers.Account) error {
	_, err := a.register(ctx, by, c, api)
	return err
}

// register is subscribe, and says how the webhook is then. Who lost the connection
// meanwhile, asleep, may have registered one that another had removed.
func (a *Accounts) register(ctx context.Context, by uuid.UUID, c providers.Connection, api providers.Account) (providers.HookState, error) {
	hooks, err := api.Subscribe(ctx, a.opts.Client, c, a.Target(c), c.Owner)
	state := providers.StateOfHooks(api.HookKinds(), hooks)
	keep, done := keeping(ctx)
	defer done()
	if lost := a.opts.Store.RenewConnection(keep, c.ID, a.longer(by)); !errors.Is(lost, booking.ErrNotHeld) {
		return state, err
	}
	now, readErr := a.opts.Store.Connection(keep, c.ID)
	if errors.Is(readErr, booking.ErrNotFound) || readErr == nil && now.DisconnectedAt != nil {
		err = errors.Join(err, a.unhook(keep, c, api))
	}
	return state, errors.Join(booking.ErrNotHeld, err)
}

// unhook removes the webhook of what will not be connected. The provider may be away:
// its posts would find no connection.
func (a *Accounts) unhook(ctx context.Context, c providers.Connection, api providers.Account) error {
	err := api.Unsubscribe(ctx, a.opts.Client, c, a.Target(c))
	if err != nil {
		a.opts.Log.WarnContext(ctx, "a webhook may be left at the provider", "connection", c.ID, "provider", c.Provider, "target", a.Target(c), "err", err)
	}
	return err
}
