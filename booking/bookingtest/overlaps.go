package bookingtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	b "slotkeeper/booking"
)

// OverlapStory is a scenario in a house where overlaps at some hosts are accepted
// by rule. Whether one is accepted must not depend on the order either.
type OverlapStory struct {
	Scenario
	// Ruled are the hosts with the rule, by the local part of their e-mails.
	Ruled []string
	// Accepted are the bookings that end conflicted and accepted, by name as in
	// Picture, sorted; nil where that depends on who got the place.
	Accepted []string
}

// Introduced are hosts as an account tells of them, and the source that does.
func Introduced(s b.Source, hosts ...string) []b.Host {
	return New(s, cre, "", 0, With(hosts...)).Session.Hosts
}

// RuledID is the resource of a host.
func RuledID(host string) uuid.UUID { return b.ResourceIDByEmail(host + "@harbourclinic.example") }

// Begin is the state in which the story begins: its hosts are known, and their
// rules are on.
func (o OverlapStory) Begin() *b.State {
	st := b.NewState()
	for _, h := range o.Ruled {
		Merge(st, b.Introduce(st, Generic, Introduced(Generic, h), b.ActorSystem, Day))
		Merge(st, b.SetOverlapRule(st, RuledID(h), true, Day))
	}
	return st
}

// OverlapStories are those of the rule. What stands at one hour is told in an
// order in which the first booked comes first, so that who holds is settled; the
// others say that they are rivals.
func OverlapStories() []OverlapStory {
	within := func(id string, n int, from, to string, hosts ...string) *b.Event {
		return New(Generic, cre, id, n, When(from, to), With(hosts...), For("priya"))
	}
	beyond := func(id string, n int, from, to string, hosts ...string) *b.Event {
		return New(Calcom, cre, id, n, When(from, to), With(hosts...), For("kofi"))
	}
	return []OverlapStory{
		{
			Scenario: Scenario{Name: "two of one provider", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("c", 1, "10:15", "10:45", "maren"),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "one of another provider", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("c", 1, "10:15", "10:45", "maren"), beyond("r", 2, "10:00", "11:00", "maren"),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "the holder of another provider leaves", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("c", 1, "10:15", "10:45", "maren"), beyond("r", 2, "10:00", "11:00", "maren"),
				New(Calcom, can, "r", 9, For("kofi")),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "a move onto one of its own and away", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("c", 1, "11:00", "11:30", "maren"),
				New(Generic, mov, "c", 3, When("10:00", "10:30")), New(Generic, mov, "c", 5, When("10:15", "10:45")),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "held at two hosts of whom one has the rule", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("w", 1, "10:00", "10:30", "maren", "theo"),
				New(Generic, mov, "a", 4, When("10:00", "10:30"), With("maren", "theo")),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "held at two hosts who have the rule", Rivals: true, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("d", 0, "10:00", "10:30", "theo"), within("w", 1, "10:00", "10:30", "maren", "theo"),
			}},
			Ruled: []string{"maren", "theo"},
		},
		{
			Scenario: Scenario{Name: "too many in one class are no overlap", Rivals: true, Events: []*b.Event{
				New(Generic, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
				New(Generic, cre, "c", 1, In("s"), When("10:00", "10:30"), With("maren"), For("kofi"), Room(1)),
				within("x", 2, "10:15", "10:45", "maren"),
			}},
			Ruled: []string{"maren"},
		},
		{
			Scenario: Scenario{Name: "a host nobody has ruled", Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "theo"), within("c", 1, "12:00", "12:30", "theo"), New(Generic, can, "c", 5),
			}},
			Ruled: []string{"maren"}, Accepted: []string{},
		},
		{
			Scenario: Scenario{Name: "whoever waits is released", Rivals: false, Events: []*b.Event{
				within("a", 0, "10:00", "10:30", "maren"), within("c", 1, "10:15", "10:45", "maren"), New(Generic, can, "a", 9),
			}},
			Ruled: []string{"maren"}, Accepted: []string{},
		},
	}
}

// Accepted names the bookings whose overlap is accepted.
func Accepted(st *b.State) []string {
	out := []string{}
	for _, v := range st.Bookings {
		if v.OverlapAccepted {
			out = append(out, v.Source.Provider+"/"+v.ExternalID+"/"+v.Seat)
		}
	}
	slices.Sort(out)
	return out
}

// CheckRules says which booking breaks the rules of the resources, "" for none: with
// nobody accepting by hand, the accepted are exactly the conflicted whose place is
// held only where the rule is on and only by their own source.
func CheckRules(st *b.State) string {
	for _, v := range st.Bookings {
		want := v.Status == b.Conflicted && ruled(st, v)
		if v.OverlapAccepted != want {
			return fmt.Sprintf("%s is %s, accepted is %v: %s", v.ExternalID, v.Status, v.OverlapAccepted, strings.Join(Accepted(st), " "))
		}
	}
	return ""
}

func ruled(st *b.State, v b.Booking) bool {
	n := 0
	for _, mine := range slotsOf(st, v.SessionID) {
		for _, o := range st.Slots {
			if o.Status != b.SlotActive || o.SessionID == v.SessionID || !clash(mine, o) {
				continue
			}
			n++
			if st.Sessions[o.SessionID].Source != v.Source || !st.Resources[mine.ResourceID].AcceptWithinProvider {
				return false
			}
		}
	}
	return n > 0
}
