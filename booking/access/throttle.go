package access

import (
	"container/list"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The throttle of sign-ins. An address may try 20 times at once and then every
// 15 seconds; an account may be tried 10 times at once and then every 30
// seconds, from all addresses together.
//
// The account's bucket alone would let a stranger lock its owner out by keeping
// it empty. So it does not count for whom it is not meant: an address from which
// the account signed in since the start, and the machine itself (loopback, for
// instance through an SSH tunnel). These are held by their own address's bucket
// only. One-time links are never refused for this: they cannot be guessed.
//
// Buckets live in memory and are bounded; a restart empties them. Each process
// counts for itself.
const (
	addressBurst = 20
	addressEvery = 15 * time.Second
	accountBurst = 10
	accountEvery = 30 * time.Second

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
	addresses *recent[string, *rate.Limiter]
	accounts  *recent[string, *rate.Limiter]
	known     *recent[knownKey, struct{}]
}

type knownKey struct{ account, address string }

func newThrottle() *throttle {
	return &throttle{
		addresses: newRecent[string, *rate.Limiter](maxBuckets),
		accounts:  newRecent[string, *rate.Limiter](maxBuckets),
		known:     newRecent[knownKey, struct{}](maxBuckets),
	}
}

// attempt takes from the buckets before the password is looked at, so that
// attempts at once cannot share one. Names that do not exist have buckets too:
// otherwise the throttle would tell which exist.
func (t *throttle) attempt(account, remote string, now time.Time) error {
	address, loopback := bucketOf(remote)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.takeAddress(address, now); err != nil {
		return err
	}
	if loopback || t.known.has(knownKey{account, address}) {
		return nil
	}
	byAccount := t.accounts.get(account, func() *rate.Limiter {
		return rate.NewLimiter(rate.Every(accountEvery), accountBurst)
	})
	return take(byAccount, now)
}

// worthLogging tells whether one more failure from an address is: a stranger
// must not fill the admin log with links that he makes up.
func (t *throttle) worthLogging(remote string, now time.Time) bool {
	address, _ := bucketOf(remote)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeAddress(address, now) == nil
}

func (t *throttle) takeAddress(address string, now time.Time) error {
	return take(t.addresses.get(address, func() *rate.Limiter {
		return rate.NewLimiter(rate.Every(addressEvery), addressBurst)
	}), now)
}

// succeeded remembers where an account signs in from.
func (t *throttle) succeeded(account, remote string) {
	address, _ := bucketOf(remote)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known.get(knownKey{account, address}, func() struct{} { return struct{}{} })
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
