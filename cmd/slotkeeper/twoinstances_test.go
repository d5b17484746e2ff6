package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly/calendlytest"
)

// pairTempo lets a run be held for three seconds, and a call last one: long enough
// for a busy machine, and short enough to wait for.
const pairTempo = 20

const (
	pairPage     = 10
	pairFar      = 40 // beyond what a reconcile looks at
	pairNear     = 15
	pairRedirect = "https://slots.example/connections/oauth"
)

var pairApp = calendlytest.App{ClientID: "client-0123456789", ClientSecret: "client-secret-0123456789", RedirectURI: pairRedirect, SigningKey: "app-signing-key-0123456789"}

// pair are two processes on one database, and an account that both look after.
type pair struct {
	*calendlytest.Server
	first, second *server
	// firstWorker is the first one's name in the queue. The other's changes when it is
	// started again.
	firstWorker string
	db          *sql.DB
	token       string
	id          uuid.UUID
	near        []string // events that a reconcile reads
}

// TestTwoInstances runs two processes on one PostgreSQL: one of them at a time
// imports, compares and refreshes a token, and when the one that works is killed
// amid any of it, the other finishes.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	long(t)
	p := newPair(t)
	for _, phase := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"import", p.importsOnce},
		{"reconcile", p.comparesOnce},
		{"refresh", p.refreshesOnce},
		{"reconcile, killed", p.comparesThoughKilled},
		{"refresh, killed before it is done", p.refreshesThoughKilled},
		{"refresh, killed before it is heard", p.asksForASignIn},
	} {
		began := time.Now()
		phase.run(t)
		t.Logf("%s took %s", phase.name, time.Since(began).Round(10*time.Millisecond))
	}
}

func newPair(t *testing.T) *pair {
	t.Helper()
	c := calendlytest.New(calendlytest.Options{
		Token: calendlyFirstToken, Owner: calendlyOwner, App: pairApp, PageSize: pairPage, Tempo: pairTempo, Now: time.Now,
	})
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	p := &pair{Server: c}
	at, err := url.Parse(c.APIBase())
	must(t, err)
	p.first = newServer(t, migratetest.EmptyPostgres(t), "SLOTKEEPER_PUBLIC_URL=https://slots.example", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+strconv.Itoa(pairTempo),
		"SLOTKEEPER_CALENDLY_CLIENT_ID="+pairApp.ClientID, "SLOTKEEPER_CALENDLY_CLIENT_SECRET="+pairApp.ClientSecret,
		"SLOTKEEPER_CALENDLY_SIGNING_KEY="+pairApp.SigningKey, "SLOTKEEPER_CALENDLY_AUTH_URL="+c.APIBase())
	p.db = p.first.database(t)
	// Alone it becomes the leader, which tells its name.
	waitFor(t, "the first to become the leader", func() error {
		return p.db.QueryRowContext(t.Context(), "SELECT leader_id FROM river_leader").Scan(&p.firstWorker)
	})
	p.second = p.first.second(t)
	p.token = p.first.token(t, "read")
	for n := range pairFar {
		p.book(t, n, firstHour().AddDate(0, 0, 90).Add(time.Duration(n)*time.Hour))
	}
	return p
}

func (p *pair) book(t *testing.T, n int, at time.Time) string {
	t.Helper()
	name, email := visitorNamed(n)
	path, _, err := p.Book(name, email, calendlyOwner, at, at.Add(30*time.Minute))
	must(t, err)
	event, _, _ := strings.Cut(path, "/invitees/")
	return event
}

// read is how often the invitees of an event were asked for, of all events that
// were read.
func (p *pair) read() map[string]int {
	n := map[string]int{}
	for _, r := range p.Requests() {
		if event, found := strings.CutSuffix(r.Path, "/invitees"); found {
			n[event]++
		}
	}
	return n
}

// worker is who works on the newest run, and the other.
func (p *pair) worker(t *testing.T) (works, other *server) {
	t.Helper()
	var by string
	waitFor(t, "the run to be worked on", func() error {
		return p.db.QueryRowContext(t.Context(),
			`SELECT attempted_by[array_length(attempted_by, 1)] FROM river_job WHERE kind = 'read' AND state = 'running' ORDER BY id DESC LIMIT 1`).Scan(&by)
	})
	if by == p.firstWorker {
		return p.first, p.second
	}
	return p.second, p.first
}

