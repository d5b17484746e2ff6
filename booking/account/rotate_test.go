package account_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// keyed makes the desk's connection one with a secret of its own, whose webhook we
// registered.
func (d *desk) keyed(t *testing.T) providers.Connection {
	t.Helper()
	conn := d.conn
	conn.ID, conn.API, conn.Subscription = uuid.New(), providers.Credentials{Token: d.conn.API.Token}, providers.Registered
	conn.Secrets = providers.Secrets{Current: "the-secret-of-before"}
	owner, err := d.first.accounts.Identify(t.Context(), account.Request{Provider: conn.Provider, APIBase: conn.APIBase, API: conn.API})
	if err != nil {
		t.Fatal(err)
	}
	conn.Owner = owner
	ended := time.Now()
	d.Change(t, d.conn.ID, providers.Change{Disconnected: &ended}) // of one account there is one connection
	if err := d.CreateConnection(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	d.conn = conn
	return conn
}

// TestRotationIsFinishedOnlyOnceTaken has a provider refuse a new secret: posts go
// on being signed with the one before, which is kept until the provider has the new
// one, whatever somebody presses.
func TestRotationIsFinishedOnlyOnceTaken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		conn := d.keyed(t)
		secrets := func() providers.Secrets {
			t.Helper()
			return d.now(t).Secrets
		}
		d.Set(apitest.Broken, "webhook_subscriptions")
		if err := d.first.accounts.Rotate(t.Context(), conn.ID); err == nil {
			t.Fatal("a rotation that the provider refused is done")
		}
		kept := secrets()
		if kept.Previous != "the-secret-of-before" || kept.Current == kept.Previous {
			t.Fatalf("%+v", kept)
		}
		if err := d.second.accounts.FinishRotation(t.Context(), conn.ID); err == nil || secrets() != kept {
			t.Errorf("finished with %+v: %v", secrets(), err)
		}
		d.Set(apitest.Healthy)
		if err := d.second.accounts.Rotate(t.Context(), conn.ID); err != nil || secrets() != kept {
			t.Errorf("gone on with %+v: %v", secrets(), err)
		}
		if err := d.first.accounts.FinishRotation(t.Context(), conn.ID); err != nil || secrets() != (providers.Secrets{Current: kept.Current}) {
			t.Errorf("finished with %+v: %v", secrets(), err)
		}
	})
}

// TestOldKeyIsForgotten ends what a reconnect leaves of a connection whose secret is
// not ours to give: there is nothing to hand to the provider.
func TestOldKeyIsForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		conn := d.conn // signed in for, so that the app's key signs
		conn.Subscription, conn.Secrets.Previous = providers.Registered, "the-key-of-before"
		d.Change(t, conn.ID, providers.Change{Secrets: &conn.Secrets, Subscription: &conn.Subscription})
		asked := d.Count("webhook_subscriptions")
		if err := d.first.accounts.FinishRotation(t.Context(), conn.ID); err != nil {
			t.Fatal(err)
		}
		after, err := d.Connection(t.Context(), conn.ID)
		if err != nil || after.Secrets != (providers.Secrets{Current: conn.Secrets.Current}) || d.Count("webhook_subscriptions") != asked {
			t.Errorf("%+v: %v", after.Secrets, err)
		}
	})
}

// checked are the connections that a process asked to have checked at once.
func (p *process) checked() []uuid.UUID {
	var all []uuid.UUID
	for {
		select {
		case id := <-p.checks:
			all = append(all, id)
		default:
			return all
		}
	}
}

// causes are those of the desk's runs, the newest first.
func (d *desk) causes(t *testing.T) (all []string) {
	t.Helper()
	runs, err := d.Runs(t.Context(), d.conn.ID, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		all = append(all, r.Cause)
	}
	return all
}

// TestRotationLosesNothing: between the webhook that is removed and the one that is made
// with the new secret nothing is posted, which is looked for at once. When none is made,
// nobody is told that posts come in, and it is not left so until the next check, which
// is up to half an hour away.
func TestRotationLosesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		conn, p := d.keyed(t), d.first
		if err := p.accounts.Rotate(t.Context(), conn.ID); err != nil {
			t.Fatal(err)
		}
		if got := d.causes(t); !slices.Equal(got, []string{"registered"}) || d.hooks(t, conn.ID) != 1 {
			t.Fatalf("after a new secret %v began, %d webhooks", got, d.hooks(t, conn.ID))
		}
		d.ends(t, p)

		d.Set(apitest.Halfway, "webhook_subscriptions")
		err := p.accounts.FinishRotation(t.Context(), conn.ID)
		var unhooked *providers.UnhookedError
		if !errors.As(err, &unhooked) || !strings.Contains(err.Error(), "may post nothing") || strings.Contains(err.Error(), "either are accepted") {
			t.Errorf("it says %v", err)
		}
		kept := d.now(t).Secrets
		if d.hooks(t, conn.ID) != 0 || kept.Previous != "the-secret-of-before" || len(d.causes(t)) != 1 {
			t.Errorf("%d webhooks, %+v, %v", d.hooks(t, conn.ID), kept, d.causes(t))
		}
		if got := p.checked(); !slices.Equal(got, []uuid.UUID{conn.ID}) {
			t.Errorf("%v are checked at once", got)
		}
		// The check that finds the API still broken comes back within its minutes.
		if err := p.accounts.CheckAndRepair(t.Context(), conn.ID); err != nil {
			t.Fatal(err)
		}
		if h := d.now(t).Health; h.HookLostAt == nil {
			t.Error("nobody is told that the webhook is lost")
		}
		d.Set(apitest.Healthy)
		if err := p.accounts.CheckAndRepair(t.Context(), conn.ID); err != nil {
			t.Fatal(err)
		}
		if got := d.causes(t); d.hooks(t, conn.ID) != 1 || !slices.Equal(got, []string{"registered", "registered"}) || d.now(t).Secrets != kept {
			t.Errorf("%d webhooks, %v, %+v", d.hooks(t, conn.ID), got, d.now(t).Secrets)
		}
		d.ends(t, p)
		if err := p.accounts.FinishRotation(t.Context(), conn.ID); err != nil || len(d.causes(t)) != 3 {
			t.Errorf("finished, %v: %v", d.causes(t), err)
		}
		if got := p.checked(); len(got) != 0 {
			t.Errorf("%v are checked, all is well", got)
		}
	})
}

// TestReconnectWithoutAWebhook: a reconnect that ends with no webhook leaves the
// connection as it was, but for that.
func TestReconnectWithoutAWebhook(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.registered(t)
		d.ends(t, d.first)
		d.Set(apitest.Halfway, "webhook_subscriptions")
		if _, err := d.first.accounts.Connect(t.Context(), d.request(t, d.conn.ID)); err == nil || d.hooks(t, d.conn.ID) != 0 {
			t.Fatalf("connected again with %d webhooks: %v", d.hooks(t, d.conn.ID), err)
		}
		if got := d.first.checked(); !slices.Equal(got, []uuid.UUID{d.conn.ID}) {
			t.Errorf("%v are checked at once", got)
		}
		d.Set(apitest.Healthy)
		if err := d.second.accounts.CheckAndRepair(t.Context(), d.conn.ID); err != nil || d.hooks(t, d.conn.ID) != 1 {
			t.Errorf("%d webhooks: %v", d.hooks(t, d.conn.ID), err)
		}
	})
}
