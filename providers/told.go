package providers

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds how long an API can make us wait.
const maxRetryAfter = time.Hour

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

// RetryAfter is how long an answer asks to be left alone: Retry-After in seconds
// or as a date against the answer's own, or until a spent window begins anew.
func RetryAfter(h http.Header) (time.Duration, bool) {
	if after, ok := wait(h, "Retry-After"); ok {
		return after, true
	}
	if after, ok := wait(h, resetHeader); ok {
		return after, true
	}
	return spent(h)
}

// The headers that tell of a window of requests, in seconds until it begins anew.
// Calendly has one window; Cal.com (W) names each of a key's windows at the end.
const (
	remainingHeader = "X-Ratelimit-Remaining"
	resetHeader     = "X-Ratelimit-Reset"
)

// spent tells whether an answer says that the next request is one too many, and
// when it no longer is. Of several named windows one that has something left is
// enough, so the first to begin anew counts.
func spent(h http.Header) (time.Duration, bool) {
	first, found := maxRetryAfter, false
	for name, values := range h {
		window, ok := strings.CutPrefix(name, remainingHeader)
		if !ok || window != "" && window[0] != '-' || len(values) == 0 {
			continue
		}
		left, err := strconv.ParseInt(strings.TrimSpace(values[0]), 10, 32)
		if err != nil {
			continue
		}
		if left > 0 {
			return 0, false
		}
		if until, ok := wait(h, resetHeader+window); ok {
			first, found = min(first, until), true
		}
	}
	if !found {
		return 0, false
	}
	return first, true
}

// wait is the time that a header tells to wait.
func wait(h http.Header, name string) (time.Duration, bool) {
	after, ok := askedFor(h, name)
	return min(after, maxRetryAfter), ok
}

// askedFor is what a header asks for, however long that is; many years are some.
func askedFor(h http.Header, name string) (time.Duration, bool) {
	const most = 1 << 31
	text := strings.TrimSpace(h.Get(name))
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return time.Duration(min(n, most)) * time.Second, true
	}
	until, err := http.ParseTime(text)
	sent, sentErr := http.ParseTime(h.Get("Date"))
	if err == nil && sentErr == nil && until.After(sent) {
		return until.Sub(sent), true
	}
	return 0, false
}

// RetryAfterOf is Retry-After alone, of somebody who may ask for as long as he likes;
// 0 when he does not.
func RetryAfterOf(h http.Header) time.Duration {
	after, _ := askedFor(h, "Retry-After")
	return after
}

// Skew is how far our clock is ahead of an API's, or behind when negative, as its
// answer's Date tells. now is when the answer came, so a slow way looks like a
// clock ahead. Date has whole seconds: what may be due to that is not counted. An
// answer out of a cache tells nothing.
func Skew(h http.Header, now time.Time) (time.Duration, bool) {
	sent, err := http.ParseTime(h.Get("Date"))
	if age := strings.TrimSpace(h.Get("Age")); err != nil || age != "" && age != "0" {
		return 0, false
	}
	ahead := now.Sub(sent)
	switch {
	case ahead < 0:
		return ahead, true
	case ahead < time.Second:
		return 0, true
	}
	return ahead - time.Second, true
}
