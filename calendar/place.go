package calendar

import (
	"cmp"
	"slices"
	"time"
)

// Span is the time of an entry, [Start, End).
type Span struct {
	Start time.Time
	End   time.Time
	// First asks to be shown when not everything that overlaps fits beside it.
	First bool
}

// Overlaps tells whether the span and [from, to) share an instant. A span
// without length is an instant.
func (s Span) Overlaps(from, to time.Time) bool {
	if !s.End.After(s.Start) {
		return !s.Start.Before(from) && s.Start.Before(to)
	}
	return s.Start.Before(to) && from.Before(s.End)
}

// Placed is where an entry stands in a day.
type Placed struct {
	// Index of the entry among those that were given.
	Index int
	// Top and Height are real time from the day's beginning.
	Top    time.Duration
	Height time.Duration
	// Column of Columns that share the width, from 0.
	Column  int
	Columns int
	// Before and After say that the entry began on an earlier day, or goes on
	// on a later one.
	Before bool
	After  bool
}

// More counts the entries that had no column.
type More struct {
	Top     time.Duration
	Height  time.Duration
	Entries []int
	Columns int
}

// Layout is a day's grid.
type Layout struct {
	// AllDay are the entries that take the whole day.
	AllDay []int
	Placed []Placed
	More   []More
}

// Grid says how a day is laid out.
type Grid struct {
	// Least is the height below which nobody could hit an entry.
	Least time.Duration
	// Columns is how many entries may stand side by side; one of them is given
	// up for "more" when there are others. At least 2.
	Columns int
}

// Place lays out the entries of a day: entries that overlap stand side by side,
// those of midnight crossers are cut at the day's ends, and those that take the
// whole day are listed apart so that they do not swamp the grid. The result is
// in order of time, then of the given order.
func (g Grid) Place(d Day, spans []Span) Layout {
	var out Layout
	var boxes []box
	for i, s := range spans {
		if !s.Overlaps(d.Start, d.End) {
			continue
		}
		if !s.Start.After(d.Start) && !s.End.Before(d.End) {
			out.AllDay = append(out.AllDay, i)
			continue
		}
		boxes = append(boxes, g.box(d, i, s))
	}
	slices.SortStableFunc(boxes, func(a, b box) int {
		return cmp.Or(cmp.Compare(a.Top, b.Top), cmp.Compare(b.Height, a.Height))
	})
	for _, cluster := range clusters(boxes) {
		placed, more := g.columns(cluster)
		out.Placed = append(out.Placed, placed...)
		if len(more.Entries) > 0 {
			out.More = append(out.More, more)
		}
	}
	return out
}

// box is an entry with its place before it has a column.
type box struct {
	Placed
	first bool
}

func (b *box) bottom() time.Duration { return b.Top + b.Height }

func (g Grid) box(d Day, i int, s Span) box {
	top, bottom := d.Offset(s.Start), d.Offset(s.End)
	height := max(bottom-top, min(g.Least, d.Length()))
	// A short one just before midnight grows upwards.
	top = min(top, d.Length()-height)
	return box{
		Placed: Placed{
			Index: i, Top: top, Height: height,
			Before: s.Start.Before(d.Start), After: s.End.After(d.End),
		},
		first: s.First,
	}
}

// clusters cuts boxes, which are in order, into those that touch one another
// through others.
func clusters(boxes []box) [][]box {
	var out [][]box
	var end time.Duration
	for _, b := range boxes {
		if len(out) == 0 || b.Top >= end {
			out = append(out, nil)
			end = 0
		}
		out[len(out)-1] = append(out[len(out)-1], b)
		end = max(end, b.bottom())
	}
	return out
}

// columns gives each box of a cluster the first column that is free there. When
// that takes too many, those that ask to be shown choose first, and what is left
// is counted as more.
func (g Grid) columns(cluster []box) ([]Placed, More) {
	order := make([]*box, len(cluster))
	for i := range cluster {
		order[i] = &cluster[i]
	}
	used := assign(order)
	if used <= g.Columns {
		return g.finish(cluster, used), More{}
	}
	slices.SortStableFunc(order, func(a, b *box) int {
		switch {
		case a.first == b.first:
			return 0
		case a.first:
			return -1
		}
		return 1
	})
	assign(order)
	more := More{Top: cluster[0].Top, Columns: g.Columns}
	var bottom time.Duration
	var shown []box
	for _, b := range cluster {
		if b.Column < g.Columns-1 {
			shown = append(shown, b)
			continue
		}
		if len(more.Entries) == 0 {
			more.Top = b.Top
		}
		more.Entries = append(more.Entries, b.Index)
		bottom = max(bottom, b.bottom())
	}
	more.Height = bottom - more.Top
	return g.finish(shown, g.Columns), more
}

func assign(order []*box) (used int) {
	var taken [][]*box
	for _, b := range order {
		column := slices.IndexFunc(taken, func(there []*box) bool {
			return !slices.ContainsFunc(there, func(o *box) bool { return b.Top < o.bottom() && o.Top < b.bottom() })
		})
		if column < 0 {
			column = len(taken)
			taken = append(taken, nil)
		}
		taken[column] = append(taken[column], b)
		b.Column = column
	}
	return len(taken)
}

func (g Grid) finish(boxes []box, columns int) []Placed {
	out := make([]Placed, len(boxes))
	for i, b := range boxes {
		out[i] = b.Placed
		out[i].Columns = columns
	}
	return out
}

// ByDay tells for each day which of the spans touch it, in order of their start:
// one that crosses midnight stands under both days.
func ByDay(days []Day, spans []Span) [][]int {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return spans[a].Start.Compare(spans[b].Start) })
	out := make([][]int, len(days))
	for n, d := range days {
		for _, i := range order {
			if spans[i].Overlaps(d.Start, d.End) {
				out[n] = append(out[n], i)
			}
		}
	}
	return out
}
