package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCopiesAtOnce posts eight copies of each delivery at the same time: one of
// them makes the booking, the others are told that they are copies.
func TestCopiesAtOnce(t *testing.T) {
	t.Parallel()
	const copies = 8
	deliveries := 2000
	if testing.Short() {
		deliveries = 100
	}
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		var firsts, duplicates atomic.Int64
		each(deliveries, 16, func(i int) {
			from := monday.Add(time.Duration(i/20) * time.Hour)
			body := genericBody("invitee.created", fmt.Sprintf("b-%d", i), fmt.Sprintf("room %d", i%20), monday, from, from.Add(time.Hour))
			each(copies, copies, func(int) {
				ack, err := a.send(t.Context(), body)
				switch {
				case err != nil:
					t.Error(err)
				case ack.HTTP != 200:
					t.Errorf("delivery %d was answered %d %s", i, ack.HTTP, ack.Code)
				case ack.Status == "processed":
					firsts.Add(1)
				case ack.Status == "duplicate" && ack.Original == "processed":
					duplicates.Add(1)
				default:
					t.Errorf("delivery %d was answered %+v", i, ack)
				}
			})
		})
		if firsts.Load() != int64(deliveries) || duplicates.Load() != int64(deliveries*(copies-1)) {
			t.Errorf("%d firsts and %d copies of %d deliveries", firsts.Load(), duplicates.Load(), deliveries)
		}

		token := s.token(t, "read")
		receipts := api[receiptItem](t, s, token, "receipts")
		for _, r := range receipts {
			if r.Deliveries != copies || r.Status != "processed" {
				t.Errorf("receipt %s is %s after %d deliveries", r.EventKey, r.Status, r.Deliveries)
			}
		}
		transitions := api[transitionItem](t, s, token, "transitions")
		once := map[string]int{}
		for _, tr := range transitions {
			once[tr.BookingID.String()]++
			if tr.Outcome != "applied" || tr.To != "active" {
				t.Errorf("transition %+v", tr)
			}
		}
		if len(receipts) != deliveries || len(transitions) != deliveries || len(once) != deliveries {
			t.Errorf("%d receipts, %d transitions of %d bookings, want %d of each", len(receipts), len(transitions), len(once), deliveries)
		}
	})
}

// each calls f with 0 to n-1, some at a time.
func each(n, atOnce int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
