package account_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/providers"
	"slotkeeper/providers/calendly"
)

// gates stop a process at calls to a provider, as a slow network or a sleeping
// machine does.
type gates struct {
	mu  sync.Mutex
	all map[string]*gate
	// hidden are the bookings that the API knows and does not list.
	hidden map[string]bool
}

type gate struct{ reached, open chan struct{} }

// shut has the next call of a name wait; reached says that it does, open lets it go.
func (g *gates) shut(call string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string]*gate{}
	}
	g.all[call] = &gate{reached: make(chan struct{}), open: make(chan struct{})}
	return g.all[call]
}

func (g *gates) pass(call string) {
	g.mu.Lock()
	gate := g.all[call]
	delete(g.all, call)
	g.mu.Unlock()
	if gate != nil {
		close(gate.reached)
		<-gate.open
	}
}

// gated is Calendly's adapter behind gates. Who waits there does not notice that his
// context ends, and goes on all the same.
type gated struct {
	*calendly.Provider
	gates *gates
}

func (g gated) List(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, w providers.Window, cursor string, ticket time.Time) (providers.Page, error) {
	g.gates.pass("list")
	p, err := g.Provider.List(ctx, client, c, o, w, cursor, ticket)
	p.Standings = slices.DeleteFunc(p.Standings, func(s providers.Standing) bool { return s.Event != nil && g.gates.hidden[s.Event.ExternalID] })
	return p, err
}

func (g gated) Identify(ctx context.Context, client *http.Client, c providers.Connection) (providers.Profile, error) {
	p, err := g.Provider.Identify(ctx, client, c)
	g.gates.pass("identified")
	return p, err
}

func (g gated) Hooks(ctx context.Context, client *http.Client, c providers.Connection, target string) ([]providers.Hook, error) {
	hooks, err := g.Provider.Hooks(ctx, client, c, target)
	g.gates.pass("asked")
	return hooks, err
}

func (g gated) Subscribe(ctx context.Context, client *http.Client, c providers.Connection, target string, p providers.Profile) ([]providers.Hook, error) {
	g.gates.pass("subscribe")
	return g.Provider.Subscribe(context.WithoutCancel(ctx), client, c, target, p)
}

func (g gated) Unsubscribe(ctx context.Context, client *http.Client, c providers.Connection, target string) error {
	err := g.Provider.Unsubscribe(ctx, client, c, target)
	g.gates.pass("unsubscribed")
	return err
}

// losses are answers of the database that a process does not hear.
type losses struct {
	renewals atomic.Bool  // of holds on runs, which are written
	releases atomic.Bool  // of runs, which are not
	tokens   atomic.Int32 // of tokens that came, which are not
}

// lossy is a store that loses them.
type lossy struct {
	*store.Store
	lost *losses
}

func (l lossy) HoldRun(ctx context.Context, id uuid.UUID, found *booking.Run, h booking.Hold) error {
	err := l.Store.HoldRun(ctx, id, found, h)
	if found == nil && l.lost.renewals.Load() {
		return context.Canceled
	}
	return err
}

func (l lossy) ReleaseRun(ctx context.Context, r booking.Run, by uuid.UUID) error {
	if l.lost.releases.Load() {
		return booking.ErrUnavailable
	}
	return l.Store.ReleaseRun(ctx, r, by)
}

func (l lossy) KeepToken(ctx context.Context, id, by uuid.UUID, generation int, token providers.Credentials) error {
	if l.lost.tokens.Add(-1) >= 0 {
		return booking.ErrUnavailable
	}
	return l.Store.KeepToken(ctx, id, by, generation, token)
}
