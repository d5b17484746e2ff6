package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations"
)

func inTurn(context.Context) error { return nil }

// What is settled and old loses its body, in whatever order it was settled. What
// is open keeps it, and loses it once it is settled, however long ago it came.
func TestRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	keep := booking.Keep{Bodies: 90 * day, Deliveries: 400 * day, Reads: 90 * day}
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			ids := map[string]uuid.UUID{}
			add := func(name string, age time.Duration, kind booking.Kind) {
				p := b.Post(bt.New(bt.Calendly, kind, name, 1, bt.When("10:00", "10:30"), bt.With(name), bt.For("priya")))
				p.ReceivedAt = storetest.Now.Add(-age)
				ids[name] = b.ApplyPosts(t, p)[0].ReceiptID
			}
			add("ancient", 500*day, booking.KindCreated)
			add("waits", 120*day, booking.KindNoShow)
			add("old", 91*day, booking.KindCreated)
			add("young", 89*day, booking.KindCreated)
			for i := range 600 { // more than a batch
				add(fmt.Sprint("many", i), 100*day, booking.KindCreated)
			}
			failed := b.Post(bt.New(bt.Calendly, cre, "failed", 1, bt.When("10:00", "10:30"), bt.With("failed")))
			failed.ReceivedAt = storetest.Now.Add(-300 * day)
			if _, err := b.KeepFailed(t.Context(), failed, errors.New("boom"), storetest.Now); err != nil {
				t.Fatal(err)
			}
			ids["failed"] = failed.ReceiptID
			has := func(name string) bool {
				t.Helper()
				_, err := b.ReceiptBody(t.Context(), ids[name])
				if err != nil && !errors.Is(err, booking.ErrNotFound) {
					t.Fatal(err)
				}
				return err == nil
			}
			run, err := b.Retain(t.Context(), keep, storetest.Now, inTurn)
			if err != nil {
				t.Fatal(err)
			}
			if run.Bodies != 602 || run.Deliveries != 1 || run.FinishedAt == nil {
				t.Errorf("run %+v", run)
			}
			for name, want := range map[string]bool{"ancient": false, "old": false, "many599": false, "young": true, "waits": true, "failed": true} {
				if has(name) != want {
					t.Errorf("%s has a body: %t", name, !want)
				}
			}
			if last, err := b.LastRetention(t.Context()); err != nil || last.Bodies != run.Bodies || last.ID != run.ID {
				t.Errorf("the last run is %+v, %v", last, err)
			}
			// What waited is settled by its booking, and goes at the next run although
			// newer ones went before.
			b.Apply(t, bt.New(bt.Calendly, cre, "waits", 0, bt.When("12:00", "12:30"), bt.With("waits"), bt.For("priya")))
			if run, err = b.Retain(t.Context(), keep, storetest.Now.Add(time.Hour), inTurn); err != nil || run.Bodies != 1 || has("waits") {
				t.Errorf("the second run %+v, %v", run, err)
			}
			// A copy is still known.
			p := b.Post(bt.New(bt.Calendly, cre, "ancient", 1, bt.When("10:00", "10:30"), bt.With("ancient"), bt.For("priya")))
			if a := b.ApplyPosts(t, p)[0]; a.Status != booking.StatusDuplicate {
				t.Errorf("a copy of what lost its body is %s", a.Status)
			}
			run, err = b.Retain(t.Context(), booking.Keep{}, storetest.Now.Add(10000*day), inTurn)
			if err != nil || run.Bodies+run.Deliveries+run.Reads != 0 || !has("young") {
				t.Errorf("kept for ever: %+v, %v", run, err)
			}
		})
	}
}

// A run that is cut off between two batches leaves no door open, and the next
// goes on.
func TestRetentionCutOff(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			for part := range 3 {
				var set []booking.Post
				for i := range 400 {
					id := fmt.Sprint("b", part, "-", i)
					set = append(set, b.Post(bt.New(bt.Calendly, cre, id, 1, bt.When("10:00", "10:30"), bt.With(id))))
				}
				b.ApplyPosts(t, set...)
			}
			later := storetest.Now.Add(100 * 24 * time.Hour)
			stop := errors.New("stop")
			run, err := b.Retain(t.Context(), booking.Keep{Bodies: 24 * time.Hour}, later, func(context.Context) error { return stop })
			if !errors.Is(err, stop) || run.Bodies != 500 || run.FinishedAt != nil {
				t.Fatalf("cut off: %+v, %v", run, err)
			}
			_, err = b.SQL.ExecContext(t.Context(), "UPDATE webhook_receipts SET raw_body = NULL WHERE raw_body IS NOT NULL")
			if err == nil {
				t.Error("a body can be emptied although no run is open")
			}
			if run, err = b.Retain(t.Context(), booking.Keep{Bodies: 24 * time.Hour}, later, inTurn); err != nil || run.Bodies != 700 {
				t.Errorf("gone on: %+v, %v", run, err)
			}
		})
	}
}

