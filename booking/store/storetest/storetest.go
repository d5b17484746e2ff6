// Package storetest is the store's conformance suite: what every database must
// do. Run it with a function that makes a fresh, migrated one.
package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// Run checks a database. fresh makes one and returns its URL, as
// migratetest.Postgres and migratetest.SQLite do.
func Run(t *testing.T, fresh func(testing.TB) string) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, *Bench)
	}{
		{"Booking", testBooking},
		{"Copies", testCopies},
		{"Waiting", testWaiting},
		{"SlotHandedOn", testSlotHandedOn},
		{"NewlyMapped", testNewlyMapped},
		{"Chain", testChain},
		{"Audit", testAudit},
		{"KeepFailed", testKeepFailed},
		{"StrangeText", testStrangeText},
		{"BadMemberFailsTheSet", testBadMember},
		{"SlotFences", testSlotFences},
		{"AppendOnly", testAppendOnly},
		{"Retention", testRetention},
		{"FencesReachTheCaller", testFenceError},
		{"Paging", testPaging},
		{"BadPages", testBadPages},
		{"BookingFilters", testBookingFilters},
		{"TransitionFilters", testTransitionFilters},
		{"AdminLog", testAdminLog},
		{"Scope", testScope},
		{"HiddenNumbers", testHiddenNumbers},
		{"People", testPeople},
		{"ReceiptFilters", testReceiptFilters},
		{"OpenConflicts", testOpenConflicts},
		{"Days", testDays},
		{"DayPlaces", testDayPlaces},
		{"Window", testWindow},
		{"FormerPlaces", testFormerPlaces},
		{"Failing", testFailing},
		{"NotFound", testNotFound},
		{"Connections", testConnections},
		{"HeldConnections", testHeldConnections},
		{"HeldTokens", testHeldTokens},
		{"HeldRuns", testHeldRuns},
		{"Resources", testResources},
		{"Health", testHealth},
		{"Looks", testLooks},
		{"Drifts", testDrifts},
		{"BlockOfWebhook", testBlockOfWebhook},
		{"BlockResource", testBlockResource},
		{"ReplaceBlocks", testReplaceBlocks},
		{"BlockWindow", testBlockWindow},
		{"AskCancel", testAskCancel},
		{"CancelThrough", testCancelThrough},
		{"Keyless", testKeyless},
		{"Withdraw", testWithdraw},
		{"EffectOrder", testEffectOrder},
		{"RetryBesideAnother", testRetryBesideAnother},
		{"ClaimRace", testClaimRace},
		{"Waits", testWaits},
		{"Rivals", testRivals},
		{"LostDatabase", testLostDatabase},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, NewBench(t, fresh(t)))
		})
	}
}

// Now is when everything of the suite is recorded.
var Now = time.Date(2026, 12, 6, 9, 30, 0, 123456000, time.UTC)

// Bench is a store on a database of its own, with a connection for each of the
// scenarios' providers, and a way past the store.
type Bench struct {
	*store.Store
	URL  string
	SQL  *sql.DB
	Conn map[string]uuid.UUID
}

// key of all vaults of tests: stores on one database must share it.
var key = sha256.Sum256([]byte("storetest"))

// Open opens another store on the database, as a second process would.
func Open(t testing.TB, url string) *store.Store {
	t.Helper()
	v, err := vault.New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(context.Background(), url, store.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// NewBench opens a migrated database that holds nothing yet.
func NewBench(t testing.TB, url string) *Bench {
	t.Helper()
	b := &Bench{Store: Open(t, url), URL: url, Conn: map[string]uuid.UUID{}}
	driver, dsn := "pgx", url
	if b.Dialect() == migrations.SQLite {
		driver, dsn = "sqlite", "file:"+url+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)"
	}
	var err error
	if b.SQL, err = sql.Open(driver, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.SQL.Close() })
	for i, s := range []booking.Source{bt.Calendly, bt.Calcom, bt.Generic} {
		c := providers.Connection{
			ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(s.String())), Provider: s.Provider, APIBase: s.Base, Name: s.Provider,
			Secrets: providers.Secrets{Current: "secret of " + s.Provider}, CreatedAt: Now.Add(time.Duration(i) * time.Minute),
		}
		if err := b.CreateConnection(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		b.Conn[s.Provider] = c.ID
	}
	return b
}

