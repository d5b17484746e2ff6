package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/providers/apitest"
)

// TestNothingAcknowledgedIsLost kills the server and the database under load,
// again and again: what was acknowledged is stored and applied once, and what was
// queued is done; while the database is away senders are told to come back;
// afterwards it goes on by itself.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	long(t)
	rounds := 5
	if os.Getenv("SLOTKEEPER_SOAK") != "" {
		rounds = 20
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := newStudio(t, "")
		durable(t, "sqlite:"+s.dir+"/slotkeeper.db", map[string]string{"synchronous": "2", "journal_mode": "wal"})
		l := newLoad(t, s)
		for range rounds {
			l.during(t, func() {
				s.kill(t)
				s.start(t)
			})
		}
		l.check(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		s := newStudio(t, c.url())
		durable(t, c.url(), map[string]string{"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"})
		l := newLoad(t, s)
		for range rounds {
			l.during(t, func() {
				s.kill(t)
				s.start(t)
			})
			l.during(t, func() {
				c.kill(t)
				l.refused(t)
				c.start(t)
				s.waitReady(t)
			})
		}
		l.check(t)
	})
}

// durable asserts the live settings of the store's own connections.
func durable(t *testing.T, url string, want map[string]string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(secretKey)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), url, store.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	live, err := st.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if live[name] != value {
			t.Errorf("%s is %q, want %q", name, live[name], value)
		}
	}
}

// load posts deliveries that never come twice and remembers which were
// acknowledged. Every fourth comes from Acuity, and is queued.
type load struct {
	connected
	studio  studio
	next    atomic.Int64
	unready atomic.Int64 // 503 with Retry-After

	mu     sync.Mutex
	acked  map[string][]byte // by event id
	queued map[string]int64  // the appointment, by event id
}

func newLoad(t *testing.T, s studio) *load {
	return &load{connected: s.connect(t, "generic"), studio: s, acked: map[string][]byte{}, queued: map[string]int64{}}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// during runs f while posts go on, and lets some be acknowledged before and
// after. Until f is done Acuity does not answer: what it told of is queued then.
func (l *load) during(t *testing.T, f func()) {
	t.Helper()
	l.studio.Set(apitest.Hanging)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				l.post(t) //nolint:contextcheck // a post under way is not given up
			}
		})
	}
	some := func() {
		before := l.count()
		waitFor(t, "acknowledgements", func() error {
			if n := l.count() - before; n < 40 {
				return fmt.Errorf("%d so far\n%s", n, l.log)
			}
			return nil
		})
	}
	some()
	f()
	l.studio.Set(apitest.Healthy)
	some()
	stop()
	wg.Wait()
}

func (l *load) post(t *testing.T) {
	i := l.next.Add(1)
	from := monday.Add(time.Duration(i) * time.Hour)
	if i%4 == 0 {
		id, posts, err := l.studio.Book(visitor, 1, 1, from)
		if err != nil {
			t.Error(err)
			return
		}
		ack, err := postTo(context.WithoutCancel(t.Context()), posts[0].URL, posts[0].Body, posts[0].Header)
		if l.taken(t, ack, err) {
			l.mu.Lock()
			l.queued[ack.EventID.String()] = id
			l.mu.Unlock()
		}
		return
	}
	body := genericBody("invitee.created", fmt.Sprintf("b-%d", i), "room 1", monday, from, from.Add(time.Hour))
	// A post that is under way is not given up: its answer may still count.
	ack, err := l.send(context.WithoutCancel(t.Context()), body)
	if l.taken(t, ack, err) {
		l.mu.Lock()
		l.acked[ack.EventID.String()] = body
		l.mu.Unlock()
	}
}

// taken tells whether a post was acknowledged. If not, the server is away, or must
// say that the database is.
func (l *load) taken(t *testing.T, ack acknowledgement, err error) bool {
	switch {
	case err != nil:
		return false
	case ack.HTTP == http.StatusServiceUnavailable:
		if ack.RetryAfter == "" || ack.Code != "unavailable" {
			t.Errorf("503 with Retry-After %q and code %q", ack.RetryAfter, ack.Code)
		}
		l.unready.Add(1)
		return false
	case ack.HTTP/100 != 2:
		t.Errorf("answered %d %s", ack.HTTP, ack.Code)
		return false
	}
	return true
}

// refused waits until senders were told to come back.
func (l *load) refused(t *testing.T) {
	t.Helper()
	before := l.unready.Load()
	waitFor(t, "503", func() error {
		if l.unready.Load() == before {
			return fmt.Errorf("nobody was told to come back: %s", last(l.log.String(), 3000))
		}
		return nil
	})
}

// check finds every acknowledged delivery stored and applied once, and that a
// copy of it is known.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.studio.settled(t)
	token := l.token(t, "read")
	receipts := map[string]receiptItem{}
	for _, r := range api[receiptItem](t, l.server, token, "receipts") {
		receipts[r.ID.String()] = r
	}
	applied := map[string]int{}
	for _, tr := range api[transitionItem](t, l.server, token, "transitions") {
		if tr.ReceiptID != nil && tr.Outcome == "applied" {
			applied[tr.ReceiptID.String()]++
		}
	}
	once := func(id string) {
		if r, ok := receipts[id]; !ok || r.Status != "processed" || applied[id] != 1 {
			t.Errorf("acknowledged %s: stored %v, %q, applied %d times", id, ok, r.Status, applied[id])
		}
	}
	for id, body := range l.acked {
		once(id)
		if ack := l.must(t, body); ack.Status != "duplicate" || ack.EventID.String() != id {
			t.Errorf("a copy of %s was answered %+v", id, ack)
		}
	}
	bookings := map[string]bookingItem{}
	for _, b := range api[bookingItem](t, l.server, token, "bookings") {
		bookings[b.ExternalID] = b
	}
	for receipt, id := range l.queued {
		once(receipt)
		a, _ := l.studio.Appointment(id)
		if b := bookings[strconv.FormatInt(id, 10)]; b.Status != "active" || b.StartsAt == nil || !b.StartsAt.Equal(a.Start) {
			t.Errorf("appointment %d at %s is %+v", id, a.Start, b)
		}
	}
	if len(l.queued) == 0 {
		t.Error("nothing was queued")
	}
	t.Logf("%d acknowledged deliveries all stored and applied once, %d queued all fetched; %d were told to come back", len(l.acked), len(l.queued), l.unready.Load())
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }
