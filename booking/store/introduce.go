package store

import (
	"context"
	"time"

	"slotkeeper/booking"
)

// Introduce makes the resources of an account's hosts (booking.Introduce).
//
//nolint:contextcheck // what Introduce does in memory is not to be broken off
func (s *Store) Introduce(ctx context.Context, source booking.Source, hosts []booking.Host, by booking.Actor, now time.Time) error {
	if len(hosts) == 0 {
		return nil
	}
	return s.inTrips(ctx, func(tx *transaction) (err error) {
		l := s.loader(tx)
		if l.st.Ledger, err = lockLedger(tx); err != nil {
			return err
		}
		l.events = []*booking.Event{{Source: source, Session: booking.SessionFacts{Hosts: hosts}}}
		l.follow(l.events[0])
		if err := l.rest(); err != nil {
			return err
		}
		l.newlyMapped()
		if err := l.rest(); err != nil {
			return err
		}
		if err := l.surroundings(); err != nil {
			return err
		}
		return s.save(tx, l.st, booking.Introduce(l.st, source, hosts, by, now), nil, now)
	})
}
