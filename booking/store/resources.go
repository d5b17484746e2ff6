package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// resourceViewRow is a row of resources as it is read.
type resourceViewRow struct {
	ID                   uuid.UUID
	Name                 string
	NameGiven            bool
	Timezone             string
	MergedInto           *uuid.UUID
	AcceptWithinProvider bool
}

func (resourceViewRow) TableName() string { return "resources" }

func (r *resourceViewRow) resource() booking.Resource {
	return booking.Resource{ID: r.ID, Name: r.Name, NameGiven: r.NameGiven, AcceptWithinProvider: r.AcceptWithinProvider}
}

const (
	listResources       = "resources"
	listResourcesByName = "resources by name"
)

// Resources lists resources by id, with the identities that map to each. Names
// can be changed while somebody pages; ids cannot. One that was merged into
// another is no resource any more.
func (s *Store) Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error) {
	q := s.reader(ctx).Order("id")
	if f.Scope.Limited {
		q = q.Where("id IN ?", f.Scope.Resources)
	}
	if f.ResourceID != nil {
		q = q.Where("id = ?", *f.ResourceID)
	}
	if f.Provider != "" {
		q = q.Where("EXISTS (SELECT 1 FROM identities i WHERE i.resource_id = resources.id AND i.provider = ?)", f.Provider)
	}
	return s.listResources(ctx, q, p, listResources, "id > ?")
}

// FindResources lists resources by name, for people: those whose name or one of
// whose identities has the text in it, or all.
func (s *Store) FindResources(ctx context.Context, text string, p booking.Page) (booking.List[booking.ResourceView], error) {
	q := s.reader(ctx).Order("lower(name), id")
	if text = strings.TrimSpace(text); text != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(storable(text)) + "%"
		q = q.Where(`(lower(name) LIKE lower(?) ESCAPE '\' OR EXISTS (
			SELECT 1 FROM identities i WHERE i.resource_id = resources.id AND (lower(i.external_id) LIKE lower(?) ESCAPE '\' OR i.email LIKE lower(?) ESCAPE '\')))`,
			like, like, like)
	}
	return s.listResources(ctx, q, p, listResourcesByName, "(lower(name), id) > (SELECT lower(a.name), a.id FROM resources a WHERE a.id = ?)")
}

// listResources reads a page of a query; after narrows it to what comes after an
// id.
func (s *Store) listResources(
	ctx context.Context, q *gorm.DB, p booking.Page, list, after string,
) (booking.List[booking.ResourceView], error) {
	var none booking.List[booking.ResourceView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	last, err := readCursor(p, list, 1)
	if err != nil {
		return none, err
	}
	if last != nil {
		id, err := uuid.Parse(last[0])
		if err != nil {
			return none, errCursor
		}
		q = q.Where(after, id)
	}
	var rows []resourceViewRow
	if err := q.Where("merged_into IS NULL").Limit(limit + 1).Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	identities, err := s.identitiesOf(ctx, rowsOf(rows, func(r resourceViewRow) uuid.UUID { return r.ID }))
	if err != nil {
		return none, err
	}
	return pageOf(rows, limit,
		func(r resourceViewRow) booking.ResourceView {
			return booking.ResourceView{Resource: r.resource(), Timezone: r.Timezone, Identities: identities[r.ID]}
		},
		func(r resourceViewRow) string { return makeCursor(list, r.ID.String()) }), nil
}

// Coming counts the bookings that are not canceled and end after a time, by
// resource. Those of several count for each.
func (s *Store) Coming(ctx context.Context, after time.Time) (map[uuid.UUID]int, error) {
	var rows []struct {
		ResourceID uuid.UUID
		Count      int
	}
	err := s.reader(ctx).Raw(`
		SELECT r.resource_id, count(DISTINCT b.id) AS count
		FROM sessions s JOIN bookings b ON b.session_id = s.id JOIN session_resources r ON r.session_id = s.id
		WHERE s.ends_at > ? AND s.starts_at > ? AND b.status <> 'canceled'
		GROUP BY r.resource_id`, at(after), at(after.Add(-booking.MaxLength))).Scan(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make(map[uuid.UUID]int, len(rows))
	for _, r := range rows {
		out[r.ResourceID] = r.Count
	}
	return out, nil
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

// Unmapped lists the hosts of sessions that have no resource: identities without
// an e-mail that nobody mapped yet. Of their bookings that are not canceled it
// counts all, and those that end after a time.
func (s *Store) Unmapped(ctx context.Context, after time.Time) ([]booking.UnmappedView, error) {
	var rows []struct {
		Provider   string
		APIBase    string
		ExternalID string
		Bookings   int
		Coming     int
	}
	err := s.reader(ctx).Raw(`
		SELECT s.provider, s.api_base, h.external_id, count(b.id) AS bookings, count(CASE WHEN s.ends_at > ? THEN b.id END) AS coming
		FROM session_hosts h JOIN sessions s ON s.id = h.session_id
		LEFT JOIN bookings b ON b.session_id = s.id AND b.status <> 'canceled'
		WHERE h.email = '' AND NOT EXISTS (
			SELECT 1 FROM identities i
			WHERE i.external_id = h.external_id AND i.provider = s.provider AND i.api_base = s.api_base AND i.resource_id IS NOT NULL)
		GROUP BY s.provider, s.api_base, h.external_id
		ORDER BY s.provider, s.api_base, h.external_id`, at(after)).Scan(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make([]booking.UnmappedView, 0, len(rows))
	for _, r := range rows {
		out = append(out, booking.UnmappedView{
			Identity: booking.Identity{Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID},
			Bookings: r.Bookings, Coming: r.Coming,
		})
	}
	return out, nil
}
