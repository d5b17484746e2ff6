package acuity_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/providertest"
)

var hookEvents = []string{"appointment.scheduled", "appointment.rescheduled", "appointment.canceled", "appointment.changed"}

func (p *place) subscribe(t *testing.T) []providers.Hook {
	t.Helper()
	hooks, err := p.provider.Subscribe(t.Context(), p.client, p.conn, target, providers.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hooks {
		if !h.Active || h.ID == "" || !slices.Equal(h.Kinds, hookEvents[i:i+1]) {
			t.Errorf("hook %+v", h)
		}
	}
	if len(hooks) != len(hookEvents) {
		t.Fatalf("%d hooks", len(hooks))
	}
	return hooks
}

func (p *place) hooks(t *testing.T, target string) []providers.Hook {
	t.Helper()
	hooks, err := p.provider.Hooks(t.Context(), p.client, p.conn, target)
	if err != nil {
		t.Fatal(err)
	}
	return hooks
}

func ids(hooks []providers.Hook) []string {
	var out []string
	for _, h := range hooks {
		out = append(out, h.ID)
	}
	return out
}

// makeHook makes one past the adapter.
func (p *place) makeHook(t *testing.T, event, target string) (int, string) {
	t.Helper()
	return p.put(t, http.MethodPost, "/webhooks", `{"event":"`+event+`","target":"`+target+`"}`)
}

func TestSubscribe(t *testing.T) {
	p := newPlace(t)
	if n := len(p.hooks(t, target)); n != 0 {
		t.Errorf("%d hooks at first", n)
	}
	first := p.subscribe(t)
	if again := p.subscribe(t); !slices.Equal(ids(again), ids(first)) || !slices.Equal(ids(p.hooks(t, target)), ids(first)) {
		t.Errorf("%v, then %v", ids(first), ids(again))
	}
	if n := len(p.hooks(t, target+"0")); n != 0 {
		t.Errorf("%d hooks of another", n)
	}

	// Their posts are ours to verify, and say what they should.
	_, posts, err := p.Book(mirela, consult, doctor, noon)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []booking.Kind
	for _, post := range posts {
		r := providers.Request{Header: post.Header, Body: post.Body}
		if _, err := p.provider.Verify(r, p.conn.Secrets, noon); err != nil || post.URL != target {
			t.Errorf("%s: %v", post.Body, err)
		}
		kinds = append(kinds, p.provider.Parse(r, providertest.Origin(p.provider)).Kind)
	}
	if !slices.Equal(kinds, []booking.Kind{booking.KindCreated, booking.KindDetails}) {
		t.Errorf("kinds %v", kinds)
	}

	// What is missing is made, and what was disabled is made anew.
	p.RemoveHook(toInt(t, first[1].ID))
	repaired := p.subscribe(t)
	if repaired[1].ID == first[1].ID || repaired[0].ID != first[0].ID || repaired[3].ID != first[3].ID {
		t.Errorf("%v after %v", ids(repaired), ids(first))
	}
	p.DisableHooks(target)
	for _, h := range p.hooks(t, target) {
		if h.Active {
			t.Errorf("active: %+v", h)
		}
	}
	renewed := p.subscribe(t)
	if all := p.hooks(t, target); !slices.Equal(ids(all), ids(renewed)) || slices.ContainsFunc(ids(renewed), func(id string) bool { return slices.Contains(ids(repaired), id) }) {
		t.Errorf("%v of %v, after %v", ids(renewed), ids(all), ids(repaired))
	}
	// Two of one event would post everything twice.
	p.makeHook(t, "appointment.changed", target)
	if got := p.subscribe(t); !slices.Equal(ids(got), ids(renewed)) || len(p.hooks(t, target)) != 4 {
		t.Errorf("%v, of %v", ids(got), ids(p.hooks(t, target)))
	}
}

func TestUnsubscribe(t *testing.T) {
	p := newPlace(t)
	const other = "https://elsewhere.example/hooks"
	p.makeHook(t, "appointment.scheduled", other)
	p.makeHook(t, "order.completed", target)
	p.subscribe(t)
	for range 2 {
		if err := p.provider.Unsubscribe(t.Context(), p.client, p.conn, target); err != nil {
			t.Fatal(err)
		}
		if n, others := len(p.hooks(t, target)), len(p.hooks(t, other)); n != 0 || others != 1 {
			t.Errorf("%d left, %d of another", n, others)
		}
	}
	// One that is gone when it is to be removed is no error.
	hooks := p.subscribe(t)
	sent := p.record()
	sent.before = func(r *http.Request) {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, hooks[0].ID) {
			p.RemoveHook(toInt(t, hooks[0].ID))
		}
	}
	if err := p.provider.Unsubscribe(t.Context(), p.client, p.conn, target); err != nil || len(p.hooks(t, target)) != 0 {
		t.Errorf("%v left (%v)", p.hooks(t, target), err)
	}
}

// Past the account's 25 a person has to make room, and what was made is taken back.
func TestHookLimit(t *testing.T) {
	p := newPlace(t)
	const other = "https://elsewhere.example/hooks"
	for i := range 5 {
		if _, err := p.provider.Subscribe(t.Context(), p.client, p.conn, other+number(int64(i)), providers.Profile{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		p.makeHook(t, "appointment.changed", other)
	}
	_, body := p.makeHook(t, "appointment.canceled", target)
	before := ids(p.hooks(t, target))
	_, err := p.provider.Subscribe(t.Context(), p.client, p.conn, target, providers.Profile{})
	var manual *providers.ManualError
	if !errors.As(err, &manual) || !strings.Contains(manual.Why, "25 webhooks") || manual.Where != "Integrations → Webhooks" {
		t.Errorf("%v", err)
	}
	if got := ids(p.hooks(t, target)); len(before) != 1 || !slices.Equal(got, before) || len(p.hooks(t, other)) != 2 {
		t.Errorf("%v are left, there was %s", got, body)
	}
	p.RemoveHook(toInt(t, p.hooks(t, other)[0].ID))
	if got := p.subscribe(t); got[2].ID != before[0] {
		t.Errorf("with room: %v", ids(got))
	}
}

func TestHooksThatMayNotBeMade(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		name, target string
		trouble      apitest.Trouble
	}{
		{"a port that Acuity does not post to", "https://bookings.example:8443/webhooks/acuity/1", apitest.Healthy},
		{"an account that may not", target, apitest.Forbidden},
	} {
		p.Set(c.trouble)
		_, err := p.provider.Subscribe(t.Context(), p.client, p.conn, c.target, providers.Profile{})
		var manual *providers.ManualError
		if !errors.As(err, &manual) || manual.Why == "" || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%s: %v", c.name, err)
		}
		p.Set(apitest.Healthy)
		if n := len(p.hooks(t, c.target)); n != 0 {
			t.Errorf("%s: %d are left", c.name, n)
		}
	}
}

// A hook whose answer never came may have been made: it is taken back too.
func TestHookWhoseAnswerIsLost(t *testing.T) {
	p := newPlace(t)
	sent := p.record()
	made := 0
	sent.before = func(r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			p.Set(apitest.Healthy)
		case made == 2:
			p.makeHook(t, "appointment.canceled", target)
			p.Set(apitest.Dropped)
			fallthrough
		default:
			made++
		}
	}
	if _, err := p.provider.Subscribe(t.Context(), p.client, p.conn, target, providers.Profile{}); err == nil {
		t.Error("an answer that never came was taken for one")
	}
	if n := len(p.hooks(t, target)); n != 0 || made != 3 {
		t.Errorf("%d are left of %d", n, made)
	}
}
