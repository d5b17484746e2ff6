package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	// unfinishedFor is how long a connection may be connected before whoever began is
	// taken to be dead, unfinishedAtMost how long it is then kept for its webhook to
	// be removed from a provider that is away.
	unfinishedFor    = 5 * time.Minute
	unfinishedAtMost = time.Hour
	// mostReserves bounds how often an account is tried that others come and go with.
	mostReserves = 5
)

// reserve keeps a new connection that is not finished yet, and holds it. Of two who
// connect one account at once, one does; the other waits for him, and is refused or
// comes after him.
func (a *Accounts) reserve(ctx context.Context, c providers.Connection) (by uuid.UUID, err error) {
	for range mostReserves {
		if refused := a.alone(ctx, c); refused != nil {
			return by, refused
		}
		h := a.hold()
		if err = a.opts.Store.BeginConnection(ctx, c, h); !errors.Is(err, providers.ErrConnected) {
			return h.By, err
		}
	}
	return by, a.taken(ctx, c, err)
}

// alone refuses an account that is connected already: two connections of one account
// would each know a part of its bookings. One that is being connected is waited for.
func (a *Accounts) alone(ctx context.Context, c providers.Connection) error {
	same, err := a.sameAccount(ctx, c)
	if err != nil {
		return err
	}
	for _, other := range same {
		if other.ID == c.ID || other.DisconnectedAt != nil {
			continue
		}
		if other.ConnectingSince != nil {
			if other, err = a.sweep(ctx, other.ID, false); err != nil {
				return err
			}
		}
		if other.ID != uuid.Nil && other.DisconnectedAt == nil {
			return &booking.InvalidError{Field: "account", Detail: fmt.Sprintf("it is connected already, as %q: connect that one again instead (%s)", other.Name, other.ID)}
		}
	}
	return nil
}

// taken says whose the account is that another was faster to connect.
func (a *Accounts) taken(ctx context.Context, c providers.Connection, err error) error {
	if !errors.Is(err, providers.ErrConnected) {
		return err
	}
	if refused := a.alone(ctx, c); refused != nil {
		return refused
	}
	return errBusy
}

// sameAccount are all connections to the account, also those that were ended.
func (a *Accounts) sameAccount(ctx context.Context, c providers.Connection) ([]providers.Connection, error) {
	all, err := booking.Everything(ctx, a.opts.Store.Connections)
	if err != nil {
		return nil, err
	}
	var out []providers.Connection
	for _, other := range all {
		if other.Source() == c.Source() && other.Owner.ExternalID != "" && other.Owner.ExternalID == c.Owner.ExternalID {
			out = append(out, other)
		}
	}
	return out, nil
}

// sweep waits for whoever connects a connection, and removes it, with its webhook,
// when he died before it was done. It gives what is left: the zero connection when it
// is removed. A patient one leaves it for now when the provider is away.
func (a *Accounts) sweep(ctx context.Context, id uuid.UUID, patient bool) (providers.Connection, error) {
	var c providers.Connection
	err := a.changing(ctx, id, func(ctx context.Context, by uuid.UUID) error {
		var api providers.Account
		var err error
		c, api, err = a.Ready(ctx, id)
		switch {
		case c.ID == uuid.Nil:
			return err
		case c.ConnectingSince == nil || c.DisconnectedAt != nil:
			return nil
		}
		log := a.opts.Log.With("connection", id, "provider", c.Provider, "target", a.Target(c), "since", *c.ConnectingSince)
		if err == nil {
			err = a.unhook(ctx, c, api)
		} else {
			log.WarnContext(ctx, "a webhook may be left at the provider", "err", err)
		}
		if err != nil && patient && away(err) && a.opts.Now().Sub(*c.ConnectingSince) < a.opts.Tempo.Wait(unfinishedAtMost) {
			return nil
		}
		keep, done := keeping(ctx)
		defer done()
		if err := a.abandon(keep, by, c); err != nil {
			return err
		}
		log.WarnContext(ctx, "a connection was removed that was never connected to the end", "webhook_removed", err == nil)
		c = providers.Connection{}
		return nil
	})
	if errors.Is(err, booking.ErrNotFound) {
		return providers.Connection{}, nil
	}
	return c, err
}

// away tells whether a provider may be asked with success later.
func away(err error) bool {
	switch CauseOf(err) { //nolint:exhaustive // what else fails goes on failing
	case CauseLimited, CauseUnreachable, CauseProvider, CauseOwn:
		return true
	}
	return false
}

// abandon leaves nothing of a connection that could not be connected; but what came
// in already is kept, and the connection with it, as ended.
func (a *Accounts) abandon(ctx context.Context, by uuid.UUID, c providers.Connection) error {
	err := a.opts.Store.DropConnection(ctx, c.ID, by)
	if err == nil || errors.Is(err, booking.ErrNotHeld) || errors.Is(err, booking.ErrUnavailable) {
		return err
	}
	now := a.opts.Now()
	return a.opts.Store.ChangeConnection(ctx, c.ID, by, providers.Change{Disconnected: &now, Connected: true})
}
