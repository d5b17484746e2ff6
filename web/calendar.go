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
	"slotkeeper/providers"
)

// What one calendar page reads, and of a list shows, at most: a grid has room for
// few and says how many there are besides, a list grows with each.
const (
	maxRead  = 6000
	maxShown = 1000
)

type calendarView struct {
	Query      calendarQuery
	Heading    string
	WeekNumber int
	// Seq stands for the newest transition that the page knows of: see LastSeq.
	Seq       int64
	Conflicts conflictList
	Stale     []staleAccount
	Detail    *bookingDetail
	Empty     *emptyCalendar
	Truncated bool
	Search    *searchView
	// NamesHidden says that the viewer sees no names, and cannot look for them.
	NamesHidden bool

	// One of them is shown.
	Agenda []agendaDay
	Grid   *gridView
	Month  *monthView

	// Paper is what a grid or a month shows, as it is printed: all of it, as a list.
	Paper    []agendaDay
	PaperCut bool // it is more than is printed
	Read     time.Time
	// StateNames are those that are shown, for paper.
	StateNames string

	Views     []string
	Resources []option
	Providers []string
	Zones     []zoneGroup
	Statuses  []booking.Status
	Resource  string // name of the one that is shown
	ZoneName  string // of what is shown: both, where clocks are changed in it
}

// entry is a booking as the calendar shows it.
type entry struct {
	booking.View
	Name     string
	Who      string
	Erased   bool // whoever came with it
	Resource string
	Link     string
	Holders  []rival   // of a conflicted one
	Rivals   []rival   // of one that holds its place
	Absences []absence // that it lies in
	// Gone is where it is now, of a place that it has left.
	Gone *gone
	// Others are how many more of the same meeting it stands for.
	Others int
	// Open says that its detail is open beside it.
	Open bool
	// Anchor has links find it in a list: under the first of its days.
	Anchor bool
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
	Link    string
	Entries []entry
	// Nothing says of today that nothing is booked; nil of other days.
	Nothing *nothingToday
	// Absences are unavailable times, MoreAbsences those that do not fit.
	Absences     []absence
	MoreAbsences []absence
}

func (s *server) calendarPage(c echo.Context) error {
	who := s.viewer(c)
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	if !c.QueryParams().Has("first") {
		q.First = who.user.FirstWeekday
	}
	q.back = q.comesFrom()
	v, err := s.calendar(c.Request().Context(), q, who)
	if err != nil {
		return err
	}
	return s.page(c, http.StatusOK, "calendar", page{
		Title: "calendar.title", Section: "calendar", Wide: true, Zone: q.Zone, Data: v, Conflicts: v.Conflicts.Open, counted: true,
		DownTold: true,
	})
}

// calendar reads what a query shows.
func (s *server) calendar(ctx context.Context, q calendarQuery, who viewer) (calendarView, error) {
	l, days := who.language, q.Days()
	first := days[0]
	v := calendarView{
		Query: q, Heading: heading(q, days, l), ZoneName: zonesOf(days),
		Views: calendarViews, Zones: zoneGroups(q.Zone.String()), Statuses: booking.Statuses(),
		Read: s.Now(), NamesHidden: scopeOf(ctx).HideNames,
	}
	states := make([]string, len(q.Statuses))
	for i, status := range q.Statuses {
		states[i] = l.named("status", string(status))
	}
	v.StateNames = strings.Join(states, ", ")
	if q.View == viewWeek {
		v.WeekNumber = calendar.WeekNumber(first.Date)
	}
	var err error
	// First, so that what happens while the page is read is told of.
	if v.Seq, err = s.Records.LastSeq(ctx); err != nil {
		return v, err
	}
	names, err := s.names(ctx)
	if err != nil {
		return v, err
	}
	stale, err := s.stale(ctx, q, names, who)
	if err != nil {
		return v, err
	}
	v.Resources, v.Providers, v.Resource = markStale(names.resources, stale, l), names.providers, names.resource[q.Resource]
	v.Stale = staleHere(stale, q)

	w := window{query: q, days: days, names: names, language: l}
	if q.View == viewMonth {
		err = s.showMonth(ctx, &v, w)
	} else {
		err = s.showBookings(ctx, &v, w)
	}
	if err != nil {
		return v, err
	}
	if v.Empty != nil {
		v.Empty, err = s.explainEmpty(ctx, w)
		if err != nil {
			return v, err
		}
	}
	if v.Search, err = s.search(ctx, w); err != nil {
		return v, err
	}
	v.Detail, err = s.detail(ctx, w, who)
	return v, err
}

