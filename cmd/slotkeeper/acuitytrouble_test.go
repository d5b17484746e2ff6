package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers/apitest"
)

// TestAcuityTrouble lets Acuity hang, limit, block and answer garbage for ten
// minutes on end, with a crash of ours while fetches are under way: posts of all
// providers are acknowledged as before, everything is caught up afterwards, as
// Acuity says it last, and Acuity is never asked too often.
func TestAcuityTrouble(t *testing.T) {
	t.Parallel()
	long(t)
	onBothStudios(t, func(t *testing.T, s studio) {
		d := newDay(t, s)
		const calm, bad = 100, 200 // five minutes, and ten
		d.during(t, "before", calm, func(int) {})
		asked := len(s.Requests())
		troubles := []apitest.Trouble{apitest.Hanging, apitest.Limited, apitest.Blocked, apitest.Garbage, apitest.Cut}
		d.during(t, "in trouble", bad, func(i int) {
			part := bad / len(troubles)
			if i%part == 0 {
				s.Set(troubles[i/part])
			}
			if i == part/2 {
				d.crash(t)
			}
		})
		inVain := len(s.Requests()) - asked
		s.Set(apitest.Healthy)
		d.caughtUp(t)
		t.Logf("Acuity was asked %d times while it was in trouble", inVain)
		s.withinLimits(t)
	})
}

// actEvery is the time between two changes at Acuity, which is three seconds of
// its own, and between two posts of each other sender.
const (
	actEvery  = 3 * time.Second / acuityTempo
	postEvery = 20 * time.Millisecond
)

// day is what happens at a studio and at the desks of other providers.
type day struct {
	studio
	desks []connected
	db    *sql.DB
	n     atomic.Int64 // numbers bookings
	away  atomic.Bool  // the server is being killed and started
	again atomic.Int64 // posts that were sent again, for that

	mu    sync.Mutex
	acked []string // the receipts of the desks' posts
	took  map[string][]time.Duration
}

func newDay(t *testing.T, s studio) *day {
	t.Helper()
	d := &day{studio: s, db: s.database(t)}
	for _, name := range []string{"calendly", "calcom", "generic"} {
		d.desks = append(d.desks, s.connect(t, name))
	}
	return d
}

// during has all of them busy for so many changes at Acuity, and logs how long
// acknowledgements took.
func (d *day) during(t *testing.T, name string, changes int, each func(i int)) {
	t.Helper()
	d.took = map[string][]time.Duration{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for k, desk := range d.desks {
		all.Go(func() {
			tick := time.NewTicker(postEvery)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					d.visit(t, desk, k) //nolint:contextcheck // a post under way is not given up
				}
			}
		})
	}
	tick := time.NewTicker(actEvery)
	defer tick.Stop()
	for i := range changes {
		<-tick.C
		each(i)
		d.act(t, i)
	}
	stop()
	all.Wait()
	for _, provider := range []string{"calendly", "calcom", "generic", "acuity"} {
		took := d.took[provider]
		slices.Sort(took)
		if len(took) == 0 {
			t.Errorf("nothing of %s was acknowledged %s", provider, name)
			continue
		}
		t.Logf("%s: %d posts of %s were acknowledged, p50 %s, p99 %s", name, len(took), provider,
			took[len(took)/2].Round(10*time.Microsecond), took[len(took)*99/100].Round(10*time.Microsecond))
	}
}

