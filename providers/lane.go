package providers

import (
	"net/http"
	"sync"
	"time"
)

// The client's own limits of whoever names none. They are Acuity's, which counts
// 10 requests a second and 20 connections by our address, whichever account asks.
const (
	ownRequests    = 10
	ownPer         = time.Second
	maxConnections = 20
)

// rule is how many requests may go within a window, on the wall.
type rule struct {
	requests int
	window   time.Duration
}

// ruleOf makes the rule of a limit. Its window is a ninth longer than the
// provider's, so that delays on the way do not put too many into one of the
// provider's. A window of a second or less is too short for a burst of which
// some may be late: there the requests go evenly apart, ten a second 111 ms, and
// eleven of them take more than a second.
func ruleOf(l Limit, tempo Tempo) rule {
	if l.Requests <= 0 || l.Per <= 0 {
		l.Requests, l.Per = ownRequests, ownPer
	}
	window := l.Per + l.Per/9
	if l.Per <= time.Second {
		return rule{requests: 1, window: tempo.Wait(window / time.Duration(l.Requests))}
	}
	return rule{requests: l.Requests, window: tempo.Wait(window)}
}

// laneKey is whom a provider counts: at a host, our address (no account) or one
// account, of which only a hash is kept since it may be a credential.
type laneKey struct {
	host    string
	account accountHash
}

// lane is what all calls that a provider counts together share.
type lane struct {
	// turns are the connections; the first call's limit says how many.
	turns chan struct{}
	// gate is held by the next to go, until it goes. What counts is when requests
	// really went: a limiter that gives out times in advance lets all go at once
	// whose times passed while the machine was busy.
	gate chan struct{}

	// Guarded by paced.mu.
	users int
	used  time.Time

	mu sync.Mutex
	// sent are when the last requests went, as many as the largest rule counts.
	sent   []time.Time
	counts int
	window time.Duration // the longest
	// renewed is when the provider's own window begins anew, that it called spent.
	renewed time.Time
	until   time.Time     // the pause's end
	backoff time.Duration // the last pause that we chose ourselves
	seen    time.Time     // the time when somebody last looked
}

func newLane(connections int) *lane {
	if connections <= 0 {
		connections = maxConnections
	}
	return &lane{turns: make(chan struct{}, connections), gate: make(chan struct{}, 1)}
}

// setBack is how far a clock may be set back before it matters.
const setBack = time.Second

// look follows a clock that was set back: what was to be waited for is not to take
// longer.
func (l *lane) look(now time.Time) {
	if back := l.seen.Sub(now); back > setBack {
		for n := range l.sent {
			l.sent[n] = l.sent[n].Add(-back)
		}
		l.renewed, l.until = l.renewed.Add(-back), l.until.Add(-back)
	}
	l.seen = now
}

// free is when the next request may go.
func (l *lane) free(r rule, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(now)
	at := l.renewed
	if n := len(l.sent) - r.requests; n >= 0 {
		at = later(at, l.sent[n].Add(r.window))
	}
	return at
}

// went notes a request.
func (l *lane) went(r rule, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(now)
	l.counts, l.window = max(l.counts, r.requests), max(l.window, r.window)
	l.sent = append(l.sent, now)
	l.sent = l.sent[max(len(l.sent)-l.counts, 0):]
}

// pause is how long the lane is still left alone.
func (l *lane) pause(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(now)
	return l.until.Sub(now)
}

// heed begins a pause when an answer asks for one, and forgets how long the last
// one was when it does not. longest bounds how long a spent window lasts.
func (l *lane) heed(answer *http.Response, longest time.Duration, tempo Tempo, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(now)
	if !throttles(answer) {
		if answer.StatusCode < http.StatusInternalServerError {
			l.backoff = 0
		}
		if left, ok := spent(answer.Header); ok {
			l.renewed = later(l.renewed, now.Add(tempo.Wait(min(left, longest))))
		}
		return
	}
	after, told := RetryAfter(answer.Header)
	if !told {
		after = FirstBackoff
		if l.backoff > 0 {
			after = min(2*l.backoff, maxBackoff)
		}
		// Of several calls in flight only the first makes the pause longer.
		if l.until.After(now) {
			return
		}
		l.backoff = after
	}
	l.until = later(l.until, now.Add(tempo.Wait(after)))
}

// idle tells whether forgetting the lane forgets nothing that still counts.
func (l *lane) idle(now time.Time, longest time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users == 0 && now.Sub(l.used) > max(longest, l.window) && !l.until.After(now) && !l.renewed.After(now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
