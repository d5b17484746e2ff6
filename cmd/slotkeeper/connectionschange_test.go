package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers/apitest"
)

// TestChangingConnections goes through what people do to connections by commands
// when something is in the way.
func TestChangingConnections(t *testing.T) {
	t.Parallel()
	long(t)
	o, ok := newCalendlyOffice(t).(*calendlyOffice)
	if !ok {
		t.Fatal("it is another office")
	}
	o.before(t)
	l := newLife(t, "", o)
	refused := func(says string, args ...string) {
		t.Helper()
		if out, err := l.try(t, "", args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %s %v", strings.Join(args[:2], " "), out, err)
		}
	}
	connect := l.connectArgs(o.credentials(), "--subscribe", "--backfill", firstDay())

	// Whatever the API does, the command says what to do, and nothing stays.
	for _, trouble := range []apitest.Trouble{apitest.Dropped, apitest.Endless, apitest.Cut} {
		l.Set(trouble)
		refused("check --api-url", connect...)
	}
	l.Set(apitest.Unauthorized, "/webhook_subscriptions")
	refused("make a new one at calendly", connect...)
	l.Set(apitest.Healthy)
	if all := l.list(t); len(all) != 0 || len(o.Subscribed()) != 0 {
		t.Fatalf("%+v and %d webhooks are left", all, len(o.Subscribed()))
	}
	if _, err := l.try(t, "", "connect", "acuity", "--api-user", "1", "--api-key", "short"); err == nil ||
		!strings.Contains(err.Error(), "--api-key") || strings.Contains(err.Error(), "--signing-secret") {
		t.Errorf("a short key: %v", err)
	}

	l.killedAmidConnect(t, connect)
	if len(o.Subscribed()) != 0 {
		t.Errorf("%d webhooks are left", len(o.Subscribed()))
	}

	// An import is stopped, by whoever waits for it and by another.
	l.Set(apitest.Hanging, l.listPath())
	var out connectionItem
	decode(t, l.run(t, l.connectArgs(o.credentials(), "--subscribe")...), &out)
	l.id, l.target = out.ID, out.WebhookURL
	id := l.id.String()
	waits := make(chan error, 1)
	go func() {
		_, err := l.try(t, "", "connections", "backfill", id, "--from", firstDay())
		waits <- err
	}()
	books := l.store(t)
	waitFor(t, "the import to be under way", func() error {
		open, err := books.OpenRuns(t.Context())
		if err == nil && !slices.ContainsFunc(open, func(r booking.Run) bool { return r.Kind == booking.RunBackfill }) {
			err = errors.New("it is not")
		}
		return err
	})
	var stopped []runItem
	decode(t, l.run(t, "connections", "stop", id, "--json"), &stopped)
	if !slices.ContainsFunc(stopped, func(r runItem) bool { return r.Kind == "backfill" && r.Status == "stopped" }) {
		t.Errorf("stopped %+v", stopped)
	}
	l.Set(apitest.Healthy)
	if err := <-waits; err == nil || !strings.Contains(err.Error(), "somebody stopped the run") {
		t.Errorf("whoever waited was told %v", err)
	}
	refused("no connection", "connections", "stop", "0190a2b4-0000-7000-8000-000000000000")
	refused("nothing is under way", "connections", "stop", id, "--run", "0190a2b4-0000-7000-8000-000000000000")
	l.run(t, "connections", "backfill", id, "--from", firstDay())
	l.same(t)

	l.Set(apitest.Dropped)
	refused("try again later", "connections", "rotate", id)
	l.Set(apitest.Healthy)
	l.run(t, "connections", "rotate", id, "--force")
	l.run(t, "connections", "disconnect", id)
	refused("disconnected", "connections", "rotate", id)
	refused("disconnected", "connections", "rotate", id, "--finish")
	if len(o.Subscribed()) != 0 {
		t.Errorf("%d webhooks are left", len(o.Subscribed()))
	}
}

// killedAmidConnect kills a command that connects when its webhook is registered: the
// server removes what it leaves.
func (l *life) killedAmidConnect(t *testing.T, connect []string) {
	t.Helper()
	l.Set(apitest.Hanging, "/webhook_subscriptions")
	asked := l.Count("/webhook_subscriptions")
	var complaint bytes.Buffer
	cmd := exec.Command(binary, connect...)
	cmd.Env, cmd.Dir, cmd.Stderr = l.env, l.dir, &complaint
	must(t, cmd.Start())
	waitFor(t, "the webhook to be asked for", func() error {
		if l.Count("/webhook_subscriptions") == asked {
			return errors.New("it is not")
		}
		return nil
	})
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("it was too fast to be killed")
	}
	l.Set(apitest.Healthy)
	if all := l.list(t); len(all) != 1 {
		t.Fatalf("it left %+v", all)
	}
	waitFor(t, "what it left to be removed", func() error {
		if all := l.list(t); len(all) != 0 {
			return fmt.Errorf("%+v\n%s", all, l.log)
		}
		return nil
	})
	if len(l.logged(t, "a connection was removed that was never connected to the end")) != 1 {
		t.Errorf("nothing tells of it:\n%s", l.log)
	}
}
