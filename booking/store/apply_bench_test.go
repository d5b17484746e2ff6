package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
)

// BenchmarkApply is a create and its cancel, in sets of as many as it says.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, 16, 64} {
		onBothBench(b, fmt.Sprint(size), func(b *testing.B, s *Store) {
			b.Helper()
			connection := uuid.New()
			source := booking.Source{Provider: "generic", Base: connection.String()}
			if err := s.CreateConnection(b.Context(), providers.Connection{
				ID: connection, Provider: source.Provider, APIBase: source.Base, Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
			}); err != nil {
				b.Fatal(err)
			}
			n := 0
			event := func(kind booking.Kind, n int) booking.Post {
				start := moment.Add(time.Duration(n/40) * time.Hour)
				end := start.Add(time.Hour)
				id := fmt.Sprint("b-", n)
				email := fmt.Sprintf("person%d@harbourclinic.example", n%40)
				name, title := "Priya Raman", "First visit"
				e := &booking.Event{
					Kind: kind, Source: source, Key: string(kind) + id, At: moment, ExternalID: id, Title: &title,
					Session:   booking.SessionFacts{ExternalID: id, StartsAt: &start, EndsAt: &end, Hosts: []booking.Host{{ExternalID: email, Email: email}}},
					Attendees: []booking.Attendee{{Key: "k", Email: "dewi@example.com", Name: &name}},
				}
				if kind == booking.KindCanceled {
					e.Session.StartsAt, e.Session.EndsAt, e.Session.Hosts, e.Reason = nil, nil, nil, booking.ReasonCanceled
				}
				return booking.Post{
					Delivery:   booking.Delivery{ReceiptID: uuid.Must(uuid.NewV7()), ConnectionID: connection, EventKey: e.Key, Kind: kind, Event: e, Actor: booking.ActorWebhook},
					ReceivedAt: moment, Body: make([]byte, 400), RequestID: "r", Header: map[string]string{"Content-Type": "application/json"},
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				var creates, cancels []booking.Post
				for range size {
					creates, cancels = append(creates, event(booking.KindCreated, n)), append(cancels, event(booking.KindCanceled, n))
					n++
				}
				for _, set := range [][]booking.Post{creates, cancels} {
					answers, err := s.Apply(b.Context(), set, moment)
					if err != nil {
						b.Fatal(err)
					}
					if answers[0].Status != booking.StatusProcessed {
						b.Fatalf("%+v", answers[0])
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*n), "us/delivery")
		})
	}
}

func onBothBench(b *testing.B, name string, f func(b *testing.B, s *Store)) {
	b.Helper()
	for d, fresh := range map[migrations.Dialect]func(testing.TB) string{
		migrations.Postgres: migratetest.Postgres, migrations.SQLite: migratetest.SQLite,
	} {
		b.Run(string(d)+"/"+name, func(b *testing.B) {
			v, err := vault.New(make([]byte, vault.KeySize))
			if err != nil {
				b.Fatal(err)
			}
			s, err := Open(b.Context(), fresh(b), Options{Vault: v})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			f(b, s)
		})
	}
}
