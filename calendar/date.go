package calendar

import (
	"fmt"
	"time"
)

// Date is a day of the calendar, in no zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf is the date that an instant has in a zone.
func DateOf(t time.Time, zone *time.Location) Date {
	y, m, d := t.In(zone).Date()
	return Date{y, m, d}
}

// The years that a date may be in.
const (
	firstYear = 1900
	lastYear  = 9000
)

// ParseDate reads 2026-11-29.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("calendar: not a date like 2026-11-29: %w", err)
	}
	// A zone or a month added must stay within what every database can compare.
	if t.Year() < firstYear || t.Year() > lastYear {
		return Date{}, fmt.Errorf("calendar: the year is not between %d and %d", firstYear, lastYear)
	}
	return DateOf(t, time.UTC), nil
}

// String is the date as 2026-11-29.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// AddDays is the date n days later; n may be negative.
func (d Date) AddDays(n int) Date {
	return DateOf(time.Date(d.Year, d.Month, d.Day+n, 12, 0, 0, 0, time.UTC), time.UTC)
}

// Weekday of the date.
func (d Date) Weekday() time.Weekday {
	return time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, time.UTC).Weekday()
}

// Monday is the first day of the date's ISO week.
func (d Date) Monday() Date { return d.AddDays(-(int(d.Weekday()) + 6) % 7) }

// Compare is -1, 0 or 1 as d is before, on or after e.
func (d Date) Compare(e Date) int {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).
		Compare(time.Date(e.Year, e.Month, e.Day, 0, 0, 0, 0, time.UTC))
}

// start is the first instant that has the date in the zone. Midnight may happen
// twice (the first counts), or not at all (then the day begins where the clock
// lands). If the whole date was skipped it is the first instant after it.
func (d Date) start(zone *time.Location) time.Time {
	t := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, zone)
	if DateOf(t, zone).Compare(d) < 0 {
		// Midnight falls into a gap and Go chose the side before it.
		_, end := t.ZoneBounds()
		return end.In(zone)
	}
	// The clock may have been put back over midnight, or forward over it: then
	// the interval before this one has instants of the date (or later) too.
	begin, _ := t.ZoneBounds()
	if begin.IsZero() {
		return t
	}
	_, now := t.Zone()
	_, before := begin.Add(-time.Nanosecond).In(zone).Zone()
	if shift := time.Duration(before-now) * time.Second; shift > 0 {
		// Put back: the same wall time happened earlier by the shift.
		if first := t.Add(-shift); first.Before(begin) {
			return first
		}
		return t
	}
	// Put forward over midnight: what stands between the change and t is of this
	// date too.
	if !begin.After(t) && DateOf(begin, zone).Compare(d) == 0 {
		return begin.In(zone)
	}
	return t
}
