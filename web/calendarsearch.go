package web

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// searchView is what else a text is found in, so that no search ends at a page that
// says only that nothing fits.
type searchView struct {
	Text   string
	Hidden []hiddenMatches // in the period that is shown
	// Earlier and Later are the nearest ones outside of it, whatever their state.
	Earlier *nextBooking
	Later   *nextBooking
	Audit   string // where everything that ever happened is searched
	// States shows bookings in every state; "" when that is done.
	States string
	// Nowhere says that the text is in no booking at all, whatever its time and state.
	Nowhere bool
}

// hiddenMatches are bookings that fit, in a state that is not shown.
type hiddenMatches struct {
	Status booking.Status
	Count  int
	Link   string
}

// maxStraddling is how many bookings that began before a period's end are passed over
// to find the first one after it.
const maxStraddling = 50

// search is where else the text is found that the query looks for; nil for none.
func (s *server) search(ctx context.Context, w window) (*searchView, error) {
	q := w.query
	if q.Text == "" {
		return nil, nil
	}
	audit := auditQuery{auditPeriod: auditPeriod{Range: "all"}, Show: showAll, Text: q.Text}
	out := &searchView{Text: q.Text, Audit: audit.link("/audit")}
	if len(q.Statuses) < len(booking.Statuses()) {
		out.States = q.AllStates()
	}
	from, to := w.headed()
	f := q.filter()
	counts, _, err := s.Records.ByDay(ctx, f, []booking.Period{{From: from, To: to}}, 0)
	if err != nil {
		return nil, err
	}
	for _, n := range counts {
		if !q.Shows(n.Status) {
			out.Hidden = append(out.Hidden, hiddenMatches{n.Status, n.Count, q.Showing(n.Status)})
		}
	}
	earlier, err := s.Records.BookingBefore(ctx, f, from)
	switch {
	case err == nil:
		out.Earlier = w.match(earlier)
	case !errors.Is(err, booking.ErrNotFound):
		return nil, err
	}
	f.From = &to
	later, err := s.Records.Bookings(ctx, f, booking.Page{Limit: maxStraddling})
	if err != nil {
		return nil, err
	}
	for _, b := range later.Items {
		if b.StartsAt != nil && !b.StartsAt.Before(to) {
			out.Later = w.match(b)
			break
		}
	}
	out.Nowhere = len(counts) == 0 && out.Earlier == nil && out.Later == nil && q.Resource == uuid.Nil && q.Provider == ""
	return out, nil
}

// match is a booking elsewhere, in a calendar that shows its state.
func (w window) match(b booking.View) *nextBooking {
	on := calendar.DateOf(*b.StartsAt, w.query.Zone)
	out := &nextBooking{Label: w.language.dates.day(on)}
	if !w.query.Shows(b.Status) {
		out.Label += " (" + w.language.named("status", string(b.Status)) + ")"
	}
	out.Link = w.query.with(func(q *calendarQuery) {
		q.Date = on
		q.show(b.Status)
	})
	return out
}
