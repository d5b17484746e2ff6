package account_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// compared is a comparison that the first process is amid: it has read a page.
type compared struct {
	*desk
	run  booking.Run
	next *gate // before the second page
	done chan error
}

func (d *desk) amid(t *testing.T) *compared {
	t.Helper()
	c := &compared{desk: d, run: d.begin(t, booking.RunReconcile), done: make(chan error, 1)}
	first := d.first.shut("list")
	go func() { c.done <- d.first.accounts.Work(t.Context(), c.run.ID) }()
	<-first.reached
	c.next = d.first.shut("list")
	close(first.open)
	<-c.next.reached
	return c
}

// waits is true once the run says what it waits for.
func (c *compared) waits(t *testing.T) bool {
	t.Helper()
	return c.desk.run(t, c.run.ID).Error != ""
}

// TestComparisonWaitsInItsPlace: a comparison of an account that takes hours, and whose
// provider asks to be left alone or stumbles meanwhile, ends, having asked for nothing
// twice. It began anew each time, and a larger account was never compared.
func TestComparisonWaitsInItsPlace(t *testing.T) {
	t.Parallel()
	for _, trouble := range []apitest.Trouble{apitest.Limited, apitest.Unavailable, apitest.Dropped, apitest.Garbage} {
		t.Run(string(trouble), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) {
				c := d.amid(t)
				d.Set(trouble)
				close(c.next.open)
				until(t, "the comparison to say what it waits for", func() bool { return c.waits(t) })
				d.first.wind(80 * time.Minute)
				if err := d.second.accounts.Work(t.Context(), c.run.ID); err != nil {
					t.Errorf("another is told %v of what is held", err)
				}
				d.Set(apitest.Healthy)
				if err := <-c.done; err != nil {
					t.Fatal(err)
				}
				got := d.stored(t)
				if got.Status != booking.RunDone || got.AtProvider != leaseEvents || got.Error != "" || got.Pages != leaseEvents/leasePage+2 {
					t.Errorf("the run is %+v", got)
				}
				for path, n := range d.asked() {
					if n != 1 {
						t.Errorf("%s was read %d times", path, n)
					}
				}
				d.whole(t)
			})
		})
	}
}

// TestWaitingComparisonEnds: one that waits ends when somebody stops it, when its key is
// no longer accepted, and when its provider goes on stumbling; whoever has read
// nothing yet does not wait.
func TestWaitingComparisonEnds(t *testing.T) {
	t.Parallel()
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, d *desk) {
			c := d.amid(t)
			d.Set(apitest.Limited)
			close(c.next.open)
			until(t, "the comparison to wait", func() bool { return c.waits(t) })
			if _, err := d.second.accounts.StopRun(t.Context(), c.run.ID, booking.ActorSystem); err != nil {
				t.Fatal(err)
			}
			if err := <-c.done; err != nil {
				t.Error(err)
			}
			if got := d.stored(t); got.Status != booking.RunStopped {
				t.Errorf("the run is %+v", got)
			}
		})
	})
	for trouble, want := range map[apitest.Trouble]booking.RunStatus{apitest.Unauthorized: booking.RunFailed, apitest.Unavailable: booking.RunRunning} {
		t.Run(string(trouble), func(t *testing.T) {
			t.Parallel()
			c := newDesk(t, migratetest.SQLite(t)).amid(t)
			c.Set(trouble)
			close(c.next.open)
			if err := <-c.done; (err == nil) != (want == booking.RunFailed) {
				t.Errorf("it is told %v", err)
			}
			if got := c.stored(t); got.Status != want || got.Error == "" || got.Failures != 1 {
				t.Errorf("the run is %+v", got)
			}
		})
	}
	t.Run("nothing read", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, migratetest.SQLite(t))
		run := d.begin(t, booking.RunReconcile)
		d.Set(apitest.Limited)
		var later *providers.LaterError
		if err := d.first.accounts.Work(t.Context(), run.ID); !errors.As(err, &later) {
			t.Errorf("it is told %v", err)
		}
	})
}

// compare has the account compared by a process that looks at no more than looks
// bookings at a time, and gives the run.
func (d *desk) compare(t *testing.T, looks int) booking.Run {
	t.Helper()
	d.first.accounts.LookAtMost(looks)
	run := d.begin(t, booking.RunReconcile)
	if err := d.first.accounts.Work(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if run = d.run(t, run.ID); run.Status != booking.RunDone {
		t.Fatalf("the run is %+v", run)
	}
	return run
}

// standing are the external ids of the bookings that stand here, in their order.
func (d *desk) standing(t *testing.T) []string {
	t.Helper()
	all, err := booking.Everything(t.Context(), d.Bookings)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range all {
		if b.Status == booking.Active {
			out = append(out, b.ExternalID)
		}
	}
	slices.Sort(out)
	return out
}

// forget has the provider know nothing more of bookings.
func (d *desk) forget(externalIDs ...string) {
	for _, id := range externalIDs {
		event, _, _ := strings.Cut(id, "/invitees/")
		d.Forget(event)
	}
}

// goneFor is how long a booking must be unknown to its provider, at leaseTempo.
const goneFor = 10 * time.Minute / leaseTempo

// TestGoneInKnownTime: of bookings that are gone at the provider each comparison finds
// as many as it may, and removes as many that the one before had found: none of them
// is left for another time and then forgotten.
func TestGoneInKnownTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const looks, gone = 5, 22
		d.compare(t, looks)
		d.forget(d.standing(t)[:gone]...)
		for n := range (gone+looks-1)/looks + 1 {
			d.first.wind(goneFor)
			run := d.compare(t, looks)
			removed, found := min(n*looks, gone), min((n+1)*looks, gone)
			if got := len(d.standing(t)); got != leaseEvents-removed {
				t.Errorf("after %d comparisons %d stand, want %d", n+1, got, leaseEvents-removed)
			}
			drifts, err := d.Drifts(t.Context(), d.conn.ID, 100)
			if err != nil || len(drifts) != found-removed {
				t.Errorf("after %d comparisons %d are known to be gone, want %d: %v", n+1, len(drifts), found-removed, err)
			}
			// Two lists, each event's invitees, and the looks.
			if most := 2*leaseEvents + 2*looks; run.Requests > most {
				t.Errorf("a comparison asked %d times", run.Requests)
			}
		}
	})
}

