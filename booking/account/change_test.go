package account_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
)

// request connects the desk's account with a new sign-in.
func (d *desk) request(t *testing.T, id uuid.UUID) account.Request {
	t.Helper()
	return account.Request{
		ID: id, Provider: calendly.Name, Name: "Harbour", APIBase: d.APIBase(), API: d.signIn(t), Secret: leaseApp.SigningKey, Subscribe: true,
		By: booking.ActorSystem,
	}
}

// hooks are the webhooks at the provider for a connection.
func (d *desk) hooks(t *testing.T, id uuid.UUID) int {
	t.Helper()
	target, n := d.first.accounts.Target(providers.Connection{Provider: calendly.Name, ID: id}), 0
	for _, to := range d.Subscribed() {
		if to == target {
			n++
		}
	}
	return n
}

func (d *desk) now(t *testing.T) providers.Connection {
	t.Helper()
	c, err := d.Connection(t.Context(), d.conn.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// registered has the desk's connection stand with its webhook.
func (d *desk) registered(t *testing.T) {
	t.Helper()
	if _, err := d.first.accounts.Connect(t.Context(), d.request(t, d.conn.ID)); err != nil {
		t.Fatal(err)
	}
	if n := d.hooks(t, d.conn.ID); n != 1 {
		t.Fatalf("%d webhooks", n)
	}
}

// TestOneChangesAConnection stops each act amid its call to the provider, and has
// another process want something else: it is told to come back, and in the end the
// connection is ended here and at the provider.
func TestOneChangesAConnection(t *testing.T) {
	t.Parallel()
	disconnect := func(d *desk, p *process) error {
		_, err := p.accounts.Disconnect(context.Background(), d.conn.ID)
		return err
	}
	check := func(d *desk, p *process) error {
		d.Unsubscribe(p.accounts.Target(d.conn))
		f, err := p.accounts.Check(context.Background(), d.conn.ID)
		return errors.Join(err, f.Err)
	}
	for _, c := range []struct {
		name   string
		gate   string
		first  func(d *desk, p *process) error
		second func(d *desk, p *process) error
	}{
		{"a check, then a disconnect", "subscribe", check, disconnect},
		{"a disconnect, then a check", "unsubscribed", disconnect, func(d *desk, p *process) error {
			_, err := p.accounts.Check(context.Background(), d.conn.ID)
			if errors.Is(err, account.ErrCannotAsk) {
				return nil // it is disconnected
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) {
				d.registered(t)
				gate := d.first.shut(c.gate)
				done := make(chan error, 1)
				go func() { done <- c.first(d, d.first) }()
				<-gate.reached
				var busy *booking.ConflictError
				if err := c.second(d, d.second); !errors.As(err, &busy) || !strings.Contains(err.Error(), "again in a minute") {
					t.Errorf("the second did not wait: %v", err)
				}
				close(gate.open)
				if err := <-done; err != nil {
					t.Errorf("the first: %v", err)
				}
				if err := c.second(d, d.second); err != nil {
					t.Errorf("the second, then: %v", err)
				}
				if n := d.hooks(t, d.conn.ID); n != 0 || d.now(t).DisconnectedAt == nil {
					t.Errorf("%d webhooks, ended %v", n, d.now(t).DisconnectedAt)
				}
			})
		})
	}
}

// TestTwoDisconnectAtOnce: of two people who end a connection in the same instant,
// in two processes, one does it, and removes the webhook once; the other is told so,
// and nobody that something went wrong. Were both told that they did it, both would
// stand in the admin log.
func TestTwoDisconnectAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		for round := range 3 {
			d.registered(t)
			var began, done sync.WaitGroup
			began.Add(1)
			told := make([]error, 2)
			removed := d.deleted()
			for i, p := range []*process{d.first, d.second} {
				done.Go(func() {
					began.Wait()
					left, err := p.accounts.Disconnect(t.Context(), d.conn.ID)
					told[i] = errors.Join(left, err)
				})
			}
			began.Done()
			done.Wait()
			late := 0
			for _, err := range told {
				if errors.Is(err, account.ErrDisconnected) {
					late++
				} else if err != nil {
					t.Errorf("round %d: one was told %v", round, err)
				}
			}
			if n := d.deleted() - removed; late != 1 || n != 1 {
				t.Errorf("round %d: %d of two were told that the other did it, and the webhook was removed %d times", round, late, n)
			}
			if n, c := d.hooks(t, d.conn.ID), d.now(t); n != 0 || c.DisconnectedAt == nil {
				t.Errorf("round %d: %d webhooks, ended %v", round, n, c.DisconnectedAt)
			}
		}
	})
}

