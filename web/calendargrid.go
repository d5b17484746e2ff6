package web

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// gridView is a grid of columns: the days of a week, one day, or the resources of a
// day. Its rows are real time since each day began.
type gridView struct {
	Kind    string // the view that it is
	Columns []gridColumn
	Hours   []hourLabel // beside the columns; of a week those of days whose clock is not changed
	Class   string      // the grid's height
	Scale   string      // the class of how much height an hour has; "" for the usual
	// Changed are the days whose clock is changed, as sentences.
	Changed []string
	// Unshown are resources that nothing is on and that found no room.
	Unshown int
	// Many says that the columns are more than are seen at once.
	Many bool
	// Beyond are the columns with a conflict that are seen only by scrolling.
	Beyond []gridColumn
	// Abreast is how many bookings stand side by side where most do.
	Abreast int

	from, to time.Duration // the hours that are shown
}

// gridColumn is a day, or a resource on a day.
type gridColumn struct {
	calendar.Day
	Label  string // in full
	Short  string // the weekday, or the resource's name
	Number int    // of the day; 0 of a resource
	Today  bool
	// Own says that it has hours of its own, since its clock is changed and that of
	// others is not.
	Own      bool
	OfOne    bool // one resource's
	Link     string
	Anchor   string   // where a link within the page finds it; "" of a day
	Stale    []string // what is known to be missing here
	AllDay   []gridEntry
	Off      bool      // all day, of one resource
	Bands    []band    // unavailable times in the grid
	Absences []absence // and those on top of the day
	Entries  []gridEntry
	More     []gridMore
	Hours    []hourLabel // its own
	Now      string      // the class of the line that says what time it is; "" elsewhere
	Begins   time.Time   // the first instant that the grid shows
}

type hourLabel struct {
	Class string
	Text  string
}

type gridEntry struct {
	entry
	Begin string // of Hours, what is within the day: first the beginning; "" of all day
	Rest  string // and this where there is room
	Class string
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

// nearlyADay is how long a booking lasts that stands on top of its days: in the grid it
// would take half the width of all that is booked beside it.
const nearlyADay = 20 * time.Hour

// scale is how much height an hour has. The usual one lets no booking be shorter than
// half an hour: where there are such, an hour is higher, so that each is drawn as long
// as it is and can be hit.
type scale struct {
	class string        // as calendar.css knows it
	least time.Duration // what is high enough
}

var scales = []scale{{"", 30 * time.Minute}, {"fine", 15 * time.Minute}, {"finest", 10 * time.Minute}}

// seenAtOnce is how many resources stand side by side on a common screen.
const seenAtOnce = 7

// maxResources is how many stand side by side: more would be found by no eye.
const maxResources = 24

// columnPlan is a column before anything is placed in it.
type columnPlan struct {
	gridColumn
	entries []entry
	blocks  func(booking.BlockView) bool
}

func newGridView(w window, shown []entry, blocks []booking.BlockView, stale []staleAccount, now time.Time) *gridView {
	g := &gridView{Kind: w.query.View}
	var plan []columnPlan
	columns := weekColumns
	switch w.query.View {
	case viewResources:
		plan, g.Unshown = resourceColumnsOf(w, shown, blocks, stale)
		columns = resourceColumns
		if len(plan) == 1 {
			columns = dayColumns
		}
	case viewDay:
		columns = dayColumns
		plan = w.dayColumns(shown)
	default:
		plan = w.dayColumns(shown)
	}
	g.Many = w.query.View == viewResources && len(plan) > seenAtOnce
	if g.Many {
		for _, c := range plan[seenAtOnce:] {
			if slices.ContainsFunc(c.entries, entry.contested) {
				g.Beyond = append(g.Beyond, c.gridColumn)
			}
		}
	}
	g.place(w, plan, columns)
	for i := range g.Columns {
		g.finish(w, &g.Columns[i], now)
		g.addBands(&g.Columns[i], w, blocks, plan[i].blocks)
	}
	g.label(w)
	return g
}

// dayColumns has a column for each day that is shown.
func (w window) dayColumns(shown []entry) []columnPlan {
	all := w.oncePerMeeting(shown)
	out := make([]columnPlan, len(w.days))
	for i, d := range w.days {
		c := gridColumn{
			Day: d, Label: w.language.dates.day(d.Date), Short: w.language.dates.shortWeekdays[d.Weekday()], Number: d.Day,
			Link: w.query.On(viewDay, d.Date), OfOne: w.query.Resource != uuid.Nil,
		}
		out[i] = columnPlan{c, all, func(booking.BlockView) bool { return true }}
	}
	return out
}

// resourceColumnsOf has a column for each resource on the day that is shown, and one
// for what has none. Each keeps its place from day to day; those that nothing is on are
// left out when there are too many.
func resourceColumnsOf(w window, shown []entry, blocks []booking.BlockView, stale []staleAccount) (out []columnPlan, unshown int) {
	all := w.oncePerMeeting(shown)
	add := func(id uuid.UUID, name string, force bool) {
		of := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return !about(e.ResourceIDs, id) })
		mine := func(b booking.BlockView) bool { return b.ResourceID == id }
		busy := len(of) > 0 || slices.ContainsFunc(blocks, mine)
		if !force && !busy {
			unshown++
			return
		}
		c := gridColumn{
			Day: w.days[0], Label: name, Short: name, OfOne: true, Anchor: "r-" + id.String(),
			Link: w.query.with(func(q *calendarQuery) { q.View, q.Resource = viewWeek, id }),
		}
		for _, a := range stale {
			if slices.Contains(a.ids, id) {
				c.Stale = append(c.Stale, a.Text)
			}
		}
		if id == uuid.Nil {
			c.Link, c.OfOne = "", false
		}
		out = append(out, columnPlan{c, of, mine})
	}
	room := len(w.names.resources) <= maxResources
	for _, r := range w.names.resources {
		if id, err := uuid.Parse(r.Value); err == nil && (w.query.Resource == uuid.Nil || w.query.Resource == id) {
			add(id, r.Label, room || w.query.Resource == id)
		}
	}
	before := unshown
	if w.query.Resource == uuid.Nil {
		add(uuid.Nil, w.language.t("booking.noresource"), false)
	}
	return out, before
}

