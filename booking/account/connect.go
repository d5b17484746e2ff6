package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Request is what an account is connected with.
type Request struct {
	// ID of the connection to connect again, which must be the Provider's; uuid.Nil
	// makes a new one.
	ID       uuid.UUID
	Provider string
	Name     string
	// APIBase in its one spelling.
	APIBase string
	API     providers.Credentials
	// Secret that posts are signed with; "" has one made. Acuity's is its API key.
	Secret string
	// Subscribe has the webhook registered. One that we registered before is again.
	Subscribe bool
	// From is the day from which bookings are brought in; nil for none.
	From *time.Time
	By   booking.Actor
}

// Connected is an account that was connected.
type Connected struct {
	providers.Connection
	Target string
	// SecretMade says that the secret was made here, and must be entered at the
	// provider when Manual is set.
	SecretMade bool
	// Manual says why the webhook has to be entered by hand; nil when it need not.
	Manual *providers.ManualError
	// Run brings the bookings in, or what was missed of them; nil when it was not
	// asked for.
	Run *booking.Run
}

// NewSecret has 256 bits, in letters that every provider's form takes.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the process rather
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Identify says whose account the request's credentials open, without keeping
// anything.
func (a *Accounts) Identify(ctx context.Context, r Request) (providers.Profile, error) {
	c := a.connection(r, providers.Connection{})
	api, err := a.adapter(c)
	if err != nil {
		return providers.Profile{}, err
	}
	return api.Identify(ctx, a.opts.Client, c)
}

func (a *Accounts) connection(r Request, old providers.Connection) providers.Connection {
	c := old
	c.API, c.DisconnectedAt = r.API, nil
	if r.ID == uuid.Nil {
		c.ID, c.Provider, c.APIBase, c.CreatedAt = uuid.Must(uuid.NewV7()), r.Provider, r.APIBase, a.opts.Now()
	}
	if r.Name != "" {
		c.Name = r.Name
	}
	if r.Secret != "" && r.Secret != c.Secrets.Current {
		c.Secrets = c.Secrets.Replaced(r.Secret)
	}
	if c.Secrets.Current == "" {
		c.Secrets.Current = NewSecret()
	}
	return c
}

// Connect makes or renews a connection: it finds out whose account it is, keeps
// it, has its webhook registered and begins to bring its bookings in. When any of
// that fails nothing is left of a new connection, and one that was there keeps
// what it had.
func (a *Accounts) Connect(ctx context.Context, r Request) (Connected, error) {
	if r.From != nil {
		if err := a.readable(*r.From); err != nil {
			return Connected{}, err
		}
	}
	var out Connected
	var err error
	if r.ID == uuid.Nil {
		out, err = a.connectNew(ctx, r)
	} else {
		err = a.changing(ctx, r.ID, func(ctx context.Context, by uuid.UUID) (err error) {
			out, err = a.connectAgain(ctx, r, by)
			return err
		})
		a.rehook(ctx, r.ID, err)
	}
	if err != nil {
		return out, err
	}
	err = a.bringIn(ctx, &out, r)
	return out, err
}

// connectNew connects an account that has no connection.
func (a *Accounts) connectNew(ctx context.Context, r Request) (Connected, error) {
	c, api, err := a.identify(ctx, r, providers.Connection{})
	if err != nil {
		return Connected{}, err
	}
	out := Connected{Target: a.Target(c), SecretMade: r.Secret == ""}
	// It must stand before the provider posts to it, and has the account from now on.
	c.ConnectingSince = &c.CreatedAt
	by, err := a.reserve(ctx, c)
	if err != nil {
		return out, err
	}
	err = a.held(ctx, c.ID, by, func(ctx context.Context, by uuid.UUID) (err error) {
		if out.Connection, out.Manual, err = a.finish(ctx, by, c, api, r); err == nil {
			return nil
		}
		keep, done := keeping(ctx)
		defer done()
		if r.Subscribe {
			_ = a.unhook(keep, c, api) // it is logged, and there is nobody to ask again
		}
		return errors.Join(err, a.abandon(keep, by, c))
	})
	return out, err
}

