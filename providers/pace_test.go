package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// wire answers requests where a connection would, in the time of a synctest bubble.
type wire func(r *http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func answered(status int, header http.Header, body string) (*http.Response, error) {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func call(host, who string) providers.Call {
	return providers.Call{Method: http.MethodGet, URL: "http://" + host + "/", MaxAnswer: 1 << 10, Limit: providers.Limit{Who: who, Requests: 100, Per: time.Minute}}
}

// However many ask, no window of the provider's has more requests than it allows,
// though some are longer on their way than others; and a window of a minute may be
// used up at once.
func TestNoWindowIsExceeded(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit providers.Limit
		tempo providers.Tempo
		delay time.Duration // at most, on the way
		most  int
		per   time.Duration
		burst bool
	}{
		{"Calendly", providers.Limit{Who: "token", Requests: 500, Per: time.Minute}, 1, 6 * time.Second, 500, time.Minute, true},
		{"Calendly in a hurry", providers.Limit{Who: "token", Requests: 500, Per: time.Minute}, 60, 6 * time.Second, 500, time.Minute, true},
		{"Cal.com", providers.Limit{Who: "key", Requests: 120, Per: time.Minute, Connections: 8}, 1, 6 * time.Second, 120, time.Minute, true},
		{"Acuity", providers.Limit{Requests: 10, Per: time.Second, Connections: 20}, 1, 100 * time.Millisecond, 10, time.Second, false},
		{"Acuity in a hurry", providers.Limit{Requests: 10, Per: time.Second, Connections: 20}, 60, 100 * time.Millisecond, 10, time.Second, false},
		{"who names no limit", providers.Limit{}, 1, 100 * time.Millisecond, 10, time.Second, false},
		{"one a minute", providers.Limit{Who: "key", Requests: 1, Per: time.Minute}, 1, 6 * time.Second, 1, time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var sent, came []time.Time
				client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					sent, came = append(sent, now), append(came, now.Add(rand.N(c.tempo.Wait(c.delay))))
					return answered(http.StatusOK, nil, "{}")
				}), c.tempo, time.Now)
				began := time.Now()
				var all sync.WaitGroup
				for range 3*c.most + 1 {
					all.Go(func() {
						if _, _, err := (providers.Call{Method: http.MethodGet, URL: "http://api.example/", MaxAnswer: 10, Limit: c.limit}).Do(t.Context(), client); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				slices.SortFunc(came, time.Time.Compare)
				for n := c.most; n < len(came); n++ {
					if d := came[n].Sub(came[n-c.most]); d < c.tempo.Wait(c.per) {
						t.Fatalf("%d requests came within %s", c.most+1, c.tempo.Passed(d))
					}
				}
				if at := sent[c.most-1].Sub(began); (at == 0) != (c.burst || c.most == 1) {
					t.Errorf("the first %d had gone after %s", c.most, at)
				}
				if at, longest := sent[len(sent)-1].Sub(began), c.tempo.Wait(3*c.per+c.per/2); at > longest {
					t.Errorf("the last went after %s, want %s at most", at, longest)
				}
			})
		})
	}
}

// A pause holds for the account that was asked to wait, at its host; one of our
// address for the whole host.
func TestPausesAreTheirAccounts(t *testing.T) {
	for _, c := range []struct {
		name, host, who string
		status          int
		header          http.Header
		paused          map[string]bool // "host who"
	}{
		{"429 of an account", "a.example", "k1", 429, nil, map[string]bool{"a.example k1": true}},
		{"a page of an account", "a.example", "k1", 403, http.Header{"Content-Type": {"text/html"}}, map[string]bool{"a.example k1": true}},
		{"429 of our address", "a.example", "", 429, nil, map[string]bool{"a.example k1": true, "a.example k2": true, "a.example ": true, "A.example ": true}},
		{"403 of the API", "a.example", "k1", 403, http.Header{"Content-Type": {"application/json"}}, nil},
		{"503", "a.example", "k1", 503, http.Header{"Retry-After": {"100"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := true
				client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
					if bad {
						return answered(c.status, c.header, "{}")
					}
					return answered(http.StatusOK, nil, "{}")
				}), 1, time.Now)
				if _, _, err := call(c.host, c.who).Do(t.Context(), client); err == nil {
					t.Fatal("no error")
				}
				bad = false
				for _, at := range []string{"a.example k1", "a.example k2", "a.example ", "A.example ", "b.example k1", "b.example "} {
					host, who, _ := strings.Cut(at, " ")
					_, _, err := call(host, who).Do(t.Context(), client)
					var later *providers.LaterError
					if errors.As(err, &later) != c.paused[at] || err != nil && later == nil {
						t.Errorf("%q: %v", at, err)
					}
				}
				time.Sleep(providers.FirstBackoff)
				for at := range c.paused {
					host, who, _ := strings.Cut(at, " ")
					if _, _, err := call(host, who).Do(t.Context(), client); err != nil {
						t.Errorf("%q after the pause: %v", at, err)
					}
				}
			})
		})
	}
}

