package work_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/work"
	"slotkeeper/migrations"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/generic"
)

// outdated is an adapter as an earlier version of it may have been.
type outdated struct {
	providers.Provider
	parse func(d booking.Delivery) booking.Delivery
}

func (o outdated) Parse(r providers.Request, origin providers.Origin) booking.Delivery {
	return o.parse(o.Provider.Parse(r, origin))
}

// templateChanged cannot use what today's adapter can.
func templateChanged(d booking.Delivery) booking.Delivery {
	return booking.Delivery{
		ConnectionID: d.ConnectionID, EventKey: "unknown|" + d.EventKey, Kind: "unknown", Actor: booking.ActorWebhook,
		Status: booking.StatusFailed, Code: "template_changed", Error: "the body has another form than it should",
	}
}

func unheardOf(d booking.Delivery) booking.Delivery {
	d.Event, d.Status = nil, booking.StatusIgnored
	return d
}

// watched is a store that says how often a replay took the ledger.
type watched struct {
	*store.Store
	applied atomic.Int64
	// cut ends the work before the nth set is applied, as a crash would.
	cut func(n int64) error
	// lose takes the nth set back once it was applied, of which nobody hears.
	lose func(n int64) bool
}

func (w *watched) ApplyReplay(ctx context.Context, set booking.ReplaySet, now time.Time) ([]booking.Answer, error) {
	n := w.applied.Add(1)
	if w.cut != nil {
		if err := w.cut(n); err != nil {
			return nil, err
		}
	}
	if w.lose != nil && w.lose(n) {
		answers := make([]booking.Answer, len(set.Posts))
		set.Step(answers)
		return answers, nil
	}
	return w.Store.ApplyReplay(ctx, set, now)
}

// replays of the desk, worked on by the tests themselves.
func (d *desk) replays() (*work.Replays, *watched) {
	w := &watched{Store: d.Store}
	return work.NewReplays(work.ReplayOptions{
		Store: w, Intake: d.intake, Providers: d.providers, EmailKey: emailKey, Now: now, Log: d.log, Tempo: tempo,
		Wake: func(context.Context, uuid.UUID) error { return nil },
	}), w
}

var operator = access.By{Actor: "user:0198c1f0-0000-7000-8000-000000000001", Remote: "192.0.2.1"}

// replay replays to the end and returns the report.
func (d *desk) replay(t *testing.T, q booking.ReplayRequest) (booking.Replay, []booking.ReplayChange) {
	t.Helper()
	r, _ := d.replays()
	return finish(t, r, q)
}

