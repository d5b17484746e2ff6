package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
)

const (
	endpointURL    = "https://crm.example/hook?token=planted-url"
	endpointSecret = "whsec_cGxhbnRlZC1zZWNyZXQtcGxhbnRlZC1zZWNyZXQ="
)

func addEndpoint(t *testing.T, b *storetest.Bench, change ...func(*booking.Endpoint)) booking.Endpoint {
	t.Helper()
	e := booking.Endpoint{ID: uuid.New(), Name: "CRM", URL: endpointURL, Secret: endpointSecret, CreatedBy: operator.Actor, CreatedAt: storetest.Now}
	for _, f := range change {
		f(&e)
	}
	if err := b.AddEndpoint(t.Context(), e, operator); err != nil {
		t.Fatal(err)
	}
	got, err := b.Endpoint(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// asked asks for telling an endpoint what is new, until there is nothing.
func asked(t *testing.T, b *storetest.Bench, id uuid.UUID) booking.Endpoint {
	t.Helper()
	for {
		e, err := b.Endpoint(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		cursor, err := b.AskWebhooks(t.Context(), e, storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		if cursor == e.Cursor {
			return e
		}
	}
}

// webhooks are what an endpoint is to be told, oldest first.
func webhooks(t *testing.T, b *storetest.Bench, id uuid.UUID) string {
	t.Helper()
	asked(t, b, id)
	all, err := b.Webhooks(t.Context(), id, "", 0, 2000)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	var out []string
	for _, m := range all {
		out = append(out, string(m.Event))
	}
	return strings.Join(out, " ")
}

// An endpoint is told of what happens from when it was added, of the resources that it
// is narrowed to, also that a booking leaves one; asked for twice it is told once.
func TestEndpointIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "early", 0, bt.When("07:00", "08:00"), bt.With("putri")))
		whole := addEndpoint(t, b)
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "other", 1, bt.When("07:00", "08:00"), bt.With("maren")))
		putri := addEndpoint(t, b, func(e *booking.Endpoint) { e.Resources = []uuid.UUID{resourceOf("putri")} })
		chosen := addEndpoint(t, b, func(e *booking.Endpoint) { e.Events = []booking.EndpointEvent{booking.EventCanceled} })
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 2, bt.When("09:00", "10:00"), bt.With("putri")))
		b.Apply(t, bt.New(bt.Calendly, booking.KindMoved, "a", 3, bt.When("09:00", "10:00"), bt.With("maren")))
		b.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "other", 4, bt.When("07:00", "08:00"), bt.With("maren")))
		for _, tt := range []struct {
			name string
			id   uuid.UUID
			want string
		}{
			{"all", whole.ID, "booking.active booking.active booking.moved booking.canceled"},
			{"of a resource", putri.ID, "booking.active booking.moved"},
			{"of cancels", chosen.ID, "booking.canceled"},
		} {
			if got := webhooks(t, b, tt.id); got != tt.want {
				t.Errorf("%s: %s", tt.name, got)
			}
		}
		// Whoever reads an old cursor asks for nothing.
		if cursor, err := b.AskWebhooks(t.Context(), whole, storetest.Now); err != nil || cursor != whole.Cursor {
			t.Errorf("an old cursor is moved to %d: %v", cursor, err)
		}
		if got := webhooks(t, b, whole.ID); strings.Count(got, " ") != 3 {
			t.Errorf("told twice: %s", got)
		}
	})
}

// What is more than enough stays in the ledger until some of it is done.
func TestEndpointBacklog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		e := addEndpoint(t, b)
		for part := range 3 {
			var set []booking.Post
			for i := range 400 {
				id := fmt.Sprint("b", part, "-", i)
				set = append(set, b.Post(bt.New(bt.Calendly, booking.KindCreated, id, 1, bt.When("10:00", "10:30"), bt.With(id))))
			}
			b.ApplyPosts(t, set...)
		}
		e = asked(t, b, e.ID)
		all, err := b.Webhooks(t.Context(), e.ID, booking.EffectPending, 0, 2000)
		if err != nil || len(all) != booking.EndpointBacklog {
			t.Fatalf("%d are open: %v", len(all), err)
		}
		due, err := b.ClaimWebhooks(t.Context(), e.ID, 50, storetest.Now, storetest.Now.Add(time.Minute))
		if err != nil || len(due) != 50 {
			t.Fatalf("%d are due: %v", len(due), err)
		}
		for _, m := range due {
			m.Status = booking.EffectDone
			if _, err := b.SettleWebhook(t.Context(), m, booking.Attempt{Effect: m.ID, Number: m.Attempts, At: storetest.Now, Status: 200}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.SettleWebhook(t.Context(), m, booking.Attempt{Effect: m.ID, Number: m.Attempts, At: storetest.Now, Status: 200}); !errors.Is(err, booking.ErrNotFound) {
				t.Fatalf("settled twice: %v", err)
			}
		}
		if after := asked(t, b, e.ID); after.Cursor != e.Cursor+50 {
			t.Errorf("the cursor went from %d to %d", e.Cursor, after.Cursor)
		}
	})
}