// When an answer says that it was the window's last, the account's next request
// waits until the window begins anew, or comes back at once when it cannot.
func TestSpentWindows(t *testing.T) {
	for _, tempo := range []providers.Tempo{1, 60} {
		synctest.Test(t, func(t *testing.T) {
			client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
				return answered(http.StatusOK, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"40"}}, "{}")
			}), tempo, time.Now)
			began := time.Now()
			do := func(ctx context.Context, who string) error {
				_, _, err := call("a.example", who).Do(ctx, client)
				return err
			}
			if err := do(t.Context(), "k1"); err != nil {
				t.Fatal(err)
			}
			if err := do(t.Context(), "k2"); err != nil || time.Since(began) != 0 {
				t.Errorf("another account: %v, after %s", err, time.Since(began))
			}
			short, cancel := context.WithTimeout(t.Context(), tempo.Wait(39*time.Second))
			defer cancel()
			var later *providers.LaterError
			if err := do(short, "k1"); !errors.As(err, &later) || later.After.Round(time.Millisecond) != 40*time.Second || time.Since(began) != 0 {
				t.Errorf("who cannot wait: %v, after %s", err, time.Since(began))
			}
			if err := do(t.Context(), "k1"); err != nil || time.Since(began) != tempo.Wait(40*time.Second) {
				t.Errorf("who can wait: %v, after %s", err, time.Since(began))
			}
		})
	}
}

// Nobody waits longer than a window lasts for one, whatever an answer says or the
// clock does.
func TestWaitsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name   string
		header http.Header
		limit  providers.Limit
		back   time.Duration // the clock is set, after the first requests
		most   time.Duration
	}{
		{name: "an answer that asks for an hour", header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"), limit: providers.Limit{Who: "k", Requests: 9, Per: 2 * time.Minute}, most: 2 * time.Minute},
		{name: "the same to who names no limit", header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"), most: time.Minute},
		{name: "a clock set back", limit: providers.Limit{Who: "k", Requests: 1, Per: time.Minute}, back: time.Hour, most: 70 * time.Second},
		{name: "the same in a spent window", header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"), limit: providers.Limit{Who: "k", Requests: 9, Per: time.Minute}, back: time.Hour, most: time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var back time.Duration
				client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
					return answered(http.StatusOK, c.header, "{}")
				}), 1, func() time.Time { return time.Now().Add(-back) })
				began := time.Now()
				for range 2 {
					if _, _, err := (providers.Call{URL: "http://a.example/", MaxAnswer: 10, Limit: c.limit}).Do(t.Context(), client); err != nil {
						t.Fatal(err)
					}
					back = c.back
				}
				if took := time.Since(began); took > c.most || took < c.most/2 {
					t.Errorf("waited %s, want about %s", took, c.most)
				}
			})
		})
	}
}

// Our own window that is used up is the same to whoever cannot wait, and does not
// keep other accounts waiting.
func TestFullWindowsHoldUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) { return answered(http.StatusOK, nil, "{}") }), 1, time.Now)
		one := providers.Call{Method: http.MethodGet, URL: "http://a.example/", MaxAnswer: 10, Limit: providers.Limit{Who: "k1", Requests: 5, Per: time.Minute, Connections: 2}}
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, _, err := one.Do(t.Context(), client); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var later *providers.LaterError
		if _, _, err := one.Do(short, client); !errors.As(err, &later) || later.After < time.Minute {
			t.Errorf("who cannot wait: %v", err)
		}
		two := one
		two.Limit.Who = "k2"
		for range 5 {
			if _, _, err := two.Do(short, client); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the other account took %s", took)
		}
		all.Wait()
	})
}