// visit books an hour that is free at a desk.
func (d *day) visit(t *testing.T, desk connected, k int) {
	n := d.n.Add(1)
	from := monday.Add(time.Duration(k+1) * 50_000 * time.Hour).Add(time.Duration(n) * time.Hour)
	body := desk.body(t, said{kind: "create", id: fmt.Sprintf("visit-%d", n), from: from, at: monday})
	ack := d.post(t, desk.Name(), apitest.Post{URL: desk.webhook(), Header: desk.signed(body), Body: body})
	if ack.Status != "processed" && (ack.Status != "duplicate" || ack.Original != "processed") {
		t.Errorf("a post of %s is answered %+v", desk.Name(), ack)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked = append(d.acked, ack.EventID.String())
}

// act changes something at Acuity, which tells of it: books, moves the one before,
// books, cancels the one before, and so on.
func (d *day) act(t *testing.T, i int) {
	t.Helper()
	var posts []apitest.Post
	var err error
	all := d.Appointments()
	hour := monday.Add(time.Duration(d.n.Add(1)) * time.Hour)
	switch i % 4 {
	case 1:
		posts, err = d.Move(all[len(all)-1], 0, hour)
	case 3:
		posts, err = d.Cancel(all[len(all)-1], false)
	default:
		_, posts, err = d.Book(visitor, 1, 1, hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range posts {
		d.post(t, "acuity", p)
	}
}

// post sends until it is acknowledged, as providers do while nobody answers. All
// other answers are errors, and so is silence of a server that is up.
func (d *day) post(t *testing.T, provider string, p apitest.Post) acknowledgement {
	var ack acknowledgement
	tick := time.NewTicker(postEvery)
	defer tick.Stop()
	for range int(time.Minute / postEvery) {
		away, began := d.away.Load(), time.Now()
		var err error
		if ack, err = postTo(context.WithoutCancel(t.Context()), p.URL, p.Body, p.Header); err == nil {
			took := time.Since(began)
			if ack.HTTP/100 != 2 {
				t.Errorf("a post of %s is answered %d %s", provider, ack.HTTP, ack.Code)
			}
			if !away {
				d.mu.Lock()
				d.took[provider] = append(d.took[provider], took)
				d.mu.Unlock()
			}
			return ack
		}
		if !away && !d.away.Load() {
			t.Errorf("a post of %s: %v", provider, err)
			return ack
		}
		d.again.Add(1)
		<-tick.C
	}
	t.Errorf("a post of %s was never acknowledged", provider)
	return ack
}

// crash kills the server while it fetches, and starts it again.
func (d *day) crash(t *testing.T) {
	t.Helper()
	d.away.Store(true)
	defer d.away.Store(false)
	waitFor(t, "a crash amid a fetch", func() error {
		d.kill(t)
		var running int
		err := d.db.QueryRowContext(t.Context(), "SELECT count(*) FROM river_job WHERE state = 'running'").Scan(&running)
		d.start(t)
		if err == nil && running == 0 {
			err = errors.New("no job was running")
		}
		t.Logf("killed with %d jobs running", running)
		return err
	})
}

// caughtUp waits until all is as Acuity says, and finds what was acknowledged.
func (d *day) caughtUp(t *testing.T) {
	t.Helper()
	began := time.Now()
	waitFor(t, "everything to be caught up", func() error {
		is := map[string]bookingItem{}
		for _, b := range api[bookingItem](t, d.server, d.token, "bookings") {
			is[b.ExternalID] = b
		}
		for _, id := range d.Appointments() {
			a, _ := d.Appointment(id)
			want := "active"
			if a.Canceled {
				want = "canceled"
			}
			if b := is[strconv.FormatInt(id, 10)]; b.Status != want || (!a.Canceled && !b.StartsAt.Equal(a.Start)) {
				return fmt.Errorf("appointment %d is %s at %v, at Acuity %s at %s", id, b.Status, b.StartsAt, want, a.Start)
			}
		}
		return nil
	})
	d.settled(t)
	took := time.Since(began)
	receipts, left := map[string]receiptItem{}, map[string]int{}
	for _, r := range api[receiptItem](t, d.server, d.token, "receipts") {
		receipts[r.ID.String()] = r
		left[r.Status]++
		if r.Status != "processed" && r.Status != "unchanged" {
			t.Errorf("receipt %s is %s: %v", r.EventKey, r.Status, r.Error)
		}
	}
	for _, id := range d.acked {
		if r := receipts[id]; r.Status != "processed" {
			t.Errorf("an acknowledged post is %q", r.Status)
		}
	}
	t.Logf("%d appointments and %d other posts caught up within %s of the wall; %d were sent again; receipts %v",
		len(d.Appointments()), len(d.acked), took.Round(time.Millisecond), d.again.Load(), left)
}

// TestTwoInstancesBehindOneAddress: each process keeps Acuity's limits by itself, so
// that two behind one address ask too often together. Acuity refuses some, both pause,
// and nothing is lost: every appointment comes in.
func TestTwoInstancesBehindOneAddress(t *testing.T) {
	t.Parallel()
	long(t)
	const appointments, tempo = 120, 2
	s := newStudioAt(t, migratetest.EmptyPostgres(t), tempo)
	other := s.second(t)
	began := time.Now()
	for n := range appointments {
		_, posts, err := s.Book(visitor, 1, 1, monday.Add(time.Duration(n)*time.Hour))
		must(t, err)
		for _, p := range posts {
			if n%2 == 1 {
				p.URL = strings.Replace(p.URL, s.url, other.url, 1)
			}
			s.deliverAll(t, []apitest.Post{p})
		}
	}
	s.settled(t)
	refused := 0
	for _, r := range s.Requests() {
		if r.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	t.Logf("%d appointments in %s, %d requests, %d refused", appointments, time.Since(began).Round(100*time.Millisecond), s.Count("/appointments"), refused)
	active := 0
	for _, b := range api[bookingItem](t, s.server, s.token, "bookings") {
		if b.Status == "active" {
			active++
		}
	}
	if active != appointments {
		t.Errorf("%d of %d appointments are active", active, appointments)
	}
}
