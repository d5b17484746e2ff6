package web

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// gone is where a booking went from a place that it has left.
type gone struct {
	Link  string // the calendar there, with its detail open
	Label string // when it is now
	Short string // when it begins there, as short as it can be told from here
}

// left are the former places of bookings that were moved, in the window: those that
// a provider moved as they are, and those that it canceled for another in their
// stead. Who looks for somebody at the old time finds where they went. They stand
// for what is active, so that they are not shown where that is not.
func (s *server) left(ctx context.Context, w window, f booking.Filter, all []booking.View) ([]entry, error) {
	if !w.query.Shows(booking.Active) {
		return nil, nil
	}
	places, err := s.Records.FormerPlaces(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, p := range places {
		ids = append(ids, p.BookingID)
	}
	canceledToo := w.query.Shows(booking.Canceled)
	for _, b := range all {
		if replaced(b) && !canceledToo {
			ids = append(ids, *b.SupersededBy)
		}
	}
	found, err := s.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []entry
	add := func(b booking.View, resources []uuid.UUID, from, to time.Time) {
		if b.StartsAt == nil || b.EndsAt == nil || b.Status == booking.Canceled {
			return
		}
		e := newEntry(b, w.query, w.names, w.language)
		e.Gone = &gone{Link: w.query.with(func(q *calendarQuery) {
			q.Date, q.Open = calendar.DateOf(*b.StartsAt, q.Zone), b.ID
		}) + "#detail", Label: w.nowAt(b, from), Short: w.nowBegins(b, from)}
		e.ResourceIDs, e.Resource = resources, w.names.of(resources)
		e.From, e.To = from.In(w.query.Zone), to.In(w.query.Zone)
		e.ZoneName = zoneName(e.From)
		if !slices.ContainsFunc(out, func(o entry) bool { return o.ID == e.ID && o.From.Equal(e.From) && o.Resource == e.Resource }) {
			out = append(out, e)
		}
	}
	for _, p := range places {
		if b, ok := found[p.BookingID]; ok {
			add(b, []uuid.UUID{p.ResourceID}, p.StartsAt, p.EndsAt)
		}
	}
	for _, b := range all {
		if !replaced(b) || canceledToo {
			continue
		}
		if now, ok := found[*b.SupersededBy]; ok {
			add(now, b.ResourceIDs, *b.StartsAt, *b.EndsAt)
		}
	}
	return out, nil
}

// replaced tells whether another booking stands in for a canceled one.
func replaced(b booking.View) bool {
	return b.Status == booking.Canceled && b.SupersededBy != nil && b.StartsAt != nil && b.EndsAt != nil
}

// nowAt is when a booking is now, with the day where that is another than before.
func (w window) nowAt(b booking.View, before time.Time) string {
	from, to := b.StartsAt.In(w.query.Zone), b.EndsAt.In(w.query.Zone)
	d, on := w.language.dates, calendar.DateOf(from, w.query.Zone)
	if on == calendar.DateOf(before, w.query.Zone) {
		return d.hours(from, to, on)
	}
	return d.shortDay(on) + ", " + d.hours(from, to, on)
}

// nowBegins is when a booking begins now: with the weekday where that says which day it
// is, as one of a week that is shown or of the six to come, else with the date.
func (w window) nowBegins(b booking.View, before time.Time) string {
	at := b.StartsAt.In(w.query.Zone)
	d, on, was := w.language.dates, calendar.DateOf(at, w.query.Zone), calendar.DateOf(before, w.query.Zone)
	inWeek := len(w.days) <= 7 && slices.ContainsFunc(w.days, func(shown calendar.Day) bool { return shown.Date == on })
	switch {
	case on == was:
		return d.time(at)
	case inWeek, on.Compare(was) > 0 && on.Compare(was.AddDays(7)) < 0:
		return d.shortWeekdays[on.Weekday()] + " " + d.time(at)
	}
	return d.shortDay(on) + " " + d.time(at)
}
