package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// at says an event's time by instants, for what is not on bt.Day.
func at(from, to string) bt.Option {
	return func(e *booking.Event) {
		a, b := instant(from), instant(to)
		e.Session.StartsAt, e.Session.EndsAt = &a, &b
	}
}

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

// testDays counts bookings by the days of a zone whose clock is changed among them:
// each in the days that it is on there, whatever the database's own zone.
func testDays(t *testing.T, b *Bench) {
	one := func(id, host, from, to string) {
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, id, 10, at(from, to), bt.With(host), bt.For("dewi"), bt.Title("Visit of "+id)))
	}
	one("first", "a", "2026-10-24T10:00:00+02:00", "2026-10-24T11:00:00+02:00")
	one("night", "b", "2026-10-24T23:30:00+02:00", "2026-10-25T00:30:00+02:00") // on both
	one("midnight", "c", "2026-10-24T23:00:00+02:00", "2026-10-25T00:00:00+02:00")
	one("second", "d", "2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00") // the hour that comes again
	one("late", "e", "2026-10-25T23:30:00+01:00", "2026-10-25T23:45:00+01:00")   // the 25th hour
	one("long", "f", "2026-10-10T00:00:00+02:00", "2026-10-26T12:00:00+01:00")   // began long before
	one("after", "g", "2026-10-27T00:00:00+01:00", "2026-10-27T01:00:00+01:00")
	one("gone", "h", "2026-10-25T09:00:00+01:00", "2026-10-25T10:00:00+01:00")
	b.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "gone", 20))
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "rival", 30, at("2026-10-25T02:40:00+01:00", "2026-10-25T03:00:00+01:00"), bt.With("d"), bt.For("agus")))

	midnights := []string{"2026-10-24T00:00:00+02:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", "2026-10-27T00:00:00+01:00"}
	var days []booking.Period
	for i := range 3 {
		days = append(days, booking.Period{From: instant(midnights[i]), To: instant(midnights[i+1])})
	}
	counted := func(f booking.Filter, days ...booking.Period) string {
		t.Helper()
		counts, _, err := b.ByDay(t.Context(), f, days, 0)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range counts {
			out = append(out, fmt.Sprintf("%d %s %d", c.Day, c.Status, c.Count))
		}
		return strings.Join(out, ", ")
	}
	for name, tt := range map[string]struct {
		f    booking.Filter
		want string
	}{
		"all":            {booking.Filter{}, "0 active 4, 1 active 4, 1 canceled 1, 1 conflicted 1, 2 active 1"},
		"by state":       {booking.Filter{Statuses: []string{"conflicted", "canceled"}}, "1 canceled 1, 1 conflicted 1"},
		"by text":        {booking.Filter{Text: "VISIT of n"}, "0 active 1, 1 active 1"},
		"by a hidden":    {booking.Filter{Text: "visit of", Scope: booking.Scope{HideNames: true}}, ""},
		"by provider":    {booking.Filter{Provider: "generic"}, "1 conflicted 1"},
		"of no resource": {booking.Filter{Scope: booking.Nothing()}, ""},
	} {
		if got := counted(tt.f, days...); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	// One period for all: each counts once.
	if got := counted(booking.Filter{}, booking.Period{From: days[0].From, To: days[2].To}); got != "0 active 6, 0 canceled 1, 0 conflicted 1" {
		t.Errorf("at once: %q", got)
	}
	// A day that never was has nothing, and no days have nothing.
	if got := counted(booking.Filter{}, booking.Period{From: days[1].From, To: days[1].From}) + counted(booking.Filter{}); got != "" {
		t.Errorf("no time at all has %q", got)
	}

	counts, first, err := b.ByDay(t.Context(), booking.Filter{Statuses: []string{"active", "conflicted"}}, days, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) != 4 {
		t.Errorf("beside the first: %+v", counts)
	}
	for i, want := range []string{"long first midnight", "rival long night", "long"} {
		if got := placesInOrder(first[i]); got != want {
			t.Errorf("the first of day %d are %q, want %q", i, got, want)
		}
	}
}

