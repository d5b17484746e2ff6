package account_test

import (
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
)

// The desk's time: two looks are missed after five seconds, and a quarter of an hour
// is half a minute.
const (
	shortAway = 4 * time.Second
	longAway  = 6 * time.Second
)

// watched has a process look after the accounts, and gives the causes of the runs that
// began.
func (d *desk) watched(t *testing.T, p *process) string {
	t.Helper()
	known := map[string]bool{}
	runs := func() []booking.Run {
		all, err := d.Runs(t.Context(), d.conn.ID, 20)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, r := range runs() {
		known[r.ID.String()] = true
	}
	if _, err := p.accounts.Watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	var began []string
	for _, r := range runs() {
		if !known[r.ID.String()] {
			began = append(began, r.Cause)
		}
	}
	return strings.Join(began, " ")
}

// ends has the run that is under way worked on to its end.
func (d *desk) ends(t *testing.T, p *process) {
	t.Helper()
	if err := p.accounts.Work(t.Context(), d.stored(t).ID); err != nil {
		t.Fatal(err)
	}
	if got := d.stored(t); got.Status != booking.RunDone {
		t.Fatalf("the run is %+v", got)
	}
}

// TestComparedAtOnceAfterAnOutage: what came while no process was there was refused,
// and Cal.com does not send it again. It is looked for when one is there again, and not
// up to a quarter of an hour later.
func TestComparedAtOnceAfterAnOutage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		p := d.second
		p.stop() // no time passes but what is said
		pass := func(by time.Duration) {
			p.wound.mu.Lock()
			defer p.wound.mu.Unlock()
			p.stands = p.stands.Add(by)
		}
		if began := d.watched(t, p); began != "periodic" {
			t.Fatalf("at the first start of all %q begins", began)
		}
		d.ends(t, p)
		pass(shortAway)
		if began := d.watched(t, p); began != "" {
			t.Errorf("after an upgrade of seconds %q begins", began)
		}
		pass(longAway)
		if began := d.watched(t, p); began != "outage" {
			t.Errorf("after an outage %q begins", began)
		}
		if began := d.watched(t, p); began != "" {
			t.Errorf("while one is under way %q begins", began)
		}
		d.ends(t, p)
		pass(shortAway)
		if began := d.watched(t, p); began != "" {
			t.Errorf("once that is done %q begins", began)
		}
		if told := strings.Count(p.log.String(), "nobody looked after the accounts"); told != 1 {
			t.Errorf("an outage was told %d times:\n%s", told, &p.log)
		}
	})
}

// TestOutageOutlastsWhoFoundIt: whoever finds an outage may die of it, or find the
// database away again, before anything is compared.
func TestOutageOutlastsWhoFoundIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		p := d.second
		d.watched(t, p)
		p.wind(longAway)
		if look, err := d.first.store.LookAfter(t.Context(), p.now(), time.Second); err != nil || look.Away == nil {
			t.Fatalf("nobody was away: %+v, %v", look, err)
		}
		// What was under way may have read all before the outage.
		if began := d.watched(t, p); began != "" {
			t.Errorf("beside the one that is under way %q begins", began)
		}
		d.ends(t, p)
		if began := d.watched(t, p); began != "outage" {
			t.Errorf("the next begins %q", began)
		}
	})
}

// TestClockSetBack: a clock that was wrong by an hour is no outage, and an outage that
// a clock of the future saw does not have all compared every minute until then.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		p := d.second
		if _, err := p.store.LookAfter(t.Context(), p.now().Add(time.Hour), time.Second); err != nil {
			t.Fatal(err)
		}
		if look, err := p.store.LookAfter(t.Context(), p.now().Add(2*time.Hour), time.Second); err != nil || look.Away == nil {
			t.Fatalf("nobody was away: %+v, %v", look, err)
		}
		for n, want := range []string{"periodic", "", ""} {
			if began := d.watched(t, p); began != want {
				t.Errorf("look %d begins %q, want %q", n, began, want)
			}
			if n == 0 {
				d.ends(t, p)
			}
		}
	})
}