func finish(t *testing.T, r *work.Replays, q booking.ReplayRequest) (booking.Replay, []booking.ReplayChange) {
	t.Helper()
	run, err := r.Begin(t.Context(), q, operator)
	if err == nil {
		err = r.Work(t.Context(), run.ID)
	}
	if err == nil {
		run, err = r.Replay(t.Context(), run.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if run.Status != booking.RunDone {
		t.Fatalf("the replay is %+v", run)
	}
	changes, err := r.Changes(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return run, changes
}

var everything = booking.ReplayRequest{Everything: true}

// tell posts a body as its provider does, to the version of the adapter that parse
// makes; nil for today's.
func (d *desk) tell(t *testing.T, c providers.Connection, body []byte, parse func(booking.Delivery) booking.Delivery) booking.Answer {
	t.Helper()
	adapter := d.providers[c.Provider]
	if parse != nil {
		adapter = outdated{adapter, parse}
	}
	delivery := adapter.Parse(providers.Request{Body: body}, providers.Origin{Source: c.Source(), ConnectionID: c.ID, EmailKey: emailKey})
	delivery.ReceiptID = uuid.New()
	a, err := d.intake.Take(t.Context(), booking.Post{Delivery: delivery, Body: body, VerifiedBy: providers.ByCurrent, ReceivedAt: now()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// said is a body of the generic provider.
func said(kind, id string, minute int, start time.Time) []byte {
	return fmt.Appendf(nil, `{"type":%q,"occurred_at":%q,"booking":{"id":%q,"resource":"maren.oduya@harbourclinic.example","starts_at":%q,"ends_at":%q,
		"invitee":{"name":"Priya Raman","email":"priya.raman@mail.example"}}}`,
		kind, tomorrow.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), id, start.Format(time.RFC3339), start.Add(30*time.Minute).Format(time.RFC3339))
}

// contents are all rows of the tables that bookings live in, as text.
func (d *desk) contents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range []string{
		"webhook_receipts", "deliveries", "bookings", "sessions", "session_hosts", "slots", "transitions", "attendances", "links", "identities", "resources",
		"unavailable", "ledger", "effects",
	} {
		out[table] = d.rows(t, table)
	}
	return out
}

// rows are a table's, sorted.
func (d *desk) rows(t *testing.T, table string) string {
	t.Helper()
	rows, err := d.SQL.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var row strings.Builder
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = providers.Digest(b)
			}
			fmt.Fprintf(&row, "%s=%v ", columns[i], v)
		}
		all = append(all, row.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func sameContents(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(before)) {
		is := strings.Split(after[table], "\n")
		for i, was := range strings.Split(before[table], "\n") {
			if i >= len(is) || was != is[i] {
				t.Errorf("%s changed %s\nfrom %s\nto   %s", what, table, was, strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""))
				break
			}
		}
		if len(is) != strings.Count(before[table], "\n")+1 {
			t.Errorf("%s made %d rows of %s", what, len(is), table)
		}
	}
}

// fixtures are the bodies of a provider's test data, in order of their names.
func fixtures(t *testing.T, provider, pattern string) [][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "providers", provider, "testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var out [][]byte
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, body)
	}
	return out
}

// furnish makes a desk to which all that providers send was told, some of it in the
// wrong order and twice.
func (d *desk) furnish(t *testing.T) (conn map[string]providers.Connection) {
	t.Helper()
	d.providers["generic"] = generic.New()
	conn = map[string]providers.Connection{}
	for _, name := range []string{"calendly", "calcom", "generic"} {
		conn[name] = d.connect(t, providers.Connection{Provider: name, APIBase: "https://" + name + ".example"})
	}
	for _, body := range fixtures(t, "calendly", "[0-9]*.json") {
		d.tell(t, conn["calendly"], body, nil)
	}
	bodies := fixtures(t, "calcom", "*.json")
	slices.Reverse(bodies) // cancels before creates
	for _, body := range append(bodies, bodies...) {
		d.tell(t, conn["calcom"], body, nil)
	}
	g, at := conn["generic"], tomorrow
	for _, body := range [][]byte{
		said("invitee.created", "kept", 1, at),
		said("invitee.created", "late", 2, at),                            // conflicts
		said("booking.moved", "kept", 3, at.Add(time.Hour)),               // frees the place
		said("booking.moved", "kept", 0, at.Add(3*time.Hour)),             // stale
		said("invitee.canceled", "gone", 5, at.Add(5*time.Hour)),          // a tombstone
		said("invitee.created", "gone", 4, at.Add(5*time.Hour)),           // refused
		said("booking.requested", "asked", 6, at.Add(6*time.Hour)),        // pending
		[]byte(`{"type":"invitee.created","booking":{`),                   // json_invalid
		[]byte(`{"type":"selftest","id":"1"}`),                            // ignored
		said("invitee.created", "kept", 1, at),                            // a copy
		said("invitee.canceled", "late", 9, at.Add(24*time.Hour)),         // canceled
		said("invitee.created", "after", 10, at.Add(7*time.Hour)),         // and one that stands
		said("booking.moved", "after", 11, at.Add(time.Hour)),             // conflicts where kept is
		said("booking.moved", "after", 12, at.Add(time.Hour+time.Second)), // and stays so
	} {
		d.tell(t, g, body, nil)
	}
	return conn
}

