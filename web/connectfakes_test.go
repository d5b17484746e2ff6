package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// api is an adapter whose accounts can be asked; nothing asks it here.
type api struct {
	providers.Account
	house
	name, base string
}

func (a api) Name() string    { return a.name }
func (a api) APIBase() string { return a.base }
func (a api) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	return a.house.Parse(r, o)
}
func (a api) Redact(b []byte) []byte                           { return a.house.Redact(b) }
func (a api) Sign(b []byte, s string, t time.Time) http.Header { return a.house.Sign(b, s, t) }
func (a api) Verify(r providers.Request, s providers.Secrets, t time.Time) (string, error) {
	return a.house.Verify(r, s, t)
}

func (a api) HookKinds() []providers.HookKind {
	return []providers.HookKind{{Name: "it.was.booked", Of: providers.TopicBooked}, {Name: "it.was.canceled", Of: providers.TopicCanceled}}
}
func (a api) Selftest(id string) []byte { return a.house.Selftest(id) }

// connector connects in memory what does not fail.
type connector struct {
	records  *records
	sessions scs.Store
	now      func() time.Time

	mu       sync.Mutex
	asked    []account.Request
	did      []string
	fails    error
	finding  account.Finding
	hops     []account.Hop
	manual   *providers.ManualError
	left     error
	apps     []string
	redeemed url.Values
}

func (k *connector) note(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.did = append(k.did, what)
}

func (k *connector) Connect(_ context.Context, r account.Request) (account.Connected, error) {
	k.mu.Lock()
	k.asked = append(k.asked, r)
	k.mu.Unlock()
	if k.fails != nil {
		return account.Connected{}, k.fails
	}
	c := providers.Connection{
		ID: r.ID, Provider: r.Provider, APIBase: r.APIBase, Name: r.Name, API: r.API, CreatedAt: k.now(), Subscription: providers.Registered, ReadFrom: r.From,
		Owner: providers.Profile{ExternalID: "/users/MO", Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Hosts: []booking.Host{
			{ExternalID: "/users/BB", Name: "Consulting room"}, {ExternalID: "room@example.com", Email: "room@example.com"}, {ExternalID: "/users/ZZ", Name: "Nobody's"},
		}},
		Secrets: providers.Secrets{Current: r.Secret},
	}
	out := account.Connected{Manual: k.manual}
	if c.ID == uuid.Nil {
		c.ID = id(77)
	} else if c.Secrets.Current == "" {
		c.Secrets.Current = "kept"
	}
	if c.Secrets.Current == "" {
		c.Secrets.Current, out.SecretMade = "made-for-"+r.Provider, true
	}
	if k.manual != nil {
		c.Subscription = providers.Manual
	}
	if c.Name == "" {
		c.Name = "of Maren"
	}
	k.records.put(c)
	out.Connection = c
	return out, nil
}

func (r *records) put(c providers.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.connections, func(have providers.Connection) bool { return have.ID == c.ID }); i >= 0 {
		r.connections[i] = c
		return
	}
	r.connections = append(r.connections, c)
}

