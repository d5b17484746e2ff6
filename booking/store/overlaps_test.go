package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/providers"
)

func generic(id string, n int, from, to string, hosts ...string) *booking.Event {
	return bt.New(bt.Generic, cre, id, n, bt.When(from, to), bt.With(hosts...), bt.For("priya"))
}

func everything(t *testing.T, b *storetest.Bench) *booking.State {
	t.Helper()
	all, err := b.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, b *storetest.Bench, f booking.Filter) string {
	t.Helper()
	list, err := b.Bookings(t.Context(), f, booking.Page{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range list.Items {
		out = append(out, v.ExternalID)
	}
	return strings.Join(out, " ")
}

func TestAcceptOverlaps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		b.Apply(t, generic("a", 0, "10:00", "10:30", "maren"), generic("c", 1, "10:15", "10:45", "maren"), generic("d", 2, "10:00", "10:20", "maren"))
		one, two, holder := booking.ID(bt.Generic, "c", ""), booking.ID(bt.Generic, "d", ""), booking.ID(bt.Generic, "a", "")
		later := storetest.Now.Add(time.Hour)
		for name, c := range map[string]struct {
			ids    []uuid.UUID
			reason string
			field  string
		}{
			"no reason": {[]uuid.UUID{one}, " ", "reason"}, "nobody": {nil, "why", "booking"}, "too many": {make([]uuid.UUID, 201), "why", "booking"},
			"not there": {[]uuid.UUID{one, uuid.New()}, "why", ""},
		} {
			_, err := b.AcceptOverlaps(ctx, operator, c.ids, c.reason, later)
			var invalid *booking.InvalidError
			if c.field == "" && !errors.Is(err, booking.ErrNotFound) || c.field != "" && (!errors.As(err, &invalid) || invalid.Field != c.field) {
				t.Errorf("%s gives %v", name, err)
			}
		}
		if got := bt.Accepted(everything(t, b)); len(got) > 0 || len(log(t, b)) > 0 {
			t.Fatalf("accepted are %v", got)
		}
		answers, err := b.AcceptOverlaps(ctx, operator, []uuid.UUID{one, holder}, " Two rooms ", later)
		if err != nil || len(answers) != 2 || answers[0].Refused != nil || answers[1].Refused == nil {
			t.Fatalf("%+v, %v", answers, err)
		}
		// Who looks for what is refused or conflicts is not shown what somebody accepted,
		// only that the holder's could not be.
		troubled, err := b.Transitions(ctx, booking.Filter{Troubled: true, From: &later}, booking.Page{Limit: 50})
		if err != nil || len(troubled.Items) != 1 || troubled.Items[0].BookingID != holder {
			t.Errorf("troubled are %+v, %v", troubled.Items, err)
		}
		tally, err := b.Tally(ctx, booking.Filter{Troubled: true, From: &later})
		if err != nil || len(tally) != 1 || tally[0].Reason != booking.ReasonIllegal {
			t.Errorf("counted are %+v, %v", tally, err)
		}
		again, err := b.AcceptOverlaps(ctx, operator, []uuid.UUID{one}, "another reason", later)
		if err != nil || !again[0].Unchanged {
			t.Fatalf("%+v, %v", again, err)
		}
		if got := log(t, b); len(got) != 1 || !strings.Contains(got[0], "booking.overlap_accepted booking:"+one.String()) || !strings.Contains(got[0], "Two rooms") {
			t.Errorf("the log says %q", got)
		}
		if got := open(t, b, booking.Filter{OpenConflicts: true}) + "|" + open(t, b, booking.Filter{AcceptedOverlaps: true}); got != "d|c" {
			t.Errorf("open and accepted are %s", got)
		}
		if n, err := b.OpenConflicts(ctx, storetest.Now); n != 1 || err != nil {
			t.Errorf("%d are open, %v", n, err)
		}
		notes, err := b.ConflictNotes(ctx, []uuid.UUID{one, two, holder})
		if err != nil || len(notes) != 2 {
			t.Fatalf("%+v, %v", notes, err)
		}
		if n := notes[two]; n.Accepted != nil || !n.Since.Equal(storetest.Now) {
			t.Errorf("%+v", n)
		}
		if n := notes[one]; n.Accepted == nil || n.Accepted.Reason != "Two rooms" || n.Accepted.Actor != operator.Actor || !n.Accepted.At.Equal(later) || !n.Since.Equal(storetest.Now) {
			t.Errorf("%+v, %+v", n, n.Accepted)
		}
		// An overlap that was accepted is no other arrival.
		came, err := b.Arrivals(ctx, []uuid.UUID{one, two, holder, uuid.New()})
		if err != nil || len(came) != 3 {
			t.Fatalf("%+v, %v", came, err)
		}
		for id, c := range came {
			if c.Event != booking.Create || c.From != booking.New || c.Actor != booking.ActorWebhook || !c.At.Equal(storetest.Now) || (c.Seq < came[holder].Seq) {
				t.Errorf("%s came as %+v", id, c)
			}
		}
		if none, err := b.Arrivals(ctx, nil); len(none) > 0 || err != nil {
			t.Errorf("%v, %v", none, err)
		}
		all, err := b.Transitions(ctx, booking.Filter{}, booking.Page{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"rejected illegal_transition active", "applied overlap conflicted"} {
			tr := all.Items[i]
			if got := fmt.Sprintf("%s %s %s", tr.Outcome, tr.Reason, tr.To); got != want || tr.Event != booking.AcceptOverlap || tr.Actor != operator.Actor {
				t.Errorf("transition %d is %s by %s", i, got, tr.Actor)
			}
		}
		if h := all.Items[1].HolderID; h == nil || *h != holder {
			t.Errorf("the holder is %v", h)
		}
		if none, err := b.ConflictNotes(ctx, nil); len(none) > 0 || err != nil {
			t.Errorf("%v, %v", none, err)
		}
	})
}

