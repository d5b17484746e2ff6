package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/store/storetest"
)

// Whoever asks for a run while one ends gets one: that which ends, or a new one, and
// never the answer that there is none.
func TestRunsBeginWhileOthersEnd(t *testing.T) {
	t.Parallel()
	const rounds = 200
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			begin := func() (booking.Run, error) {
				return b.BeginRun(t.Context(), booking.Run{
					ID: uuid.New(), ConnectionID: b.Conn["calendly"], Kind: booking.RunReconcile, Cause: "asked", From: storetest.Now, To: storetest.Now.AddDate(0, 0, 1),
					Status: booking.RunRunning, Actor: booking.ActorSystem, StartedAt: storetest.Now, MovedAt: storetest.Now,
				})
			}
			var askers sync.WaitGroup
			var over atomic.Bool
			for range 3 {
				askers.Go(func() {
					for !over.Load() {
						if r, err := begin(); err != nil || r.Status != booking.RunRunning {
							t.Errorf("asked for a run: %+v, %v", r, err)
							return
						}
					}
				})
			}
			for range rounds {
				r, err := begin()
				if err != nil {
					t.Error(err)
					break
				}
				// Another may have ended it.
				_, _ = b.StopRun(t.Context(), r.ID, storetest.Now)
			}
			over.Store(true)
			askers.Wait()
		})
	}
}
