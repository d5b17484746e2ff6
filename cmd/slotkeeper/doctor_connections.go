package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking/account"
	"slotkeeper/booking/store"
	"slotkeeper/providers"
)

// connections examines each connection, and the clock against each API.
func (d *doctor) connections(ctx context.Context, db *store.Diagnosis, inst *installation, a *account.Accounts) error {
	all, err := inst.store.Credentials(ctx)
	if err != nil {
		return err
	}
	listed, err := inst.connections(ctx)
	if err != nil {
		return err
	}
	backlogs, err := db.Backlogs(ctx)
	if err != nil {
		return err
	}
	askable := map[uuid.UUID]bool{}
	for _, c := range all {
		askable[c.ID] = account.HasCredentials(c)
	}
	asked := map[string]bool{}
	connected := 0
	for _, c := range listed {
		if c.DisconnectedAt != nil {
			continue
		}
		connected++
		d.add(d.connection(ctx, a, c, backlogs[c.ID]))
		if askable[c.ID] && !asked[c.APIBase] {
			asked[c.APIBase] = true
			d.add(apiClock(ctx, a, c))
		}
	}
	if connected == 0 {
		d.add(warning("connections", "there is none: nothing comes in", "make one: connect --help"))
	}
	return nil
}

func apiClock(ctx context.Context, a *account.Accounts, c providers.Connection) check {
	name := "clock and " + c.Provider
	ahead, told, err := a.Skew(ctx, c.APIBase)
	switch {
	case err != nil:
		return warning(name, c.APIBase+" does not tell its time: "+err.Error(), account.Remedy(c.Provider, err))
	case !told:
		return fine(name, c.APIBase+" does not tell its time")
	}
	return clockVerdict(name, c.APIBase+"'s", ahead, 0)
}

// askTimeout is the most that a connection's API may take.
const askTimeout = 30 * time.Second

func (d *doctor) connection(ctx context.Context, a *account.Accounts, c providers.Connection, b store.Backlog) check {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	asked, err := a.Ask(ctx, c.ID)
	return connectionVerdict(c, asked, err, b, d.now())
}

// lateAfter is how long a receipt may wait for its turn before somebody should look.
const lateAfter = 15 * time.Minute

// connectionVerdict puts together what is known of a connection. The worst decides.
func connectionVerdict(c providers.Connection, asked account.Asked, askErr error, b store.Backlog, now time.Time) check {
	out := check{Name: fmt.Sprintf("connection %s (%s, %s)", c.ID, c.Provider, c.Name), Status: statusOK}
	var found, todo []string
	note := func(status checkStatus, detail, remedy string) {
		found = append(found, detail)
		if remedy != "" {
			todo = append(todo, remedy)
		}
		if status == statusFailed || out.Status == statusOK {
			out.Status = status
		}
	}
	cause := account.CauseOf(askErr)
	switch {
	case errors.Is(askErr, account.ErrCannotAsk) && c.APIBase == c.ID.String():
	case errors.Is(askErr, account.ErrCannotAsk):
		note(statusWarning, "it has no credentials for "+c.Provider+"'s API: lost deliveries are not found", "connect the account again with them")
	case cause == account.CauseLimited || cause == account.CauseProvider:
		note(statusWarning, c.Provider+" could not be asked: "+askErr.Error(), account.Remedy(c.Provider, askErr))
	case askErr != nil:
		note(statusFailed, c.Provider+" could not be asked: "+askErr.Error(), account.Remedy(c.Provider, askErr))
	case asked.Registered && !asked.Hook.Posted():
		note(statusFailed, "at "+c.Provider+" "+asked.Hook.String(), "the running server registers it anew within half an hour; or connect the account again")
	case asked.Registered && asked.Hook.Trouble == providers.HookFailing:
		note(statusWarning, "at "+c.Provider+" "+asked.Hook.String(), "see what the log says of these posts")
	case asked.Registered && !asked.Hook.Whole():
		note(statusOK, "the API accepts the credentials and the webhook is active; "+asked.Hook.String(), "")
	case asked.Registered:
		note(statusOK, "the API accepts the credentials and the webhook is active", "")
	default:
		note(statusOK, "the API accepts the credentials", "")
	}
	last := "nothing came yet"
	if c.LastDeliveryAt != nil {
		last = "the last delivery came " + c.LastDeliveryAt.UTC().Format(time.RFC3339)
	}
	if c.State(now) == providers.StateQuiet {
		note(statusWarning, last, "is that as it should be? see connections test")
	} else {
		note(statusOK, last, "")
	}
	if b.Dead > 0 {
		note(statusWarning, fmt.Sprintf("%d receipts were given up", b.Dead), "the page of deliveries says why")
	}
	if b.Failed > 0 {
		note(statusWarning, fmt.Sprintf("%d receipts failed", b.Failed), "the page of deliveries says why")
	}
	if b.Pending > 0 {
		detail := fmt.Sprintf("%d receipts are open", b.Pending)
		if b.OldestPending != nil && now.Sub(*b.OldestPending) > lateAfter {
			note(statusWarning, detail+" since "+b.OldestPending.UTC().Format(time.RFC3339), "is the server running? it works on them")
		} else {
			note(statusOK, detail, "")
		}
	}
	out.Detail, out.Remedy = strings.Join(found, "; "), strings.Join(todo, "; ")
	return out
}
