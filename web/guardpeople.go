package web

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// peopleRecords know whose names may stand in a booking's texts.
type peopleRecords interface {
	// PeopleOf are the invitees of bookings' sessions and chains, by booking.
	PeopleOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Person, error)
	// ConnectionsOf are those that told of a booking of some resources.
	ConnectionsOf(ctx context.Context, resources []uuid.UUID) ([]uuid.UUID, error)
}

// PeopleOf are asked to mask them, and by nobody else.
func (g guarded) PeopleOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Person, error) {
	if scopeOf(ctx).Hides() {
		return nil, nil
	}
	return g.all.PeopleOf(ctx, bookings)
}

func (g guarded) ConnectionsOf(ctx context.Context, resources []uuid.UUID) ([]uuid.UUID, error) {
	scope := scopeOf(ctx)
	resources = slices.DeleteFunc(slices.Clone(resources), func(id uuid.UUID) bool { return !scope.Sees(id) })
	if len(resources) == 0 {
		return nil, nil
	}
	return g.all.ConnectionsOf(ctx, resources)
}

// people are those who may be named in what is about bookings, when something of
// them is hidden: a seat of a group has the others in its title.
func people[T any](ctx context.Context, from peopleRecords, all []T, of func(T) uuid.UUID) (map[uuid.UUID][]booking.Person, error) {
	if !scopeOf(ctx).Hides() || len(all) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(all))
	for i, v := range all {
		ids[i] = of(v)
	}
	return from.PeopleOf(ctx, ids)
}

func (g guarded) maskTransitions(ctx context.Context, all []booking.TransitionView) ([]booking.TransitionView, error) {
	scope := scopeOf(ctx)
	if !scope.Limited && !scope.Hides() {
		return all, nil
	}
	people, err := people(ctx, g.all, all, func(t booking.TransitionView) uuid.UUID { return t.BookingID })
	if err != nil {
		return nil, err
	}
	out := make([]booking.TransitionView, len(all))
	for i, t := range all {
		out[i] = scope.Transition(t, people[t.BookingID]...)
	}
	return out, nil
}

// maskReceipts takes out of a sender's keys whom they are about.
func (g guarded) maskReceipts(ctx context.Context, all []booking.ReceiptView) ([]booking.ReceiptView, error) {
	scope := scopeOf(ctx)
	if !scope.Hides() || len(all) == 0 {
		return all, nil
	}
	ids := make([]uuid.UUID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	about, err := g.all.BookingsOfReceipts(ctx, ids)
	if err != nil {
		return nil, err
	}
	people, err := people(ctx, g.all, slices.Concat(slices.Collect(maps.Values(about))...), func(id uuid.UUID) uuid.UUID { return id })
	if err != nil {
		return nil, err
	}
	out := make([]booking.ReceiptView, len(all))
	for i, r := range all {
		var who []booking.Person
		for _, id := range about[r.ID] {
			who = append(who, people[id]...)
		}
		out[i] = scope.Receipt(r, who...)
	}
	return out, nil
}
