package account_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
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
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

// leaseTempo lets a run be held for two seconds, and a slow answer take a tenth of
// one: so a page of ten events takes longer than a hold is left alone.
const leaseTempo = 30

const (
	leaseRedirect = "https://slots.example/connections/oauth"
	leaseEvents   = 24
	leasePage     = 10
)

var leaseApp = calendlytest.App{ClientID: "app", ClientSecret: "planted-app-secret", RedirectURI: leaseRedirect, SigningKey: "planted-signing-key"}

// wound is a clock that goes right and may be set.
type wound struct {
	mu    sync.Mutex
	ahead time.Duration
	// stands is where it stopped; zero while it goes.
	stands time.Time
}

func (w *wound) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stands.IsZero() {
		return w.stands
	}
	return time.Now().Add(w.ahead).UTC()
}

func (w *wound) wind(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

func (w *wound) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands = time.Now().UTC()
}

// goOn has a clock that stopped stand later.
func (w *wound) goOn(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands = w.stands.Add(d)
}

// desk is an account at Calendly, connected over OAuth, that two processes look
// after.
type desk struct {
	*calendlytest.Server
	*storetest.Bench
	conn          providers.Connection
	first, second *process
}

// process is one of them: a store, a clock and accounts of its own.
type process struct {
	wound
	gates
	losses
	store    *store.Store
	accounts *account.Accounts
	log      bytes.Buffer // read it once nobody writes
	checks   chan uuid.UUID
}

func (d *desk) process(t *testing.T) *process {
	t.Helper()
	p := &process{store: storetest.Open(t, d.URL()), checks: make(chan uuid.UUID, 100)}
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: leaseTempo, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(&p.log, nil))
	in := intake.New(p.store, intake.Options{Now: p.now, Log: log, Observe: func([]booking.Post, []booking.Answer) {}})
	t.Cleanup(in.Stop)
	p.accounts = account.New(account.Options{
		Store: lossy{p.store, &p.losses}, Intake: in, Client: client,
		Providers: map[string]providers.Provider{calendly.Name: gated{calendly.New(time.Hour), &p.gates}},
		PublicURL: &url.URL{Scheme: "https", Host: "slots.example"}, EmailKey: func(email string) string { return "hmac of " + email },
		Apps: map[string]account.App{calendly.Name: {
			ID: leaseApp.ClientID, Secret: leaseApp.ClientSecret, SigningKey: leaseApp.SigningKey, Base: d.APIBase(),
		}},
		Now: p.now, Log: log, Tempo: leaseTempo, Wake: func(context.Context, uuid.UUID) error { return nil },
		WakeCheck: func(_ context.Context, connection uuid.UUID) error {
			p.checks <- connection
			return nil
		},
	})
	return p
}

// URL is the database's.
func (d *desk) URL() string { return d.Bench.URL }

func onBoth(t *testing.T, f func(*testing.T, *desk)) {
	t.Helper()
	for name, fresh := range map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newDesk(t, fresh(t)))
		})
	}
}

func newDesk(t *testing.T, database string) *desk {
	t.Helper()
	d := &desk{Bench: storetest.NewBench(t, database)}
	d.Server = calendlytest.New(calendlytest.Options{App: leaseApp, PageSize: leasePage, Tempo: leaseTempo, Now: time.Now})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Server.Close() }) // nothing is kept
	d.first, d.second = d.process(t), d.process(t)
	at := time.Now().UTC().Truncate(time.Hour).Add(48 * time.Hour)
	for n := range leaseEvents {
		start := at.Add(time.Duration(n) * time.Hour)
		event := d.Open(calendlytest.Session{Name: "First visit", Start: start, End: start.Add(30 * time.Minute), Limit: 1})
		if _, _, err := d.Join(event, "Priya Raman", fmt.Sprintf("priya.raman.%d@mail.example", n)); err != nil {
			t.Fatal(err)
		}
	}
	d.conn = providers.Connection{
		ID: uuid.New(), Provider: calendly.Name, APIBase: d.APIBase(), Name: "Harbour", API: d.signIn(t),
		Secrets: providers.Secrets{Current: leaseApp.SigningKey}, CreatedAt: time.Now(),
		Owner: providers.Profile{ExternalID: "/users/1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a01"},
	}
	if err := d.CreateConnection(t.Context(), d.conn); err != nil {
		t.Fatal(err)
	}
	return d
}