// TestReplayEverythingTwice is promise 2 for replays: what today's code made of
// everything, it makes again, and no row of any table is another afterwards.
func TestReplayEverythingTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.furnish(t)
		before := d.contents(t)
		for _, time := range []string{"first", "second"} {
			r, w := d.replays()
			run, changes := finish(t, r, everything)
			if run.Changed+run.Transitions != 0 || len(changes) > 0 || run.Looked < 50 || run.Total == nil || *run.Total != run.Looked {
				t.Errorf("the %s time: %+v, total %v, %+v", time, run.ReplayCounts, run.Total, changes)
			}
			// Nothing to write: nobody was held up.
			if n := w.applied.Load(); n > 0 {
				t.Errorf("the %s time took the ledger %d times", time, n)
			}
			sameContents(t, "the "+time+" replay", before, d.contents(t))
		}
	})
}

// TestReplayMends has bodies that an earlier version could not use, of each provider
// and with each status that is not settled, replayed by today's: they are applied,
// and only once.
func TestReplayMends(t *testing.T) {
	t.Parallel()
	created := map[string][]byte{
		"calendly": fixtures(t, "calendly", "01_*.json")[0],
		"calcom":   fixtures(t, "calcom", "booking_created_1to1.json")[0],
		"generic":  said("invitee.created", "one", 1, tomorrow),
	}
	for _, was := range []struct {
		status booking.ReceiptStatus
		parse  func(booking.Delivery) booking.Delivery
		spoil  string
	}{
		{status: booking.StatusFailed, parse: templateChanged},
		{status: booking.StatusDead, parse: templateChanged, spoil: "UPDATE webhook_receipts SET status = 'dead'"},
		{status: booking.StatusIgnored, parse: unheardOf},
	} {
		for name, body := range created {
			t.Run(string(was.status)+"/"+name, func(t *testing.T) {
				t.Parallel()
				onBoth(t, func(t *testing.T, d *desk) {
					d.providers["generic"] = generic.New()
					c := d.connect(t, providers.Connection{Provider: name, APIBase: "https://" + name + ".example"})
					d.tell(t, c, body, was.parse)
					if was.spoil != "" {
						if _, err := d.SQL.ExecContext(t.Context(), was.spoil); err != nil {
							t.Fatal(err)
						}
					}
					before := d.contents(t)
					q := booking.ReplayRequest{Filter: booking.ReplayFilter{Statuses: []booking.ReceiptStatus{was.status}}, DryRun: true}
					dry, foretold := d.replay(t, q)
					sameContents(t, "the dry run", before, d.contents(t))
					q.DryRun = false
					run, changes := d.replay(t, q)
					if run.Changed != 1 || run.Transitions != 1 || dry.ReplayCounts != run.ReplayCounts {
						t.Errorf("foretold %+v, done %+v", dry.ReplayCounts, run.ReplayCounts)
					}
					if len(changes) != 1 || len(foretold) != 1 || changes[0].Before != was.status || changes[0].After != booking.StatusProcessed ||
						fmt.Sprint(changes) != fmt.Sprint(foretold) {
						t.Fatalf("foretold %+v, done %+v", foretold, changes)
					}
					var actor string
					if err := d.SQL.QueryRowContext(t.Context(), "SELECT actor FROM transitions").Scan(&actor); err != nil || actor != "replay" {
						t.Errorf("the transition is %q's, %v", actor, err)
					}
					got, err := d.Receipt(t.Context(), changes[0].ReceiptID)
					if err != nil || got.Status != booking.StatusProcessed || got.Kind != booking.KindCreated || got.Error != "" || got.ProcessedAt == nil {
						t.Errorf("the receipt is %+v, %v", got, err)
					}
					if all := d.bookings(t); len(all) != 1 {
						t.Errorf("bookings %+v", all)
					}
					// The provider says it once more: a copy, or nothing new.
					if a := d.tell(t, c, body, nil); a.Status != booking.StatusUnchanged && a.Status != booking.StatusDuplicate {
						t.Errorf("told again: %+v", a)
					}
					before = d.contents(t)
					again, _ := d.replay(t, everything)
					if again.Changed != 0 {
						t.Errorf("the second time: %+v", again)
					}
					sameContents(t, "the second replay", before, d.contents(t))
				})
			})
		}
	}
}

