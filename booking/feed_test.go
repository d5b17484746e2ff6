package booking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

var feedNow = time.Date(2026, 11, 30, 15, 4, 5, 0, time.UTC)

func feedID(n byte) uuid.UUID { return uuid.UUID{6: 0x40, 8: 0x80, 15: n} }

func inFeed(n byte, status booking.Status, hours int, change ...func(*booking.View)) booking.View {
	from := feedNow.Add(time.Duration(hours) * time.Hour)
	to := from.Add(time.Hour)
	v := booking.View{ID: feedID(n), ChainID: feedID(n), Provider: "calendly", Status: status, StartsAt: &from, EndsAt: &to, ResourceIDs: []uuid.UUID{feedID(200)}}
	for _, f := range change {
		f(&v)
	}
	return v
}

func inChain(n byte) func(*booking.View) { return func(v *booking.View) { v.ChainID = feedID(n) } }

func replacedBy(n byte) func(*booking.View) {
	return func(v *booking.View) {
		by := feedID(n)
		v.SupersededBy, v.Reason = &by, booking.ReasonRescheduled
	}
}

func TestFeedEntries(t *testing.T) {
	t.Parallel()
	const year = 366 * 24
	for name, c := range map[string]struct {
		filter booking.FeedFilter
		all    []booking.View // as the owner sees them
		age    time.Duration  // since the chains changed
		want   map[byte]byte  // which booking, under which UID
	}{
		"every state that stands": {
			all:  []booking.View{inFeed(1, booking.Active, 1), inFeed(2, booking.Pending, 2), inFeed(3, booking.Conflicted, 3)},
			want: map[byte]byte{1: 1, 2: 2, 3: 3},
		},
		"canceled a short while ago": {all: []booking.View{inFeed(1, booking.Canceled, 1)}, age: 29 * 24 * time.Hour, want: map[byte]byte{1: 1}},
		"canceled long ago":          {all: []booking.View{inFeed(1, booking.Canceled, 1)}, age: 31 * 24 * time.Hour},
		"rescheduled": {
			all: []booking.View{
				inFeed(1, booking.Canceled, 1, replacedBy(2)), inFeed(2, booking.Canceled, 2, inChain(1), replacedBy(3)), inFeed(3, booking.Active, 26, inChain(1)),
			},
			want: map[byte]byte{3: 1},
		},
		"rescheduled, then canceled": {
			all:  []booking.View{inFeed(1, booking.Canceled, 30, replacedBy(2)), inFeed(2, booking.Canceled, 2, inChain(1))},
			want: map[byte]byte{2: 1},
		},
		// It is off here, wherever it went: a calendar must not go on showing it.
		"rescheduled to where the feed does not reach": {
			all:  []booking.View{inFeed(1, booking.Canceled, 1, replacedBy(2)), inFeed(2, booking.Active, year, inChain(1))},
			want: map[byte]byte{1: 1},
		},
		"rescheduled to another resource": {
			filter: booking.FeedFilter{Resources: []uuid.UUID{feedID(200)}},
			all: []booking.View{inFeed(1, booking.Canceled, 1, replacedBy(2)), inFeed(2, booking.Active, 2, inChain(1), func(v *booking.View) {
				v.ResourceIDs = []uuid.UUID{feedID(201)}
			})},
			want: map[byte]byte{1: 1},
		},
		// A UID that two events have is an error to many programs.
		"two that stand in one chain": {
			all: []booking.View{
				inFeed(1, booking.Canceled, 1, replacedBy(3)), inFeed(2, booking.Active, 2, inChain(1)), inFeed(3, booking.Active, 3, inChain(1)),
			},
			want: map[byte]byte{2: 2, 3: 1},
		},
		"narrowed to a provider": {
			filter: booking.FeedFilter{Provider: "acuity"},
			all:    []booking.View{inFeed(1, booking.Active, 1), inFeed(2, booking.Active, 1, func(v *booking.View) { v.Provider = "acuity" })},
			want:   map[byte]byte{2: 2},
		},
		"narrowed to a state, with what is canceled": {
			filter: booking.FeedFilter{Statuses: []booking.Status{booking.Active}},
			all:    []booking.View{inFeed(1, booking.Active, 1), inFeed(2, booking.Pending, 1), inFeed(3, booking.Canceled, 1)},
			want:   map[byte]byte{1: 1, 3: 3},
		},
		"the edges of the window": {
			all: []booking.View{
				inFeed(1, booking.Active, -30*24-15), inFeed(2, booking.Active, -30*24-17), inFeed(3, booking.Active, year-16), inFeed(4, booking.Active, year-15),
			},
			want: map[byte]byte{1: 1, 3: 3},
		},
		"a tombstone without a time": {all: []booking.View{{ID: feedID(1), ChainID: feedID(1), Status: booking.Canceled}}},
	} {
		choice := booking.FeedChoice{
			Filter: c.filter, Window: booking.FeedWindow(feedNow), Now: feedNow,
			Revisions: map[uuid.UUID]booking.Revision{}, Chains: map[uuid.UUID][]booking.View{},
		}
		for _, v := range c.all {
			choice.Revisions[v.ChainID] = booking.Revision{Changes: 1, Modified: feedNow.Add(-c.age)}
			choice.Chains[v.ChainID] = append(choice.Chains[v.ChainID], v)
		}
		// Whatever the pages are that a feed is read in, it is the same feed.
		for size := 1; size <= len(c.all); size++ {
			got := map[byte]byte{}
			for page := range slices.Chunk(c.all, size) {
				for _, e := range choice.Entries(page) {
					got[e.ID[15]] = e.UID[15]
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%s, %d at a time: got %v, want %v", name, size, got, c.want)
				continue
			}
			for id, uid := range c.want {
				if got[id] != uid {
					t.Errorf("%s, %d at a time: got %v, want %v", name, size, got, c.want)
				}
			}
		}
	}
}

func TestFeedWindow(t *testing.T) {
	t.Parallel()
	w := booking.FeedWindow(feedNow)
	if want := time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC); !w.From.Equal(want) {
		t.Errorf("it begins at %s", w.From)
	}
	if want := time.Date(2027, 12, 1, 0, 0, 0, 0, time.UTC); !w.To.Equal(want) {
		t.Errorf("it ends at %s", w.To)
	}
	if later := booking.FeedWindow(feedNow.Add(8 * time.Hour)); later != w {
		t.Error("it moves within a day: no feed would stay the same")
	}
}

