package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

const listSlots = "slots"

// Slots lists claims by their time, the released too unless the filter says
// otherwise.
func (s *Store) Slots(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.SlotView], error) {
	var none booking.List[booking.SlotView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readTimeAndID(p, listSlots)
	if err != nil {
		return none, err
	}
	q := inWindow(s.reader(ctx).Table("slots"), f, "slots").Order("starts_at, id").Limit(limit + 1)
	if f.Scope.Limited {
		q = q.Where("resource_id IN ?", f.Scope.Resources)
	}
	if f.ResourceID != nil {
		q = q.Where("resource_id = ?", *f.ResourceID)
	}
	if len(f.Statuses) > 0 {
		q = q.Where("status IN ?", f.Statuses)
	}
	if f.Provider != "" {
		q = q.Where("EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id AND s.provider = ?)", f.Provider)
	}
	if f.ConnectionID != nil {
		q = q.Where("EXISTS (SELECT 1 FROM bookings b WHERE b.session_id = slots.session_id AND b.connection_id = ?)", *f.ConnectionID)
	}
	if f.BookingID != nil {
		q = q.Where("EXISTS (SELECT 1 FROM bookings b WHERE b.session_id = slots.session_id AND b.id = ?)", *f.BookingID)
	}
	if after != nil {
		q = q.Where("starts_at >= ? AND (starts_at > ? OR id > ?)", at(after.at), at(after.at), after.id)
	}
	var rows []slotRow
	if err := q.Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	members, err := s.membersOf(ctx, rows)
	if err != nil {
		return none, err
	}
	return pageOf(rows, limit,
		func(r slotRow) booking.SlotView {
			return booking.SlotView{Slot: r.toDomain(), BookingIDs: members[r.SessionID]}
		},
		func(r slotRow) string { return timeAndID{r.StartsAt.t, r.ID}.cursor(listSlots) }), nil
}

// membersOf are the bookings of the slots' sessions that are not canceled.
func (s *Store) membersOf(ctx context.Context, slots []slotRow) (map[uuid.UUID][]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, r := range slots {
		ids = append(ids, r.SessionID)
	}
	slices.SortFunc(ids, compareIDs)
	type member struct {
		ID        uuid.UUID
		SessionID uuid.UUID
	}
	rows, err := in[member](s.reader(ctx).Table("bookings").Select("id, session_id").Where("status <> 'canceled'").Session(fresh), "session_id", slices.Compact(ids))
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID][]uuid.UUID{}
	for _, r := range rows {
		out[r.SessionID] = append(out[r.SessionID], r.ID)
	}
	for _, list := range out {
		slices.SortFunc(list, compareIDs)
	}
	return out, nil
}