// signIn authorises the app, as the owner does in his browser.
func (d *desk) signIn(t *testing.T) providers.Credentials {
	t.Helper()
	return signIn(t, d.first.accounts, calendly.Name)
}

// signIn authorises the provider's app, and gives what it may call the API with.
func signIn(t *testing.T, accounts *account.Accounts, provider string) providers.Credentials {
	t.Helper()
	const verifier = "a-verifier-of-forty-three-characters-or-more-0"
	to, err := accounts.AuthURL(provider, leaseRedirect, "state", verifier)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // the address is all there is
	back, err := url.Parse(answer.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := accounts.Redeem(t.Context(), provider, leaseRedirect, back.Query().Get("code"), verifier)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until asks until it is so, at most for half a minute.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// tokenRequests are those that were answered with a token, and all others.
func (d *desk) tokenRequests() (granted, refused int) {
	for _, r := range d.Requests() {
		switch {
		case !strings.HasPrefix(r.Path, "/oauth/token"):
		case r.Status == http.StatusOK:
			granted++
		default:
			refused++
		}
	}
	return granted, refused
}

// expire has the connection's token end, and gives it.
func (d *desk) expire(t *testing.T) providers.Credentials {
	t.Helper()
	c, err := d.Connection(t.Context(), d.conn.ID)
	if err != nil {
		t.Fatal(err)
	}
	old, now := c.API, time.Now().UTC()
	c.API.ExpiresAt = &now
	d.Change(t, c.ID, providers.Change{API: &c.API})
	return old
}

// TestOneRefresh: of many who need a new token at once, in two processes, one gets
// it for all, since the old one works once.
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		granted, _ := d.tokenRequests()
		for range 3 {
			old := d.expire(t)
			var all sync.WaitGroup
			tokens := make([]string, 8)
			for i := range tokens {
				p := []*process{d.first, d.second}[i%2]
				all.Go(func() {
					c, api, err := p.accounts.Ready(t.Context(), d.conn.ID)
					if err == nil {
						_, err = api.Identify(t.Context(), http.DefaultClient, c)
					}
					if err != nil {
						t.Errorf("process %d: %v", i%2, err)
					}
					tokens[i] = c.API.Token
				})
			}
			all.Wait()
			for _, token := range tokens {
				if token != tokens[0] || token == old.Token {
					t.Errorf("tokens %q", tokens)
				}
			}
			now, refused := d.tokenRequests()
			if now-granted != 1 || refused != 0 {
				t.Errorf("%d tokens were given, %d requests refused", now-granted, refused)
			}
			granted = now
		}
	})
}

// TestRefreshOfADeadProcess: who begins to refresh and dies is waited for, and then
// somebody else refreshes.
func TestRefreshOfADeadProcess(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		old, now := d.expire(t), d.first.now()
		if mine, err := d.first.store.BeginRefresh(t.Context(), d.conn.ID, now, booking.Hold{By: uuid.New(), Until: now.Add(30 * time.Second)}); err != nil || !mine {
			t.Fatalf("%t, %v", mine, err)
		}
		granted, _ := d.tokenRequests()
		short, stop := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer stop()
		if _, _, err := d.second.accounts.Ready(short, d.conn.ID); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it did not wait: %v", err)
		}
		if n, _ := d.tokenRequests(); n != granted {
			t.Error("two refresh at once")
		}
		d.second.wind(31 * time.Second)
		c, _, err := d.second.accounts.Ready(t.Context(), d.conn.ID)
		if err != nil || c.API.Token == old.Token {
			t.Errorf("nobody refreshed: %v", err)
		}
	})
}

// begin has the account's bookings read, and gives the run.
func (d *desk) begin(t *testing.T, kind booking.RunKind) booking.Run {
	t.Helper()
	run, err := d.first.accounts.Begin(t.Context(), d.conn, kind, "asked", time.Now().Add(-48*time.Hour), booking.ActorSystem)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (d *desk) stored(t *testing.T) booking.Run {
	t.Helper()
	all, err := d.Runs(t.Context(), d.conn.ID, 1)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v (%v)", all, err)
	}
	return all[0]
}

// heldUntil is the end of the hold on the run, in the database's own words.
func (d *desk) heldUntil(t *testing.T) string {
	t.Helper()
	var until any
	if err := d.SQL.QueryRowContext(t.Context(), "SELECT claimed_until FROM runs").Scan(&until); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(until)
}

// asked is how often the invitees of each event were asked for.
func (d *desk) asked() map[string]int {
	n := map[string]int{}
	for _, r := range d.Requests() {
		if strings.HasSuffix(r.Path, "/invitees") {
			n[r.Path]++
		}
	}
	return n
}

