package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

type togetherRow struct {
	ID           uuid.UUID
	SessionID    *uuid.UUID
	ChainID      uuid.UUID
	InviteeName  string
	InviteeEmail string
	InviteePhone string
}

// PeopleOf are the invitees of bookings' sessions and chains, by booking: whoever a
// provider may have named in a booking's title. Each is of every booking that it
// stands with, so bookings of one group have many in common.
func (s *Store) PeopleOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Person, error) {
	q := s.reader(ctx).Table("bookings").Select("id, session_id, chain_id, invitee_name, invitee_email, invitee_phone").Session(fresh)
	asked := distinctIDs(bookings)
	own, err := in[togetherRow](q, "id", asked)
	if err != nil {
		return nil, classify(err)
	}
	var sessions, chains []uuid.UUID
	for _, r := range own {
		chains = append(chains, r.ChainID)
		if r.SessionID != nil {
			sessions = append(sessions, *r.SessionID)
		}
	}
	seats, err := in[togetherRow](q, "session_id", distinctIDs(sessions))
	if err != nil {
		return nil, classify(err)
	}
	chained, err := in[togetherRow](q, "chain_id", distinctIDs(chains))
	if err != nil {
		return nil, classify(err)
	}
	of := map[uuid.UUID][]booking.Person{}
	for _, r := range seats {
		of[*r.SessionID] = append(of[*r.SessionID], r.person())
	}
	before := map[uuid.UUID][]booking.Person{}
	for _, r := range chained {
		before[r.ChainID] = append(before[r.ChainID], r.person())
	}
	out := make(map[uuid.UUID][]booking.Person, len(own))
	for _, r := range own {
		out[r.ID] = slices.Concat(of[idOrNil(r.SessionID)], before[r.ChainID])
	}
	return out, nil
}

func (r togetherRow) person() booking.Person {
	return booking.Person{Name: r.InviteeName, Email: r.InviteeEmail, Phone: r.InviteePhone}
}

func distinctIDs(ids []uuid.UUID) []uuid.UUID {
	out := slices.Clone(ids)
	slices.SortFunc(out, compareIDs)
	return slices.Compact(out)
}

// ConnectionsOf are the connections that told first of a booking of some resources.
// The hosts are looked for first: the view that knows which mapping wins has no
// index of resources.
func (s *Store) ConnectionsOf(ctx context.Context, resources []uuid.UUID) ([]uuid.UUID, error) {
	names, err := s.hostNames(ctx, resources)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var out []uuid.UUID
	err = s.reader(ctx).Raw(`SELECT DISTINCT b.connection_id FROM bookings b
		WHERE b.session_id IN (SELECT h.session_id FROM session_hosts h WHERE h.external_id IN ?
				UNION SELECT h.session_id FROM session_hosts h WHERE h.email <> '' AND h.email IN ?)
			AND EXISTS (SELECT 1 FROM session_resources r WHERE r.session_id = b.session_id AND r.resource_id IN ?)`,
		names, names, resources).Scan(&out).Error
	return out, classify(err)
}

// hostNames are the hosts that map to one of the resources in any way.
func (s *Store) hostNames(ctx context.Context, resources []uuid.UUID) ([]string, error) {
	var names []string
	err := s.reader(ctx).Table("identities").Where("resource_id IN ?", resources).Distinct().Pluck("external_id", &names).Error
	return names, classify(err)
}
