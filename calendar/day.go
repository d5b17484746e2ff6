package calendar

import "time"

// Day is a date in a zone: the instants [Start, End). They are equal for a date
// that never happened there.
type Day struct {
	Date
	Start time.Time
	End   time.Time
}

// In is the date in a zone.
func (d Date) In(zone *time.Location) Day {
	return Day{Date: d, Start: d.start(zone), End: d.AddDays(1).start(zone)}
}

// Days are n days from a date on, in order.
func Days(from Date, n int, zone *time.Location) []Day {
	out := make([]Day, n)
	for i := range out {
		out[i] = from.AddDays(i).In(zone)
	}
	return out
}

// Week is the ISO week around a date, Monday first.
func Week(d Date, zone *time.Location) []Day { return Days(d.Monday(), 7, zone) }

// Length is how long the day really is.
func (d Day) Length() time.Duration { return d.End.Sub(d.Start) }

// Regular tells that the day has 24 hours and its clock is never changed.
func (d Day) Regular() bool {
	if d.Length() != 24*time.Hour {
		return false
	}
	_, end := d.Start.ZoneBounds()
	return end.IsZero() || !end.Before(d.End)
}

// Offset is how much time passed since the day began, held within the day.
func (d Day) Offset(t time.Time) time.Duration {
	return min(max(t.Sub(d.Start), 0), d.Length())
}

// Covers tells whether an instant is in the day.
func (d Day) Covers(t time.Time) bool { return !t.Before(d.Start) && t.Before(d.End) }

// Repeated tells whether the clock shows at an instant what it shows at another one too:
// such a time says nothing without its zone.
func Repeated(t time.Time) bool {
	_, here := t.Zone()
	begins, ends := t.ZoneBounds()
	if !begins.IsZero() {
		_, before := begins.Add(-time.Nanosecond).In(t.Location()).Zone()
		if t.Before(begins.Add(time.Duration(before-here) * time.Second)) {
			return true
		}
	}
	if ends.IsZero() {
		return false
	}
	_, after := ends.In(t.Location()).Zone()
	return !t.Before(ends.Add(-time.Duration(here-after) * time.Second))
}

// Hour is a full hour of a day's clock.
type Hour struct {
	At     time.Time
	Offset time.Duration // since the day began
	// Changed says that the clock was changed since the hour before: this one
	// happens again, or follows a gap.
	Changed bool
}

// Hours are the full hours that the day's clock shows, in the order in which
// they happen. One that happens twice stands here twice.
func (d Day) Hours() []Hour {
	var out []Hour
	zone := d.Start.Location()
	// Zones are changed by whole quarters of an hour, so that steps of a quarter
	// meet every full hour on either side of a change.
	const step = 15 * time.Minute
	_, last := d.Start.Zone()
	for at := d.Start; at.Before(d.End); at = at.Add(step) {
		if at.In(zone).Minute() != 0 || at.In(zone).Second() != 0 {
			continue
		}
		_, offset := at.In(zone).Zone()
		out = append(out, Hour{At: at.In(zone), Offset: at.Sub(d.Start), Changed: offset != last})
		last = offset
	}
	return out
}
