package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// TestStatementsDoNotGrow counts the statements of a set of two and of one of
// sixty-four: they are as many, or the set would be no gain.
func TestStatementsDoNotGrow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		source := booking.Source{Provider: "generic", Base: "base"}
		connection := uuid.New()
		if err := s.CreateConnection(t.Context(), providers.Connection{
			ID: connection, Provider: source.Provider, APIBase: source.Base, Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
		}); err != nil {
			t.Fatal(err)
		}
		apply := func(from, to int) (statements, trips int64) {
			t.Helper()
			var set []booking.Post
			for i := from; i < to; i++ {
				start := moment.Add(time.Duration(i/3) * time.Hour) // some are rivals
				end := start.Add(time.Hour)
				id := fmt.Sprint("b", i)
				e := &booking.Event{
					Kind: booking.KindCreated, Source: source, Key: id, At: moment, ExternalID: id, Session: booking.SessionFacts{
						ExternalID: id, StartsAt: &start, EndsAt: &end, Hosts: []booking.Host{{ExternalID: fmt.Sprint("h", i%5), Named: true}},
					},
					Attendees: []booking.Attendee{{Key: "k", Email: "dewi@example.com"}},
				}
				set = append(set, booking.Post{
					Delivery:   booking.Delivery{ReceiptID: uuid.New(), ConnectionID: connection, EventKey: id, Kind: e.Kind, Event: e, Actor: booking.ActorWebhook},
					ReceivedAt: moment,
				})
			}
			statements, trips = s.ways.statements.Load(), s.ways.trips.Load()
			answers, err := s.Apply(t.Context(), set, moment)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				if a.Status == booking.StatusFailed {
					t.Fatalf("%+v", a)
				}
			}
			return s.ways.statements.Load() - statements, s.ways.trips.Load() - trips
		}
		apply(0, 30)
		few, fewTrips := apply(30, 33)
		many, manyTrips := apply(33, 97)
		if few == 0 || many > few+2 || manyTrips > fewTrips {
			t.Errorf("%d statements in %d trips for a set of 3, %d in %d for one of 64", few, fewTrips, many, manyTrips)
		}
		t.Logf("%d statements in %d trips for a set of 3, %d in %d for one of 64", few, fewTrips, many, manyTrips)
	})
}
