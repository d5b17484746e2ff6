package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/calendar"
)

// The views of the calendar, in the order in which they are offered.
const (
	viewAgenda    = "agenda"
	viewDay       = "day"
	viewWeek      = "week"
	viewMonth     = "month"
	viewResources = "resources"
)

var calendarViews = []string{viewAgenda, viewDay, viewWeek, viewMonth, viewResources}

// agendaDays is how many days the agenda shows unless a link asks for other.
const agendaDays = 14

// agendaSpans are how many it may show.
var agendaSpans = []int{1, 7, agendaDays, 31}

// maxSearch is the longest text that is looked for.
const maxSearch = 200

// calendarQuery is what a calendar shows. All of it stands in the query string, so
// that a link shows the same thing to somebody else, whatever their profile says.
type calendarQuery struct {
	View     string
	Date     calendar.Date
	Span     int // days of the agenda
	First    time.Weekday
	Zone     *time.Location
	Resource uuid.UUID
	Provider string
	Text     string
	Statuses []booking.Status
	// Open is the booking whose detail is shown; none by default.
	Open uuid.UUID
	// ZoneUnknown is a zone that the query named and that does not exist.
	ZoneUnknown string
	// DateUnknown is a date that the query named and that is none.
	DateUnknown string

	ownZone *time.Location
	// back is the calendar that a page of a booking leads back to, as its query
	// string; "" for the plain one.
	back  string
	today calendar.Date
}

// shownByDefault leaves canceled bookings out.
var shownByDefault = []booking.Status{booking.Active, booking.Pending, booking.Conflicted}

