package work_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/booking/work"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

// tempo is how much faster than in life the waits go.
const tempo = 200

var tomorrow = time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)

func onBoth(t *testing.T, f func(t *testing.T, d *desk)) {
	t.Helper()
	for name, fresh := range map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newDesk(t, fresh(t)))
		})
	}
}

// desk is an installation, without its pages.
type desk struct {
	*storetest.Bench
	intake    *intake.Intake
	log       *slog.Logger
	providers map[string]providers.Provider
	checked   chan uuid.UUID
	accounts  work.Accounts // idle ones unless a test has others
}

func newDesk(t *testing.T, url string) *desk {
	t.Helper()
	d := &desk{Bench: storetest.NewBench(t, url), log: slog.New(slog.DiscardHandler), providers: map[string]providers.Provider{}, checked: make(chan uuid.UUID, 1)}
	d.accounts = idle{d.checked}
	for _, p := range []providers.Provider{calendly.New(time.Hour), calcom.New(), acuity.New(time.Now, tempo)} {
		d.providers[p.Name()] = p
	}
	d.intake = intake.New(d.Store, intake.Options{Now: now, Log: d.log, Observe: func([]booking.Post, []booking.Answer) {}})
	t.Cleanup(d.intake.Stop)
	return d
}

func now() time.Time { return time.Now().UTC() }

// idle are accounts that nobody reads, and of which is known which were to be checked.
type idle struct{ checked chan<- uuid.UUID }

func (idle) Work(context.Context, uuid.UUID) error      { return nil }
func (idle) Watch(context.Context) (account.Due, error) { return account.Due{}, nil }

func (i idle) CheckAndRepair(_ context.Context, id uuid.UUID) error {
	select {
	case i.checked <- id:
	default: // one is enough to know
	}
	return nil
}

// outcomes counts tries by what became of them.
type outcomes struct {
	mu  sync.Mutex
	all map[booking.EffectStatus]int
}

func (o *outcomes) observe(_ booking.EffectKind, s booking.EffectStatus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[booking.EffectStatus]int{}
	}
	o.all[s]++
}

func (o *outcomes) of(s booking.EffectStatus) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[s]
}

