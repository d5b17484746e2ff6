package store

import (
	"context"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// EffectsOf are what was asked for at the providers of several bookings, by booking
// and newest first: a list of bookings asks once. What other systems are told of them
// is not among it.
func (s *Store) EffectsOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Effect, error) {
	rows, err := in[effectRow](s.reader(ctx).Where("kind = ?", booking.EffectCancel).Order("seq DESC").Session(fresh), "booking_id", bookings)
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