// TestReplayVerdicts mends what comes to a refusal or a conflict: its receipt says
// so, the audit has it once, and no canceled booking comes back.
func TestReplayVerdicts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.providers["generic"] = generic.New()
		c := d.connect(t, providers.Connection{Provider: "generic", APIBase: "https://generic.example"})
		d.tell(t, c, said("invitee.created", "holder", 1, tomorrow), nil)
		d.tell(t, c, said("invitee.canceled", "gone", 2, tomorrow), nil)
		d.tell(t, c, said("invitee.created", "gone", 1, tomorrow), templateChanged)
		d.tell(t, c, said("invitee.created", "loser", 3, tomorrow), templateChanged)
		d.tell(t, c, []byte(`{"type":"inv`), nil)
		run, changes := d.replay(t, booking.ReplayRequest{Filter: booking.ReplayFilter{Statuses: []booking.ReceiptStatus{booking.StatusFailed}}})
		if len(changes) != 2 || run.StillFailed != 1 || changes[0].After != booking.StatusRejected || changes[1].After != booking.StatusConflict {
			t.Fatalf("%+v %+v", run.ReplayCounts, changes)
		}
		if tr := changes[0].Transitions; len(tr) != 1 || tr[0].Outcome != booking.Rejected || tr[0].Reason != booking.ReasonIllegal {
			t.Errorf("the late create: %+v", tr)
		}
		before := d.contents(t)
		again, _ := d.replay(t, everything)
		if again.Changed != 0 || again.StillFailed != 1 {
			t.Errorf("again: %+v", again.ReplayCounts)
		}
		sameContents(t, "the second replay", before, d.contents(t))
	})
}

// TestReplayWaiting: a no-show that waits for its booking keeps waiting, and is
// applied when a replay makes the booking.
func TestReplayWaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		c := d.connect(t, providers.Connection{Provider: "calendly", APIBase: "https://calendly.example"})
		if a := d.tell(t, c, fixtures(t, "calendly", "10_no_show_created.json")[0], nil); a.Status != booking.StatusWaiting {
			t.Fatalf("the fixture is %s", a.Status)
		}
		before := d.contents(t)
		run, _ := d.replay(t, everything)
		if run.Unchanged != 1 || run.Looked != 1 {
			t.Errorf("%+v", run.ReplayCounts)
		}
		sameContents(t, "replaying what waits", before, d.contents(t))
	})
}

// tellUnread tells of bookings that the code of that time could not read.
func (d *desk) tellUnread(t *testing.T, many int) {
	t.Helper()
	d.providers["generic"] = generic.New()
	c := d.connect(t, providers.Connection{Provider: "generic", APIBase: "https://generic.example"})
	for i := range many {
		d.tell(t, c, said("invitee.created", fmt.Sprint("b", i), 1, tomorrow.Add(time.Duration(i)*time.Hour)), templateChanged)
	}
}

