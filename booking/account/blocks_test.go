package account_test

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

// blocked is an Acuity account that the stand-in plays, connected to a store.
type blocked struct {
	*acuitytest.Server
	store    *store.Store
	accounts *account.Accounts
	conn     providers.Connection
}

const (
	blockedCalendar = 9120041
	blockedTempo    = 1000
)

var blockedNow = time.Date(2026, 9, 15, 12, 0, 0, 0, time.UTC)

func newBlocked(t *testing.T) *blocked {
	t.Helper()
	b := &blocked{store: storetest.Open(t, migratetest.SQLite(t))}
	now := func() time.Time { return blockedNow }
	b.Server = acuitytest.New(acuitytest.Options{UserID: "90000001", APIKey: "planted-key", Tempo: blockedTempo, Now: time.Now})
	b.AddCalendar(acuitytest.Calendar{ID: blockedCalendar, Name: "Dr. Ines Falk", Email: "ines.falk@example.com", Timezone: "America/New_York"})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // nothing is kept
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: blockedTempo, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	log := slog.New(slog.DiscardHandler)
	in := intake.New(b.store, intake.Options{Now: now, Log: log})
	t.Cleanup(in.Stop)
	b.conn = providers.Connection{
		ID: uuid.New(), Provider: acuity.Name, APIBase: b.APIBase(), Name: "Harbour", API: providers.Credentials{User: "90000001"},
		Secrets: providers.Secrets{Current: "planted-key"}, CreatedAt: blockedNow,
	}
	if err := b.store.CreateConnection(t.Context(), b.conn); err != nil {
		t.Fatal(err)
	}
	b.accounts = account.New(account.Options{
		Store: b.store, Intake: in, Providers: map[string]providers.Provider{acuity.Name: acuity.New(time.Now, blockedTempo)}, Client: client,
		PublicURL: &url.URL{Scheme: "https", Host: "slots.example"}, EmailKey: func(email string) string { return "hmac of " + email },
		Now: now, Log: log, Tempo: blockedTempo, Wake: func(context.Context, uuid.UUID) error { return nil },
	})
	return b
}

// work begins a run or goes on with the one under way, and gives what it has come to.
func (b *blocked) work(t *testing.T, kind booking.RunKind) (booking.Run, error) {
	t.Helper()
	run, err := b.accounts.Begin(t.Context(), b.conn, kind, "asked", blockedNow.Add(-48*time.Hour), booking.ActorSystem)
	if err != nil {
		t.Fatal(err)
	}
	failed := b.accounts.Work(t.Context(), run.ID)
	all, err := b.store.Runs(t.Context(), b.conn.ID, 1)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v (%v)", all, err)
	}
	return all[0], failed
}

func (b *blocked) stored(t *testing.T) string {
	t.Helper()
	all, err := b.store.Blocks(t.Context(), blockedNow.AddDate(-1, 0, 0), blockedNow.AddDate(2, 0, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range all {
		out = append(out, v.StartsAt.Format("2 Jan 15:04")+" of "+v.Host.Email)
	}
	return strings.Join(out, ", ")
}

func TestRunsReadBlocks(t *testing.T) {
	t.Parallel()
	b := newBlocked(t)
	at := func(days int) acuitytest.Block {
		start := blockedNow.AddDate(0, 0, days)
		return acuitytest.Block{CalendarID: blockedCalendar, Start: start, End: start.Add(time.Hour), Notes: "Dialysis"}
	}
	near := b.AddBlock(at(1))
	b.AddBlock(at(90))
	ended := func(kind booking.RunKind, want string) {
		t.Helper()
		run, err := b.work(t, kind)
		if err != nil || run.Status != booking.RunDone || run.Error != "" || run.Cursor != "" {
			t.Errorf("%+v (%v)", run, err)
		}
		if got := b.stored(t); got != want {
			t.Errorf("blocks %q, not %q", got, want)
		}
	}
	ended(booking.RunReconcile, "16 Sep 12:00 of ines.falk@example.com")
	ended(booking.RunBackfill, "16 Sep 12:00 of ines.falk@example.com, 14 Dec 12:00 of ines.falk@example.com")
	b.RemoveBlock(near)
	ended(booking.RunReconcile, "14 Dec 12:00 of ines.falk@example.com")
}

// What the API will not say keeps no run from its end; what it may say in a while
// is asked for without reading all bookings again.
func TestRunsWithoutBlocks(t *testing.T) {
	t.Parallel()
	b := newBlocked(t)
	start := blockedNow.Add(time.Hour)
	b.AddBlock(acuitytest.Block{CalendarID: blockedCalendar, Start: start, End: start.Add(time.Hour)})

	b.Set(apitest.Forbidden, "/blocks")
	run, err := b.work(t, booking.RunReconcile)
	if err != nil || run.Status != booking.RunDone || !strings.HasPrefix(run.Error, "unavailable times were not read: ") || b.stored(t) != "" {
		t.Errorf("%+v (%v), blocks %q", run, err, b.stored(t))
	}

	b.Set(apitest.Unavailable, "/blocks")
	first, err := b.work(t, booking.RunBackfill)
	if err == nil || first.Status != booking.RunRunning || first.Pages == 0 {
		t.Errorf("%+v (%v)", first, err)
	}
	b.Set(apitest.Healthy)
	listed := b.Count("/appointments")
	second, err := b.work(t, booking.RunBackfill)
	if err != nil || second.ID != first.ID || second.Status != booking.RunDone || second.Cursor != "" || second.Pages != first.Pages {
		t.Errorf("%+v (%v) after %+v", second, err, first)
	}
	if n := b.Count("/appointments") - listed; n != 0 {
		t.Errorf("it read appointments %d times again", n)
	}
	if got := b.stored(t); got == "" {
		t.Error("there are no blocks after all")
	}
}
