package booking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

const person = booking.Actor("user:0b9d6f0e-0000-4000-8000-0000000000aa")

func resourceOf(host string) uuid.UUID {
	return booking.ResourceIDByEmail(host + "@harbourclinic.example")
}

// step is a delivery, or a change that a person makes.
type step func(t testing.TB, st *booking.State)

func delivered(e *booking.Event) step {
	return func(t testing.TB, st *booking.State) {
		t.Helper()
		ch := booking.Decide(st, []booking.Delivery{bt.Deliver(e, 1)}, bt.Day)
		if a := ch.Answers[0]; a.Status == booking.StatusFailed {
			t.Fatalf("%s failed: %s", e.Key, a.Error)
		}
		audit(t, st.Ledger, ch)
		bt.Merge(st, ch)
	}
}

func changed(decide func(st *booking.State) booking.Changes) step {
	return func(t testing.TB, st *booking.State) {
		t.Helper()
		ch := decide(st)
		audit(t, st.Ledger, ch)
		bt.Merge(st, ch)
	}
}

func merge(from, into string) step {
	return changed(func(st *booking.State) booking.Changes {
		return booking.MergeResources(st, resourceOf(from), st.Resources[resourceOf(into)], person, bt.Day)
	})
}

func emailOf(host string) booking.IdentityKey {
	return booking.IdentityKey{ExternalID: host + "@harbourclinic.example"}
}

func split(key booking.IdentityKey, to booking.Resource) step {
	return changed(func(st *booking.State) booking.Changes { return booking.SplitIdentity(st, key, to, person, bt.Day) })
}

func run(t testing.TB, steps ...step) *booking.State {
	t.Helper()
	st := booking.NewState()
	for _, s := range steps {
		s(t, st)
	}
	if why := bt.Check(st); why != "" {
		t.Error(why)
	}
	return st
}

