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
	a := absence{BlockView: b, Who: b.Host.Email, From: b.StartsAt.In(q.Zone), To: b.EndsAt.In(q.Zone)}
	if b.ResourceID != uuid.Nil {
		a.Who = names.of([]uuid.UUID{b.ResourceID})
	}
	a.Hours = l.dates.hours(a.From, a.To, on)
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

// addToAgenda puts unavailable times under their days, with the days that have
// nothing else.
func addToAgenda(agenda []agendaDay, days []calendar.Day, all []booking.BlockView, q calendarQuery, names names, l *language) []agendaDay {
	for i, of := range calendar.ByDay(days, absenceSpans(all)) {
		if len(of) == 0 {
			continue
		}
		n, found := slices.BinarySearchFunc(agenda, days[i].Date, func(d agendaDay, on calendar.Date) int { return d.Compare(on) })
		if !found {
			agenda = slices.Insert(agenda, n, newAgendaDay(days[i], q, l))
		}
		var list []absence
		for _, b := range of {
			list = append(list, newAbsence(all[b], days[i].Date, q, names, l))
		}
		cut := min(len(list), maxAbsences)
		if len(list) == cut+1 {
			cut++ // "1 more" takes as much room as that one
		}
		agenda[n].Absences, agenda[n].MoreAbsences = list[:cut], list[cut:]
	}
	return agenda
}

// band is an unavailable time in the week's grid, behind what is booked.
type band struct {
	absence
	Class string
}

// bandGrid lets bands be as short as they are: nobody has to hit them.
var bandGrid = calendar.Grid{Least: gridStep, Columns: gridColumns}

// addBands puts unavailable times into the week. The hours that are shown are
// those of the bookings: what lies outside of them, takes the whole day or has no
// column stands on top of the day.
func (w *weekView) addBands(days []calendar.Day, all []booking.BlockView, q calendarQuery, names names, l *language) {
	spans := absenceSpans(all)
	for i, d := range days {
		day := &w.Days[i]
		layout := bandGrid.Place(d, spans)
		top := slices.Clone(layout.AllDay)
		// Of one resource it says of the day as a whole that nobody is there.
		day.Off = q.Resource != uuid.Nil && len(layout.AllDay) > 0
		for _, m := range layout.More {
			top = append(top, m.Entries...)
		}
		for _, p := range layout.Placed {
			from, to := max(p.Top, w.from), min(p.Top+p.Height, w.to)
			if step(to-w.from) <= step(from-w.from) {
				top = append(top, p.Index)
				continue
			}
			day.Bands = append(day.Bands, band{
				absence: newAbsence(all[p.Index], d.Date, q, names, l), Class: gridClass(from-w.from, to-from, p.Column, p.Columns),
			})
		}
		for i, n := range top {
			a := newAbsence(all[n], d.Date, q, names, l)
			a.Whole = i < len(layout.AllDay)
			day.Absences = append(day.Absences, a)
		}
		slices.SortStableFunc(day.Absences, func(a, b absence) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Who, b.Who)) })
	}
}