// A connection that fails and works again is told once each, in that order, to those
// who hear of it.
func TestEndpointsHearOfConnections(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		e := addEndpoint(t, b)
		off := addEndpoint(t, b)
		if err := b.SwitchEndpoint(ctx, off.ID, false, false, operator, now); err != nil {
			t.Fatal(err)
		}
		trouble := []booking.Trouble{{Kind: booking.TroubleConnection, Subject: b.Conn["calendly"].String(), Detail: "needs_sign_in", Count: 3, Since: now.Add(-time.Hour)}}
		for _, step := range []struct {
			troubles []booking.Trouble
			after    time.Duration
		}{{trouble, 0}, {trouble, time.Minute}, {nil, 2 * time.Minute}, {nil, time.Hour}, {nil, 2 * time.Hour}} {
			if _, err := b.FollowAlerts(ctx, step.troubles, now.Add(step.after)); err != nil {
				t.Fatal(err)
			}
		}
		if got := webhooks(t, b, e.ID); got != "connection.failing connection.recovered" {
			t.Errorf("told are %q", got)
		}
		// One that is off hears of it later.
		if due, err := b.ClaimWebhooks(ctx, off.ID, 8, now.Add(3*time.Hour), now.Add(4*time.Hour)); err != nil || len(due) != 0 {
			t.Errorf("one that is off is told %+v: %v", due, err)
		}
		if err := b.SwitchEndpoint(ctx, off.ID, true, false, operator, now); err != nil {
			t.Fatal(err)
		}
		if got := webhooks(t, b, off.ID); got != "connection.failing connection.recovered" {
			t.Errorf("one that was off is told %q", got)
		}
		due, err := b.ClaimWebhooks(ctx, e.ID, 8, now.Add(3*time.Hour), now.Add(4*time.Hour))
		if err != nil || len(due) != 1 || due[0].Event != booking.EventFailing || due[0].ConnectionID != b.Conn["calendly"] || !strings.Contains(string(due[0].Payload), "needs_sign_in") {
			t.Errorf("due are %+v: %v", due, err)
		}
	})
}

// What is gone or was switched off by itself is an alert; what a person switched off
// is none.
func TestEndpointTroubles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		gone, failing, byHand := addEndpoint(t, b), addEndpoint(t, b), addEndpoint(t, b)
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 2, bt.When("09:00", "10:00"), bt.With("putri")))
		for e, status := range map[uuid.UUID]int{gone.ID: 410, failing.ID: 500} {
			asked(t, b, e)
			due, err := b.ClaimWebhooks(ctx, e, 8, now, now.Add(time.Minute))
			if err != nil || len(due) != 1 {
				t.Fatalf("due are %+v: %v", due, err)
			}
			due[0].Status = booking.EffectFailed
			a := booking.Attempt{Effect: due[0].ID, Number: 1, At: now, Status: status, Cause: booking.AttemptRefused, Error: "no", Answer: "planted answer"}
			if off, err := b.SettleWebhook(ctx, due[0], a); err != nil || (off == booking.OffGone) != (status == 410) {
				t.Fatalf("%d switches off: %q, %v", status, off, err)
			}
		}
		if err := b.SwitchEndpoint(ctx, byHand.ID, false, false, operator, now); err != nil {
			t.Fatal(err)
		}
		found := func(at time.Time) string {
			all, err := b.Troubles(ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, v := range all {
				if v.Kind == booking.TroubleEndpoint {
					out = append(out, strings.NewReplacer(gone.ID.String(), "gone", failing.ID.String(), "failing").Replace(v.Subject)+":"+v.Detail)
				}
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		if got := found(now); got != "gone:off_gone" {
			t.Errorf("at once there are %q", got)
		}
		if got := found(now.Add(time.Minute)); got != "failing: gone:off_gone" {
			t.Errorf("once it was tried again there are %q", got)
		}
	})
}