// Sessions and links that work no more go, and of the readings all but the newest
// that was done.
func TestRetentionOfWhatExpired(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			blob := "x'00'"
			if b.Dialect() == migrations.Postgres {
				blob = `'\x00'`
			}
			exec := func(query string) {
				t.Helper()
				if _, err := b.SQL.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			for i, at := range []string{"2026-01-01T00:00:00.000000Z", "2027-01-01T00:00:00.000000Z"} {
				exec(fmt.Sprintf("INSERT INTO web_sessions (token, data, expiry) VALUES ('s%d', %s, '%s')", i, blob, at))
			}
			for i, status := range []string{"done", "done", "failed"} {
				exec(fmt.Sprintf(`INSERT INTO runs (id, connection_id, kind, cause, window_from, window_to, status, actor, started_at, moved_at, finished_at)
					VALUES ('%s', '%s', 'reconcile', 'schedule', '2026-01-01T00:00:00.000000Z', '2026-02-01T00:00:00.000000Z', '%s', 'system',
						'2026-0%d-01T00:00:00.000000Z', '2026-0%d-01T00:00:00.000000Z', '2026-0%d-01T00:00:00.000000Z')`,
					uuid.New(), b.Conn["calendly"], status, i+1, i+1, i+1))
			}
			run, err := b.Retain(t.Context(), booking.Keep{Reads: 24 * time.Hour}, storetest.Now, inTurn)
			if err != nil || run.Sessions != 1 || run.Reads != 1 {
				t.Errorf("run %+v, %v", run, err)
			}
		})
	}
}

// Alerts that are over and the reports of replays go when their time is over, however
// many lines a report has. What lasts stays.
func TestRetentionOfReports(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		const day = 24 * time.Hour
		lasts := booking.Trouble{Kind: booking.TroubleOpen, Since: now.Add(-500 * day)}
		for _, age := range []time.Duration{500 * day, 399 * day} {
			for i, troubles := range [][]booking.Trouble{{lasts, {Kind: booking.TroubleDead, Count: 1}}, {lasts}, {lasts}} {
				if _, err := b.FollowAlerts(ctx, troubles, now.Add(-age+time.Duration(i)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
		var set []booking.Post
		for i := range 600 {
			id := fmt.Sprint("b", i)
			set = append(set, b.Post(bt.New(bt.Calendly, cre, id, 1, bt.When("10:00", "10:30"), bt.With(id))))
		}
		b.ApplyPosts(t, set...)
		for i, ended := range []string{"2026-01-01T00:00:00.000000Z", "2027-01-01T00:00:00.000000Z", ""} {
			r := booking.Replay{ID: uuid.New(), Actor: booking.ActorSystem, StartedAt: now.Add(-400 * day)}
			if err := b.BeginReplay(ctx, r, access.Entry{At: now, Actor: booking.ActorSystem, Action: access.DidReplay}); err != nil {
				t.Fatal(err)
			}
			if ended == "" {
				continue
			}
			for _, query := range []string{
				fmt.Sprintf("UPDATE replays SET status = 'done', finished_at = '%s' WHERE id = '%s'", ended, r.ID),
				fmt.Sprintf(`INSERT INTO replay_changes (replay_id, receipt_id, connection_id, kind, received_at, before, after, verdict, transitions)
					SELECT '%s', id, connection_id, kind, received_at, 'failed', 'processed', '', '[]' FROM webhook_receipts`, r.ID),
			} {
				if _, err := b.SQL.ExecContext(ctx, query); err != nil {
					t.Fatal(i, err)
				}
			}
		}
		run, err := b.Retain(ctx, booking.Keep{Reads: 90 * day, Alerts: 400 * day}, now, inTurn)
		if err != nil || run.Alerts != 1 || run.Replays != 1 {
			t.Errorf("run %+v, %v", run, err)
		}
		for table, want := range map[string]int{"replays": 2, "replay_changes": 600, "alerts": 2} {
			var n int
			if err := b.SQL.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
				t.Errorf("%d %s are left, want %d, %v", n, table, want, err)
			}
		}
		if last, err := b.LastRetention(ctx); err != nil || last.Alerts != 1 || last.Replays != 1 {
			t.Errorf("%+v, %v", last, err)
		}
	})
}
