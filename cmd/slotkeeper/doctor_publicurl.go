package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"slotkeeper/booking/account"
	"slotkeeper/booking/store"
)

// A server answers from memory whether it is ready for a second: asking must be
// further apart, and is done a few times, since others may ask too.
const (
	askReadyEvery = 1100 * time.Millisecond
	mostAsks      = 4
	enoughBeats   = 2
)

// publicURL goes to the public URL, and finds out whether this very installation
// answers there: its readiness moves this database. db is nil when that cannot be
// asked.
func (d *doctor) publicURL(ctx context.Context, db *store.Diagnosis) {
	const name = "public URL"
	a := account.New(account.Options{PublicURL: d.cfg.publicURL, Now: d.now})
	hops := a.Reach(ctx)
	var found, todo []string
	for _, h := range hops {
		found = append(found, h.Detail)
		if h.Remedy != "" {
			todo = append(todo, h.Remedy)
		}
	}
	detail, remedy := d.cfg.publicURL.String()+": "+strings.Join(found, "; "), strings.Join(todo, "; ")
	if !hops[len(hops)-1].OK {
		d.add(failure(name, detail, remedy))
		return
	}
	if err := isAlive(ctx, a); err != nil {
		d.add(failure(name, detail+"; "+err.Error(), "whatever stands in front of the server must lead to it; only this check needs the running server"))
		return
	}
	if db != nil {
		ours, err := d.answersHere(ctx, a, db)
		switch {
		case err != nil:
			d.add(failure(name, detail+"; "+err.Error(), "the server's database may be away"))
			return
		case ours == answersElsewhere:
			d.add(failure(name, detail+"; a Slotkeeper answers there, with another database than this one",
				"give the server and this command the same settings, or SLOTKEEPER_PUBLIC_URL where this installation is"))
			return
		case ours == answersPerhaps:
			detail += "; a Slotkeeper answers there, probably this one: others ask it too often to be sure (connections test is)"
		case ours == answersHere:
			detail += "; this very installation answers there"
		}
	}
	if remedy != "" {
		d.add(warning(name, detail, remedy))
		return
	}
	d.add(fine(name, detail))
}

// isAlive asks /healthz.
func isAlive(ctx context.Context, a *account.Accounts) error {
	status, body, err := a.Get(ctx, "healthz")
	if err != nil {
		return err
	}
	var answer struct{ Status string }
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Status != "ok" {
		return fmt.Errorf("what answers there is not Slotkeeper: /healthz is answered %d", status)
	}
	return nil
}

type answers int

const (
	answersElsewhere answers = iota
	answersPerhaps
	answersHere
)

// answersHere asks for readiness, which the server proves by a write, and looks
// for that write in this database.
func (d *doctor) answersHere(ctx context.Context, a *account.Accounts, db *store.Diagnosis) (answers, error) {
	first, err := db.Beats(ctx)
	if err != nil {
		return answersElsewhere, err
	}
	sure := 0
	last := first
	for ask := range mostAsks {
		if ask > 0 {
			timer := time.NewTimer(askReadyEvery)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return answersElsewhere, context.Cause(ctx)
			}
		}
		before, err := db.Beats(ctx)
		if err != nil {
			return answersElsewhere, err
		}
		status, _, err := a.Get(ctx, "readyz")
		if err != nil {
			return answersElsewhere, err
		}
		if status != http.StatusOK {
			return answersElsewhere, fmt.Errorf("the server is not ready: /readyz is answered %d", status)
		}
		if last, err = db.Beats(ctx); err != nil {
			return answersElsewhere, err
		}
		if last > before {
			sure++
		}
		if sure == enoughBeats {
			return answersHere, nil
		}
	}
	if last > first {
		return answersPerhaps, nil
	}
	return answersElsewhere, nil
}
