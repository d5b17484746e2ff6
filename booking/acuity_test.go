package booking_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// ordersAtAcuity tries the interleavings of changes at Acuity, pokes on their way,
// and fetches that begin, ask, end, and die (R15): all end with what Acuity says
// last. It returns how many ran.
func ordersAtAcuity(t *testing.T) int {
	t.Helper()
	most, sampled := 0, 300
	if testing.Short() || raceDetector {
		most, sampled = 2000, 50
	}
	total := 0
	for _, story := range bt.AcuityStories() {
		t.Run("acuity, "+story.Name, func(t *testing.T) {
			straight := story.Straight()
			for id, want := range story.Want {
				b := straight.End.Bookings[booking.ID(bt.Acuity, id, "")]
				if got := string(b.Status) + " " + string(b.Reason); got != want {
					t.Errorf("%s should end as %q, not %q", id, want, got)
				}
			}
			ran, ends := 0, story.Ends()
			for p := range story.Orders(most, sampled, rand.New(rand.NewPCG(3, 5))) {
				ran++
				if got, want := bt.Picture(p.End, story.Rivals), ends(p); got != want {
					t.Fatalf("order %v\nends in\n%s\n\nbut Acuity says last\n%s", p.Steps, got, want)
				}
				for key, r := range p.End.Receipts {
					if r.Status == booking.StatusPending || r.Status == booking.StatusFailed {
						t.Fatalf("order %v\nleaves receipt %s %s %s", p.Steps, key.EventKey, r.Status, r.Error)
					}
				}
				if why := bt.Check(p.End); why != "" {
					t.Fatalf("order %v\n%s", p.Steps, why)
				}
			}
			total += ran
			t.Logf("%d orders", ran)
		})
	}
	return total
}

// Pokes join one whose fetch has not begun, and make a new receipt after that.
func TestPokesJoin(t *testing.T) {
	st := booking.NewState()
	poke := func(n byte) booking.Answer {
		ch := booking.Decide(st, []booking.Delivery{{
			ReceiptID: uuid.UUID{n}, EventKey: "acuity|1|changed", Kind: booking.KindDetails,
			Subject: booking.Subject(bt.Acuity, "1"), Poke: true, Status: booking.StatusPending,
		}}, bt.Day)
		bt.Merge(st, ch)
		return ch.Answers[0]
	}
	first, second := poke(1), poke(2)
	if first.Status != booking.StatusPending || second.Status != booking.StatusDuplicate || second.ReceiptID != first.ReceiptID || second.Original != booking.StatusPending {
		t.Errorf("answered %+v, then %+v", first, second)
	}
	for k, r := range st.Receipts {
		r.Claimed = true
		st.Receipts[k] = r
	}
	if third := poke(3); third.Status != booking.StatusPending || third.ReceiptID == first.ReceiptID {
		t.Errorf("after the fetch began: %+v", third)
	}
}
