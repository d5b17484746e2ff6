package booking_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// A person is told why somebody else has the slot by what really happened: each cause
// is that of a story which the machine itself plays.
func TestWhyHeld(t *testing.T) {
	t.Parallel()
	type turn = func(st *booking.State) booking.Changes
	hears := func(e *booking.Event) turn {
		return func(st *booking.State) booking.Changes {
			return booking.Decide(st, []booking.Delivery{bt.Deliver(e, 1)}, bt.Day)
		}
	}
	// books at maren's, the provider's own time of booking being minute n.
	books := func(id string, n int, from, to string, more ...bt.Option) turn {
		return hears(bookedAt(bt.Generic, id, n, from, to, more...))
	}
	at := func(id string, n int, from, to, host string) turn {
		return hears(bt.New(bt.Generic, booking.KindCreated, id, n, bt.When(from, to), bt.With(host), bt.For("priya")))
	}
	cancels := func(id string) turn { return hears(bt.New(bt.Generic, booking.KindCanceled, id, 50)) }
	moves := func(id string, n int, from, to string, more ...bt.Option) turn {
		return hears(bt.New(bt.Generic, booking.KindMoved, id, n, append([]bt.Option{bt.When(from, to)}, more...)...))
	}
	tests := map[string]struct {
		story []turn
		want  map[string]booking.HeldBecause // by holder
		later bool                           // a holder was booked after the one that waits
	}{
		"who was there first": {
			[]turn{books("holds", 1, "10:00", "10:30"), books("waits", 2, "10:15", "10:45")},
			map[string]booking.HeldBecause{"holds": booking.HeldFirst},
			false,
		},
		"who was booked later, but came first": {
			[]turn{books("holds", 2, "10:00", "10:30"), books("waits", 1, "10:15", "10:45")},
			map[string]booking.HeldBecause{"holds": booking.HeldFirst},
			true,
		},
		"who was confirmed first": {
			[]turn{
				hears(bt.New(bt.Generic, booking.KindRequested, "waits", 1, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("kofi"))),
				books("holds", 2, "10:00", "10:30"), hears(bt.New(bt.Generic, booking.KindCreated, "waits", 3, bt.Booked(1))),
			},
			map[string]booking.HeldBecause{"holds": booking.HeldRequested},
			true,
		},
		"who was there when the other was moved": {
			[]turn{books("waits", 1, "12:00", "12:30"), books("holds", 2, "10:00", "10:30"), moves("waits", 3, "10:15", "10:45")},
			map[string]booking.HeldBecause{"holds": booking.HeldMovedIn},
			true,
		},
		"who was first in line": {
			[]turn{books("gone", 1, "10:00", "11:00"), books("waits", 3, "10:00", "10:30"), books("holds", 2, "10:15", "10:45"), cancels("gone")},
			map[string]booking.HeldBecause{"holds": booking.HeldBooked},
			false,
		},
		"who was first in line, booked at one instant": {
			[]turn{books("gone", 1, "10:00", "11:00"), books("waits", 3, "10:00", "10:30"), books("holds", 4, "10:15", "10:45", bt.Booked(3)), cancels("gone")},
			map[string]booking.HeldBecause{"holds": booking.HeldTurn},
			false,
		},
		"who fitted when the other did not": {
			[]turn{
				books("gone", 1, "10:00", "10:30"), books("stays", 2, "10:30", "11:00"), books("waits", 3, "10:00", "11:00"), books("holds", 4, "10:00", "10:30"), cancels("gone"),
			},
			map[string]booking.HeldBecause{"holds": booking.HeldFit, "stays": booking.HeldFirst},
			true,
		},
		"who came to what nobody held": {
			[]turn{books("stays", 1, "10:00", "10:30"), books("waits", 2, "10:00", "11:00"), books("holds", 3, "10:30", "11:00")},
			map[string]booking.HeldBecause{"stays": booking.HeldFirst, "holds": booking.HeldFree},
			true,
		},
		"who was moved to what nobody held": {
			[]turn{books("holds", 1, "12:00", "12:30"), books("stays", 2, "10:00", "10:30"), books("waits", 3, "10:00", "11:00"), moves("holds", 4, "10:30", "11:00")},
			map[string]booking.HeldBecause{"stays": booking.HeldFirst, "holds": booking.HeldMoved},
			false,
		},
		"who took its predecessor's place": {
			[]turn{books("gone", 1, "10:00", "10:30"), books("waits", 2, "10:15", "10:45"), books("holds", 3, "10:05", "10:35", bt.From("gone"))},
			map[string]booking.HeldBecause{"holds": booking.HeldMoved},
			true,
		},
		"whose meeting has the place": {
			[]turn{
				books("gone", 1, "10:00", "11:00", bt.In("class"), bt.Room(8)), books("waits", 2, "10:15", "10:45"),
				books("holds", 3, "10:00", "11:00", bt.In("class"), bt.Room(8)), cancels("gone"),
			},
			map[string]booking.HeldBecause{"holds": booking.HeldMeeting},
			true,
		},
		"whose meeting was there first": {
			[]turn{
				books("holds", 1, "10:00", "11:00", bt.In("class"), bt.Room(8)), books("waits", 2, "10:15", "10:45"),
				books("joins", 3, "10:00", "11:00", bt.In("class"), bt.Room(8)),
			},
			map[string]booking.HeldBecause{"holds": booking.HeldFirst},
			false,
		},
		"who has the last seat": {
			[]turn{books("waits", 2, "10:00", "11:00", bt.In("class"), bt.Room(1)), books("holds", 1, "10:00", "11:00", bt.In("class"), bt.Room(1))},
			map[string]booking.HeldBecause{"holds": booking.HeldSeat},
			false,
		},
		"who kept the place when resources were merged": {
			[]turn{
				at("holds", 2, "10:00", "10:30", "maren"), at("waits", 1, "10:00", "10:30", "theo"),
				func(st *booking.State) booking.Changes {
					return booking.MergeResources(st, resourceOf("theo"), st.Resources[resourceOf("maren")], person, bt.Day)
				},
			},
			map[string]booking.HeldBecause{"holds": booking.HeldReassigned},
			true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := booking.NewState()
			how := map[uuid.UUID]booking.Arrival{}
			for _, happens := range tt.story {
				ch := happens(st)
				audit(t, st.Ledger, ch)
				bt.Merge(st, ch)
				for _, tr := range ch.Transitions {
					if tr.Outcome == booking.Applied && slices.Contains([]booking.Action{booking.Create, booking.Move, booking.Release}, tr.Event) {
						how[tr.BookingID] = booking.Arrival{Seq: tr.Seq, Event: tr.Event, From: tr.From, Actor: tr.Actor, At: tr.RecordedAt}
					}
				}
			}
			view := func(b booking.Booking) booking.View {
				s := st.Sessions[b.SessionID]
				return booking.View{ID: b.ID, SessionID: b.SessionID, Reason: b.Reason, BookedAt: b.BookedAt, Capacity: s.Capacity, Supersedes: b.Supersedes}
			}
			got, later, names := map[string]booking.HeldBecause{}, false, map[uuid.UUID]string{}
			for _, b := range st.Bookings {
				names[b.ID] = b.ExternalID
			}
			for _, b := range st.Bookings {
				if b.Status != booking.Conflicted {
					continue
				}
				var holders []booking.View
				for _, id := range b.ConflictsWith {
					holders = append(holders, view(st.Bookings[id]))
				}
				for _, h := range booking.WhyHeld(view(b), holders, how) {
					got[names[h.Holder]] = h.Because
					later = later || h.Later
				}
			}
			if len(got) != len(tt.want) || later != tt.later {
				t.Errorf("they hold for %v (booked later: %t), want %v (%t)", got, later, tt.want, tt.later)
			}
			for name, want := range tt.want {
				if got[name] != want {
					t.Errorf("%s holds for %q, want %q", name, got[name], want)
				}
			}
		})
	}
	if got := booking.WhyHeld(booking.View{}, []booking.View{{ID: uuid.New()}}, nil); len(got) != 1 || got[0].Because != booking.HeldUnknown {
		t.Errorf("of what is not known: %v", got)
	}
}