// testDayPlaces gives those of one meeting once, those of other meetings at that time
// apart, and finds what was before.
func testDayPlaces(t *testing.T, b *Bench) {
	for i, n := range []string{"c1", "c2", "c3"} {
		b.Apply(t, bt.New(bt.Generic, booking.KindCreated, n, 10+i, bt.When("09:00", "10:00"), bt.With("host"), bt.For(n), bt.In("class"), bt.Room(5)))
	}
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "alone", 20, bt.When("09:00", "10:00"), bt.With("other"), bt.For("alone")))
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "late", 21, bt.When("15:00", "16:00"), bt.With("other"), bt.For("late")))
	day := booking.Period{From: bt.At("00:00"), To: bt.At("23:00")}
	counts, first, err := b.ByDay(t.Context(), booking.Filter{}, []booking.Period{day}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) != 1 || counts[0].Count != 5 || len(first[0]) != 2 || first[0][0].Others+first[0][1].Others != 2 {
		t.Errorf("counted %+v, the first are %q", counts, placesInOrder(first[0]))
	}
	last, err := b.BookingBefore(t.Context(), booking.Filter{}, bt.At("15:00"))
	if err != nil || last.StartsAt == nil || !last.StartsAt.Equal(bt.At("09:00")) || len(last.ResourceIDs) != 1 {
		t.Errorf("before the late one: %+v, %v", last, err)
	}
	if _, err := b.BookingBefore(t.Context(), booking.Filter{}, bt.At("09:00")); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("before the first: %v", err)
	}
}

func placesInOrder(all []booking.DayPlace) string {
	var out []string
	for _, p := range all {
		name := p.ExternalID
		if p.Others > 0 {
			name += fmt.Sprint("+", p.Others)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func namesInOrder(all []booking.View) string {
	var out []string
	for _, v := range all {
		out = append(out, v.ExternalID)
	}
	return strings.Join(out, " ")
}

// testWindow reads a window at once, with what else fits said.
func testWindow(t *testing.T, b *Bench) {
	for i := range 5 {
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, fmt.Sprint("w", i), 10, bt.When(fmt.Sprintf("1%d:00", i), fmt.Sprintf("1%d:30", i)), bt.With("host"), bt.For("dewi")))
	}
	b.Apply(t, canceled("tomb"))
	from, to := bt.At("11:00"), bt.At("14:30")
	f := booking.Filter{From: &from, To: &to}
	for most, want := range map[int]string{2: "w1 w2 and more", 4: "w1 w2 w3 w4", 10: "w1 w2 w3 w4"} {
		all, more, err := b.BookingsWithin(t.Context(), f, most)
		if err != nil {
			t.Fatal(err)
		}
		got := namesInOrder(all)
		if more {
			got += " and more"
		}
		if got != want || len(all) > 0 && len(all[0].ResourceIDs) != 1 {
			t.Errorf("at most %d: %q, want %q", most, got, want)
		}
	}
}

// testFormerPlaces finds where bookings were before they were moved, and nothing
// that merely ended there.
func testFormerPlaces(t *testing.T, b *Bench) {
	before, err := b.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(t, created("moved", "10:00", "10:30"), created("stays", "11:00", "11:30"), created("ends", "12:00", "12:30"))
	b.Apply(t, bt.New(bt.Calendly, booking.KindMoved, "moved", 50, bt.When("15:00", "15:30"), bt.With("putri")))
	b.Apply(t, canceled("ends"))
	if after, err := b.LastSeq(t.Context()); err != nil || after < before+5 {
		t.Errorf("the ledger went from %d to %d: %v", before, after, err)
	}
	from, to := bt.At("09:00"), bt.At("13:00")
	places, err := b.FormerPlaces(t.Context(), booking.Filter{From: &from, To: &to})
	if err != nil {
		t.Fatal(err)
	}
	moved := b.bookings(t, booking.Filter{Text: "moved"})
	if len(moved) != 1 || len(places) != 1 || places[0].BookingID != moved[0].ID || !places[0].StartsAt.Equal(bt.At("10:00")) || places[0].ResourceID != moved[0].ResourceIDs[0] {
		t.Errorf("former places: %+v of %+v", places, moved)
	}
	nobody := uuid.New()
	for name, f := range map[string]booking.Filter{
		"of another resource": {From: &from, To: &to, ResourceID: &nobody}, "later": {From: &to}, "of nobody": {From: &from, To: &to, Scope: booking.Nothing()},
	} {
		if got, err := b.FormerPlaces(t.Context(), f); err != nil || len(got) != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if slices.ContainsFunc(places, func(p booking.FormerPlace) bool { return !p.EndsAt.After(p.StartsAt) }) {
		t.Errorf("a place without length: %+v", places)
	}
}