// queue makes a process's queue on a store; it does nothing until it is started.
func (d *desk) queue(t *testing.T, s work.Store, host string) (*work.Queue, *outcomes) {
	t.Helper()
	seen := &outcomes{}
	client := reaching(t, host)
	q, err := work.New(work.Options{
		Store: s, Intake: d.intake, Accounts: d.accounts, Providers: d.providers, Client: client, EmailKey: emailKey, Now: now, Log: d.log, Tempo: tempo,
		Effects: work.EffectOptions{
			Observe: seen.observe,
			Cancel: func(ctx context.Context, id uuid.UUID, to providers.CancelTarget, message string) error {
				c, err := d.Connection(ctx, id)
				if err != nil {
					return err
				}
				api, ok := d.providers[c.Provider].(providers.Account)
				if !ok {
					return account.ErrCannotAsk
				}
				return api.Cancel(ctx, client, c, to, message)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return q, seen
}

func start(t *testing.T, q *work.Queue) {
	t.Helper()
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := q.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

func emailKey(email string) string { return "key of " + email }

func (d *desk) connect(t *testing.T, c providers.Connection) providers.Connection {
	t.Helper()
	c.ID, c.Name, c.CreatedAt = uuid.New(), c.Provider, now()
	if c.Secrets.Current == "" {
		c.Secrets.Current = "a secret that is long enough"
	}
	if err := d.CreateConnection(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// reaching is a client that may call a stand-in.
func reaching(t *testing.T, host string) *http.Client {
	t.Helper()
	allowed, err := providers.ParseAllowedHosts(host)
	if err != nil {
		t.Fatal(err)
	}
	return providers.NewClient(providers.Outbound{Allowed: allowed, Tempo: tempo, Now: now})
}

func hostOf(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// receive takes posts as the webhook handler does.
func (d *desk) receive(t *testing.T, c providers.Connection, posts ...apitest.Post) {
	t.Helper()
	for _, p := range posts {
		r := providers.Request{Header: p.Header, Body: p.Body}
		delivery := d.providers[c.Provider].Parse(r, providers.Origin{Source: c.Source(), ConnectionID: c.ID, EmailKey: emailKey})
		delivery.ReceiptID = uuid.New()
		a, err := d.intake.Take(t.Context(), booking.Post{Delivery: delivery, Body: p.Body, VerifiedBy: providers.ByCurrent, ReceivedAt: now()})
		if err != nil || a.Status == booking.StatusFailed {
			t.Fatalf("answered %+v, %v", a, err)
		}
	}
}

func (d *desk) bookings(t *testing.T) map[string]booking.View {
	t.Helper()
	out := map[string]booking.View{}
	l, err := d.Bookings(t.Context(), booking.Filter{}, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range l.Items {
		out[v.Invitee.Name] = v
	}
	return out
}

func (d *desk) ask(t *testing.T, id uuid.UUID, confirm int) booking.Effect {
	t.Helper()
	e, err := d.AskCancel(t.Context(), booking.CancelRequest{
		BookingID: id, Action: uuid.New(), Message: "Maren is ill.", Confirm: confirm, RequestID: "req-1",
	}, entry())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func entry() access.Entry {
	return access.Entry{At: now().Truncate(time.Microsecond), Actor: "user:0198c1f0-0000-7000-8000-000000000001"}
}

func (d *desk) effect(t *testing.T, of booking.Effect) booking.Effect {
	t.Helper()
	list, err := d.Effects(t.Context(), of.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(e booking.Effect) bool { return e.ID == of.ID })
	return list[i]
}

// serve runs a stand-in.
func serve(t *testing.T, s interface {
	Start(ctx context.Context) error
	Close() error
},
) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
}

// until asks again and again.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	over := time.After(45 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// waitFor asks until an effect is as wanted.
func (d *desk) waitFor(t *testing.T, of booking.Effect, want booking.EffectStatus) booking.Effect {
	t.Helper()
	var e booking.Effect
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the effect is %s after %d attempts: %s", e.Status, e.Attempts, e.Error)
		}
	})
	until(t, "the effect is "+string(want), func() bool {
		e = d.effect(t, of)
		return e.Status == want
	})
	return e
}

// studio is a Calendly account with a group of three.
type studio struct {
	*calendlytest.Server
	conn  providers.Connection
	event string
}

const calendlyToken = "calendly-token-0123456789"

func newStudio(t *testing.T, d *desk) *studio {
	t.Helper()
	s := &studio{Server: calendlytest.New(calendlytest.Options{Token: calendlyToken, Tempo: tempo, Now: now})}
	serve(t, s)
	s.conn = d.connect(t, providers.Connection{Provider: "calendly", APIBase: s.APIBase(), API: providers.Credentials{Token: calendlyToken}})
	target := "https://slots.example/webhooks/calendly/" + s.conn.ID.String()
	client := reaching(t, hostOf(t, s.APIBase()))
	api := calendly.New(time.Hour)
	p, err := api.Identify(t.Context(), client, s.conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Subscribe(t.Context(), client, s.conn, target, p); err != nil {
		t.Fatal(err)
	}
	s.event = s.Open(calendlytest.Session{Name: "Prenatal class", Start: tomorrow, End: tomorrow.Add(time.Hour), Limit: 8})
	for _, who := range []string{"Priya Raman", "Lena Brandt", "Kofi Mensah"} {
		s.join(t, d, who)
	}
	return s
}

func (s *studio) join(t *testing.T, d *desk, who string) {
	t.Helper()
	_, posts, err := s.Join(s.event, who, strings.ToLower(strings.ReplaceAll(who, " ", "."))+"@mail.example")
	if err != nil {
		t.Fatal(err)
	}
	d.receive(t, s.conn, posts...)
}

func (s *studio) cancels() int { return s.Count("/cancellation") }

// A Calendly group goes whole: an API that is down is asked again, what it then
// does is told by its webhook alone, and both stay once each.
func TestCancelAGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		q, seen := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, q)
		s.Set(apitest.Unavailable, "/cancellation")
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		failed := d.waitFor(t, e, booking.EffectFailed)
		if !strings.Contains(failed.Error, "503") || failed.Attempts == 0 || !failed.DueAt.After(failed.CreatedAt) {
			t.Errorf("failed: %+v", failed)
		}
		s.Set(apitest.Healthy)
		done := d.waitFor(t, e, booking.EffectDone)
		if done.DoneAt == nil || done.Error != "" || done.RequestID != "req-1" {
			t.Errorf("done: %+v", done)
		}
		for who, b := range d.bookings(t) {
			if b.Status != booking.Active {
				t.Errorf("%s is %s before the webhook", who, b.Status)
			}
		}
		posts := s.Outbox()
		if len(posts) != 3 || !strings.Contains(string(posts[0].Body), "Maren is ill.") {
			t.Errorf("%d posts follow", len(posts))
		}
		d.receive(t, s.conn, posts...)
		for who, b := range d.bookings(t) {
			if b.Status != booking.Canceled {
				t.Errorf("%s is %s after the webhook", who, b.Status)
			}
		}
		until(t, "the effect is counted", func() bool { return seen.of(booking.EffectDone) > 0 })
		if seen.of(booking.EffectDone) != 1 || seen.of(booking.EffectFailed) == 0 || seen.of(booking.EffectDead) > 0 {
			t.Errorf("outcomes %v", seen.all)
		}
	})
}

// Whoever joined after the number was confirmed is not canceled along.
func TestCancelReachesNobodyElse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		s.join(t, d, "Ines Duarte")
		q, _ := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, q) // finds what is open
		dead := d.waitFor(t, e, booking.EffectDead)
		if dead.Error != booking.ErrJoined.Error() || s.cancels() > 0 {
			t.Errorf("%q after %d calls", dead.Error, s.cancels())
		}
		d.waitFor(t, d.ask(t, e.BookingID, 4), booking.EffectDone)
	})
}

