package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	ical "github.com/emersion/go-ical"
)

// feedBody is a delivery of the generic provider; supersedes is the booking that it
// takes the place of.
func feedBody(t *testing.T, kind, id, supersedes, title string, said, from time.Time) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"type": kind, "occurred_at": said.UTC().Format(time.RFC3339Nano),
		"booking": map[string]any{
			"id": id, "supersedes": supersedes, "title": title, "resource": "room 1",
			"starts_at": from.UTC().Format(time.RFC3339Nano), "ends_at": from.Add(time.Hour).UTC().Format(time.RFC3339Nano),
			"invitee": map[string]any{"name": "Priya Raman", "email": "priya.raman@mail.example"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// followed is how a feed answered a calendar program.
type followed struct {
	status int
	mark   string
	events []ical.Event
}

// follows asks for a feed as a calendar program does that has what it was given with
// a mark.
func (s *server) follows(t *testing.T, address, mark string) followed {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if mark != "" {
		req.Header.Set("If-None-Match", mark)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := followed{status: resp.StatusCode, mark: resp.Header.Get("ETag")}
	if resp.StatusCode != http.StatusOK {
		return out
	}
	cal, err := ical.NewDecoder(resp.Body).Decode()
	if err != nil {
		t.Fatal(err)
	}
	out.events = cal.Events()
	return out
}

// TestFeedFollowsABooking lets a calendar program follow a booking through its life:
// it is one event under one UID, wherever it moves, whose SEQUENCE rises with each
// change, until it is off.
func TestFeedFollowsABooking(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		begin := time.Now().UTC().Truncate(time.Second)
		tomorrow := begin.AddDate(0, 0, 1)
		a.must(t, feedBody(t, "invitee.created", "a", "", "Visit", begin, tomorrow))
		made := object(t, s, "feeds", "add", "--name", "Front desk", "--level", "names", "--json")
		address := made.text("url")
		if !strings.HasPrefix(address, s.url+"/feeds/slf_") || !strings.HasSuffix(address, ".ics") || made["level"] != "names" {
			t.Fatalf("feeds add says %v", made)
		}

		uid, sequence, mark := "", -1, ""
		step := func(what string, start time.Time, status, summary string) {
			t.Helper()
			got := s.follows(t, address, mark)
			if len(got.events) != 1 {
				t.Fatalf("%s: answered %d with %d events", what, got.status, len(got.events))
			}
			event := got.events[0]
			p := event.Props
			n, err := strconv.Atoi(p.Get("SEQUENCE").Value)
			if err != nil || n <= sequence {
				t.Errorf("%s: SEQUENCE is %s after %d", what, p.Get("SEQUENCE").Value, sequence)
			}
			if got := p.Get("UID").Value; uid != "" && got != uid {
				t.Errorf("%s: the UID is %s, not %s", what, got, uid)
			}
			if got, err := event.DateTimeStart(time.UTC); err != nil || !got.Equal(start) {
				t.Errorf("%s: it begins at %s, not %s: %v", what, got, start, err)
			}
			if got := p.Get("STATUS").Value; got != status {
				t.Errorf("%s: it is %s, not %s", what, got, status)
			}
			if got, err := p.Text("SUMMARY"); err != nil || got != summary {
				t.Errorf("%s: it is called %q: %v", what, got, err)
			}
			uid, sequence, mark = p.Get("UID").Value, n, got.mark
			if again := s.follows(t, address, mark); again.status != http.StatusNotModified {
				t.Errorf("%s: asked again it answers %d", what, again.status)
			}
		}
		step("booked", tomorrow, "CONFIRMED", "Visit – Priya Raman")
		a.must(t, feedBody(t, "booking.moved", "a", "", "Visit", begin.Add(time.Minute), tomorrow.Add(2*time.Hour)))
		step("moved", tomorrow.Add(2*time.Hour), "CONFIRMED", "Visit – Priya Raman")
		a.must(t, feedBody(t, "invitee.created", "b", "a", "Second visit", begin.Add(2*time.Minute), tomorrow.AddDate(0, 0, 7)))
		step("rescheduled", tomorrow.AddDate(0, 0, 7), "CONFIRMED", "Second visit – Priya Raman")
		a.must(t, feedBody(t, "invitee.canceled", "b", "", "Second visit", begin.Add(3*time.Minute), tomorrow.AddDate(0, 0, 7)))
		step("canceled", tomorrow.AddDate(0, 0, 7), "CANCELLED", "Canceled: Second visit – Priya Raman")

		all := list(t, s, "feeds", "list")
		if len(all) != 1 || all[0]["name"] != "Front desk" || all[0]["url"] != nil || all[0]["last_used_at"] == nil || all[0]["revoked_at"] != nil {
			t.Errorf("feeds list says %v", all)
		}
		secret := strings.TrimSuffix(strings.TrimPrefix(address, s.url+"/feeds/"), ".ics")
		if text := s.run(t, "feeds", "list"); strings.Contains(text, secret) || !strings.Contains(text, "Front desk") {
			t.Errorf("feeds list says %s", text)
		}
		id := fmt.Sprint(all[0]["id"])
		s.run(t, "feeds", "revoke", id)
		if got := s.follows(t, address, ""); got.status != http.StatusNotFound {
			t.Errorf("revoked, it answers %d", got.status)
		}
		if complaint := s.refuses(t, "feeds", "revoke", id); !strings.Contains(complaint, "feeds list") {
			t.Errorf("revoked again: %s", complaint)
		}
		for _, args := range [][]string{
			{},
			{"--name", "x", "--level", "all"},
			{"--name", "x", "--provider", "nobody"},
			{"--name", "x", "--status", "canceled"},
			{"--name", "x", "--resource", "room 1"},
			{"--name", "x", "--resource", "0190a2b4-0000-7000-8000-000000000000"},
			{"--name", "x", "--user", "nobody"},
		} {
			s.refuses(t, append([]string{"feeds", "add"}, args...)...)
		}
		s.stop(t)
		if log := s.log.String(); strings.Contains(log, secret) {
			t.Error("the log has the feed's secret")
		}
	})
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, args := range [][]string{{"healthcheck"}, {"healthcheck", "--ready"}} {
		if out := s.run(t, args...); out != "ok\n" {
			t.Errorf("%v says %q", args, out)
		}
	}
	s.stop(t)
	s.refuses(t, "healthcheck")
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "[::]:80": "127.0.0.1:80", "slots.example:80": "slots.example:80",
	} {
		if got := nearAddress(listen); got != want {
			t.Errorf("what listens on %s is asked at %s", listen, got)
		}
	}
}
