package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/providers"
)

const operator booking.Actor = "user:0198c1f0-0000-7000-8000-000000000001"

func asked(at time.Time) access.Entry {
	return access.Entry{At: at, Actor: operator, Remote: "192.0.2.7"}
}

// group applies a Calendly event with three invitees and returns their bookings, in
// order of their names.
func (b *Bench) group(t *testing.T) []booking.View {
	t.Helper()
	b.key(t, b.Conn["calendly"])
	for i, who := range []string{"agus", "dewi", "rina"} {
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, who, i, bt.When("10:00", "11:00"), bt.With("putri"), bt.For(who), bt.In("class"), bt.Room(8)))
	}
	views := b.bookings(t, booking.Filter{})
	slices.SortFunc(views, func(x, y booking.View) int { return strings.Compare(x.ExternalID, y.ExternalID) })
	if len(views) != 3 {
		t.Fatalf("bookings %s", names(views))
	}
	return views
}

// key gives a connection something to call its API with.
func (b *Bench) key(t *testing.T, connection uuid.UUID) {
	t.Helper()
	b.Change(t, connection, providers.Change{API: &providers.Credentials{Token: "a token of " + connection.String()}})
}

func (b *Bench) ask(t *testing.T, id uuid.UUID, confirm int) (booking.Effect, error) {
	t.Helper()
	return b.AskCancel(t.Context(), booking.CancelRequest{
		BookingID: id, Action: uuid.New(), Message: "planted-message", Confirm: confirm, RequestID: "req-7",
	}, asked(Now))
}

// testAskCancel asks once: the effect, the log and the wake-up stand together.
func testAskCancel(t *testing.T, b *Bench) {
	all := b.group(t)
	var woken []booking.Lane
	b.QueueEffectsWith(func(ctx context.Context, tx *sql.Tx, lanes []booking.Lane) error {
		// It sees what the transaction wrote.
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM effects").Scan(&n); err != nil || n == 0 {
			t.Errorf("%d effects in the transaction: %v", n, err)
		}
		woken = append(woken, lanes...)
		return nil
	})
	p, err := b.CancelPlan(t.Context(), all[0].ID)
	if err != nil || len(p.Affected) != 3 || p.ConnectionID != b.Conn["calendly"] || p.Target.ExternalID != "agus" ||
		p.Target.SessionExternalID != "class" || p.Open {
		t.Errorf("plan %+v: %v", p, err)
	}
	if _, err := b.CancelPlan(t.Context(), uuid.New()); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("a plan for nothing: %v", err)
	}
	var unconfirmed *booking.UnconfirmedError
	if _, err := b.ask(t, all[0].ID, 1); !errors.As(err, &unconfirmed) || unconfirmed.Affected != 3 {
		t.Errorf("the wrong number: %v", err)
	}
	if _, err := b.ask(t, uuid.New(), 1); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("no booking: %v", err)
	}
	if len(woken) > 0 {
		t.Errorf("woken for nothing: %v", woken)
	}

	r := booking.CancelRequest{BookingID: all[0].ID, Action: uuid.New(), Message: "planted-message", Confirm: 3, RequestID: "req-7"}
	e, err := b.AskCancel(t.Context(), r, asked(Now))
	if err != nil || e.Seq == 0 || e.Status != booking.EffectPending || e.Actor != operator || e.RequestID != "req-7" ||
		e.BookingID != r.BookingID || e.ConnectionID != b.Conn["calendly"] || e.CreatedAt != Now || e.DueAt != Now || e.Action != r.Action {
		t.Errorf("effect %+v: %v", e, err)
	}
	if len(woken) != 1 || woken[0] != e.Lane {
		t.Errorf("woken %v", woken)
	}
	again, err := b.AskCancel(t.Context(), r, asked(Now.Add(time.Second)))
	if err != nil || again.ID != e.ID || len(woken) != 1 {
		t.Errorf("asked again under one id: %+v: %v", again, err)
	}
	r.BookingID = all[1].ID
	var conflict *booking.ConflictError
	if _, err := b.AskCancel(t.Context(), r, asked(Now)); !errors.As(err, &conflict) {
		t.Errorf("the id of another's request: %v", err)
	}
	if _, err := b.ask(t, all[0].ID, 3); !errors.Is(err, booking.ErrAlreadyAsked) {
		t.Errorf("asked by a second: %v", err)
	}
	if p, err := b.CancelPlan(t.Context(), all[0].ID); err != nil || !p.Open {
		t.Errorf("plan %+v: %v", p, err)
	}
	list, err := b.Effects(t.Context(), all[0].ID)
	if err != nil || len(list) != 1 || list[0].ID != e.ID {
		t.Errorf("effects %+v: %v", list, err)
	}
	of, err := b.EffectsOf(t.Context(), []uuid.UUID{all[1].ID, all[0].ID, all[0].ID})
	if err != nil || len(of) != 1 || len(of[all[0].ID]) != 1 || of[all[0].ID][0].ID != e.ID {
		t.Errorf("effects of several %+v: %v", of, err)
	}
	var logged int
	var sealed []byte
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM admin_log WHERE action = 'booking.cancel_asked' AND subject = 'booking:"+all[0].ID.String()+"'").
		Scan(&logged); err != nil || logged != 1 {
		t.Errorf("%d entries: %v", logged, err)
	}
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT payload FROM effects").Scan(&sealed); err != nil || len(sealed) == 0 || bytes.Contains(sealed, []byte("planted")) {
		t.Errorf("the message lies in clear: %q %v", sealed, err)
	}

	b.QueueEffectsWith(func(context.Context, *sql.Tx, []booking.Lane) error { return errors.New("no queue") })
	if _, err := b.ask(t, all[1].ID, 3); err == nil {
		t.Error("an effect that nobody is woken for")
	}
	if list, err := b.Effects(t.Context(), all[1].ID); err != nil || len(list) != 0 {
		t.Errorf("it stands nevertheless: %+v %v", list, err)
	}
}

