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
		c.Secrets = providers.Secrets{Current: r.Secret, Previous: c.Secrets.Current}
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
	var old providers.Connection
	if r.ID != uuid.Nil {
		var err error
		if old, err = a.opts.Store.Connection(ctx, r.ID); err != nil {
			return Connected{}, err
		}
		if r.Provider != old.Provider {
			return Connected{}, &booking.InvalidError{Field: "provider", Detail: "the connection is one to " + old.Provider}
		}
		r.APIBase = old.APIBase
		// It may have been removed with the connection, or signs with another secret.
		r.Subscribe = r.Subscribe || old.Subscription == providers.Registered
	}
	c := a.connection(r, old)
	api, err := a.adapter(c)
	if err != nil {
		return Connected{}, err
	}
	if c.Owner, err = api.Identify(ctx, a.opts.Client, c); err != nil {
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
	if c.Name == "" {
		c.Name = cmp.Or(c.Owner.Name, c.Owner.Email, c.Provider)
	}
	out := Connected{Target: a.Target(c), SecretMade: r.Secret == "" && old.Secrets.Current == ""}
	// It must stand before the provider posts to it. Without an owner nobody looks
	// after it: whether it will be connected is not certain yet.
	if old.ID == uuid.Nil {
		unfinished := c
		unfinished.Owner = providers.Profile{}
		err = a.opts.Store.CreateConnection(ctx, unfinished)
	} else {
		err = a.opts.Store.UpdateAccount(ctx, c)
	}
	if err != nil {
		return out, err
	}
	if out.Connection, out.Manual, err = a.finish(ctx, c, api, r); err != nil {
		return out, errors.Join(err, a.undo(ctx, c, old, api, r.Subscribe))
	}
	if r.From != nil {
		run, err := a.Begin(ctx, out.Connection, booking.RunBackfill, "connected", *r.From, r.By)
		if err != nil {
			return out, err
		}
		out.Run = &run
	}
	if old.ID != uuid.Nil {
		// Whatever was missed meanwhile.
		run, err := a.Reconcile(ctx, out.Connection, "reconnected", r.By)
		if err != nil {
			return out, err
		}
		if out.Run == nil {
			out.Run = &run
		}
	}
	return out, nil
}

// alone refuses an account that is connected already: two connections of one account
// would each know a part of its bookings.
func (a *Accounts) alone(ctx context.Context, c providers.Connection) error {
	same, err := a.sameAccount(ctx, c)
	if err != nil {
		return err
	}
	for _, other := range same {
		if other.ID != c.ID && other.DisconnectedAt == nil {
			return &booking.InvalidError{Field: "account", Detail: fmt.Sprintf("it is connected already, as %q: connect that one again instead (%s)", other.Name, other.ID)}
		}
	}
	return nil
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

// finish registers the webhook, introduces the hosts and notes that all is well.
func (a *Accounts) finish(ctx context.Context, c providers.Connection, api providers.Account, r Request) (providers.Connection, *providers.ManualError, error) {
	var manual *providers.ManualError
	if r.Subscribe {
		_, err := api.Subscribe(ctx, a.opts.Client, c, a.Target(c), c.Owner)
		c.Subscription = providers.Registered
		if errors.As(err, &manual) {
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
	if err := a.opts.Store.UpdateAccount(ctx, c); err != nil {
		return c, manual, err
	}
	c.Health = a.after(providers.Health{}, nil)
	return c, manual, a.opts.Store.NoteHealth(ctx, c.ID, c.Health)
}

// undo leaves nothing of what could not be connected.
func (a *Accounts) undo(ctx context.Context, c, old providers.Connection, api providers.Account, subscribed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
	defer cancel()
	if old.ID != uuid.Nil {
		return a.opts.Store.UpdateAccount(ctx, old)
	}
	if subscribed {
		// The provider may be away; its posts would find no connection.
		if err := api.Unsubscribe(ctx, a.opts.Client, c, a.Target(c)); err != nil {
			a.opts.Log.WarnContext(ctx, "a webhook may be left at the provider", "provider", c.Provider, "target", a.Target(c), "err", err)
		}
	}
	if err := a.opts.Store.DropConnection(ctx, c.ID); err != nil {
		// Something came in already. It is kept, and the connection with it.
		return a.opts.Store.Disconnect(ctx, c.ID, a.opts.Now())
	}
	return nil
}

// Disconnect removes the connection's webhook from its provider and marks the
// connection as ended. Its receipts and bookings stay. left says why a webhook may
// be left at the provider; the connection is ended all the same.
func (a *Accounts) Disconnect(ctx context.Context, id uuid.UUID) (left, err error) {
	c, api, err := a.Ready(ctx, id)
	switch {
	case err != nil && c.ID == uuid.Nil:
		return nil, err
	case c.DisconnectedAt != nil:
		return nil, nil
	case c.Subscription == providers.Registered && err != nil:
		left = err
	case c.Subscription == providers.Registered:
		left = api.Unsubscribe(ctx, a.opts.Client, c, a.Target(c))
	default:
		left = fmt.Errorf("remove the webhook to %s at the provider by hand", a.Target(c))
	}
	return left, a.opts.Store.Disconnect(ctx, id, a.opts.Now())
}

// Rotate gives a connection whose webhook we registered a new secret, and the
// provider with it. Until it has, posts are signed with the old one, which is kept
// as the previous. A rotation that the provider did not take is gone on with, by the
// same secret.
func (a *Accounts) Rotate(ctx context.Context, id uuid.UUID) error {
	c, api, err := a.rotatable(ctx, id)
	if err != nil {
		return err
	}
	if c.Secrets.Previous == "" {
		c.Secrets = providers.Secrets{Current: NewSecret(), Previous: c.Secrets.Current}
		if err := a.opts.Store.RotateSecret(ctx, id, c.Secrets.Current); err != nil {
			return err
		}
	}
	return a.hand(ctx, c, api)
}

// FinishRotation forgets a connection's previous secret: where we registered the
// webhook and gave the provider the current one, once it has that for certain.
func (a *Accounts) FinishRotation(ctx context.Context, id uuid.UUID) error {
	c, err := a.opts.Store.Connection(ctx, id)
	if err != nil {
		return err
	}
	if c.Subscription == providers.Registered && !c.SecretFixed(a.opts.Providers[c.Provider]) {
		c, api, err := a.Ready(ctx, id)
		if err == nil {
			err = a.hand(ctx, c, api)
		}
		if err != nil {
			return err
		}
	}
	return a.opts.Store.DropPreviousSecret(ctx, id)
}

func (a *Accounts) rotatable(ctx context.Context, id uuid.UUID) (providers.Connection, providers.Account, error) {
	c, api, err := a.Ready(ctx, id)
	switch {
	case err != nil:
		return c, api, err
	case c.SecretFixed(api):
		return c, api, &booking.InvalidError{Field: "connection", Detail: "its provider signs with a key that is not ours to change: change it there, and connect again with it"}
	case c.Subscription != providers.Registered:
		return c, api, &booking.InvalidError{Field: "connection", Detail: "its webhook was entered by hand: give the new secret here and there"}
	}
	return c, api, nil
}

// hand gives the provider the current secret. While that fails either may stand
// there; both are accepted.
func (a *Accounts) hand(ctx context.Context, c providers.Connection, api providers.Account) error {
	if _, err := api.Subscribe(ctx, a.opts.Client, c, a.Target(c), c.Owner); err != nil {
		return fmt.Errorf("the provider has not taken the new secret; posts signed with either are accepted, try again: %w", err)
	}
	return nil
}
