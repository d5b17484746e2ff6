package web

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// LiveInterval is how often it is looked whether something happened, while somebody
// watches.
const LiveInterval = time.Second

// maxWatchers is how many pages of one server may be told of changes at once. Each
// holds a connection open; whoever finds no room looks again after a while.
const maxWatchers = 1000

// maxWatchersEach is how many of them one person may have: as many browsers as
// somebody may have open, and not all the room there is.
const maxWatchersEach = 20

// errTooManyWatchers says that there is no room for another one.
var errTooManyWatchers = errors.New("web: too many pages are open")

// Ledger knows the newest transition's number; *store.Store.
type Ledger interface {
	LastSeq(ctx context.Context) (int64, error)
}

// Live tells open pages that something happened. One reading serves all who watch,
// and while nobody does nothing is read: so what a page costs the database does not
// depend on how many are open.
type Live struct {
	ledger Ledger
	log    *slog.Logger

	mu       sync.Mutex
	watchers map[*watch]bool
	each     map[uuid.UUID]int // watchers by whose they are
	seq      int64
	newest   *glance // of the newest look; nil until somebody watches
	stopped  bool
	failing  bool
}

// NewLive tells of what stands in a ledger, once it runs.
func NewLive(ledger Ledger, log *slog.Logger) *Live {
	return &Live{ledger: ledger, log: log, watchers: map[*watch]bool{}, each: map[uuid.UUID]int{}}
}

// Run looks at every tick until ctx ends; then everybody stops watching, so that no
// open page keeps the server from ending.
func (l *Live) Run(ctx context.Context, tick <-chan time.Time) error {
	defer l.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			l.look(ctx)
		}
	}
}

// look reads once for all. A database that is away is said once, and once that it is
// back: not every second.
func (l *Live) look(ctx context.Context) {
	l.mu.Lock()
	watched := len(l.watchers) > 0
	l.mu.Unlock()
	if !watched {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 5*LiveInterval)
	defer stop()
	seq, err := l.ledger.LastSeq(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	if failing := err != nil; failing != l.failing && ctx.Err() == nil {
		l.failing = failing
		if failing {
			l.log.LogAttrs(ctx, slog.LevelWarn, "open pages are not told of changes: the ledger cannot be read", slog.Any("error", err))
		} else {
			l.log.LogAttrs(ctx, slog.LevelInfo, "open pages are told of changes again")
		}
	}
	if err != nil {
		return
	}
	moved := l.newest == nil || seq != l.seq
	l.seq, l.newest = seq, newGlance()
	if !moved {
		return
	}
	for w := range l.watchers {
		w.tell(l.newest)
	}
}

func (l *Live) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for w := range l.watchers {
		close(w.ended)
		delete(l.watchers, w)
	}
}

// glance is one look at the ledger, and what those who watch read because of it.
// Who would read the same reads it once: so a change costs as many readings as there
// are kinds of viewers, not as many as there are open pages.
type glance struct {
	mu       sync.Mutex
	readings map[string]*reading
}

func newGlance() *glance { return &glance{readings: map[string]*reading{}} }

type reading struct {
	once sync.Once
	got  any
	err  error
}

// share reads what a key stands for, or waits for whoever reads it already. A page
// that is closed meanwhile does not spoil it for the others.
func share[T any](ctx context.Context, g *glance, key string, read func(context.Context) (T, error)) (T, error) {
	g.mu.Lock()
	r := g.readings[key]
	if r == nil {
		r = &reading{}
		g.readings[key] = r
	}
	g.mu.Unlock()
	r.once.Do(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*LiveInterval)
		defer stop()
		r.got, r.err = read(ctx)
	})
	got, _ := r.got.(T)
	return got, r.err
}

// watch is somebody who watches. What happens while they are busy is told as one.
type watch struct {
	whose uuid.UUID
	news  chan *glance
	ended chan struct{} // closed when the server stops
}

func (w *watch) tell(g *glance) {
	select {
	case <-w.news: // not taken yet: the newer one stands for both
	default:
	}
	w.news <- g
}

// watch begins to watch; end it with leave. What stands is told at once when it is
// known, else with the next look.
func (l *Live) watch(whose uuid.UUID) (*watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.watchers) >= maxWatchers || l.each[whose] >= maxWatchersEach {
		return nil, errTooManyWatchers
	}
	if len(l.watchers) == 0 {
		l.newest = nil // what was read when the last one left is old
	}
	w := &watch{whose: whose, news: make(chan *glance, 1), ended: make(chan struct{})}
	l.watchers[w] = true
	l.each[whose]++
	if l.newest != nil {
		w.tell(l.newest)
	}
	return w, nil
}

func (l *Live) leave(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, w)
	if l.each[w.whose]--; l.each[w.whose] <= 0 {
		delete(l.each, w.whose)
	}
}