// window is what of the calendar is shown, and how it is written.
type window struct {
	query    calendarQuery
	days     []calendar.Day
	names    names
	language *language
}

// heading names what is shown.
func heading(q calendarQuery, days []calendar.Day, l *language) string {
	first, last := days[0].Date, days[len(days)-1].Date
	switch {
	case q.View == viewMonth:
		return l.dates.month(q.Date)
	case first == last:
		return l.dates.day(first)
	}
	return l.dates.period(first, last)
}

// showBookings shows the views that show each booking.
func (s *server) showBookings(ctx context.Context, v *calendarView, w window) error {
	f := w.query.filter()
	f.From, f.To = &w.days[0].Start, &w.days[len(w.days)-1].End
	most := maxRead
	if w.query.View == viewAgenda {
		most = maxShown
	}
	all, more, err := s.Records.BookingsWithin(ctx, f, most)
	if err != nil {
		return err
	}
	v.Truncated = more
	shown := w.entries(all)
	if v.Conflicts, err = s.conflicts(ctx, all, w.query, w.names, w.language); err != nil {
		return err
	}
	absences, err := s.absences(ctx, w.days, shown, w.query, w.names, w.language)
	if err != nil {
		return err
	}
	left, err := s.left(ctx, w, f, all)
	if err != nil {
		return err
	}
	if len(shown) == 0 && len(left) == 0 {
		v.Empty = &emptyCalendar{}
	}
	if err := s.addRivals(ctx, shown, w.query, w.language); err != nil {
		return err
	}
	if w.query.View != viewAgenda {
		everything := slices.Concat(shown, left)
		slices.SortStableFunc(everything, inOrder)
		if v.Empty == nil || len(absences) > 0 { // a grid of nothing says nothing
			v.Grid = newGridView(w, everything, absences, v.Stale, s.Now())
		}
		cut := min(len(everything), maxShown)
		v.Paper, v.PaperCut = w.agenda(everything[:cut], absences), v.Truncated || cut < len(everything)
		return nil
	}
	if err := s.addOpenHolders(ctx, shown, w); err != nil {
		return err
	}
	everything := slices.Concat(shown, left)
	slices.SortStableFunc(everything, inOrder)
	warnOnce(everything)
	v.Agenda, err = s.sayToday(ctx, w, w.agenda(everything, absences), more)
	return err
}

// entries are the bookings that the query shows and that have a time.
func (w window) entries(all []booking.View) []entry {
	out := make([]entry, 0, len(all))
	for _, b := range all {
		if b.StartsAt != nil && b.EndsAt != nil && w.query.Shows(b.Status) {
			out = append(out, newEntry(b, w.query, w.names, w.language))
		}
	}
	return out
}

// contested tells whether the booking waits for a place and somebody has to decide.
func (e entry) contested() bool {
	return e.Status == booking.Conflicted && !e.OverlapAccepted && e.Gone == nil
}

// Lead is what a booking is looked for by where there is little room: who comes, or what
// for where that is several people or nobody known. Then is the other one.
func (e entry) Lead() string {
	if e.Who == "" || e.Others > 0 {
		return e.Name
	}
	return e.Who
}

// Then is what there is to say beside Lead; "" for nothing.
func (e entry) Then() string {
	if e.Who == "" || e.Others > 0 {
		return e.Who
	}
	return e.Name
}

// inOrder is the order of a day: by time, then by resource, then by title, so that a
// list reads the same each time.
func inOrder(a, b entry) int {
	return cmp.Or(
		a.From.Compare(b.From), cmp.Compare(strings.ToLower(a.Resource), strings.ToLower(b.Resource)),
		cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(strings.ToLower(a.Who), strings.ToLower(b.Who)),
		cmp.Compare(a.ID.String(), b.ID.String()),
	)
}