// TestReplayResumes cuts a replay off again and again, whatever the database knows of
// it by then: in the end each receipt is applied, listed and counted once.
func TestReplayResumes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const many = 100
		d.tellUnread(t, many)
		r, w := d.replays()
		run, err := r.Begin(t.Context(), everything, operator)
		if err != nil {
			t.Fatal(err)
		}
		crash := fmt.Errorf("%w: the power went", booking.ErrUnavailable)
		w.cut = func(n int64) error {
			if n%2 == 0 {
				return crash
			}
			return nil
		}
		for tries := 0; run.Status == booking.RunRunning; tries++ {
			if tries > 3*many {
				t.Fatalf("it does not end: %+v", run)
			}
			_ = r.Work(t.Context(), run.ID) // what it says, the row says too
			if run, err = r.Replay(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
		}
		changes, err := r.Changes(t.Context(), run.ID)
		if err != nil || run.Status != booking.RunDone || run.Looked != many || run.Changed != many || run.Transitions != many || len(changes) != many {
			t.Errorf("%+v, %d listed, %v", run, len(changes), err)
		}
	})
}

// TestReplayOutlivesACrash: a database that crashed takes back what was committed last.
// The process that replays is not told, and must not go on behind it.
func TestReplayOutlivesACrash(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const many = 20
		d.tellUnread(t, many)
		r, w := d.replays()
		run, err := r.Begin(t.Context(), everything, operator)
		if err != nil {
			t.Fatal(err)
		}
		w.lose = func(n int64) bool {
			if n == 4 {
				_, err := d.SQL.ExecContext(t.Context(), "DELETE FROM holders") // as PostgreSQL does when it recovers
				if err != nil {
					t.Error(err)
				}
			}
			return n == 3 || n == 4
		}
		for _, want := range []booking.RunStatus{booking.RunRunning, booking.RunDone} {
			if err := r.Work(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
			if run, err = r.Replay(t.Context(), run.ID); err != nil || run.Status != want {
				t.Fatalf("it is %+v, not %s: %v", run, want, err)
			}
		}
		if run.Looked != many || run.Changed != many {
			t.Errorf("of %d it looked at %d and changed %d", many, run.Looked, run.Changed)
		}
	})
}

// TestReplayIsOnesAlone: a holder that was away too long writes nothing any more once
// another has the replay, and neither does one whose replay was stopped.
func TestReplayIsOnesAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.providers["generic"] = generic.New()
		c := d.connect(t, providers.Connection{Provider: "generic", APIBase: "https://generic.example"})
		for i := range 20 {
			d.tell(t, c, said("invitee.created", fmt.Sprint("b", i), 1, tomorrow.Add(time.Duration(i)*time.Hour)), templateChanged)
		}
		r, w := d.replays()
		run, err := r.Begin(t.Context(), everything, operator)
		if err != nil {
			t.Fatal(err)
		}
		w.cut = func(n int64) error {
			if n == 2 {
				_, err := r.Stop(t.Context(), run.ID, operator)
				return err
			}
			return nil
		}
		if err := r.Work(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		run, err = r.Replay(t.Context(), run.ID)
		if err != nil || run.Status != booking.RunStopped || run.Changed == 0 || run.Changed == 20 {
			t.Errorf("%+v, %v", run, err)
		}
		var n int
		if err := d.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM bookings").Scan(&n); err != nil || n != run.Changed {
			t.Errorf("%d bookings, %v", n, err)
		}
		log, err := d.AdminLog(t.Context(), access.EntryFilter{}, booking.Page{})
		if err != nil || len(log.Items) != 2 || log.Items[0].Action != "replay.stopped" || log.Items[1].Action != "replay.asked" ||
			log.Items[0].Actor != operator.Actor || log.Items[0].Subject != "replay:"+run.ID.String() {
			t.Errorf("the admin log has %+v, %v", log.Items, err)
		}
	})
}

