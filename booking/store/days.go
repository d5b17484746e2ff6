package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// BookingsWithin are the first bookings that a filter finds, by their time, and
// whether there are more. It is for who shows a whole window at once; a list that
// goes on is read by Bookings.
func (s *Store) BookingsWithin(ctx context.Context, f booking.Filter, most int) ([]booking.View, bool, error) {
	var rows []viewRow
	err := filterBookings(views(s.reader(ctx)), f).Where("s.starts_at IS NOT NULL").Order("s.starts_at, b.id").Limit(most + 1).Find(&rows).Error
	if err != nil {
		return nil, false, classify(err)
	}
	more := len(rows) > most
	out, err := s.withResources(ctx, rows[:min(len(rows), most)])
	return out, more, err
}

// BookingBefore is the last booking that a filter finds whose time begins before an
// instant, or booking.ErrNotFound.
func (s *Store) BookingBefore(ctx context.Context, f booking.Filter, before time.Time) (booking.View, error) {
	var rows []viewRow
	q := filterBookings(views(s.reader(ctx)), f).Where("s.starts_at < ?", at(before))
	if err := q.Order("s.starts_at DESC, b.id DESC").Limit(1).Find(&rows).Error; err != nil {
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

// maxFormerPlaces is how many former places a window has at most: more would hide
// what stands there now.
const maxFormerPlaces = 200

// FormerPlaces are where bookings that the filter finds were before, in its window.
// A claim never moves: what a session held before is a released claim at a time
// that is no longer its own.
func (s *Store) FormerPlaces(ctx context.Context, f booking.Filter) ([]booking.FormerPlace, error) {
	type row struct {
		BookingID  uuid.UUID
		ResourceID uuid.UUID
		StartsAt   stamp
		EndsAt     stamp
	}
	q := s.reader(ctx).Table("slots c").Distinct("b.id AS booking_id, c.resource_id, c.starts_at, c.ends_at").
		Joins("JOIN sessions s ON s.id = c.session_id").Joins("JOIN bookings b ON b.session_id = s.id").
		Where("c.status = 'released' AND b.status <> 'canceled' AND s.starts_at <> c.starts_at")
	q = inWindow(q, f, "c")
	f.From, f.To = nil, nil
	var rows []row
	if err := filterBookings(q, f).Order("c.starts_at, b.id, c.resource_id").Limit(maxFormerPlaces).Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	return rowsOf(rows, func(r row) booking.FormerPlace {
		return booking.FormerPlace{BookingID: r.BookingID, ResourceID: r.ResourceID, StartsAt: r.StartsAt.t, EndsAt: r.EndsAt.t}
	}), nil
}

// ByDay counts the bookings that a filter finds by day and state, and gives the first
// of each day, most of a day, those that conflict before the others; those of one
// meeting that are in one state are given once. It counts in the
// database: no more bookings are read than it gives. One over midnight is on each of
// its days. The days follow one another, each beginning where the one before ended,
// and are the window. A day that never was has none.
func (s *Store) ByDay(ctx context.Context, f booking.Filter, days []booking.Period, most int) ([]booking.DayCount, [][]booking.DayPlace, error) {
	var numbers []string
	for i, d := range days {
		if d.To.After(d.From) {
			numbers = append(numbers, fmt.Sprintf("(%d)", i))
		}
	}
	if len(numbers) == 0 {
		return nil, make([][]booking.DayPlace, len(days)), nil
	}
	type row struct {
		Day    int
		Status booking.Status
		ID     uuid.UUID
		Member int // of its meeting, in the day's state
		Size   int // of that
		Place  int // in the day, among the first members
		Nth    int // in the day's state
		Count  int
	}
	f.From, f.To = &days[0].From, &days[len(days)-1].To
	first, starts := dayOf("s.starts_at < ?", days, 0, len(days))
	last, ends := dayOf("s.ends_at <= ?", days, 0, len(days))
	found := filterBookings(s.reader(ctx).Table("sessions s").Joins("JOIN bookings b ON b.session_id = s.id"), f).
		Select("b.id, b.status, b.session_id, s.starts_at, CASE WHEN "+openConflicts+" THEN 0 ELSE 1 END AS calm, "+first+" AS first_day, "+last+" AS last_day", slices.Concat(starts, ends)...)
	var rows []row
	err := s.reader(ctx).Raw(`WITH found AS (?), days(n) AS (VALUES `+strings.Join(numbers, ", ")+`), placed AS (
			SELECT first_day AS day, id, status, session_id, starts_at, calm FROM found WHERE first_day >= 0
			UNION ALL
			SELECT d.n, id, status, session_id, starts_at, calm FROM found JOIN days d ON d.n > first_day AND d.n <= last_day WHERE last_day > first_day
		), met AS (
			SELECT day, status, id, starts_at, calm, row_number() OVER (PARTITION BY day, session_id, status ORDER BY id) AS member,
				count(*) OVER (PARTITION BY day, session_id, status) AS size,
				row_number() OVER (PARTITION BY day, status) AS nth, count(*) OVER (PARTITION BY day, status) AS count
			FROM placed
		), ranked AS (
			SELECT day, status, id, member, size, nth, count,
				row_number() OVER (PARTITION BY day, CASE WHEN member = 1 THEN 0 ELSE 1 END ORDER BY calm, starts_at, id) AS place
			FROM met
		) SELECT * FROM ranked WHERE member = 1 AND place <= ? OR nth = 1 ORDER BY day, place`, found, most).Scan(&rows).Error
	if err != nil {
		return nil, nil, classify(err)
	}
	var counts []booking.DayCount
	var ids []uuid.UUID
	for _, r := range rows {
		if r.Nth == 1 {
			counts = append(counts, booking.DayCount{Day: r.Day, Status: r.Status, Count: r.Count})
		}
		if r.Member == 1 && r.Place <= most {
			ids = append(ids, r.ID)
		}
	}
	slices.SortFunc(counts, func(a, b booking.DayCount) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Status, b.Status))
	})
	views, err := s.BookingsByID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[uuid.UUID]booking.View, len(views))
	for _, v := range views {
		byID[v.ID] = v
	}
	out := make([][]booking.DayPlace, len(days))
	for _, r := range rows {
		if v, ok := byID[r.ID]; ok && r.Member == 1 && r.Place <= most {
			out[r.Day] = append(out[r.Day], booking.DayPlace{View: v, Others: r.Size - 1})
		}
	}
	return counts, out, nil
}

