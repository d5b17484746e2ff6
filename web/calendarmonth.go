package web

import (
	"context"
	"slices"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// What of a day a month has room for.
const (
	monthEntries  = 3
	monthAbsences = 1
)

type monthView struct {
	Weekdays []weekdayName
	Weeks    [][]monthDay
}

type weekdayName struct{ Short, Long string }

type monthDay struct {
	calendar.Day
	Label string
	Short string // on a narrow screen, where there is one line for it
	Other bool   // of another month
	Today bool
	Link  string // the day
	List  string // the day as a list
	// Counts are by state, those that are shown.
	Counts  []booking.DayCount
	Total   int
	Entries []entry
	More    int
	// Absences are unavailable times, MoreAbsences those that have no room.
	Absences     []absence
	MoreAbsences []absence
}

// showMonth counts in the database and reads of each day what it has room for.
func (s *server) showMonth(ctx context.Context, v *calendarView, w window) error {
	f := w.query.filter()
	f.Statuses = texts(w.query.Statuses)
	counts, first, err := s.Records.ByDay(ctx, f, periodsOf(w.days), monthEntries)
	if err != nil {
		return err
	}
	// Paper has all of them, with whom to call.
	f.From, f.To = &w.days[0].Start, &w.days[len(w.days)-1].End
	all, more, err := s.Records.BookingsWithin(ctx, f, maxShown)
	if err != nil {
		return err
	}
	if v.Conflicts, err = s.conflicts(ctx, all, w.query, w.names, w.language); err != nil {
		return err
	}
	absences, err := s.absences(ctx, w.days, nil, w.query, w.names, w.language)
	if err != nil {
		return err
	}
	v.Month = newMonthView(w, counts, first, absences)
	shown := w.entries(all)
	slices.SortStableFunc(shown, inOrder)
	v.Paper, v.PaperCut = w.agenda(shown, absences), more
	if !slices.ContainsFunc(counts, func(n booking.DayCount) bool { return w.named(w.days[n.Day]) }) {
		v.Empty = &emptyCalendar{}
	}
	if len(counts) == 0 && len(absences) == 0 {
		v.Month = nil // a grid of nothing says nothing
	}
	return nil
}

// named tells whether a day is of the month that the heading names: its weeks have
// days of the months around it, which a narrow screen does not show.
func (w window) named(d calendar.Day) bool { return d.Month == w.query.Date.Month }

func periodsOf(days []calendar.Day) []booking.Period {
	out := make([]booking.Period, len(days))
	for i, d := range days {
		out[i] = booking.Period{From: d.Start, To: d.End}
	}
	return out
}

func newMonthView(w window, counts []booking.DayCount, first [][]booking.DayPlace, blocks []booking.BlockView) *monthView {
	days := make([]monthDay, len(w.days))
	off := calendar.ByDay(w.days, absenceSpans(blocks))
	for i, d := range w.days {
		day := monthDay{
			Day: d, Label: w.language.dates.day(d.Date), Short: w.language.dates.shortDay(d.Date), Other: !w.named(d), Today: d.Date == w.query.today,
			Link: w.query.On(viewDay, d.Date), List: w.query.On(viewAgenda, d.Date),
		}
		for _, b := range first[i] {
			if b.StartsAt == nil || b.EndsAt == nil {
				continue
			}
			e := w.under(newEntry(b.View, w.query, w.names, w.language), d)
			e.Hours, _ = w.part(e.From, e.To, d)
			if e.Others = b.Others; e.Others > 0 {
				e.Who = w.language.n("calendar.people", e.Others+1)
			}
			day.Entries = append(day.Entries, e)
		}
		slices.SortStableFunc(day.Entries, inOrder)
		day.Absences, day.MoreAbsences = w.absencesOn(d, blocks, off[i], monthAbsences)
		days[i] = day
	}
	for _, n := range counts {
		day := &days[n.Day]
		day.Counts, day.Total = append(day.Counts, n), day.Total+n.Count
	}
	m := &monthView{}
	for i := range days {
		days[i].More = days[i].Total
		for _, e := range days[i].Entries {
			days[i].More -= 1 + e.Others
		}
		if i%7 == 0 {
			m.Weeks = append(m.Weeks, nil)
		}
		m.Weeks[len(m.Weeks)-1] = append(m.Weeks[len(m.Weeks)-1], days[i])
	}
	for _, d := range w.days[:7] {
		name := weekdayName{Short: w.language.dates.shortWeekdays[d.Weekday()], Long: w.language.dates.weekdays[d.Weekday()]}
		m.Weekdays = append(m.Weekdays, name)
	}
	return m
}

// Conflicts of the day that are shown.
func (d monthDay) Conflicts() int {
	n := 0
	for _, c := range d.Counts {
		if c.Status == booking.Conflicted {
			n += c.Count
		}
	}
	return n
}
