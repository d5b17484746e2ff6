package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The limits of one API host. Acuity counts 10 requests a second and 20
// connections by our address, whichever account asks; Calendly allows fewer a
// minute, but by account.
const (
	maxConnections = 20
	// interval is what lies between two requests. Ten of them are more than a
	// second, so that delays on the way do not make one second's requests eleven.
	interval = time.Second / 9

	// FirstBackoff is how long an API is left alone that asks for it without
	// saying how long; the pause doubles while it goes on asking.
	FirstBackoff = 5 * time.Second
	maxBackoff   = time.Minute
)

// errPaused is what callers get while a host is left alone.
var errPaused = errors.New("the API asked to be left alone, and its pause is not over")

// paced sends requests within the limits of their host, and while a host has
// asked to be left alone it sends none: they come back at once as a *LaterError,
// so that nobody's turn is spent on waiting.
type paced struct {
	next    http.RoundTripper
	tempo   Tempo
	timeout time.Duration
	now     func() time.Time

	mu    sync.Mutex
	hosts map[string]*host // named by administrators, so few
}

func newPaced(next http.RoundTripper, tempo Tempo, timeout time.Duration, now func() time.Time) *paced {
	return &paced{next: next, tempo: tempo, timeout: timeout, now: now, hosts: map[string]*host{}}
}

// host is what all calls to one API host share.
type host struct {
	turns chan struct{}
	// gate is held by the next to go, until it goes. What counts is when requests
	// really went: a limiter that gives out times in advance lets all go at once
	// whose times passed while the machine was busy.
	gate chan struct{}
	last time.Time // guarded by gate

	mu      sync.Mutex
	until   time.Time     // the pause's end
	backoff time.Duration // the last pause that we chose ourselves
}

func (p *paced) host(name string) *host {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[name]
	if h == nil {
		h = &host{
			turns: make(chan struct{}, maxConnections),
			gate:  make(chan struct{}, 1),
		}
		p.hosts[name] = h
	}
	return h
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (p *paced) CloseIdleConnections() {
	if c, ok := p.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip waits for the request's turn, at most as long as its context lasts,
// and gives the call its timeout, which ends when the answer's body is closed.
func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	h := p.host(r.URL.Host)
	if err := p.wait(r.Context(), h); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // nothing was sent
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), p.timeout, fmt.Errorf("no answer within %s: %w", callTimeout, context.DeadlineExceeded))
	done := sync.OnceFunc(func() { cancel(); <-h.turns })
	answer, err := p.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			err = cause
		}
		done()
		return nil, err
	}
	p.heed(h, answer)
	answer.Body = &heldBody{ReadCloser: answer.Body, done: done}
	return answer, nil
}

// wait takes a turn. A pause that begins while others wait holds for them too.
func (p *paced) wait(ctx context.Context, h *host) error {
	if err := p.paused(h); err != nil {
		return err
	}
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection: %w", context.Cause(ctx))
	}
	err := p.pass(ctx, h)
	if err != nil {
		<-h.turns
	}
	return err
}

// pass lets one request after the other through, none sooner than the interval
// after the one before.
func (p *paced) pass(ctx context.Context, h *host) error {
	select {
	case h.gate <- struct{}{}:
		defer func() { <-h.gate }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the rate limit: %w", context.Cause(ctx))
	}
	if err := p.paused(h); err != nil {
		return err
	}
	apart := p.tempo.Wait(interval)
	if left := apart - p.now().Sub(h.last); left > 0 {
		timer := time.NewTimer(min(left, apart)) // a clock may be set back
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the rate limit: %w", context.Cause(ctx))
		}
		if err := p.paused(h); err != nil {
			return err
		}
	}
	h.last = p.now()
	return nil
}

func (p *paced) paused(h *host) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := h.until.Sub(p.now()); left > 0 {
		return &LaterError{After: p.tempo.Passed(left), Err: errPaused}
	}
	return nil
}

// heed begins a pause when the answer asks for one, and forgets how long the last
// one was when it does not.
func (p *paced) heed(h *host, answer *http.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !throttles(answer) {
		if answer.StatusCode < http.StatusInternalServerError {
			h.backoff = 0
		}
		return
	}
	after, told := retryAfter(answer)
	if !told {
		after = FirstBackoff
		if h.backoff > 0 {
			after = min(2*h.backoff, maxBackoff)
		}
		// Of several calls in flight only the first makes the pause longer.
		if h.until.After(p.now()) {
			return
		}
		h.backoff = after
	}
	if until := p.now().Add(p.tempo.Wait(after)); until.After(h.until) {
		h.until = until
	}
}

// throttles tells whether an answer asks us to slow down: 429, or a 403 that is
// not of the API itself but a page of something in front of it.
func throttles(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "html")
	}
	return false
}

// heldBody keeps the call's turn until its answer is read.
type heldBody struct {
	io.ReadCloser
	done func()
}

func (b *heldBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
