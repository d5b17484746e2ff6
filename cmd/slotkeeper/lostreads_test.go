package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/providers/calcom/calcomtest"
)

// TestLostReadsAreReadAgain cuts the power under an import, whose commits do not wait
// for the disk: some of what people could see is gone then, and is read again. Nobody
// was told of what is gone: whoever is told by webhook meets no transition twice.
func TestLostReadsAreReadAgain(t *testing.T) {
	t.Parallel()
	long(t)
	const many, most = 600, 12 // bookings, power cuts
	c := newCluster(t)
	cc := newLargeCalcom(t)
	for n := range many {
		name, email := visitorNamed(n)
		_, _, err := cc.Book(calcomSingle, calcomtest.Person{Name: name, Email: email, Timezone: "Europe/Berlin"}, firstHour().Add(time.Duration(n)*time.Hour))
		must(t, err)
	}
	other := newLedger(t, "other", func(*http.Request, int) int { return http.StatusOK })
	l := lossy{large: newLarge(t, c.url(), cc, cc.Front, other.URL), cluster: c}

	var out connectionItem
	decode(t, l.run(t, "connect", "calcom", "--api-url", l.base, "--api-token", calcomFirstKey, "--backfill", firstDay()), &out)
	l.id = out.ID
	lost, cuts := 0, 0
	for ; lost == 0 && cuts < most; cuts++ {
		lost = l.powerCut(t)
	}
	if lost == 0 {
		t.Errorf("none of %d power cuts took anything back: this proves nothing", cuts)
	}
	var made struct{ Secret string }
	must(t, json.Unmarshal([]byte(l.run(t, "endpoints", "add", "--name", other.name, "--url", other.URL)), &made))
	key, err := standardwebhooks.NewWebhook(made.Secret)
	must(t, err)
	other.mu.Lock()
	other.key = key
	other.mu.Unlock()
	before := l.newest(t)
	for range 2 {
		lost += l.powerCut(t)
		cuts++
	}

	l.ended(t, "backfill")
	l.has(t, "imported", map[string]int{"active": many})
	l.run(t, "audit", "verify")
	var since []transitionItem
	for _, tr := range api[transitionItem](t, l.server, l.token, "transitions") {
		if tr.Seq > before.seq {
			since = append(since, tr)
		}
	}
	waitFor(t, "everything to be told", func() error {
		if n := other.missing(since); n > 0 {
			return fmt.Errorf("%d of %d are missing", n, len(since))
		}
		return nil
	})
	if len(since) == 0 || other.wrong > 0 {
		t.Errorf("of %d transitions, %d messages were unsigned or of what was told under another id", len(since), other.wrong)
	}
	t.Logf("%d power cuts took %d transitions back; %d were told", cuts, lost, len(since))
}

// lossy is an import on a cluster whose power is cut.
type lossy struct {
	*large
	cluster *cluster
}

// place is where the audit log ends.
type place struct {
	seq int64
	id  string
}

func (l lossy) newest(t *testing.T) (p place) {
	t.Helper()
	err := l.database(t).QueryRowContext(t.Context(), "SELECT seq, id FROM transitions ORDER BY seq DESC LIMIT 1").Scan(&p.seq, &p.id)
	must(t, err)
	return p
}

// powerCut lets some be imported, cuts the power, and says how many transitions are
// gone of those that could be read.
func (l lossy) powerCut(t *testing.T) (lost int) {
	t.Helper()
	db := l.database(t)
	read := func(query string, args ...any) (p place, err error) {
		err = db.QueryRowContext(t.Context(), query, args...).Scan(&p.seq, &p.id)
		return p, err
	}
	const last = "SELECT seq, id FROM transitions ORDER BY seq DESC LIMIT 1"
	var began, seen place
	waitFor(t, "the import to go on", func() (err error) {
		if seen, err = read(last); err != nil {
			return err
		}
		if began.id == "" {
			began = seen
		}
		if seen.seq < began.seq+10 {
			return errors.New("it stands")
		}
		return nil
	})
	var holder string
	must(t, db.QueryRowContext(t.Context(), "SELECT claimed_by FROM runs WHERE kind = 'backfill'").Scan(&holder))
	l.cluster.kill(t)
	l.cluster.start(t)
	waitFor(t, "the hold to be over", func() error {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM holders WHERE holder = $1", holder).Scan(&n)
		if err == nil && n > 0 {
			t.Error("a hold outlasted the crash")
		}
		return err
	})
	var kept place
	waitFor(t, "the database", func() (err error) {
		kept, err = read("SELECT coalesce(max(seq), 0), '' FROM transitions")
		return err
	})
	// What is written by now in the place of what is lost has another id.
	again, err := read("SELECT seq, id FROM transitions WHERE seq = $1", seen.seq)
	if err == nil && again.id == seen.id {
		return 0
	}
	return max(1, int(seen.seq-kept.seq))
}
