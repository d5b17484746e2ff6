package store

import (
	"context"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// EffectsOf are those of several bookings, by booking and newest first: a list of
// bookings asks once.
func (s *Store) EffectsOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Effect, error) {
	rows, err := in[effectRow](s.reader(ctx).Order("seq DESC").Session(fresh), "booking_id", bookings)
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID][]booking.Effect{}
	for _, r := range rows {
		e := r.toDomain()
		out[e.BookingID] = append(out[e.BookingID], e)
	}
	return out, nil
}
