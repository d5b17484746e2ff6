package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/migrations/migratetest"
)

// ledger is another system that is told of what happens: it keeps what it took, and
// answers each message badly as often as its way is.
type ledger struct {
	*httptest.Server
	name string
	way  func(r *http.Request, times int) int // the answer's status; 0 hangs

	mu    sync.Mutex
	key   *standardwebhooks.Webhook
	tries map[string]int
	took  map[int64]int    // by transition, how often
	ids   map[int64]string // by transition, its message's id
	order map[string][]int64
	wrong int
}

func newLedger(t *testing.T, name string, way func(r *http.Request, times int) int) *ledger {
	t.Helper()
	l := &ledger{name: name, way: way, tries: map[string]int{}, took: map[int64]int{}, ids: map[int64]string{}, order: map[string][]int64{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.take))
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

func (l *ledger) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	var said struct {
		Data struct {
			Transition struct {
				BookingID string `json:"booking_id"`
				Seq       int64
			}
		}
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return
	}
	id, tr := r.Header.Get("Webhook-Id"), said.Data.Transition
	l.mu.Lock()
	if l.key == nil || l.key.Verify(body, r.Header) != nil {
		l.wrong++
	}
	l.tries[id]++
	status := l.way(r, l.tries[id])
	if status/100 == 2 {
		if before := l.ids[tr.Seq]; before != "" && before != id {
			l.wrong++ // one thing under two ids: its receiver would take it twice
		}
		l.ids[tr.Seq] = id
		if l.took[tr.Seq]++; l.took[tr.Seq] == 1 {
			l.order[tr.BookingID] = append(l.order[tr.BookingID], tr.Seq)
		}
	}
	l.mu.Unlock()
	if status == 0 {
		<-r.Context().Done()
		return
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "20")
	}
	w.WriteHeader(status)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.took)
}

func (l *ledger) tried() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.tries {
		n += times
	}
	return n
}

// missing are those of transitions that it did not take.
func (l *ledger) missing(of []transitionItem) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, tr := range of {
		if l.took[tr.Seq] == 0 {
			n++
		}
	}
	return n
}

// disorder counts bookings of which something came before what happened earlier.
func (l *ledger) disorder() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, seqs := range l.order {
		for i := 1; i < len(seqs); i++ {
			if seqs[i] < seqs[i-1] {
				n++
				break
			}
		}
	}
	return n
}