// importsOnce: one reads, is killed amid it, and the other finishes.
func (p *pair) importsOnce(t *testing.T) {
	p.Set(apitest.Slow, "/invitees")
	var out connectionItem
	decode(t, p.first.run(t, "connect", "calendly", "--name", "Front desk", "--api-url", p.APIBase(), "--api-token", calendlyFirstToken,
		"--subscribe", "--backfill", firstDay()), &out)
	p.id = out.ID
	waitFor(t, "the second page to be read", func() error {
		if n := len(p.read()); n <= pairPage+2 {
			return fmt.Errorf("%d events were read", n)
		}
		return nil
	})
	for event, n := range p.read() {
		if n != 1 {
			t.Errorf("%s was read %d times before the crash", event, n)
		}
	}
	works, other := p.worker(t)
	works.kill(t)
	crashed := len(p.read())
	p.Set(apitest.Healthy)
	began := time.Now()
	waitFor(t, "the other to finish", func() error {
		var status, failure string
		err := p.db.QueryRowContext(t.Context(), "SELECT status, error FROM runs WHERE kind = 'backfill'").Scan(&status, &failure)
		if err == nil && status != "done" {
			err = fmt.Errorf("the run is %s: %s", status, failure)
		}
		return err
	})
	t.Logf("killed with %d of %d events read; the other finished after %s", crashed, pairFar, time.Since(began).Round(10*time.Millisecond))
	again := 0
	for _, n := range p.read() {
		again += n - 1
	}
	if len(p.read()) != pairFar || again > pairPage {
		t.Errorf("%d events were read, %d of them again", len(p.read()), again)
	}
	p.survives(t, other, works)
	p.nothingDoubled(t, pairFar)
	p.second.start(t)
}

// survives makes the one that lives the first. It has finished alone, so that its name
// is that of whoever worked last.
func (p *pair) survives(t *testing.T, lives, dead *server) {
	t.Helper()
	p.first, p.second = lives, dead
	must(t, p.db.QueryRowContext(t.Context(),
		`SELECT attempted_by[array_length(attempted_by, 1)] FROM river_job WHERE kind = 'read' AND attempted_at IS NOT NULL ORDER BY attempted_at DESC LIMIT 1`).
		Scan(&p.firstWorker))
}

// nothingDoubled checks that each booking came in once: one receipt and one
// transition each.
func (p *pair) nothingDoubled(t *testing.T, want int) {
	t.Helper()
	active := 0
	for _, b := range api[bookingItem](t, p.first, p.token, "bookings") {
		if b.Status == "active" {
			active++
		}
	}
	receipts := len(api[receiptItem](t, p.first, p.token, "receipts"))
	transitions := len(api[transitionItem](t, p.first, p.token, "transitions"))
	if active != want || receipts != want || transitions != want {
		t.Errorf("%d active bookings, %d receipts, %d transitions; want %d of each", active, receipts, transitions, want)
	}
}

// comparesOnce: however many ask for it, one comparison at a time is made.
func (p *pair) comparesOnce(t *testing.T) {
	for n := range pairNear {
		p.near = append(p.near, p.book(t, pairFar+n, firstHour().Add(time.Duration(n)*time.Hour)))
	}
	for range 2 {
		p.together(t, 3)
	}
	p.settles(t)
	var runs int
	var failed sql.NullString
	must(t, p.db.QueryRowContext(t.Context(), "SELECT count(*), max(CASE WHEN status = 'failed' OR failures > 0 THEN error END) FROM runs WHERE kind = 'reconcile'").
		Scan(&runs, &failed))
	if failed.Valid {
		t.Errorf("a comparison failed: %s", failed.String)
	}
	read := p.read()
	for _, event := range p.near {
		if n := read[event]; n < 2 || n > runs {
			t.Errorf("%s was read %d times by %d comparisons", event, n, runs)
		}
	}
	t.Logf("%d comparisons", runs)
	p.nothingDoubled(t, pairFar+pairNear)
}

