package web

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// effectsAsker is Effects under a name that is not its method's.
type effectsAsker interface{ Effects }

// guardedEffects shows who a cancel would reach as the request's scope does. Who
// may ask for one is never limited to resources.
type guardedEffects struct {
	effectsAsker
	records peopleRecords
}

func (g guardedEffects) CancelPlan(ctx context.Context, bookingID uuid.UUID) (booking.CancelPlan, error) {
	p, err := g.effectsAsker.CancelPlan(ctx, bookingID)
	if err != nil {
		return booking.CancelPlan{}, err
	}
	scope, shown := scopeOf(ctx), append(slices.Clone(p.Affected), p.Booking)
	people, err := people(ctx, g.records, shown, func(b booking.View) uuid.UUID { return b.ID })
	if err != nil {
		return booking.CancelPlan{}, err
	}
	for i, b := range shown {
		shown[i] = scope.Booking(b, people[b.ID]...)
	}
	p.Affected, p.Booking = shown[:len(p.Affected)], shown[len(p.Affected)]
	return p, nil
}

// guardedResources lists what can be booked as far as the request's scope reaches.
// Who may change it is never limited to some.
type guardedResources struct{ Resources }

func (g guardedResources) FindResources(ctx context.Context, text string, p booking.Page) (booking.List[booking.ResourceView], error) {
	l, err := g.Resources.FindResources(ctx, text, p)
	if scope := scopeOf(ctx); scope.Limited {
		l.Items = slices.DeleteFunc(slices.Clone(l.Items), func(r booking.ResourceView) bool { return !scope.Sees(r.ID) })
	}
	return l, err
}

func (g guardedResources) Coming(ctx context.Context, after time.Time) (map[uuid.UUID]int, error) {
	all, err := g.Resources.Coming(ctx, after)
	if scope := scopeOf(ctx); scope.Limited {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(id uuid.UUID, _ int) bool { return !scope.Sees(id) })
	}
	return all, err
}

// Unmapped hosts have no resource that somebody could be limited to.
func (g guardedResources) Unmapped(ctx context.Context, after time.Time) ([]booking.UnmappedView, error) {
	if scopeOf(ctx).Limited {
		return nil, nil
	}
	return g.Resources.Unmapped(ctx, after)
}