// deleted is how many webhooks were asked to be removed.
func (d *desk) deleted() int {
	n := 0
	for _, r := range d.Requests() {
		if r.Method == http.MethodDelete {
			n++
		}
	}
	return n
}

// TestReconnectBesideDisconnect: whichever of the two comes last is what stands.
func TestReconnectBesideDisconnect(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.registered(t)
		gate := d.first.shut("subscribe")
		again := d.request(t, d.conn.ID)
		done := make(chan error, 1)
		go func() {
			_, err := d.first.accounts.Connect(context.Background(), again)
			done <- err
		}()
		<-gate.reached
		var busy *booking.ConflictError
		if _, err := d.second.accounts.Disconnect(t.Context(), d.conn.ID); !errors.As(err, &busy) {
			t.Errorf("ended amid a reconnect: %v", err)
		}
		close(gate.open)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if left, err := d.second.accounts.Disconnect(t.Context(), d.conn.ID); left != nil || err != nil {
			t.Fatal(left, err)
		}
		if n, c := d.hooks(t, d.conn.ID), d.now(t); n != 0 || c.DisconnectedAt == nil {
			t.Errorf("%d webhooks, ended %v", n, c.DisconnectedAt)
		}
		gate = d.first.shut("unsubscribed")
		again = d.request(t, d.conn.ID)
		if _, err := d.second.accounts.Connect(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := d.first.accounts.Disconnect(context.Background(), d.conn.ID)
			done <- err
		}()
		<-gate.reached
		again = d.request(t, d.conn.ID)
		if _, err := d.second.accounts.Connect(t.Context(), again); !errors.As(err, &busy) {
			t.Errorf("connected again amid its end: %v", err)
		}
		close(gate.open)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, err := d.second.accounts.Connect(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if n, c := d.hooks(t, d.conn.ID), d.now(t); n != 1 || c.DisconnectedAt != nil {
			t.Errorf("%d webhooks, ended %v", n, c.DisconnectedAt)
		}
	})
}

// TestAsleepAmidACheck: a process that sleeps while it registers a webhook loses the
// connection to whoever ends it, and takes its webhook back when it wakes.
func TestAsleepAmidACheck(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.registered(t)
		d.Unsubscribe(d.first.accounts.Target(d.conn))
		gate := d.first.shut("subscribe")
		done := make(chan error, 1)
		go func() {
			_, err := d.first.accounts.Check(context.Background(), d.conn.ID)
			done <- err
		}()
		<-gate.reached
		d.second.wind(time.Minute)
		if _, err := d.second.accounts.Disconnect(t.Context(), d.conn.ID); err != nil {
			t.Fatal(err)
		}
		close(gate.open)
		var busy *booking.ConflictError
		if err := <-done; !errors.As(err, &busy) {
			t.Errorf("the first was told %v", err)
		}
		if n, c := d.hooks(t, d.conn.ID), d.now(t); n != 0 || c.DisconnectedAt == nil || c.Health.HookLostAt != nil {
			t.Errorf("%d webhooks, ended %v", n, c.DisconnectedAt)
		}
	})
}

