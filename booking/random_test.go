package booking_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// TestRandomHistories draws whole histories of a few bookings over three
// providers and lets two orders of each, in sets and with copies, end alike.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 2, 9).Draw(t, "events")
		set := make([]booking.Delivery, 0, 2*len(events))
		seen := map[string]bool{}
		for _, e := range events {
			if !seen[e.Key] {
				seen[e.Key] = true
				set = append(set, bt.Deliver(e, 1))
			}
		}
		// What may depend on the order only when bookings fight for a place or
		// a seat: every booking its own host and hour, or all on one.
		want := runs(t, set, one)
		copies := append(rapid.Permutation(set).Draw(t, "order"), rapid.Permutation(set).Draw(t, "copies")...)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5), len(copies), len(copies)).Draw(t, "sizes")
		got := runs(t, copies, func() int { n := sizes[0]; sizes = sizes[1:]; return n })
		if got != want {
			t.Fatalf("order %v\nends in\n%s\n\nbut %v\nin\n%s", keys(copies), got, keys(set), want)
		}
	})
}

func runs(t *rapid.T, set []booking.Delivery, sizes func() int) string {
	st := booking.NewState()
	for len(set) > 0 {
		n := min(sizes(), len(set))
		ch := booking.Decide(st, set[:n], bt.Day)
		for i, a := range ch.Answers {
			if a.Status == booking.StatusFailed {
				t.Fatalf("%s failed: %s", set[i].EventKey, a.Error)
			}
		}
		bt.Merge(st, ch)
		set = set[n:]
		if why := bt.Check(st); why != "" {
			t.Fatalf("after %v: %s", keys(set), why)
		}
	}
	return bt.Picture(st, true)
}

func drawEvent(t *rapid.T) *booking.Event {
	source := rapid.SampledFrom([]booking.Source{bt.Calendly, bt.Calcom, bt.Calcom, bt.Generic}).Draw(t, "source")
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
	kinds := []booking.Kind{booking.KindCreated, booking.KindCreated, booking.KindCanceled, booking.KindNoShow}
	if source != bt.Calendly {
		kinds = append(kinds, booking.KindRequested, booking.KindMoved)
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	n := rapid.IntRange(0, 12).Draw(t, "minute")
	who := rapid.SampledFrom([]string{"priya", "kofi", "lena"}).Draw(t, "who")
	people := []string{who}
	if source == bt.Calcom && rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		people = append(people, "sean")
	}
	if source != bt.Calcom {
		people = []string{"inv" + id}
	}
	opts := []bt.Option{bt.For(people...)}
	if kind == booking.KindNoShow {
		opts = append(opts, bt.Missed(rapid.Bool().Draw(t, "missed")))
		if source == bt.Calendly {
			opts = append(opts, bt.In("s-"+id))
		}
		return unique(bt.New(source, kind, id, n, opts...))
	}
	hour := 9 + rapid.IntRange(0, 3).Draw(t, "hour")
	length := rapid.SampledFrom([]int{15, 30, 59}).Draw(t, "length")
	opts = append(opts, bt.When(fmt.Sprintf("%02d:00", hour), fmt.Sprintf("%02d:%02d", hour, length)))
	hosts := rapid.SampledFrom([][]string{{"maren"}, {"theo"}, {"maren", "theo"}}).Draw(t, "hosts")
	opts = append(opts, bt.With(hosts...))
	switch source {
	case bt.Calcom:
		if rapid.Bool().Draw(t, "seated") {
			opts = append(opts, bt.Seats(rapid.IntRange(1, 3).Draw(t, "seats")))
		}
		if rapid.Bool().Draw(t, "cut") {
			opts = append(opts, bt.Cut())
		}
		if kind == booking.KindMoved && rapid.Bool().Draw(t, "confirmed") {
			opts = append(opts, bt.Confirmed())
		}
	case bt.Calendly:
		session := rapid.SampledFrom([]string{"g", "s-" + id}).Draw(t, "session")
		opts = append(opts, bt.In(session))
		if rapid.Bool().Draw(t, "room") {
			opts = append(opts, bt.Room(rapid.IntRange(1, 3).Draw(t, "seats")))
		}
	}
	if kind != booking.KindCanceled && rapid.IntRange(0, 2).Draw(t, "linked") == 0 {
		opts = append(opts, bt.From(rapid.SampledFrom([]string{"a", "b", "c", "never"}).Draw(t, "from")))
	}
	if kind == booking.KindCanceled && source == bt.Calendly && rapid.Bool().Draw(t, "to") {
		opts = append(opts, bt.To(rapid.SampledFrom([]string{"a", "b", "c", "never"}).Draw(t, "succ")))
	}
	if rapid.Bool().Draw(t, "titled") {
		opts = append(opts, bt.Title(rapid.SampledFrom([]string{"One", "Two"}).Draw(t, "title")))
	}
	return unique(bt.New(source, kind, id, n, opts...))
}

// unique makes the key say all that the event says, as a provider's clock of a
// real event would: two different bodies never have one key.
func unique(e *booking.Event) *booking.Event {
	e.Key = strings.ReplaceAll(fmt.Sprintf("%s|%v|%v|%v|%v|%v|%v|%s|%s", e.Key, e.Session.StartsAt, e.Session.EndsAt, e.Session.Hosts, e.Session.HostsCut,
		deref(e.Seats), deref(e.Session.Capacity), e.Predecessor, e.Successor)+deref(e.Title)+fmt.Sprint(e.Confirmed, e.Session.ExternalID)+missed(e), " ", "")
	return e
}

func missed(e *booking.Event) string {
	if len(e.Attendees) == 0 {
		return ""
	}
	return deref(e.Attendees[0].NoShow)
}

func deref[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}