// TestReplayFilters: each filter finds its own, and one that fits nothing does nothing.
func TestReplayFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		conn := d.furnish(t)
		all, _ := d.replay(t, everything)
		g := conn["generic"].ID
		l, err := d.Receipts(t.Context(), booking.Filter{ConnectionID: &g, Statuses: []string{"failed"}}, booking.Page{})
		if err != nil || len(l.Items) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		one := l.Items[0].ID
		early, late := now().Add(-time.Hour), now().Add(time.Hour)
		for name, c := range map[string]struct {
			filter booking.ReplayFilter
			want   int
		}{
			"a connection":        {booking.ReplayFilter{ConnectionID: &g}, 13},
			"a provider":          {booking.ReplayFilter{Provider: "generic"}, 13},
			"a kind of it":        {booking.ReplayFilter{ConnectionID: &g, Kind: booking.KindMoved}, 4},
			"ids":                 {booking.ReplayFilter{IDs: []uuid.UUID{one, uuid.New()}}, 1},
			"its failed":          {booking.ReplayFilter{ConnectionID: &g, Statuses: []booking.ReceiptStatus{booking.StatusFailed, booking.StatusDead}}, 1},
			"a time before":       {booking.ReplayFilter{To: &early}, 0},
			"a time after":        {booking.ReplayFilter{From: &late}, 0},
			"a time around":       {booking.ReplayFilter{From: &early, To: &late}, all.Looked},
			"nobody's":            {booking.ReplayFilter{ConnectionID: &one}, 0},
			"dead, of which none": {booking.ReplayFilter{Statuses: []booking.ReceiptStatus{booking.StatusDead}}, 0},
		} {
			run, _ := d.replay(t, booking.ReplayRequest{Filter: c.filter, DryRun: true})
			if run.Looked != c.want || *run.Total != c.want {
				t.Errorf("%s: looked at %d of %d, want %d", name, run.Looked, *run.Total, c.want)
			}
		}
		r, _ := d.replays()
		for name, q := range map[string]booking.ReplayRequest{
			"nothing said":  {},
			"no status":     {Filter: booking.ReplayFilter{Statuses: []booking.ReceiptStatus{"duplicate"}}},
			"an empty time": {Filter: booking.ReplayFilter{From: &late, To: &early}},
			"too many ids":  {Filter: booking.ReplayFilter{IDs: make([]uuid.UUID, booking.MaxReplayed+1)}},
		} {
			var invalid *booking.InvalidError
			if _, err := r.Begin(t.Context(), q, operator); !errors.As(err, &invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestReplayWithoutBody: what retention emptied is told, and nothing else happens.
func TestReplayWithoutBody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		d.providers["generic"] = generic.New()
		c := d.connect(t, providers.Connection{Provider: "generic", APIBase: "https://generic.example"})
		d.tell(t, c, said("invitee.created", "old", 1, tomorrow), nil)
		if _, err := d.Retain(t.Context(), booking.Keep{Bodies: time.Nanosecond}, now().Add(time.Hour), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		before := d.contents(t)
		run, _ := d.replay(t, everything)
		if run.Gone != 1 || run.Looked != 1 {
			t.Errorf("%+v", run.ReplayCounts)
		}
		sameContents(t, "replaying what has no body", before, d.contents(t))
	})
}

