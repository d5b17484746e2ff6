package web

import (
	"context"
	"errors"
	"slices"
	"time"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// emptyCalendar says why a calendar shows nothing. The three reasons ask for three
// different things: connect an account, take a filter away, or look elsewhere.
type emptyCalendar struct {
	NoConnections bool
	Hidden        int // by filters, in the period that is shown
	Next          *nextBooking
	Last          *nextBooking // of all there are, where there is no next one
	Today         bool         // today is in the period
}

type nextBooking struct {
	Label string
	Link  string
}

// headed is the period that the heading names: of a month that month alone.
func (w window) headed() (from, to time.Time) {
	days := w.days
	if w.query.View == viewMonth {
		days = slices.DeleteFunc(slices.Clone(days), func(d calendar.Day) bool { return !w.named(d) })
	}
	return days[0].Start, days[len(days)-1].End
}

func (s *server) explainEmpty(ctx context.Context, w window) (*emptyCalendar, error) {
	if w.names.connections == 0 {
		return &emptyCalendar{NoConnections: true}, nil
	}
	from, to := w.headed()
	now := s.Now()
	out := &emptyCalendar{Today: !now.Before(from) && now.Before(to)}
	counts, _, err := s.Records.ByDay(ctx, booking.Filter{}, []booking.Period{{From: from, To: to}}, 0)
	if err != nil {
		return nil, err
	}
	for _, n := range counts {
		out.Hidden += n.Count
	}
	f := w.query.filter()
	f.From, f.Statuses = &to, texts(w.query.Statuses)
	next, err := s.Records.Bookings(ctx, f, booking.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(next.Items) > 0 && next.Items[0].StartsAt != nil {
		out.Next = w.around(*next.Items[0].StartsAt)
		return out, nil
	}
	f.From = nil
	last, err := s.Records.BookingBefore(ctx, f, from)
	switch {
	case err == nil && last.StartsAt != nil:
		out.Last = w.around(*last.StartsAt)
	case err != nil && !errors.Is(err, booking.ErrNotFound):
		return nil, err
	}
	return out, nil
}

// around is the way to the period of an instant.
func (w window) around(at time.Time) *nextBooking {
	on := calendar.DateOf(at, w.query.Zone)
	return &nextBooking{Label: w.language.dates.day(on), Link: w.query.Around(on)}
}
