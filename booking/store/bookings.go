package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// viewRow is a booking joined with its session. One that only a link told of
// has none.
type viewRow struct {
	ID              uuid.UUID
	Provider        string
	ConnectionID    uuid.UUID
	ExternalID      string
	SessionID       *uuid.UUID
	Title           string
	Location        string
	Status          booking.Status
	Reason          booking.Reason
	BookedAt        *stamp
	InviteeName     string
	InviteeEmail    string
	InviteePhone    string
	InviteeTimezone string
	NoShow          bool
	ChainID         uuid.UUID
	Supersedes      *uuid.UUID
	SupersededBy    *uuid.UUID
	ConflictsWith   document[[]uuid.UUID]
	OverlapAccepted bool
	StartsAt        *stamp
	EndsAt          *stamp
	Capacity        *int
}

const viewColumns = `b.id, b.provider, b.connection_id, b.external_id, b.session_id, b.title, b.location, b.status, b.reason,
	b.booked_at, b.invitee_name, b.invitee_email, b.invitee_phone, b.invitee_timezone, b.no_show, b.chain_id, b.supersedes,
	b.superseded_by, b.conflicts_with, b.overlap_accepted, s.starts_at, s.ends_at, s.capacity`

func (r *viewRow) toDomain(resources []uuid.UUID) booking.View {
	return booking.View{
		ID: r.ID, Provider: r.Provider, ConnectionID: r.ConnectionID, ExternalID: r.ExternalID, SessionID: idOrNil(r.SessionID),
		Title: r.Title, Location: r.Location, Status: r.Status, Reason: r.Reason, ResourceIDs: resources,
		StartsAt: r.StartsAt.ptr(), EndsAt: r.EndsAt.ptr(), BookedAt: r.BookedAt.ptr(), Capacity: r.Capacity,
		Invitee: booking.Person{Name: r.InviteeName, Email: r.InviteeEmail, Phone: r.InviteePhone, Timezone: r.InviteeTimezone},
		NoShow:  r.NoShow, ChainID: r.ChainID, Supersedes: r.Supersedes, SupersededBy: r.SupersededBy,
		ConflictsWith: r.ConflictsWith.v, OverlapAccepted: r.OverlapAccepted,
	}
}

func views(tx *gorm.DB) *gorm.DB {
	return tx.Table("bookings b").Select(viewColumns).Joins("LEFT JOIN sessions s ON s.id = b.session_id")
}

// inWindow narrows to what overlaps [From, To). A booking is never longer than
// the bound, which makes it a search of the index by the start.
func inWindow(q *gorm.DB, f booking.Filter, table string) *gorm.DB {
	if f.From != nil {
		q = q.Where(table+".ends_at > ? AND "+table+".starts_at > ?", at(*f.From), at(f.From.Add(-booking.MaxLength)))
	}
	if f.To != nil {
		q = q.Where(table+".starts_at < ?", at(*f.To))
	}
	return q
}

func filterBookings(q *gorm.DB, f booking.Filter) *gorm.DB {
	q = inWindow(q, f, "s")
	if f.Scope.Limited {
		q = q.Where("EXISTS (SELECT 1 FROM session_resources r WHERE r.session_id = b.session_id AND r.resource_id IN ?)", f.Scope.Resources)
	}
	if f.ResourceID != nil {
		q = q.Where("EXISTS (SELECT 1 FROM session_resources r WHERE r.session_id = b.session_id AND r.resource_id = ?)", *f.ResourceID)
	}
	if f.Provider != "" {
		q = q.Where("b.provider = ?", f.Provider)
	}
	if f.ConnectionID != nil {
		q = q.Where("b.connection_id = ?", *f.ConnectionID)
	}
	if f.BookingID != nil {
		q = q.Where("b.id = ?", *f.BookingID)
	}
	if len(f.Statuses) > 0 {
		q = q.Where("b.status IN ?", f.Statuses)
	}
	if f.Reason != "" {
		q = q.Where("b.reason = ?", f.Reason)
	}
	if f.Host != nil {
		q = q.Where("b.provider = ? AND b.api_base = ? AND EXISTS (SELECT 1 FROM session_hosts h WHERE h.session_id = b.session_id AND h.external_id = ?)",
			f.Host.Source.Provider, f.Host.Source.Base, storable(f.Host.ExternalID))
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		c := inBooking(text, f.Scope)
		q = q.Where(c.sql, c.args...)
	}
	if f.OpenConflicts {
		q = q.Where(openConflicts)
	}
	if f.AcceptedOverlaps {
		q = q.Where(acceptedOverlaps)
	}
	return q
}

// These have their values in the text, so that the partial indexes fit.
const (
	openConflicts    = "b.status = 'conflicted' AND NOT b.overlap_accepted"
	acceptedOverlaps = "b.status = 'conflicted' AND b.overlap_accepted"
)

