package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// describeMachine says on what was measured, and how busy it was before.
func describeMachine(ctx context.Context, w io.Writer) {
	memory := "unknown"
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				memory = strings.TrimSpace(rest)
			}
		}
	}
	kernel := "unknown"
	if out, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		kernel = strings.TrimSpace(string(out))
	}
	fmt.Fprintf(w, "%d processors (%s), memory %s, %s, %s.\n", runtime.NumCPU(), runtime.GOARCH, memory, kernel, runtime.Version())
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	if busy, err := busyness(string(b)); err == nil && busy > float64(runtime.NumCPU())/2 {
		fmt.Fprintf(w, "The machine was BUSY before the run (load %.1f): stop whatever else runs, and run it again.\n", busy)
	}
	fmt.Fprintln(w, "Load generator, server and database share the machine. Measure on a quiet one: no tests, no browser, mains power.")
}

// busyness is the load of the last minute.
func busyness(loadavg string) (float64, error) {
	first, _, _ := strings.Cut(loadavg, " ")
	return strconv.ParseFloat(first, 64)
}

// report prints a table of the rounds' medians, and what the targets have come to.
func (b *bench) report(w io.Writer) error {
	fmt.Fprintf(w, "Rounds: %d, each phase %s; medians of the rounds. A delivery is one post, answered and committed.\n\n", b.rounds, b.each)
	fmt.Fprint(w, "| | connections | per second | ratio to P | p50 | p99 | server's CPU each | peak memory |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	rate := func(f figures) float64 { return f.rate }
	for _, p := range phases() {
		ratio := ""
		if p.name == closed || p.name == closedMixed {
			ratio = fmt.Sprintf("%.2f", over(b.results, p, phase{floor, p.connections}, rate))
		}
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %s | %s | %s | %s |\n", p.name, p.connections,
			b.median(p, rate), orDash(ratio), milliseconds(b.medianTime(p, func(f figures) time.Duration { return f.p50 })),
			milliseconds(b.medianTime(p, func(f figures) time.Duration { return f.p99 })),
			milliseconds(b.medianTime(p, func(f figures) time.Duration { return f.cpu })), megabytes(b.largest(p)))
	}
	fmt.Fprintln(w)
	for _, t := range b.targets() {
		verdict := "not reached"
		if t.reached {
			verdict = "reached"
		}
		if _, err := fmt.Fprintf(w, "- %s: %s, %s.\n", t.what, t.got, verdict); err != nil {
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

type target struct {
	what, got string
	reached   bool
}

// targets are what is asked of the way in, and what was measured of it.
func (b *bench) targets() []target {
	rate := func(f figures) float64 { return f.rate }
	ratio := func(what string, of, base phase, least float64) target {
		got := over(b.results, of, base, rate)
		return target{fmt.Sprintf("%s at least %.1f", what, least), fmt.Sprintf("%.2f", got), got >= least}
	}
	alone := over(b.results, phase{closed, 1}, phase{bareCommit, 1}, func(f figures) float64 { return float64(f.p50) })
	slowest := b.medianTime(phase{halfRate, most}, func(f figures) time.Duration { return f.p99 })
	peak := b.largest(phase{closed, most})
	return []target{
		ratio("PostgreSQL at 16 connections, ratio to P", phase{closed, 16}, phase{floor, 16}, 1.2),
		ratio("PostgreSQL at 64 connections, ratio to P", phase{closed, 64}, phase{floor, 64}, 2.5),
		{"p99 at half the top rate at most 30 ms", milliseconds(slowest), slowest <= 30*time.Millisecond},
		{"p50 of a single connection at most 2 bare commits", fmt.Sprintf("%.1f", alone), alone <= 2},
		ratio("SQLite at 16 connections, sets to sets of one", phase{embedded, 16}, phase{embeddedOne, 16}, 4),
		{"the server's peak memory at 64 connections under 150 MB", megabytes(peak), peak < 150<<20},
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
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
