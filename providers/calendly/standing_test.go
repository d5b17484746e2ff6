package calendly_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/providertest"
)

// What the API's answers do not say is not made up.
func TestStandingSaysNoMoreThanTheAPI(t *testing.T) {
	group := at[map[string]any](t, recorded(t, "event_invitees_group_200.json"), "collection", 1)
	event := at[map[string]any](t, recorded(t, "scheduled_events_page1_200.json"), "collection", 1)
	id := strings.TrimPrefix(at[string](t, group, "uri"), "https://api.calendly.com")
	look := func() *booking.Event {
		a := newTeam(t)
		a.client = &http.Client{Transport: api{id: map[string]any{"resource": group}, strings.Split(id, "/invitees/")[0]: map[string]any{"resource": event}}}
		s, err := calendly.New(0).Look(context.Background(), a.client, a.conn, origin, id, monday)
		if err != nil || s.Event == nil {
			t.Fatalf("%+v, %v", s, err)
		}
		checkStanding(t, s)
		return s.Event
	}
	if e := look(); *e.Attendees[0].NoShow || *e.Location != "Pier House, 12 Dock Lane" || *e.Session.Capacity != 10 {
		t.Errorf("as recorded: %+v", e)
	}
	delete(group, "no_show")
	event["invitees_counter"], event["location"], event["event_memberships"] = nil, nil, nil
	if e := look(); e.Attendees[0].NoShow != nil || e.Location != nil || e.Session.Capacity != nil || e.Session.Hosts != nil {
		t.Errorf("silent: %+v", e)
	}
	group["no_show"] = map[string]any{"uri": "https://api.calendly.com/invitee_no_shows/1", "created_at": "2026-12-15T18:00:00.000000Z"}
	if e := look(); e.Attendees[0].NoShow == nil || !*e.Attendees[0].NoShow {
		t.Errorf("a no-show: %+v", e)
	}
	event["status"] = "canceled"
	if e := look(); e.Kind != booking.KindCanceled || e.Reason != booking.ReasonCanceled {
		t.Errorf("in a canceled event: %+v", e)
	}
	group["name"] = "https://rooms.example/secret"
	a := newTeam(t)
	a.client = &http.Client{Transport: api{id: map[string]any{"resource": group}, strings.Split(id, "/invitees/")[0]: map[string]any{"resource": event}}}
	s, err := calendly.New(0).Look(context.Background(), a.client, a.conn, origin, id, monday)
	if err != nil || strings.Contains(string(s.Body), "rooms.example") {
		t.Errorf("a link is kept: %s, %v", s.Body, err)
	}
}

func TestLook(t *testing.T) {
	a := newTeam(t)
	path, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	look := func(id string) error {
		_, err := calendly.New(0).Look(context.Background(), a.client, a.conn, origin, id, monday)
		return err
	}
	if err := look(path); err != nil {
		t.Fatal(err)
	}
	event := strings.Split(path, "/invitees/")[0]
	before := a.Count("/")
	for _, bad := range []string{"", event, event + "/invitees/", event + "/invitees/a/b", event + "/invitees/..", "/users/me", "https://evil.example" + path, path + "?x=1"} {
		if err := look(bad); err == nil || errors.Is(err, providers.ErrGone) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if a.Count("/") != before {
		t.Error("something else was asked for")
	}
	a.Set(apitest.NotHere)
	if err := look(path); err == nil || errors.Is(err, providers.ErrGone) {
		t.Errorf("behind a page: %v", err)
	}
	a.Set(apitest.Healthy)
	a.Forget(event)
	if err := look(path); !errors.Is(err, providers.ErrGone) {
		t.Errorf("gone: %v", err)
	}
}

// The bodies of standings are read as strictly as posts.
func TestStandingBodies(t *testing.T) {
	a := newTeam(t)
	a.subscribe(t)
	st := a.tell(t)
	listed, _ := a.list(t, window)
	var cases []providertest.Fetched
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		name := "standing_" + string(listed[id].Kind)
		if slices.Contains(st.gone, id) {
			name = "standing_no_show"
		} else if _, moved := st.moved[id]; moved {
			name = "standing_moved"
		}
		if slices.ContainsFunc(cases, func(c providertest.Fetched) bool { return c.Name == name }) {
			continue
		}
		cases = append(cases, providertest.Fetched{Name: name, Snapshot: listed[id].Body, Kind: booking.KindDetails, EventKey: "a key", Ticket: monday})
	}
	if len(cases) != 4 {
		t.Errorf("%d kinds of bodies", len(cases))
	}
	providertest.RunFetched(t, calendly.New(0), cases...)
}

func FuzzRead(f *testing.F) {
	for _, file := range []string{"standing_snapshot", "standing_invitee.canceled", "standing_moved", "standing_no_show", "legacy"} {
		f.Add([]byte(fixture(f, "golden/"+file+".snapshot.json")))
	}
	p := calendly.New(0)
	f.Fuzz(func(t *testing.T, body []byte) {
		providertest.CheckFetched(t, p.Read(body, origin, monday, booking.KindDetails, "a key"), booking.KindDetails, "a key")
	})
}