// A host's connections that are counted by account are each account's own.
func TestConnectionsAreTheirAccounts(t *testing.T) {
	const each = 15
	leave, arrived := make(chan struct{}), make(chan struct{}, 3*each)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		_, _ = w.Write([]byte("{}")) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	c := client(t, "127.0.0.1", 1)
	var all sync.WaitGroup
	for n := range 2 * each {
		all.Go(func() {
			limit := providers.Limit{Who: fmt.Sprint("key ", n%2), Requests: 100, Per: time.Minute, Connections: each}
			if _, _, err := (providers.Call{URL: s.URL, MaxAnswer: 10, Limit: limit}).Do(context.Background(), c); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 * each {
		<-arrived // more than one address may have
	}
	close(leave)
	all.Wait()
}

// Accounts come and go: who is not asked for long is forgotten, but not while
// something of it counts.
func TestIdleAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		client := providers.NewPacedClient(wire(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Host {
			case "paused.example":
				return answered(http.StatusTooManyRequests, http.Header{"Retry-After": {"3600"}}, "{}")
			case "slow.example":
				<-leave
			}
			return answered(http.StatusOK, nil, "{}")
		}), 1, time.Now)
		var all sync.WaitGroup
		all.Go(func() {
			ctx := context.WithoutCancel(t.Context())
			if _, _, err := call("slow.example", "k").Do(ctx, client); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var later *providers.LaterError
		if _, _, err := call("paused.example", "k").Do(t.Context(), client); !errors.As(err, &later) {
			t.Error(err)
		}
		hourly := call("hourly.example", "k")
		hourly.Limit.Per = time.Hour
		if _, _, err := hourly.Do(t.Context(), client); err != nil {
			t.Error(err)
		}
		for n := range 100 {
			if _, _, err := call("a.example", fmt.Sprint(n)).Do(t.Context(), client); err != nil {
				t.Error(err)
			}
		}
		if n := providers.Lanes(client); n != 103 {
			t.Errorf("%d lanes", n)
		}
		time.Sleep(11 * time.Minute)
		if _, _, err := call("b.example", "").Do(t.Context(), client); err != nil {
			t.Error(err)
		}
		if n := providers.Lanes(client); n != 4 {
			t.Errorf("%d lanes after a while, want the paused, the hourly, the one in use and the new one", n)
		}
		if _, _, err := call("paused.example", "k").Do(t.Context(), client); !errors.As(err, &later) {
			t.Errorf("the pause was forgotten: %v", err)
		}
		close(leave)
		all.Wait()
		time.Sleep(2 * time.Hour)
		if _, _, err := call("b.example", "").Do(t.Context(), client); err != nil {
			t.Error(err)
		}
		if n := providers.Lanes(client); n != 1 {
			t.Errorf("%d lanes in the end", n)
		}
	})
}

// Over real connections to what counts as Calendly and Cal.com do, two accounts
// each get what they may have, and none is ever refused.
func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	const tempo, requests = 30, 40 // a minute is two seconds
	for _, told := range []string{"", apitest.CalendlyHeaders, apitest.CalcomHeaders} {
		t.Run(told, func(t *testing.T) {
			t.Parallel()
			checkLimits(t, told, tempo, requests)
		})
	}
}

func checkLimits(t *testing.T, told string, tempo providers.Tempo, requests int) {
	t.Helper()
	f := apitest.NewFront(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}")) // the client sees what is missing
	}), apitest.Limits{
		Requests: requests, Per: time.Minute, Block: time.Minute, Told: told,
		Who: func(r *http.Request) string { return r.Header.Get("Authorization") },
	}, tempo, time.Now, func(int) string { return "{}" })
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing is kept
	c := client(t, "127.0.0.1", tempo)
	var all sync.WaitGroup
	for n := range 4 * requests {
		all.Go(func() {
			who := fmt.Sprint("key ", n%2)
			_, _, err := providers.Call{
				Method: http.MethodGet, URL: f.URL(), Header: http.Header{"Authorization": {who}}, MaxAnswer: 10,
				Limit: providers.Limit{Who: who, Requests: requests, Per: time.Minute, Connections: 5},
			}.Do(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.Count(""); n != 4*requests {
		t.Errorf("%d requests", n)
	}
	if n := f.MostConnections(); n > 10 {
		t.Errorf("%d connections", n)
	}
}
