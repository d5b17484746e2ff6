package web

import (
	"time"

	"slotkeeper/calendar"
)

// away is when somebody is unavailable, as it stands under the date on. Whole days
// say so: midnight to midnight would read as no time at all.
func (l *language) away(from, to time.Time, on calendar.Date) string {
	if !wholeDays(from, to) {
		return l.dates.hours(from, to, on)
	}
	first := calendar.DateOf(from, from.Location())
	last := calendar.DateOf(to.Add(-time.Nanosecond), to.Location())
	whole := l.t("calendar.allday")
	switch {
	case first != last:
		return l.dates.shortDay(first) + nb + "– " + l.dates.shortDay(last) + ", " + whole
	case first != on:
		return l.dates.shortDay(first) + ", " + whole
	}
	return whole
}

// wholeDays tells whether days are taken from end to end. Some write their last
// minute as 23:59.
func wholeDays(from, to time.Time) bool {
	if !to.After(from) {
		return false
	}
	first := calendar.DateOf(from, from.Location()).In(from.Location())
	last := calendar.DateOf(to.Add(-time.Nanosecond), to.Location()).In(to.Location())
	return from.Equal(first.Start) && last.End.Sub(to) <= time.Minute
}
