package apitest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
)

// A window begins with the first request in it, is counted for each who asks, and
// every answer says what is left.
func TestWindows(t *testing.T) {
	type ask struct {
		after            time.Duration // since the ask before
		who              string
		trouble          apitest.Trouble
		status           int
		remaining, reset string
	}
	for _, c := range []struct {
		name   string
		limits apitest.Limits
		most   int // requests of one who asks in a minute
		asks   []ask
	}{
		{"of Calendly (OFF)", apitest.Limits{Requests: 2, Per: time.Minute, Told: apitest.CalendlyHeaders}, 3, []ask{
			{who: "a", status: 200, remaining: "1", reset: "60"},
			{after: 20 * time.Second, who: "a", status: 200, remaining: "0", reset: "40"},
			{who: "b", status: 200, remaining: "1", reset: "60"},
			{after: 39500 * time.Millisecond, who: "a", status: 429, remaining: "0", reset: "1"},
			{after: 500 * time.Millisecond, who: "a", status: 200, remaining: "1", reset: "60"},
			{who: "b", status: 200, remaining: "0", reset: "20"},
			{who: "b", status: 429, remaining: "0", reset: "20"},
		}},
		{"with a block, of Cal.com (W)", apitest.Limits{Requests: 1, Per: time.Minute, Block: time.Minute, Told: apitest.CalcomHeaders}, 2, []ask{
			{who: "a", status: 200, remaining: "0", reset: "60"},
			{after: 50 * time.Second, who: "a", status: 429, remaining: "0", reset: "60"},
			{after: 50 * time.Second, who: "a", status: 429, remaining: "0", reset: "10"},
			{after: 10 * time.Second, who: "a", status: 200, remaining: "0", reset: "60"},
		}},
		{"called spent", apitest.Limits{Told: apitest.CalendlyHeaders}, 3, []ask{
			{who: "a", trouble: apitest.Spent, status: 200, remaining: "0", reset: "60"},
			{who: "a", trouble: apitest.Limited, status: 429, remaining: "0", reset: "60"},
			{who: "a", status: 200},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Date(2026, 9, 15, 12, 0, 0, 0, time.UTC)
			var passed atomic.Int64
			now := func() time.Time { return began.Add(time.Duration(passed.Load())) }
			c.limits.Who = func(r *http.Request) string { return r.Header.Get("Authorization") }
			f := apitest.NewFront(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), c.limits, 10, now, errorText)
			if err := f.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() }) // nothing is kept
			for n, a := range c.asks {
				passed.Add(int64(a.after / 10))
				f.Set(a.trouble)
				r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, f.URL(), http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", a.who)
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := answer.Body.Close(); err != nil {
					t.Fatal(err)
				}
				name := "X-RateLimit-"
				end := ""
				if c.limits.Told == apitest.CalcomHeaders {
					end = "-Default"
				}
				left, reset := answer.Header.Get(name+"Remaining"+end), answer.Header.Get(name+"Reset"+end)
				if answer.StatusCode != a.status || left != a.remaining || reset != a.reset {
					t.Errorf("%d: got %d, %q left until %q, want %+v", n, answer.StatusCode, left, reset, a)
				}
			}
			if most := f.BusiestOf(time.Minute); most != c.most {
				t.Errorf("at most %d requests in a minute", most)
			}
		})
	}
}