func readCalendarQuery(q url.Values, own *time.Location, now time.Time) calendarQuery {
	out := calendarQuery{
		View: viewAgenda, Span: agendaDays, First: time.Monday, Zone: own, ownZone: own,
		Provider: q.Get("provider"), Text: searched(q.Get("q")),
	}
	if slices.Contains(calendarViews, q.Get("view")) {
		out.View = q.Get("view")
	}
	if n, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(agendaSpans, n) {
		out.Span = n
	}
	for _, first := range access.FirstWeekdays() {
		if q.Get("first") == weekdayParameter(first) {
			out.First = first
		}
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
	if named := q.Get("date"); named != "" {
		d, err := calendar.ParseDate(named)
		if err != nil {
			out.DateUnknown = searched(named)
		} else {
			out.Date = d
		}
	}
	out.Resource, _ = uuid.Parse(q.Get("resource")) // none when it is no id
	out.Open, _ = uuid.Parse(q.Get("booking"))
	for _, status := range booking.Statuses() {
		if slices.Contains(q["status"], string(status)) {
			out.Statuses = append(out.Statuses, status)
		}
	}
	if len(out.Statuses) == 0 {
		out.Statuses = shownByDefault
	}
	out.back = cameFromCalendar(q.Get("calendar"), own, now)
	return out
}

// cameFromCalendar is the calendar that a page leads back to. Only what the calendar
// understands is taken over, so that no link leads elsewhere.
func cameFromCalendar(query string, own *time.Location, now time.Time) string {
	v, err := url.ParseQuery(query)
	if query == "" || err != nil {
		return ""
	}
	v.Del("calendar")
	q := readCalendarQuery(v, own, now)
	q.Open = uuid.Nil
	return q.values().Encode()
}

// comesFrom is what a booking's page needs to lead back here: "" where the plain
// calendar is shown.
func (q calendarQuery) comesFrom() string {
	if q.View == viewAgenda && q.Span == agendaDays && q.Date == q.today && !q.Filtered() && q.defaultStatuses() && !q.Foreign() {
		return ""
	}
	q.Open = uuid.Nil
	return q.values().Encode()
}

func searched(text string) string {
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > maxSearch {
		text = string(runes[:maxSearch])
	}
	return text
}

// FirstParameter is the day that weeks begin with, as links name it.
func (q calendarQuery) FirstParameter() string { return weekdayParameter(q.First) }

// weekdayParameter is a weekday as links name it.
func weekdayParameter(d time.Weekday) string { return strings.ToLower(d.String()) }

// Days that are shown.
func (q calendarQuery) Days() []calendar.Day {
	switch q.View {
	case viewDay, viewResources:
		return calendar.Days(q.Date, 1, q.Zone)
	case viewWeek:
		return calendar.WeekFrom(q.Date, q.First, q.Zone)
	case viewMonth:
		return calendar.Month(q.Date, q.First, q.Zone)
	}
	return calendar.Days(q.Date, q.Span, q.Zone)
}

// Link is the address of this calendar: it shows the same to whoever opens it, now
// and later.
func (q calendarQuery) Link() string {
	return "/calendar?" + q.values().Encode()
}

func (q calendarQuery) values() url.Values {
	v := url.Values{"date": {q.Date.String()}, "zone": {q.Zone.String()}}
	if q.View != viewAgenda {
		v.Set("view", q.View)
	} else if q.Span != agendaDays {
		v.Set("days", strconv.Itoa(q.Span))
	}
	if q.View == viewWeek || q.View == viewMonth {
		v.Set("first", weekdayParameter(q.First))
	}
	if q.Resource != uuid.Nil {
		v.Set("resource", q.Resource.String())
	}
	if q.Provider != "" {
		v.Set("provider", q.Provider)
	}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if !q.defaultStatuses() {
		for _, s := range q.Statuses {
			v.Add("status", string(s))
		}
	}
	if q.Open != uuid.Nil {
		v.Set("booking", q.Open.String())
	}
	return v
}

func (q calendarQuery) defaultStatuses() bool {
	return len(q.Statuses) == len(shownByDefault) && !slices.Contains(q.Statuses, booking.Canceled)
}

// Filtered tells whether something is hidden that is not hidden by default.
func (q calendarQuery) Filtered() bool { return q.Filters() > 0 }

// CanceledToo tells whether canceled bookings are shown beside all others: that filters
// nothing away.
func (q calendarQuery) CanceledToo() bool { return len(q.Statuses) == len(booking.Statuses()) }

// HidesStates tells whether bookings are hidden for their state that are shown by default.
func (q calendarQuery) HidesStates() bool { return !q.defaultStatuses() && !q.CanceledToo() }

// CanceledHidden is the same calendar without canceled bookings.
func (q calendarQuery) CanceledHidden() string {
	return q.with(func(q *calendarQuery) { q.Statuses = shownByDefault })
}

// Filters is how many filters are set, the search among them.
func (q calendarQuery) Filters() int {
	n := 0
	for _, set := range []bool{q.Text != "", q.Resource != uuid.Nil, q.Provider != "", q.HidesStates()} {
		if set {
			n++
		}
	}
	return n
}

// Shows tells whether bookings in the state are shown.
func (q calendarQuery) Shows(s booking.Status) bool { return slices.Contains(q.Statuses, s) }

// Foreign tells whether another zone than the viewer's own is shown.
func (q calendarQuery) Foreign() bool { return q.Zone.String() != q.ownZone.String() }

// filter is what the query asks of bookings, their time and state apart.
func (q calendarQuery) filter() booking.Filter {
	f := booking.Filter{Provider: q.Provider, Text: q.Text}
	if q.Resource != uuid.Nil {
		f.ResourceID = &q.Resource
	}
	return f
}

// The links around a calendar. None keeps a detail open.

func (q calendarQuery) with(change func(*calendarQuery)) string {
	q.Open = uuid.Nil
	change(&q)
	return q.Link()
}

// Previous is the period before this one.
func (q calendarQuery) Previous() string {
	return q.with(func(q *calendarQuery) { q.Date = q.moved(-1) })
}

// Next is the period after this one.
func (q calendarQuery) Next() string {
	return q.with(func(q *calendarQuery) { q.Date = q.moved(1) })
}

func (q calendarQuery) moved(by int) calendar.Date {
	switch q.View {
	case viewDay, viewResources:
		return q.Date.AddDays(by)
	case viewWeek:
		return q.Date.AddDays(7 * by)
	case viewMonth:
		return q.Date.AddMonths(by)
	}
	return q.Date.AddDays(q.Span * by)
}

// Today is the period around now.
func (q calendarQuery) Today() string {
	return q.with(func(q *calendarQuery) { q.Date = q.today })
}

// As is the same calendar in another view.
func (q calendarQuery) As(view string) string {
	return q.with(func(q *calendarQuery) { q.View = view })
}

// On is a view of one date: of the agenda that day alone.
func (q calendarQuery) On(view string, d calendar.Date) string {
	return q.with(func(q *calendarQuery) { q.View, q.Date, q.Span = view, d, 1 })
}

// Around is this view at another date.
func (q calendarQuery) Around(d calendar.Date) string {
	return q.with(func(q *calendarQuery) { q.Date = d })
}

// All is the same calendar without filters, canceled bookings too.
func (q calendarQuery) All() string {
	return q.with(func(q *calendarQuery) {
		q.Resource, q.Provider, q.Text, q.Statuses = uuid.Nil, "", "", booking.Statuses()
	})
}

// Cleared is the same calendar without filters, as it is by default.
func (q calendarQuery) Cleared() string {
	return q.with((*calendarQuery).unfilter)
}

func (q *calendarQuery) unfilter() {
	q.Resource, q.Provider, q.Text, q.Statuses = uuid.Nil, "", "", shownByDefault
}

// Showing is the same calendar with bookings in a state, too.
func (q calendarQuery) Showing(s booking.Status) string {
	return q.with(func(q *calendarQuery) { q.show(s) })
}

func (q *calendarQuery) show(s booking.Status) {
	if !q.Shows(s) {
		q.Statuses = append(slices.Clone(q.Statuses), s)
	}
}

// AllStates is the same calendar with bookings in every state.
func (q calendarQuery) AllStates() string {
	return q.with(func(q *calendarQuery) { q.Statuses = booking.Statuses() })
}

// Of is the same calendar of one resource.
func (q calendarQuery) Of(resource uuid.UUID) string {
	return q.with(func(q *calendarQuery) { q.Resource = resource })
}

// Printed is what is shown as a list, which is what paper is for.
func (q calendarQuery) Printed() string {
	days := q.Days()
	return q.with(func(q *calendarQuery) {
		q.View, q.Date, q.Span = viewAgenda, days[0].Date, len(days)
		if !slices.Contains(agendaSpans, q.Span) { // a month's weeks
			q.Date, q.Span = days[len(days)/2].MonthStart(), 31
		}
	})
}

// Detail is the same calendar with a booking's detail open.
func (q calendarQuery) Detail(id uuid.UUID) string {
	q.Open = id
	return q.Link() + "#detail"
}

// Closed is the same calendar with no detail open.
func (q calendarQuery) Closed() string { return q.with(func(*calendarQuery) {}) }

// bookingLink is a booking's own page, in the zone that the calendar shows, with the
// way back to it.
func bookingLink(id uuid.UUID, q calendarQuery) string {
	link, v := "/bookings/"+id.String(), url.Values{}
	if q.Foreign() {
		v.Set("zone", q.Zone.String())
	}
	set(v, "calendar", q.back)
	if len(v) > 0 {
		link += "?" + v.Encode()
	}
	return link
}
