package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// phases are all, in the order of the report.
func phases() []phase {
	all := []phase{{bareCommit, 1}}
	group := func(name string, others ...string) {
		for _, c := range connections {
			all = append(all, phase{name, c})
		}
		for _, other := range others {
			all = append(all, phase{other, several})
		}
	}
	group(floor)
	group(closed, copies)
	group(closedMixed)
	all = append(all, phase{halfRate, most})
	group(embeddedOne)
	group(embedded, embeddedCopies)
	group(embeddedMixed)
	for _, kind := range []string{postgresKind, sqliteKind} {
		for _, name := range []string{weekByStore, weekByHand, slotsByStore, slotsByHand, weekPage, monthPage} {
			all = append(all, phase{kind + name, 1})
		}
	}
	for _, kind := range []string{postgresKind, sqliteKind} {
		for _, p := range auditPages() {
			all = append(all, auditPhase(kind, p))
		}
	}
	for _, kind := range []string{postgresKind, sqliteKind} {
		all = append(all, phase{kind + quietAcks, several}, phase{kind + replayAcks, several},
			phase{kind + importQuiet, several}, phase{kind + importAcks, several})
	}
	for _, name := range []string{young, grown, embeddedYoung, embeddedGrown} {
		all = append(all, phase{name, several})
	}
	return all
}

// report prints a table of the rounds' medians, and what the targets have come to.
func (b *bench) report(w io.Writer) error {
	fmt.Fprintf(w, "Rounds: %d, each phase %s; medians of the rounds. A delivery is one post, answered and committed.\n", b.rounds, b.each)
	var took []string
	for _, p := range parts() {
		if d, ok := b.took[p.name]; ok {
			took = append(took, p.name+" "+d.Round(time.Second).String())
		}
	}
	fmt.Fprintf(w, "Took: %s.\n\n", strings.Join(took, ", "))
	fmt.Fprint(w, "| | connections | per second | ratio to P | p50 | p99 | server's CPU each | peak memory |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, p := range phases() {
		if !b.measured(p) {
			continue
		}
		ratio := "–"
		if p.name == closed || p.name == closedMixed {
			ratio = fmt.Sprintf("%.2f", over(b.results, p, phase{floor, p.connections}, rateOfPhase))
		}
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %s | %s | %s | %s |\n", p.name, p.connections, b.median(p, rateOfPhase), ratio,
			milliseconds(b.medianTime(p, p50Of)), milliseconds(b.medianTime(p, p99Of)), milliseconds(b.medianTime(p, cpuOfPhase)), megabytes(b.largest(p)))
	}
	fmt.Fprint(w, "\n| | asked | measured | |\n|---|--:|--:|---|\n")
	for _, t := range b.targets() {
		verdict := "**not reached**"
		if t.reached {
			verdict = "reached"
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.what, t.asked, t.got, verdict); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) median(p phase, value func(figures) float64) float64 {
	var all []float64
	for _, r := range b.results {
		all = append(all, value(r[p]))
	}
	return median(all)
}

func (b *bench) medianTime(p phase, value func(figures) time.Duration) time.Duration {
	return time.Duration(b.median(p, func(f figures) float64 { return float64(value(f)) }))
}

// largest is the peak of all rounds: of memory nobody is helped by a median.
func (b *bench) largest(p phase) int64 {
	var most int64
	for _, r := range b.results {
		most = max(most, r[p].peak)
	}
	return most
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func megabytes(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MB", n>>20)
}