// about tells whether ids have one; the zero id is about none at all.
func about(ids []uuid.UUID, id uuid.UUID) bool {
	if id == uuid.Nil {
		return len(ids) == 0
	}
	return slices.Contains(ids, id)
}

// oncePerMeeting leaves one booking of those that share a meeting and are in one
// state, and counts the others: a class of eight is one place in the grid.
func (w window) oncePerMeeting(shown []entry) []entry {
	type key struct {
		session uuid.UUID
		status  booking.Status
		settled bool
		at      int64
	}
	out := make([]entry, 0, len(shown))
	first := map[key]int{}
	for _, e := range shown {
		k := key{e.SessionID, e.Status, e.OverlapAccepted, e.From.UnixNano()}
		i, known := first[k]
		if !known || e.SessionID == uuid.Nil || (e.Gone == nil) != (out[i].Gone == nil) {
			first[k] = len(out)
			out = append(out, e)
			continue
		}
		out[i].Others++
		if len(out[i].Rivals) == 0 {
			out[i].Rivals = e.Rivals
		}
	}
	for i := range out {
		if n := out[i].Others; n > 0 {
			out[i].Who = w.language.n("calendar.people", n+1)
		}
	}
	return out
}

// place lays out all columns, and finds the hours that all of them need.
func (g *gridView) place(w window, plan []columnPlan, columns int) {
	layouts := g.layouts(plan, columns)
	g.from, g.to = earliest, latest
	for i := range plan {
		for _, p := range layouts[i].Placed {
			g.from, g.to = min(g.from, p.Top.Truncate(time.Hour)), max(g.to, p.Top+p.Height)
		}
		for _, m := range layouts[i].More {
			g.from, g.to = min(g.from, m.Top.Truncate(time.Hour)), max(g.to, m.Top+m.Height)
		}
	}
	g.to = (g.to + time.Hour - 1).Truncate(time.Hour)
	g.Class = gridHeight(g.to - g.from)
	for i, c := range plan {
		for _, n := range layouts[i].AllDay {
			e := gridEntry{entry: w.under(c.entries[n], c.Day)}
			if e.From.After(c.Start) || e.To.Before(c.End) {
				e.Begin, e.Rest = w.part(e.From, e.To, c.Day)
			}
			c.AllDay = append(c.AllDay, e)
		}
		for _, p := range layouts[i].Placed {
			g.Abreast = max(g.Abreast, p.Columns)
			e := gridEntry{entry: w.under(c.entries[p.Index], c.Day), Class: gridClass(p.Top-g.from, p.Height, p.Column, p.Columns)}
			e.Begin, e.Rest = w.part(e.From, e.To, c.Day)
			c.Entries = append(c.Entries, e)
		}
		for _, m := range layouts[i].More {
			c.More = append(c.More, gridMore{
				Class: gridClass(m.Top-g.from, m.Height, m.Columns-1, m.Columns), Count: len(m.Entries),
				Link: w.query.On(viewAgenda, c.Date) + "#b-" + c.entries[m.Entries[0]].ID.String(),
			})
		}
		g.Columns = append(g.Columns, c.gridColumn)
	}
}

