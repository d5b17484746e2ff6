package web

import (
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// The views of the calendar.
const (
	viewAgenda = "agenda"
	viewWeek   = "week"
)

// agendaDays is how many days the agenda shows at once.
const agendaDays = 14

// calendarQuery is what a calendar shows. All of it stands in the query string,
// so that a link shows the same thing to somebody else.
type calendarQuery struct {
	View     string
	Date     calendar.Date
	Zone     *time.Location
	Resource uuid.UUID
	Provider string
	Statuses []booking.Status
	// ZoneUnknown is a zone that the query named and that does not exist.
	ZoneUnknown string

	ownZone *time.Location
	today   calendar.Date
}

// shownByDefault leaves canceled bookings out.
var shownByDefault = []booking.Status{booking.Active, booking.Pending, booking.Conflicted}

func readCalendarQuery(q url.Values, own *time.Location, now time.Time) calendarQuery {
	out := calendarQuery{View: viewAgenda, Zone: own, ownZone: own, Provider: q.Get("provider")}
	if q.Get("view") == viewWeek {
		out.View = viewWeek
	}
	if name := q.Get("zone"); name != "" {
		zone, err := loadZone(name)
		if err != nil {
			out.ZoneUnknown = name
		} else {
			out.Zone = zone
		}
	}
	out.today = calendar.DateOf(now, out.Zone)
	out.Date = out.today
	if d, err := calendar.ParseDate(q.Get("date")); err == nil {
		out.Date = d
	}
	out.Resource, _ = uuid.Parse(q.Get("resource")) // none when it is no id
	for _, status := range booking.Statuses() {
		if slices.Contains(q["status"], string(status)) {
			out.Statuses = append(out.Statuses, status)
		}
	}
	if len(out.Statuses) == 0 {
		out.Statuses = shownByDefault
	}
	return out
}

// Days that are shown.
func (q calendarQuery) Days() []calendar.Day {
	if q.View == viewWeek {
		return calendar.Week(q.Date, q.Zone)
	}
	return calendar.Days(q.Date, agendaDays, q.Zone)
}

// Link is the address of this calendar.
func (q calendarQuery) Link() string {
	v := url.Values{}
	if q.View != viewAgenda {
		v.Set("view", q.View)
	}
	if q.Date != q.today {
		v.Set("date", q.Date.String())
	}
	if q.Zone.String() != q.ownZone.String() {
		v.Set("zone", q.Zone.String())
	}
	if q.Resource != uuid.Nil {
		v.Set("resource", q.Resource.String())
	}
	if q.Provider != "" {
		v.Set("provider", q.Provider)
	}
	if !q.defaultStatuses() {
		for _, s := range q.Statuses {
			v.Add("status", string(s))
		}
	}
	if len(v) == 0 {
		return "/calendar"
	}
	return "/calendar?" + v.Encode()
}

func (q calendarQuery) defaultStatuses() bool {
	return len(q.Statuses) == len(shownByDefault) && !slices.Contains(q.Statuses, booking.Canceled)
}

// Filtered tells whether something is hidden that is not hidden by default.
func (q calendarQuery) Filtered() bool {
	return q.Resource != uuid.Nil || q.Provider != "" || !q.defaultStatuses()
}

// Shows tells whether bookings in the state are shown.
func (q calendarQuery) Shows(s booking.Status) bool { return slices.Contains(q.Statuses, s) }

func (q calendarQuery) with(change func(*calendarQuery)) string {
	change(&q)
	return q.Link()
}

// The links around a calendar.

func (q calendarQuery) Previous() string {
	return q.with(func(q *calendarQuery) { q.Date = q.Date.AddDays(-q.span()) })
}

// Next is the period after this one.
func (q calendarQuery) Next() string {
	return q.with(func(q *calendarQuery) { q.Date = q.Date.AddDays(q.span()) })
}

// Today is the period around now.
func (q calendarQuery) Today() string {
	return q.with(func(q *calendarQuery) { q.Date = q.today })
}

// As is the same calendar in another view.
func (q calendarQuery) As(view string) string {
	return q.with(func(q *calendarQuery) { q.View = view })
}

// On is the agenda from a date on.
func (q calendarQuery) On(d calendar.Date) string {
	return q.with(func(q *calendarQuery) { q.View, q.Date = viewAgenda, d })
}

// Around is this view at another date.
func (q calendarQuery) Around(d calendar.Date) string {
	return q.with(func(q *calendarQuery) { q.Date = d })
}

// All is the same calendar without filters, canceled bookings too.
func (q calendarQuery) All() string {
	return q.with(func(q *calendarQuery) {
		q.Resource, q.Provider, q.Statuses = uuid.Nil, "", booking.Statuses()
	})
}

func (q calendarQuery) span() int {
	if q.View == viewWeek {
		return 7
	}
	return agendaDays
}
