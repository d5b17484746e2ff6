package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCanceledStaysCanceled tells of a cancel and then, late, of what came before
// it: nothing brings the booking back, and each attempt is refused, kept for the
// audit and logged once, without anybody's name.
func TestCanceledStaysCanceled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) {
		attempts := map[string]attempt{} // by receipt
		accounts := s.connectAll(t)
		for _, name := range slices.Sorted(maps.Keys(accounts)) {
			t.Run(name, func(t *testing.T) { maps.Copy(attempts, comeBack(t, accounts[name])) })
		}
		noSlot(t, s)
		s.stop(t) // what it logs is complete then
		loggedOnce(t, s, attempts)
	})
}

// attempt is an event that would bring a canceled booking back.
type attempt struct {
	kind, booking, request, connection string
}

// late is what comes after a cancel: an event said so long after it, or before it
// and only late to arrive; before is what was told first, if anything.
type late struct {
	before, kind string
	lag          time.Duration
}

// lates are all that the provider can tell. Calendly has no requests, and moves
// by new bookings.
func lates(a connected) []late {
	befores, kinds := []string{"", "create", "request"}, []string{"create", "request", "move"}
	if a.Name() == "calendly" {
		befores, kinds = []string{"", "create"}, []string{"create"}
	}
	var out []late
	for _, before := range befores {
		for _, kind := range kinds {
			out = append(out, late{before, kind, -time.Hour}, late{before, kind, time.Hour})
		}
	}
	return out
}

func comeBack(t *testing.T, a connected) map[string]attempt {
	t.Helper()
	token := a.token(t, "read")
	over := map[string]connected{"the same connection": a}
	if a.APIBase() != "" { // else another connection is another system
		over["another connection"] = a.connect(t, a.Name())
	}
	out := map[string]attempt{}
	day := 0
	for _, late := range lates(a) {
		for name, via := range over {
			day++
			id := fmt.Sprintf("%s-%s-%d", late.before, late.kind, day)
			w := said{id: id, from: monday.AddDate(0, 0, day)}
			tell := func(kind string, at time.Time) []byte { w.kind, w.at = kind, at; return a.body(t, w) }
			canceled := monday.Add(-24 * time.Hour)
			if late.before != "" {
				a.must(t, tell(late.before, canceled.Add(-2*time.Hour)))
			}
			if ack := a.must(t, tell("cancel", canceled)); ack.Status != "processed" {
				t.Fatalf("the cancel of %s was %s", id, ack.Status)
			}

			body := tell(late.kind, canceled.Add(late.lag))
			got := via.deliver(t, body)
			if got.status != http.StatusOK || got.text("status") != "rejected" || got.text("error") != "illegal_transition" {
				t.Errorf("a late %s of %s over %s got %d %s", late.kind, id, name, got.status, got.body)
			}
			// A copy is nothing new.
			if ack := via.must(t, body); ack.Status != "duplicate" || ack.Original != "rejected" {
				t.Errorf("a copy of it got %+v", ack)
			}
			b := stillCanceled(t, a, token, id)
			inAudit(t, a, token, b, late.kind, got.text("event_id"))
			out[got.text("event_id")] = attempt{late.kind, b.ID.String(), got.header.Get("X-Request-Id"), via.id.String()}
		}
	}
	return out
}

// stillCanceled finds the booking canceled, and no other beside it.
func stillCanceled(t *testing.T, a connected, token, id string) bookingItem {
	t.Helper()
	var found []bookingItem
	for _, b := range api[bookingItem](t, a.server, token, "bookings?provider="+a.Name()) {
		if strings.HasSuffix(b.ExternalID, id) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d bookings of %s", len(found), id)
	}
	if b := found[0]; b.Status != "canceled" || b.Reason == nil || *b.Reason != "canceled" {
		t.Errorf("%s is %s %v", id, b.Status, b.Reason)
	}
	return found[0]
}

// inAudit finds the refused transition, once, after the one that canceled.
func inAudit(t *testing.T, a connected, token string, b bookingItem, kind, receipt string) {
	t.Helper()
	all := api[transitionItem](t, a.server, token, "transitions?booking_id="+b.ID.String())
	refused := api[transitionItem](t, a.server, token, "transitions?outcome=rejected&reason=illegal_transition&booking_id="+b.ID.String())
	if len(refused) != 1 || len(all) < 2 || all[0].Seq != refused[0].Seq {
		t.Fatalf("the audit of %s has %d transitions, %d of them refused", b.ExternalID, len(all), len(refused))
	}
	r, last := refused[0], all[1]
	if r.Event != kind || r.From == nil || *r.From != "canceled" || r.To != "canceled" || r.ReceiptID == nil || r.ReceiptID.String() != receipt {
		t.Errorf("the audit says of %s: %+v", b.ExternalID, r)
	}
	if last.Event != "cancel" || last.Outcome != "applied" || last.To != "canceled" {
		t.Errorf("what came before is %+v", last)
	}
}

func noSlot(t *testing.T, s *server) {
	t.Helper()
	type slot struct {
		Status   string   `json:"status"`
		Bookings []string `json:"booking_ids"`
	}
	for _, o := range api[slot](t, s, s.token(t, "read"), "slots") {
		if o.Status != "released" || len(o.Bookings) > 0 {
			t.Errorf("a canceled booking holds a slot: %+v", o)
		}
	}
}

// loggedOnce finds one warning for each attempt, that says which and why, and
// no warning else.
func loggedOnce(t *testing.T, s *server, attempts map[string]attempt) {
	t.Helper()
	if n := len(attempts); n != 2*4+2*18+18 {
		t.Errorf("%d attempts", n)
	}
	seen := map[string]bool{}
	for _, l := range s.logLines(t) {
		if l["level"] == "INFO" {
			continue
		}
		receipt, _ := l["receipt"].(string)
		a, ok := attempts[receipt]
		switch {
		case !ok || seen[receipt] || l["level"] != "WARN" || l["msg"] != "transition refused":
			t.Errorf("the log says %v", l)
		case l["request_id"] != a.request || a.request == "" || l["booking"] != a.booking || l["connection"] != a.connection ||
			l["event"] != a.kind || l["from"] != "canceled" || l["reason"] != "illegal_transition":
			t.Errorf("of %+v the log says %v", a, l)
		}
		seen[receipt] = true
	}
	if len(seen) != len(attempts) {
		t.Errorf("%d of %d attempts were logged", len(seen), len(attempts))
	}
	var who []planted
	for _, v := range []string{
		"Jonas Whitfield", "jonas.whitfield@brightfen.example", "Jonas.Whitfield@brightfen.example", "+49 30 23125 014", "Priya Raman",
		"priya.raman@mail.example", "Intro call (30 min)", "Site visit", "Intro Call", "Dock Lane",
	} {
		who = append(who, planted{"personal data", v})
	}
	absent(t, "the log", s.log.String(), who)
}
