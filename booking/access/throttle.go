package access

import (
	"container/list"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The throttle of sign-ins. What is tried for one name from one address is held
// back strictly: freeTries at once, then after a delay that doubles with each
// failure up to longestDelay. The loopback address is no exception: behind a proxy
// that is not trusted everybody comes from there. A refused attempt does not
// lengthen the delay, and the right password ends it.
//
// An address as a whole is held back loosely, since an office shares one: whoever
// knows his password gets in while a neighbour guesses another's. An account as a
// whole may be tried accountBurst times at once and then every accountEvery, from
// all addresses together. That alone would let many strangers lock its owner out by
// keeping it empty. So it does not count for whom it is not meant: an address from
// which the account signed in since the start, and the machine itself (loopback,
// for instance through an SSH tunnel). One-time links are never refused for any of
// this: they cannot be guessed.
//
// All of it lives in memory and is bounded; a restart forgets it. Each process
// counts for itself.
const (
	freeTries    = 5
	firstDelay   = 2 * time.Second
	longestDelay = 5 * time.Minute
	// forgetAfter is how long after its last failure a name at an address starts
	// afresh. It is long against longestDelay, so that waiting does not pay.
	forgetAfter = 2 * time.Hour

	addressBurst = 60
	addressEvery = 5 * time.Second
	accountBurst = 20
	accountEvery = 30 * time.Second
	linksBurst   = 20
	linksEvery   = 15 * time.Second

	maxBuckets = 8192
)

// ThrottledError says that there were too many attempts, and when to try again.
type ThrottledError struct {
	RetryAfter time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many attempts: try again in %d seconds", e.Seconds())
}

// Seconds for a Retry-After header: whole, rounded up.
func (e *ThrottledError) Seconds() int {
	return int((e.RetryAfter + time.Second - 1) / time.Second)
}

type throttle struct {
	mu        sync.Mutex
	pairs     *recent[pair, *tries]
	addresses *recent[string, *rate.Limiter]
	accounts  *recent[string, *rate.Limiter]
	links     *recent[string, *rate.Limiter]
	known     *recent[pair, struct{}]
}

// pair is a name that is tried from an address.
type pair struct{ account, address string }

// tries are the failures of a pair, and when it may be tried again.
type tries struct {
	failed int
	last   time.Time
	next   time.Time
}

func (f *tries) add(now time.Time) {
	if now.Sub(f.last) >= forgetAfter {
		f.failed = 0
	}
	f.failed++
	f.last, f.next = now, now
	if over := f.failed - freeTries; over >= 0 {
		f.next = now.Add(min(firstDelay<<min(over, 20), longestDelay))
	}
}

func newThrottle() *throttle {
	return &throttle{
		pairs:     newRecent[pair, *tries](maxBuckets),
		addresses: newRecent[string, *rate.Limiter](maxBuckets),
		accounts:  newRecent[string, *rate.Limiter](maxBuckets),
		links:     newRecent[string, *rate.Limiter](maxBuckets),
		known:     newRecent[pair, struct{}](maxBuckets),
	}
}

// attempt counts as a failure before the password is looked at, so that attempts at
// once cannot share one; succeeded takes it back. Names that do not exist are
// counted too: otherwise the throttle would tell which exist.
func (t *throttle) attempt(account, remote string, now time.Time) error {
	address, loopback := bucketOf(remote)
	key := pair{account, address}
	t.mu.Lock()
	defer t.mu.Unlock()
	failures := t.pairs.get(key, func() *tries { return &tries{} })
	if wait := failures.next.Sub(now); wait > 0 {
		return &ThrottledError{RetryAfter: wait}
	}
	if !t.known.has(key) {
		if err := take(bucket(t.addresses, address, addressEvery, addressBurst), now); err != nil {
			return err
		}
		if !loopback {
			if err := take(bucket(t.accounts, account, accountEvery, accountBurst), now); err != nil {
				return err
			}
		}
	}
	failures.add(now)
	return nil
}

// worthLogging tells whether one more failure from an address is: a stranger
// must not fill the admin log with links that he makes up.
func (t *throttle) worthLogging(remote string, now time.Time) bool {
	address, _ := bucketOf(remote)
	t.mu.Lock()
	defer t.mu.Unlock()
	return take(bucket(t.links, address, linksEvery, linksBurst), now) == nil
}

// succeeded remembers where an account signs in from, and forgets what failed there.
func (t *throttle) succeeded(account, remote string) {
	address, _ := bucketOf(remote)
	key := pair{account, address}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known.get(key, func() struct{} { return struct{}{} })
	*t.pairs.get(key, func() *tries { return &tries{} }) = tries{}
}

func bucket(of *recent[string, *rate.Limiter], key string, every time.Duration, burst int) *rate.Limiter {
	return of.get(key, func() *rate.Limiter { return rate.NewLimiter(rate.Every(every), burst) })
}

func take(l *rate.Limiter, now time.Time) error {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &ThrottledError{RetryAfter: wait}
}

// bucketOf is what counts as one client: an IPv4 address, or an IPv6 /64, of
// which everybody has one.
func bucketOf(remote string) (bucket string, loopback bool) {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		return remote, false
	}
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String(), addr.IsLoopback()
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr.String(), addr.IsLoopback()
	}
	return prefix.String(), addr.IsLoopback()
}

// recent is a map that forgets what was not asked for the longest.
type recent[K comparable, V any] struct {
	limit  int
	order  *list.List // of K, newest first
	places map[K]*list.Element
	values map[K]V
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, order: list.New(), places: map[K]*list.Element{}, values: map[K]V{}}
}

func (r *recent[K, V]) has(key K) bool {
	place, ok := r.places[key]
	if ok {
		r.order.MoveToFront(place)
	}
	return ok
}

func (r *recent[K, V]) get(key K, fresh func() V) V {
	if r.has(key) {
		return r.values[key]
	}
	if oldest := r.order.Back(); r.order.Len() >= r.limit {
		forgotten, _ := r.order.Remove(oldest).(K)
		delete(r.places, forgotten)
		delete(r.values, forgotten)
	}
	r.places[key], r.values[key] = r.order.PushFront(key), fresh()
	return r.values[key]
}