// TestGoneStaysKnown: a comparison that comes too early to remove what is gone does not
// forget that it was so before.
func TestGoneStaysKnown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.compare(t, 5)
		d.first.stop()
		d.forget(d.standing(t)[0])
		var before []booking.Drift
		for n := range 3 {
			run := d.compare(t, 5)
			drifts, err := d.Drifts(t.Context(), d.conn.ID, 100)
			if err != nil || len(drifts) != 1 || run.Differed != 1 {
				t.Fatalf("%+v, %+v, %v", drifts, run.RunCounts, err)
			}
			if n > 0 && !drifts[0].FoundAt.Equal(before[0].FoundAt) {
				t.Errorf("it is gone since %s, and was since %s", drifts[0].FoundAt, before[0].FoundAt)
			}
			before = drifts
		}
		d.first.goOn(goneFor)
		d.compare(t, 5)
		if got := len(d.standing(t)); got != leaseEvents-1 {
			t.Errorf("%d stand", got)
		}
	})
}

// TestEachHasItsTurn: bookings that the provider knows and never lists do not keep those
// from their turn that are gone.
func TestEachHasItsTurn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const looks, hidden, gone = 5, 12, 6
		d.compare(t, looks)
		all := d.standing(t)
		d.first.hidden = map[string]bool{}
		for _, id := range all[:hidden] {
			d.first.hidden[id] = true
		}
		d.forget(all[hidden : hidden+gone]...)
		for range (hidden+gone+looks-1)/looks + 1 {
			d.first.wind(goneFor)
			d.compare(t, looks)
		}
		if got := d.standing(t); !slices.Equal(got, slices.Concat(all[:hidden], all[hidden+gone:])) {
			t.Errorf("%d stand", len(got))
		}
	})
}

// TestRefusedLook: what the provider will not tell of one booking keeps no other from
// its turn.
func TestRefusedLook(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.compare(t, 5)
		all := d.standing(t)
		d.first.hidden = map[string]bool{all[0]: true}
		d.forget(all[1])
		d.Set(apitest.Forbidden, all[0])
		for range 2 {
			d.first.wind(goneFor)
			if run := d.compare(t, 5); run.Unreadable != 1 {
				t.Errorf("the run is %+v", run)
			}
		}
		if got := d.standing(t); !slices.Equal(got, slices.Concat(all[:1], all[2:])) {
			t.Errorf("%d stand", len(got))
		}
	})
}

// TestLongComparisonRests: after a comparison that took long the API is others' for as
// long; short ones come every 15 minutes.
func TestLongComparisonRests(t *testing.T) {
	t.Parallel()
	const minute = time.Minute / leaseTempo
	for name, tt := range map[string]struct {
		took   time.Duration
		status booking.RunStatus
		after  time.Duration // it began
	}{
		"a short one":   {5 * minute, booking.RunDone, 15 * minute},
		"a long one":    {40 * minute, booking.RunDone, 80 * minute},
		"of hours":      {300 * minute, booking.RunDone, 360 * minute},
		"that failed":   {40 * minute, booking.RunFailed, 15 * minute},
		"of 14 minutes": {14 * minute, booking.RunDone, 28 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, migratetest.SQLite(t))
			d.first.stop()
			began := d.first.now()
			run := d.begin(t, booking.RunReconcile)
			h := booking.Hold{By: uuid.New(), Until: began.Add(time.Hour)}
			if _, mine, err := d.first.store.ClaimRun(t.Context(), run.ID, began, h); err != nil || !mine {
				t.Fatalf("%t, %v", mine, err)
			}
			end := began.Add(tt.took)
			run.Status, run.FinishedAt = tt.status, &end
			if err := d.first.store.ReleaseRun(t.Context(), run, h.By); err != nil {
				t.Fatal(err)
			}
			d.first.goOn(max(tt.took, tt.after-time.Millisecond))
			for _, want := range []int{1, 2} {
				if tt.took >= tt.after && want == 1 {
					continue
				}
				if _, err := d.first.accounts.Watch(t.Context()); err != nil {
					t.Fatal(err)
				}
				if all, err := d.Runs(t.Context(), d.conn.ID, 5); err != nil || len(all) != want {
					t.Errorf("%d began, want %d: %v", len(all), want, err)
				}
				d.first.goOn(2 * time.Millisecond)
			}
		})
	}
}
