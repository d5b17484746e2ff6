package web

import (
	"context"
	"slices"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// nothingToday says that nothing of what is shown is booked today.
type nothingToday struct {
	Hidden int    // booked today, and not shown for the filters
	Link   string // today without them
}

// sayToday puts today into a list that has days around it but nothing booked on it:
// whoever looks for today finds it, and is told instead of left to wonder. Nothing is
// said of a day that lies past where the list was cut.
func (s *server) sayToday(ctx context.Context, w window, agenda []agendaDay, cut bool) ([]agendaDay, error) {
	at := slices.IndexFunc(w.days, func(d calendar.Day) bool { return d.Date == w.query.today })
	if at < 0 || len(agenda) == 0 || cut {
		return agenda, nil
	}
	today := w.days[at]
	n, found := slices.BinarySearchFunc(agenda, today.Date, func(d agendaDay, on calendar.Date) int { return d.Compare(on) })
	if found && slices.ContainsFunc(agenda[n].Entries, func(e entry) bool { return e.Gone == nil }) {
		return agenda, nil
	}
	nothing := &nothingToday{}
	if w.query.Filtered() {
		counts, _, err := s.Records.ByDay(ctx, booking.Filter{Statuses: texts(shownByDefault)}, []booking.Period{{From: today.Start, To: today.End}}, 0)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			nothing.Hidden += c.Count
		}
		nothing.Link = w.query.with(func(q *calendarQuery) {
			q.unfilter()
			q.View, q.Date, q.Span = viewAgenda, today.Date, 1
		})
	}
	if !found {
		agenda = slices.Insert(agenda, n, w.agendaDay(today))
	}
	agenda[n].Nothing = nothing
	return agenda, nil
}
