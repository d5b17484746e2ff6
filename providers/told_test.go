package providers_test

import (
	"net/http"
	"testing"
	"time"

	"slotkeeper/providers"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for n := 0; n < len(pairs); n += 2 {
		h.Set(pairs[n], pairs[n+1])
	}
	return h
}

// What an answer tells of its window, by itself and as the reason of a 429.
func TestWindowsToldInHeaders(t *testing.T) {
	const none = -time.Second
	for _, c := range []struct {
		name         string
		header       http.Header
		spent, after time.Duration
	}{
		{"nothing", header(), none, none},
		{"Retry-After", header("Retry-After", "30"), none, 30 * time.Second},
		{"Retry-After, a date", header("Date", "Tue, 15 Sep 2026 12:00:00 GMT", "Retry-After", "Tue, 15 Sep 2026 12:02:00 GMT"), none, 2 * time.Minute},
		{"Retry-After, a date gone by", header("Date", "Tue, 15 Sep 2026 12:00:00 GMT", "Retry-After", "Tue, 15 Sep 2026 11:00:00 GMT"), none, none},
		{"Retry-After, no date to compare", header("Retry-After", "Tue, 15 Sep 2026 12:02:00 GMT"), none, none},
		{"Retry-After before a window", header("Retry-After", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"), time.Minute, 5 * time.Second},
		{"Calendly, some left", header("X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "3", "X-RateLimit-Reset", "60"), none, time.Minute},
		{"Calendly, none left", header("X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "17"), 17 * time.Second, 17 * time.Second},
		{"none left, until nobody knows when", header("X-RateLimit-Remaining", "0"), none, none},
		{"none left, until a time that is none", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "soon"), none, none},
		{"none left for ever", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "999999999"), time.Hour, time.Hour},
		{"fewer than none left", header("X-RateLimit-Remaining", "-2", "X-RateLimit-Reset", "17"), 17 * time.Second, 17 * time.Second},
		{"no number left", header("X-RateLimit-Remaining", "many", "X-RateLimit-Reset", "17"), none, 17 * time.Second},
		{"Cal.com, some left", header("X-RateLimit-Limit-Default", "120", "X-RateLimit-Remaining-Default", "119", "X-RateLimit-Reset-Default", "60"), none, none},
		{"Cal.com, none left", header("X-RateLimit-Limit-Default", "120", "X-RateLimit-Remaining-Default", "0", "X-RateLimit-Reset-Default", "42"), 42 * time.Second, 42 * time.Second},
		{"Cal.com, one of two windows left", header("X-RateLimit-Remaining-Default", "0", "X-RateLimit-Reset-Default", "42", "X-RateLimit-Remaining-Hourly", "5", "X-RateLimit-Reset-Hourly", "900"), none, none},
		{"Cal.com, none of two windows left", header("X-RateLimit-Remaining-Default", "0", "X-RateLimit-Reset-Default", "42", "X-RateLimit-Remaining-Hourly", "0", "X-RateLimit-Reset-Hourly", "900"), 42 * time.Second, 42 * time.Second},
		{"something else", header("X-RateLimit-RemainingTokens", "0", "X-RateLimit-ResetTokens", "42"), none, none},
	} {
		spent, ok := providers.Spent(c.header)
		if !ok {
			spent = none
		}
		after, ok := providers.RetryAfter(c.header)
		if !ok {
			after = none
		}
		if spent != c.spent || after != c.after {
			t.Errorf("%s: spent for %s, after %s; want %s and %s", c.name, spent, after, c.spent, c.after)
		}
	}
}

func TestSkew(t *testing.T) {
	now := time.Date(2026, 9, 15, 12, 0, 0, 400e6, time.UTC)
	for _, c := range []struct {
		name   string
		header http.Header
		skew   time.Duration
		ok     bool
	}{
		{"no date", header(), 0, false},
		{"no date that can be read", header("Date", "today"), 0, false},
		{"the same second", header("Date", "Tue, 15 Sep 2026 12:00:00 GMT"), 0, true},
		{"the second before", header("Date", "Tue, 15 Sep 2026 11:59:59 GMT"), 400 * time.Millisecond, true},
		{"ahead", header("Date", "Tue, 15 Sep 2026 11:58:00 GMT"), 119400 * time.Millisecond, true},
		{"behind", header("Date", "Tue, 15 Sep 2026 12:01:00 GMT"), -59600 * time.Millisecond, true},
		{"of a cache", header("Date", "Tue, 15 Sep 2026 11:58:00 GMT", "Age", "120"), 0, false},
		{"fresh of a cache", header("Date", "Tue, 15 Sep 2026 12:00:00 GMT", "Age", "0"), 0, true},
	} {
		if skew, ok := providers.Skew(c.header, now); skew != c.skew || ok != c.ok {
			t.Errorf("%s: %s %t, want %s %t", c.name, skew, ok, c.skew, c.ok)
		}
	}
}