// What is measured of endpoints: what is open, by an index that has nothing else, and
// who is off; of those that were removed nothing.
func TestEndpointQueues(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		if got, err := b.EndpointQueues(ctx); err != nil || got != nil {
			t.Errorf("of none there are %+v: %v", got, err)
		}
		told, off, gone := addEndpoint(t, b), addEndpoint(t, b), addEndpoint(t, b)
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00"), bt.With("putri")))
		b.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "a", 2, bt.When("09:00", "10:00"), bt.With("putri")))
		for _, e := range []booking.Endpoint{told, off, gone} {
			asked(t, b, e.ID)
		}
		due, err := b.ClaimWebhooks(ctx, told.ID, 8, now, now.Add(time.Minute))
		if err != nil || len(due) != 1 {
			t.Fatalf("due are %+v: %v", due, err)
		}
		due[0].Status = booking.EffectDone
		if _, err := b.SettleWebhook(ctx, due[0], booking.Attempt{Effect: due[0].ID, Number: 1, At: now, Status: 200}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.SwitchEndpoint(ctx, off.ID, false, false, operator, now), b.RemoveEndpoint(ctx, gone.ID, operator, now)); err != nil {
			t.Fatal(err)
		}
		got, err := b.EndpointQueues(ctx)
		if err != nil || len(got) != 2 {
			t.Fatalf("there are %+v: %v", got, err)
		}
		for _, q := range got {
			want := booking.EndpointQueue{ID: told.ID, Waiting: 1}
			if q.ID == off.ID {
				want = booking.EndpointQueue{ID: off.ID, Waiting: 2, Off: booking.OffByHand}
			}
			if q.Oldest == nil || !q.Oldest.Equal(now) {
				t.Errorf("the oldest is of %v", q.Oldest)
			}
			if q.Oldest = nil; q != want {
				t.Errorf("there is %+v, want %+v", q, want)
			}
		}
	})
}

// One that is removed is told nothing more, its URL and secrets are not kept, and in
// time all that was told goes.
func TestEndpointLeavesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		e := addEndpoint(t, b)
		if err := b.RotateEndpoint(ctx, e.ID, endpointSecret+"new", operator, now); err != nil {
			t.Fatal(err)
		}
		var conflict *booking.ConflictError
		if err := b.RotateEndpoint(ctx, e.ID, "x", operator, now); !errors.As(err, &conflict) {
			t.Errorf("rotated twice: %v", err)
		}
		b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 2, bt.When("09:00", "10:00"), bt.With("putri"), bt.For("dewi")))
		asked(t, b, e.ID)
		due, err := b.ClaimWebhooks(ctx, e.ID, 8, now, now.Add(time.Minute))
		if err != nil || len(due) != 1 {
			t.Fatalf("due are %+v: %v", due, err)
		}
		due[0].Status = booking.EffectFailed
		a := booking.Attempt{Effect: due[0].ID, Number: 1, At: now, Status: 500, Cause: booking.AttemptRefused, Error: "answered 500", Answer: "who is that?"}
		if _, err := b.SettleWebhook(ctx, due[0], a); err != nil {
			t.Fatal(err)
		}
		tries := func() []booking.Attempt {
			all, err := b.Attempts(ctx, []uuid.UUID{due[0].ID})
			if err != nil {
				t.Fatal(err)
			}
			return all[due[0].ID]
		}
		if got := tries(); len(got) != 1 || got[0] != a {
			t.Errorf("kept is %+v", got)
		}
		if err := b.RemoveEndpoint(ctx, e.ID, operator, now); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Endpoint(ctx, e.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("what was removed is found: %v", err)
		}
		var sealed int
		if err := b.SQL.QueryRowContext(ctx, "SELECT length(url) + length(secret) + coalesce(length(old_secret), 0) FROM endpoints").Scan(&sealed); err != nil || sealed != 0 {
			t.Errorf("%d bytes of secrets are kept: %v", sealed, err)
		}
		all, err := b.Webhooks(ctx, e.ID, "", 0, 10)
		if err != nil || len(all) != 1 || all[0].Status != booking.EffectWithdrawn {
			t.Errorf("to be told is %+v: %v", all, err)
		}
		for i, after := range []time.Duration{29 * 24 * time.Hour, 31 * 24 * time.Hour} {
			if run, err := b.Retain(ctx, booking.Keep{Messages: 30 * 24 * time.Hour}, now.Add(after), inTurn); err != nil || run.Messages != int64(i) {
				t.Errorf("after %s: %+v, %v", after, run, err)
			}
		}
		if all, err := b.Webhooks(ctx, e.ID, "", 0, 10); err != nil || len(all) != 0 || len(tries()) != 0 {
			t.Errorf("in the end is kept %+v: %v", all, err)
		}
	})
}