func (r *records) change(t *testing.T, id uuid.UUID, f func(*providers.Connection)) {
	t.Helper()
	c, err := r.Connection(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f(&c)
	r.put(c)
}

func (k *connector) Disconnect(ctx context.Context, id uuid.UUID) (left, err error) {
	k.note("disconnect")
	c, err := k.records.Connection(ctx, id)
	if err != nil {
		return nil, err
	}
	now := k.now()
	c.DisconnectedAt = &now
	k.records.put(c)
	return k.left, nil
}

func (k *connector) Rotate(context.Context, uuid.UUID) error {
	k.note("rotate")
	return k.fails
}

func (k *connector) RotateByHand(ctx context.Context, id uuid.UUID, secret string, _ bool) error {
	c, err := k.records.Connection(ctx, id)
	if c.Secrets.Previous != "" {
		return &booking.ConflictError{Detail: "a rotation is under way"}
	}
	c.Secrets = providers.Secrets{Current: secret, Previous: c.Secrets.Current}
	k.records.put(c)
	return errors.Join(k.fails, err)
}

func (k *connector) AbandonRotation(ctx context.Context, id uuid.UUID) error {
	c, err := k.records.Connection(ctx, id)
	c.Secrets = providers.Secrets{Current: c.Secrets.Previous}
	k.records.put(c)
	return errors.Join(k.fails, err)
}

func (k *connector) FinishRotation(ctx context.Context, id uuid.UUID) error {
	k.note("finish")
	return errors.Join(k.fails, k.records.DropPreviousSecret(ctx, id))
}

func (k *connector) Check(context.Context, uuid.UUID) (account.Finding, error) {
	k.note("check")
	return k.finding, k.fails
}

func (k *connector) SelfTest(context.Context, uuid.UUID) ([]account.Hop, error) {
	k.note("test")
	return k.hops, k.fails
}

func (k *connector) StopRun(_ context.Context, id uuid.UUID, _ booking.Actor) (booking.Run, error) {
	k.note("stop")
	for i := range k.records.runs {
		if r := &k.records.runs[i]; r.ID == id {
			r.Status = booking.RunStopped
			return *r, k.fails
		}
	}
	return booking.Run{}, booking.ErrNotFound
}

func (k *connector) Begin(_ context.Context, c providers.Connection, kind booking.RunKind, cause string, from time.Time, by booking.Actor) (booking.Run, error) {
	k.note(string(kind) + " " + cause)
	return booking.Run{ID: id(90), ConnectionID: c.ID, Kind: kind, Cause: cause, From: from, Actor: by}, k.fails
}

func (k *connector) Reconcile(ctx context.Context, c providers.Connection, cause string, by booking.Actor) (booking.Run, error) {
	return k.Begin(ctx, c, booking.RunReconcile, cause, k.now(), by)
}

func (k *connector) Authorizable(provider string) bool { return slices.Contains(k.apps, provider) }

func (k *connector) AuthURL(provider, redirect, state, verifier string) (string, error) {
	return "https://auth.example/" + provider + "?" + url.Values{"redirect_uri": {redirect}, "state": {state}, "verifier": {verifier}}.Encode(), nil
}

func (k *connector) Redeem(_ context.Context, provider, redirect, code, verifier string) (providers.Credentials, string, error) {
	k.redeemed = url.Values{"provider": {provider}, "redirect": {redirect}, "code": {code}, "verifier": {verifier}}
	return providers.Credentials{Token: "planted-secret", Refresh: "planted-secret"}, "app-signing-key", k.fails
}

func (r *records) CreateConnection(_ context.Context, c providers.Connection) error {
	r.put(c)
	return nil
}

func (r *records) DropPreviousSecret(ctx context.Context, id uuid.UUID) error {
	c, err := r.Connection(ctx, id)
	c.Secrets.Previous = ""
	r.put(c)
	return err
}

func (r *records) Runs(_ context.Context, connection uuid.UUID, limit int) ([]booking.Run, error) {
	var out []booking.Run
	for _, run := range r.runs {
		if run.ConnectionID == connection && len(out) < limit {
			out = append(out, run)
		}
	}
	return out, nil
}

func (r *records) OpenRuns(context.Context) ([]booking.Run, error) {
	var out []booking.Run
	for _, run := range r.runs {
		if run.Status == booking.RunRunning {
			out = append(out, run)
		}
	}
	return out, nil
}

func (r *records) Drifts(_ context.Context, connection uuid.UUID, _ int) ([]booking.Drift, error) {
	var out []booking.Drift
	for _, d := range r.drifts {
		if d.ConnectionID == connection {
			out = append(out, d)
		}
	}
	return out, nil
}

// linked is a full house with connections in every state, runs and drifts.
func linked() *records {
	r := full()
	since, last := noon.Add(-3*time.Hour), noon.Add(-5*time.Minute)
	owner := providers.Profile{ExternalID: "/users/MO", Name: "Maren <b>bold</b> Oduya", Email: "maren.oduya@harbourclinic.example", Wide: true, Hosts: []booking.Host{
		{ExternalID: "/users/BB", Name: "Room B"}, {ExternalID: "x", Email: "room@example.com"}, {ExternalID: "/users/ZZ", Name: "Nobody yet"},
	}}
	secrets := providers.Secrets{Current: "planted-secret", Previous: "planted-secret"}
	key := providers.Credentials{Token: "planted-secret"}
	add := func(n byte, provider, name string, change func(*providers.Connection)) {
		c := providers.Connection{
			ID: id(n), Provider: provider, APIBase: "https://api.calendly.com", Name: name, Secrets: secrets, API: key, Owner: owner, CreatedAt: noon.Add(-99 * time.Hour),
			Subscription: providers.Registered, LastDeliveryAt: &last, Health: providers.Health{CheckedAt: &last, SucceededAt: &last, NextCheckAt: &noon},
		}
		change(&c)
		r.connections = append(r.connections, c)
	}
	add(5, "calendly", "Harbour", func(c *providers.Connection) { c.ReadFrom = &since })
	add(6, "calcom", "Mole", func(c *providers.Connection) {
		c.Health = providers.Health{FailingSince: &since, Failures: 3, Failure: "the API answered 503: <b>bold</b> trouble", NextCheckAt: &noon}
	})
	add(7, "acuity", "Quay", func(c *providers.Connection) {
		c.Health = providers.Health{FailingSince: &since, Failures: 1, Failure: "the API answered 401", NeedsSignIn: true}
		c.Secrets.Previous = ""
	})
	add(8, "calcom", "Pier", func(c *providers.Connection) {
		c.Subscription, c.LastDeliveryAt, c.Secrets.Previous = providers.Manual, nil, ""
	})
	add(9, "calendly", "Dock", func(c *providers.Connection) { c.Health.HookLostAt = &since })
	r.runs = []booking.Run{
		{
			ID: id(91), ConnectionID: id(5), Kind: booking.RunBackfill, Cause: "connected", From: since, To: noon.AddDate(1, 0, 0), Status: booking.RunRunning,
			RunCounts: booking.RunCounts{Pages: 3, Requests: 9, AtProvider: 250, Differed: 240, Conflicts: 1}, Error: providers.ErrPaused.Error(), Actor: "user:x", StartedAt: last,
		},
		{
			ID: id(92), ConnectionID: id(5), Kind: booking.RunReconcile, Cause: "periodic", From: since, To: noon, Status: booking.RunDone,
			RunCounts: booking.RunCounts{AtProvider: 41, Here: 40, Differed: 1}, Actor: booking.ActorSystem, StartedAt: since, FinishedAt: &last,
		},
		{
			ID: id(93), ConnectionID: id(6), Kind: booking.RunReconcile, Cause: "asked", From: since, To: noon, Status: booking.RunFailed, Error: "gone",
			Actor: booking.ActorSystem, StartedAt: since, FinishedAt: &last,
		},
	}
	r.drifts = []booking.Drift{
		{ConnectionID: id(5), ExternalID: "/scheduled_events/XX", Kind: booking.DriftRefused, Detail: "the provider has it as booked", BookingID: id(23), FoundAt: since, SeenAt: last},
		{ConnectionID: id(5), ExternalID: "/scheduled_events/YY", Kind: booking.DriftUnreadable, Detail: "time_missing", FoundAt: since, SeenAt: last},
	}
	return r
}

func connectWorld(t *testing.T) (*world, *connector) {
	t.Helper()
	r := linked()
	k := &connector{records: r, apps: []string{"calendly", "acuity"}}
	w := newWorld(t, r, nil, func(d *web.Deps) {
		k.now, k.sessions = d.Now, d.Sessions
		d.Connect, d.Senders, d.Forms = k, r, r
		d.Providers = map[string]providers.Provider{
			"generic": house{}, "calendly": api{name: "calendly", base: "https://api.calendly.com"},
			"calcom": api{name: "calcom", base: "https://api.cal.com/v2"}, "acuity": ownKey{api{name: "acuity", base: "https://acuityscheduling.com"}},
		}
	})
	return w, k
}

// ownKey is an API whose accounts sign with their own key.
type ownKey struct{ api }

func (ownKey) SignsWithAPIKey() {}

func (ownKey) TellsForms() {}