// states of the bookings by their names, "id=status reason".
func states(st *booking.State) string {
	var out []string
	for _, b := range st.Bookings {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%s %s", b.ExternalID, b.Status, b.Reason)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// claimed are the claims that are not released, "session@resource status".
func claimed(st *booking.State) string {
	var out []string
	for _, s := range st.Slots {
		if s.Status != booking.SlotReleased {
			out = append(out, fmt.Sprintf("%s@%s %s", st.Sessions[s.SessionID].ExternalID, st.Resources[s.ResourceID].Name, s.Status))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func made(id string, n int, from, to string, hosts ...string) step {
	return delivered(bt.New(bt.Calcom, booking.KindCreated, id, n, bt.When(from, to), bt.With(hosts...), bt.For("priya")))
}

func TestResourcesChange(t *testing.T) {
	t.Parallel()
	own := booking.Resource{ID: uuid.MustParse("0b9d6f0e-0000-4000-8000-0000000000bb"), Name: "own"}
	mayaAtCalendly := booking.IdentityKey{Source: bt.Calendly, ExternalID: "/users/maya"}
	for _, c := range []struct {
		name   string
		steps  []step
		states string
		claims string
	}{
		{
			"who holds the other keeps it, whoever booked first",
			[]step{made("a", 0, "10:00", "10:30", "maya"), made("b", 1, "10:15", "10:45", "maren"), merge("maya", "maren")},
			"a=conflicted overlap, b=active", "a@maren waiting, b@maren active",
		},
		{
			"of those who come, who booked first goes first",
			[]step{
				made("a1", 1, "10:00", "10:30", "maya"), made("b", 2, "10:30", "11:00", "maren"), made("a2", 3, "11:00", "11:30", "maya"),
				merge("maya", "maren"),
			},
			"a1=active, a2=active, b=active", "a1@maren active, a2@maren active, b@maren active",
		},
		{
			"a meeting of both claims once",
			[]step{made("both", 0, "10:00", "10:30", "maya", "maren"), merge("maya", "maren")},
			"both=active", "both@maren active",
		},
		{
			"who loses its place elsewhere lets in who waited there",
			[]step{
				made("b", 0, "10:00", "10:30", "maren"), made("wide", 1, "10:00", "10:30", "maya", "putri"), made("waits", 2, "10:00", "10:30", "putri"),
				merge("maya", "maren"),
			},
			"b=active, waits=active, wide=conflicted slot_taken", "b@maren active, waits@putri active, wide@maren waiting, wide@putri waiting",
		},
		{
			"who waited for one that loses waits for the holder",
			[]step{
				made("b", 0, "10:00", "10:30", "maren"), made("a", 1, "10:00", "10:30", "maya"), made("late", 2, "10:15", "10:45", "maya"),
				merge("maya", "maren"),
			},
			"a=conflicted slot_taken, b=active, late=conflicted overlap", "a@maren waiting, b@maren active, late@maren waiting",
		},
		{
			"who waited for one that loses, and not for the holder, gets in",
			[]step{
				made("b", 0, "10:00", "10:15", "maren"), made("a", 1, "10:00", "10:30", "maya"), made("late", 2, "10:15", "10:45", "maya"),
				merge("maya", "maren"),
			},
			"a=conflicted slot_taken, b=active, late=active", "a@maren waiting, b@maren active, late@maren active",
		},
		{
			"a later delivery for the merged one's e-mail goes to the other",
			[]step{
				made("a", 0, "09:00", "09:30", "maya"), made("b", 1, "10:15", "10:45", "maren"), merge("maya", "maren"),
				made("later", 2, "10:00", "10:30", "maya"),
				delivered(bt.New(bt.Calendly, booking.KindCreated, "other", 3, bt.When("10:30", "11:00"), bt.With("maya"), bt.For("lena"))),
			},
			"a=active, b=active, later=conflicted overlap, other=conflicted overlap",
			"a@maren active, b@maren active, later@maren waiting, other@maren waiting",
		},
		{
			"merging twice goes all the way",
			[]step{
				made("a", 0, "10:00", "10:30", "maya"), made("b", 1, "09:00", "09:30", "maren"), made("c", 2, "10:00", "10:30", "putri"),
				merge("maya", "maren"), merge("maren", "putri"), made("later", 3, "09:15", "09:45", "maya"),
			},
			"a=conflicted slot_taken, b=active, c=active, later=conflicted overlap",
			"a@putri waiting, b@putri active, c@putri active, later@putri waiting",
		},
		{
			"pending ones move too, and exclude nobody",
			[]step{
				delivered(bt.New(bt.Calcom, booking.KindRequested, "asked", 0, bt.When("10:00", "10:30"), bt.With("maya"), bt.For("priya"))),
				made("b", 1, "10:00", "10:30", "maren"), merge("maya", "maren"),
			},
			"asked=pending, b=active", "asked@maren tentative, b@maren active",
		},
		{
			"splitting an e-mail off takes its providers' names along and lets in who waited",
			[]step{
				made("a", 0, "10:00", "10:30", "maya"),
				delivered(bt.New(bt.Calendly, booking.KindCreated, "cal", 1, bt.When("11:00", "11:30"), bt.With("maya"), bt.For("lena"))),
				made("b", 2, "10:00", "10:30", "maren"), merge("maya", "maren"), split(emailOf("maya"), own),
				delivered(bt.New(bt.Calendly, booking.KindCreated, "silent", 3, bt.When("12:00", "12:30"), bt.NoEmail("maya"), bt.For("sean"))),
			},
			"a=active, b=active, cal=active, silent=active", "a@own active, b@maren active, cal@own active, silent@own active",
		},
		{
			"splitting one provider's name off leaves the e-mail",
			[]step{
				delivered(bt.New(bt.Calendly, booking.KindCreated, "cal", 0, bt.When("10:00", "10:30"), bt.With("maya"), bt.For("lena"))),
				made("a", 1, "10:15", "10:45", "maya"), split(mayaAtCalendly, own),
				delivered(bt.New(bt.Calendly, booking.KindCreated, "next", 2, bt.When("10:15", "10:45"), bt.With("maya"), bt.For("sean"))),
			},
			"a=active, cal=active, next=conflicted overlap", "a@maya active, cal@own active, next@own waiting",
		},
		{
			"splitting to another that is taken conflicts",
			[]step{
				delivered(bt.New(bt.Calendly, booking.KindCreated, "cal", 0, bt.When("10:00", "10:30"), bt.With("maya"), bt.For("lena"))),
				made("b", 1, "10:00", "10:30", "maren"),
				split(mayaAtCalendly, booking.Resource{ID: resourceOf("maren"), Name: "maren"}),
			},
			"b=active, cal=conflicted slot_taken", "b@maren active, cal@maren waiting",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := run(t, c.steps...)
			if got := states(st); got != c.states {
				t.Errorf("bookings\n got %s\nwant %s", got, c.states)
			}
			if got := claimed(st); got != c.claims {
				t.Errorf("claims\n got %s\nwant %s", got, c.claims)
			}
		})
	}
}

// A change that a person makes may come before, between or after the deliveries:
// where nobody fights, all ends the same; where they do, who holds may differ,
// and nothing else.
func TestMergeOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	create := func(id string, n int, opts ...bt.Option) *booking.Event {
		return bt.New(bt.Calcom, booking.KindCreated, id, n, append(opts, bt.For(id))...)
	}
	for _, c := range []struct {
		name   string
		rivals bool
		events []*booking.Event
	}{
		{"peace", false, []*booking.Event{
			create("p", 10, bt.When("10:00", "10:30"), bt.With("maya")),
			create("r", 12, bt.When("11:00", "11:30"), bt.With("maya", "maren")),
			bt.New(bt.Calendly, booking.KindCreated, "s", 13, bt.When("12:00", "12:30"), bt.With("maya"), bt.For("sean")),
			bt.New(bt.Calcom, booking.KindCanceled, "r", 14, bt.With("maya", "maren"), bt.For("r")),
		}},
		{"rivals", true, []*booking.Event{
			create("p", 10, bt.When("10:00", "10:30"), bt.With("maya")),
			create("q", 11, bt.When("10:15", "10:45"), bt.With("maren")),
			create("r", 12, bt.When("10:30", "11:00"), bt.With("maya", "putri")),
			bt.New(bt.Calendly, booking.KindCreated, "u", 14, bt.When("10:00", "11:00"), bt.With("maya"), bt.For("sean")),
		}},
		{"the holder leaves", true, []*booking.Event{
			create("p", 10, bt.When("10:00", "10:30"), bt.With("maya")),
			create("q", 11, bt.When("10:00", "10:30"), bt.With("maren")),
			bt.New(bt.Calcom, booking.KindCanceled, "q", 12, bt.With("maren"), bt.For("q")),
			bt.New(bt.Calcom, booking.KindMoved, "p", 14, bt.When("10:15", "10:45"), bt.With("maya"), bt.For("p")),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			known := []step{made("first", 0, "08:00", "08:30", "maya"), made("second", 1, "08:30", "09:00", "maren")}
			want, orders := "", 0
			permutations(len(c.events), func(order []int) {
				for at := range len(order) + 1 {
					steps := slices.Clone(known)
					for i, n := range order {
						if i == at {
							steps = append(steps, merge("maya", "maren"))
						}
						steps = append(steps, delivered(c.events[n]))
					}
					if at == len(order) {
						steps = append(steps, merge("maya", "maren"))
					}
					st := run(t, steps...)
					got := bt.Picture(st, c.rivals)
					if want == "" {
						want = got
					}
					if got != want {
						t.Fatalf("order %v, merged at %d:\n%s\nbut the first order:\n%s", order, at, got, want)
					}
					if t.Failed() {
						t.Fatalf("order %v, merged at %d", order, at)
					}
					orders++
				}
			})
			t.Logf("%d orders", orders)
		})
	}
}

func TestRemapKnowsTheEmailOfItsResource(t *testing.T) {
	t.Parallel()
	address := "maya@harbourclinic.example"
	silent := delivered(bt.New(bt.Calendly, booking.KindCreated, "silent", 0, bt.When("10:00", "10:30"), bt.NoEmail("room"), bt.For("sean")))
	mapped := changed(func(st *booking.State) booking.Changes {
		return booking.Remap(st, booking.Identity{Source: bt.Calendly, ExternalID: "/users/room"},
			booking.Resource{ID: booking.ResourceIDByEmail(address), Name: address}, person, bt.Day)
	})
	// Merged before anybody heard of the e-mail: it must not come back to life.
	st := run(t, silent, made("b", 1, "11:00", "11:30", "maren"), mapped, merge("maya", "maren"), made("a", 2, "10:15", "10:45", "maya"))
	if got, want := states(st), "a=conflicted overlap, b=active, silent=active"; got != want {
		t.Errorf("bookings\n got %s\nwant %s", got, want)
	}
}

func TestGivenNameStays(t *testing.T) {
	t.Parallel()
	bare := func(e *booking.Event) {
		e.Session.Hosts = []booking.Host{{ExternalID: "maya@harbourclinic.example", Email: "maya@harbourclinic.example"}}
	}
	first := delivered(bt.New(bt.Calcom, booking.KindCreated, "a", 0, bt.When("10:00", "10:30"), bare, bt.For("priya")))
	given := func(_ testing.TB, st *booking.State) {
		r := st.Resources[resourceOf("maya")]
		r.NameGiven = true
		st.Resources[r.ID] = r
	}
	for name, want := range map[bool]string{false: "maya", true: "maya@harbourclinic.example"} {
		steps := []step{first, made("b", 1, "11:00", "11:30", "maya")}
		if name {
			steps = slices.Insert(steps, 1, step(given))
		}
		if got := run(t, steps...).Resources[resourceOf("maya")].Name; got != want {
			t.Errorf("given %v: the name is %q, want %q", name, got, want)
		}
	}
}

func TestImpact(t *testing.T) {
	t.Parallel()
	st := run(t,
		made("b", 0, "10:00", "10:30", "maren"), made("wide", 1, "10:00", "10:30", "maya", "putri"), made("waits", 2, "10:00", "10:30", "putri"),
		made("free", 3, "09:00", "09:30", "maya"))
	decide := func() booking.Changes {
		return booking.MergeResources(st, resourceOf("maya"), st.Resources[resourceOf("maren")], person, bt.Day)
	}
	ch := decide()
	impact := booking.ImpactOf(st, ch)
	if n := len(impact.Conflicts); n != 1 {
		t.Fatalf("%d conflicts", n)
	}
	a, r := impact.Conflicts[0], impact.Released
	if a.Booking.ExternalID != "wide" || a.Booking.Reason != booking.ReasonSlotTaken || !a.StartsAt.Equal(bt.At("10:00")) ||
		len(a.With) != 2 || a.With[0].ExternalID != "b" || a.With[1].ExternalID != "waits" {
		t.Errorf("the conflict is %+v", a)
	}
	if len(r) != 1 || r[0].Booking.ExternalID != "waits" || len(r[0].With) != 1 || r[0].With[0].ExternalID != "wide" {
		t.Errorf("released are %+v", r)
	}
	if impact.Sessions != 3 {
		t.Errorf("claims of %d sessions change", impact.Sessions)
	}
	if n := len(impact.Open(bt.At("10:30"))); n != 0 {
		t.Errorf("%d conflicts are open when all is over", n)
	}
	if n := len(impact.Open(bt.At("10:29"))); n != 1 {
		t.Errorf("%d conflicts are open before the end", n)
	}
	if impact.Mark() != booking.ImpactOf(st, decide()).Mark() {
		t.Error("the same impact has two marks")
	}
	if impact.Mark() == (booking.Impact{}).Mark() {
		t.Error("two impacts have one mark")
	}
	for _, tr := range ch.Transitions {
		want := person
		if tr.Event == booking.Release {
			want = booking.ActorSystem
		}
		if tr.Actor != want || tr.ReceiptID != uuid.Nil || !tr.OccurredAt.Equal(bt.Day.Truncate(time.Microsecond)) {
			t.Errorf("transition %+v", tr)
		}
	}
}