// Post is a delivery of an event over its provider's connection.
func (b *Bench) Post(e *booking.Event) booking.Post {
	d := bt.Deliver(e, 1)
	d.ConnectionID = b.Conn[e.Source.Provider]
	// Where one event is delivered by two, only one can make the receipt.
	d.ReceiptID = uuid.New()
	return booking.Post{
		Delivery: d, Body: []byte("body of " + e.Key), Header: map[string]string{"Content-Type": "application/json"},
		Signature: "t=1,v1=abc", VerifiedBy: providers.ByCurrent, RequestID: "request " + e.Key, ReceivedAt: Now,
	}
}

// Apply applies the events as one set and fails the test when that fails.
func (b *Bench) Apply(t testing.TB, events ...*booking.Event) []booking.Answer {
	t.Helper()
	set := make([]booking.Post, 0, len(events))
	for _, e := range events {
		set = append(set, b.Post(e))
	}
	return b.ApplyPosts(t, set...)
}

// ApplyPosts applies the posts as one set.
func (b *Bench) ApplyPosts(t testing.TB, set ...booking.Post) []booking.Answer {
	t.Helper()
	answers, err := b.Store.Apply(t.Context(), set, Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(set) {
		t.Fatalf("%d answers for %d posts", len(answers), len(set))
	}
	return answers
}

// statuses of answers.
func statuses(answers []booking.Answer) []booking.ReceiptStatus {
	out := make([]booking.ReceiptStatus, 0, len(answers))
	for _, a := range answers {
		out = append(out, a.Status)
	}
	return out
}

// all reads every page of a list, n items at a time.
func all[T any](t testing.TB, n int, list func(booking.Page) (booking.List[T], error)) []T {
	t.Helper()
	var out []T
	p := booking.Page{Limit: n}
	for range 1000 {
		l, err := list(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Items) > n || (len(l.Items) < n && l.Next != "") {
			t.Fatalf("a page of %d has %d items, and a next one: %t", n, len(l.Items), l.Next != "")
		}
		out = append(out, l.Items...)
		if l.Next == "" {
			return out
		}
		p.Cursor = l.Next
	}
	t.Fatal("the list has no end")
	return nil
}

func (b *Bench) bookings(t testing.TB, f booking.Filter) []booking.View {
	t.Helper()
	return all(t, 50, func(p booking.Page) (booking.List[booking.View], error) { return b.Bookings(t.Context(), f, p) })
}

func (b *Bench) slots(t testing.TB, f booking.Filter) []booking.SlotView {
	t.Helper()
	return all(t, 50, func(p booking.Page) (booking.List[booking.SlotView], error) { return b.Slots(t.Context(), f, p) })
}

func (b *Bench) transitions(t testing.TB, f booking.Filter) []booking.TransitionView {
	t.Helper()
	return all(t, 50, func(p booking.Page) (booking.List[booking.TransitionView], error) {
		return b.Transitions(t.Context(), f, p)
	})
}

func (b *Bench) receipts(t testing.TB, f booking.Filter) []booking.ReceiptView {
	t.Helper()
	return all(t, 50, func(p booking.Page) (booking.List[booking.ReceiptView], error) { return b.Receipts(t.Context(), f, p) })
}

func (b *Bench) exec(t testing.TB, query string) error {
	t.Helper()
	_, err := b.SQL.ExecContext(t.Context(), query)
	return err
}

// names are the external ids of bookings, in their order.
func names(views []booking.View) string {
	var out []string
	for _, v := range views {
		out = append(out, v.ExternalID)
	}
	return strings.Join(out, " ")
}

func sortedNames(views []booking.View) string {
	out := strings.Fields(names(views))
	slices.Sort(out)
	return strings.Join(out, " ")
}
