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

// limits hold each of many to a rate. Two generations are kept: when one is full the
// older is forgotten, so that strangers cannot fill the memory.
type limits struct {
	every time.Duration
	burst int

	mu     sync.Mutex
	recent map[string]*rate.Limiter
	older  map[string]*rate.Limiter
}

func newLimits(every time.Duration, burst int) *limits {
	return &limits{every: every, burst: burst, recent: map[string]*rate.Limiter{}}
}

// take is how long to wait; 0 for those who need not.
func (l *limits) take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, found := l.recent[key]
	if !found {
		if limiter, found = l.older[key]; !found {
			limiter = rate.NewLimiter(rate.Every(l.every), l.burst)
		}
		if len(l.recent) >= maxClients {
			l.older, l.recent = l.recent, map[string]*rate.Limiter{}
		}
		l.recent[key] = limiter
	}
	r := limiter.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