// testCancelThrough finds the account that can cancel: the first, or another that
// was told of the booking.
func testCancelThrough(t *testing.T, b *Bench) {
	e := created("one", "10:00", "10:30")
	b.Apply(t, e)
	id := b.bookings(t, booking.Filter{})[0].ID
	through := func() uuid.UUID {
		t.Helper()
		p, err := b.CancelPlan(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return p.ConnectionID
	}
	first := b.Conn["calendly"]
	b.key(t, first)
	second, err := b.Connection(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	second.ID = uuid.New()
	if err := b.CreateConnection(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	b.Change(t, first, providers.Change{Disconnected: &Now})
	if got := through(); got != uuid.Nil {
		t.Errorf("through %s, which knows nothing of it", got)
	}
	var cannot *booking.CannotCancelError
	if _, err := b.ask(t, id, 1); !errors.As(err, &cannot) {
		t.Errorf("without an account: %v", err)
	}
	b.Conn["calendly"] = second.ID
	b.Apply(t, e)
	if got := through(); got != second.ID {
		t.Errorf("through %s", got)
	}
}

// testKeyless offers no cancel through a connection that has nothing to call its API
// with: it would be asked for, fail, and be tried again for hours. One that has is
// taken where there is one, however late it was made.
func testKeyless(t *testing.T, b *Bench) {
	e := created("one", "10:00", "10:30")
	b.Apply(t, e)
	id, first := b.bookings(t, booking.Filter{})[0].ID, b.Conn["calendly"]
	p, err := b.CancelPlan(t.Context(), id)
	var cannot *booking.CannotCancelError
	if err != nil || !p.Keyless || p.ConnectionID != first || !errors.As(p.Refuse(), &cannot) || !strings.Contains(cannot.Detail, "no API credentials") {
		t.Errorf("plan %+v: %v", p, err)
	}
	if _, err := b.ask(t, id, 1); !errors.As(err, &cannot) {
		t.Errorf("asked: %v", err)
	}
	if list, err := b.Effects(t.Context(), id); len(list) > 0 || err != nil {
		t.Errorf("it stands nevertheless: %+v, %v", list, err)
	}
	keyless := func(want bool) {
		t.Helper()
		if all, err := b.KeylessConnections(t.Context()); err != nil || slices.Contains(all, first) != want {
			t.Errorf("without a key are %v, %v", all, err)
		}
	}
	keyless(true)
	second, err := b.Connection(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	second.ID, second.API.Token, second.CreatedAt = uuid.New(), "a token", second.CreatedAt.Add(time.Hour)
	if err := b.CreateConnection(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	keyless(false) // the page that says who is affected looks closer
	b.Conn["calendly"] = second.ID
	b.Apply(t, e)
	if p, err := b.CancelPlan(t.Context(), id); err != nil || p.Keyless || p.ConnectionID != second.ID {
		t.Errorf("plan %+v: %v", p, err)
	}
	b.Change(t, second.ID, providers.Change{Disconnected: &Now})
	keyless(true)
	b.Change(t, first, providers.Change{Disconnected: &Now})
	keyless(false)
}

// testWithdraw takes back what is not done yet, for good, and nothing that somebody is
// at.
func testWithdraw(t *testing.T, b *Bench) {
	all := b.group(t)
	woken := 0
	b.QueueEffectsWith(func(context.Context, *sql.Tx, []booking.Lane) error { woken++; return nil })
	withdraw := func(e booking.Effect, now time.Time) error {
		_, err := b.WithdrawEffect(t.Context(), e.ID, asked(now))
		return err
	}
	queued, err := b.ask(t, all[0].ID, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.WithdrawEffect(t.Context(), queued.ID, asked(Now.Add(time.Second)))
	if err != nil || got.Status != booking.EffectWithdrawn || got.DoneAt == nil || !got.DoneAt.Equal(Now.Add(time.Second)) || woken != 2 {
		t.Errorf("withdrawn %+v, woken %d: %v", got, woken, err)
	}
	if err := withdraw(queued, Now); !errors.Is(err, booking.ErrNothingToWithdraw) {
		t.Errorf("withdrawn twice: %v", err)
	}
	if _, err := b.RetryEffect(t.Context(), queued.ID, asked(Now)); !errors.Is(err, booking.ErrNothingToRetry) {
		t.Errorf("tried again although it is withdrawn: %v", err)
	}
	if _, err := b.ClaimEffect(t.Context(), queued.Lane, Now, Now.Add(time.Minute)); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("taken up although it is withdrawn: %v", err)
	}
	if err := withdraw(booking.Effect{ID: uuid.New()}, Now); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("no effect: %v", err)
	}
	var kept, logged int
	if err := b.SQL.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM effects WHERE payload IS NOT NULL),
		(SELECT count(*) FROM admin_log WHERE action = 'effect.withdrawn' AND subject = 'booking:`+all[0].ID.String()+`')`).Scan(&kept, &logged); err != nil || kept != 0 || logged != 1 {
		t.Errorf("%d messages are kept, %d entries: %v", kept, logged, err)
	}
	if counts, err := b.UndoneEffects(t.Context()); err != nil || len(counts) != 0 {
		t.Errorf("counted as undone: %v, %v", counts, err)
	}

	tried, err := b.ask(t, all[0].ID, 3)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := b.ClaimEffect(t.Context(), tried.Lane, Now, Now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := withdraw(tried, Now.Add(time.Second)); !errors.Is(err, booking.ErrBeingTried) {
		t.Errorf("withdrawn while it is tried: %v", err)
	}
	claimed.Status, claimed.DueAt = booking.EffectFailed, Now.Add(time.Minute)
	if err := b.SettleEffect(t.Context(), claimed, Now); err != nil {
		t.Fatal(err)
	}
	if err := withdraw(tried, Now.Add(time.Second)); err != nil {
		t.Errorf("one that failed: %v", err)
	}
}

// testEffectOrder does a lane's effects one after the other, a failed one holding
// back the next until it is given up, and only one process at each.
func testEffectOrder(t *testing.T, b *Bench) {
	all := b.group(t)
	first, err := b.ask(t, all[0].ID, 3)
	if err != nil {
		t.Fatal(err)
	}
	lane := first.Lane
	other, err := b.ask(t, all[1].ID, 3)
	if err != nil {
		t.Fatal(err)
	}
	// A second effect of the first's lane, as another kind would be.
	if err := b.exec(t, `INSERT INTO effects (id, action, kind, target, booking_id, payload, request_id, actor, status, created_at, due_at)
		SELECT '0198c1f0-0000-7000-8000-00000000000a', '0198c1f0-0000-7000-8000-00000000000b', 'later', target, booking_id, NULL, '', actor, status, created_at, due_at
		FROM effects WHERE id = '`+first.ID.String()+`'`); err != nil {
		t.Fatal(err)
	}
	lease := Now.Add(2 * time.Minute)
	claim := func(l booking.Lane, now time.Time) (booking.Effect, error) {
		return b.ClaimEffect(t.Context(), l, now, now.Add(2*time.Minute))
	}
	notDue := func(what string, at time.Time) {
		t.Helper()
		var early *booking.NotDueError
		if _, err := claim(lane, Now); !errors.As(err, &early) || !early.At.Equal(at) {
			t.Errorf("%s: %v", what, err)
		}
	}
	got, err := claim(lane, Now)
	if err != nil || got.ID != first.ID || got.Attempts != 1 || !strings.Contains(string(got.Payload), "planted-message") {
		t.Fatalf("claimed %+v: %v", got, err)
	}
	notDue("claimed by another", lease)
	if o, err := claim(other.Lane, Now); err != nil || o.ID != other.ID {
		t.Errorf("another lane waits: %+v %v", o, err)
	}
	settle := func(e booking.Effect, status booking.EffectStatus, why string, due time.Time) error {
		e.Status, e.Error, e.DueAt = status, why, due
		return b.SettleEffect(t.Context(), e, Now.Add(time.Second))
	}
	due := Now.Add(time.Minute)
	if err := settle(got, booking.EffectFailed, "the API answered 500", due); err != nil {
		t.Fatal(err)
	}
	notDue("it failed", due)
	if e := b.effect(t, first); e.Status != booking.EffectFailed || e.Error != "the API answered 500" || e.DueAt != due || e.Attempts != 1 {
		t.Errorf("effect %+v", e)
	}

	// Its process dies: the next to come after the lease takes over, and what the
	// dead one says later counts no more.
	late, err := claim(lane, due)
	if err != nil || late.Attempts != 2 {
		t.Fatalf("claimed %+v: %v", late, err)
	}
	next, err := claim(lane, due.Add(2*time.Minute))
	if err != nil || next.ID != first.ID || next.Attempts != 3 {
		t.Fatalf("claimed %+v: %v", next, err)
	}
	if err := settle(late, booking.EffectDone, "", due); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("settled by who lost it: %v", err)
	}
	if _, err := b.RetryEffect(t.Context(), first.ID, asked(due.Add(2*time.Minute))); !errors.Is(err, booking.ErrNothingToRetry) {
		t.Errorf("retried while somebody is at it: %v", err)
	}
	if err := settle(next, booking.EffectDead, "the API answered 403", due); err != nil {
		t.Fatal(err)
	}
	lanes, err := b.OpenLanes(t.Context(), 10)
	if err != nil || len(lanes) != 2 || !slices.Contains(lanes, lane) || !slices.Contains(lanes, other.Lane) {
		t.Errorf("open lanes %v: %v", lanes, err)
	}
	counts, err := b.UndoneEffects(t.Context())
	if err != nil || len(counts) != 3 || !slices.Contains(counts, booking.EffectCount{Kind: booking.EffectCancel, Status: booking.EffectDead, Count: 1}) ||
		!slices.Contains(counts, booking.EffectCount{Kind: "later", Status: booking.EffectPending, Count: 1}) {
		t.Errorf("counts %v: %v", counts, err)
	}

	// A person has it tried again: before the later one, and from the first try on.
	e, err := b.RetryEffect(t.Context(), first.ID, asked(due))
	if err != nil || e.Status != booking.EffectPending || e.DueAt != due || e.Tries() != 0 || e.Attempts != 3 {
		t.Errorf("retried %+v: %v", e, err)
	}
	if _, err := b.RetryEffect(t.Context(), first.ID, asked(due)); !errors.Is(err, booking.ErrNothingToRetry) {
		t.Errorf("retried twice: %v", err)
	}
	if _, err := b.RetryEffect(t.Context(), uuid.New(), asked(due)); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("retried nothing: %v", err)
	}
	got, err = claim(lane, due)
	if err != nil || got.ID != first.ID || got.Tries() != 1 {
		t.Fatalf("claimed %+v: %v", got, err)
	}
	if err := settle(got, booking.EffectDone, "", due); err != nil {
		t.Fatal(err)
	}
	if e := b.effect(t, first); e.Status != booking.EffectDone || e.Error != "" || e.DoneAt == nil || *e.DoneAt != Now.Add(time.Second) {
		t.Errorf("effect %+v", e)
	}
	if _, err := b.RetryEffect(t.Context(), first.ID, asked(due)); !errors.Is(err, booking.ErrNothingToRetry) {
		t.Errorf("retried what is done: %v", err)
	}
	var kept int
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM effects WHERE status = 'done' AND payload IS NOT NULL").Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d messages are kept after they were sent: %v", kept, err)
	}
}

// testRetryBesideAnother does not let a given-up cancel come back while another is
// under way.
func testRetryBesideAnother(t *testing.T, b *Bench) {
	id := b.group(t)[0].ID
	old, err := b.ask(t, id, 3)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := b.ClaimEffect(t.Context(), old.Lane, Now, Now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	claimed.Status = booking.EffectDead
	if err := b.SettleEffect(t.Context(), claimed, Now); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ask(t, id, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RetryEffect(t.Context(), old.ID, asked(Now)); !errors.Is(err, booking.ErrAlreadyAsked) {
		t.Errorf("two cancels of one booking are under way: %v", err)
	}
}

// testClaimRace has two stores on one database take up one effect at once.
func testClaimRace(t *testing.T, b *Bench) {
	all := b.group(t)
	other := Open(t, b.URL)
	for i, v := range all {
		e, err := b.ask(t, v.ID, 3)
		if err != nil {
			t.Fatal(err)
		}
		now := Now.Add(time.Duration(i) * time.Minute)
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for k := range 8 {
			s := b.Store
			if k%2 == 1 {
				s = other
			}
			wg.Go(func() {
				_, err := s.ClaimEffect(t.Context(), e.Lane, now, now.Add(time.Hour))
				var early *booking.NotDueError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case !errors.As(err, &early) && !errors.Is(err, booking.ErrUnavailable):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d took it up", won)
		}
	}
}

func (b *Bench) effect(t *testing.T, of booking.Effect) booking.Effect {
	t.Helper()
	list, err := b.Effects(t.Context(), of.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(e booking.Effect) bool { return e.ID == of.ID })
	if i < 0 {
		t.Fatalf("no effect %s", of.ID)
	}
	return list[i]
}
