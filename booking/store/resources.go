package store

import (
	"context"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// resourceViewRow is a row of resources as it is read.
type resourceViewRow struct {
	ID       uuid.UUID
	Name     string
	Timezone string
}

func (resourceViewRow) TableName() string { return "resources" }

const listResources = "resources"

// Resources lists resources by id, with the identities that map to each. Names
// can be changed while somebody pages; ids cannot.
func (s *Store) Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error) {
	var none booking.List[booking.ResourceView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readCursor(p, listResources, 1)
	if err != nil {
		return none, err
	}
	q := s.reader(ctx).Order("id").Limit(limit + 1)
	if f.ResourceID != nil {
		q = q.Where("id = ?", *f.ResourceID)
	}
	if f.Provider != "" {
		q = q.Where("EXISTS (SELECT 1 FROM identities i WHERE i.resource_id = resources.id AND i.provider = ?)", f.Provider)
	}
	if after != nil {
		id, err := uuid.Parse(after[0])
		if err != nil {
			return none, errCursor
		}
		q = q.Where("id > ?", id)
	}
	var rows []resourceViewRow
	if err := q.Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	identities, err := s.identitiesOf(ctx, rowsOf(rows, func(r resourceViewRow) uuid.UUID { return r.ID }))
	if err != nil {
		return none, err
	}
	return pageOf(rows, limit,
		func(r resourceViewRow) booking.ResourceView {
			return booking.ResourceView{
				Resource: booking.Resource{ID: r.ID, Name: r.Name}, Timezone: r.Timezone, Identities: identities[r.ID],
			}
		},
		func(r resourceViewRow) string { return makeCursor(listResources, r.ID.String()) }), nil
}

func (s *Store) identitiesOf(ctx context.Context, resources []uuid.UUID) (map[uuid.UUID][]booking.Identity, error) {
	rows, err := in[identityRow](s.reader(ctx).Order("provider, api_base, external_id").Session(fresh), "resource_id", resources)
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID][]booking.Identity{}
	for _, r := range rows {
		i := r.toDomain()
		out[i.ResourceID] = append(out[i.ResourceID], i)
	}
	return out, nil
}

// Unmapped lists the hosts of sessions that have no resource: identities
// without an e-mail that nobody mapped yet.
func (s *Store) Unmapped(ctx context.Context) ([]booking.Identity, error) {
	var rows []identityRow
	err := s.reader(ctx).Raw(`
		SELECT DISTINCT s.provider, s.api_base, h.external_id
		FROM session_hosts h JOIN sessions s ON s.id = h.session_id
		WHERE h.email = '' AND NOT EXISTS (
			SELECT 1 FROM identities i
			WHERE i.external_id = h.external_id AND i.provider = s.provider AND i.api_base = s.api_base AND i.resource_id IS NOT NULL)
		ORDER BY s.provider, s.api_base, h.external_id`).Scan(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	return rowsOf(rows, func(r identityRow) booking.Identity { return r.toDomain() }), nil
}