// connectAgain gives a connection that is held new credentials.
func (a *Accounts) connectAgain(ctx context.Context, r Request, by uuid.UUID) (Connected, error) {
	old, err := a.opts.Store.Connection(ctx, r.ID)
	if err != nil {
		return Connected{}, err
	}
	if r.Provider != old.Provider {
		return Connected{}, &booking.InvalidError{Field: "provider", Detail: "the connection is one to " + old.Provider}
	}
	r.APIBase = old.APIBase
	// It may have been removed with the connection, or signs with another secret.
	r.Subscribe = r.Subscribe || old.Subscription == providers.Registered
	c, api, err := a.identify(ctx, r, old)
	if err != nil {
		return Connected{}, err
	}
	if old.Owner.ExternalID != "" && old.Owner.ExternalID != c.Owner.ExternalID {
		return Connected{}, &booking.InvalidError{
			Field:  "account",
			Detail: "this is another account than the connection's: connect it as a new one, so that their bookings are not mixed up",
		}
	}
	if err := a.alone(ctx, c); err != nil {
		return Connected{}, err
	}
	out := Connected{Target: a.Target(c), SecretMade: r.Secret == "" && old.Secrets.Current == ""}
	// Posts signed with the new secret come before the provider has answered.
	early := providers.Change{Owner: &c.Owner, Reopened: old.DisconnectedAt != nil}
	if c.Secrets != old.Secrets {
		early.Secrets = &c.Secrets
	}
	if err := a.opts.Store.ChangeConnection(ctx, c.ID, by, early); err != nil {
		return out, a.taken(ctx, c, err)
	}
	if out.Connection, out.Manual, err = a.finish(ctx, by, c, api, r); err != nil {
		return out, errors.Join(err, a.restore(ctx, by, c, old, api, r.Subscribe))
	}
	return out, nil
}

// identify is the connection as a request would have it, once its credentials have
// said whose account it is.
func (a *Accounts) identify(ctx context.Context, r Request, old providers.Connection) (providers.Connection, providers.Account, error) {
	c := a.connection(r, old)
	api, err := a.adapter(c)
	if err != nil {
		return c, nil, err
	}
	if c.Owner, err = api.Identify(ctx, a.opts.Client, c); err != nil {
		return c, nil, err
	}
	if prover, signs := api.(providers.KeyProver); signs && c.API.Token != "" {
		if err := prover.ProveKey(ctx, a.opts.Client, c); err != nil {
			return c, nil, err
		}
	}
	if c.Name == "" {
		c.Name = cmp.Or(c.Owner.Name, c.Owner.Email, c.Provider)
	}
	return c, api, nil
}

// bringIn begins to read what is booked, or what was missed.
func (a *Accounts) bringIn(ctx context.Context, out *Connected, r Request) (err error) {
	if r.From != nil {
		var run booking.Run
		if run, err = a.importFrom(ctx, out.Connection, *r.From, r.By); err == nil {
			out.Run = &run
		}
	}
	if r.ID == uuid.Nil {
		return err
	}
	run, compareErr := a.Reconcile(ctx, out.Connection, "reconnected", r.By)
	if compareErr == nil && out.Run == nil {
		out.Run = &run
	}
	return errors.Join(err, compareErr)
}

// importFrom begins to read from a day on. An import that is under way from a later
// one, and may have waited for the new credentials, gives way: going on it would miss
// what was before. What it read stays, and is read again without harm.
func (a *Accounts) importFrom(ctx context.Context, c providers.Connection, from time.Time, by booking.Actor) (run booking.Run, err error) {
	for range importTries {
		run, err = a.Begin(ctx, c, booking.RunBackfill, "connected", from, by)
		var later, ended *booking.ConflictError
		if !errors.As(err, &later) {
			return run, err
		}
		if _, stopErr := a.StopRun(ctx, run.ID, by); stopErr != nil && !errors.As(stopErr, &ended) {
			return run, stopErr
		}
	}
	// Others begin one again and again: the connection stands all the same, and theirs is shown.
	a.opts.Log.WarnContext(ctx, "bookings are not brought in from the day that was asked for", "connection", c.ID, "from", from, "err", err)
	return run, a.opts.Wake(ctx, run.ID)
}