// whole checks that all is there, once.
func (d *desk) whole(t *testing.T) {
	t.Helper()
	all, err := booking.Everything(t.Context(), d.Bookings)
	if err != nil {
		t.Fatal(err)
	}
	active := 0
	for _, b := range all {
		if b.Status == booking.Active {
			active++
		}
	}
	transitions, err := booking.Everything(t.Context(), d.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != leaseEvents || active != leaseEvents || len(transitions) != leaseEvents {
		t.Errorf("%d bookings, %d active, %d transitions; want %d each", len(all), active, len(transitions), leaseEvents)
	}
}

// TestOneReads: a run that one process works on is left alone by the other, also
// when a page takes longer than a hold.
func TestOneReads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.Set(apitest.Slow, "/invitees")
		run := d.begin(t, booking.RunBackfill)
		done := make(chan error, 1)
		go func() { done <- d.first.accounts.Work(t.Context(), run.ID) }()
		until(t, "the first page", func() bool { return len(d.asked()) > 0 })
		leave := func(when string) {
			t.Helper()
			began := len(d.Requests())
			if err := d.second.accounts.Work(t.Context(), run.ID); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			// The first goes on meanwhile, with one request at a time.
			if n := len(d.Requests()) - began; n > 3 {
				t.Errorf("%s the second made requests of its own: %d", when, n)
			}
		}
		leave("at first")
		// Time passes for both, almost as much as the hold lasts, and then the rest
		// of it: what the first renewed meanwhile still holds.
		held := d.heldUntil(t)
		d.first.wind(1500 * time.Millisecond)
		d.second.wind(1500 * time.Millisecond)
		until(t, "the hold to be renewed", func() bool { return d.heldUntil(t) != held })
		d.first.wind(1200 * time.Millisecond)
		d.second.wind(1200 * time.Millisecond)
		leave("after the first hold")
		d.Set(apitest.Healthy)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := d.stored(t); got.Status != booking.RunDone || got.AtProvider != leaseEvents || got.Failures != 0 {
			t.Errorf("the run is %+v", got)
		}
		if asked := d.asked(); len(asked) != leaseEvents {
			t.Errorf("%d events were read", len(asked))
		} else {
			for path, n := range asked {
				if n != 1 {
					t.Errorf("%s was read %d times", path, n)
				}
			}
		}
		d.whole(t)
	})
}

// TestTakenOver: when a process stops to keep its hold, since it is dead or
// asleep, another goes on where it was; when it wakes, it changes nothing any more.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	for _, kind := range booking.RunKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, d *desk) { takenOver(t, d, kind) })
		})
	}
}

func takenOver(t *testing.T, d *desk, kind booking.RunKind) {
	d.Set(apitest.Slow, "/invitees")
	run := d.begin(t, kind)
	d.first.stop()
	done := make(chan error, 1)
	go func() { done <- d.first.accounts.Work(t.Context(), run.ID) }()
	until(t, "the second page", func() bool { return len(d.asked()) > leasePage+2 })
	d.Set(apitest.Healthy)
	d.second.wind(time.Minute)
	if err := d.second.accounts.Work(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	over := d.stored(t)
	if over.Status != booking.RunDone || over.AtProvider != leaseEvents || over.ID != run.ID {
		t.Errorf("the second left the run as %+v", over)
	}
	if err := <-done; err != nil {
		t.Errorf("the first was told %v", err)
	}
	if now := d.stored(t); !reflect.DeepEqual(now, over) {
		t.Errorf("the first made of it %+v, it was %+v", now, over)
	}
	d.whole(t)
	again := 0
	for _, n := range d.asked() {
		again += n - 1
	}
	// A backfill goes on with the page that was being read. A reconcile must have
	// seen all itself.
	most := leasePage
	if kind == booking.RunReconcile {
		most = leaseEvents
	}
	if len(d.asked()) != leaseEvents || again > most+1 {
		t.Errorf("%d events were read, %d of them again", len(d.asked()), again)
	}
}

// TestStaleHolder: what somebody writes who had a run, and has it no more, is not
// written.
func TestStaleHolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		run := d.begin(t, booking.RunBackfill)
		ctx, start := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
		claim := func(p *process, now time.Time) (booking.Hold, bool) {
			t.Helper()
			h := booking.Hold{By: uuid.New(), Until: now.Add(time.Minute)}
			_, mine, err := p.store.ClaimRun(ctx, run.ID, now, h)
			if err != nil {
				t.Fatal(err)
			}
			return h, mine
		}
		old, mine := claim(d.first, start)
		if !mine {
			t.Fatal("nobody has it, and it is not to be had")
		}
		if _, mine := claim(d.second, start.Add(59*time.Second)); mine {
			t.Error("two have it")
		}
		held, mine := claim(d.second, start.Add(61*time.Second))
		if !mine {
			t.Fatal("it is held for ever")
		}
		stale := run
		stale.Cursor, stale.Pages, stale.Status = "elsewhere", 99, booking.RunFailed
		if err := d.first.store.HoldRun(ctx, run.ID, &stale, booking.Hold{By: old.By, Until: start.Add(time.Hour)}); !errors.Is(err, booking.ErrNotHeld) {
			t.Errorf("the first holds it again: %v", err)
		}
		if err := d.first.store.ReleaseRun(ctx, stale, old.By); !errors.Is(err, booking.ErrNotHeld) {
			t.Errorf("the first ends it: %v", err)
		}
		if got := d.stored(t); !reflect.DeepEqual(got, run) {
			t.Errorf("the first made of it %+v", got)
		}
		good := run
		good.Cursor, good.Pages = "here", 1
		if err := d.second.store.HoldRun(ctx, run.ID, &good, booking.Hold{By: held.By, Until: held.Until.Add(time.Minute)}); err != nil {
			t.Errorf("the second cannot hold it: %v", err)
		}
		if got := d.stored(t); !reflect.DeepEqual(got, good) {
			t.Errorf("the second made of it %+v", got)
		}
	})
}

