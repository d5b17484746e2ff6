package booking

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// FeedLevel is how much a calendar feed tells of a booking.
type FeedLevel string

// The levels. FeedBusy tells when somebody is busy and nothing else; FeedNames also
// what it is and who comes; FeedFull also where, how to reach them, and which booking
// it is. None tells more than its maker may see.
const (
	FeedBusy  FeedLevel = "busy"
	FeedNames FeedLevel = "names"
	FeedFull  FeedLevel = "full"
)

// FeedLevels are all levels, the least telling first.
func FeedLevels() []FeedLevel { return []FeedLevel{FeedBusy, FeedNames, FeedFull} }

// FeedStatuses are the states that a feed may be narrowed to. A canceled booking is
// in every feed for as long as FeedKeepsCanceled, whatever it is narrowed to: else a
// calendar that shows it would never hear that it is off.
func FeedStatuses() []Status { return []Status{Active, Pending, Conflicted} }

// What a feed reaches over. It is bounded, so that it does not grow with history.
const (
	FeedPast   = 30 * 24 * time.Hour
	FeedFuture = 366 * 24 * time.Hour
	// FeedKeepsCanceled is how long a canceled booking stays in a feed, as canceled.
	FeedKeepsCanceled = 30 * 24 * time.Hour
)

// FeedFilter is which bookings a feed has. Zero fields do not filter.
type FeedFilter struct {
	Resources []uuid.UUID
	Provider  string
	Statuses  []Status
}

// Within narrows a scope to the feed's resources. A feed that names resources its
// maker does not see any more shows none of them.
func (f FeedFilter) Within(s Scope) Scope {
	if len(f.Resources) > 0 {
		s.Limited, s.Resources = true, s.visible(f.Resources)
	}
	return s
}

// FeedWindow is what a feed reaches over at a time, in whole days of UTC: until the
// day is over, the same bookings make the same feed.
func FeedWindow(now time.Time) Period {
	today := now.UTC().Truncate(24 * time.Hour)
	return Period{From: today.Add(-FeedPast), To: today.Add(FeedFuture)}
}

// Filter reads the bookings that a feed may have in a window. The scope is the
// caller's.
func (f FeedFilter) Filter(w Period) Filter {
	out := Filter{From: &w.From, To: &w.To, Provider: f.Provider}
	if len(f.Statuses) > 0 {
		out.Statuses = append(out.Statuses, string(Canceled))
		for _, s := range f.Statuses {
			out.Statuses = append(out.Statuses, string(s))
		}
	}
	return out
}

// Revision is how often the bookings of a chain changed, and when they last did.
type Revision struct {
	// Members are all bookings of the chain.
	Members []uuid.UUID
	// Changes only ever rises.
	Changes  int
	Modified time.Time
}

// FeedEntry is a booking as a feed has it.
type FeedEntry struct {
	View
	// UID is the chain's id: a reschedule moves the event, and makes no other one.
	UID uuid.UUID
	Revision
}

// FeedChoice picks what a feed shows of chains.
type FeedChoice struct {
	Filter FeedFilter
	Window Period
	// Now is when the feed is read.
	Now time.Time
	// Revisions of the chains by their ids.
	Revisions map[uuid.UUID]Revision
	// Chains are the bookings of chains that have several, by the chain's id, as far
	// as they are seen.
	Chains map[uuid.UUID][]View
}

// Entries are what the feed has of some of its bookings, in their order. A booking
// whose place another of its chain took in the same feed is not among them: the chain
// has one UID, and two events with one are taken for one by some programs and for an
// error by others.
func (c FeedChoice) Entries(page []View) []FeedEntry {
	var out []FeedEntry
	for _, v := range page {
		if !c.has(v) {
			continue
		}
		e := FeedEntry{View: v, UID: v.ChainID, Revision: c.Revisions[v.ChainID]}
		if first := c.speaksFor(v); first.ID != v.ID {
			if v.Status == Canceled {
				continue
			}
			// Two that stand, of one chain: providers can say that both took its place.
			e.UID = v.ID
		}
		out = append(out, e)
	}
	return out
}

// speaksFor is the booking that has the chain's UID.
func (c FeedChoice) speaksFor(v View) View {
	all := slices.DeleteFunc(slices.Clone(c.Chains[v.ChainID]), func(v View) bool { return !c.has(v) })
	if len(all) == 0 {
		return v
	}
	return slices.MinFunc(all, func(a, b View) int {
		return cmp.Or(
			order(a.Status != Canceled, b.Status != Canceled),
			order(a.SupersededBy == nil, b.SupersededBy == nil),
			b.StartsAt.Compare(*a.StartsAt),
			bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// order puts what is so before what is not.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// has tells whether the feed has a booking that is seen.
func (c FeedChoice) has(v View) bool {
	if v.StartsAt == nil || v.EndsAt == nil || !v.StartsAt.Before(c.Window.To) || !v.EndsAt.After(c.Window.From) {
		return false
	}
	if c.Filter.Provider != "" && v.Provider != c.Filter.Provider {
		return false
	}
	if len(c.Filter.Resources) > 0 && !slices.ContainsFunc(v.ResourceIDs, func(id uuid.UUID) bool { return slices.Contains(c.Filter.Resources, id) }) {
		return false
	}
	if v.Status == Canceled {
		return c.Now.Sub(c.Revisions[v.ChainID].Modified) <= FeedKeepsCanceled
	}
	return len(c.Filter.Statuses) == 0 || slices.Contains(c.Filter.Statuses, v.Status)
}

// FeedID is a block's id in feeds. One that moves is another: providers say neither
// that it did nor from where.
func (b *Block) FeedID() uuid.UUID {
	return derive("block", b.Source.Provider, b.Source.Base, b.ExternalID, stamp(b.StartsAt), stamp(b.EndsAt))
}
