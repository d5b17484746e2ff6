package main

import (
	"math"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 0, 100)
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		name   string
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{"of none", nil, 50, 0},
		{"of one", []time.Duration{7}, 99, 7},
		{"the lower of two", []time.Duration{1, 2}, 50, 1},
		{"the upper of two", []time.Duration{1, 2}, 51, 2},
		{"half of a hundred", hundred, 50, 50},
		{"99 of a hundred", hundred, 99, 99},
		{"99 of ten is the last", hundred[:10], 99, 10},
		{"the least", hundred, 0, 1},
		{"the most", hundred, 100, 100},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
	}
	values := []float64{3, 1, 2}
	if median(values); values[0] != 3 {
		t.Errorf("the values were sorted in place: %v", values)
	}
}

func TestFiguresOf(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	got := figuresOf([]time.Duration{4 * ms, 2 * ms, 1 * ms, 3 * ms}, 2*time.Second, 8*ms)
	if want := (figures{rate: 2, p50: 2 * ms, p99: 4 * ms, cpu: 2 * ms, took: []time.Duration{ms, 2 * ms, 3 * ms, 4 * ms}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := figuresOf(nil, 0, ms); !reflect.DeepEqual(got, figures{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestPooled takes the slowest percent of all rounds, not of the one that stalled.
func TestPooled(t *testing.T) {
	t.Parallel()
	here := phase{name: "here"}
	round := func(slow, all int) map[phase]figures {
		took := make([]time.Duration, 0, all)
		for i := range all {
			took = append(took, time.Millisecond)
			if i < slow {
				took[i] = time.Second
			}
		}
		return map[phase]figures{here: figuresOf(took, time.Second, 0)}
	}
	quiet, stalled := round(0, 200), round(5, 200)
	if got := pooled([]map[phase]figures{quiet, stalled, quiet}, here); got != time.Millisecond {
		t.Errorf("five of 600 made it %s", got)
	}
	if got := pooled([]map[phase]figures{stalled, stalled, stalled}, here); got != time.Second {
		t.Errorf("fifteen of 600 made it %s", got)
	}
	if got := pooled(nil, here); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
}

// TestOver takes the ratio within each round: a round on a slow machine counts
// as much as another.
func TestOver(t *testing.T) {
	t.Parallel()
	a, p := phase{closed, 16}, phase{floor, 16}
	rounds := []map[phase]figures{
		{a: {rate: 200}, p: {rate: 100}},
		{a: {rate: 30}, p: {rate: 10}},
		{a: {rate: 1000}, p: {rate: 1000}},
		{a: {rate: 5}}, // without a base there is no ratio
	}
	if got := over(rounds, a, p, func(f figures) float64 { return f.rate }); math.Abs(got-2) > 1e-9 {
		t.Errorf("%v, want 2", got)
	}
}

func TestReadings(t *testing.T) {
	t.Parallel()
	if got, err := cpuOf("12 (a) name) S 1 12 12 0 -1 4194560 99 0 0 0 150 50 0 0 20 0 9 0 1 2 3"); err != nil || got != 2*time.Second {
		t.Errorf("cpu is %s (%v)", got, err)
	}
	if _, err := cpuOf("12 (name) S 1"); err == nil {
		t.Error("a short line was read")
	}
	if got, err := peakOf("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t  2048 kB\n"); err != nil || got != 2<<20 {
		t.Errorf("the peak is %d (%v)", got, err)
	}
	if _, err := peakOf("Name:\tx\n"); err == nil {
		t.Error("a peak was read of none")
	}
	if got, err := rateOf([]byte("latency average = 1.0 ms\ntps = 1234.5 (without initial connection time)\n")); err != nil || got != 1234.5 {
		t.Errorf("the rate is %v (%v)", got, err)
	}
	if got, err := latenciesOf([]byte("0 1 1500 0 1 2\n0 2 250 0 1 3\n")); err != nil || len(got) != 2 || got[0] != 1500*time.Microsecond {
		t.Errorf("the latencies are %v (%v)", got, err)
	}
}

func testAccount() account {
	return account{path: "/webhooks/generic/x", host: "127.0.0.1", secret: "a secret of the tests", last: new(atomic.Int64)}
}

// TestMixedLoad counts what the mixed load promises: a fifth copies, a twentieth
// conflicts, and as many cancels as creates.
func TestMixedLoad(t *testing.T) {
	t.Parallel()
	const n = 8000
	next := testAccount().firsts(true)(0)
	got := map[string]int{}
	for range n {
		got[next().want]++
	}
	if got["duplicate"] != n/5 || got["conflict"] != n/20 || got["processed"] != n-n/5-n/20 {
		t.Errorf("%v", got)
	}
}

// TestCopiesAlone has every client send all of the stock, each from elsewhere on.
func TestCopiesAlone(t *testing.T) {
	t.Parallel()
	var stock []delivery
	for _, want := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		stock = append(stock, delivery{want: want})
	}
	from := copiesOf(stock, 4)
	for client, want := range []string{"bcdefghab", "defghabcd", "fghabcdef", "habcdefgh"} {
		next, got := from(client), ""
		for range want {
			got += next().want
		}
		if got != want {
			t.Errorf("client %d sends %s, want %s", client, got, want)
		}
	}
}