func TestSetOverlapRule(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, maren := t.Context(), resourceOf("maren")
		b.Apply(t, generic("a", 0, "10:00", "10:30", "maren"), generic("c", 1, "10:15", "10:45", "maren"), generic("d", 2, "10:00", "10:20", "maren"),
			generic("far", 2, "15:00", "15:30", "maren"), generic("far-too", 3, "15:00", "15:30", "maren"), calcom("r", 4, "10:00", "11:00", "maren"),
			generic("t", 5, "10:00", "10:30", "theo"), generic("t-too", 6, "10:00", "10:30", "theo"))
		n, err := b.SetOverlapRule(ctx, operator, maren, true, storetest.Now)
		if err != nil || n != 3 {
			t.Fatalf("it accepts %d, %v", n, err)
		}
		if n, err := b.SetOverlapRule(ctx, operator, maren, true, storetest.Now); n != 0 || err != nil {
			t.Errorf("once more: %d, %v", n, err)
		}
		if got := open(t, b, booking.Filter{AcceptedOverlaps: true}); got != "d c far-too" {
			t.Errorf("accepted are %s", got)
		}
		if got := log(t, b); len(got) != 1 || !strings.Contains(got[0], "resource.overlap_rule_set resource:"+maren.String()) || !strings.Contains(got[0], `"accepted":"3"`) {
			t.Errorf("the log says %q", got)
		}
		// It is part of every decision from now on, and no delivery switches it off.
		b.Apply(t, generic("later", 9, "15:00", "15:30", "maren"), bt.New(bt.Generic, cre, "new", 10, bt.When("18:00", "18:30"), bt.With("maren", "kofi")))
		all := everything(t, b)
		if why := bt.Check(all) + bt.CheckRules(all); why != "" || !all.Resources[maren].AcceptWithinProvider {
			t.Errorf("%s: %+v", why, all.Resources[maren])
		}
		notes, err := b.ConflictNotes(ctx, []uuid.UUID{booking.ID(bt.Generic, "later", "")})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			if n.Accepted == nil || n.Accepted.Actor != booking.ActorSystem || n.Accepted.Reason != "" {
				t.Errorf("%+v", n)
			}
		}
		list, err := b.Resources(ctx, booking.Filter{ResourceID: &maren}, booking.Page{Limit: 1})
		if err != nil || !list.Items[0].AcceptWithinProvider {
			t.Errorf("%+v, %v", list.Items, err)
		}
		if n, err := b.SetOverlapRule(ctx, operator, maren, false, storetest.Now); n != 0 || err != nil {
			t.Errorf("off: %d, %v", n, err)
		}
		if got := open(t, b, booking.Filter{AcceptedOverlaps: true}); got != "d c later far-too" {
			t.Errorf("accepted are %s", got)
		}
		var invalid *booking.InvalidError
		if _, err := b.SetOverlapRule(ctx, operator, uuid.New(), true, storetest.Now); !errors.As(err, &invalid) || invalid.Field != "resource" {
			t.Errorf("of nothing: %v", err)
		}
	})
}

// What the store loads is enough for the rules too: each story ends as it does in
// memory, to the last field.
func TestLoadsWhatRulesNeed(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			for i, story := range bt.OverlapStories() {
				for round := range 4 {
					r := rand.New(rand.NewPCG(uint64(i), uint64(round)))
					for _, h := range story.Ruled {
						if err := b.Introduce(t.Context(), bt.Generic, bt.Introduced(bt.Generic, h), booking.ActorSystem, bt.Day); err != nil {
							t.Fatal(err)
						}
						if _, err := b.SetOverlapRule(t.Context(), operator, bt.RuledID(h), true, bt.Day); err != nil {
							t.Fatal(err)
						}
					}
					memory := story.Begin()
					events := slices.Concat(story.Events, story.Events[:1])
					r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
					for len(events) > 0 {
						n := min(1+r.IntN(3), len(events))
						var set []booking.Post
						var deliveries []booking.Delivery
						for _, e := range events[:n] {
							p := b.Post(e)
							set, deliveries = append(set, p), append(deliveries, p.Delivery)
						}
						bt.Merge(memory, booking.Decide(memory, deliveries, storetest.Now))
						b.ApplyPosts(t, set...)
						events = events[n:]
					}
					stored := everything(t, b)
					for _, d := range diff(memory, stored) {
						t.Errorf("%s, round %d: %s", story.Name, round, d)
					}
					if why := bt.CheckRules(stored); why != "" {
						t.Errorf("%s, round %d: %s", story.Name, round, why)
					}
					b.Empty(t)
				}
			}
		})
	}
}

