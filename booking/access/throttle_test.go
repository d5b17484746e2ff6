package access

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// attempts counts how many of n get through.
func attempts(t *testing.T, th *throttle, n int, account string, remote func(i int) string, now time.Time) int {
	t.Helper()
	through := 0
	for i := range n {
		err := th.attempt(account, remote(i), now)
		var throttled *ThrottledError
		switch {
		case err == nil:
			through++
		case !errors.As(err, &throttled):
			t.Fatal(err)
		case throttled.Seconds() < 1 || throttled.RetryAfter > longestDelay:
			t.Errorf("Retry-After %v", throttled.RetryAfter)
		}
	}
	return through
}

func from(address string) func(int) string { return func(int) string { return address } }

func TestThrottleByAddress(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	got := 0
	for i := range 2 * addressBurst {
		got += attempts(t, th, 1, fmt.Sprint("user", i), from("192.0.2.1"), start)
	}
	if got != addressBurst {
		t.Errorf("%d accounts were tried from one address, want %d", got, addressBurst)
	}
	if n := attempts(t, th, 5, "user0", from("192.0.2.2"), start); n != 5 {
		t.Errorf("another address is held back: %d of 5", n)
	}
	if n := attempts(t, th, 5, "user9", from("192.0.2.1"), start.Add(addressEvery)); n != 1 {
		t.Errorf("%d attempts after one interval, want 1", n)
	}
}

func TestThrottleByAccount(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	manyAddresses := func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }
	if n := attempts(t, th, 50, "admin", manyAddresses, start); n != accountBurst {
		t.Errorf("%d attempts at one account, want %d", n, accountBurst)
	}
	if n := attempts(t, th, 1, "other", from("198.51.100.200"), start); n != 1 {
		t.Error("another account is held back")
	}
	if n := attempts(t, th, 5, "admin", from("198.51.100.201"), start.Add(accountEvery)); n != 1 {
		t.Errorf("%d attempts after one interval, want 1", n)
	}
}

// A name at an address may be tried a few times, then after growing delays: also on
// the machine itself, where every client of an untrusted proxy comes from.
func TestThrottleByNameAndAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"192.0.2.1", "127.0.0.1", "::1"} {
		th := newThrottle()
		if n := attempts(t, th, 15, "rina", from(address), start); n != freeTries {
			t.Errorf("%s: %d wrong passwords of 15 without delay, want %d", address, n, freeTries)
		}
		now, before := start, time.Duration(0)
		for range 12 {
			var throttled *ThrottledError
			if err := th.attempt("rina", address, now); !errors.As(err, &throttled) {
				t.Fatalf("%s: no delay after %v: %v", address, before, err)
			}
			wait := throttled.RetryAfter
			if wait < before || wait > longestDelay {
				t.Fatalf("%s: a delay of %v after one of %v", address, wait, before)
			}
			now, before = now.Add(wait), wait
			if err := th.attempt("rina", address, now); err != nil {
				t.Fatalf("%s: still refused after the delay: %v", address, err)
			}
		}
		if before != longestDelay {
			t.Errorf("%s: the longest delay is %v", address, before)
		}
		if n := attempts(t, th, 10, "rina", from(address), now.Add(forgetAfter)); n != freeTries {
			t.Errorf("%s: %d attempts once it is forgotten, want %d", address, n, freeTries)
		}
	}
}

// Who shares an address with somebody who guesses gets in, and so does the one who
// is guessed at elsewhere; the right password ends the delay.
func TestThrottleSparesTheNeighbours(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	attempts(t, th, 200, "rina", from("192.0.2.1"), start)
	for name, address := range map[string]string{"budi": "192.0.2.1", "rina": "192.0.2.2"} {
		if n := attempts(t, th, 1, name, from(address), start); n != 1 {
			t.Errorf("%s at %s is held back", name, address)
		}
	}
	later := start.Add(longestDelay)
	if n := attempts(t, th, 1, "rina", from("192.0.2.1"), later); n != 1 {
		t.Fatal("she is held back after the delay")
	}
	th.succeeded("rina", "192.0.2.1")
	if n := attempts(t, th, freeTries+5, "rina", from("192.0.2.1"), later); n != freeTries {
		t.Errorf("%d attempts after the right password, want %d", n, freeTries)
	}
}

// A stranger who keeps the account's bucket empty does not keep its owner out.
func TestThrottleCannotLockOut(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	th.succeeded("admin", "203.0.113.7")
	attempts(t, th, 100, "admin", func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }, start)
	for _, address := range []string{"203.0.113.7", "127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		if n := attempts(t, th, 1, "admin", from(address), start); n != 1 {
			t.Errorf("the owner is locked out at %s", address)
		}
	}
	if n := attempts(t, th, 100, "admin", from("203.0.113.7"), start); n >= freeTries {
		t.Errorf("a known address is not held back at all: %d", n)
	}
	if n := attempts(t, th, 1, "admin", from("203.0.113.8"), start); n != 0 {
		t.Error("a stranger got through")
	}
	// A full address holds back strangers only.
	for i := range addressBurst {
		attempts(t, th, 1, fmt.Sprint("user", i), from("203.0.113.9"), start)
	}
	th.succeeded("budi", "203.0.113.9")
	if n := attempts(t, th, 1, "budi", from("203.0.113.9"), start); n != 1 {
		t.Error("somebody who signs in there is held back by the address")
	}
}

func TestThrottleClients(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		same bool
	}{
		{"2001:db8::1", "2001:db8::ffff:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"", "unknown", false},
	}
	for _, tt := range tests {
		a, _ := bucketOf(tt.a)
		b, _ := bucketOf(tt.b)
		if (a == b) != tt.same {
			t.Errorf("%s and %s: %s, %s", tt.a, tt.b, a, b)
		}
	}
}

func TestThrottleIsBounded(t *testing.T) {
	t.Parallel()
	r := newRecent[int, int](3)
	for i := range 10 {
		r.get(i, func() int { return i })
		if !r.has(0) { // asked for all the time, so never the oldest
			t.Fatalf("0 was forgotten at %d", i)
		}
	}
	if len(r.places) != 3 || len(r.values) != 3 || r.order.Len() != 3 || !r.has(9) || r.has(5) {
		t.Errorf("%d places, %d values, %d in order", len(r.places), len(r.values), r.order.Len())
	}
}
