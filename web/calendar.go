package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// maxShown bounds what one calendar page reads and shows.
const maxShown = 1000

type calendarView struct {
	Query      calendarQuery
	Heading    string
	WeekNumber int
	Conflicts  conflictList
	Days       []agendaDay
	Week       *weekView
	Resources  []option
	Providers  []string
	Zones      []zoneGroup
	Statuses   []booking.Status
	Resource   string
	ZoneName   string // of the first instant that is shown

	Truncated     bool
	NoConnections bool
	Empty         bool
	Hidden        int
	Next          *nextBooking
}

// entry is a booking as the calendar shows it.
type entry struct {
	booking.View
	Name     string
	Who      string
	Resource string
	Link     string
	Holders  []rival   // of a conflicted one
	Rivals   []rival   // of one that holds its place
	Absences []absence // that it lies in
	// Hours and ZoneName are as they stand under a day.
	Hours    string
	ZoneName string
	// From and To are for machines.
	From time.Time
	To   time.Time
}

type agendaDay struct {
	calendar.Day
	Label   string
	Today   bool
	Entries []entry
	// Absences are unavailable times, MoreAbsences those that do not fit.
	Absences     []absence
	MoreAbsences []absence
}

type nextBooking struct {
	Label string
	Link  string
}

func (s *server) calendarPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	days := q.Days()
	first, last := days[0], days[len(days)-1]
	f := booking.Filter{From: &first.Start, To: &last.End, Provider: q.Provider}
	if q.Resource != uuid.Nil {
		f.ResourceID = &q.Resource
	}
	all, truncated, err := s.collect(ctx, f)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v := calendarView{
		Query: q, Heading: who.language.dates.period(first.Date, last.Date), Truncated: truncated,
		Resources: names.resources, Providers: names.providers, Resource: names.resource[q.Resource],
		Zones: zoneGroups(q.Zone.String()), Statuses: booking.Statuses(), ZoneName: zoneName(first.Start),
		NoConnections: names.connections == 0,
	}
	shown := entries(all, q, names, who.language)
	if v.Conflicts, err = s.conflicts(ctx, all, q, names, who.language); err != nil {
		return err
	}
	absences, err := s.absences(ctx, days, shown, q, names, who.language)
	if err != nil {
		return err
	}
	if q.View == viewWeek {
		_, v.WeekNumber = first.Start.Add(12 * time.Hour).ISOWeek()
		v.Week = newWeekView(days, shown, q, who.language, s.Now())
		v.Week.addBands(days, absences, q, names, who.language)
	} else {
		if err := s.addRivals(ctx, shown, q, who.language); err != nil {
			return err
		}
		v.Days = addToAgenda(newAgenda(days, shown, q, who.language), days, absences, q, names, who.language)
	}
	if len(shown) == 0 {
		v.Empty = true
		if err := s.explainEmpty(ctx, &v, f, len(all), who.language); err != nil {
			return err
		}
	}
	return s.page(c, http.StatusOK, "calendar", page{
		Title: "calendar.title", Section: "calendar", Wide: true, Zone: q.Zone, Data: v, Conflicts: v.Conflicts.Open, counted: true,
	})
}

// collect reads every booking of a window, up to what a page can show.
func (s *server) collect(ctx context.Context, f booking.Filter) (all []booking.View, truncated bool, err error) {
	p := booking.Page{Limit: booking.MaxLimit}
	for {
		l, err := s.Records.Bookings(ctx, f, p)
		if err != nil {
			return nil, false, err
		}
		all = append(all, l.Items...)
		if l.Next == "" {
			return all, false, nil
		}
		if len(all) >= maxShown {
			return all, true, nil
		}
		p.Cursor = l.Next
	}
}

// explainEmpty finds out which of three reasons there is for showing nothing: no
// account is connected, filters hide all, or there is nothing.
func (s *server) explainEmpty(ctx context.Context, v *calendarView, f booking.Filter, hidden int, l *language) error {
	if v.NoConnections {
		return nil
	}
	if hidden == 0 && v.Query.Filtered() {
		unfiltered := booking.Filter{From: f.From, To: f.To}
		all, _, err := s.collect(ctx, unfiltered)
		if err != nil {
			return err
		}
		hidden = len(all)
	}
	v.Hidden = hidden
	later := booking.Filter{From: f.To, Provider: f.Provider, ResourceID: f.ResourceID, Statuses: texts(v.Query.Statuses)}
	next, err := s.Records.Bookings(ctx, later, booking.Page{Limit: 1})
	if err != nil || len(next.Items) == 0 || next.Items[0].StartsAt == nil {
		return err
	}
	on := calendar.DateOf(*next.Items[0].StartsAt, v.Query.Zone)
	v.Next = &nextBooking{Label: l.dates.day(on), Link: v.Query.Around(on)}
	return nil
}

