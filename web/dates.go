package web

import (
	"fmt"
	"time"

	"slotkeeper/calendar"
)

// dates writes dates and times in a language. The standard library knows English
// only, and what is needed is little. Times are of 24 hours in both languages,
// and carry their zone wherever it is not clear from what stands around them. A line
// ends between a date and a time, never within either: their spaces do not break, and
// nb and joiner are what holds them together.
type dates struct {
	weekdays      [7]string // Sunday first, as time.Weekday counts
	shortWeekdays [7]string
	months        [12]string
	shortMonths   [12]string
	clock         string
}

var englishDates = dates{
	weekdays:      [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
	shortWeekdays: [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
	months:        [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	shortMonths:   [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	clock:         "15:04",
}

var indonesianDates = dates{
	weekdays:      [7]string{"Minggu", "Senin", "Selasa", "Rabu", "Kamis", "Jumat", "Sabtu"},
	shortWeekdays: [7]string{"Min", "Sen", "Sel", "Rab", "Kam", "Jum", "Sab"},
	months:        [12]string{"Januari", "Februari", "Maret", "April", "Mei", "Juni", "Juli", "Agustus", "September", "Oktober", "November", "Desember"},
	shortMonths:   [12]string{"Jan", "Feb", "Mar", "Apr", "Mei", "Jun", "Jul", "Agu", "Sep", "Okt", "Nov", "Des"},
	clock:         "15.04",
}

const (
	nb     = "\u00a0" // a space at which no line ends
	joiner = "\u2060" // nothing, at which no line ends: after a dash one may
)

// date is "30 November 2026".
func (d *dates) date(on calendar.Date) string {
	return fmt.Sprintf("%d"+nb+"%s"+nb+"%d", on.Day, d.months[on.Month-1], on.Year)
}

// shortDate is "30 Nov 2026".
func (d *dates) shortDate(t time.Time) string {
	return fmt.Sprintf("%d"+nb+"%s"+nb+"%d", t.Day(), d.shortMonths[t.Month()-1], t.Year())
}

// day is "Monday, 30 November 2026".
func (d *dates) day(on calendar.Date) string {
	return d.weekdays[on.Weekday()] + ", " + d.date(on)
}

// month is "November 2026".
func (d *dates) month(of calendar.Date) string {
	return fmt.Sprintf("%s"+nb+"%d", d.months[of.Month-1], of.Year)
}

// shortDay is "Mon 30 Nov".
func (d *dates) shortDay(on calendar.Date) string {
	return fmt.Sprintf("%s"+nb+"%d"+nb+"%s", d.shortWeekdays[on.Weekday()], on.Day, d.shortMonths[on.Month-1])
}

// period is "23–29 November 2026", with as much of the first date as differs.
func (d *dates) period(first, last calendar.Date) string {
	end := d.date(last)
	switch {
	case first == last:
		return end
	case first.Year != last.Year:
		return d.date(first) + nb + "– " + end
	case first.Month != last.Month:
		return fmt.Sprintf("%d"+nb+"%s"+nb+"– %s", first.Day, d.months[first.Month-1], end)
	}
	return fmt.Sprintf("%d–"+joiner+"%s", first.Day, end)
}

// time is "09:00".
func (d *dates) time(t time.Time) string { return t.Format(d.clock) }

// stamp is "30 Nov 2026, 09:00 CET".
func (d *dates) stamp(t time.Time) string {
	return d.shortDate(t) + ", " + d.time(t) + nb + zoneName(t)
}

// exact is "30 Nov 2026, 09:00:07 CET".
func (d *dates) exact(t time.Time) string {
	return d.shortDate(t) + ", " + d.time(t) + t.Format(d.clock[2:3]+"05") + nb + zoneName(t)
}

// hours is "09:00–09:30" as it stands under the date on. What lies on another
// date says so, and where the clock is changed in between each time has its zone.
func (d *dates) hours(from, to time.Time, on calendar.Date) string {
	begin, dash, end := d.time(from), "–"+joiner, d.time(to)
	if zoneName(from) != zoneName(to) {
		begin += nb + zoneName(from)
		end += nb + zoneName(to)
	}
	if day := calendar.DateOf(from, from.Location()); day != on {
		begin, dash = d.shortDay(day)+nb+begin, nb+"– "
	}
	// Midnight belongs to the day that it ends.
	if day := calendar.DateOf(to.Add(-time.Nanosecond), to.Location()); day != on {
		end, dash = d.shortDay(calendar.DateOf(to, to.Location()))+nb+end, nb+"– "
	}
	return begin + dash + end
}

// span is "Monday, 30 November 2026, 09:00–09:30 CET".
func (d *dates) span(from, to time.Time) string {
	on := calendar.DateOf(from, from.Location())
	text := d.day(on) + ", " + d.hours(from, to, on)
	if zoneName(from) == zoneName(to) {
		text += nb + zoneName(from)
	}
	return text
}