// TestEffectsAreNotLost tells other systems of what happens while both instances are
// killed in turn, and while those systems fail, hang, limit, or are gone: each that
// is there takes everything at least once, under one id, in order for each booking.
func TestEffectsAreNotLost(t *testing.T) {
	t.Parallel()
	long(t)
	first := func(n, status int) func(*http.Request, int) int {
		return func(_ *http.Request, times int) int {
			if times <= n {
				return status
			}
			return http.StatusOK
		}
	}
	// A post that hangs takes a second: every fourth message hangs once.
	hanging := func(r *http.Request, times int) int {
		if times == 1 && strings.ContainsAny(r.Header.Get("Webhook-Id")[:1], "048c") {
			return 0
		}
		return http.StatusOK
	}
	ledgers := []*ledger{
		newLedger(t, "good", first(0, 0)), newLedger(t, "failing", first(3, http.StatusInternalServerError)),
		newLedger(t, "hanging", hanging), newLedger(t, "limiting", first(2, http.StatusTooManyRequests)),
	}
	gone := newLedger(t, "gone", func(*http.Request, int) int { return http.StatusGone })
	var hosts []string
	for _, l := range append([]*ledger{gone}, ledgers...) {
		at, err := url.Parse(l.URL)
		must(t, err)
		hosts = append(hosts, at.Host)
	}
	one := newServer(t, migratetest.EmptyPostgres(t), "SLOTKEEPER_TEMPO=20000", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+strings.Join(hosts, ","))
	two := one.second(t)
	added := map[*ledger]uuid.UUID{}
	for _, l := range append([]*ledger{gone}, ledgers...) {
		var made struct {
			ID     uuid.UUID
			Secret string
		}
		must(t, json.Unmarshal([]byte(one.run(t, "endpoints", "add", "--name", l.name, "--url", l.URL)), &made))
		key, err := standardwebhooks.NewWebhook(made.Secret)
		must(t, err)
		l.mu.Lock()
		l.key = key
		l.mu.Unlock()
		added[l] = made.ID
	}

	l := &told{connected: one.connect(t, "generic"), at: []*server{one, two}}
	ctx, stop := context.WithCancel(t.Context())
	var posting sync.WaitGroup
	for range 4 {
		posting.Go(func() {
			// No faster than it is told: what is to be told in the end is told soon then.
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				if int(3*l.next.Load())-ledgers[0].count() < 60 {
					l.story(t) //nolint:contextcheck // a story under way is not given up
				}
				<-tick.C
			}
		})
	}
	for range 2 {
		for _, s := range l.at {
			before := ledgers[0].count()
			waitFor(t, "messages to be told", func() error {
				if n := ledgers[0].count() - before; n < 40 {
					return fmt.Errorf("%d so far", n)
				}
				return nil
			})
			s.kill(t)
			s.start(t)
		}
	}
	stop()
	posting.Wait()

	token := one.token(t, "read")
	all := api[transitionItem](t, one, token, "transitions")
	for _, to := range ledgers {
		waitFor(t, "everything to be told to the "+to.name+" one", func() error {
			if n := to.missing(all); n > 0 {
				return fmt.Errorf("%d of %d are missing\n%s", n, len(all), last(one.log.String(), 2000))
			}
			return nil
		})
		if n := to.disorder(); n > 0 {
			t.Errorf("the %s one was told of %d bookings out of order", to.name, n)
		}
		t.Logf("%s: %d of %d told, %d tries", to.name, to.count(), len(all), to.tried())
	}
	for _, to := range append([]*ledger{gone}, ledgers...) {
		if to.wrong > 0 {
			t.Errorf("the %s one found %d messages unsigned or under a second id", to.name, to.wrong)
		}
	}
	var kept []endpointJSON
	decode(t, one.run(t, "endpoints", "list", "--json"), &kept)
	for _, e := range kept {
		if off := e.Off != nil; off != (e.ID == added[gone]) {
			t.Errorf("the %s one is off: %v", e.Name, off)
		}
	}
	// One that is gone is one alert, whoever looked and was killed meanwhile.
	db := one.database(t)
	waitFor(t, "the alert", func() error {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM alerts WHERE kind = 'endpoint' AND subject = $1", added[gone].String()).Scan(&n); err != nil || n != 1 {
			return fmt.Errorf("there are %d: %w", n, err)
		}
		return nil
	})
	if gone.count() != 0 || gone.tried() > 50 {
		t.Errorf("whoever is gone was told of %d and tried %d times", gone.count(), gone.tried())
	}
}

// told posts what other systems are to be told of, to whichever instance is there.
type told struct {
	connected
	at   []*server
	next atomic.Int64
}

// story is a booking from its beginning to its end, each step acknowledged before the
// next.
func (l *told) story(t *testing.T) {
	n := l.next.Add(1)
	id, from := fmt.Sprintf("b-%d", n), monday.Add(time.Duration(n)*time.Hour)
	for step, kind := range []string{"invitee.created", "booking.moved", "invitee.canceled"} {
		from := from.Add(time.Duration(step%2) * 15 * time.Minute)
		body := genericBody(kind, id, "room 1", monday.Add(time.Duration(step)*time.Minute), from, from.Add(30*time.Minute))
		for try := 0; ; try++ {
			// What is under way is not given up, nor is a story left in the middle.
			ack, err := l.on(l.at[(int(n)+try)%len(l.at)]).send(context.WithoutCancel(t.Context()), body)
			if err == nil && ack.HTTP/100 == 2 {
				break
			}
		}
	}
}