// importTries is how often an import may give way.
const importTries = 3

// finish registers the webhook, introduces the hosts and keeps that all is well.
func (a *Accounts) finish(ctx context.Context, by uuid.UUID, c providers.Connection, api providers.Account, r Request) (providers.Connection, *providers.ManualError, error) {
	var manual *providers.ManualError
	if r.Subscribe {
		err := a.subscribe(ctx, by, c, api)
		c.Subscription = providers.Registered
		if errors.As(err, &manual) && !errors.Is(err, booking.ErrNotHeld) {
			c.Subscription, err = providers.Manual, nil
		}
		if err != nil {
			return c, nil, err
		}
	} else if c.Subscription == providers.Unsubscribed {
		c.Subscription = providers.Manual
	}
	if r.From != nil {
		c.ReadFrom = r.From
	}
	if err := a.opts.Store.Introduce(ctx, c.Source(), c.Owner.Hosts, r.By, a.opts.Now()); err != nil {
		return c, manual, err
	}
	c.Health, c.ConnectingSince = a.after(providers.Health{}, nil), nil
	done := providers.Change{API: &c.API, Subscription: &c.Subscription, ReadFrom: r.From, Health: &c.Health, Connected: true}
	if r.Name != "" {
		done.Name = &c.Name
	}
	return c, manual, a.opts.Store.ChangeConnection(ctx, c.ID, by, done)
}

// restore gives a connection back what it had. Posts signed with the new secret may
// come by now: it stays accepted.
func (a *Accounts) restore(ctx context.Context, by uuid.UUID, c, old providers.Connection, api providers.Account, subscribed bool) error {
	keep, done := keeping(ctx)
	defer done()
	secrets := old.Secrets
	if subscribed {
		secrets = secrets.Beside(c.Secrets.Current)
	}
	back := providers.Change{Secrets: &secrets, Owner: &old.Owner, Disconnected: old.DisconnectedAt}
	if subscribed && old.DisconnectedAt != nil {
		_ = a.unhook(keep, c, api) // it is logged, and it was ended before
	}
	return a.opts.Store.ChangeConnection(keep, c.ID, by, back)
}

// Disconnect removes the connection's webhook from its provider and marks the
// connection as ended. Its receipts and bookings stay. left says why a webhook may
// be left at the provider; the connection is ended all the same. Of those who end it at once one
// does, and the others get ErrDisconnected.
func (a *Accounts) Disconnect(ctx context.Context, id uuid.UUID) (left, err error) {
	err = a.changing(ctx, id, func(ctx context.Context, by uuid.UUID) error {
		c, api, err := a.Ready(ctx, id)
		switch {
		case err != nil && c.ID == uuid.Nil:
			return err
		case c.DisconnectedAt != nil:
			return ErrDisconnected
		case c.Subscription != providers.Registered && c.ConnectingSince == nil:
			left = fmt.Errorf("remove the webhook to %s at the provider by hand", a.Target(c))
		case err != nil:
			left = err
		default:
			left = api.Unsubscribe(ctx, a.opts.Client, c, a.Target(c))
		}
		keep, done := keeping(ctx) // the webhook is gone
		defer done()
		now := a.opts.Now()
		if err := a.opts.Store.ChangeConnection(keep, id, by, providers.Change{Disconnected: &now}); err != nil {
			return err
		}
		return a.stopRuns(keep, id)
	})
	return left, err
}

// stopRuns ends what still reads from an account that is disconnected.
func (a *Accounts) stopRuns(ctx context.Context, connection uuid.UUID) error {
	runs, err := a.opts.Store.OpenRuns(ctx)
	for _, r := range runs {
		if r.ConnectionID != connection {
			continue
		}
		var ended *booking.ConflictError
		if _, stopErr := a.opts.Store.StopRun(ctx, r.ID, a.opts.Now()); !errors.As(stopErr, &ended) {
			err = errors.Join(err, stopErr)
		}
	}
	return err
}
