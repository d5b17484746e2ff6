package main

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers/apitest"
)

// importTroubles are what an API does while an import or a comparison goes on.
var importTroubles = []apitest.Trouble{
	apitest.Limited, apitest.Garbage, apitest.Hanging, apitest.Broken, apitest.Unavailable, apitest.Cut, apitest.Misshapen, apitest.Dropped,
	apitest.Blocked, apitest.NotHere,
}

// TestAccountsInTrouble has each provider's API limit, fail, hang and answer
// garbage while bookings are brought in and compared: the run goes on where it was
// and ends complete, everybody sees meanwhile that the connection is down, and
// others' webhooks are acknowledged.
func TestAccountsInTrouble(t *testing.T) {
	t.Parallel()
	long(t)
	for _, one := range []struct {
		name string
		open func(*testing.T) office
		db   func(testing.TB) string
		// pages are read before the first trouble; of Cal.com's there are two, which
		// are read too fast to come between.
		pages int
	}{
		{"calendly", newCalendlyOffice, migratetest.EmptyPostgres, 1},
		{"calcom", newCalcomOffice, func(testing.TB) string { return "" }, 0},
		{"acuity", newAcuityOffice, migratetest.EmptyPostgres, 20},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			o := one.open(t)
			o.before(t)
			w := &woe{life: newLife(t, one.db(t), o)}
			m := newMeter(t, w.server)
			before := m.during(t, func() { w.connects(t, one.pages) })
			compareAcks(t, before, m.during(t, func() {
				w.suffers(t, "backfill")
				w.more(t) // of which nobody hears
				w.begins(t)
				w.suffers(t, "reconcile")
			}))
		})
	}
}

// woe is a life with an API in trouble.
type woe struct {
	*life
	pages int // that were read before any trouble
}

// connects connects the account, and has so many pages of it brought in.
func (w *woe) connects(t *testing.T, pages int) {
	w.Set(apitest.Slow) // all that a page takes, so that the import is not over before it is looked at
	if pages == 0 {
		w.Set(apitest.Broken, w.listPath())
	}
	var out connectionItem
	decode(t, w.run(t, w.connectArgs(w.credentials(), "--subscribe", "--backfill", firstDay())...), &out)
	w.id, w.target, w.pages = out.ID, out.WebhookURL, pages
	waitFor(t, "the first pages", func() error {
		if read := w.newest(t, "backfill").pages; read < pages {
			return fmt.Errorf("%d were read", read)
		}
		return nil
	})
	w.Set(apitest.Broken, w.listPath()) // or it would be over while acknowledgements are counted
}

// suffers goes through all troubles while a run is under way, and waits for its
// end once all is well again.
func (w *woe) suffers(t *testing.T, kind string) {
	t.Helper()
	down := false
	for _, trouble := range importTroubles {
		w.Set(trouble, w.listPath())
		asked := w.count()
		waitFor(t, "the run to be tried in spite of "+string(trouble), func() error {
			if w.count() <= asked {
				return fmt.Errorf("it is not\n%s", w.state(t, kind))
			}
			return nil
		})
		down = down || w.isDown(t)
	}
	waitFor(t, "the trouble to be seen", func() error {
		if !down && !w.isDown(t) {
			return errors.New("the connection looks well")
		}
		return nil
	})
	t.Logf("after all troubles of the %s: %s", kind, w.state(t, kind))
	before := w.newest(t, kind)
	if kind == "backfill" && (before.pages < w.pages || before.status != "running") {
		t.Errorf("the import is %+v, %d pages were read", before, w.pages)
	}
	w.Set(apitest.Healthy)
	waitFor(t, "the "+kind+" to end", func() error {
		// An import is the same to its end; a comparison may be another.
		now := w.newest(t, kind)
		if kind == "backfill" && now.id != before.id {
			t.Fatalf("it is another: %+v, and was %+v", now, before)
		}
		if now.status != "done" {
			return fmt.Errorf("%s", w.state(t, kind))
		}
		return nil
	})
	w.as(t)
	waitFor(t, "the connection to work again", func() error {
		if w.isDown(t) {
			return errors.New("it is down")
		}
		return nil
	})
}

// count is how many requests for lists came.
func (w *woe) count() int { return w.Count(w.listPath()) }

// isDown says that the connection is shown as failing, and since when.
func (w *woe) isDown(t *testing.T) bool {
	t.Helper()
	type shown struct {
		ID        uuid.UUID  `json:"id"`
		State     string     `json:"state"`
		Failure   string     `json:"failure"`
		DownSince *time.Time `json:"down_since"`
	}
	var all []shown
	decode(t, w.run(t, "connections", "list", "--json"), &all)
	i := slices.IndexFunc(all, func(c shown) bool { return c.ID == w.id })
	c := all[i]
	if (c.State == "failing") != (c.DownSince != nil && c.Failure != "") {
		t.Errorf("the connection is shown as %+v", c)
	}
	return c.State == "failing"
}

// begins has the account compared by the server.
func (w *woe) begins(t *testing.T) {
	t.Helper()
	w.Set(apitest.Broken, w.listPath())
	began := w.newest(t, "reconcile").id
	waitFor(t, "a comparison to begin", func() error {
		if now := w.newest(t, "reconcile").id; now == began {
			return errors.New("it has not")
		}
		return nil
	})
}

// stage is how far a run is.
type stage struct {
	id, status string
	pages      int
}

// newest is the newest run of a kind, if there is one.
func (w *woe) newest(t *testing.T, kind string) (s stage) {
	t.Helper()
	db := w.database(t)
	defer db.Close()
	err := db.QueryRowContext(t.Context(), "SELECT id, status, pages FROM runs WHERE kind = '"+kind+"' ORDER BY started_at DESC LIMIT 1").Scan(&s.id, &s.status, &s.pages)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return s
}

// state is what is told of the runs of a kind.
func (w *woe) state(t *testing.T, kind string) string {
	t.Helper()
	db := w.database(t)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT status, cursor, pages, failures, error FROM runs WHERE kind = '"+kind+"' ORDER BY started_at")
	must(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var status, cursor, failure string
		var pages, failures int
		must(t, rows.Scan(&status, &cursor, &pages, &failures, &failure))
		fmt.Fprintf(&out, "%s at %q after %d pages and %d failures: %s\n", status, cursor, pages, failures, failure)
	}
	must(t, rows.Err())
	return out.String()
}

// as waits until all is here as at the provider, beside the others' bookings.
func (w *woe) as(t *testing.T) {
	t.Helper()
	there := w.standings(t)
	waitFor(t, "all to be as it is at the provider", func() error { return w.differs(t, there) })
}
