package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// noon is when the tests take place: a Monday in Jakarta.
var noon = time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC)

func id(n byte) uuid.UUID {
	return uuid.UUID{0: 0x01, 6: 0x70, 8: 0x80, 15: n}
}

// records is what is stored, as far as pages and API can see it.
type records struct {
	bookings    []booking.View
	slots       []booking.SlotView
	transitions []booking.TransitionView
	receipts    []booking.ReceiptView
	bodies      map[uuid.UUID][]byte
	copies      map[uuid.UUID][]booking.Copy
	resources   []booking.ResourceView
	about       map[uuid.UUID][]uuid.UUID // bookings by receipt
	failed      map[uuid.UUID]booking.Failing
	blocks      []booking.BlockView
	runs        []booking.Run
	drifts      []booking.Drift
	forms       map[uuid.UUID]booking.KeptForms

	former []booking.FormerPlace

	mu          sync.Mutex
	seq         int64
	looked      int       // how often seq was read
	asked       int       // how often most else was
	house       *accounts // whose admin log is shown
	connections []providers.Connection
	reads       int
	err         error
	panics      bool
}

func (r *records) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *records) failing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.panics {
		panic("a secret in a panic")
	}
	return r.err
}

func within(f booking.Filter, from, to *time.Time) bool {
	if f.From == nil && f.To == nil {
		return true
	}
	return from != nil && (f.From == nil || to.After(*f.From)) && (f.To == nil || from.Before(*f.To))
}

func page[T any](all []T, p booking.Page, keep func(T) bool) (booking.List[T], error) {
	var out booking.List[T]
	at := 0
	if p.Cursor != "" {
		if at = len(p.Cursor); strings.Trim(p.Cursor, "x") != "" {
			return out, &booking.InvalidError{Field: "cursor", Detail: "is not one of ours"}
		}
	}
	var kept []T
	for _, v := range all {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	kept = kept[min(at, len(kept)):]
	if len(kept) > p.Limit {
		kept, out.Next = kept[:p.Limit], strings.Repeat("x", at+p.Limit)
	}
	out.Items = kept
	return out, nil
}

func find[T any](all []T, is func(T) bool) (T, error) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], nil
	}
	var none T
	return none, booking.ErrNotFound
}

func (r *records) Bookings(_ context.Context, f booking.Filter, p booking.Page) (booking.List[booking.View], error) {
	if err := r.failing(); err != nil {
		return booking.List[booking.View]{}, err
	}
	return page(r.bookings, p, func(b booking.View) bool {
		return within(f, b.StartsAt, b.EndsAt) &&
			(f.Provider == "" || f.Provider == b.Provider) &&
			(f.ResourceID == nil || slices.Contains(b.ResourceIDs, *f.ResourceID)) &&
			(f.BookingID == nil || *f.BookingID == b.ID) && mentions(b, f.Text) && f.Scope.Sees(b.ResourceIDs...) &&
			(!f.OpenConflicts || b.Status == booking.Conflicted && !b.OverlapAccepted) &&
			(!f.AcceptedOverlaps || b.Status == booking.Conflicted && b.OverlapAccepted) &&
			(len(f.Statuses) == 0 || slices.Contains(f.Statuses, string(b.Status)))
	})
}

func (r *records) OpenConflicts(ctx context.Context, after time.Time) (int, error) {
	l, err := r.Bookings(ctx, booking.Filter{From: &after, OpenConflicts: true}, booking.Page{Limit: len(r.bookings)})
	return len(l.Items), err
}

func (r *records) BookingsOfReceipts(context.Context, []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	return r.about, nil
}

func (r *records) Failing(_ context.Context, connection uuid.UUID) (booking.Failing, error) {
	return r.failed[connection], nil
}

func (r *records) Booking(_ context.Context, id uuid.UUID) (booking.View, error) {
	if err := r.failing(); err != nil {
		return booking.View{}, err
	}
	return find(r.bookings, func(b booking.View) bool { return b.ID == id })
}

