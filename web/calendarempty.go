package web

import (
	"context"
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
	out := &emptyCalendar{}
	from, to := w.headed()
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
	if err != nil || len(next.Items) == 0 || next.Items[0].StartsAt == nil {
		return out, err
	}
	on := calendar.DateOf(*next.Items[0].StartsAt, w.query.Zone)
	out.Next = &nextBooking{Label: w.language.dates.day(on), Link: w.query.Around(on)}
	return out, nil
}
