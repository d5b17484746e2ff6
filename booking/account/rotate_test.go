package account_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// TestRotationIsFinishedOnlyOnceTaken has a provider refuse a new secret: posts go
// on being signed with the one before, which is kept until the provider has the new
// one, whatever somebody presses.
func TestRotationIsFinishedOnlyOnceTaken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
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
		secrets := func() providers.Secrets {
			t.Helper()
			c, err := d.Connection(t.Context(), conn.ID)
			if err != nil {
				t.Fatal(err)
			}
			return c.Secrets
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