// together has so many commands compare at once, beside the two processes.
func (p *pair) together(t *testing.T, n int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		s := []*server{p.first, p.second}[i%2]
		all.Go(func() {
			out, err := s.try(t, "", "connections", "sync", p.id.String(), "--json")
			var run runItem
			if err == nil {
				err = json.Unmarshal([]byte(out), &run)
			}
			if err != nil || run.Status != "done" {
				t.Errorf("the comparison ended as %+v: %v", run, err)
			}
		})
	}
	all.Wait()
}

// settles waits until no run is under way.
func (p *pair) settles(t *testing.T) {
	t.Helper()
	waitFor(t, "all runs to end", func() error {
		var open int
		err := p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM runs WHERE status = 'running'").Scan(&open)
		if err == nil && open > 0 {
			err = fmt.Errorf("%d are under way", open)
		}
		return err
	})
}

// refreshesOnce: a token that has ended is renewed by one for all, for the one that
// renews it works once.
func (p *pair) refreshesOnce(t *testing.T) {
	credentials := p.authorize(t)
	st := p.first.store(t)
	h := booking.Hold{By: uuid.New(), Until: time.Now().Add(time.Minute)}
	waitFor(t, "the connection to be nobody's", func() error {
		mine, err := st.TakeConnection(t.Context(), p.id, time.Now(), h)
		if err == nil && !mine {
			err = errors.New("somebody changes it")
		}
		return err
	})
	must(t, st.ChangeConnection(t.Context(), p.id, h.By, providers.Change{API: &credentials}))
	must(t, st.LeaveConnection(t.Context(), p.id, h.By))
	granted, _ := p.tokens()
	const rounds = 3
	for round := range rounds {
		if _, err := p.db.ExecContext(t.Context(), "UPDATE connections SET api_expires_at = now()"); err != nil {
			t.Fatal(err)
		}
		p.together(t, 4)
		now, refused := p.tokens()
		if now-granted != 1 || refused != 0 {
			t.Errorf("round %d: %d tokens were given, %d requests for one refused", round, now-granted, refused)
		}
		granted = now
	}
	p.settles(t)
	for _, s := range []*server{p.first, p.second} {
		for _, line := range s.logged(t, "connection cannot be asked") {
			t.Errorf("a connection failed: %v", line)
		}
	}
	p.nothingDoubled(t, pairFar+pairNear)
}

// tokens are the requests for one that were granted, and all others.
func (p *pair) tokens() (granted, refused int) {
	for _, r := range p.Requests() {
		switch {
		case r.Path != "/oauth/token":
		case r.Status == http.StatusOK:
			granted++
		default:
			refused++
		}
	}
	return granted, refused
}

// authorize signs the owner in at Calendly, past the product.
func (p *pair) authorize(t *testing.T) providers.Credentials {
	t.Helper()
	q := url.Values{"client_id": {pairApp.ClientID}, "redirect_uri": {pairRedirect}, "response_type": {"code"}}
	back, err := url.Parse(ask(t, http.MethodGet, p.APIBase()+"/oauth/authorize?"+q.Encode(), nil, http.Header{}).header.Get("Location"))
	must(t, err)
	form := url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {pairRedirect}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.APIBase()+"/oauth/token", strings.NewReader(form.Encode()))
	must(t, err)
	r.SetBasicAuth(pairApp.ClientID, pairApp.ClientSecret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	must(t, err)
	defer answer.Body.Close()
	var out struct {
		Token   string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	must(t, json.NewDecoder(answer.Body).Decode(&out))
	if out.Refresh == "" {
		must(t, errors.New("there is no refresh token"))
	}
	return providers.Credentials{Token: out.Token, Refresh: out.Refresh}
}

// store opens the installation's store, beside its processes.
func (s *server) store(t *testing.T) *store.Store {
	t.Helper()
	key, err := vault.KeyFromText(secretKey)
	must(t, err)
	v, err := vault.New(key)
	must(t, err)
	cfg := config{DatabaseURL: s.db, DataDir: s.dir}
	st, err := store.Open(t.Context(), cfg.database(), store.Options{Vault: v})
	must(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}
