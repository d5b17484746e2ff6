package store

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// TestStatementsDoNotGrow counts the statements of a set of two and of one of
// sixty-four: they are as many, or the set would be no gain.
func TestStatementsDoNotGrow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		var n atomic.Int64
		count := func(*gorm.DB) { n.Add(1) }
		cb := s.write.Callback()
		for _, err := range []error{
			cb.Query().After("gorm:query").Register("count", count), cb.Create().After("gorm:create").Register("count", count),
			cb.Update().After("gorm:update").Register("count", count), cb.Delete().After("gorm:delete").Register("count", count),
			cb.Row().After("gorm:row").Register("count", count), cb.Raw().After("gorm:raw").Register("count", count),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		source := booking.Source{Provider: "generic", Base: "base"}
		connection := uuid.New()
		if err := s.CreateConnection(t.Context(), providers.Connection{
			ID: connection, Provider: source.Provider, APIBase: source.Base, Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
		}); err != nil {
			t.Fatal(err)
		}
		apply := func(from, to int) int64 {
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
			n.Store(0)
			answers, err := s.Apply(t.Context(), set, moment)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				if a.Status == booking.StatusFailed {
					t.Fatalf("%+v", a)
				}
			}
			return n.Load()
		}
		apply(0, 30)
		few, many := apply(30, 33), apply(33, 97)
		if few == 0 || many > few+2 {
			t.Errorf("%d statements for a set of 3, %d for one of 64", few, many)
		}
		t.Logf("%d statements for a set of 3, %d for one of 64", few, many)
	})
}
