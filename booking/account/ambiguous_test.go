package account_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// TestRenewedUnheard: a renewal that was written although its holder never heard of it
// does not cost him the run.
func TestRenewedUnheard(t *testing.T) {
	t.Parallel()
	for _, kind := range booking.RunKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) {
				d.Set(apitest.Slow, "/invitees")
				d.first.renewals.Store(true)
				run := d.begin(t, kind)
				held := make(chan error, 1)
				go func() { held <- d.first.accounts.Work(t.Context(), run.ID) }()
				until(t, "the run to be held", func() bool { return d.heldUntil(t) != "<nil>" })
				first := d.heldUntil(t)
				until(t, "a renewal that nobody hears of", func() bool { return d.heldUntil(t) != first })
				if err := <-held; err != nil {
					t.Fatal(err)
				}
				if got := d.stored(t); got.Status != booking.RunDone || got.AtProvider != leaseEvents {
					t.Errorf("the run is %+v", got)
				}
				d.whole(t)
			})
		})
	}
}

// TestReleaseLost: a run whose end could not be written stays under way, and whoever
// looks after the runs has it gone on with once it is nobody's.
func TestReleaseLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.first.releases.Store(true)
		run := d.begin(t, booking.RunBackfill)
		if err := d.first.accounts.Work(t.Context(), run.ID); !errors.Is(err, booking.ErrUnavailable) {
			t.Fatalf("it was told %v", err)
		}
		if got := d.stored(t); got.Status != booking.RunRunning {
			t.Fatalf("the run is %+v", got)
		}
		d.second.wind(time.Minute)
		due, err := d.second.accounts.Watch(t.Context())
		if err != nil || !slices.Contains(due.Runs, run.ID) {
			t.Fatalf("%v are due: %v", due.Runs, err)
		}
		for _, id := range due.Runs {
			if err := d.second.accounts.Work(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		if got := d.run(t, run.ID); got.Status != booking.RunDone {
			t.Errorf("the run is %+v", got)
		}
		d.whole(t)
	})
}

// TestStopRun: who reads in a run that was stopped finds out and leaves it as it is;
// another may begin at once.
func TestStopRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.Set(apitest.Slow, "/invitees")
		run := d.begin(t, booking.RunBackfill)
		done := make(chan error, 1)
		go func() { done <- d.first.accounts.Work(t.Context(), run.ID) }()
		until(t, "the first event", func() bool { return len(d.asked()) > 0 })
		stopped, err := d.second.accounts.StopRun(t.Context(), run.ID, "user:somebody")
		if err != nil || stopped.Status != booking.RunStopped {
			t.Fatalf("%+v, %v", stopped, err)
		}
		if err := <-done; err != nil {
			t.Errorf("who read in it was told %v", err)
		}
		if got := d.run(t, run.ID); got.Status != booking.RunStopped || got.Pages != stopped.Pages {
			t.Errorf("who read in it made of it %+v", got)
		}
		if read := len(d.asked()); read == leaseEvents {
			t.Error("all was read although it was stopped")
		}
		if !strings.Contains(d.first.log.String(), "no longer ours") {
			t.Errorf("nothing tells why it ended:\n%s", &d.first.log)
		}
		var conflict *booking.ConflictError
		if _, err := d.second.accounts.StopRun(t.Context(), run.ID, "user:somebody"); !errors.As(err, &conflict) {
			t.Errorf("stopped twice: %v", err)
		}
		d.Set(apitest.Healthy)
		again := d.begin(t, booking.RunBackfill)
		if err := d.second.accounts.Work(t.Context(), again.ID); err != nil || again.ID == run.ID {
			t.Fatalf("%s after %s: %v", again.ID, run.ID, err)
		}
		d.whole(t)
	})
}

// TestDisconnectStopsRuns: nothing is read any more from an account that was
// disconnected while an import was under way.
func TestDisconnectStopsRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.Set(apitest.Slow, "/invitees")
		run := d.begin(t, booking.RunBackfill)
		done := make(chan error, 1)
		go func() { done <- d.first.accounts.Work(t.Context(), run.ID) }()
		until(t, "the first event", func() bool { return len(d.asked()) > 0 })
		if _, err := d.second.accounts.Disconnect(t.Context(), d.conn.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("who read in it was told %v", err)
		}
		if got := d.run(t, run.ID); got.Status != booking.RunStopped {
			t.Errorf("the run is %+v", got)
		}
		if read := len(d.asked()); read == leaseEvents {
			t.Error("all was read although it was disconnected")
		}
	})
}

// TestTokenOutlastsAnOutage: a token that came while the database was away is kept
// once it is back: the one before is spent.
func TestTokenOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		old := d.expire(t)
		d.first.tokens.Store(3)
		used, _, err := d.first.accounts.Ready(t.Context(), d.conn.ID)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := d.Connection(t.Context(), d.conn.ID)
		if err != nil || kept.API.Token != used.API.Token || kept.API.Refresh == old.Refresh {
			t.Errorf("what came is not what is kept: %v", err)
		}
	})
}

// TestRefreshBesideReconnect: what a refresh of the old grant brings does not undo
// that somebody signed in again meanwhile.
func TestRefreshBesideReconnect(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.expire(t)
		d.Set(apitest.Slow, "/oauth/token")
		asked := d.Count("/oauth/token")
		done := make(chan error, 1)
		var got providers.Connection
		go func() {
			var err error
			got, _, err = d.first.accounts.Ready(t.Context(), d.conn.ID)
			done <- err
		}()
		until(t, "the request for a token", func() bool { return d.Count("/oauth/token") > asked })
		given := providers.Credentials{Token: "planted-given"}
		d.Change(t, d.conn.ID, providers.Change{API: &given})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		kept, err := d.Connection(t.Context(), d.conn.ID)
		if err != nil || kept.API != given || got.API != given {
			t.Errorf("given %v, kept %v, used %v: %v", given, kept.API, got.API, err)
		}
	})
}
