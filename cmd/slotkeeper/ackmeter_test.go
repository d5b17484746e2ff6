package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// meter measures how long acknowledgements of other accounts' webhooks take while
// something else goes on.
type meter struct {
	desks []connected
	n     atomic.Int64 // numbers bookings
}

// newMeter connects an account of each provider whose posts say what happened.
func newMeter(t *testing.T, s *server) *meter {
	t.Helper()
	m := &meter{}
	for _, name := range []string{"calendly", "calcom", "generic"} {
		m.desks = append(m.desks, s.connect(t, name))
	}
	return m
}

// visitEvery leaves the machine to what is measured against: several meters may post
// at once.
const visitEvery = 100 * time.Millisecond

// acks are how long acknowledgements took, in order.
type acks []time.Duration

func (a acks) at(percent int) time.Duration {
	if len(a) == 0 {
		return 0
	}
	return a[min(len(a)*percent/100, len(a)-1)].Round(10 * time.Microsecond)
}

func (a acks) String() string {
	return fmt.Sprintf("%d posts acknowledged, p50 %s, p99 %s", len(a), a.at(50), a.at(99))
}

// during has each desk post a booking every so often until f returns, and wants
// every post taken.
func (m *meter) during(t *testing.T, f func()) acks {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var took acks
	var all sync.WaitGroup
	for k, desk := range m.desks {
		all.Go(func() {
			tick := time.NewTicker(visitEvery)
			defer tick.Stop()
			for {
				d := m.visit(t, desk, k) //nolint:contextcheck // a post under way is not given up
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	func() {
		defer all.Wait()
		defer stop()
		f()
	}()
	slices.Sort(took)
	return took
}

// visit books an hour that is free at a desk.
func (m *meter) visit(t *testing.T, desk connected, k int) time.Duration {
	n := m.n.Add(1)
	from := monday.Add(time.Duration(k+1) * 50_000 * time.Hour).Add(time.Duration(n) * time.Hour)
	body := desk.body(t, said{kind: "create", id: fmt.Sprintf("visit-%d", n), from: from, at: monday})
	header := desk.signed(body)
	began := time.Now()
	ack, err := postTo(context.WithoutCancel(t.Context()), desk.webhook(), body, header)
	took := time.Since(began)
	if err != nil || ack.HTTP != http.StatusOK || ack.Status != "processed" {
		t.Errorf("a post of %s is answered %+v, %v", desk.Name(), ack, err)
	}
	return took
}

// compareAcks logs what a load did to acknowledgements. Machines are too busy for a
// limit that always holds; what matters is that each was taken.
func compareAcks(t *testing.T, before, during acks) {
	t.Helper()
	if len(before) == 0 || len(during) == 0 {
		t.Error("nothing was acknowledged")
		return
	}
	t.Logf("before: %s; during: %s: p99 is %.1f times as long", before, during, float64(during.at(99))/float64(before.at(99)))
}
