package calendar_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"slotkeeper/calendar"
)

var grid = calendar.Grid{Least: 20 * time.Minute, Columns: 3}

// place shows each placed entry as "index top height column/columns".
func place(t *testing.T, zoneName, day string, spans ...string) calendar.Layout {
	t.Helper()
	in := make([]calendar.Span, 0, len(spans)/2)
	for i := 0; i < len(spans); i += 2 {
		in = append(in, calendar.Span{Start: instant(t, spans[i]), End: instant(t, spans[i+1])})
	}
	return grid.Place(date(t, day).In(zone(t, zoneName)), in)
}

func show(l calendar.Layout) []string {
	out := []string{}
	for _, p := range l.Placed {
		s := fmt.Sprintf("%d at %s for %s in %d/%d", p.Index, p.Top, p.Height, p.Column, p.Columns)
		if p.Before {
			s += " before"
		}
		if p.After {
			s += " after"
		}
		out = append(out, s)
	}
	return out
}

func TestPlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		zone, day string
		spans     []string
		want      []string
	}{
		"in the viewer's zone": {
			"Asia/Jakarta", "2026-11-30",
			[]string{"2026-11-30T02:00:00Z", "2026-11-30T02:30:00Z"},
			[]string{"0 at 9h0m0s for 30m0s in 0/1"},
		},
		"half-hour zone": {
			"Asia/Kolkata", "2026-11-30",
			[]string{"2026-11-30T03:30:00Z", "2026-11-30T04:30:00Z"},
			[]string{"0 at 9h0m0s for 1h0m0s in 0/1"},
		},
		"quarter-hour zone": {
			"Asia/Kathmandu", "2026-11-30",
			[]string{"2026-11-30T03:15:00Z", "2026-11-30T04:15:00Z"},
			[]string{"0 at 9h0m0s for 1h0m0s in 0/1"},
		},
		"both 02:30s of Berlin": {
			"Europe/Berlin", "2026-10-25",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00"},
			[]string{"0 at 2h30m0s for 30m0s in 0/1", "1 at 3h30m0s for 30m0s in 0/1"},
		},
		"across the missing hour": {
			"Europe/Berlin", "2026-03-29",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"},
			[]string{"0 at 1h30m0s for 1h0m0s in 0/1"},
		},
		"both 01:30s of New York": {
			"America/New_York", "2026-11-01",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T02:00:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"},
			[]string{"0 at 1h30m0s for 30m0s in 0/1", "1 at 2h30m0s for 30m0s in 0/1"},
		},
		"both 01:45s of Lord Howe": {
			"Australia/Lord_Howe", "2026-04-05",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T01:45:00+10:30", "2026-04-05T02:15:00+10:30"},
			[]string{"0 at 1h45m0s for 30m0s in 0/1", "1 at 2h15m0s for 30m0s in 0/1"},
		},
		"over midnight, first day": {
			"UTC", "2026-11-29",
			[]string{"2026-11-29T23:00:00Z", "2026-11-30T01:00:00Z"},
			[]string{"0 at 23h0m0s for 1h0m0s in 0/1 after"},
		},
		"over midnight, second day": {
			"UTC", "2026-11-30",
			[]string{"2026-11-29T23:00:00Z", "2026-11-30T01:00:00Z"},
			[]string{"0 at 0s for 1h0m0s in 0/1 before"},
		},
		"ends at midnight: not on the next day": {
			"UTC", "2026-11-30",
			[]string{"2026-11-29T23:00:00Z", "2026-11-30T00:00:00Z"},
			[]string{},
		},
		"back to back is not side by side": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T10:30:00Z", "2026-11-30T10:30:00Z", "2026-11-30T11:00:00Z"},
			[]string{"0 at 10h0m0s for 30m0s in 0/1", "1 at 10h30m0s for 30m0s in 0/1"},
		},
		"a chain of overlaps shares two columns": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T11:00:00Z", "2026-11-30T10:30:00Z", "2026-11-30T11:30:00Z", "2026-11-30T11:00:00Z", "2026-11-30T12:00:00Z"},
			[]string{"0 at 10h0m0s for 1h0m0s in 0/2", "1 at 10h30m0s for 1h0m0s in 1/2", "2 at 11h0m0s for 1h0m0s in 0/2"},
		},
		"short ones are big enough to hit, and do not cover each other": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T10:05:00Z", "2026-11-30T10:10:00Z", "2026-11-30T10:15:00Z"},
			[]string{"0 at 10h0m0s for 10m0s in 0/1", "1 at 10h10m0s for 20m0s in 0/1"},
		},
		"short ones back to back do not look like an overlap": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T08:00:00Z", "2026-11-30T08:15:00Z", "2026-11-30T08:15:00Z", "2026-11-30T08:30:00Z", "2026-11-30T08:30:00Z", "2026-11-30T08:45:00Z"},
			[]string{"0 at 8h0m0s for 15m0s in 0/1", "1 at 8h15m0s for 15m0s in 0/1", "2 at 8h30m0s for 20m0s in 0/1"},
		},
		"a short one beside a long one grows as far as what follows it": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T11:00:00Z", "2026-11-30T10:30:00Z", "2026-11-30T10:40:00Z", "2026-11-30T10:45:00Z", "2026-11-30T11:00:00Z"},
			[]string{"0 at 10h0m0s for 1h0m0s in 0/2", "1 at 10h30m0s for 15m0s in 1/2", "2 at 10h45m0s for 20m0s in 1/2"},
		},
		"two instants at once": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"},
			[]string{"0 at 10h0m0s for 20m0s in 0/2", "1 at 10h0m0s for 20m0s in 1/2"},
		},
		"two short ones before midnight": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T23:50:00Z", "2026-11-30T23:55:00Z", "2026-11-30T23:55:00Z", "2026-12-01T00:00:00Z"},
			[]string{"0 at 23h50m0s for 5m0s in 0/1", "1 at 23h55m0s for 5m0s in 0/1"},
		},
		"short before midnight": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T23:55:00Z", "2026-12-01T00:00:00Z"},
			[]string{"0 at 23h40m0s for 20m0s in 0/1"},
		},
		"an instant": {
			"UTC", "2026-11-30",
			[]string{"2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"},
			[]string{"0 at 10h0m0s for 20m0s in 0/1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := show(place(t, tt.zone, tt.day, tt.spans...)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestPlaceAllDay(t *testing.T) {
	t.Parallel()
	l := place(t, "Europe/Berlin", "2026-10-25",
		"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", // the whole of a day of 25 hours
		"2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z", // 24 hours of it
		"2026-10-20T00:00:00Z", "2026-10-30T00:00:00Z")
	if !reflect.DeepEqual(l.AllDay, []int{0, 2}) || len(l.Placed) != 1 || l.Placed[0].Index != 1 {
		t.Errorf("all day %v, placed %q", l.AllDay, show(l))
	}
}

// What lasts long is apart on each of its days; where nothing is said of it, only what
// takes the whole day is.
func TestPlaceLong(t *testing.T) {
	t.Parallel()
	d := date(t, "2026-11-30").In(time.UTC)
	spans := []calendar.Span{
		{Start: instant(t, "2026-11-29T23:00:00Z"), End: instant(t, "2026-11-30T19:00:00Z")},
		{Start: instant(t, "2026-11-30T01:00:00Z"), End: instant(t, "2026-11-30T20:59:00Z")},
		{Start: instant(t, "2026-11-30T23:00:00Z"), End: instant(t, "2026-12-01T23:00:00Z")},
	}
	long := calendar.Grid{Least: grid.Least, Columns: grid.Columns, Long: 20 * time.Hour}
	if l := long.Place(d, spans); !reflect.DeepEqual(l.AllDay, []int{0, 2}) || len(l.Placed) != 1 {
		t.Errorf("all day %v, placed %q", l.AllDay, show(l))
	}
	if l := grid.Place(d, spans); len(l.AllDay) != 0 || len(l.Placed) != 3 {
		t.Errorf("without it: all day %v, placed %q", l.AllDay, show(l))
	}
}

func TestPlaceMore(t *testing.T) {
	t.Parallel()
	day := date(t, "2026-11-30").In(time.UTC)
	spans := make([]calendar.Span, 5)
	for i := range spans {
		at := day.Start.Add(10*time.Hour + time.Duration(i)*5*time.Minute)
		spans[i] = calendar.Span{Start: at, End: at.Add(time.Hour), First: i == 4}
	}
	l := grid.Place(day, spans)
	want := []string{"0 at 10h0m0s for 1h0m0s in 1/3", "4 at 10h20m0s for 1h0m0s in 0/3"}
	if got := show(l); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(l.More) != 1 || !reflect.DeepEqual(l.More[0].Entries, []int{1, 2, 3}) || l.More[0].Top != 10*time.Hour+5*time.Minute {
		t.Errorf("more is %+v", l.More)
	}
}

// Whatever is placed: nothing covers anything else, nothing leaves the day, and
// each entry is somewhere exactly once.
func TestPlaceNeverCovers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		day := date(t, "2026-10-25").In(zone(t, "Europe/Berlin"))
		spans := make([]calendar.Span, r.IntN(14))
		for i := range spans {
			at := day.Start.Add(time.Duration(r.IntN(30*12)-30) * 5 * time.Minute)
			spans[i] = calendar.Span{Start: at, End: at.Add(time.Duration(r.IntN(40)) * 5 * time.Minute), First: r.IntN(3) == 0}
		}
		l := grid.Place(day, spans)
		seen := map[int]int{}
		for _, i := range l.AllDay {
			seen[i]++
		}
		for _, m := range l.More {
			for _, i := range m.Entries {
				seen[i]++
			}
		}
		for i, p := range l.Placed {
			seen[p.Index]++
			if p.Top < 0 || p.Top+p.Height > day.Length() || p.Column >= p.Columns || p.Columns > grid.Columns {
				t.Fatalf("placed outside: %+v", p)
			}
			for _, q := range l.Placed[i+1:] {
				if p.Column == q.Column && p.Top < q.Top+q.Height && q.Top < p.Top+p.Height {
					t.Fatalf("%+v covers %+v", p, q)
				}
			}
		}
		for i, s := range spans {
			want := 0
			if s.Overlaps(day.Start, day.End) {
				want = 1
			}
			if seen[i] != want {
				t.Fatalf("entry %d stands %d times, want %d", i, seen[i], want)
			}
		}
	}
}

func TestByDay(t *testing.T) {
	t.Parallel()
	jakarta := zone(t, "Asia/Jakarta")
	days := calendar.Days(date(t, "2026-11-29"), 3, jakarta)
	spans := []calendar.Span{
		{Start: instant(t, "2026-11-30T16:30:00Z"), End: instant(t, "2026-11-30T17:30:00Z")}, // 23:30 to 00:30
		{Start: instant(t, "2026-11-29T17:00:00Z"), End: instant(t, "2026-11-29T18:00:00Z")}, // 30 November, 00:00
		{Start: instant(t, "2026-11-28T16:00:00Z"), End: instant(t, "2026-11-28T17:00:00Z")}, // until midnight of the 29th
	}
	if got, want := calendar.ByDay(days, spans), [][]int{nil, {1, 0}, {0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
