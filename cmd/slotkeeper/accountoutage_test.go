package main

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// outageTempo lets a quarter of an hour take longer than anybody here waits, and a look
// after the accounts six seconds.
const outageTempo = "10"

// TestLostWhileStopped: what Cal.com posts while no server runs never comes again. The
// server that starts after that looks for it, and does not wait for the next comparison.
func TestLostWhileStopped(t *testing.T) {
	t.Parallel()
	long(t)
	o := newCalcomOffice(t)
	o.before(t)
	at, err := url.Parse(o.APIBase())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, "", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+outageTempo)
	l := &life{server: s, office: o, token: s.token(t, "read")}
	var out connectionItem
	decode(t, l.run(t, l.connectArgs(l.credentials(), "--subscribe", "--backfill", firstDay())...), &out)
	l.id, l.target = out.ID, out.WebhookURL
	l.same(t)
	db := l.database(t)
	counts := func(what, query string) {
		t.Helper()
		waitFor(t, what, func() error {
			var n int
			err := db.QueryRowContext(t.Context(), query).Scan(&n)
			if err == nil && n != 1 {
				err = fmt.Errorf("%d are there", n)
			}
			return err
		})
	}
	counts("somebody to look after the accounts", "SELECT count(*) FROM heartbeat WHERE looked_at IS NOT NULL")

	l.stop(t)
	if posts := l.more(t); len(posts) == 0 {
		t.Fatal("nothing would have been sent")
	}
	hour := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05.000000Z")
	if _, err := db.ExecContext(t.Context(), "UPDATE heartbeat SET looked_at = ?", hour); err != nil {
		t.Fatal(err)
	}
	l.start(t)
	l.same(t)
	counts("the comparison to end", "SELECT count(*) FROM runs WHERE kind = 'reconcile' AND status = 'done' AND cause = 'outage'")
	if told := l.logged(t, "nobody looked after the accounts: what was sent meanwhile may be lost, so that all are compared"); len(told) != 1 || told[0]["since"] == nil {
		t.Errorf("it is told as %v", told)
	}
}