// dayOf writes which of the days [from, to) a time is on, -1 before the first, and its
// arguments: before tells that a time is before a day's beginning. It asks as a search
// does, by halves, and the same on both databases.
func dayOf(before string, days []booking.Period, from, to int) (string, []any) {
	if from == to {
		return strconv.Itoa(from - 1), nil
	}
	middle := (from + to) / 2
	early, earlyArgs := dayOf(before, days, from, middle)
	late, lateArgs := dayOf(before, days, middle+1, to)
	return "CASE WHEN " + before + " THEN " + early + " ELSE " + late + " END", slices.Concat([]any{at(days[middle].From)}, earlyArgs, lateArgs)
}

// ResourcesToldOf are the resources of the bookings that a connection told of first,
// in a window of their time.
func (s *Store) ResourcesToldOf(ctx context.Context, connection uuid.UUID, window booking.Period) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	q := s.reader(ctx).Table("sessions s").Joins("JOIN bookings b ON b.session_id = s.id").Joins("JOIN session_resources r ON r.session_id = s.id")
	err := filterBookings(q, booking.Filter{ConnectionID: &connection, From: &window.From, To: &window.To}).
		Distinct().Pluck("r.resource_id", &ids).Error
	return ids, classify(err)
}

// LastSeq is the newest transition's number: 0 while there is none. Whoever has seen
// it has seen everything that happened until then.
func (s *Store) LastSeq(ctx context.Context) (int64, error) {
	var seq int64
	err := s.reader(ctx).Table("ledger").Where("id = 1").Pluck("seq", &seq).Error
	return seq, classify(err)
}
