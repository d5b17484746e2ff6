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
	// First asks to be shown when not everything that overlaps fits beside it; Last
	// lets all others be shown before it.
	First bool
	Last  bool
}

// rank orders those that want a column.
func (s Span) rank() int {
	switch {
	case s.First:
		return 0
	case s.Last:
		return 2
	}
	return 1
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
	// Top and Height are real time from the day's beginning. A short entry is higher
	// than it is long where nothing follows it.
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
	// AllDay are the entries that take the whole day or last long.
	AllDay []int
	Placed []Placed
	More   []More
}

// Grid says how a day is laid out.
type Grid struct {
	// Least is the height below which nobody could hit an entry: it gets as much of
	// it as is free behind it. Never more, and never a column of its own for it, since
	// what stands side by side is read as an overlap.
	Least time.Duration
	// Columns is how many entries may stand side by side; one of them is given
	// up for "more" when there are others. At least 2.
	Columns int
	// Long is how long an entry lasts that is listed apart on each of its days: it would
	// take the width of all that is beside it. Zero is for none.
	Long time.Duration
}

// Place lays out the entries of a day: entries that overlap stand side by side,
// those of midnight crossers are cut at the day's ends, and those that take the
// whole day, or last long, are listed apart so that they do not swamp the grid. The
// result is in order of time, then of the given order.
func (g Grid) Place(d Day, spans []Span) Layout {
	var out Layout
	var boxes []box
	for i, s := range spans {
		if !s.Overlaps(d.Start, d.End) {
			continue
		}
		if !s.Start.After(d.Start) && !s.End.Before(d.End) || g.Long > 0 && s.End.Sub(s.Start) >= g.Long {
			out.AllDay = append(out.AllDay, i)
			continue
		}
		boxes = append(boxes, newBox(d, i, s))
	}
	slices.SortStableFunc(boxes, func(a, b box) int {
		return cmp.Or(cmp.Compare(a.Top, b.Top), cmp.Compare(b.Height, a.Height))
	})
	g.grow(boxes, d.Length())
	for _, cluster := range clusters(boxes) {
		placed, more := g.columns(cluster)
		out.Placed = append(out.Placed, placed...)
		if len(more.Entries) > 0 {
			out.More = append(out.More, more)
		}
	}
	return out
}

// shortest is how long an entry at least is held to be: two instants at once are
// side by side.
const shortest = 5 * time.Minute

// box is an entry with its place before it has a column.
type box struct {
	Placed
	// from and to are what it really takes, whatever it is drawn as.
	from time.Duration
	to   time.Duration
	rank int
}

func (b *box) overlaps(o *box) bool { return b.from < o.to && o.from < b.to }

// bottom is where it ends as it is drawn.
func (b *box) bottom() time.Duration { return b.Top + b.Height }

func newBox(d Day, i int, s Span) box {
	from, to := d.Offset(s.Start), d.Offset(s.End)
	if to-from < shortest {
		from = max(min(from, d.Length()-shortest), 0)
		to = min(from+shortest, d.Length())
	}
	return box{
		Placed: Placed{
			Index: i, Top: from, Height: to - from,
			Before: s.Start.Before(d.Start), After: s.End.After(d.End),
		},
		from: from, to: to, rank: s.rank(),
	}
}

// grow makes short boxes, which are in order, as high as there is room for behind
// them; before the day's end they grow upwards.
func (g Grid) grow(boxes []box, length time.Duration) {
	for i := range boxes {
		b := &boxes[i]
		limit := length
		for _, next := range boxes[i+1:] {
			if next.from >= b.to {
				limit = next.from
				break
			}
		}
		b.Height = max(b.Height, min(g.Least, limit-b.Top))
	}
	for i := range boxes {
		b := &boxes[i]
		if b.Height >= g.Least || b.bottom() < length {
			continue
		}
		var above time.Duration
		for _, o := range boxes {
			if o.to <= b.from {
				above = max(above, o.bottom())
			}
		}
		b.Top = max(length-g.Least, above, 0)
		b.Height = length - b.Top
	}
}

// clusters cuts boxes, which are in order, into those that touch one another
// through others.
func clusters(boxes []box) [][]box {
	var out [][]box
	var end time.Duration
	for _, b := range boxes {
		if len(out) == 0 || b.from >= end {
			out = append(out, nil)
			end = 0
		}
		out[len(out)-1] = append(out[len(out)-1], b)
		end = max(end, b.to)
	}
	return out
}

// columns gives each box of a cluster the first column that is free there. When
// that takes too many, those that ask to be shown choose first and those that let
// others go before them last, and what is left is counted as more.
func (g Grid) columns(cluster []box) ([]Placed, More) {
	order := make([]*box, len(cluster))
	for i := range cluster {
		order[i] = &cluster[i]
	}
	used := assign(order)
	if used <= g.Columns {
		return g.finish(cluster, used), More{}
	}
	slices.SortStableFunc(order, func(a, b *box) int { return cmp.Compare(a.rank, b.rank) })
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
			return !slices.ContainsFunc(there, b.overlaps)
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
