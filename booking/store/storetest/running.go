package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

func testConnections(t *testing.T, b *Bench) {
	c := providers.Connection{
		ID: uuid.New(), Provider: "acuity", APIBase: "https://acuity.example", Name: "Front desk",
		Secrets: providers.Secrets{Current: "planted-current"}, CreatedAt: Now,
	}
	if err := b.CreateConnection(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	check := func(want providers.Connection) {
		t.Helper()
		got, err := b.Connection(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.Secrets != want.Secrets || got.Provider != want.Provider || got.APIBase != want.APIBase || got.Name != want.Name ||
			got.CreatedAt != want.CreatedAt || (got.DisconnectedAt == nil) != (want.DisconnectedAt == nil) {
			t.Errorf("connection %+v, not %+v", got, want)
		}
	}
	check(c)
	c.Secrets = providers.Secrets{Current: "planted-new", Previous: "planted-current", Older: "planted-older"}
	b.Change(t, c.ID, providers.Change{Secrets: &c.Secrets})
	check(c)
	var current, previous, older []byte
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT secret_current, secret_previous, secret_older FROM connections WHERE id = '"+c.ID.String()+"'").
		Scan(&current, &previous, &older); err != nil || bytes.Contains(slices.Concat(current, previous, older), []byte("planted")) {
		t.Errorf("secrets lie in clear: %q %q %q %v", current, previous, older, err)
	}
	c.Secrets.Previous, c.Secrets.Older = "", ""
	b.Change(t, c.ID, providers.Change{Secrets: &c.Secrets})
	check(c)
	b.Change(t, c.ID, providers.Change{Disconnected: &Now})
	c.DisconnectedAt = &Now
	check(c)

	var invalid *booking.InvalidError
	if err := b.CreateConnection(t.Context(), providers.Connection{ID: uuid.New()}); !errors.As(err, &invalid) {
		t.Errorf("a connection without a secret: %v", err)
	}
	b.Apply(t, created("one", "10:00", "10:30"))
	id := b.Conn["calendly"]
	list, err := b.Connections(t.Context(), booking.Filter{ConnectionID: &id}, booking.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].LastDeliveryAt == nil || *list.Items[0].LastDeliveryAt != Now ||
		list.Items[0].Secrets != (providers.Secrets{}) {
		t.Errorf("connections %+v: %v", list, err)
	}
}

func testResources(t *testing.T, b *Bench) {
	b.Apply(t, created("one", "10:00", "10:30"),
		bt.New(bt.Generic, booking.KindCreated, "room", 12, bt.When("10:00", "10:30"), bt.For("agus"), func(e *booking.Event) {
			e.Session.Hosts = []booking.Host{{ExternalID: "Room 3", Name: "Room 3", Named: true}}
		}))
	list, err := b.Resources(t.Context(), booking.Filter{Provider: "generic"}, booking.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "Room 3" || len(list.Items[0].Identities) != 1 ||
		list.Items[0].Identities[0].Source != bt.Generic || list.Items[0].Identities[0].ExternalID != "Room 3" {
		t.Errorf("resources %+v: %v", list, err)
	}
	id := list.Items[0].ID
	if one, err := b.Resources(t.Context(), booking.Filter{ResourceID: &id}, booking.Page{}); err != nil || len(one.Items) != 1 {
		t.Errorf("one resource %+v: %v", one, err)
	}
	if v := b.bookings(t, booking.Filter{ResourceID: &id}); names(v) != "room" {
		t.Errorf("its bookings are %q", names(v))
	}
}

func testHealth(t *testing.T, b *Bench) {
	if err := b.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	s, err := b.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000"}
	if b.Dialect() == migrations.Postgres {
		want = map[string]string{"lock_timeout": "4s", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s", "synchronous_commit": "on"}
	}
	for name, value := range want {
		if s[name] != value {
			t.Errorf("%s is %q, not %q", name, s[name], value)
		}
	}
	if err := b.exec(t, "DELETE FROM heartbeat"); err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(t.Context()); err == nil {
		t.Error("ready without a row to write")
	}
}

// testRivals lets two stores on one database take the same and overlapping
// places at once: one booking is active, the rest conflicted, none fails.
func testRivals(t *testing.T, b *Bench) {
	const rivals = 50
	other := Open(t, b.URL)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var wg sync.WaitGroup
	errs := make([]error, rivals)
	for i := range rivals {
		from, to := bt.At("10:00"), bt.At("10:30")
		if i%2 == 1 {
			from, to = from.Add(time.Duration(i)*time.Second), to.Add(time.Hour)
		}
		e := bt.New(bt.Generic, booking.KindCreated, fmt.Sprint("r", i), i, bt.With("putri"), bt.For("agus"))
		e.Session.StartsAt, e.Session.EndsAt = &from, &to
		post, s := b.Post(e), b.Store
		if i%3 == 0 {
			s = other
		}
		wg.Go(func() {
			_, errs[i] = s.Apply(ctx, []booking.Post{post}, Now)
			// Two processes on one SQLite file take turns by chance: one that was
			// passed over too long comes again, as a provider would. PostgreSQL
			// has a line, so there nobody is.
			for b.Dialect() == migrations.SQLite && errors.Is(errs[i], booking.ErrUnavailable) && ctx.Err() == nil {
				_, errs[i] = s.Apply(ctx, []booking.Post{post}, Now)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("rival %d: %v", i, err)
		}
	}
	count := map[booking.Status]int{}
	for _, v := range b.bookings(t, booking.Filter{}) {
		count[v.Status]++
		if v.Status == booking.Conflicted && len(v.ConflictsWith) != 1 {
			t.Errorf("%s conflicts with %v", v.ExternalID, v.ConflictsWith)
		}
	}
	if count[booking.Active] != 1 || count[booking.Conflicted] != rivals-1 {
		t.Errorf("bookings %v", count)
	}
}

// testLostDatabase makes the database unusable in several ways: all are
// booking.ErrUnavailable, and when it is back the store is, too.
func testLostDatabase(t *testing.T, b *Bench) {
	unavailable := func(what string, err error) {
		t.Helper()
		var fence *booking.FenceError
		if !errors.Is(err, booking.ErrUnavailable) || errors.As(err, &fence) {
			t.Errorf("%s: %v", what, err)
		}
	}
	post := b.Post(created("one", "10:00", "10:30"))

	over, stop := context.WithCancel(t.Context())
	stop()
	_, err := b.Store.Apply(over, []booking.Post{post}, Now)
	unavailable("a context that is over", err)

	unlock := b.lock(t)
	short, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err = b.Store.Apply(short, []booking.Post{post}, Now)
	stop()
	unavailable("the lock held by another", err)
	unlock()

	if b.Dialect() == migrations.Postgres {
		if err := b.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slotkeeper' AND datname = current_database()"); err != nil {
			t.Fatal(err)
		}
		// The first statement may find the connection gone; database/sql may also
		// have noticed and made another.
		if _, err = b.Booking(t.Context(), uuid.New()); !errors.Is(err, booking.ErrNotFound) {
			unavailable("connections that were cut", err)
		}
	}
	if a := b.ApplyPosts(t, post)[0]; a.Status != booking.StatusProcessed {
		t.Errorf("when the database is back: %+v", a)
	}

	v, err := vault.New(make([]byte, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	nowhere := "postgres://nobody:planted-password@127.0.0.1:1/none?sslmode=disable"
	if b.Dialect() == migrations.SQLite {
		nowhere = filepath.Join(filepath.Dir(b.URL), "missing", "planted-password.db")
	}
	_, err = store.Open(t.Context(), nowhere, store.Options{Vault: v})
	unavailable("a database that is not there", err)
	if b.Dialect() == migrations.Postgres && strings.Contains(err.Error(), "planted-password") {
		t.Errorf("the error tells the password: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Store.Apply(t.Context(), []booking.Post{post}, Now); err == nil {
		t.Error("a closed store applied")
	}
}

// lock takes the one writer's place until it is called back.
func (b *Bench) lock(t *testing.T) (unlock func()) {
	t.Helper()
	conn, err := b.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{"BEGIN IMMEDIATE"}
	if b.Dialect() == migrations.Postgres {
		statements = []string{"BEGIN", "SELECT seq FROM ledger FOR UPDATE"}
	}
	for _, q := range statements {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
