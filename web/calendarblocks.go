package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// maxAbsences is how many unavailable times a day of the agenda lists; the others
// are folded away below them.
const maxAbsences = 5

type blockRecords interface {
	// Blocks are the unavailable times that overlap [from, to), in order of their
	// beginning: of the resources, or with none all.
	Blocks(ctx context.Context, from, to time.Time, resources []uuid.UUID) ([]booking.BlockView, error)
}

// absence is a time for which a provider says that somebody is unavailable.
type absence struct {
	booking.BlockView
	Who   string // the resource; while it has none, whom the provider names
	From  time.Time
	To    time.Time
	Hours string // as they stand under a day, or beside a booking
	Whole bool   // takes the day that it stands on from end to end
}

func newAbsence(b booking.BlockView, on calendar.Date, q calendarQuery, names names, l *language) absence {
	a := absence{BlockView: b, Who: cmp.Or(b.Host.Email, unnamedHost(b.Source, b.Host.ExternalID, l)), From: b.StartsAt.In(q.Zone), To: b.EndsAt.In(q.Zone)}
	if b.ResourceID != uuid.Nil {
		a.Who = names.of([]uuid.UUID{b.ResourceID})
	}
	a.Hours = l.away(a.From, a.To, on)
	return a
}

// absences reads the unavailable times of a period, says of each booking which of
// them it lies in, and gives those that the calendar shows. What hides bookings of
// a provider hides its absences too, but no warning.
func (s *server) absences(ctx context.Context, days []calendar.Day, shown []entry, q calendarQuery, names names, l *language) ([]booking.BlockView, error) {
	from, to := days[0].Start, days[len(days)-1].End
	resources := []uuid.UUID{q.Resource}
	for _, e := range shown { // one over midnight reaches out of the period
		from, to = earlier(from, e.From), later(to, e.To)
		resources = append(resources, e.ResourceIDs...)
	}
	if q.Resource == uuid.Nil {
		resources = nil
	}
	all, err := s.Records.Blocks(ctx, from, to, resources)
	if err != nil {
		return nil, err
	}
	for i := range shown {
		shown[i].warn(all, q, names, l)
	}
	return slices.DeleteFunc(all, func(b booking.BlockView) bool {
		return q.Provider != "" && b.Source.Provider != q.Provider || q.Resource != uuid.Nil && b.ResourceID != q.Resource
	}), nil
}

// addAbsences says in which unavailable times one booking lies.
func (s *server) addAbsences(ctx context.Context, e *entry, q calendarQuery, names names, l *language) error {
	if !e.expected() {
		return nil
	}
	all, err := s.Records.Blocks(ctx, e.From, e.To, e.ResourceIDs)
	if err != nil {
		return err
	}
	e.warn(all, q, names, l)
	return nil
}

// expected tells whether somebody is to be there, as far as is known.
func (e *entry) expected() bool {
	return e.Status != booking.Canceled && len(e.ResourceIDs) > 0 && e.StartsAt != nil && e.EndsAt != nil
}

func (e *entry) warn(all []booking.BlockView, q calendarQuery, names names, l *language) {
	if !e.expected() {
		return
	}
	on := calendar.DateOf(e.From, q.Zone)
	for _, b := range all {
		if b.StartsAt.Before(*e.EndsAt) && e.StartsAt.Before(b.EndsAt) && slices.Contains(e.ResourceIDs, b.ResourceID) {
			e.Absences = append(e.Absences, newAbsence(b, on, q, names, l))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func absenceSpans(all []booking.BlockView) []calendar.Span {
	out := make([]calendar.Span, len(all))
	for i, b := range all {
		out[i] = calendar.Span{Start: b.StartsAt, End: b.EndsAt}
	}
	return out
}

// addAbsences puts unavailable times under their days, with the days that have
// nothing else.
func (w window) addAbsences(agenda []agendaDay, all []booking.BlockView) []agendaDay {
	for i, of := range calendar.ByDay(w.days, absenceSpans(all)) {
		if len(of) == 0 {
			continue
		}
		n, found := slices.BinarySearchFunc(agenda, w.days[i].Date, func(d agendaDay, on calendar.Date) int { return d.Compare(on) })
		if !found {
			agenda = slices.Insert(agenda, n, w.agendaDay(w.days[i]))
		}
		agenda[n].Absences, agenda[n].MoreAbsences = w.absencesOn(w.days[i], all, of, maxAbsences)
	}
	return agenda
}

// absencesOn are those of a day, and apart those that are more than most.
func (w window) absencesOn(d calendar.Day, all []booking.BlockView, of []int, most int) (shown, more []absence) {
	var list []absence
	for _, n := range of {
		list = append(list, newAbsence(all[n], d.Date, w.query, w.names, w.language))
	}
	cut := min(len(list), most)
	if len(list) == cut+1 {
		cut++ // "1 more" takes as much room as that one
	}
	return list[:cut], list[cut:]
}

// band is an unavailable time in a grid, behind what is booked.
type band struct {
	absence
	Class string
	// Low puts its words at its end, since something stands over its beginning.
	Low bool
}

// bandGrid lets bands be as short as they are: nobody has to hit them.
var bandGrid = calendar.Grid{Least: gridStep, Columns: weekColumns}

// bandWords is how much of a band its words take.
const bandWords = 45 * time.Minute

// covers tells whether something stands in a part of the column.
func (c *gridColumn) covers(from, to time.Duration) bool {
	return slices.ContainsFunc(c.Entries, func(e gridEntry) bool {
		return c.Offset(e.From) < to && from < c.Offset(e.To)
	})
}

// addBands puts unavailable times into a column. The hours that are shown are those
// of the bookings: what lies outside of them, takes the whole day or has no column
// stands on top of it.
func (g *gridView) addBands(c *gridColumn, w window, all []booking.BlockView, of func(booking.BlockView) bool) {
	var mine []booking.BlockView
	for _, b := range all {
		if of(b) {
			mine = append(mine, b)
		}
	}
	layout := bandGrid.Place(c.Day, absenceSpans(mine))
	top := slices.Clone(layout.AllDay)
	// Of one resource it says of the day as a whole that nobody is there.
	c.Off = c.OfOne && len(layout.AllDay) > 0
	for _, m := range layout.More {
		top = append(top, m.Entries...)
	}
	for _, p := range layout.Placed {
		from, to := max(p.Top, g.from), min(p.Top+p.Height, g.to)
		if step(to-g.from) <= step(from-g.from) {
			top = append(top, p.Index)
			continue
		}
		c.Bands = append(c.Bands, band{
			absence: newAbsence(mine[p.Index], c.Date, w.query, w.names, w.language), Class: gridClass(from-g.from, to-from, p.Column, p.Columns),
			Low: c.covers(from, from+bandWords) && !c.covers(to-bandWords, to),
		})
	}
	for i, n := range top {
		a := newAbsence(mine[n], c.Date, w.query, w.names, w.language)
		a.Whole = i < len(layout.AllDay)
		c.Absences = append(c.Absences, a)
	}
	slices.SortStableFunc(c.Absences, func(a, b absence) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Who, b.Who)) })
}
