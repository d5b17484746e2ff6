package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"slotkeeper/booking"
)

// MapIdentity maps a provider's identity to a resource, made when there is none,
// and lets its sessions claim their places there in the same transaction. It
// says how many bookings changed their state by that.
//
//nolint:contextcheck // what Remap does in memory is not to be broken off
func (s *Store) MapIdentity(ctx context.Context, id booking.Identity, to booking.Resource, by booking.Actor, now time.Time) (int, error) {
	changed := 0
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		l := s.loader(tx)
		if err := l.ledger(); err != nil {
			return err
		}
		l.mapped[booking.IdentityKey{Source: id.Source, ExternalID: id.ExternalID}] = to.ID
		for _, step := range []func() error{
			func() error { return l.identities(map[string]bool{id.ExternalID: true}) },
			func() error { return l.hosted([]string{id.ExternalID}) },
			l.surroundings, l.resources,
			func() error {
				rows, err := in[resourceRow](tx, "id", []any{to.ID})
				for _, r := range rows {
					l.st.Resources[r.ID] = booking.Resource{ID: r.ID, Name: r.Name}
				}
				return err
			},
		} {
			if err := step(); err != nil {
				return err
			}
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
