package endpoint_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/endpoint"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// tempo makes the three days of the schedule take two seconds.
const tempo = 150_000

var operator = access.By{Actor: "user:00000000-0000-0000-0000-000000000001"}

func now() time.Time { return time.Now().UTC() }

func onBoth(t *testing.T, f func(t *testing.T, h *house)) {
	t.Helper()
	for name, fresh := range map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, &house{Bench: storetest.NewBench(t, fresh(t))})
		})
	}
}

// house is an installation whose endpoints are told.
type house struct{ *storetest.Bench }

// dispatcher tells over a store, and may reach these hosts on private networks.
func dispatcher(t *testing.T, s *store.Store, hosts ...string) *endpoint.Dispatcher {
	t.Helper()
	return dispatcherAt(t, tempo, s, hosts...)
}

func dispatcherAt(t *testing.T, tempo providers.Tempo, s *store.Store, hosts ...string) *endpoint.Dispatcher {
	t.Helper()
	return endpoint.NewDispatcher(optionsAt(t, tempo, s, hosts...))
}

func optionsAt(t *testing.T, tempo providers.Tempo, s *store.Store, hosts ...string) endpoint.Options {
	t.Helper()
	allowed, err := providers.ParseAllowedHosts(strings.Join(hosts, ","))
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewPoster(providers.Outbound{Allowed: allowed, Tempo: tempo}, endpoint.Timeout)
	return endpoint.Options{
		Store: s, Body: web.NewWebhookBodies(s).Body, Sender: endpoint.NewSender(client, now, "Slotkeeper/test"),
		Now: now, Log: slog.New(slog.DiscardHandler), Tempo: tempo,
	}
}

// run starts a dispatcher until the test ends.
func run(t *testing.T, d *endpoint.Dispatcher) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// add keeps an endpoint of a receiver.
func (h *house) add(t *testing.T, r *receiver, change ...func(*booking.Endpoint)) booking.Endpoint {
	t.Helper()
	e := booking.Endpoint{ID: uuid.New(), Name: "CRM", URL: r.URL + "/hook?token=planted", Secret: endpoint.NewSecret(), CreatedBy: operator.Actor, CreatedAt: now()}
	for _, f := range change {
		f(&e)
	}
	if err := h.AddEndpoint(t.Context(), e, operator); err != nil {
		t.Fatal(err)
	}
	r.trust(t, e.Secret)
	return e
}

func (h *house) endpoint(t *testing.T, id uuid.UUID) booking.Endpoint {
	t.Helper()
	e, err := h.Endpoint(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// log is what an endpoint was told, oldest first, with how often it was tried.
func (h *house) log(t *testing.T, id uuid.UUID) (out []booking.Effect) {
	t.Helper()
	all, err := h.Webhooks(t.Context(), id, "", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

// message is one that a receiver took or refused.
type message struct {
	ID, Type, Booking, Trace string
	Seq                      int64
	Status                   int
	Body                     string
}

// receiver is another system: it checks signatures, keeps what came, and answers as it
// is told to.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	keys   []*standardwebhooks.Webhook
	got    []message
	answer func(w http.ResponseWriter, m message, times int) int // nil: 204
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		var said struct {
			Type string
			Data struct {
				Booking    struct{ ID string }
				Transition struct{ Seq int64 }
			}
		}
		if err := json.Unmarshal(body, &said); err != nil {
			t.Errorf("told is %q: %v", body, err)
		}
		m := message{
			ID: q.Header.Get("Webhook-Id"), Type: said.Type, Booking: said.Data.Booking.ID, Seq: said.Data.Transition.Seq,
			Trace: q.Header.Get("Traceparent"), Body: string(body), Status: http.StatusNoContent,
		}
		r.mu.Lock()
		times, signed := 1, false
		for _, k := range r.keys {
			signed = signed || k.Verify(body, q.Header) == nil
		}
		for _, o := range r.got {
			if o.ID == m.ID {
				times++
			}
		}
		answer := r.answer
		r.mu.Unlock()
		if !signed {
			t.Errorf("no signature fits %s", m.ID)
		}
		if answer != nil {
			m.Status = answer(w, m, times)
		}
		r.mu.Lock()
		r.got = append(r.got, m)
		r.mu.Unlock()
		if m.Status != 0 {
			w.WriteHeader(m.Status)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) trust(t *testing.T, secret string) {
	t.Helper()
	k, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, k)
}

func (r *receiver) answers(f func(w http.ResponseWriter, m message, times int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// took are those that it answered well.
func (r *receiver) took() []message {
	return slices.DeleteFunc(r.all(), func(m message) bool { return m.Status/100 != 2 })
}

func host(r *receiver) string {
	u, _ := url.Parse(r.URL)
	return u.Host
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}