// TestOldNews: what was found out with a key that has been replaced meanwhile says
// nothing about the connection.
func TestOldNews(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.registered(t)
		d.Revoke(d.now(t).API.Token)
		gate := d.first.shut("asked")
		done := make(chan account.Finding, 1)
		go func() {
			f, err := d.first.accounts.Check(context.Background(), d.conn.ID)
			if err != nil {
				t.Error(err)
			}
			done <- f
		}()
		<-gate.reached
		if _, err := d.second.accounts.Connect(t.Context(), d.request(t, d.conn.ID)); err != nil {
			t.Fatal(err)
		}
		close(gate.open)
		if f := <-done; !providers.NeedsSignIn(f.Err) {
			t.Fatalf("the check found %v", f.Err)
		}
		if h := d.now(t).Health; h.NeedsSignIn || h.Failures != 0 {
			t.Errorf("signed in again it is %+v", h)
		}
	})
}

// TestTwoConnectAtOnce: one account that two people connect at the same moment has
// one connection and one webhook, and the other is told so.
func TestTwoConnectAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		ended := time.Now()
		d.Change(t, d.conn.ID, providers.Change{Disconnected: &ended})
		requests := []account.Request{d.request(t, uuid.Nil), d.request(t, uuid.Nil)}
		var all sync.WaitGroup
		errs := make([]error, len(requests))
		var both []*gate
		for i, p := range []*process{d.first, d.second} {
			both = append(both, p.shut("identified"))
			all.Go(func() { _, errs[i] = p.accounts.Connect(context.Background(), requests[i]) })
		}
		for _, g := range both {
			<-g.reached
		}
		for _, g := range both {
			close(g.open)
		}
		all.Wait()
		slices.SortFunc(errs, func(a, b error) int {
			if a == nil {
				return -1
			}
			return 1
		})
		var invalid *booking.InvalidError
		if errs[0] != nil || !errors.As(errs[1], &invalid) || !strings.Contains(invalid.Detail, "connected already") {
			t.Fatalf("%v and %v", errs[0], errs[1])
		}
		list, err := booking.Everything(t.Context(), d.Connections)
		if err != nil {
			t.Fatal(err)
		}
		standing, hooks := 0, 0
		for _, c := range list {
			hooks += d.hooks(t, c.ID)
			if c.DisconnectedAt == nil && c.Provider == calendly.Name && c.Owner.ExternalID != "" {
				standing++
			}
		}
		if standing != 1 || hooks != 1 || len(d.Subscribed()) != 1 {
			t.Errorf("%d connections, %d webhooks of ours, %d at the provider", standing, hooks, len(d.Subscribed()))
		}
	})
}

// TestFailedReconnect: a reconnect that the provider does not let through leaves what
// was there, but for the new secret: the provider may sign with it by now.
func TestFailedReconnect(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]bool{"of one that stands": false, "of one that has ended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, migratetest.SQLite(t))
			d.registered(t)
			if ended {
				if left, err := d.first.accounts.Disconnect(t.Context(), d.conn.ID); left != nil || err != nil {
					t.Fatal(left, err)
				}
			}
			before := d.now(t)
			r := d.request(t, d.conn.ID)
			r.Name, r.Secret = "Other name", "another-planted-signing-key"
			d.Set(apitest.Broken, "/webhook_subscriptions")
			if _, err := d.first.accounts.Connect(t.Context(), r); err == nil {
				t.Fatal("it is connected again")
			}
			d.Set(apitest.Healthy)
			after := d.now(t)
			want := providers.Secrets{Current: before.Secrets.Current, Previous: r.Secret}
			if after.Secrets != want || after.API.Token != before.API.Token || after.Name != before.Name || (after.DisconnectedAt == nil) == ended ||
				after.Subscription != before.Subscription {
				t.Errorf("it was %+v and is %+v", before, after)
			}
			if n := d.hooks(t, d.conn.ID); (n == 0) != ended {
				t.Errorf("%d webhooks", n)
			}
		})
	}
}