// A feed never tells more than its maker may see, whatever it names.
func TestFeedWithin(t *testing.T) {
	t.Parallel()
	a, b, c := feedID(1), feedID(2), feedID(3)
	limited := booking.Scope{Limited: true, Resources: []uuid.UUID{a, b}, HideNames: true}
	for name, v := range map[string]struct {
		scope booking.Scope
		named []uuid.UUID
		sees  []uuid.UUID
		not   []uuid.UUID
	}{
		"all of all":                   {booking.Scope{}, nil, []uuid.UUID{a, b, c}, nil},
		"one of all":                   {booking.Scope{}, []uuid.UUID{a}, []uuid.UUID{a}, []uuid.UUID{b, c}},
		"all of some":                  {limited, nil, []uuid.UUID{a, b}, []uuid.UUID{c}},
		"one of some":                  {limited, []uuid.UUID{a}, []uuid.UUID{a}, []uuid.UUID{b, c}},
		"one that is not seen":         {limited, []uuid.UUID{c}, nil, []uuid.UUID{a, b, c}},
		"one seen and one that is not": {limited, []uuid.UUID{a, c}, []uuid.UUID{a}, []uuid.UUID{b, c}},
		"all of nothing":               {booking.Nothing(), nil, nil, []uuid.UUID{a, b, c}},
	} {
		got := booking.FeedFilter{Resources: v.named}.Within(v.scope)
		for _, id := range v.sees {
			if !got.Sees(id) {
				t.Errorf("%s: does not see %s", name, id)
			}
		}
		for _, id := range v.not {
			if got.Sees(id) {
				t.Errorf("%s: sees %s", name, id)
			}
		}
		if got.HideNames != v.scope.HideNames || got.HidePhones != v.scope.HidePhones {
			t.Errorf("%s: what is hidden changed", name)
		}
	}
}