// TestReplayAcuity: appointments are replayed from what was fetched, with the clock of
// that fetch; only --refetch asks Acuity, also about what was given up.
func TestReplayAcuity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const key = "acuity-key-0123456789"
		a := acuitytest.New(acuitytest.Options{UserID: "4711", APIKey: key, Tempo: tempo, Now: now})
		serve(t, a)
		c := d.connect(t, providers.Connection{
			Provider: "acuity", APIBase: a.APIBase(), API: providers.Credentials{User: "4711"}, Secrets: providers.Secrets{Current: key},
		})
		a.AddHook(acuitytest.Hook{URL: "https://slots.example/x", Key: key, Events: []string{"scheduled", "canceled", "changed"}})
		a.AddCalendar(acuitytest.Calendar{ID: 11, Name: "Ines Duarte", Email: "ines.duarte@harbourclinic.example", Timezone: "Europe/Lisbon"})
		a.AddType(acuitytest.Type{ID: 21, Name: "Prenatal class", Minutes: 60, ClassSize: 8})

		replays, _ := d.replays()
		start(t, d.queueWith(t, hostOf(t, a.APIBase()), replays))
		_, posts, err := a.Book(acuitytest.Client{FirstName: "Priya", Email: "priya@mail.example"}, 21, 11, tomorrow)
		if err != nil {
			t.Fatal(err)
		}
		d.receive(t, c, posts...)
		settledNow := func() bool {
			var open int
			_ = d.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM webhook_receipts WHERE status = 'pending'").Scan(&open)
			return open == 0
		}
		until(t, "the appointment is fetched", settledNow)
		before := d.contents(t)
		run, _ := finish(t, replays, everything)
		if run.Unchanged != run.Looked || run.Looked == 0 {
			t.Errorf("from the snapshot: %+v", run.ReplayCounts)
		}
		sameContents(t, "replaying snapshots", before, d.contents(t))

		// A fetch that was given up: only Acuity knows.
		if _, err := d.SQL.ExecContext(t.Context(), "UPDATE webhook_receipts SET status = 'dead', snapshot = NULL, snapshot_at = NULL"); err != nil {
			t.Fatal(err)
		}
		if run, _ = finish(t, replays, everything); run.NeedRefetch != run.Looked {
			t.Errorf("without asking: %+v", run.ReplayCounts)
		}
		dry, _ := finish(t, replays, booking.ReplayRequest{Everything: true, Refetch: true, DryRun: true})
		run, changes := finish(t, replays, booking.ReplayRequest{Everything: true, Refetch: true})
		if run.Asked != run.Looked || dry.Asked != run.Asked || len(changes) != run.Asked || changes[0].After != booking.StatusPending {
			t.Errorf("asking: %+v, foretold %+v, %+v", run.ReplayCounts, dry.ReplayCounts, changes)
		}
		until(t, "it is fetched again", settledNow)
		if got, err := d.Receipt(t.Context(), changes[0].ReceiptID); err != nil || got.Status == booking.StatusDead || got.Status == booking.StatusFailed {
			t.Errorf("%+v, %v", got, err)
		}

		// Of a settled one the status stays, and what Acuity says by now is kept.
		stamp := func() string {
			text := "SELECT max(snapshot_at) FROM webhook_receipts"
			if d.Dialect() == migrations.Postgres {
				text = "SELECT max(snapshot_at)::text FROM webhook_receipts"
			}
			var s string
			_ = d.SQL.QueryRowContext(t.Context(), text).Scan(&s)
			return s
		}
		at := stamp()
		was := d.receipts(t)
		if run, _ = finish(t, replays, booking.ReplayRequest{Everything: true, Refetch: true}); run.Asked != 1 {
			t.Errorf("one appointment is asked about once: %+v", run.ReplayCounts)
		}
		until(t, "it is looked at again", func() bool { return stamp() > at })
		if fmt.Sprint(was) != fmt.Sprint(d.receipts(t)) {
			t.Errorf("receipts were %v, are %v", was, d.receipts(t))
		}
	})
}

// receipts are all by id and status.
func (d *desk) receipts(t *testing.T) map[uuid.UUID]booking.ReceiptStatus {
	t.Helper()
	l, err := d.Receipts(t.Context(), booking.Filter{}, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	out := map[uuid.UUID]booking.ReceiptStatus{}
	for _, r := range l.Items {
		out[r.ID] = r.Status
	}
	return out
}

// queueWith is a process's queue that works on replays too.
func (d *desk) queueWith(t *testing.T, host string, r *work.Replays) *work.Queue {
	t.Helper()
	q, err := work.New(work.Options{
		Store: d.Store, Intake: d.intake, Accounts: idle{d.checked}, Replays: r, Providers: d.providers, Client: reaching(t, host), EmailKey: emailKey, Now: now,
		Log: d.log, Tempo: tempo, Effects: work.EffectOptions{Observe: (&outcomes{}).observe},
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}
