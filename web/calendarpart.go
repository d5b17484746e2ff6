package web

import (
	"strings"
	"time"

	"slotkeeper/calendar"
)

// part is the time of a booking as it stands under one of its days: the beginning,
// and the rest of it for where there is room. What reaches over midnight says so in
// words.
func (w window) part(from, to time.Time, on calendar.Day) (begin, rest string) {
	l, before, after := w.language, from.Before(on.Start), to.After(on.End)
	switch {
	case !from.After(on.Start) && !to.Before(on.End):
		return l.t("calendar.allday"), ""
	case before:
		return l.t("calendar.part.until", "Time", l.dates.time(to)), ""
	case after:
		return l.t("calendar.part.from", "Time", l.dates.time(from)), ""
	}
	whole := l.dates.hours(from, to, calendar.DateOf(from, from.Location()))
	begin = l.dates.time(from)
	return begin, strings.TrimPrefix(whole, begin)
}
