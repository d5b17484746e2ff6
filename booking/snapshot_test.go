package booking_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

var acuity = booking.Source{Provider: "acuity", Base: "https://acuityscheduling.com/api/v1"}

// look is what the provider's API says of the appointment: its version n of the
// story, "10:00" or "canceled 10:00".
func look(version string, ticket int) *booking.Event {
	canceled := len(version) > 5
	at := version[len(version)-5:]
	opts := []bt.Option{bt.In("appointment|1"), bt.When(at, at[:3]+"45"), bt.With("maren"), bt.For("priya"), bt.Booked(0)}
	kind := booking.KindSnapshot
	if canceled {
		kind = booking.KindCanceled
	}
	return bt.New(acuity, kind, "1", ticket, opts...)
}

// step is something that happens at the provider, on the way, or here.
type world struct {
	st       *booking.State
	versions []string
	now      int // the provider's version, -1 before the first
	pokes    int // that are on their way
	ticket   int
	fetches  []fetch
	posts    int
}

type fetch struct {
	receipt booking.ReceiptKey
	ticket  int
	seen    int // the version that the GET saw; -1 before it
	done    bool
}

func (w world) clone() world {
	st := *w.st
	st.Receipts, st.Bookings, st.Sessions = maps.Clone(st.Receipts), maps.Clone(st.Bookings), maps.Clone(st.Sessions)
	st.Slots, st.Identities, st.Resources = maps.Clone(st.Slots), maps.Clone(st.Identities), maps.Clone(st.Resources)
	w.st = &st
	w.fetches = append([]fetch(nil), w.fetches...)
	return w
}

// next are all that may happen now: the provider changes and pokes us, a poke
// arrives, a fetch begins, asks, or ends. Every receipt is fetched by whoever is
// free, so that any number of fetches are under way at once.
func (w world) next() []func(*world) {
	var out []func(*world)
	if w.now+1 < len(w.versions) {
		out = append(out, func(w *world) { w.now++; w.pokes++ })
	}
	if w.pokes > 0 {
		out = append(out, func(w *world) {
			w.pokes--
			w.posts++
			bt.Merge(w.st, booking.Decide(w.st, []booking.Delivery{{
				ReceiptID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, w.posts)), EventKey: "acuity|1|changed", Kind: booking.KindDetails,
				Subject: booking.Subject(acuity, "1"), Poke: true, Status: booking.StatusPending, Actor: booking.ActorWebhook,
			}}, bt.Day))
		})
	}
	for key, r := range w.st.Receipts {
		if r.Status == booking.StatusPending && !r.Claimed {
			out = append(out, func(w *world) {
				r.Claimed = true
				w.st.Receipts[key] = r
				w.ticket++
				w.fetches = append(w.fetches, fetch{receipt: key, ticket: w.ticket, seen: -1})
			})
		}
	}
	for i, f := range w.fetches {
		switch {
		case f.seen < 0:
			out = append(out, func(w *world) { w.fetches[i].seen = w.now })
		case !f.done:
			out = append(out, func(w *world) {
				w.fetches[i].done = true
				r := w.st.Receipts[f.receipt]
				bt.Merge(w.st, booking.Decide(w.st, []booking.Delivery{{
					ReceiptID: r.ID, EventKey: r.EventKey, Kind: r.Kind, Event: look(w.versions[f.seen], f.ticket),
					Settles: true, Actor: booking.ActorWebhook,
				}}, bt.Day))
			})
		}
	}
	return out
}

// TestAcuityEndsWithWhatTheProviderSaysLast tries the interleavings of changes
// at the provider, pokes, and fetches that begin, ask and end (R15).
func TestAcuityEndsWithWhatTheProviderSaysLast(t *testing.T) {
	stories := [][]string{
		{"10:00"},
		{"10:00", "11:00"},
		{"10:00", "canceled 10:00"},
		{"10:00", "11:00", "canceled 11:00"},
	}
	total := 0
	for _, story := range stories {
		t.Run(fmt.Sprint(story), func(t *testing.T) {
			var walk func(w world)
			walk = func(w world) {
				steps := w.next()
				if len(steps) == 0 {
					total++
					settled(t, w)
				}
				for _, s := range steps {
					c := w.clone()
					s(&c)
					walk(c)
				}
			}
			walk(world{st: booking.NewState(), versions: story, now: -1})
		})
	}
	r := rand.New(rand.NewPCG(3, 5))
	for range 3000 {
		w := world{st: booking.NewState(), versions: []string{"10:00", "11:00", "10:15", "canceled 10:15"}, now: -1}
		for steps := w.next(); len(steps) > 0; steps = w.next() {
			steps[r.IntN(len(steps))](&w)
		}
		total++
		settled(t, w)
	}
	t.Logf("%d interleavings ran", total)
}

func settled(t *testing.T, w world) {
	t.Helper()
	last := w.versions[len(w.versions)-1]
	b := w.st.Bookings[booking.ID(acuity, "1", "")]
	s := w.st.Sessions[b.SessionID]
	want := booking.Active
	if len(last) > 5 {
		want = booking.Canceled
	}
	if at := bt.At(last[len(last)-5:]); b.Status != want || (want == booking.Active && !s.StartsAt.Equal(at)) {
		t.Fatalf("the provider says %s last, the booking is %s at %s", last, b.Status, s.StartsAt.Format(time.TimeOnly))
	}
	for _, r := range w.st.Receipts {
		if r.Status == booking.StatusPending {
			t.Fatalf("receipt %s is still pending", r.EventKey)
		}
	}
	if why := bt.Check(w.st); why != "" {
		t.Fatal(why)
	}
}

// Pokes join one whose fetch has not begun, and make a new receipt after that.
func TestPokesJoin(t *testing.T) {
	st := booking.NewState()
	poke := func(n byte) booking.Answer {
		ch := booking.Decide(st, []booking.Delivery{{
			ReceiptID: uuid.UUID{n}, EventKey: "acuity|1|changed", Kind: booking.KindDetails,
			Subject: booking.Subject(acuity, "1"), Poke: true, Status: booking.StatusPending,
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
