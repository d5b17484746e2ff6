package calendar

import "time"

// WeekFrom is the week around a date, in a calendar whose weeks begin on first.
func WeekFrom(d Date, first time.Weekday, zone *time.Location) []Day {
	return Days(d.Back(first), daysInWeek, zone)
}

const daysInWeek = 7

// Back is the newest date with a weekday that is not after d: where the week of d
// begins, when weeks begin on it.
func (d Date) Back(to time.Weekday) Date {
	return d.AddDays(-(int(d.Weekday()) - int(to) + daysInWeek) % daysInWeek)
}

// MonthStart is the first day of the date's month.
func (d Date) MonthStart() Date { return Date{d.Year, d.Month, 1} }

// AddMonths is the date n months later; n may be negative. Where that month is
// shorter it is its last day: a month after 31 January is no day of March.
func (d Date) AddMonths(n int) Date {
	first := DateOf(time.Date(d.Year, d.Month+time.Month(n), 1, 12, 0, 0, 0, time.UTC), time.UTC)
	last := DateOf(time.Date(first.Year, first.Month+1, 0, 12, 0, 0, 0, time.UTC), time.UTC)
	return Date{first.Year, first.Month, min(d.Day, last.Day)}
}

// Month is the weeks that have a day of the date's month, whole, in one list: four
// to six rows of seven.
func Month(d Date, first time.Weekday, zone *time.Location) []Day {
	from, next := d.MonthStart().Back(first), d.MonthStart().AddMonths(1)
	n := 0
	for from.AddDays(n).Compare(next) < 0 {
		n += daysInWeek
	}
	return Days(from, n, zone)
}

// WeekNumber is the ISO number of a week that begins with a day. Where weeks do not
// begin on Monday it is the number that most of their days have.
func WeekNumber(begin Date) int {
	// ISO weeks are named by their Thursday.
	thursday := begin.AddDays(daysInWeek - 1).Back(time.Thursday)
	_, n := time.Date(thursday.Year, thursday.Month, thursday.Day, 12, 0, 0, 0, time.UTC).ISOWeek()
	return n
}
