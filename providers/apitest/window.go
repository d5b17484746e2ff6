package apitest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Names of the headers that tell of a window, for Limits.Told: Calendly's (OFF)
// and those of Cal.com's default window (W).
const (
	CalendlyHeaders = "X-RateLimit-%s"
	CalcomHeaders   = "X-RateLimit-%s-Default"
)

// spentFor is what an API without windows says that a spent one still lasts.
const spentFor = time.Minute

// window is what one who asks has had of its requests.
type window struct {
	ends  time.Time // on the wall
	count int
}

// who is whom a request is counted for.
func (f *Front) who(r *http.Request) string {
	if f.limits.Who == nil {
		return ""
	}
	return f.limits.Who(r)
}

// spent counts a request in its window, which begins with the first in it, says
// in the header what is left, and tells whether it is one too many. Whoever asks
// for more is refused until the window ends, or for the time of a block, which
// then begins.
func (f *Front) spent(h http.Header, who string) bool {
	if f.limits.Requests <= 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	w := f.windows[who]
	if !w.ends.After(now) {
		w = window{ends: now.Add(f.tempo.Wait(f.limits.Per))}
	}
	w.count++
	if w.count == f.limits.Requests+1 && f.limits.Block > 0 {
		w.ends = now.Add(f.tempo.Wait(f.limits.Block))
	}
	f.windows[who] = w
	f.tell(h, max(f.limits.Requests-w.count, 0), f.tempo.Passed(w.ends.Sub(now)))
	return w.count > f.limits.Requests
}

// tell says in an answer's header what is left of the window.
func (f *Front) tell(h http.Header, left int, reset time.Duration) {
	if f.limits.Told == "" {
		return
	}
	seconds := int((reset + time.Second - 1) / time.Second)
	for name, n := range map[string]int{"Limit": f.limits.Requests, "Remaining": left, "Reset": seconds} {
		h.Set(fmt.Sprintf(f.limits.Told, name), strconv.Itoa(n))
	}
}

// tellSpent says that nothing is left, whatever is.
func (f *Front) tellSpent(h http.Header) {
	reset := f.limits.Per
	if reset <= 0 {
		reset = spentFor
	}
	f.tell(h, 0, reset)
}

// BusiestOf is the largest number of requests that came for one who is counted
// within that much of the API's time.
func (f *Front) BusiestOf(d time.Duration) int {
	by := map[string][]time.Time{}
	for _, r := range f.Requests() {
		by[r.Who] = append(by[r.Who], r.At)
	}
	most := 0
	for _, at := range by {
		from := 0
		for to := range at {
			for at[to].Sub(at[from]) >= f.tempo.Wait(d) {
				from++
			}
			most = max(most, to-from+1)
		}
	}
	return most
}
