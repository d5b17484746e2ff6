package calendly_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
)

// ask is a plain client's request.
func (a *account) ask(t *testing.T, path, token string) (int, map[string]any, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.APIBase()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return answer.StatusCode, out, answer.Header
}

func TestStandIn(t *testing.T) {
	a := newAccount(t)
	invitee, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	event := invitee[:len("/scheduled_events/")+36]
	for _, c := range []struct {
		path, token string
		status      int
		title       any
	}{
		{event, token, http.StatusOK, nil},
		{invitee, token, http.StatusOK, nil},
		{event, "another", http.StatusUnauthorized, "Unauthenticated"},
		{"/scheduled_events/none", token, http.StatusNotFound, "Resource Not Found"},
		{event + "/invitees/none", token, http.StatusNotFound, "Resource Not Found"},
		{"/users/me", token, http.StatusNotFound, "Resource Not Found"},
	} {
		status, body, _ := a.ask(t, c.path, c.token)
		if status != c.status || body["title"] != c.title {
			t.Errorf("%s: %d %v", c.path, status, body)
		}
	}
	_, body, _ := a.ask(t, invitee, token)
	resource, _ := body["resource"].(map[string]any)
	if _, embedded := resource["scheduled_event"]; embedded || resource["uri"] != "https://api.calendly.com"+invitee || resource["event"] != "https://api.calendly.com"+event {
		t.Errorf("the invitee is %v", resource)
	}
	a.Set(apitest.Limited)
	if status, _, header := a.ask(t, event, token); status != http.StatusTooManyRequests || header.Get("X-RateLimit-Reset") != "60" {
		t.Errorf("limited: %d %v", status, header)
	}

	// The posts have all that bodies of before 2023 have, and nothing more.
	var old, post struct {
		Payload map[string]any `json:"payload"`
	}
	if err := json.Unmarshal([]byte(fixture(t, legacy)), &old); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(posts[0].Body, &post); err != nil {
		t.Fatal(err)
	}
	names := func(m map[string]any) []string {
		var out []string
		for name := range m {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	if got, want := names(post.Payload), names(old.Payload); !slices.Equal(got, want) {
		t.Errorf("a post has %v, the fixture %v", got, want)
	}
}
