package account_test

import (
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
)

// TestReconnectFromAnEarlierDay: an import that waits for somebody to sign in does not
// keep whoever does from asking for more. He is connected, all is read from his day on,
// and what was missed is looked for.
func TestReconnectFromAnEarlierDay(t *testing.T) {
	t.Parallel()
	day := func(ago int) time.Time { return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -ago) }
	for name, c := range map[string]struct {
		ago   int
		anew  bool
		wants booking.RunStatus // of the import that waited
	}{
		"earlier": {30, true, booking.RunStopped},
		"later":   {1, false, booking.RunDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) {
				p, ctx := d.first, t.Context()
				old := d.expire(t)
				if _, _, err := p.accounts.Ready(ctx, d.conn.ID); err != nil {
					t.Fatal(err)
				}
				waits := d.begin(t, booking.RunBackfill)
				d.restore(t, old) // a token that was spent
				if err := p.accounts.Work(ctx, waits.ID); err != nil {
					t.Fatal(err)
				}
				if got := d.run(t, waits.ID); got.Status != booking.RunRunning || !d.now(t).Health.NeedsSignIn {
					t.Fatalf("the import does not wait: %+v", got)
				}
				r := d.request(t, d.conn.ID)
				from := day(c.ago)
				r.From = &from
				out, err := p.accounts.Connect(ctx, r)
				if err != nil || out.Run == nil || out.Run.Kind != booking.RunBackfill {
					t.Fatalf("connected again with %+v: %v", out.Run, err)
				}
				if anew := out.Run.ID != waits.ID; anew != c.anew || anew && (!out.Run.From.Equal(from) || out.Run.Cursor != "") {
					t.Errorf("it is read from %s on, a new import: %t", out.Run.From, anew)
				}
				compared := false
				all, err := d.Runs(ctx, d.conn.ID, 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range all {
					compared = compared || run.Cause == "reconnected"
				}
				if !compared {
					t.Error("what was missed is not looked for")
				}
				if err := p.accounts.Work(ctx, out.Run.ID); err != nil {
					t.Fatal(err)
				}
				if got := d.run(t, waits.ID).Status; got != c.wants {
					t.Errorf("the import that waited is %s", got)
				}
				d.whole(t)
			})
		})
	}
}

// TestReconnectAmidARotation: nobody knows which of two secrets the provider has, so
// that a third one forgets neither; nor does one that came to nothing.
func TestReconnectAmidARotation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		conn, p := d.keyed(t), d.first
		d.Set(apitest.Broken, "webhook_subscriptions")
		if err := p.accounts.Rotate(t.Context(), conn.ID); err == nil {
			t.Fatal("a rotation that the provider refused is done")
		}
		rotating := d.now(t).Secrets
		again := func(secret string) error {
			_, err := p.accounts.Connect(t.Context(), account.Request{
				ID: conn.ID, Provider: calendly.Name, API: conn.API, Secret: secret, By: booking.ActorSystem,
			})
			return err
		}
		const third, fourth = "a-third-secret-of-its-own", "a-fourth-secret-of-its-own"
		if err := again(third); err == nil {
			t.Fatal("connected again, and no webhook was registered")
		}
		if got, want := d.now(t).Secrets, (providers.Secrets{Current: rotating.Current, Previous: rotating.Previous, Older: third}); got != want {
			t.Errorf("in vain it has %+v, want %+v", got, want)
		}
		d.Set(apitest.Healthy)
		if err := again(fourth); err != nil {
			t.Fatal(err)
		}
		if got, want := d.now(t).Secrets, (providers.Secrets{Current: fourth, Previous: rotating.Current, Older: rotating.Previous}); got != want {
			t.Errorf("connected again it has %+v, want %+v", got, want)
		}
		if err := p.accounts.FinishRotation(t.Context(), conn.ID); err != nil || d.now(t).Secrets != (providers.Secrets{Current: fourth}) {
			t.Errorf("finished it has %+v: %v", d.now(t).Secrets, err)
		}
	})
}