// A refusal is shown at once, and a person has it tried again.
func TestCancelIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		q, _ := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, q)
		s.Set(apitest.Forbidden, "/cancellation")
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		if dead := d.waitFor(t, e, booking.EffectDead); dead.Attempts != 1 || !strings.Contains(dead.Error, "403") {
			t.Errorf("%+v", dead)
		}
		s.Set(apitest.Healthy)
		if _, err := d.RetryEffect(t.Context(), e.ID, entry()); err != nil {
			t.Fatal(err)
		}
		if done := d.waitFor(t, e, booking.EffectDone); done.Attempts != 2 || done.Tries() != 1 {
			t.Errorf("%+v", done)
		}
	})
}

// An API that asks to be left alone is, and asked again after that.
func TestCancelWaitsForTheLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		q, _ := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, q)
		s.Set(apitest.Limited, "/cancellation")
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		d.waitFor(t, e, booking.EffectFailed)
		s.Set(apitest.Healthy)
		d.waitFor(t, e, booking.EffectDone)
	})
}

// dying is a process that ends after the provider has canceled and before that is
// noted.
type dying struct {
	*store.Store
	mu   sync.Mutex
	died bool
}

func (d *dying) SettleEffect(ctx context.Context, e booking.Effect, now time.Time) error {
	d.mu.Lock()
	first := !d.died
	d.died = true
	d.mu.Unlock()
	if first {
		return fmt.Errorf("the process died: %w", booking.ErrUnavailable)
	}
	return d.Store.SettleEffect(ctx, e, now)
}

// What was done and not noted is done again, and found done.
func TestCancelAfterACrash(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		q, seen := d.queue(t, &dying{Store: d.Store}, hostOf(t, s.APIBase()))
		start(t, q)
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		done := d.waitFor(t, e, booking.EffectDone)
		// It is counted after it is noted.
		until(t, "the effect is counted", func() bool { return seen.of(booking.EffectDone) > 0 })
		if done.Attempts != 2 || s.cancels() != 2 || len(s.Outbox()) != 3 || seen.of(booking.EffectDone) != 1 {
			t.Errorf("%d attempts, %d calls", done.Attempts, s.cancels())
		}
	})
}

// Two processes on one database never do one effect at once, and leave none.
func TestTwoProcessesCancel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		const many = 12
		host := calendlytest.Host{ID: "maren", Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example"}
		for i := range many {
			from := tomorrow.Add(time.Duration(i+2) * time.Hour)
			_, posts, err := s.Book(fmt.Sprint("Guest ", i), fmt.Sprintf("guest%d@mail.example", i), host, from, from.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			d.receive(t, s.conn, posts...)
		}
		first, seen := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, first)
		other := storetest.Open(t, d.URL)
		second, also := d.queue(t, other, hostOf(t, s.APIBase()))
		start(t, second)
		var all []booking.Effect
		for who, b := range d.bookings(t) {
			if strings.HasPrefix(who, "Guest") {
				all = append(all, d.ask(t, b.ID, 1))
			}
		}
		for _, e := range all {
			if done := d.waitFor(t, e, booking.EffectDone); done.Attempts != 1 {
				t.Errorf("%d attempts", done.Attempts)
			}
		}
		until(t, "all are counted", func() bool { return seen.of(booking.EffectDone)+also.of(booking.EffectDone) >= many })
		if len(all) != many || s.cancels() != many || seen.of(booking.EffectDone)+also.of(booking.EffectDone) != many {
			t.Errorf("%d effects, %d calls, done %d and %d", len(all), s.cancels(), seen.of(booking.EffectDone), also.of(booking.EffectDone))
		}
	})
}

