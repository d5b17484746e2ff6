package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/providers"
)

// TestOrderDoesNotMatter runs sampled orders and groupings of every scenario
// through the store. Each order lives in a world of its own, and a transaction
// takes the next group of all of them: so sets are large, and members that have
// nothing to do with each other share one.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test runs it")
	}
	orders := 50
	switch {
	case os.Getenv("SLOTKEEPER_SOAK") != "":
		orders = 200
	case store.RaceDetector:
		orders = 3
	}
	for name, url := range databases {
		t.Run(name+", acuity", func(t *testing.T) {
			t.Parallel()
			ordersAtAcuity(t, name, url(t))
		})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, url(t))
			second := map[string]uuid.UUID{}
			for _, s := range []booking.Source{bt.Calendly, bt.Calcom, bt.Generic} {
				c := providers.Connection{ID: uuid.New(), Provider: s.Provider, APIBase: s.Base + "/second", Name: "second", Secrets: providers.Secrets{Current: "the second secret"}, CreatedAt: storetest.Now}
				if err := b.CreateConnection(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				second[s.Provider] = c.ID
			}
			world := 0
			for i, sc := range bt.Scenarios() {
				r := rand.New(rand.NewPCG(uint64(i), 7))
				var plays [][][]booking.Post
				for range orders {
					plays = append(plays, groups(r, play(r, sc, world, b.Conn, second)))
					world++
				}
				apply(t, b, plays)
			}
			all, err := b.Everything(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			worlds := bt.Worlds(all)
			for i, sc := range bt.Scenarios() {
				compare(t, worlds, sc, i*orders, (i+1)*orders)
			}
			t.Logf("%d orders of %d scenarios ran on %s", world, len(bt.Scenarios()), name)
		})
	}
}

// play is the scenario in some order with copies, over two connections.
func play(r *rand.Rand, sc bt.Scenario, world int, conn, second map[string]uuid.UUID) []booking.Post {
	var out []booking.Post
	deliver := func(e *booking.Event, over map[string]uuid.UUID) booking.Post {
		e = bt.Elsewhere(e, world)
		d := bt.Deliver(e, 1)
		d.ConnectionID = over[e.Source.Provider]
		d.ReceiptID = uuid.New()
		return booking.Post{
			Delivery: d, Body: []byte(e.Key), VerifiedBy: providers.ByCurrent,
			RequestID: fmt.Sprint(world), ReceivedAt: storetest.Now,
		}
	}
	for _, e := range sc.Events {
		out = append(out, deliver(e, conn))
		if r.IntN(3) == 0 {
			out = append(out, deliver(e, conn))
		}
		if r.IntN(3) == 0 {
			out = append(out, deliver(e, second))
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// groups cuts an order into the parts that arrive together.
func groups(r *rand.Rand, order []booking.Post) [][]booking.Post {
	var out [][]booking.Post
	for len(order) > 0 {
		n := min(1+r.IntN(4), len(order))
		out, order = append(out, order[:n]), order[n:]
	}
	return out
}

func apply(t *testing.T, b *storetest.Bench, plays [][][]booking.Post) {
	t.Helper()
	for step := 0; ; step++ {
		var set []booking.Post
		for _, p := range plays {
			if step < len(p) {
				set = append(set, p[step]...)
			}
		}
		if len(set) == 0 {
			return
		}
		for part := range slices.Chunk(set, 64) {
			for i, a := range b.ApplyPosts(t, part...) {
				if a.Status == booking.StatusFailed {
					t.Fatalf("%s failed: %s", part[i].EventKey, a.Error)
				}
			}
		}
	}
}

// compare holds every world's end against what the domain says in memory.
func compare(t *testing.T, worlds map[int]*booking.State, sc bt.Scenario, from, to int) {
	t.Helper()
	mem := booking.NewState()
	for _, e := range sc.Events {
		bt.Merge(mem, booking.Decide(mem, []booking.Delivery{bt.Deliver(e, 1)}, storetest.Now))
	}
	want := bt.Picture(mem, sc.Rivals)
	for w := from; w < to; w++ {
		if got := bt.Picture(worlds[w], sc.Rivals); got != want {
			t.Fatalf("%s: world %d ends in\n%s\n\nwant\n%s", sc.Name, w, got, want)
		}
		if why := bt.Check(worlds[w]); why != "" {
			t.Fatalf("%s: world %d: %s", sc.Name, w, why)
		}
	}
}