func newEntry(b booking.View, q calendarQuery, names names, l *language) entry {
	e := entry{View: b, Name: nameOf(b, l), Who: l.whoIs(b.Invitee), Erased: b.Invitee.Erased(), Resource: names.of(b.ResourceIDs), Link: bookingLink(b.ID, q)}
	e.Invitee = reachable(b.Invitee)
	if b.StartsAt != nil && b.EndsAt != nil {
		e.From, e.To = b.StartsAt.In(q.Zone), b.EndsAt.In(q.Zone)
		e.ZoneName = zoneName(e.From)
		e.Hours = l.dates.span(e.From, e.To)
	}
	return e
}

func nameOf(b booking.View, l *language) string {
	if b.Title != "" {
		return b.Title
	}
	return l.t("booking.untitled")
}

// whoIs is what a person is called: by name, else by e-mail; "" of one of whom neither
// is known.
func (l *language) whoIs(p booking.Person) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Erased():
		return l.t("person.erased")
	}
	return p.Email
}

// called is a person's name, or that their data was erased; "" where it is not known.
func (l *language) called(name, email string) string {
	if p := (booking.Person{Name: name, Email: email}); p.Erased() {
		return l.whoIs(p)
	}
	return name
}

// reachable is a person without what only looks like an address.
func reachable(p booking.Person) booking.Person {
	if p.Erased() {
		p.Email = ""
	}
	return p
}

// collect reads every booking of a window, up to what a page can show.
func (s *server) collect(ctx context.Context, f booking.Filter) (all []booking.View, truncated bool, err error) {
	return s.Records.BookingsWithin(ctx, f, maxShown)
}

// agenda groups by local day; days without anything are left out.
func (w window) agenda(shown []entry, blocks []booking.BlockView) []agendaDay {
	var out []agendaDay
	listed := map[uuid.UUID]bool{}
	for i, of := range calendar.ByDay(w.days, spans(shown)) {
		if len(of) == 0 {
			continue
		}
		day := w.agendaDay(w.days[i])
		for _, n := range of {
			e := shown[n]
			e.Hours = w.language.dates.hours(e.From, e.To, w.days[i].Date)
			if zoneName(e.From) != zoneName(e.To) {
				e.ZoneName = "" // each time has its own
			}
			e.Anchor = e.Gone == nil && !listed[e.ID]
			listed[e.ID] = listed[e.ID] || e.Anchor
			day.Entries = append(day.Entries, e)
		}
		out = append(out, day)
	}
	return w.addAbsences(out, blocks)
}

func (w window) agendaDay(d calendar.Day) agendaDay {
	return agendaDay{Day: d, Label: w.language.dates.day(d.Date), Today: d.Date == w.query.today, Link: w.query.On(viewDay, d.Date)}
}

func spans(shown []entry) []calendar.Span {
	out := make([]calendar.Span, len(shown))
	for i, e := range shown {
		out[i] = calendar.Span{Start: e.From, End: e.To, First: e.contested(), Last: e.Gone != nil}
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
	known       []booking.ResourceView
	accounts    []providers.Connection
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
	who, known := ctx.Value(keyViewer).(viewer)
	if !known {
		who.language = s.languages.of("", "")
	}
	out := names{resource: resourceLabels(resources, connections, who.language), connection: map[uuid.UUID]string{}, providerOf: map[uuid.UUID]string{}, connections: len(connections), known: resources, accounts: connections}
	for _, r := range resources {
		out.resources = append(out.resources, option{Value: r.ID.String(), Label: out.resource[r.ID]})
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

func byLabel(a, b option) int { return cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) }

// of names resources in one line; one that is not known any more shows its id.
func (n names) of(ids []uuid.UUID) string {
	if len(ids) == 1 {
		return cmp.Or(n.resource[ids[0]], ids[0].String())
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = cmp.Or(n.resource[id], id.String())
	}
	return strings.Join(all, ", ")
}
