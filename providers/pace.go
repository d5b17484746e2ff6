package providers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// FirstBackoff is how long an API is left alone that asks for it without
	// saying how long; the pause doubles while it goes on asking.
	FirstBackoff = 5 * time.Second
	maxBackoff   = time.Minute

	// firstRetry is how long a request waits, at most, that is sent again.
	firstRetry = 500 * time.Millisecond

	// forgottenAfter is how long a lane that nobody uses is kept.
	forgottenAfter = 10 * time.Minute
)

var (
	// ErrPaused is what callers get while a host is left alone.
	ErrPaused = errors.New("the API asked to be left alone, and its pause is not over")
	// ErrSpent is what callers get who cannot wait for their turn.
	ErrSpent = errors.New("the API allows no more requests for now")
	// errNoTime says that a request was not sent again since its context ends
	// before it would be.
	errNoTime = errors.New("no time is left to ask the API again")
)

// accountHash stands for Limit.Who; the zero one for our address.
type accountHash [sha256.Size]byte

// asked is what a request's context tells of it.
type asked struct {
	limit   Limit // without Who
	account accountHash
	again   int // how often it was sent before
}

type askedKey struct{}

func withAsked(ctx context.Context, l Limit, again int) context.Context {
	a := asked{limit: l, again: again}
	if l.Who != "" {
		a.account = sha256.Sum256([]byte(l.Who))
	}
	a.limit.Who = ""
	return context.WithValue(ctx, askedKey{}, a)
}

// paced sends requests within the limits of whom their provider counts, and while
// it has asked to be left alone it sends none: they come back at once as a
// *LaterError, so that nobody's turn is spent on waiting. A turn is waited for as
// long as the context lasts; one that comes too late for it is a *LaterError too.
type paced struct {
	// byAddress sends what a provider counts by our address, and opens no more
	// connections to a host than it may; byAccount what it counts by account, where
	// one account's connections must not be in the way of another's.
	byAddress, byAccount http.RoundTripper
	tempo                Tempo
	timeout              time.Duration
	now                  func() time.Time

	mu    sync.Mutex
	lanes map[laneKey]*lane
	swept time.Time
}

func newPaced(byAddress, byAccount http.RoundTripper, tempo Tempo, timeout time.Duration, now func() time.Time) *paced {
	return &paced{byAddress: byAddress, byAccount: byAccount, tempo: tempo, timeout: timeout, now: now, lanes: map[laneKey]*lane{}}
}

// enter finds the lane of a request, for a user who will leave it.
func (p *paced) enter(key laneKey, connections int) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	l := p.lanes[key]
	if l == nil {
		l = newLane(connections)
		p.lanes[key] = l
	}
	l.users++
	return l
}

func (p *paced) leave(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.users--
	l.used = p.now()
}

// sweep forgets lanes that nobody used for long: accounts come and go.
func (p *paced) sweep() {
	now, longest := p.now(), p.tempo.Wait(forgottenAfter)
	if since := now.Sub(p.swept); since >= 0 && since < longest {
		return
	}
	p.swept = now
	for key, l := range p.lanes {
		if l.idle(now, longest) {
			delete(p.lanes, key)
		}
	}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (p *paced) CloseIdleConnections() {
	for _, next := range []http.RoundTripper{p.byAddress, p.byAccount} {
		if c, ok := next.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// RoundTrip waits for the request's turn, at most as long as its context lasts,
// and gives the call its timeout, which ends when the answer's body is closed.
func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	a, _ := r.Context().Value(askedKey{}).(asked)
	key := laneKey{host: strings.ToLower(r.URL.Host), account: a.account}
	err := p.backOff(r, a.again)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	l := p.enter(key, a.limit.Connections)
	if err := p.wait(r.Context(), key, l, ruleOf(a.limit, p.tempo)); err != nil {
		p.leave(l)
		closeBody(r)
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), p.timeout, fmt.Errorf("no answer within %s: %w", callTimeout, context.DeadlineExceeded))
	done := sync.OnceFunc(func() { cancel(); <-l.turns; p.leave(l) })
	next := p.byAddress
	if a.account != (accountHash{}) {
		next = p.byAccount
	}
	answer, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			err = cause
		}
		done()
		return nil, err
	}
	longest := a.limit.Per
	if longest <= 0 {
		longest = maxBackoff
	}
	l.heed(answer, longest, p.tempo, p.now())
	answer.Body = &heldBody{ReadCloser: answer.Body, done: done}
	return answer, nil
}

// closeBody closes the body of a request of which nothing was sent.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // it was only to be read
	}
}

// backOff has a request that is sent again wait, twice as long each time, and
// somewhat at random, so that those who failed together do not come together.
func (p *paced) backOff(r *http.Request, again int) error {
	if again == 0 || r.Response != nil { // a redirect follows at once
		return nil
	}
	d := retryPause(again)
	d = p.tempo.Wait(d/2 + rand.N(d/2)) //nolint:gosec // what it spreads is no secret
	if deadline, ok := r.Context().Deadline(); ok && deadline.Sub(p.now()) <= d {
		return errNoTime
	}
	if sleep(r.Context(), d) != nil {
		return errNoTime
	}
	return nil
}

// retryPause is the longest that a request waits which was sent so often.
func retryPause(again int) time.Duration { return firstRetry << (again - 1) }

// wait takes a turn. A pause that begins while others wait holds for them too.
func (p *paced) wait(ctx context.Context, key laneKey, l *lane, r rule) error {
	if err := p.mayWait(ctx, key, l, l.free(r, p.now())); err != nil {
		return err
	}
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection: %w", context.Cause(ctx))
	}
	err := p.pass(ctx, key, l, r)
	if err != nil {
		<-l.turns
	}
	return err
}

// pass lets one request after the other through, none sooner than its rule allows.
func (p *paced) pass(ctx context.Context, key laneKey, l *lane, r rule) error {
	select {
	case l.gate <- struct{}{}:
		defer func() { <-l.gate }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the rate limit: %w", context.Cause(ctx))
	}
	var waited time.Time
	for {
		now := p.now()
		at := l.free(r, now)
		if err := p.mayWait(ctx, key, l, at); err != nil {
			return err
		}
		// What was waited for once is over, whatever became of the clock; while it
		// was, an answer may have called the window spent.
		if !at.After(now) || !at.After(waited) {
			l.went(r, now)
			return nil
		}
		waited = at
		if err := sleep(ctx, at.Sub(now)); err != nil {
			return fmt.Errorf("wait for the rate limit: %w", err)
		}
	}
}

// mayWait refuses whoever is to come later: during a pause, of the lane or of our
// address at its host, and when the turn is after the context's end.
func (p *paced) mayWait(ctx context.Context, key laneKey, l *lane, turn time.Time) error {
	now := p.now()
	left := l.pause(now)
	p.mu.Lock()
	address := p.lanes[laneKey{host: key.host}]
	p.mu.Unlock()
	if address != nil {
		left = max(left, address.pause(now))
	}
	if left > 0 {
		return &LaterError{After: p.tempo.Passed(left), Err: ErrPaused}
	}
	if deadline, ok := ctx.Deadline(); ok && turn.After(now) && turn.After(deadline) {
		return &LaterError{After: p.tempo.Passed(turn.Sub(now)), Err: ErrSpent}
	}
	return nil
}

// sleep waits, at most as long as the context lasts.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