// A seat of Cal.com goes alone.
func TestCancelASeat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const key = "cal_live_0123456789"
		c := calcomtest.New(calcomtest.Options{
			Key: key, Tempo: tempo, Now: now,
			User: calcomtest.Host{ID: 7, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Username: "maren", Timezone: "Europe/Berlin"},
		})
		serve(t, c)
		q, _ := d.queue(t, d.Store, hostOf(t, c.APIBase()))
		start(t, q)
		conn := d.connect(t, providers.Connection{Provider: "calcom", APIBase: c.APIBase(), API: providers.Credentials{Token: key}})
		c.AddWebhook(calcomtest.Webhook{
			URL: "https://slots.example/x", Secret: conn.Secrets.Current, Active: true,
			Triggers: []string{"BOOKING_CREATED", "BOOKING_CANCELLED"},
		})
		c.AddEventType(calcomtest.EventType{ID: 3, Slug: "yoga", Title: "Yoga", Minutes: 60, Seats: 8})
		var uid string
		for _, who := range []string{"Lena Brandt", "Kofi Mensah"} {
			var posts []apitest.Post
			var err error
			email := strings.ToLower(strings.ReplaceAll(who, " ", ".")) + "@mail.example"
			if uid, posts, err = c.Book(3, calcomtest.Person{Name: who, Email: email, Timezone: "Europe/Berlin"}, tomorrow); err != nil {
				t.Fatal(err)
			}
			d.receive(t, conn, posts...)
		}
		d.waitFor(t, d.ask(t, d.bookings(t)["Kofi Mensah"].ID, 1), booking.EffectDone)
		if b, _ := c.Booking(uid); b.Status != calcomtest.Accepted || len(b.Seats) != 1 || b.Seats[0].Name != "Lena Brandt" {
			t.Errorf("at Cal.com stands %+v", b)
		}
		d.receive(t, conn, c.Outbox()...)
		if all := d.bookings(t); all["Kofi Mensah"].Status != booking.Canceled || all["Lena Brandt"].Status != booking.Active {
			t.Errorf("Kofi is %s, Lena %s", all["Kofi Mensah"].Status, all["Lena Brandt"].Status)
		}
	})
}

// newClasses is an account at Acuity with a class, type 21 in calendar 11, and a queue
// at work on what it posts.
func newClasses(t *testing.T, d *desk) (*acuitytest.Server, providers.Connection) {
	t.Helper()
	const key = "acuity-key-0123456789"
	a := acuitytest.New(acuitytest.Options{UserID: "4711", APIKey: key, Tempo: tempo, Now: now})
	serve(t, a)
	q, _ := d.queue(t, d.Store, hostOf(t, a.APIBase()))
	start(t, q)
	conn := d.connect(t, providers.Connection{
		Provider: "acuity", APIBase: a.APIBase(), API: providers.Credentials{User: "4711"}, Secrets: providers.Secrets{Current: key},
	})
	a.AddHook(acuitytest.Hook{URL: "https://slots.example/x", Key: key, Events: []string{"scheduled", "canceled", "changed"}})
	a.AddCalendar(acuitytest.Calendar{ID: 11, Name: "Ines Duarte", Email: "ines.duarte@harbourclinic.example", Timezone: "Europe/Lisbon"})
	a.AddType(acuitytest.Type{ID: 21, Name: "Prenatal class", Minutes: 60, ClassSize: 8})
	return a, conn
}

// Of an Acuity class one appointment goes.
func TestCancelAnAppointment(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		a, conn := newClasses(t, d)
		ids := map[string]int64{}
		for _, who := range []string{"Lena", "Kofi"} {
			id, posts, err := a.Book(acuitytest.Client{FirstName: who, Email: strings.ToLower(who) + "@mail.example"}, 21, 11, tomorrow)
			if err != nil {
				t.Fatal(err)
			}
			ids[who] = id
			d.receive(t, conn, posts...)
		}
		until(t, "both appointments are fetched", func() bool { return len(d.bookings(t)) == 2 })
		d.waitFor(t, d.ask(t, d.bookings(t)["Kofi"].ID, 1), booking.EffectDone)
		kofi, _ := a.Appointment(ids["Kofi"])
		lena, _ := a.Appointment(ids["Lena"])
		if !kofi.Canceled || kofi.CancelNote != "Maren is ill." || lena.Canceled {
			t.Errorf("at Acuity stand %+v and %+v", kofi, lena)
		}
		d.receive(t, conn, a.Due()...)
		until(t, "the webhook is applied", func() bool { return d.bookings(t)["Kofi"].Status == booking.Canceled })
		if is := d.bookings(t)["Lena"].Status; is != booking.Active {
			t.Errorf("Lena is %s", is)
		}
	})
}

var _ work.Store = (*dying)(nil)

// Effects are asked for without a queue too, as commands do.
func TestAskedWithoutAQueue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		s := newStudio(t, d)
		d.QueueEffectsWith(func(context.Context, *sql.Tx, []booking.Lane) error { return nil })
		e := d.ask(t, d.bookings(t)["Lena Brandt"].ID, 3)
		q, _ := d.queue(t, d.Store, hostOf(t, s.APIBase()))
		start(t, q)
		d.waitFor(t, e, booking.EffectDone)
	})
}
