package main

import (
	"fmt"
	"strings"
	"time"
)

// target is what is asked, and what was measured of it.
type target struct {
	what, asked, got string
	reached          bool
}

// goal is what is asked of some phases.
type goal struct {
	what  string
	of    []phase
	asked string
	judge func(b *bench) (got string, reached bool)
}

// targets are the goals whose phases were measured.
func (b *bench) targets() []target {
	var all []target
	for _, g := range goals() {
		if !b.measured(g.of...) {
			continue
		}
		t := target{what: g.what, asked: g.asked}
		t.got, t.reached = g.judge(b)
		all = append(all, t)
	}
	return all
}

func goals() []goal {
	wayIn := []goal{
		atLeast("PostgreSQL at 16 connections", 1.2, " P", phase{closed, 16}, phase{floor, 16}),
		atLeast("PostgreSQL at 64 connections", 2.5, " P", phase{closed, 64}, phase{floor, 64}),
		{"p99 in an open loop at half the top rate", []phase{{halfRate, most}}, "at most 30 ms", func(b *bench) (string, bool) {
			slowest := b.medianTime(phase{halfRate, most}, p99Of)
			return milliseconds(slowest), slowest <= 30*time.Millisecond
		}},
		atMostTwice("p50 of a single connection", " bare commits", phase{closed, 1}, phase{bareCommit, 1}),
		{"the server's peak memory at 64 connections", []phase{{closed, most}}, "under 150 MB", func(b *bench) (string, bool) {
			peak := b.largest(phase{closed, most})
			return megabytes(peak), peak < 150<<20
		}},
		atLeast("copies alone to first deliveries, PostgreSQL", 1, "", phase{copies, several}, phase{closed, several}),
		atLeast("SQLite at 16 connections, sets to sets of one", 4, "", phase{embedded, 16}, phase{embeddedOne, 16}),
		atLeast("copies alone to first deliveries, SQLite", 1, "", phase{embeddedCopies, several}, phase{embedded, several}),
	}
	for _, kind := range []string{postgresKind, sqliteKind} {
		wayIn = append(wayIn,
			atMostTwice("a week's bookings, store to by hand, "+kind, "", phase{kind + weekByStore, 1}, phase{kind + weekByHand, 1}),
			atMostTwice("a week's slots, store to by hand, "+kind, "", phase{kind + slotsByStore, 1}, phase{kind + slotsByHand, 1}),
			within("the calendar's page of a week with 2,000 bookings, p50, "+kind, 150*time.Millisecond, phase{kind + weekPage, 1}))
	}
	wayIn = append(wayIn, auditGoals()...)
	wayIn = append(wayIn, replayGoals()...)
	wayIn = append(wayIn, importGoals()...)
	return append(wayIn,
		atLeast("after the year to empty, PostgreSQL", 0.8, "", phase{grown, several}, phase{young, several}),
		atLeast("after the year to empty, SQLite", 0.8, "", phase{embeddedGrown, several}, phase{embeddedYoung, several}))
}

func rateOfPhase(f figures) float64      { return f.rate }
func p50Of(f figures) time.Duration      { return f.p50 }
func p99Of(f figures) time.Duration      { return f.p99 }
func cpuOfPhase(f figures) time.Duration { return f.cpu }

// atLeast asks a phase's rate to be some times a base's.
func atLeast(what string, least float64, unit string, of, base phase) goal {
	return goal{what, []phase{of, base}, fmt.Sprintf("at least %g%s", least, unit), func(b *bench) (string, bool) {
		got := over(b.results, of, base, rateOfPhase)
		return fmt.Sprintf("%.2f%s", got, unit), got >= least
	}}
}

// within asks a phase's latency to be no more than a time.
func within(what string, limit time.Duration, of phase) goal {
	return goal{what, []phase{of}, "at most " + milliseconds(limit), func(b *bench) (string, bool) {
		got := b.medianTime(of, p50Of)
		return milliseconds(got), got > 0 && got <= limit
	}}
}

// atMostTwice asks a phase's usual latency not to be more than twice a base's.
func atMostTwice(what, unit string, of, base phase) goal {
	return goal{what, []phase{of, base}, "at most 2" + unit, func(b *bench) (string, bool) {
		got := over(b.results, of, base, func(f figures) float64 { return float64(f.p50) })
		return fmt.Sprintf("%.2f%s", got, unit), got > 0 && got <= 2
	}}
}

// slowestTwice asks the slowest percent of a phase's answers not to take more than
// twice as long as a base's, all rounds together; and says how far they lie apart.
func slowestTwice(what, unit string, of, base phase) goal {
	return goal{what, []phase{of, base}, "at most 2" + unit, func(b *bench) (string, bool) {
		slow, usual := pooled(b.results, of), pooled(b.results, base)
		if usual <= 0 {
			return "nothing", false
		}
		var rounds []string
		for _, r := range b.results {
			rounds = append(rounds, fmt.Sprintf("%.2f", float64(r[of].p99)/float64(max(r[base].p99, 1))))
		}
		got := float64(slow) / float64(usual)
		return fmt.Sprintf("%.2f%s (%s to %s; by round %s)", got, unit, milliseconds(usual), milliseconds(slow), strings.Join(rounds, ", ")), got <= 2
	}}
}

// measured tells whether every round has all phases.
func (b *bench) measured(all ...phase) bool {
	for _, p := range all {
		for _, r := range b.results {
			if _, ok := r[p]; !ok {
				return false
			}
		}
	}
	return len(b.results) > 0
}
