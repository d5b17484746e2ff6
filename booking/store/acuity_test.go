package store_test

import (
	"errors"
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

// ordersAtAcuity plays the stories of what happens at Acuity on a database with
// two instances, each order in a world of its own: every order of the short
// stories, samples of the long ones. Tickets are the store's, committed when a
// fetch begins. Each world must be answered and end as it is in memory.
func ordersAtAcuity(t *testing.T, name, url string) {
	t.Helper()
	most, sample := 300, 40
	switch {
	case os.Getenv("SLOTKEEPER_SOAK") != "":
		most, sample = 0, 1000
	case testing.Short(), store.RaceDetector:
		most, sample = 10, 6
	}
	b := storetest.NewBench(t, url)
	c := providers.Connection{
		ID: uuid.New(), Provider: bt.Acuity.Provider, APIBase: bt.Acuity.Base, Name: "studio", CreatedAt: storetest.Now,
		Secrets: providers.Secrets{Current: "the studio's key"}, API: providers.Credentials{User: "12345678", Token: "the studio's key"},
	}
	if err := b.CreateConnection(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	a := &atAcuity{instances: [2]*store.Store{b.Store, storetest.Open(t, url)}, connection: c.ID}
	want, claims := []*acuityWorld(nil), 0
	for i, story := range bt.AcuityStories() {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		var worlds []*acuityWorld
		for p := range story.Orders(most, sample, r) {
			worlds = append(worlds, newAcuityWorld(len(want)+len(worlds), story, p))
		}
		a.play(t, r, worlds)
		want = append(want, worlds...)
	}
	stored, err := b.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ends := bt.Worlds(stored)
	for n, w := range want {
		claims += len(w.claims)
		end := ends[n]
		if end == nil { // nothing was ever seen of it
			end = booking.NewState()
		}
		if got := bt.Picture(end, w.rivals); got != w.want {
			t.Fatalf("%s: order %v ends in\n%s\n\nin memory in\n%s", w.story, w.all, got, w.want)
		}
		if why := bt.Check(end); why != "" {
			t.Fatalf("%s: order %v: %s", w.story, w.all, why)
		}
	}
	if open, err := b.Unsettled(t.Context(), 10); err != nil || len(open) > 0 {
		t.Errorf("receipts %v are left open: %v", open, err)
	}
	t.Logf("%d orders of %d stories at Acuity ran on %s: %d fetches, %d sets", len(want), len(bt.AcuityStories()), name, claims, a.sets)
}

// acuityWorld is an order that is under way.
type acuityWorld struct {
	n      int
	story  string
	rivals bool
	want   string // the end's picture
	all    []bt.AcuityStep
	steps  []bt.AcuityStep // that are left
	ids    uuid.UUID       // of the world's receipts
	claims map[int]providers.Claim
}

func newAcuityWorld(n int, story bt.AcuityStory, p bt.AcuityPlay) *acuityWorld {
	return &acuityWorld{
		n: n, story: story.Name, rivals: story.Rivals, want: bt.Picture(p.End, story.Rivals), all: p.Steps, steps: p.Steps,
		ids: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, "world ", n)), claims: map[int]providers.Claim{},
	}
}

// receipt is a receipt's id in this world.
func (w *acuityWorld) receipt(id uuid.UUID) uuid.UUID { return uuid.NewSHA1(w.ids, id[:]) }

// atAcuity are the two instances that fetch and apply by turns.
type atAcuity struct {
	instances  [2]*store.Store
	connection uuid.UUID
	last       providers.Claim
	sets       int
}

// due is a delivery of a world with what it must be answered.
type due struct {
	world *acuityWorld
	step  bt.AcuityStep
	post  booking.Post
}

// play goes on in all worlds until each is at its end. What they deliver meanwhile
// makes up sets; a fetch begins only when what came before it is committed.
func (a *atAcuity) play(t *testing.T, r *rand.Rand, worlds []*acuityWorld) {
	t.Helper()
	for {
		var set []due
		under := false
		for _, w := range worlds {
			set = append(set, a.next(t, w, 1+r.IntN(3))...)
			under = under || len(w.steps) > 0
		}
		for part := range slices.Chunk(set, 64) {
			a.apply(t, part)
		}
		if !under {
			return
		}
	}
}

