package web

import (
	"time"

	"slotkeeper/calendar"
)

// part is the time of a booking as it stands under one of its days: the beginning,
// and the rest of it for where there is room. What reaches over midnight says so in
// words.
func (w window) part(from, to time.Time, on calendar.Day) (begin, rest string) {
	l, before, after := w.language, from.Before(on.Start), to.After(on.End)
	clock := l.dates.time
	if zonesMatter(from, to) {
		clock = func(t time.Time) string { return l.dates.time(t) + " " + zoneName(t) }
	}
	switch {
	case !from.After(on.Start) && !to.Before(on.End):
		return l.t("calendar.allday"), ""
	case before:
		return l.t("calendar.part.until", "Time", clock(to)), ""
	case after:
		return l.t("calendar.part.from", "Time", clock(from)), ""
	}
	return clock(from), "–" + clock(to)
}

// zonesMatter tells whether the times of a booking say nothing without their zones: the
// clock is changed in between, or shows one of them twice.
func zonesMatter(from, to time.Time) bool {
	return zoneName(from) != zoneName(to) || calendar.Repeated(from) || calendar.Repeated(to)
}
