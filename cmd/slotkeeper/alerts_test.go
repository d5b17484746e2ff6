package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/migrations/migratetest"
)

// chat is a team's chat that takes incoming webhooks.
type chat struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
	down  bool
}

func newChat(t *testing.T) *chat {
	t.Helper()
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		line, _, _ := strings.Cut(m.Text, "\n")
		c.heard = append(c.heard, line)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *chat) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// said are the first lines of what it heard.
func (c *chat) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// hears waits until it heard n messages of a text.
func (c *chat) hears(t *testing.T, n int, text string) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%q to be told %d times", text, n), func() error {
		got := 0
		for _, line := range c.said() {
			if strings.Contains(line, text) {
				got++
			}
		}
		if got != n {
			return fmt.Errorf("it was told %d times: %q", got, c.said())
		}
		return nil
	})
}

// Two instances look after one database: a double booking is told once, also when the
// chat is away while it begins, and once that it is over.
func TestAlertsReachPeople(t *testing.T) {
	t.Parallel()
	long(t)
	c := newChat(t)
	at, err := url.Parse(c.URL)
	must(t, err)
	env := []string{"SLOTKEEPER_ALLOW_PRIVATE_HOSTS=" + at.Host, "SLOTKEEPER_TEMPO=300"}
	database := migratetest.EmptyPostgres(t)
	s := newServer(t, database, env...)
	s.second(t)
	front := s.signedIn(t)
	res, err := front.PostForm(s.url+"/settings/alerts", url.Values{
		"channel": {"slack"}, "address": {c.URL + "/services/planted"}, "least": {"notice"}, "language": {"en"},
	})
	must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Request.URL.Query().Get("done") != "added" {
		t.Fatalf("answered %s at %s", res.Status, res.Request.URL)
	}

	c.set(true)
	g := s.connect(t, "generic", "--name", "Front desk")
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(58 * time.Hour)
	for _, id := range []string{"a1", "a2"} {
		if got := g.deliver(t, g.body(t, said{"create", id, day, time.Now(), nil})); got.status != http.StatusOK {
			t.Fatalf("answered %d %s", got.status, got.body)
		}
	}
	token := s.token(t, "operate")
	var waiting []bookingItem
	for _, b := range api[bookingItem](t, s, token, "bookings") {
		if b.Status == "conflicted" {
			waiting = append(waiting, b)
		}
	}
	if len(waiting) != 1 {
		t.Fatalf("%d bookings have no slot", len(waiting))
	}
	c.set(false)
	c.hears(t, 1, "Warning: Two bookings in one slot")
	ask(t, http.MethodPost, s.url+"/api/v1/bookings/"+waiting[0].ID.String()+"/accept-overlap", []byte(`{"reason":"Two rooms"}`),
		http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}})
	c.hears(t, 1, "Over: Two bookings in one slot")
	c.hears(t, 1, "Warning: Two bookings in one slot")
	if n := len(c.said()); n != 2 {
		t.Errorf("told are %q", c.said())
	}
}
