package web

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"slotkeeper/calendar"
)

func byLabel(a, b option) int { return cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) }

// weekView is the grid of a week: columns of days, rows of real time since each
// day began.
type weekView struct {
	Days  []weekDay
	Hours []hourLabel // beside the days whose clock is not changed
	Class string      // the grid's height
	// Changed are the days whose clock is changed, as sentences.
	Changed []string

	from, to time.Duration // the hours that are shown
}

type weekDay struct {
	Label    string
	Short    string
	Number   int
	Today    bool
	Regular  bool
	Link     string
	AllDay   []entry
	Off      bool      // all day, for the one resource that is shown
	Bands    []band    // unavailable times in the grid
	Absences []absence // and those on top of the day
	Entries  []gridEntry
	More     []gridMore
	Hours    []hourLabel // its own, when its clock is changed
	Now      string      // the class of the line that says what time it is; "" elsewhere
}

type hourLabel struct {
	Class string
	Text  string
}

type gridEntry struct {
	entry
	Part  string // of Hours, what is within the day
	Class string
	Short bool
}

type gridMore struct {
	Class string
	Count int
	Link  string
}

// The hours that are shown even when nothing is booked in them.
const (
	earliest = 8 * time.Hour
	latest   = 18 * time.Hour
)

var weekGrid = calendar.Grid{Least: 30 * time.Minute, Columns: gridColumns}

func newWeekView(days []calendar.Day, shown []entry, q calendarQuery, l *language, now time.Time) *weekView {
	layouts := make([]calendar.Layout, len(days))
	all := spans(shown)
	from, to := earliest, latest
	for i, d := range days {
		layouts[i] = weekGrid.Place(d, all)
		for _, p := range layouts[i].Placed {
			from, to = min(from, p.Top.Truncate(time.Hour)), max(to, p.Top+p.Height)
		}
		for _, m := range layouts[i].More {
			from, to = min(from, m.Top.Truncate(time.Hour)), max(to, m.Top+m.Height)
		}
	}
	to = (to + time.Hour - 1).Truncate(time.Hour)
	w := &weekView{Class: fmt.Sprintf("h%d", step(to-from)), from: from, to: to}
	for h := from; h < to; h += time.Hour {
		w.Hours = append(w.Hours, hourLabel{Class: fmt.Sprintf("t%d", step(h-from)), Text: l.dates.time(time.Time{}.Add(h))})
	}
	for i, d := range days {
		day := weekDay{
			Label: l.dates.day(d.Date), Short: l.dates.shortWeekdays[d.Weekday()], Number: d.Day,
			Today: d.Date == q.today, Regular: d.Regular(), Link: q.On(d.Date),
		}
		for _, n := range layouts[i].AllDay {
			day.AllDay = append(day.AllDay, under(shown[n], d, l))
		}
		for _, p := range layouts[i].Placed {
			e, short := under(shown[p.Index], d, l), p.Height <= 30*time.Minute
			day.Entries = append(day.Entries, gridEntry{
				entry: e, Part: l.dates.part(e.From, e.To, p.Before, p.After, short || p.Columns > 1), Short: short,
				Class: gridClass(p.Top-from, p.Height, p.Column, p.Columns),
			})
		}
		for _, m := range layouts[i].More {
			day.More = append(day.More, gridMore{
				Class: gridClass(m.Top-from, m.Height, m.Columns-1, m.Columns), Count: len(m.Entries), Link: q.On(d.Date),
			})
		}
		if !day.Regular {
			day.Hours = ownHours(d, from, to, l)
			w.Changed = append(w.Changed, changeText(d, l))
		}
		if at := d.Offset(now); d.Covers(now) && at >= from && at < to {
			day.Now = fmt.Sprintf("t%d", step(at-from))
		}
		w.Days = append(w.Days, day)
	}
	return w
}

func under(e entry, d calendar.Day, l *language) entry {
	e.Hours = l.dates.hours(e.From, e.To, d.Date)
	return e
}

func gridClass(top, height time.Duration, column, columns int) string {
	return fmt.Sprintf("t%d h%d c%d-%d", step(top), step(top+height)-step(top), column, columns)
}

// ownHours are the hours of a day whose clock is changed. From the change on
// they carry their zone.
func ownHours(d calendar.Day, from, to time.Duration, l *language) []hourLabel {
	var out []hourLabel
	hours := d.Hours()
	for i, h := range hours {
		if h.Offset < from || h.Offset >= to {
			continue
		}
		text := l.dates.time(h.At)
		if h.Changed || i+1 < len(hours) && hours[i+1].Changed {
			text += " " + zoneName(h.At)
		}
		out = append(out, hourLabel{Class: fmt.Sprintf("t%d", step(h.Offset-from)), Text: text})
	}
	return out
}

// changeText says that a day is longer or shorter than others.
func changeText(d calendar.Day, l *language) string {
	key := "calendar.clock.longer"
	by := d.Length() - 24*time.Hour
	if by < 0 {
		key, by = "calendar.clock.shorter", -by
	}
	return l.t(key, "Day", l.dates.day(d.Date), "Minutes", int(by.Minutes()))
}
