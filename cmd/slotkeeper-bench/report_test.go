package main

import (
	"strings"
	"testing"
	"time"
)

// TestReport prints two rounds of some phases: the medians, the ratios within
// each round, the most of memory, and only the targets that were measured.
func TestReport(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	round := func(slower float64) map[phase]figures {
		f := func(rate float64, p50 time.Duration, peak int64) figures {
			return figures{rate: rate / slower, p50: time.Duration(float64(p50) * slower), p99: 2 * p50, cpu: ms, peak: peak << 20}
		}
		return map[phase]figures{
			{bareCommit, 1}:                  f(5000, ms, 0),
			{floor, 16}:                      f(300, ms, 0),
			{closed, 1}:                      f(200, 3*ms, 100),
			{closed, 16}:                     f(600, 20*ms, 110),
			{closed, 64}:                     f(600, 20*ms, int64(100*slower)),
			{copies, 16}:                     f(300, ms, 110),
			{postgresKind + weekByStore, 1}:  f(10, 30*ms, 0),
			{postgresKind + weekByHand, 1}:   f(20, 20*ms, 0),
			{young, 16}:                      f(700, ms, 1),
			{grown, 16}:                      f(560, ms, 1),
			{sqliteKind + slotsByStore, 1}:   f(1, 30*ms, 0), // its base is missing
			{"a phase that nobody knows", 1}: f(1, ms, 0),
		}
	}
	b := &bench{
		settings: settings{rounds: 2, each: 5 * time.Second},
		results:  []map[phase]figures{round(1), round(3)},
		took:     map[string]time.Duration{"postgres": 90 * time.Second, "growth": 1500 * ms},
	}
	var out strings.Builder
	if err := b.report(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Rounds: 2, each phase 5s;",
		"Took: postgres 1m30s, growth 2s.",
		"| bare commit | 1 | 3333 | – | 2.00 ms | 2.00 ms | 1.00 ms | – |",
		"| PostgreSQL | 16 | 400 | 2.00 | 40.00 ms | 40.00 ms | 1.00 ms | 110 MB |",
		"| PostgreSQL at 16 connections | at least 1.2 P | 2.00 P | reached |",
		"| p50 of a single connection | at most 2 bare commits | 3.00 bare commits | **not reached** |",
		"| the server's peak memory at 64 connections | under 150 MB | 300 MB | **not reached** |",
		"| copies alone to first deliveries, PostgreSQL | at least 1 | 0.50 | **not reached** |",
		"| a week's bookings, store to by hand, PostgreSQL | at most 2 | 1.50 | reached |",
		"| after the year to empty, PostgreSQL | at least 0.8 | 0.80 | reached |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, unwanted := range []string{"nobody knows", "SQLite at 16", "a week's slots, store", "half the top rate"} {
		if strings.Contains(out.String(), unwanted) {
			t.Errorf("the report has %q, which was not measured", unwanted)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestEveryTargetIsReported holds goals against the table: what is asked of a
// phase that no row shows could not be understood.
func TestEveryTargetIsReported(t *testing.T) {
	t.Parallel()
	shown := map[phase]bool{}
	for _, p := range phases() {
		if shown[p] {
			t.Errorf("%v stands twice in the table", p)
		}
		shown[p] = true
	}
	for _, g := range goals() {
		for _, p := range g.of {
			if !shown[p] {
				t.Errorf("%s: %v has no row", g.what, p)
			}
		}
	}
}

func TestYear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		receipts, people, weeks int
	}{{1_000_000, 256, 53}, {20_000, 40, 7}, {3, 40, 1}} {
		p := year(c.receipts)
		if p.people != c.people || p.weeks() != c.weeks || p.receipts() > c.receipts || p.receipts() < c.receipts-1 {
			t.Errorf("of %d receipts: %+v has %d receipts in %d weeks", c.receipts, p, p.receipts(), p.weeks())
		}
		if first := p.first(); first.Weekday() != time.Monday || !first.Before(freeStart) {
			t.Errorf("a year begins on %s", first)
		}
	}
	if got := readable.bookings / readable.weeks(); got != 2000 {
		t.Errorf("a week that is read has %d bookings", got)
	}
	w := readable.weekly(readable.weeks() + 1)
	if !w.from.Equal(readable.first().AddDate(0, 0, 7)) || w.to.Sub(w.from) != 7*24*time.Hour {
		t.Errorf("after the last week comes %s", w.from)
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	const info = "processor\t: 0\nmodel name\t: A Processor: fast\nflags\t\t: fpu\n"
	if got := valueOf(info, "model name"); got != "A Processor: fast" {
		t.Errorf("the model is %q", got)
	}
	if got := valueOf(info, "model"); got != "" {
		t.Errorf("a name that is not there has %q", got)
	}
	if got, err := busyness("1.25 0.50 0.10 1/200 999\n"); err != nil || got != 1.25 {
		t.Errorf("the load is %v (%v)", got, err)
	}
	if _, err := busyness(""); err == nil {
		t.Error("a load was read of nothing")
	}
}
