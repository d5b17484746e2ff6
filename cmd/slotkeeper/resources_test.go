package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Two resources of a clinic turn out to be one, by commands beside the running
// server: the merge says first what it would do, does it, and later deliveries
// for either go to the one that is left.
func TestResourceCommands(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		book := func(id, resource string, hour, minute int) {
			t.Helper()
			from := monday.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			a.must(t, genericBody("invitee.created", id, resource, monday.AddDate(0, 0, -1), from, from.Add(30*time.Minute)))
		}
		book("first", "Room 1", 0, 0)
		book("rival", "Room One", 0, 15)
		book("free", "Room One", 1, 0)

		type resource struct {
			ID         string `json:"id"`
			Name       string `json:"name"`
			Timezone   string `json:"timezone"`
			Coming     int    `json:"future_bookings"`
			Identities []struct {
				ExternalID string `json:"external_id"`
			} `json:"identities"`
		}
		list := func() map[string]resource {
			t.Helper()
			var out struct{ Resources []resource }
			decode(t, s.run(t, "resources", "list", "--json"), &out)
			byName := map[string]resource{}
			for _, r := range out.Resources {
				byName[r.Name] = r
			}
			return byName
		}
		before := list()
		from, into := before["Room One"].ID, before["Room 1"].ID
		if len(before) != 2 || before["Room One"].Coming != 2 || before["Room 1"].Coming != 1 {
			t.Fatalf("resources %+v", before)
		}
		token := s.token(t, "read")
		status := func() map[string]string {
			t.Helper()
			out := map[string]string{}
			for _, b := range api[bookingItem](t, s, token, "bookings") {
				out[b.ExternalID] = b.Status
			}
			return out
		}

		type impact struct {
			Changed   int  `json:"bookings_changed"`
			Sessions  int  `json:"sessions_moved"`
			Done      bool `json:"done"`
			Conflicts []struct {
				ID     uuid.UUID   `json:"booking_id"`
				Reason string      `json:"reason"`
				From   time.Time   `json:"starts_at"`
				With   []uuid.UUID `json:"with"`
			} `json:"conflicts"`
		}
		var seen, done impact
		decode(t, s.run(t, "resources", "merge", from, into, "--json"), &seen)
		if seen.Done || len(seen.Conflicts) != 1 || seen.Sessions != 2 || len(seen.Conflicts[0].With) != 1 ||
			seen.Conflicts[0].Reason != "overlap" || !seen.Conflicts[0].From.Equal(monday.Add(15*time.Minute)) {
			t.Fatalf("the preview is %+v", seen)
		}
		if text := s.run(t, "resources", "merge", from, into); !strings.Contains(text, "nothing is changed") || !strings.Contains(text, "1 conflict made") ||
			!strings.Contains(text, "held by Visit · Priya Raman") {
			t.Errorf("the preview says %s", text)
		}
		if got := status(); len(list()) != 2 || got["rival"] != "active" {
			t.Fatalf("the preview changed something: %v", got)
		}
		decode(t, s.run(t, "resources", "merge", from, into, "--yes", "--json"), &done)
		if !done.Done || len(done.Conflicts) != 1 || done.Conflicts[0].ID != seen.Conflicts[0].ID {
			t.Fatalf("the merge did %+v", done)
		}
		book("tardy", "Room One", 0, 20)
		if got := status(); got["first"] != "active" || got["rival"] != "conflicted" || got["free"] != "active" || got["tardy"] != "conflicted" {
			t.Errorf("after the merge: %v", got)
		}
		s.refuses(t, "resources", "merge", from, into, "--yes")
		s.refuses(t, "resources", "merge", into, into)
		s.refuses(t, "resources", "rename", from, "x")

		s.run(t, "resources", "rename", into, "The room")
		s.run(t, "resources", "zone", into, "Europe/Lisbon")
		s.refuses(t, "resources", "zone", into, "Nowhere/Land")
		s.refuses(t, "resources", "rename", into, " ")
		got := list()
		if r := got["The room"]; len(got) != 1 || r.ID != into || r.Timezone != "Europe/Lisbon" || len(r.Identities) != 2 || r.Coming != 4 {
			t.Errorf("resources %+v", got)
		}
		// The API tells of the zone too.
		if items := api[resource](t, s, token, "resources"); len(items) != 1 || items[0].Timezone != "Europe/Lisbon" || items[0].Name != "The room" {
			t.Errorf("the API says %+v", items)
		}

		split := object(t, s, "resources", "split", into, "Room One", "--name", "Room two", "--json")
		if got := list(); got["Room two"].ID != split.text("resource_id") || got["Room two"].Coming != 3 || got["The room"].Coming != 1 {
			t.Errorf("after the split %v: %+v", split, got)
		}
		if got := status(); got["rival"] != "active" || got["tardy"] != "conflicted" || got["first"] != "active" {
			t.Errorf("after the split: %v", got)
		}
		s.refuses(t, "resources", "split", into, "Room One")
		s.refuses(t, "resources", "split", into, "Room 1")
		if text := s.run(t, "resources", "list"); !strings.Contains(text, "3 future bookings") || !strings.Contains(text, "Europe/Lisbon") {
			t.Errorf("the list says %s", text)
		}
	})
}