func (r *records) BookingsByID(_ context.Context, ids []uuid.UUID) ([]booking.View, error) {
	l, err := page(r.bookings, booking.Page{Limit: 100}, func(b booking.View) bool { return slices.Contains(ids, b.ID) })
	return l.Items, err
}

func (r *records) Chain(_ context.Context, id uuid.UUID) ([]booking.View, error) {
	l, err := page(r.bookings, booking.Page{Limit: 100}, func(b booking.View) bool { return b.ChainID == id })
	return l.Items, err
}

func (r *records) Slots(_ context.Context, f booking.Filter, p booking.Page) (booking.List[booking.SlotView], error) {
	return page(r.slots, p, func(s booking.SlotView) bool { return within(f, &s.StartsAt, &s.EndsAt) && f.Scope.Sees(s.ResourceID) })
}

func (r *records) keepTransition(f booking.Filter) func(booking.TransitionView) bool {
	return func(t booking.TransitionView) bool {
		return (f.From == nil || !t.RecordedAt.Before(*f.From)) && (f.To == nil || t.RecordedAt.Before(*f.To)) &&
			(f.BookingID == nil || t.BookingID == *f.BookingID) && (f.ReceiptID == nil || t.ReceiptID == *f.ReceiptID) &&
			(f.Outcome == "" || t.Outcome == f.Outcome) && (f.Reason == "" || t.Reason == f.Reason) &&
			(f.Provider == "" || t.Provider == f.Provider) &&
			(f.ConnectionID == nil || t.ConnectionID == *f.ConnectionID) && (f.ResourceID == nil || slices.Contains(t.ResourceIDs, *f.ResourceID)) &&
			(f.Actor == "" || string(t.Actor) == f.Actor) &&
			(f.Text == "" || strings.Contains(strings.ToLower(t.Title+" "+t.Invitee), strings.ToLower(f.Text))) &&
			(!f.Troubled || t.Outcome == booking.Rejected || t.To == booking.Conflicted && t.Event != booking.AcceptOverlap) && f.Scope.Sees(t.ResourceIDs...)
	}
}

func (r *records) Transitions(_ context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	if err := r.failing(); err != nil {
		return booking.List[booking.TransitionView]{}, err
	}
	r.mu.Lock()
	all := r.transitions
	r.mu.Unlock()
	return page(all, p, r.keepTransition(f))
}

func (r *records) Transition(_ context.Context, id uuid.UUID) (booking.TransitionView, error) {
	return find(r.transitions, func(t booking.TransitionView) bool { return t.ID == id })
}

func (r *records) Tally(_ context.Context, f booking.Filter) ([]booking.Tally, error) {
	var out []booking.Tally
	for _, reason := range f.Reasons() {
		f.Reason = reason
		n := 0
		for _, t := range r.transitions {
			if r.keepTransition(f)(t) {
				n++
			}
		}
		if n > 0 {
			out = append(out, booking.Tally{Reason: reason, Count: min(n, booking.MaxTally), More: n > booking.MaxTally})
		}
	}
	return out, nil
}

func (r *records) AdminLog(_ context.Context, f access.EntryFilter, p booking.Page) (booking.List[access.LoggedEntry], error) {
	r.house.mu.Lock()
	defer r.house.mu.Unlock()
	var all []access.LoggedEntry
	for i, e := range r.house.log {
		all = append(all, access.LoggedEntry{Seq: int64(i + 1), Entry: e})
	}
	slices.Reverse(all)
	return page(all, p, func(e access.LoggedEntry) bool {
		return (f.Actor == "" || e.Actor == f.Actor) && (f.Action == "" || e.Action == f.Action) &&
			(f.From == nil || !e.At.Before(*f.From)) && (f.To == nil || e.At.Before(*f.To))
	})
}

