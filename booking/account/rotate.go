package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Rotate gives a connection whose webhook we registered a new secret, and the
// provider with it. Until it has, posts are signed with the old one, which is kept
// as the previous. A rotation that the provider did not take is gone on with, by the
// same secret.
func (a *Accounts) Rotate(ctx context.Context, id uuid.UUID) error {
	return a.handing(ctx, id, func(ctx context.Context, by uuid.UUID, handed *bool) error {
		c, api, err := a.rotatable(ctx, id)
		if err != nil {
			return err
		}
		if c.Secrets.Previous == "" {
			c.Secrets = providers.Secrets{Current: NewSecret(), Previous: c.Secrets.Current}
			if err := a.opts.Store.ChangeConnection(ctx, id, by, providers.Change{Secrets: &c.Secrets}); err != nil {
				return err
			}
		}
		err = a.hand(ctx, by, c, api)
		*handed = err == nil
		return err
	})
}

// RotateByHand gives a connection a new secret that a person enters at the provider.
// A second one would forget what the provider may still sign with: it is refused
// before the first is finished, unless it is forced.
func (a *Accounts) RotateByHand(ctx context.Context, id uuid.UUID, secret string, force bool) error {
	return a.changing(ctx, id, func(ctx context.Context, by uuid.UUID) error {
		c, err := a.opts.Store.Connection(ctx, id)
		switch {
		case err != nil:
			return err
		case c.DisconnectedAt != nil:
			return errDisconnected
		case c.SecretFixed(a.opts.Providers[c.Provider]):
			return errFixed
		case c.Subscription == providers.Registered:
			return &booking.InvalidError{Field: "connection", Detail: "its webhook is registered by us, and gets a secret that is made here"}
		case c.Secrets.Previous != "" && !force:
			return &booking.ConflictError{Code: "rotating", Detail: "a rotation is under way: finish it first, or posts signed with the secret before are refused"}
		}
		return a.opts.Store.ChangeConnection(ctx, id, by, providers.Change{Secrets: &providers.Secrets{Current: secret, Previous: c.Secrets.Current}})
	})
}

// FinishRotation forgets a connection's previous secret: where we registered the
// webhook and gave the provider the current one, once it has that for certain.
func (a *Accounts) FinishRotation(ctx context.Context, id uuid.UUID) error {
	return a.handing(ctx, id, func(ctx context.Context, by uuid.UUID, handed *bool) error {
		c, err := a.opts.Store.Connection(ctx, id)
		if err != nil {
			return err
		}
		if c.DisconnectedAt != nil {
			return errDisconnected
		}
		if c.Secrets.Previous == "" {
			return errNoRotation
		}
		if c.Subscription == providers.Registered && !c.SecretFixed(a.opts.Providers[c.Provider]) {
			ready, api, err := a.Ready(ctx, id)
			if err == nil {
				err = a.hand(ctx, by, ready, api)
			}
			if err != nil {
				return err
			}
			*handed = true
		}
		return a.opts.Store.ChangeConnection(ctx, id, by, providers.Change{Secrets: &providers.Secrets{Current: c.Secrets.Current}})
	})
}

// AbandonRotation goes back to the secret before, where a person enters it: the new
// one never reached the provider, or was lost on its way there.
func (a *Accounts) AbandonRotation(ctx context.Context, id uuid.UUID) error {
	return a.changing(ctx, id, func(ctx context.Context, by uuid.UUID) error {
		c, err := a.opts.Store.Connection(ctx, id)
		switch {
		case err != nil:
			return err
		case c.DisconnectedAt != nil:
			return errDisconnected
		case c.Secrets.Previous == "":
			return errNoRotation
		case c.Subscription == providers.Registered:
			return &booking.ConflictError{Code: "secret_given", Detail: "the provider may sign with the new secret already: rotate again to give it to the provider, then finish"}
		}
		return a.opts.Store.ChangeConnection(ctx, id, by, providers.Change{Secrets: &providers.Secrets{Current: c.Secrets.Previous, Previous: c.Secrets.Older}})
	})
}

// errNoRotation refuses to end what was not begun.
var errNoRotation = &booking.ConflictError{Code: "not_rotating", Detail: "no rotation is under way"}

// errFixed refuses to change what is not ours.
var errFixed = &booking.InvalidError{
	Field: "connection", Detail: "its provider signs with a key that is not ours to change: change it there, and connect again with it",
}

func (a *Accounts) rotatable(ctx context.Context, id uuid.UUID) (providers.Connection, providers.Account, error) {
	c, api, err := a.Ready(ctx, id)
	switch {
	case c.DisconnectedAt != nil:
		return c, api, errDisconnected
	case err != nil:
		return c, api, err
	case c.SecretFixed(api):
		return c, api, errFixed
	case c.Subscription != providers.Registered:
		return c, api, &booking.InvalidError{Field: "connection", Detail: "its webhook was entered by hand: give the new secret here and there"}
	}
	return c, api, nil
}

// hand gives the provider the current secret. While that fails either may stand
// there, or none; both are accepted.
func (a *Accounts) hand(ctx context.Context, by uuid.UUID, c providers.Connection, api providers.Account) error {
	err := a.subscribe(ctx, by, c, api)
	var unhooked *providers.UnhookedError
	switch {
	case errors.As(err, &unhooked):
		return fmt.Errorf("the provider may post nothing until its webhook is registered again, which is tried at once and then by every check: %w", err)
	case err != nil:
		return fmt.Errorf("the provider has not taken the new secret; posts signed with either are accepted, try again: %w", err)
	}
	return nil
}

// handing has act give a connection's provider a secret, which may take a webhook's
// place by another's. What came between the two is looked for at once; where no other
// came, the connection is checked at once.
func (a *Accounts) handing(ctx context.Context, id uuid.UUID, act func(ctx context.Context, by uuid.UUID, handed *bool) error) error {
	handed := false
	err := a.changing(ctx, id, func(ctx context.Context, by uuid.UUID) error { return act(ctx, by, &handed) })
	a.rehook(ctx, id, err)
	if !handed {
		return err
	}
	keep, done := keeping(ctx)
	defer done()
	// The secret is given, whatever becomes of this: the next comparison is soon.
	c, readErr := a.opts.Store.Connection(keep, id)
	if readErr == nil {
		_, readErr = a.Reconcile(keep, c, "registered", booking.ActorSystem)
	}
	if readErr != nil {
		a.opts.Log.WarnContext(ctx, "what was missed while a webhook was registered anew is not looked for yet", "connection", id, "err", readErr)
	}
	return err
}

// rehook has a connection checked at once whose webhook is gone, and was not made anew.
// Nobody may hold it any more: a check leaves it alone as long as somebody does.
func (a *Accounts) rehook(ctx context.Context, id uuid.UUID, err error) {
	var unhooked *providers.UnhookedError
	if !errors.As(err, &unhooked) {
		return
	}
	keep, done := keeping(ctx)
	defer done()
	if err := a.opts.WakeCheck(keep, id); err != nil {
		a.opts.Log.WarnContext(ctx, "a connection without a webhook is not checked yet", "connection", id, "err", err)
	}
}