// A cancel that somebody asked for before the overlap was accepted would cancel whom
// all agreed to keep: accepting takes it back, or says that it may be too late.
func TestAcceptWithdrawsCancels(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		b.Change(t, b.Conn["calendly"], providers.Change{API: &providers.Credentials{Token: "a token"}})
		b.Apply(t, generic("holder", 0, "10:00", "11:00", "maren"))
		for i, who := range []string{"agus", "dewi"} {
			b.Apply(t, bt.New(bt.Calendly, cre, who, 1+i, bt.When("10:00", "11:00"), bt.With("maren"), bt.For(who), bt.In("class"), bt.Room(8)))
		}
		b.Apply(t, generic("other", 5, "10:30", "10:45", "maren"))
		agus, dewi, other := booking.ID(bt.Calendly, "agus", ""), booking.ID(bt.Calendly, "dewi", ""), booking.ID(bt.Generic, "other", "")
		ask := func() booking.Effect {
			t.Helper()
			e, err := b.AskCancel(ctx, booking.CancelRequest{BookingID: agus, Action: uuid.New(), Confirm: 2}, access.Entry{At: storetest.Now, Actor: operator.Actor})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		status := func() booking.EffectStatus {
			t.Helper()
			list, err := b.Effects(ctx, agus)
			if err != nil || len(list) == 0 {
				t.Fatalf("%+v, %v", list, err)
			}
			return list[0].Status
		}
		accept := func(id uuid.UUID, at time.Time) error {
			_, err := b.AcceptOverlaps(ctx, operator, []uuid.UUID{id}, "two rooms", at)
			return err
		}
		e := ask()
		if err := accept(other, storetest.Now); err != nil || status() != booking.EffectPending {
			t.Errorf("another's acceptance leaves it %s, %v", status(), err)
		}
		claimed, err := b.ClaimEffect(ctx, e.Lane, storetest.Now, storetest.Now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if err := accept(agus, storetest.Now.Add(time.Second)); !errors.Is(err, booking.ErrBeingTried) || slices.Contains(bt.Accepted(everything(t, b)), "agus") {
			t.Errorf("accepted while the provider is asked to cancel: %v", err)
		}
		claimed.Status, claimed.DueAt = booking.EffectFailed, storetest.Now.Add(time.Hour)
		if err := b.SettleEffect(ctx, claimed, storetest.Now); err != nil {
			t.Fatal(err)
		}
		// The provider cancels the whole meeting: whoever accepts one of it means to keep it.
		if err := accept(dewi, storetest.Now.Add(2*time.Second)); err != nil || status() != booking.EffectWithdrawn {
			t.Errorf("it is %s after the acceptance of one whom it would cancel, %v", status(), err)
		}
		ask()
		if err := accept(agus, storetest.Now.Add(3*time.Second)); err != nil || status() != booking.EffectWithdrawn {
			t.Errorf("it is %s after the acceptance, %v", status(), err)
		}
		if got := strings.Join(log(t, b), "\n"); strings.Count(got, "effect.withdrawn booking:"+agus.String()) != 2 || !strings.Contains(got, "the overlap was accepted") {
			t.Errorf("the log says %s", got)
		}
		// Whoever asks now knows of it.
		ask()
		if p, err := b.CancelPlan(ctx, agus); err != nil || len(p.Order("").Accepted) != 2 || status() != booking.EffectPending {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// Who accepted and why stands with the transition, of each its own.
func TestAcceptanceIsNoted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		b.Apply(t, generic("a", 0, "10:00", "10:30", "maren"), generic("c", 1, "10:15", "10:45", "maren"))
		one := booking.ID(bt.Generic, "c", "")
		for i, reason := range []string{"the first", "the second"} {
			if i > 0 { // another conflict, to be accepted anew
				b.Apply(t, bt.New(bt.Generic, booking.KindMoved, "c", 5, bt.When("10:10", "10:40"), bt.With("maren"), bt.For("priya")))
			}
			if _, err := b.AcceptOverlaps(ctx, operator, []uuid.UUID{one}, reason, storetest.Now.Add(time.Duration(i+1)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		list, err := b.Transitions(ctx, booking.Filter{BookingID: &one}, booking.Page{Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, tr := range list.Items {
			if tr.Note != "" {
				notes = append(notes, string(tr.Event)+" "+tr.Note)
			}
		}
		if want := []string{"accept_overlap the second", "accept_overlap the first"}; !slices.Equal(notes, want) {
			t.Errorf("noted are %q", notes)
		}
	})
}
