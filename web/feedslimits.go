package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A client may ask for 30 feeds that do not exist at once, and then for one in ten
// seconds. A feed may be read 60 times at once and then once a second: a feed whose
// address got about must not keep the database from its work.
const (
	feedMissBurst = 30
	feedMissEvery = 10 * time.Second
	feedReadBurst = 60
	feedReadEvery = time.Second
)

// limits hold each of many to a rate.
type limits struct {
	every time.Duration
	burst int

	mu  sync.Mutex
	all generations[string, *rate.Limiter]
}

func newLimits(every time.Duration, burst int) *limits {
	return &limits{every: every, burst: burst}
}

// take is how long to wait; 0 for those who need not.
func (l *limits) take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.all.get(key, func() *rate.Limiter { return rate.NewLimiter(rate.Every(l.every), l.burst) })
	r := limiter.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
