package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// Change changes a connection as whoever holds it does.
func (b *Bench) Change(t testing.TB, id uuid.UUID, c providers.Change) {
	t.Helper()
	h := booking.Hold{By: uuid.New(), Until: time.Now().Add(time.Hour)}
	if mine, err := b.TakeConnection(t.Context(), id, time.Now(), h); err != nil || !mine {
		t.Fatalf("the connection is not to be had: %t, %v", mine, err)
	}
	if err := b.ChangeConnection(t.Context(), id, h.By, c); err != nil {
		t.Fatal(err)
	}
	if err := b.LeaveConnection(t.Context(), id, h.By); err != nil {
		t.Fatal(err)
	}
}

// testHeldConnections: one at a time changes a connection, writes what he changes
// alone, and nothing once another has it.
func testHeldConnections(t *testing.T, b *Bench) {
	ctx, day := t.Context(), Now.Add(-24*time.Hour)
	owner := providers.Profile{ExternalID: "/users/MO", Name: "Maren Oduya"}
	c := providers.Connection{
		ID: uuid.New(), Provider: "calendly", APIBase: "https://api.example", Name: "Front desk", CreatedAt: Now, Owner: owner, ConnectingSince: &Now,
		Secrets: providers.Secrets{Current: "planted-current"}, API: providers.Credentials{Token: "planted-token", Refresh: "planted-refresh"},
	}
	first, second := booking.Hold{By: uuid.New(), Until: Now.Add(time.Minute)}, booking.Hold{By: uuid.New(), Until: Now.Add(2 * time.Minute)}
	if err := b.BeginConnection(ctx, c, first); err != nil {
		t.Fatal(err)
	}
	rival := c
	rival.ID = uuid.New()
	if err := b.BeginConnection(ctx, rival, second); !errors.Is(err, providers.ErrConnected) {
		t.Errorf("a second connection of the account: %v", err)
	}
	read := func() providers.Connection {
		t.Helper()
		got, err := b.Connection(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); got.ConnectingSince == nil || got.Generation != 1 {
		t.Errorf("begun: %+v", got)
	}
	take := func(h booking.Hold, now time.Time) bool {
		t.Helper()
		mine, err := b.TakeConnection(ctx, c.ID, now, h)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	if take(second, Now.Add(59*time.Second)) {
		t.Error("two hold it")
	}
	name, registered := "Reception", providers.Registered
	if err := b.ChangeConnection(ctx, c.ID, first.By, providers.Change{Name: &name, Connected: true}); err != nil {
		t.Fatal(err)
	}
	if got := read(); got.Name != name || got.ConnectingSince != nil || got.Secrets != c.Secrets || got.API != c.API || got.Owner.Name != owner.Name || got.Generation != 1 {
		t.Errorf("more changed than was to be: %+v", got)
	}
	if !take(second, Now.Add(61*time.Second)) {
		t.Fatal("it is held for ever")
	}
	for what, err := range map[string]error{
		"change": b.ChangeConnection(ctx, c.ID, first.By, providers.Change{Disconnected: &Now}),
		"renew":  b.RenewConnection(ctx, c.ID, first),
		"drop":   b.DropConnection(ctx, c.ID, first.By),
	} {
		if !errors.Is(err, booking.ErrNotHeld) {
			t.Errorf("who lost it may %s: %v", what, err)
		}
	}
	if err := b.LeaveConnection(ctx, c.ID, first.By); err != nil || take(first, Now) {
		t.Errorf("who lost it gave it away: %v", err)
	}
	health := providers.Health{Failures: 2, Failure: "the API answered 401", NeedsSignIn: true}
	other := providers.Credentials{Token: "planted-other"}
	if err := b.ChangeConnection(ctx, c.ID, second.By, providers.Change{API: &other, Subscription: &registered, ReadFrom: &day}); err != nil {
		t.Fatal(err)
	}
	if err := b.NoteHealth(ctx, c.ID, 1, health); err != nil {
		t.Fatal(err)
	}
	if got := read(); got.API != other || got.Subscription != registered || got.ReadFrom == nil || got.Generation != 2 || got.Health.Failures != 0 {
		t.Errorf("given other credentials: %+v", got)
	}
	if err := b.NoteHealth(ctx, c.ID, 2, health); err != nil || read().Health.Failures != 2 {
		t.Errorf("health %+v: %v", read().Health, err)
	}
	// An account whose connection was ended is free, and is not to be had twice again.
	if err := b.ChangeConnection(ctx, c.ID, second.By, providers.Change{Disconnected: &Now}); err != nil {
		t.Fatal(err)
	}
	if err := b.BeginConnection(ctx, rival, second); err != nil {
		t.Fatal(err)
	}
	if err := b.ChangeConnection(ctx, c.ID, second.By, providers.Change{Reopened: true}); !errors.Is(err, providers.ErrConnected) {
		t.Errorf("it is connected twice: %v", err)
	}
	if err := b.DropConnection(ctx, rival.ID, second.By); err != nil {
		t.Error(err)
	}
	if _, err := b.TakeConnection(ctx, rival.ID, Now, first); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("what is not there is held: %v", err)
	}
}

// testHeldTokens: one refreshes at a time, and what he got is kept unless another
// does by now, or somebody gave other credentials.
func testHeldTokens(t *testing.T, b *Bench) {
	ctx := t.Context()
	c := providers.Connection{
		ID: uuid.New(), Provider: "calendly", APIBase: "https://api.example", CreatedAt: Now, Secrets: providers.Secrets{Current: "planted-current"},
		API: providers.Credentials{Token: "planted-1", Refresh: "planted-r1"},
	}
	if err := b.CreateConnection(ctx, c); err != nil {
		t.Fatal(err)
	}
	first, second := booking.Hold{By: uuid.New(), Until: Now.Add(30 * time.Second)}, booking.Hold{By: uuid.New(), Until: Now.Add(time.Minute)}
	begin := func(h booking.Hold, now time.Time) bool {
		t.Helper()
		mine, err := b.BeginRefresh(ctx, c.ID, now, h)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	if !begin(first, Now) || begin(second, Now.Add(29*time.Second)) {
		t.Fatal("none refreshes, or two")
	}
	next := providers.Credentials{Token: "planted-2", Refresh: "planted-r2"}
	for range 2 { // the first answer may be lost
		if err := b.KeepToken(ctx, c.ID, first.By, 1, next); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Connection(ctx, c.ID); err != nil || got.API != next || got.Generation != 1 {
		t.Errorf("%+v: %v", got.API, err)
	}
	if !begin(second, Now.Add(31*time.Second)) {
		t.Fatal("it is held for ever")
	}
	if err := b.KeepToken(ctx, c.ID, first.By, 1, c.API); !errors.Is(err, booking.ErrNotHeld) {
		t.Errorf("who lost it kept a token: %v", err)
	}
	if err := b.EndRefresh(ctx, c.ID, first.By); err != nil || begin(first, Now.Add(32*time.Second)) {
		t.Errorf("who lost it gave it away: %v", err)
	}
	given := providers.Credentials{Token: "planted-3"}
	b.Change(t, c.ID, providers.Change{API: &given})
	if err := b.KeepToken(ctx, c.ID, second.By, 1, next); !errors.Is(err, booking.ErrNotHeld) {
		t.Errorf("a refresh undid what somebody gave: %v", err)
	}
	if err := b.EndRefresh(ctx, c.ID, second.By); err != nil || !begin(first, Now.Add(33*time.Second)) {
		t.Errorf("it was not given back: %v", err)
	}
}

// testHeldRuns: a run is its holder's, however often he renewed without hearing so,
// until another has it or somebody had it stopped.
func testHeldRuns(t *testing.T, b *Bench) {
	ctx := t.Context()
	begun := booking.Run{
		ID: uuid.New(), ConnectionID: b.Conn["calendly"], Kind: booking.RunBackfill, Cause: "asked", From: Now, To: Now.Add(time.Hour),
		Status: booking.RunRunning, Actor: booking.ActorSystem, StartedAt: Now, MovedAt: Now,
	}
	if _, err := b.BeginRun(ctx, begun); err != nil {
		t.Fatal(err)
	}
	h := booking.Hold{By: uuid.New(), Until: Now.Add(time.Minute)}
	if _, mine, err := b.ClaimRun(ctx, begun.ID, Now, h); err != nil || !mine {
		t.Fatalf("%t, %v", mine, err)
	}
	// One renewal of which its holder never heard.
	if err := b.HoldRun(ctx, begun.ID, nil, booking.Hold{By: h.By, Until: Now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	found := begun
	found.Pages, found.Cursor = 3, "next"
	if err := b.HoldRun(ctx, begun.ID, &found, h); err != nil {
		t.Errorf("its holder lost it: %v", err)
	}
	done := found
	done.Status, done.FinishedAt = booking.RunDone, &Now
	if err := b.ReleaseRun(ctx, done, uuid.New()); !errors.Is(err, booking.ErrNotHeld) {
		t.Errorf("another ended it: %v", err)
	}
	if err := b.ReleaseRun(ctx, found, h.By); err != nil {
		t.Fatal(err)
	}
	if _, mine, err := b.ClaimRun(ctx, begun.ID, Now, h); err != nil || !mine {
		t.Fatalf("what was given back is not to be had: %t, %v", mine, err)
	}
	// PostgreSQL empties the table when it recovers from a crash.
	if err := b.exec(t, "DELETE FROM holders"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"hold":  b.HoldRun(ctx, begun.ID, &found, h),
		"renew": b.HoldRun(ctx, begun.ID, nil, h),
		"end":   b.ReleaseRun(ctx, done, h.By),
	} {
		if !errors.Is(err, booking.ErrNotHeld) {
			t.Errorf("%s after a crash: %v", what, err)
		}
	}
	h.By = uuid.New()
	if _, mine, err := b.ClaimRun(ctx, begun.ID, Now, h); err != nil || !mine {
		t.Fatalf("after a crash it is not to be had: %t, %v", mine, err)
	}
	if err := b.HoldRun(ctx, begun.ID, &found, h); err != nil {
		t.Errorf("whoever goes on after a crash lost it: %v", err)
	}
	stopped, err := b.StopRun(ctx, begun.ID, Now)
	if err != nil || stopped.Status != booking.RunStopped || stopped.FinishedAt == nil || stopped.Pages != 3 {
		t.Errorf("stopped: %+v, %v", stopped, err)
	}
	for what, err := range map[string]error{
		"hold":  b.HoldRun(ctx, begun.ID, &done, h),
		"renew": b.HoldRun(ctx, begun.ID, nil, h),
		"end":   b.ReleaseRun(ctx, done, h.By),
	} {
		if !errors.Is(err, booking.ErrNotHeld) {
			t.Errorf("%s what was stopped: %v", what, err)
		}
	}
	if n := b.count(t, "SELECT count(*) FROM holders"); n != 0 {
		t.Errorf("%d still hold what is over", n)
	}
	if b.Dialect() == migrations.Postgres {
		if n := b.count(t, "SELECT count(*) FROM pg_class WHERE relname = 'holders' AND relpersistence = 'u'"); n != 1 {
			t.Error("holds outlast crashes")
		}
	}
	var conflict *booking.ConflictError
	if _, err := b.StopRun(ctx, begun.ID, Now); !errors.As(err, &conflict) {
		t.Errorf("stopped again: %v", err)
	}
	if _, err := b.StopRun(ctx, uuid.New(), Now); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("what is not there was stopped: %v", err)
	}
	if next, err := b.BeginRun(ctx, booking.Run{
		ID: uuid.New(), ConnectionID: begun.ConnectionID, Kind: begun.Kind, Cause: "asked", Status: booking.RunRunning, Actor: begun.Actor,
		From: Now, To: Now, StartedAt: Now, MovedAt: Now,
	}); err != nil || next.ID == begun.ID {
		t.Errorf("after one that was stopped another began: %+v, %v", next, err)
	}
}

func (b *Bench) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := b.SQL.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