func (r *records) Actors(context.Context) (map[booking.Actor]string, error) {
	r.house.mu.Lock()
	defer r.house.mu.Unlock()
	out := map[booking.Actor]string{}
	for _, u := range r.house.users {
		out[u.Principal().Actor()] = u.Name
	}
	return out, nil
}

func (r *records) Receipts(_ context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ReceiptView], error) {
	return page(r.receipts, p, func(v booking.ReceiptView) bool {
		return (f.BookingID == nil || slices.ContainsFunc(r.transitions, func(t booking.TransitionView) bool {
			return t.ReceiptID == v.ID && t.BookingID == *f.BookingID
		})) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, string(v.Status)))
	})
}

func (r *records) Receipt(_ context.Context, id uuid.UUID) (booking.ReceiptView, error) {
	return find(r.receipts, func(v booking.ReceiptView) bool { return v.ID == id })
}

func (r *records) ReceiptBody(_ context.Context, id uuid.UUID) ([]byte, error) {
	return r.bodies[id], nil
}

func (r *records) Forms(_ context.Context, id uuid.UUID) (booking.KeptForms, error) {
	f, kept := r.forms[id]
	if !kept {
		return f, booking.ErrNotFound
	}
	return f, nil
}

func (r *records) KeepForms(ctx context.Context, id uuid.UUID, keep bool, _ access.By) (int64, error) {
	c, err := r.Connection(ctx, id)
	if err != nil {
		return 0, err
	}
	c.KeepForms = keep
	r.put(c)
	return 0, nil
}

func (r *records) Copies(_ context.Context, id uuid.UUID) ([]booking.Copy, error) {
	return r.copies[id], nil
}

func (r *records) Resources(_ context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error) {
	if err := r.failing(); err != nil {
		return booking.List[booking.ResourceView]{}, err
	}
	return page(r.resources, p, func(v booking.ResourceView) bool {
		return (f.ResourceID == nil || v.ID == *f.ResourceID) && f.Scope.Sees(v.ID)
	})
}

func (r *records) Connections(_ context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.err != nil {
		return booking.List[providers.Connection]{}, r.err
	}
	l, err := page(r.connections, p, func(c providers.Connection) bool { return f.Provider == "" || c.Provider == f.Provider })
	for i := range l.Items {
		l.Items[i].Secrets = providers.Secrets{}
	}
	return l, err
}

func (r *records) Connection(_ context.Context, id uuid.UUID) (providers.Connection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.err != nil {
		return providers.Connection{}, r.err
	}
	return find(r.connections, func(c providers.Connection) bool { return c.ID == id })
}

func (r *records) Ready(context.Context) error { return r.failing() }

func (r *records) Backlog(context.Context) (booking.Backlog, error) {
	oldest := noon.Add(-time.Minute)
	return booking.Backlog{Open: map[booking.ReceiptStatus]int{booking.StatusPending: 2}, Oldest: &oldest}, r.failing()
}

