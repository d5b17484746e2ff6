package store

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
)

var moment = time.Date(2026, 3, 29, 1, 59, 59, 987654000, time.UTC)

func openTest(t *testing.T, url string) *Store {
	t.Helper()
	v, err := vault.New(make([]byte, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), url, Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func onBoth(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Helper()
	for d, fresh := range map[migrations.Dialect]func(testing.TB) string{
		migrations.Postgres: migratetest.Postgres, migrations.SQLite: migratetest.SQLite,
	} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			f(t, openTest(t, fresh(t)))
		})
	}
}

// fill gives every field of a domain value something of its own, so that a
// field that a row forgets is found by comparing.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(moment.Add(time.Duration(*n) * time.Microsecond)))
		return
	case uuid.UUID:
		v.Set(reflect.ValueOf(uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(*n)})))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("té'xt " + strings.Repeat("x", *n%7) + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n % 90))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("nothing to fill " + v.Type().String() + " with")
	}
}

func filled[T any](change func(*T)) T {
	var out T
	n := 0
	fill(reflect.ValueOf(&out).Elem(), &n)
	change(&out)
	return out
}

// TestEveryField stores values with every field set, and values with none, and
// reads back the same by the way that applying reads.
func TestEveryField(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		source := booking.Source{Provider: "generic", Base: "base|with|bars"}
		connection := uuid.New()
		err := s.CreateConnection(t.Context(), providers.Connection{
			ID: connection, Provider: source.Provider, APIBase: source.Base, Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
		})
		if err != nil {
			t.Fatal(err)
		}
		event := filled(func(e *booking.Event) {
			e.Source, e.ExternalID, e.Kind = source, "full", booking.KindDetails
		})
		session := filled(func(x *booking.Session) {
			x.ID, x.Source, x.ExternalID = booking.SessionID(source, event.Session.ExternalID), source, event.Session.ExternalID
			x.EndsAt = x.StartsAt.Add(booking.MaxLength)
		})
		bare := booking.Session{ID: booking.SessionID(source, "bare"), Source: source, ExternalID: "bare", Hosts: []booking.Host{}}
		resource := booking.Resource{ID: uuid.New(), Name: "Room ‘Æ’"}
		receipt := booking.Receipt{
			ID: uuid.New(), ConnectionID: connection, EventKey: event.Key, Kind: event.Kind, Subject: booking.Subject(source, "full"),
			Status: booking.StatusWaiting, Reason: booking.ReasonStale, Code: "code", Error: "error", Event: &event, Actor: "user:1",
		}
		full := filled(func(b *booking.Booking) {
			b.Source, b.ExternalID, b.SessionID, b.ConnectionID, b.LastReceiptID = source, "full", session.ID, connection, receipt.ID
			b.Status, b.Reason = booking.Conflicted, booking.ReasonOverlap
		})
		empty := booking.Booking{
			ID: uuid.New(), Source: source, ExternalID: "full", SessionID: bare.ID, Status: booking.Pending, ChainID: full.ChainID,
			ConnectionID: connection,
		}
		ch := booking.Changes{
			Answers: []booking.Answer{{ReceiptID: receipt.ID, Status: receipt.Status}}, Receipts: []booking.Receipt{receipt},
			Sessions: []booking.Session{session, bare}, Bookings: []booking.Booking{full, empty}, Resources: []booking.Resource{resource},
			Identities: []booking.Identity{
				{Source: source, ExternalID: session.Hosts[0].ExternalID, ResourceID: resource.ID, Email: "a@example.com", Pinned: true},
				{ExternalID: session.Hosts[0].Email, ResourceID: resource.ID, Email: session.Hosts[0].Email},
			},
			Slots: []booking.Slot{{
				ID: uuid.New(), SessionID: session.ID, ResourceID: resource.ID, StartsAt: session.StartsAt, EndsAt: session.EndsAt,
				Status: booking.SlotWaiting, ReceiptID: receipt.ID,
			}},
			Attendances: []booking.Attendance{
				filled(func(a *booking.Attendance) {
					a.Source, a.ExternalID = source, "full"
					a.CloseReason, a.Strongest = booking.ReasonRemoved, booking.ReasonDeclined
				}),
				{Source: source, ExternalID: "full", Key: "*", Listed: []string{}},
			},
			Links: []booking.Link{
				filled(func(l *booking.Link) { l.Source, l.Predecessor = source, "full" }),
				{Source: source, Predecessor: "before", Successor: "full"},
			},
		}
		post := booking.Post{
			Delivery: booking.Delivery{ReceiptID: receipt.ID, ConnectionID: connection, EventKey: receipt.EventKey, Event: &event},
			Body:     []byte("{}"), ReceivedAt: moment,
		}
		save(t, s, booking.NewState(), ch, post)

		// Not a copy: another key, so that the event is followed.
		post.EventKey = "another"
		var got *booking.State
		err = s.inTrips(t.Context(), func(tx *transaction) (err error) {
			got, err = s.load(tx, []booking.Post{post})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := booking.NewState()
		for _, b := range ch.Bookings {
			want.Bookings[b.ID] = b
		}
		for _, x := range ch.Sessions {
			want.Sessions[x.ID] = x
		}
		want.Slots[ch.Slots[0].ID] = ch.Slots[0]
		for _, a := range ch.Attendances {
			want.Attendances[attendanceKey(a)] = a
		}
		for _, l := range ch.Links {
			want.Links[linkKey(l)] = l
		}
		for _, i := range ch.Identities {
			want.Identities[booking.IdentityKey{Source: i.Source, ExternalID: i.ExternalID}] = i
		}
		want.Resources[resource.ID] = resource
		want.Receipts[booking.ReceiptKey{ConnectionID: connection, EventKey: receipt.EventKey}] = receipt
		if !reflect.DeepEqual(got, want) {
			g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
			for i := range g.NumField() {
				if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
					t.Errorf("%s:\n got %+v\nwant %+v", g.Type().Field(i).Name, g.Field(i), w.Field(i))
				}
			}
		}

		transition := filled(func(x *booking.Transition) {
			x.BookingID, x.ReceiptID, x.Seq = full.ID, receipt.ID, 1
			x.Event, x.From, x.To, x.Outcome, x.Reason, x.Actor = booking.Move, booking.New, booking.Active, booking.Applied, booking.ReasonStale, "token:2"
			x.Prev = [32]byte{}
			x.Hash = x.Sum()
		})
		save(t, s, booking.NewState(), booking.Changes{
			Transitions: []booking.Transition{transition}, Ledger: booking.Ledger{Seq: 1, Head: transition.Hash},
		})
		back, err := s.Transition(t.Context(), transition.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back.Transition, transition) || back.Sum() != transition.Hash {
			t.Errorf("got %+v\nwant %+v", back.Transition, transition)
		}
	})
}

func save(t *testing.T, s *Store, st *booking.State, ch booking.Changes, posts ...booking.Post) {
	t.Helper()
	err := s.inTrips(context.Background(), func(tx *transaction) error { return s.save(tx, st, ch, posts, moment) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestClockTextSorts(t *testing.T) {
	t.Parallel()
	clocks := []clock{
		{At: moment, Rank: 1, Key: "b c"},
		{At: moment, Rank: 2, Key: "a"},
		{At: moment, Rank: 2, Key: "b"},
		{At: moment.Add(time.Microsecond), Rank: 1},
		{At: moment.Add(time.Hour)},
	}
	for i, c := range clocks {
		var back clock
		if err := back.UnmarshalText([]byte(c.text())); err != nil || back != c {
			t.Errorf("%q came back as %+v: %v", c.text(), back, err)
		}
		if i > 0 && (clocks[i-1].text() >= c.text() || !booking.Clock(c).After(booking.Clock(clocks[i-1]))) {
			t.Errorf("%q is not before %q", clocks[i-1].text(), c.text())
		}
	}
	for _, bad := range []string{"", "x", "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00Z 01 k", "2026-01-01T00:00:00.000000Z x k"} {
		if err := new(clock).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as a clock", bad)
		}
	}
}
