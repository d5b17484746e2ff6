package providers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

// What is sent: the body that was given, each time, and our own name.
func TestCallSends(t *testing.T) {
	type sent struct{ method, kind, accept, agent, key, body string }
	got, times := make(chan sent, 10), atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- sent{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.UserAgent(), r.Header.Get("X-Key"), string(body)}
		if times.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"7"}`)) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	c := client(t, "127.0.0.1", 100)
	for _, x := range []struct {
		name string
		call providers.Call
		want sent
	}{
		{"JSON", providers.Call{Method: http.MethodPost, JSON: map[string]any{"a": 1}, Repeatable: true}, sent{"POST", "application/json", "application/json", "Slotkeeper", "k", `{"a":1}`}},
		{"a form", providers.Call{Method: http.MethodPost, Form: url.Values{"a": {"1", "ü"}}, Repeatable: true}, sent{"POST", "application/x-www-form-urlencoded", "application/json", "Slotkeeper", "k", "a=1&a=%C3%BC"}},
		{"nothing", providers.Call{Method: http.MethodDelete}, sent{"DELETE", "", "application/json", "Slotkeeper", "k", ""}},
	} {
		x.call.URL, x.call.Header, x.call.MaxAnswer = s.URL, http.Header{"x-key": {"k"}}, 1<<10
		v, h, err := x.call.Do(t.Context(), c)
		if err != nil || v.Get("id").Text() != "7" || h.Get("Date") == "" {
			t.Errorf("%s: %v", x.name, err)
		}
		for range 2 {
			if g := <-got; g != x.want {
				t.Errorf("%s: sent %+v, want %+v", x.name, g, x.want)
			}
		}
	}
	bad := providers.Call{Method: http.MethodPost, URL: s.URL, JSON: make(chan int)}
	if _, _, err := bad.Do(t.Context(), c); err == nil {
		t.Error("what is no JSON was sent")
	}
}

// What may be sent again is, over real connections and troubles; the rest is not.
func TestCallsAreRepeated(t *testing.T) {
	f := apitest.NewFront(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}")) // the client sees what is missing
	}), apitest.Limits{}, 200, time.Now, func(int) string { return `{"message":"no"}` })
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing is kept
	for _, c := range []struct {
		trouble    apitest.Trouble
		method     string
		repeatable bool
		times      int
	}{
		{apitest.Healthy, "GET", false, 1},
		{apitest.Broken, "GET", false, 3},
		{apitest.Unavailable, "PUT", false, 3},
		{apitest.Unavailable, "DELETE", false, 3},
		{apitest.Broken, "POST", false, 1},
		{apitest.Broken, "PATCH", false, 1},
		{apitest.Broken, "POST", true, 3},
		{apitest.Dropped, "GET", false, 3},
		{apitest.Dropped, "POST", false, 1},
		{apitest.Dropped, "POST", true, 3},
		{apitest.Garbage, "GET", false, 3},
		{apitest.Cut, "GET", false, 3},
		{apitest.Cut, "POST", false, 1},
		{apitest.Endless, "GET", false, 1},
		{apitest.Hanging, "GET", false, 1},
		{apitest.Limited, "GET", true, 1},
		{apitest.Blocked, "GET", true, 1},
		{apitest.Unauthorized, "GET", true, 1},
		{apitest.Forbidden, "GET", true, 1},
		{apitest.Missing, "GET", true, 1},
		{apitest.NotHere, "GET", true, 1},
		{apitest.Elsewhere, "GET", true, 1},
	} {
		f.Set(c.trouble)
		before := f.Count("")
		_, _, err := providers.Call{Method: c.method, URL: f.URL() + "/?email=ada@example.com", MaxAnswer: 1 << 10, Repeatable: c.repeatable}.
			Do(t.Context(), client(t, "127.0.0.1", 200))
		if n := f.Count("") - before; n != c.times {
			t.Errorf("%s, %s: sent %d times, want %d (%v)", c.trouble, c.method, n, c.times, err)
		}
		if (err == nil) != (c.trouble == apitest.Healthy) || err != nil && strings.Contains(err.Error(), "ada@example.com") {
			t.Errorf("%s, %s: %v", c.trouble, c.method, err)
		}
	}
}

// The waits double, are somewhat at random, follow the tempo, and end with the
// context; the last answer is what the caller learns.
func TestRetriesBackOff(t *testing.T) {
	for _, c := range []struct {
		name     string
		tempo    providers.Tempo
		answers  []int // 0 is none at all
		retry    string
		deadline time.Duration
		times    int
		ok       bool
		status   int // of the error
		later    bool
	}{
		{name: "the second is right", answers: []int{500, 200}, times: 2, ok: true},
		{name: "the third is right", answers: []int{0, 502, 200}, times: 3, ok: true},
		{name: "none is right", answers: []int{500, 0, 503, 200}, times: 3, status: 503},
		{name: "in a hurry", tempo: 60, answers: []int{500, 500, 200}, times: 3, ok: true},
		{name: "then refused", answers: []int{500, 403, 200}, times: 2, status: 403},
		{name: "then limited", answers: []int{500, 429, 200}, times: 2, status: 429, later: true},
		{name: "no time for a second", answers: []int{500, 200}, deadline: 200 * time.Millisecond, times: 1, status: 500},
		{name: "no time for a third", answers: []int{500, 502, 200}, deadline: 800 * time.Millisecond, times: 2, status: 502},
		{name: "asked to wait for little", answers: []int{503, 200}, retry: "0", times: 2, ok: true},
		{name: "asked to wait for long", answers: []int{503, 200}, retry: "30", times: 1, status: 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tempo := max(c.tempo, 1)
				var at []time.Time
				client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
					at = append(at, time.Now())
					switch status := c.answers[len(at)-1]; {
					case status == 0:
						return nil, io.ErrUnexpectedEOF
					case c.retry != "":
						return answered(status, http.Header{"Retry-After": {c.retry}}, "{}")
					default:
						return answered(status, nil, "{}")
					}
				}), tempo, time.Now)
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				_, _, err := call("a.example", "k").Do(ctx, client)
				var refused *providers.AnswerError
				var later *providers.LaterError
				if (err == nil) != c.ok || len(at) != c.times || errors.As(err, &later) != c.later ||
					c.status > 0 && (!errors.As(err, &refused) || refused.Status != c.status) {
					t.Errorf("sent %d times: %v", len(at), err)
				}
				if c.deadline > 0 && time.Since(began) > c.deadline {
					t.Errorf("it took %s", time.Since(began))
				}
				pauses := []time.Duration{500 * time.Millisecond, time.Second}
				for n, pause := range pauses[:len(at)-1] {
					if d := at[n+1].Sub(at[n]); d < tempo.Wait(pause/2) || d > tempo.Wait(pause) {
						t.Errorf("waited %s before try %d", d, n+2)
					}
				}
			})
		})
	}
}

// A retry that is redirected follows at once.
func TestRedirectsOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		client := providers.NewPacedClient(wire(func(r *http.Request) (*http.Response, error) {
			times++
			switch {
			case times == 1:
				return answered(http.StatusBadGateway, nil, "")
			case r.URL.Path == "/":
				return answered(http.StatusMovedPermanently, header("Location", "/there"), "")
			}
			return answered(http.StatusOK, nil, "{}")
		}), 1, time.Now)
		began := time.Now()
		if _, _, err := call("a.example", "k").Do(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); times != 3 || took < 250*time.Millisecond || took > 500*time.Millisecond {
			t.Errorf("%d requests in %s", times, took)
		}
	})
}

// A caller who leaves is told so, and nothing is sent afterwards.
func TestNoRetryWithoutACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		times := 0
		client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
			times++
			time.AfterFunc(100*time.Millisecond, leave)
			return answered(http.StatusInternalServerError, nil, "{}")
		}), 1, time.Now)
		_, _, err := call("a.example", "k").Do(ctx, client)
		var refused *providers.AnswerError
		if times != 1 || !errors.As(err, &refused) {
			t.Errorf("sent %d times: %v", times, err)
		}
	})
}

// Whom a provider counts is a credential, and no error repeats it.
func TestErrorsKeepTheAccount(t *testing.T) {
	for _, status := range []int{0, 200, 204, 401, 404, 429, 500} {
		synctest.Test(t, func(t *testing.T) {
			client := providers.NewPacedClient(wire(func(*http.Request) (*http.Response, error) {
				if status == 0 {
					return nil, io.ErrUnexpectedEOF
				}
				return answered(status, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"60"}}, `{"message":"key s3cret is used up"}`)
			}), 1, time.Now)
			short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			c := call("a.example", "s3cret")
			c.Secrets = []string{"s3cret"}
			var errs []error
			for range 2 { // the second finds what the first left
				_, _, err := c.Do(short, client)
				errs = append(errs, err)
			}
			if slices.Equal(errs, []error{nil, nil}) || strings.Contains(errors.Join(errs...).Error(), "s3cret") {
				t.Errorf("%d: %v", status, errs)
			}
		})
	}
}