// entries are the bookings that the query shows and that have a time.
func entries(all []booking.View, q calendarQuery, names names, l *language) []entry {
	var out []entry
	for _, b := range all {
		if b.StartsAt != nil && b.EndsAt != nil && q.Shows(b.Status) {
			out = append(out, newEntry(b, q, names, l))
		}
	}
	return out
}

func newEntry(b booking.View, q calendarQuery, names names, l *language) entry {
	e := entry{View: b, Name: nameOf(b, l), Who: whoIs(b), Resource: names.of(b.ResourceIDs), Link: bookingLink(b.ID, q)}
	if b.StartsAt != nil && b.EndsAt != nil {
		e.From, e.To = b.StartsAt.In(q.Zone), b.EndsAt.In(q.Zone)
		e.ZoneName = zoneName(e.From)
		e.Hours = l.dates.span(e.From, e.To)
	}
	return e
}

func bookingLink(id uuid.UUID, q calendarQuery) string {
	link := "/bookings/" + id.String()
	if q.Zone.String() != q.ownZone.String() {
		link += "?zone=" + q.Zone.String()
	}
	return link
}

func nameOf(b booking.View, l *language) string {
	if b.Title != "" {
		return b.Title
	}
	return l.t("booking.untitled")
}

func whoIs(b booking.View) string {
	if b.Invitee.Name != "" {
		return b.Invitee.Name
	}
	return b.Invitee.Email
}

// newAgenda groups by local day; days without anything are left out.
func newAgenda(days []calendar.Day, shown []entry, q calendarQuery, l *language) []agendaDay {
	var out []agendaDay
	for i, of := range calendar.ByDay(days, spans(shown)) {
		if len(of) == 0 {
			continue
		}
		day := newAgendaDay(days[i], q, l)
		for _, n := range of {
			e := shown[n]
			e.Hours = l.dates.hours(e.From, e.To, days[i].Date)
			if zoneName(e.From) != zoneName(e.To) {
				e.ZoneName = "" // each time has its own
			}
			day.Entries = append(day.Entries, e)
		}
		out = append(out, day)
	}
	return out
}

func newAgendaDay(d calendar.Day, q calendarQuery, l *language) agendaDay {
	return agendaDay{Day: d, Label: l.dates.day(d.Date), Today: d.Date == q.today}
}

func spans(shown []entry) []calendar.Span {
	out := make([]calendar.Span, len(shown))
	for i, e := range shown {
		out[i] = calendar.Span{Start: e.From, End: e.To, First: e.Status == booking.Conflicted}
	}
	return out
}

// names are what ids are called, and what can be chosen from.
type names struct {
	resource    map[uuid.UUID]string
	resources   []option
	providers   []string
	connection  map[uuid.UUID]string
	providerOf  map[uuid.UUID]string // of connections
	connections int
}

func (s *server) names(ctx context.Context) (names, error) {
	resources, err := booking.Everything(ctx, s.Records.Resources)
	if err != nil {
		return names{}, err
	}
	connections, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return names{}, err
	}
	out := names{resource: map[uuid.UUID]string{}, connection: map[uuid.UUID]string{}, providerOf: map[uuid.UUID]string{}, connections: len(connections)}
	for _, r := range resources {
		out.resource[r.ID] = r.Name
		out.resources = append(out.resources, option{Value: r.ID.String(), Label: r.Name})
	}
	slices.SortStableFunc(out.resources, byLabel)
	for _, c := range connections {
		out.connection[c.ID], out.providerOf[c.ID] = c.Name, c.Provider
		if !slices.Contains(out.providers, c.Provider) {
			out.providers = append(out.providers, c.Provider)
		}
	}
	slices.Sort(out.providers)
	return out, nil
}

// of names resources in one line; one that is not known any more shows its id.
func (n names) of(ids []uuid.UUID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = cmp.Or(n.resource[id], id.String())
	}
	return strings.Join(all, ", ")
}