// dies has a process begin to connect the account, and die when its webhook is
// registered.
func (d *desk) dies(t *testing.T) providers.Connection {
	t.Helper()
	ended := time.Now()
	d.Change(t, d.conn.ID, providers.Change{Disconnected: &ended})
	r, since := d.request(t, uuid.Nil), d.first.now()
	owner, err := d.first.accounts.Identify(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	c := providers.Connection{
		ID: uuid.New(), Provider: r.Provider, APIBase: r.APIBase, Name: r.Name, API: r.API, Owner: owner, CreatedAt: since, ConnectingSince: &since,
		Secrets: providers.Secrets{Current: r.Secret},
	}
	if err := d.first.store.BeginConnection(t.Context(), c, booking.Hold{By: uuid.New(), Until: since.Add(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	if _, err := calendly.New(time.Hour).Subscribe(t.Context(), http.DefaultClient, c, d.first.accounts.Target(c), owner); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKilledAmidConnect: what a process leaves that is killed while it connects an
// account goes by itself, with its webhook; with what came in meanwhile it is ended.
func TestKilledAmidConnect(t *testing.T) {
	t.Parallel()
	for name, receipts := range map[string]bool{"with nothing": false, "with receipts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) {
				c := d.dies(t)
				if receipts {
					set := []booking.Post{{Delivery: booking.Delivery{ReceiptID: uuid.New(), ConnectionID: c.ID, EventKey: "1", Kind: booking.KindSelftest, Status: booking.StatusIgnored, Actor: booking.ActorWebhook}, ReceivedAt: time.Now()}}
					if _, err := d.second.store.Apply(t.Context(), set, time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				watch := func() []uuid.UUID {
					t.Helper()
					due, err := d.second.accounts.Watch(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return due.Checks
				}
				if slices.Contains(watch(), c.ID) {
					t.Error("whoever connects it is not left alone")
				}
				d.second.wind(6 * time.Minute / leaseTempo)
				if !slices.Contains(watch(), c.ID) {
					t.Fatal("nobody looks after it")
				}
				d.Set(apitest.Unavailable)
				if err := d.second.accounts.CheckAndRepair(t.Context(), c.ID); err != nil {
					t.Error(err)
				}
				if _, err := d.Connection(t.Context(), c.ID); err != nil {
					t.Errorf("it is gone, and its webhook is not: %v", err)
				}
				d.Set(apitest.Healthy)
				if err := d.second.accounts.CheckAndRepair(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
				after, err := d.Connection(t.Context(), c.ID)
				if receipts && (err != nil || after.DisconnectedAt == nil || after.ConnectingSince != nil) || !receipts && !errors.Is(err, booking.ErrNotFound) {
					t.Errorf("it is %+v: %v", after, err)
				}
				if n := d.hooks(t, c.ID); n != 0 {
					t.Errorf("%d webhooks are left", n)
				}
				if !strings.Contains(d.second.log.String(), "never connected to the end") {
					t.Errorf("nothing tells of it:\n%s", &d.second.log)
				}
				if slices.Contains(watch(), c.ID) {
					t.Error("it is looked after for ever")
				}
			})
		})
	}
}

// TestConnectAfterAKill: whoever died while he connected an account keeps nobody from
// connecting it for longer than a minute, and leaves no second webhook.
func TestConnectAfterAKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		dead := d.dies(t)
		var busy *booking.ConflictError
		if _, err := d.second.accounts.Connect(t.Context(), d.request(t, uuid.Nil)); !errors.As(err, &busy) {
			t.Errorf("it did not wait: %v", err)
		}
		d.second.wind(time.Minute)
		made, err := d.second.accounts.Connect(t.Context(), d.request(t, uuid.Nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Connection(t.Context(), dead.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("what died is still there: %v", err)
		}
		if d.hooks(t, dead.ID) != 0 || d.hooks(t, made.ID) != 1 {
			t.Errorf("%d webhooks of the dead, %d of the living", d.hooks(t, dead.ID), d.hooks(t, made.ID))
		}
	})
}

// TestRotateWhatHasEnded: a connection that takes no posts gets no secret.
func TestRotateWhatHasEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, migratetest.SQLite(t))
	ended := time.Now()
	d.Change(t, d.conn.ID, providers.Change{Disconnected: &ended})
	for name, rotate := range map[string]func() error{
		"rotate": func() error { return d.first.accounts.Rotate(t.Context(), d.conn.ID) },
		"by hand": func() error {
			return d.first.accounts.RotateByHand(t.Context(), d.conn.ID, "another-secret-0123", true)
		},
		"finish": func() error { return d.first.accounts.FinishRotation(t.Context(), d.conn.ID) },
	} {
		var conflict *booking.ConflictError
		if err := rotate(); !errors.As(err, &conflict) || !strings.Contains(conflict.Detail, "disconnected") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCancelWithARevokedKey: a cancel that finds the key revoked says so of the whole
// connection, and says what to do.
func TestCancelWithARevokedKey(t *testing.T) {
	t.Parallel()
	d := newDesk(t, migratetest.SQLite(t))
	d.Revoke(d.now(t).API.Token)
	err := d.first.accounts.Cancel(t.Context(), d.conn.ID, providers.CancelTarget{SessionExternalID: "/scheduled_events/1"}, "")
	if !providers.NeedsSignIn(err) || !strings.Contains(err.Error(), "connect the account again") {
		t.Errorf("it failed with %v", err)
	}
	if c := d.now(t); c.State(time.Now()) != providers.StateNeedsSignIn {
		t.Errorf("it is %s", c.State(time.Now()))
	}
}

// TestRemedies: whatever an API does, whoever asked is told what to do.
func TestRemedies(t *testing.T) {
	t.Parallel()
	d := newDesk(t, migratetest.SQLite(t))
	for _, trouble := range []apitest.Trouble{
		apitest.Unauthorized, apitest.Forbidden, apitest.Limited, apitest.Broken, apitest.Unavailable, apitest.Garbage, apitest.Cut, apitest.Dropped,
		apitest.Endless, apitest.Hanging, apitest.Missing, apitest.NotHere, apitest.Elsewhere, apitest.Blocked,
	} {
		d.Set(trouble)
		_, err := d.first.accounts.Ask(t.Context(), d.conn.ID)
		if err == nil || account.Remedy(calendly.Name, err) == "" {
			t.Errorf("%s: nothing is to be done about %v (%s)", trouble, err, account.CauseOf(err))
		}
		d.Set(apitest.Healthy)
		until(t, "the API's pause to end", func() bool {
			_, err := d.first.accounts.Ask(t.Context(), d.conn.ID)
			return err == nil
		})
	}
}

// TestOnlyTheWebhookIsLost: an account that answers, and has no webhook, fails, but is
// not away: whoever looks at the calendar is told that bookings come late, and not
// that none do. What is read beside it does not hide why.
func TestOnlyTheWebhookIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.registered(t)
		d.Unsubscribe(d.first.accounts.Target(d.conn))
		d.SetWebhooks(false)
		lost := func(when string) {
			t.Helper()
			c := d.now(t)
			if h := c.Health; !c.OnlyHookLost() || c.State(time.Now()) != providers.StateFailing || h.FailingSince != nil || h.Failure == "" || h.SucceededAt == nil {
				t.Errorf("%s it is %s, %+v", when, c.State(time.Now()), h)
			}
		}
		f, err := d.first.accounts.Check(t.Context(), d.conn.ID)
		if err != nil || f.Err == nil || f.Recovered || f.Remade {
			t.Fatalf("the check found %+v, %v", f, err)
		}
		lost("checked")
		soon := d.now(t).Health
		if wait := soon.NextCheckAt.Sub(*soon.CheckedAt); wait > 2*time.Minute/leaseTempo {
			t.Errorf("it is looked at again after %s", wait)
		}
		if _, err := d.first.accounts.Reconcile(t.Context(), d.now(t), "asked", booking.ActorSystem); err != nil {
			t.Fatal(err)
		}
		lost("compared")
		d.SetWebhooks(true)
		if f, err = d.first.accounts.Check(t.Context(), d.conn.ID); err != nil || f.Err != nil || !f.Remade || !f.Recovered {
			t.Fatalf("the next check found %+v, %v", f, err)
		}
		if c := d.now(t); c.State(time.Now()) != providers.StateWorking || c.Health.Failure != "" || d.hooks(t, d.conn.ID) != 1 {
			t.Errorf("at last it is %s, %+v", c.State(time.Now()), c.Health)
		}
	})
}