// layouts lays out all columns in the first scale that lets each entry be hit.
func (g *gridView) layouts(plan []columnPlan, columns int) []calendar.Layout {
	out := make([]calendar.Layout, len(plan))
	for n, s := range scales {
		g.Scale = s.class
		fits := true
		for i, c := range plan {
			out[i] = calendar.Grid{Least: s.least, Columns: columns, Long: nearlyADay}.Place(c.Day, spans(c.entries))
			fits = fits && !slices.ContainsFunc(out[i].Placed, func(p calendar.Placed) bool {
				e := c.entries[p.Index]
				return p.Height < s.least || n == 0 && e.To.Sub(e.From) < s.least
			})
		}
		if fits {
			break
		}
	}
	return out
}

func gridHeight(d time.Duration) string { return "h" + strconv.Itoa(step(d)) }

// under is an entry as it stands under a day: its detail opens beside the grid, and its
// hours stand alone, without a column that says their zone.
func (w window) under(e entry, d calendar.Day) entry {
	e.Hours = w.language.dates.hours(e.From, e.To, d.Date)
	if zoneName(e.From) == zoneName(e.To) && zonesMatter(e.From, e.To) {
		e.Hours += " " + e.ZoneName
	}
	e.Open = e.ID == w.query.Open
	e.Link = w.query.Detail(e.ID)
	return e
}

// finish says of a column what time it is.
func (g *gridView) finish(w window, c *gridColumn, now time.Time) {
	c.Today = c.Date == w.query.today
	c.Begins = c.Start.Add(g.from)
	if at := c.Offset(now); c.Covers(now) && at >= g.from && at < g.to {
		c.Now = topClass(at - g.from)
	}
}

// label writes the hours beside the grid. Where all columns are of one day they are
// that day's; in a week a day whose clock is changed has its own.
func (g *gridView) label(w window) {
	one := g.Kind != viewWeek
	for i := range g.Columns {
		c := &g.Columns[i]
		if c.Regular() {
			continue
		}
		if i == 0 || !one {
			g.Changed = append(g.Changed, w.changeText(c.Day, one))
		}
		if c.Own = !one; c.Own {
			c.Hours = w.hours(c.Day, g.from, g.to)
		}
	}
	if one && len(g.Columns) > 0 {
		g.Hours = w.hours(g.Columns[0].Day, g.from, g.to)
		return
	}
	for h := g.from; h < g.to; h += time.Hour {
		g.Hours = append(g.Hours, hourLabel{Class: topClass(h - g.from), Text: w.language.dates.time(time.Time{}.Add(h))})
	}
}

// hours are the hours of a day. Where its clock is changed they carry their zone.
func (w window) hours(d calendar.Day, from, to time.Duration) []hourLabel {
	var out []hourLabel
	hours := d.Hours()
	for i, h := range hours {
		if h.Offset < from || h.Offset >= to {
			continue
		}
		text := w.language.dates.time(h.At)
		if h.Changed || i+1 < len(hours) && hours[i+1].Changed {
			text += " " + zoneName(h.At)
		}
		out = append(out, hourLabel{Class: topClass(h.Offset - from), Text: text})
	}
	return out
}

// changeText says that a day is longer or shorter than others; alone when no other
// day stands beside it.
func (w window) changeText(d calendar.Day, alone bool) string {
	key := "calendar.clock.longer"
	by := d.Length() - 24*time.Hour
	if by < 0 {
		key, by = "calendar.clock.shorter", -by
	}
	text := w.language.t(key, "Day", w.language.dates.day(d.Date), "Minutes", int(by.Minutes()))
	if !alone {
		text += " " + w.language.t("calendar.clock.own")
	}
	return text
}
