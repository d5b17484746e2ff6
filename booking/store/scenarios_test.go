package store_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
)

var databases = map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite}

// TestLoadsWhatDecideNeeds plays each scenario, in random orders and sets with
// copies, both on a store and on a state in memory that holds everything. Both
// must end the same to the last field: what the store does not load, it would
// decide otherwise.
func TestLoadsWhatDecideNeeds(t *testing.T) {
	t.Parallel()
	if testing.Short() || store.RaceDetector {
		t.Skip("make test runs it, without the race detector")
	}
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			for _, sc := range bt.Scenarios() {
				for round := range 3 {
					playBoth(t, b, sc, round)
					b.Empty(t)
				}
			}
		})
	}
}

func playBoth(t *testing.T, b *storetest.Bench, sc bt.Scenario, round int) {
	t.Helper()
	h := fnv.New64a()
	fmt.Fprint(h, sc.Name)
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(round)))
	events := slices.Concat(sc.Events, sc.Events[:min(2, len(sc.Events))])
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })

	memory := booking.NewState()
	for len(events) > 0 {
		n := min(1+r.IntN(3), len(events))
		var set []booking.Post
		var deliveries []booking.Delivery
		for _, e := range events[:n] {
			p := b.Post(e)
			set, deliveries = append(set, p), append(deliveries, p.Delivery)
		}
		ch := booking.Decide(memory, deliveries, storetest.Now)
		bt.Merge(memory, ch)
		if got := b.ApplyPosts(t, set...); !reflect.DeepEqual(got, ch.Answers) {
			t.Fatalf("%s, round %d: answers\n%+v, in memory\n%+v", sc.Name, round, got, ch.Answers)
		}
		events = events[n:]
	}
	stored, err := b.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diff(memory, stored) {
		t.Errorf("%s, round %d: %s", sc.Name, round, d)
	}
}

func diff(want, got *booking.State) []string {
	var out []string
	w, g := reflect.ValueOf(*want), reflect.ValueOf(*got)
	for i := range w.NumField() {
		name := w.Type().Field(i).Name
		if w.Field(i).Kind() != reflect.Map {
			if !reflect.DeepEqual(w.Field(i).Interface(), g.Field(i).Interface()) {
				out = append(out, fmt.Sprintf("%s: stored %v, in memory %v", name, g.Field(i), w.Field(i)))
			}
			continue
		}
		for _, k := range w.Field(i).MapKeys() {
			a, b := w.Field(i).MapIndex(k), g.Field(i).MapIndex(k)
			if !b.IsValid() || !reflect.DeepEqual(a.Interface(), b.Interface()) {
				out = append(out, fmt.Sprintf("%s %v:\n   stored %+v\nin memory %+v", name, k, b, a))
			}
		}
		for _, k := range g.Field(i).MapKeys() {
			if !w.Field(i).MapIndex(k).IsValid() {
				out = append(out, fmt.Sprintf("%s %v is stored and not in memory", name, k))
			}
		}
	}
	return out
}
