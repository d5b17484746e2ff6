package store

import (
	"context"
	"time"

	"slotkeeper/booking"
)

// MapIdentity maps a provider's identity to a resource, made when there is none,
// and lets its sessions claim their places there in the same transaction. It
// says how many bookings changed their state by that.
//
//nolint:contextcheck // what Remap does in memory is not to be broken off
func (s *Store) MapIdentity(ctx context.Context, id booking.Identity, to booking.Resource, by booking.Actor, now time.Time) (int, error) {
	changed := 0
	err := s.inTrips(ctx, func(tx *transaction) (err error) {
		l := s.loader(tx)
		if l.st.Ledger, err = lockLedger(tx); err != nil {
			return err
		}
		l.mapped[booking.IdentityKey{Source: id.Source, ExternalID: id.ExternalID}] = to.ID
		l.names.add(id.ExternalID)
		l.hosting.add(id.ExternalID)
		if err := l.rest(); err != nil {
			return err
		}
		if err := l.surroundings(); err != nil {
			return err
		}
		if known, ok := l.st.Identities[booking.IdentityKey{Source: id.Source, ExternalID: id.ExternalID}]; ok {
			id.Email = known.Email
		}
		ch := booking.Remap(l.st, id, to, by, now)
		changed = len(ch.Transitions)
		return s.save(tx, l.st, ch, nil, now)
	})
	return changed, err
}