// world is a server with everything behind it.
type world struct {
	*httptest.Server
	records   *records
	store     *accounts
	accounts  *access.Accounts
	metrics   *web.Metrics
	logs      *logs
	clock     *clock
	replays   *replays
	alerts    *alerts
	eraser    *eraser
	shelved   *feedShelf
	feeds     *access.Feeds
	endpoints *endpoints
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func accepted(_ context.Context, p booking.Post) (booking.Answer, error) {
	return booking.Answer{ReceiptID: p.ReceiptID, Status: booking.StatusProcessed}, nil
}

func newWorld(t *testing.T, r *records, take intake, change ...func(*web.Deps)) *world {
	t.Helper()
	w := &world{
		records: r, logs: &logs{}, clock: &clock{at: noon},
		store: newAccounts(),
	}
	w.replays = &replays{now: w.clock.now}
	w.alerts, w.eraser = &alerts{}, &eraser{}
	w.endpoints = &endpoints{}
	r.house = w.store
	w.accounts = access.NewAccounts(w.store, w.clock.now)
	w.shelved = &feedShelf{accounts: w.store}
	w.feeds = access.NewFeeds(w.shelved, w.accounts)
	w.metrics = web.NewMetrics([]string{"generic", "calendly"}, r, w.clock.now)
	if take == nil {
		take = accepted
	}
	jakarta, err := time.LoadLocation("Asia/Jakarta")
	if err != nil {
		t.Fatal(err)
	}
	deps := web.Deps{
		Log: slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: w.clock.now,
		Records: r, Accounts: w.accounts, Intake: take, Metrics: w.metrics, Effects: &effects{records: r}, Resources: &registry{records: r}, Overlaps: &overlaps{records: r}, Replays: w.replays, Alerts: w.alerts, Trier: w.alerts, Endpoints: w.endpoints, Tester: w.endpoints, PrivateHosts: func(address string) bool { return address == "10.0.0.7:80" }, Eraser: w.eraser, Feeds: w.feeds, Revisions: r.revisions, Live: web.NewLive(r, slog.New(slog.DiscardHandler)),
		Connect: &connector{records: r, now: w.clock.now}, Senders: r, Forms: r, FormsKept: 90 * 24 * time.Hour,
		Unproven:  web.NewUnproven(&unprovenLedger{posts: map[uuid.UUID]int{}}, w.clock.now, slog.New(slog.DiscardHandler)),
		Providers: map[string]providers.Provider{"generic": house{}, "calendly": house{}},
		EmailKey:  func(string) string { return "hmac" }, Sessions: w.store.shelf,
		PublicURL: &url.URL{Scheme: "http", Host: "slots.example"}, Zone: jakarta, Version: "test",
	}
	for _, f := range change {
		f(&deps)
	}
	handler, err := web.New(deps)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = httptest.NewServer(handler)
	t.Cleanup(w.Close)
	return w
}

const password = "four unrelated words"

// user adds a user without a password and gives a browser that is signed in as
// it: hashing a password for every test would take most of their time.
func (w *world) user(t *testing.T, name string, role access.Role) *http.Client {
	t.Helper()
	u, err := w.accounts.AddUser(t.Context(), access.System, name, role, "")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := w.accounts.SignInLink(t.Context(), access.System, u.ID)
	if err != nil {
		t.Fatal(err)
	}
	browser := w.browser(t)
	if res := w.post(t, browser, web.LinkPath(secret), nil); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in gives %d", res.StatusCode)
	}
	return browser
}

// withPassword adds a user that signs in by password, and signs it in.
func (w *world) withPassword(t *testing.T, name string, role access.Role) *http.Client {
	t.Helper()
	if _, err := w.accounts.AddUser(t.Context(), access.System, name, role, password); err != nil {
		t.Fatal(err)
	}
	browser := w.browser(t)
	res := w.post(t, browser, "/signin", url.Values{"username": {name}, "password": {password}})
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in gives %d", res.StatusCode)
	}
	return browser
}

// browser keeps cookies and does not follow redirects.
func (w *world) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := *w.Client()
	c.Jar = jar
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

type answer struct {
	*http.Response
	body string
}

func (w *world) do(t *testing.T, c *http.Client, r *http.Request) answer {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	// What only keeps a line from ending within a date or a time is no part of a text.
	return answer{res, strings.NewReplacer("\u00a0", " ", "\u2060", "").Replace(string(body))}
}

func (w *world) request(t *testing.T, method, path string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (w *world) get(t *testing.T, c *http.Client, path string, header ...string) answer {
	t.Helper()
	return w.do(t, c, w.request(t, http.MethodGet, path, nil, header...))
}

func (w *world) post(t *testing.T, c *http.Client, path string, form url.Values, header ...string) answer {
	t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)
	return w.do(t, c, w.request(t, http.MethodPost, path, strings.NewReader(form.Encode()), header...))
}