// OpenConflicts counts what Bookings lists of the open conflicts that end after
// a time.
func (s *Store) OpenConflicts(ctx context.Context, after time.Time) (int, error) {
	var n int64
	q := s.reader(ctx).Table("bookings b").Joins("JOIN sessions s ON s.id = b.session_id").Where(openConflicts)
	err := inWindow(q, booking.Filter{From: &after}, "s").Count(&n).Error
	return int(n), classify(err)
}

const listBookings = "bookings"

// Bookings lists bookings by their time, those without a known time last.
func (s *Store) Bookings(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.View], error) {
	var none booking.List[booking.View]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readTimeAndID(p, listBookings)
	if err != nil {
		return none, err
	}
	var rows []viewRow
	// Two reads, since "nulls last" in one order would keep SQLite from its index.
	if after == nil || !after.at.IsZero() {
		q := filterBookings(views(s.reader(ctx)), f).Where("s.starts_at IS NOT NULL").Order("s.starts_at, b.id").Limit(limit + 1)
		if after != nil {
			q = q.Where("s.starts_at >= ? AND (s.starts_at > ? OR b.id > ?)", at(after.at), at(after.at), after.id)
			after = nil
		}
		if err := q.Find(&rows).Error; err != nil {
			return none, classify(err)
		}
	}
	if len(rows) <= limit && f.From == nil && f.To == nil {
		var timeless []viewRow
		q := filterBookings(views(s.reader(ctx)), f).Where("s.starts_at IS NULL").Order("b.id").Limit(limit + 1 - len(rows))
		if after != nil {
			q = q.Where("b.id > ?", after.id)
		}
		if err := q.Find(&timeless).Error; err != nil {
			return none, classify(err)
		}
		rows = append(rows, timeless...)
	}
	resources, err := resourcesOf(ctx, s, rows, func(r viewRow) *uuid.UUID { return r.SessionID })
	if err != nil {
		return none, err
	}
	return pageOf(rows, limit,
		func(r viewRow) booking.View { return r.toDomain(resources[idOrNil(r.SessionID)]) },
		func(r viewRow) string { return timeAndID{r.StartsAt.time(), r.ID}.cursor(listBookings) }), nil
}

// Booking is one booking, or booking.ErrNotFound.
func (s *Store) Booking(ctx context.Context, id uuid.UUID) (booking.View, error) {
	var rows []viewRow
	if err := views(s.reader(ctx)).Where("b.id = ?", id).Find(&rows).Error; err != nil {
		return booking.View{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.View{}, booking.ErrNotFound
	}
	out, err := s.withResources(ctx, rows)
	if err != nil {
		return booking.View{}, err
	}
	return out[0], nil
}

// BookingsByID are those of the ids that exist, in no order.
func (s *Store) BookingsByID(ctx context.Context, ids []uuid.UUID) ([]booking.View, error) {
	rows, err := in[viewRow](views(s.reader(ctx)).Session(fresh), "b.id", ids)
	if err != nil {
		return nil, classify(err)
	}
	return s.withResources(ctx, rows)
}

// Chain lists the bookings of a chain, each after the one whose place it took.
func (s *Store) Chain(ctx context.Context, chainID uuid.UUID) ([]booking.View, error) {
	var rows []viewRow
	if err := views(s.reader(ctx)).Where("b.chain_id = ?", chainID).Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	out, err := s.withResources(ctx, rows)
	if err != nil {
		return nil, err
	}
	before := make(map[uuid.UUID]uuid.UUID, len(out))
	for _, v := range out {
		if v.Supersedes != nil {
			before[v.ID] = *v.Supersedes
		}
	}
	// Providers can say that bookings stand in a circle: a depth has an end.
	depth := func(id uuid.UUID) int {
		n := 0
		for p, ok := before[id]; ok && n < len(out); p, ok = before[p] {
			n++
		}
		return n
	}
	slices.SortFunc(out, func(a, b booking.View) int {
		return cmp.Or(cmp.Compare(depth(a.ID), depth(b.ID)), compareIDs(a.ID, b.ID))
	})
	return out, nil
}

func (s *Store) withResources(ctx context.Context, rows []viewRow) ([]booking.View, error) {
	resources, err := resourcesOf(ctx, s, rows, func(r viewRow) *uuid.UUID { return r.SessionID })
	if err != nil {
		return nil, err
	}
	out := make([]booking.View, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.toDomain(resources[idOrNil(r.SessionID)]))
	}
	return out, nil
}

type sessionResourceRow struct {
	SessionID  uuid.UUID
	ResourceID uuid.UUID
}

func (sessionResourceRow) TableName() string { return "session_resources" }

// resourcesOf are what the sessions of rows are about, each list sorted.
func resourcesOf[R any](ctx context.Context, s *Store, rows []R, session func(R) *uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, r := range rows {
		if id := session(r); id != nil {
			ids = append(ids, *id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	found, err := in[sessionResourceRow](s.reader(ctx), "session_id", slices.Compact(ids))
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID][]uuid.UUID{}
	for _, r := range found {
		if !slices.Contains(out[r.SessionID], r.ResourceID) {
			out[r.SessionID] = append(out[r.SessionID], r.ResourceID)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, compareIDs)
	}
	return out, nil
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