// TestLeftAloneForLong: that an API asks to be left alone says nothing about a
// connection, unless nothing else was heard of it for long.
func TestLeftAloneForLong(t *testing.T) {
	t.Parallel()
	d := newDesk(t, migratetest.SQLite(t))
	check := func() (account.Finding, error) {
		f, err := d.first.accounts.Check(t.Context(), d.conn.ID)
		return f, err
	}
	if f, err := check(); err != nil || f.Err != nil {
		t.Fatal(err, f.Err)
	}
	state := func() providers.State {
		c, err := d.Connection(t.Context(), d.conn.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c.State(d.first.now())
	}
	d.Set(apitest.Limited)
	var later *providers.LaterError
	if _, err := check(); !errors.As(err, &later) || state() == providers.StateFailing {
		t.Errorf("it is %s: %v", state(), err)
	}
	d.first.wind(46 * time.Minute / leaseTempo)
	if f, err := check(); err != nil || f.Health.FailingSince == nil || state() != providers.StateFailing {
		t.Errorf("after %d minutes it is %s: %v", 46, state(), err)
	}
	d.Set(apitest.Healthy)
	until(t, "the API's pause to end", func() bool {
		f, err := check()
		return err == nil && f.Err == nil && f.Recovered
	})
	if state() == providers.StateFailing {
		t.Errorf("when it answers again it is %s", state())
	}
}

// TestImportOutlastsAnOutage: an import waits for its provider, however long that
// is away; a comparison is ended, for the next one begins by itself.
func TestImportOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	const tries = 15
	for _, trouble := range []apitest.Trouble{apitest.Unavailable, apitest.Garbage, apitest.Cut, apitest.Dropped} {
		t.Run(string(trouble), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, migratetest.SQLite(t))
			d.Set(trouble)
			for kind, want := range map[booking.RunKind]booking.RunStatus{booking.RunBackfill: booking.RunRunning, booking.RunReconcile: booking.RunFailed} {
				run := d.begin(t, kind)
				for range tries {
					_ = d.first.accounts.Work(t.Context(), run.ID) // what it says is in the run
				}
				if got := d.run(t, run.ID); got.Status != want || got.Failures < 12 || got.Error == "" {
					t.Errorf("the %s is %+v", kind, got)
				}
			}
			d.Set(apitest.Healthy)
			run := d.begin(t, booking.RunBackfill)
			if err := d.first.accounts.Work(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
			if got := d.run(t, run.ID); got.Status != booking.RunDone || got.Failures != 0 || got.Error != "" {
				t.Errorf("the import ended as %+v", got)
			}
			d.whole(t)
		})
	}
}

func (d *desk) run(t *testing.T, id uuid.UUID) booking.Run {
	t.Helper()
	all, err := d.Runs(t.Context(), d.conn.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("there is no run %s", id)
	return booking.Run{}
}
