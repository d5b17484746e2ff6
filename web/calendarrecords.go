package web

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// calendarRecords is what the calendar reads beside the lists: windows at once, and
// of a month no more than it shows.
type calendarRecords interface {
	// BookingsWithin are the first most bookings of a window, and whether there are more.
	BookingsWithin(ctx context.Context, f booking.Filter, most int) ([]booking.View, bool, error)
	// FormerPlaces are where bookings were before that moved since.
	FormerPlaces(ctx context.Context, f booking.Filter) ([]booking.FormerPlace, error)
	// BookingBefore is the last one whose time begins before an instant, or
	// booking.ErrNotFound.
	BookingBefore(ctx context.Context, f booking.Filter, before time.Time) (booking.View, error)
	// ByDay counts bookings by day and state, and gives the first of each day; one over
	// midnight is on each of its days. The days follow one another.
	ByDay(ctx context.Context, f booking.Filter, days []booking.Period, most int) ([]booking.DayCount, [][]booking.DayPlace, error)
	// ResourcesToldOf are those of the bookings that a connection told of.
	ResourcesToldOf(ctx context.Context, connection uuid.UUID, window booking.Period) ([]uuid.UUID, error)
	Ledger
}

func (g guarded) BookingsWithin(ctx context.Context, f booking.Filter, most int) ([]booking.View, bool, error) {
	all, more, err := g.all.BookingsWithin(ctx, scoped(ctx, f), most)
	if err != nil {
		return nil, false, err
	}
	all, err = g.mask(ctx, all)
	return all, more, err
}

// FormerPlaces name bookings, which are read, and so seen, apart.
func (g guarded) FormerPlaces(ctx context.Context, f booking.Filter) ([]booking.FormerPlace, error) {
	all, err := g.all.FormerPlaces(ctx, scoped(ctx, f))
	scope := scopeOf(ctx)
	return slices.DeleteFunc(all, func(p booking.FormerPlace) bool { return !scope.Sees(p.ResourceID) }), err
}

func (g guarded) BookingBefore(ctx context.Context, f booking.Filter, before time.Time) (booking.View, error) {
	b, err := g.all.BookingBefore(ctx, scoped(ctx, f), before)
	if err != nil {
		return booking.View{}, err
	}
	masked, err := g.mask(ctx, []booking.View{b})
	if err != nil {
		return booking.View{}, err
	}
	return masked[0], nil
}

func (g guarded) ByDay(ctx context.Context, f booking.Filter, days []booking.Period, most int) ([]booking.DayCount, [][]booking.DayPlace, error) {
	counts, first, err := g.all.ByDay(ctx, scoped(ctx, f), days, most)
	if err != nil {
		return nil, nil, err
	}
	for i := range first {
		of := make([]booking.View, len(first[i]))
		for n, p := range first[i] {
			of[n] = p.View
		}
		if of, err = g.mask(ctx, of); err != nil {
			return nil, nil, err
		}
		for n := range of {
			first[i][n].View = of[n]
		}
	}
	return counts, first, nil
}

func (g guarded) ResourcesToldOf(ctx context.Context, connection uuid.UUID, window booking.Period) ([]uuid.UUID, error) {
	all, err := g.all.ResourcesToldOf(ctx, connection, window)
	scope := scopeOf(ctx)
	return slices.DeleteFunc(all, func(id uuid.UUID) bool { return !scope.Sees(id) }), err
}

// LastSeq says how much has happened, and of nobody what. Who is limited is told of
// nothing but what is seen: gaps between the numbers would say how busy others are.
// So theirs only stands for the newest change that they see, and is no count.
func (g guarded) LastSeq(ctx context.Context) (int64, error) {
	if !scopeOf(ctx).Limited {
		return g.all.LastSeq(ctx)
	}
	l, err := g.Transitions(ctx, booking.Filter{}, booking.Page{Limit: 1})
	if err != nil || len(l.Items) == 0 {
		return 0, err
	}
	sum := sha256.Sum256(l.Items[0].ID[:])
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 16), nil // as much as is exact in JavaScript
}
