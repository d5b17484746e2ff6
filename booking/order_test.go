package booking_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// play applies the deliveries in sets of the given sizes to an empty state.
func play(t testing.TB, set []booking.Delivery, sizes func() int) *booking.State {
	t.Helper()
	return playOn(t, booking.NewState(), set, sizes)
}

// playOn applies them to a state, which it changes.
func playOn(t testing.TB, st *booking.State, set []booking.Delivery, sizes func() int) *booking.State {
	t.Helper()
	for len(set) > 0 {
		n := min(sizes(), len(set))
		ch := booking.Decide(st, set[:n], bt.Day)
		for i, a := range ch.Answers {
			if a.Status == booking.StatusFailed {
				t.Fatalf("%s failed: %s", set[i].EventKey, a.Error)
			}
			if a.Status == booking.StatusUnchanged && named(ch, a.ReceiptID) {
				t.Fatalf("%s changed nothing, and rows say that it did", set[i].EventKey)
			}
		}
		audit(t, st.Ledger, ch)
		bt.Merge(st, ch)
		set = set[n:]
	}
	return st
}

// lastChanged tells whether a booking names the receipt as the last that changed it.
func lastChanged(ch booking.Changes, receipt uuid.UUID) bool {
	return slices.ContainsFunc(ch.Bookings, func(b booking.Booking) bool { return b.LastReceiptID == receipt })
}

// named tells whether a booking, slot or transition names the receipt.
func named(ch booking.Changes, receipt uuid.UUID) bool {
	return lastChanged(ch, receipt) ||
		slices.ContainsFunc(ch.Slots, func(s booking.Slot) bool { return s.ReceiptID == receipt }) ||
		slices.ContainsFunc(ch.Transitions, func(tr booking.Transition) bool { return tr.ReceiptID == receipt })
}

// audit checks that a set's transitions continue the chain, name a receipt that the
// set keeps, and that none leads out of canceled.
func audit(t testing.TB, l booking.Ledger, ch booking.Changes) {
	t.Helper()
	kept := map[uuid.UUID]bool{}
	for _, r := range slices.Concat(ch.Receipts, ch.Resolved) {
		kept[r.ID] = true
	}
	for _, tr := range ch.Transitions {
		if tr.Seq != l.Seq+1 || tr.Prev != l.Head || tr.Sum() != tr.Hash {
			t.Fatalf("transition %d does not continue the chain", tr.Seq)
		}
		if tr.ReceiptID != uuid.Nil && !kept[tr.ReceiptID] {
			t.Fatalf("transition %d names a receipt that is not kept", tr.Seq)
		}
		l.Seq, l.Head = tr.Seq, tr.Hash
		if tr.Outcome == booking.Applied && tr.From == booking.Canceled && tr.To != booking.Canceled {
			t.Fatalf("a canceled booking came back: %+v", tr)
		}
		if tr.Outcome == booking.Applied {
			legal := false
			for _, g := range []booking.Guard{booking.Free, booking.Held, booking.Unconfirmed} {
				if to, err := booking.Next(tr.From, tr.Event, g); err == nil && to == tr.To {
					legal = true
				}
			}
			// Fellows of a moved session keep their state.
			if !legal && (tr.Event != booking.Move || tr.From != tr.To) {
				t.Fatalf("the table has no row for %s: %q to %q", tr.Event, tr.From, tr.To)
			}
		}
	}
	if l != ch.Ledger {
		t.Fatalf("the ledger says %d, the transitions end at %d", ch.Ledger.Seq, l.Seq)
	}
}

func one() int { return 1 }

// permutations calls f with every order of n things.
func permutations(n int, f func([]int)) {
	var rec func([]int)
	rec = func(p []int) {
		if len(p) == n {
			f(p)
			return
		}
		for i := range n {
			if !slices.Contains(p, i) {
				rec(append(slices.Clone(p), i))
			}
		}
	}
	rec(nil)
}

// withCopies mixes copies into an order: the same delivery again, and the same
// event over a second connection.
func withCopies(r *rand.Rand, order []booking.Delivery, events []*booking.Event) []booking.Delivery {
	out := slices.Clone(order)
	for _, d := range order {
		out = slices.Insert(out, r.IntN(len(out)+1), d)
	}
	for _, e := range events {
		if r.IntN(2) == 0 {
			out = slices.Insert(out, r.IntN(len(out)+1), bt.Deliver(e, 2))
		}
	}
	return out
}

// TestOrderDoesNotMatter plays each scenario in every order. What was read comes as
// runs deliver it: the same read has a receipt in one order and none in another.
func TestOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	orders := 0
	for _, sc := range bt.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			var first []booking.Delivery
			reads := map[bool]int{} // by whether a receipt of one is kept
			for _, e := range sc.Events {
				first = append(first, bt.Deliver(e, 1))
			}
			st := play(t, first, one)
			want := bt.Picture(st, sc.Rivals)
			ends(t, st, sc)
			check := func(set []booking.Delivery, sizes func() int) {
				t.Helper()
				orders++
				st := play(t, set, sizes)
				if got := bt.Picture(st, sc.Rivals); got != want {
					t.Fatalf("order %v\nends in\n%s\n\nbut the first in\n%s", keys(set), got, want)
				}
				if why := bt.Check(st); why != "" {
					t.Fatalf("order %v: %s", keys(set), why)
				}
				if why := bt.Kept(st, set); why != "" {
					t.Fatalf("order %v: %s", keys(set), why)
				}
				for _, d := range set {
					if d.Read {
						_, kept := st.Receipts[booking.ReceiptKey{ConnectionID: d.ConnectionID, EventKey: d.EventKey}]
						reads[kept]++
					}
				}
			}
			permutations(len(first), func(p []int) {
				order := make([]booking.Delivery, 0, len(p))
				for _, i := range p {
					order = append(order, first[i])
				}
				check(order, one)
				check(order, func() int { return 1 + r.IntN(4) })
				check(withCopies(r, order, sc.Events), func() int { return 1 + r.IntN(5) })
			})
			if len(reads) == 1 {
				t.Errorf("of reads a receipt is kept, or not: %v; there must be both", reads)
			}
		})
	}
	if n := len(bt.Scenarios()); n < 40 {
		t.Errorf("only %d scenarios", n)
	}
	atAcuity := ordersAtAcuity(t)
	t.Logf("%d orders of %d scenarios ran, and %d of %d stories at Acuity", orders, len(bt.Scenarios()), atAcuity, len(bt.AcuityStories()))
}

func keys(set []booking.Delivery) []string {
	var out []string
	for _, d := range set {
		out = append(out, d.EventKey)
	}
	return out
}

// ends checks that the scenario ends as its story says.
func ends(t *testing.T, st *booking.State, sc bt.Scenario) {
	t.Helper()
	for name, want := range sc.Want {
		found := false
		for _, b := range st.Bookings {
			if b.Source.Provider+"/"+b.ExternalID+"/"+b.Seat == name {
				found = found || string(b.Status)+" "+string(b.Reason) == want
			}
		}
		if !found {
			t.Errorf("%s should end as %q:\n%s", name, want, bt.Picture(st, false))
		}
	}
	if why := bt.Check(st); why != "" {
		t.Error(why)
	}
}