// next takes a world's steps up to so many deliveries.
func (a *atAcuity) next(t *testing.T, w *acuityWorld, most int) (set []due) {
	t.Helper()
	for len(w.steps) > 0 && len(set) < most {
		step := w.steps[0]
		switch {
		case step.Act == bt.AcuityBegins && len(set) > 0:
			return set
		case step.Act == bt.AcuityBegins:
			a.claim(t, w, step)
		case step.Delivery != nil:
			set = append(set, due{w, step, a.post(w, step)})
		}
		w.steps = w.steps[1:]
	}
	return set
}

func (a *atAcuity) claim(t *testing.T, w *acuityWorld, step bt.AcuityStep) {
	t.Helper()
	id := w.receipt(step.Receipt)
	claim, err := a.instances[step.Fetch%2].Claim(t.Context(), id, storetest.Now)
	if err != nil {
		t.Fatalf("%s: order %v: %s: %v", w.story, w.all, step, err)
	}
	if claim.ReceiptID != id || claim.Connection.ID != a.connection || claim.Status != booking.StatusPending || claim.Kind != booking.KindDetails {
		t.Fatalf("%s: order %v: %s: claimed %+v", w.story, w.all, step, claim)
	}
	if !claim.Ticket.After(a.last.Ticket) {
		t.Fatalf("ticket %s follows %s", claim.Ticket, a.last.Ticket)
	}
	a.last, w.claims[step.Fetch] = claim, claim
}

// post is the world's own of a delivery in memory.
func (a *atAcuity) post(w *acuityWorld, step bt.AcuityStep) booking.Post {
	d := *step.Delivery
	d.ReceiptID, d.ConnectionID = w.receipt(d.ReceiptID), a.connection
	p := booking.Post{
		Body: []byte("action=changed&id=" + step.Appointment), VerifiedBy: providers.ByCurrent, RequestID: fmt.Sprint(w.n), ReceivedAt: storetest.Now,
	}
	if d.Poke {
		source := bt.Elsewhere(&booking.Event{Source: bt.Acuity}, w.n).Source
		d.Subject = booking.Subject(source, step.Appointment)
	} else {
		claim := w.claims[step.Fetch]
		d.EventKey, d.Event = claim.EventKey, bt.Elsewhere(d.Event, w.n)
		d.Event.Key, d.Event.At = claim.EventKey, claim.Ticket
		p.Snapshot = []byte(`{"id":` + step.Appointment + `}`)
	}
	p.Delivery = d
	return p
}

func (a *atAcuity) apply(t *testing.T, part []due) {
	t.Helper()
	set := make([]booking.Post, 0, len(part))
	for _, d := range part {
		set = append(set, d.post)
	}
	a.sets++
	answers, err := a.instances[a.sets%2].Apply(t.Context(), set, storetest.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range part {
		got, want := answers[i], d.step.Answer
		if got.Status != want.Status || got.Original != want.Original || got.Reason != want.Reason || got.ReceiptID != d.world.receipt(want.ReceiptID) {
			t.Fatalf("%s: order %v: %s is answered\n%+v, in memory\n%+v", d.world.story, d.world.all, d.step, got, want)
		}
	}
}

// What is settled is nobody's to take up any more.
func TestSettledIsNotClaimed(t *testing.T) {
	t.Parallel()
	for name, url := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, url(t))
			b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "a", 0, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
			list, err := b.Receipts(t.Context(), booking.Filter{}, booking.Page{})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			for _, id := range []uuid.UUID{list.Items[0].ID, uuid.New()} {
				if claim, err := b.Claim(t.Context(), id, storetest.Now); !errors.Is(err, booking.ErrNotFound) {
					t.Errorf("claimed %+v, %v", claim, err)
				}
			}
		})
	}
}
