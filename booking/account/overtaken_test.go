package account_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/libtnb/sqlite"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calcom/calcomtest"
)

const overtakenBookings = 50 // more than are applied at a time

// overtaken is a Cal.com account whose webhooks come in while it is read.
type overtaken struct {
	*calcomtest.Server
	wound
	path     string // of the database
	store    *store.Store
	in       *intake.Intake
	accounts *account.Accounts
	conn     providers.Connection
	uids     []string
	sets     int               // that were applied
	before   map[int]func(int) // what happens right before one is, by its number
	lost     map[int]bool      // those that a crash takes back, by their number
}

// TakeSet stands between the run and the intake.
func (o *overtaken) TakeSet(ctx context.Context, set []booking.Post) ([]booking.Answer, error) {
	o.sets++
	if f := o.before[o.sets]; f != nil {
		f(len(set))
	}
	if o.lost[o.sets] {
		return make([]booking.Answer, len(set)), nil
	}
	return o.in.TakeSet(ctx, set)
}

func newOvertaken(t *testing.T) *overtaken {
	t.Helper()
	o := &overtaken{path: migratetest.SQLite(t)}
	o.store = storetest.Open(t, o.path)
	const key = "cal_live_0123456789abcdef01234567"
	o.Server = calcomtest.New(calcomtest.Options{
		Key: key, User: calcomtest.Host{ID: 11, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Username: "maren", Timezone: "Europe/Berlin"},
		Now: o.now,
	})
	if err := o.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() }) // nothing is kept
	o.AddEventType(calcomtest.EventType{ID: 1, Slug: "first", Title: "First visit", Minutes: 30})
	at := o.now().Truncate(time.Hour).Add(24 * time.Hour)
	for n := range overtakenBookings {
		who := calcomtest.Person{Name: "Priya Raman", Email: fmt.Sprintf("priya.raman.%d@mail.example", n), Timezone: "Europe/Berlin"}
		uid, _, err := o.Book(1, who, at.Add(time.Duration(n)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		o.uids = append(o.uids, uid)
	}
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: 1, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	o.in = intake.New(o.store, intake.Options{Now: o.now, Log: log, Observe: func([]booking.Post, []booking.Answer) {}})
	t.Cleanup(o.in.Stop)
	o.conn = providers.Connection{
		ID: uuid.New(), Provider: calcom.Name, APIBase: o.APIBase(), Name: "Harbour", API: providers.Credentials{Token: key},
		Secrets: providers.Secrets{Current: "planted-secret"}, CreatedAt: o.now(),
	}
	if err := o.store.CreateConnection(t.Context(), o.conn); err != nil {
		t.Fatal(err)
	}
	o.accounts = account.New(account.Options{
		Store: o.store, Intake: o, Providers: map[string]providers.Provider{calcom.Name: calcom.New()}, Client: client,
		PublicURL: &url.URL{Scheme: "https", Host: "slots.example"}, EmailKey: func(email string) string { return "hmac of " + email },
		Now: o.now, Log: log, Tempo: 1, Wake: func(context.Context, uuid.UUID) error { return nil },
	})
	return o
}

// canceled is what the webhook tells.
func (o *overtaken) canceled(t *testing.T, uid string) {
	t.Helper()
	e := &booking.Event{
		Kind: booking.KindCanceled, Source: o.conn.Source(), At: o.now(), Key: "webhook|" + uid, ExternalID: uid, Reason: booking.ReasonCanceled, Shared: true,
		Session: booking.SessionFacts{ExternalID: uid},
	}
	answers, err := o.in.TakeSet(t.Context(), []booking.Post{{
		Delivery: booking.Delivery{
			ReceiptID: uuid.Must(uuid.NewV7()), ConnectionID: o.conn.ID, Actor: booking.ActorWebhook, EventKey: e.Key, Kind: e.Kind, Event: e,
		},
		Body: []byte(`{}`), ReceivedAt: o.now(),
	}})
	if err != nil || answers[0].Status != booking.StatusProcessed {
		t.Fatalf("%+v (%v)", answers, err)
	}
}

func (o *overtaken) reconcile(t *testing.T) booking.Run {
	t.Helper()
	o.sets = 0
	run, err := o.accounts.Reconcile(t.Context(), o.conn, "asked", booking.ActorSystem)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.accounts.Work(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	all, err := o.store.Runs(t.Context(), o.conn.ID, 1)
	if err != nil || len(all) != 1 || all[0].Status != booking.RunDone {
		t.Fatalf("%+v (%v)", all, err)
	}
	return all[0]
}

func (o *overtaken) drifts(t *testing.T) []booking.Drift {
	t.Helper()
	all, err := o.store.Drifts(t.Context(), o.conn.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestImportOutlivesACrash: a database that crashed takes back what was committed last.
// The process that imports is not told, and must not keep a place behind it: not at
// the end of a page, and not at that of all.
func TestImportOutlivesACrash(t *testing.T) {
	t.Parallel()
	o := newOvertaken(t)
	db, err := sql.Open(sqlite.DriverName, "file:"+o.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o.lost = map[int]bool{3: true, 4: true}
	o.before = map[int]func(int){5: func(int) {
		if _, err := db.ExecContext(t.Context(), "DELETE FROM holders"); err != nil { // as PostgreSQL does when it recovers
			t.Error(err)
		}
	}}
	run, err := o.accounts.Begin(t.Context(), o.conn, booking.RunBackfill, "asked", o.now().Add(-time.Hour), booking.ActorSystem)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []booking.RunStatus{booking.RunRunning, booking.RunDone} {
		if err := o.accounts.Work(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		if run, err = o.store.Run(t.Context(), run.ID); err != nil || run.Status != want {
			t.Fatalf("it is %+v, not %s: %v", run, want, err)
		}
	}
	all, err := booking.Everything(t.Context(), o.store.Bookings)
	if err != nil || len(all) != overtakenBookings {
		t.Errorf("%d of %d are here: %v", len(all), overtakenBookings, err)
	}
}

// A cancel that comes in after a page was read is newer than the page: nobody is
// told that the two differ.
func TestCanceledWhileRead(t *testing.T) {
	t.Parallel()
	o := newOvertaken(t)
	early, late, within := o.uids[40], o.uids[30], o.uids[45]
	o.before = map[int]func(int){
		1: func(n int) {
			if n == overtakenBookings {
				t.Error("all are applied at once")
			}
			o.canceled(t, early)
		},
		2: func(int) { o.canceled(t, late) },   // which is in this set
		3: func(int) { o.canceled(t, within) }, // likewise
	}
	run := o.reconcile(t)
	if run.Refused != 0 || run.AtProvider != overtakenBookings {
		t.Errorf("%+v", run.RunCounts)
	}
	if d := o.drifts(t); len(d) != 0 {
		t.Errorf("these are said to differ: %+v", d)
	}
	all, err := booking.Everything(t.Context(), o.store.Bookings)
	if err != nil {
		t.Fatal(err)
	}
	canceled := 0
	for _, b := range all {
		if b.Status == booking.Canceled {
			canceled++
		}
	}
	if canceled != 3 {
		t.Errorf("%d are canceled", canceled)
	}
}

// What differed, and then was canceled at the provider too, differs no more.
func TestDriftEndsWithACancel(t *testing.T) {
	t.Parallel()
	o := newOvertaken(t)
	o.canceled(t, o.uids[7])
	o.wind(time.Hour) // by then the provider knows
	for range 2 {
		if run := o.reconcile(t); run.Refused != 1 {
			t.Errorf("%+v", run.RunCounts)
		}
		if d := o.drifts(t); len(d) != 1 || d[0].ExternalID != o.uids[7] || d[0].Kind != booking.DriftRefused {
			t.Errorf("%+v", d)
		}
		o.wind(time.Hour)
	}
	_, done, err := o.Cancel(o.uids[7], "cannot come")
	if err != nil {
		t.Fatal(err)
	}
	done()
	if run := o.reconcile(t); run.Refused+run.Differed != 0 {
		t.Errorf("%+v", run.RunCounts)
	}
	if d := o.drifts(t); len(d) != 0 {
		t.Errorf("these are still said to differ: %+v", d)
	}
}
