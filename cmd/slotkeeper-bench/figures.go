package main

import (
	"cmp"
	"slices"
	"time"
)

// percentile is the smallest value that at least p percent of them do not
// exceed (nearest rank); 0 of none. sorted must be.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(float64(len(sorted))*p/100 + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, or the mean of the two in the middle; 0 of none.
func median[T int64 | float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[T])
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// perSecond is a rate; 0 when no time passed.
func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// figures are what one phase of one round measured. What a phase does not
// measure is 0, and printed as a dash.
type figures struct {
	rate     float64       // deliveries answered a second
	p50, p99 time.Duration // of an answer
	cpu      time.Duration // the server's, for one delivery
	peak     int64         // the server's peak memory so far, in bytes
	// took is how long each answer took, sorted.
	took []time.Duration
}

// figuresOf sums up the latencies of all who were answered within elapsed.
func figuresOf(latencies []time.Duration, elapsed, cpu time.Duration) figures {
	slices.Sort(latencies)
	f := figures{rate: perSecond(len(latencies), elapsed), p50: percentile(latencies, 50), p99: percentile(latencies, 99), took: latencies}
	if len(latencies) > 0 {
		f.cpu = cpu / time.Duration(len(latencies))
	}
	return f
}

// pooled is the slowest percent of all rounds' answers together. A round's own is that
// of a few dozen answers, which one stall of the disk holds up together.
func pooled(rounds []map[phase]figures, of phase) time.Duration {
	var all []time.Duration
	for _, r := range rounds {
		all = append(all, r[of].took...)
	}
	slices.Sort(all)
	return percentile(all, 99)
}

// over is the median of the rounds' ratios: each round's two phases ran close
// together, so that a machine that slows down slows both.
func over(rounds []map[phase]figures, of, base phase, value func(figures) float64) float64 {
	var ratios []float64
	for _, r := range rounds {
		if b := value(r[base]); b > 0 {
			ratios = append(ratios, value(r[of])/b)
		}
	}
	return median(ratios)
}
