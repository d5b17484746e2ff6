package work_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// slow are accounts whose reading lasts until their provider lets it end, as within a
// rate limit.
type slow struct {
	idle
	began chan time.Duration // what time each has
	end   chan struct{}
}

func (s slow) Work(ctx context.Context, _ uuid.UUID) error {
	left := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	s.began <- left
	select {
	case <-s.end:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// TestLongReads: large accounts are given the time to be read to the end, and nobody
// waits behind them whose booking is to be canceled: not even while there are more of
// them than workers.
func TestLongReads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const many = 45 // more than a process has workers of all kinds
		accounts := slow{idle{d.checked}, make(chan time.Duration, many), make(chan struct{})}
		d.accounts = accounts
		s := newStudio(t, d)
		q, _ := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		for range many {
			if err := q.WakeRun(t.Context(), uuid.New()); err != nil {
				t.Fatal(err)
			}
		}
		start(t, q)
		// 5,000 events of a free plan take more than an hour and a half.
		if left := <-accounts.began; left != 0 && left < 12*time.Hour {
			t.Errorf("a read has %s", left)
		}
		d.waitFor(t, d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3), booking.EffectDone)
		close(accounts.end)
		for range many - 1 {
			<-accounts.began
		}
	})
}
