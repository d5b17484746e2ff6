package account_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

// restore puts credentials back that were current once, as a backup does.
func (d *desk) restore(t *testing.T, old providers.Credentials) {
	t.Helper()
	c, err := d.Connection(t.Context(), d.conn.ID)
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Now().UTC()
	c.API = old
	c.API.ExpiresAt = &ended
	d.Change(t, c.ID, providers.Change{API: &c.API})
}

// signInAgain connects the connection again with what signing in gives.
func (d *desk) signInAgain(t *testing.T) (account.Connected, error) {
	t.Helper()
	return d.first.accounts.Connect(t.Context(), account.Request{
		ID: d.conn.ID, Provider: calendly.Name, API: d.signIn(t), Secret: leaseApp.SigningKey, By: booking.ActorSystem,
	})
}

// TestSpentRefreshToken: what a refresh brings is stored, and a token that was
// spent needs somebody to sign in, who finds the connection as it was.
func TestSpentRefreshToken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		old := d.expire(t)
		used, _, err := d.first.accounts.Ready(t.Context(), d.conn.ID)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := d.Connection(t.Context(), d.conn.ID)
		if err != nil || kept.API.Token != used.API.Token || kept.API.Refresh != used.API.Refresh || kept.API.Refresh == old.Refresh {
			t.Errorf("what was refreshed is not what is stored: %v", err)
		}

		d.restore(t, old)
		found, err := d.first.accounts.Check(t.Context(), d.conn.ID)
		if err != nil || !providers.NeedsSignIn(found.Err) {
			t.Fatalf("%v, %v", found.Err, err)
		}
		if kept, err = d.Connection(t.Context(), d.conn.ID); err != nil || kept.State(time.Now()) != providers.StateNeedsSignIn {
			t.Errorf("it is %s, %v", kept.State(time.Now()), err)
		}
		due, err := d.second.accounts.Watch(t.Context())
		if err != nil || len(due.Runs) != 0 {
			t.Errorf("without a token %d runs are due, %v", len(due.Runs), err)
		}
		if runs, err := d.Runs(t.Context(), d.conn.ID, 5); err != nil || len(runs) != 0 {
			t.Errorf("without a token %d runs began, %v", len(runs), err)
		}

		// Somebody else's account would mix up the bookings of two.
		const other = "1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a02"
		d.AddUser(calendlytest.Host{ID: other, Name: "Theo Okonkwo", Email: "theo.okonkwo@northpier.example"}, calendlytest.Member)
		d.Approve(other, true)
		var invalid *booking.InvalidError
		if _, err := d.signInAgain(t); !errors.As(err, &invalid) {
			t.Errorf("another's account: %v", err)
		}
		d.Approve("", true)
		again, err := d.signInAgain(t)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err = d.Connection(t.Context(), d.conn.ID); err != nil || again.ID != d.conn.ID || kept.Health.NeedsSignIn || kept.Health.Failures != 0 {
			t.Errorf("signed in again it is %+v, %v", kept.Health, err)
		}
		if again.Run == nil || again.Run.Cause != "reconnected" {
			t.Errorf("what was missed is not looked for: %+v", again.Run)
		}
	})
}

// TestRefreshOutlivesWhoAsked: a token that was asked for is stored although
// whoever asked has left, since the one before is spent.
func TestRefreshOutlivesWhoAsked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		old := d.expire(t)
		d.Set(apitest.Slow, "/oauth/token")
		ctx, leave := context.WithCancel(t.Context())
		before := d.Count("/oauth/token")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = d.first.accounts.Ready(ctx, d.conn.ID)
		}()
		until(t, "the request for a token", func() bool { return d.Count("/oauth/token") > before })
		leave()
		<-done
		d.Set(apitest.Healthy)
		kept, err := d.Connection(t.Context(), d.conn.ID)
		if err != nil || kept.API.Token == old.Token || kept.API.Refresh == old.Refresh {
			t.Fatalf("the new token was lost: %v", err)
		}
		if found, err := d.second.accounts.Check(t.Context(), d.conn.ID); err != nil || found.Err != nil {
			t.Errorf("%v, %v", found.Err, err)
		}
	})
}
