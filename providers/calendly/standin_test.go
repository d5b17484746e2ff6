package calendly_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
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
	invitee, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
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
		{"/nothing", token, http.StatusNotFound, "Resource Not Found"},
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
}

// Old posts have all that bodies of before 2023 have, and nothing more; those of
// today what today's have.
func TestStandInPosts(t *testing.T) {
	a := newTeam(t)
	a.SetHook(calendlytest.Hook{URL: "https://hooks.example/old", Key: signingKey})
	a.subscribe(t)
	_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
	if err != nil || len(posts) != 2 {
		t.Fatalf("%d posts, %v", len(posts), err)
	}
	for n, file := range []string{legacy, oneOnOne} {
		got, want := names(t, posts[n].Body), names(t, []byte(fixture(t, file)))
		if !slices.Equal(got, want) {
			t.Errorf("a post has\n%v, %s\n%v", got, file, want)
		}
	}
}

// names are those of a body's members, and of its payload's and event's.
func names(t *testing.T, body []byte) []string {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	payload, _ := root["payload"].(map[string]any)
	event, _ := payload["scheduled_event"].(map[string]any)
	var out []string
	for prefix, m := range map[string]map[string]any{"": root, "payload.": payload, "payload.scheduled_event.": event} {
		for name := range m {
			out = append(out, prefix+name)
		}
	}
	slices.Sort(out)
	return out
}

// Its answers have the members that the recorded ones have.
func TestStandInAnswersAsRecorded(t *testing.T) {
	a := newTeam(t)
	path, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, me, _ := a.ask(t, "/users/me", token)
	_, listed, _ := a.ask(t, "/scheduled_events?user="+url.QueryEscape("https://api.calendly.com/users/"+mara.ID), token)
	_, invited, _ := a.ask(t, strings.Split(path, "/invitees/")[0]+"/invitees", token)
	first := func(list map[string]any) map[string]any { return at[map[string]any](t, list, "collection", 0) }
	resource := func(m map[string]any) map[string]any { r, _ := m["resource"].(map[string]any); return r }
	for name, c := range map[string][2]map[string]any{
		"users_me_200.json":               {resource(me), resource(recorded(t, "users_me_200.json"))},
		"scheduled_events_page1_200.json": {first(listed), first(recorded(t, "scheduled_events_page1_200.json"))},
		"event_invitees_group_200.json":   {first(invited), at[map[string]any](t, recorded(t, "event_invitees_group_200.json"), "collection", 1)},
		"a list of events":                {listed, recorded(t, "scheduled_events_page1_200.json")},
		"the pagination of a list":        {at[map[string]any](t, listed, "pagination"), at[map[string]any](t, recorded(t, "scheduled_events_page1_200.json"), "pagination")},
	} {
		got, want := slices.Sorted(maps.Keys(c[0])), slices.Sorted(maps.Keys(c[1]))
		if !slices.Equal(got, want) {
			t.Errorf("%s: has\n%v, recorded\n%v", name, got, want)
		}
	}
}

// Lists page by count and token, 20 unasked, 100 at most (OFF).
func TestStandInPages(t *testing.T) {
	a := newTeam(t)
	for n := range 30 {
		if _, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday.AddDate(0, 0, n), monday.AddDate(0, 0, n).Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	base := "/scheduled_events?organization=" + url.QueryEscape(calendlytest.Organization)
	for _, c := range []struct {
		query string
		want  int
		next  bool
	}{
		{"", 20, true},
		{"&count=100", 30, false},
		{"&count=30", 30, false},
		{"&count=29", 29, true},
		{"&page_token=tok-20", 10, false},
		{"&count=5&page_token=tok-20&sort=start_time:desc", 5, true},
	} {
		status, body, _ := a.ask(t, base+c.query, token)
		items, _ := body["collection"].([]any)
		pagination, _ := body["pagination"].(map[string]any)
		if status != http.StatusOK || len(items) != c.want || pagination["count"] != float64(c.want) || (pagination["next_page_token"] != nil) != c.next {
			t.Errorf("%s: %d, %d items, %v", c.query, status, len(items), pagination)
		}
	}
	for _, bad := range []string{"&count=0", "&count=101", "&count=x", "&page_token=none", "&status=gone", "&min_start_time=monday", "&max_start_time=2026-12-07"} {
		if status, body, _ := a.ask(t, base+bad, token); status != http.StatusBadRequest || body["title"] != "Invalid Argument" || body["details"] == nil {
			t.Errorf("%s: %d %v", bad, status, body)
		}
	}
	for _, bad := range []string{"", "?user=" + url.QueryEscape("https://api.calendly.com/users/"+theo.ID)} {
		if status, body, _ := a.ask(t, "/scheduled_events"+bad, token); status != http.StatusBadRequest && status != http.StatusForbidden {
			t.Errorf("%s: %d %v", bad, status, body)
		}
	}
}

// Limits are counted by user, and told on every answer (OFF).
func TestStandInLimits(t *testing.T) {
	a := newTeam(t, func(o *calendlytest.Options) { o.PerMinute = 3 })
	if err := a.AddToken("another of hers", mara.ID); err != nil {
		t.Fatal(err)
	}
	if err := a.AddToken("his", theo.ID); err != nil {
		t.Fatal(err)
	}
	for n, c := range []struct {
		token  string
		status int
		left   string
	}{
		{token, 200, "2"}, {"another of hers", 200, "1"}, {token, 200, "0"}, {token, 429, "0"}, {"another of hers", 429, "0"}, {"his", 200, "2"}, {"nobody's", 401, "2"},
	} {
		status, _, header := a.ask(t, "/users/me", c.token)
		seconds, err := strconv.Atoi(header.Get("X-RateLimit-Reset"))
		if status != c.status || header.Get("X-RateLimit-Limit") != "3" || header.Get("X-RateLimit-Remaining") != c.left || err != nil || status == 429 && (seconds < 1 || seconds > 60) {
			t.Errorf("number %d: %d %v", n, status, header)
		}
	}
	a.at = a.at.Add(time.Minute)
	if status, _, _ := a.ask(t, "/users/me", token); status != http.StatusOK {
		t.Errorf("a minute later: %d", status)
	}
}

// Of one user no two subscriptions have the same URL (OFF); the key is never told
// (OFF).
func TestStandInSubscriptions(t *testing.T) {
	a := newTeam(t)
	made := a.subscribe(t)[0]
	status, body, _ := a.ask(t, made.ID, token)
	resource, _ := body["resource"].(map[string]any)
	if status != http.StatusOK || resource["callback_url"] != target || resource["state"] != "active" || resource["retry_started_at"] != nil || resource["signing_key"] != nil {
		t.Errorf("%d %v", status, body)
	}
	for _, c := range []struct {
		body    string
		status  int
		message any
	}{
		{`{"url":"` + target + `","events":["invitee.created"],"organization":"` + calendlytest.Organization + `","scope":"organization"}`, http.StatusConflict, "Hook with this url already exists"},
		{`{"url":"` + target + `","events":["invitee.created"],"organization":"` + calendlytest.Organization + `","scope":"user","user":"https://api.calendly.com/users/` + mara.ID + `"}`, http.StatusConflict, "Hook with this url already exists"},
		{`{"url":"no","events":["invitee.created"],"organization":"` + calendlytest.Organization + `","scope":"organization"}`, http.StatusBadRequest, "The supplied parameters are invalid."},
		{`{"url":"https://a.example","events":[],"organization":"` + calendlytest.Organization + `","scope":"organization"}`, http.StatusBadRequest, "The supplied parameters are invalid."},
		{`{"url":"https://a.example","events":["invitee.moved"],"organization":"` + calendlytest.Organization + `","scope":"organization"}`, http.StatusBadRequest, "The supplied parameters are invalid."},
		{`{"url":"https://a.example","events":["invitee.created"],"organization":"x","scope":"organization"}`, http.StatusBadRequest, "The supplied parameters are invalid."},
		{`{"url":"https://a.example","events":["invitee.created"],"organization":"` + calendlytest.Organization + `","scope":"user"}`, http.StatusBadRequest, "The supplied parameters are invalid."},
		{`{"url":"https://a.example","events":["invitee.created"],"organization":"` + calendlytest.Organization + `","scope":"organization"}`, http.StatusCreated, nil},
	} {
		if status, out := a.post(t, "/webhook_subscriptions", c.body); status != c.status || out["message"] != c.message {
			t.Errorf("%s: %d %v", c.body, status, out)
		}
	}
	// Without a key nothing is signed (INF).
	_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
	if err != nil || len(posts) != 2 || posts[0].Header.Get(signatureHeader) == "" || posts[1].Header.Get(signatureHeader) != "" {
		t.Errorf("%+v, %v", posts, err)
	}
	a.Fail(target, true)
	if _, posts, err = a.Join(a.Open(calendlytest.Session{Start: monday, End: monday.Add(time.Hour)}), "Wen Li", "wen.li@fieldmark.example"); err != nil || len(posts) != 1 || posts[0].URL != "https://a.example" {
		t.Errorf("a disabled one: %+v, %v", posts, err)
	}
}

func (a *account) post(t *testing.T, path, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.APIBase()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, out
}

// 410 deletes the subscription, 24 hours of anything but 2xx disable it (OFF).
func TestStandInDelivers(t *testing.T) {
	for _, c := range []struct {
		status          int
		stands, enabled bool
	}{
		{http.StatusOK, true, true}, {http.StatusGone, false, false}, {http.StatusUnauthorized, true, false},
	} {
		a := newTeam(t, func(o *calendlytest.Options) { o.Tempo = 10_000_000 })
		came := 0
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			came++
			w.WriteHeader(c.status)
		}))
		p := a.profile(t)
		if _, err := calendly.New(0).Subscribe(t.Context(), a.client, a.conn, endpoint.URL, p); err != nil {
			t.Fatal(err)
		}
		_, posts, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, monday, monday.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		statuses, err := a.Deliver(t.Context(), http.DefaultClient, posts...)
		if err != nil || len(statuses) != 1 || statuses[0] != c.status {
			t.Errorf("%d: %v, %v", c.status, statuses, err)
		}
		hooks, err := calendly.New(0).Hooks(t.Context(), a.client, a.conn, endpoint.URL)
		if err != nil || (len(hooks) == 1) != c.stands || c.stands && hooks[0].Active != c.enabled {
			t.Errorf("%d: %+v, %v", c.status, hooks, err)
		}
		if again := c.stands && !c.enabled; came > 1 != again {
			t.Errorf("%d: came %d times", c.status, came)
		}
		endpoint.Close()
	}
}

// Invitees of a group share the event, and one who leaves does not end it (INF).
func TestStandInGroups(t *testing.T) {
	a := newTeam(t)
	event := a.Open(calendlytest.Session{Name: "Open clinic", Hosts: []calendlytest.Host{ines, theo}, Start: monday, End: monday.Add(time.Hour), Limit: 10})
	first, _, err := a.Join(event, "Dara Okonjo", "dara.okonjo@fieldmark.example")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := a.Join(event, "Lucian Petrescu", "lucian.petrescu@fieldmark.example")
	if err != nil || !strings.HasPrefix(first, event+"/invitees/") || !strings.HasPrefix(second, event+"/invitees/") {
		t.Fatalf("%s and %s of %s, %v", first, second, event, err)
	}
	state := func() (status, taken any, hosts int) {
		_, body, _ := a.ask(t, event, token)
		r, _ := body["resource"].(map[string]any)
		counter, _ := r["invitees_counter"].(map[string]any)
		members, _ := r["event_memberships"].([]any)
		return r["status"], counter["active"], len(members)
	}
	if status, taken, hosts := state(); status != "active" || taken != 2.0 || hosts != 2 {
		t.Errorf("%v with %v, of %d hosts", status, taken, hosts)
	}
	if _, err := a.Cancel(first); err != nil {
		t.Fatal(err)
	}
	if status, taken, _ := state(); status != "active" || taken != 1.0 {
		t.Errorf("%v with %v", status, taken)
	}
	if _, err := a.Cancel(second); err != nil {
		t.Fatal(err)
	}
	if status, taken, _ := state(); status != "canceled" || taken != 0.0 {
		t.Errorf("%v with %v", status, taken)
	}
	for _, err := range []error{
		second3(a.Join(event, "Wen Li", "wen.li@fieldmark.example")), second3(a.Move(first, monday, monday.Add(time.Hour))), second3(a.MoveTo(first, event)),
		second2(a.Cancel(first)), second2(a.CancelEvent(event, "")), second2(a.MarkNoShow("/none", true)), a.AddToken("x", "nobody"),
	} {
		if !errors.Is(err, calendlytest.ErrUnknown) {
			t.Errorf("of what has ended: %v", err)
		}
	}
}

func second3(_ string, _ []apitest.Post, err error) error { return err }
func second2(_ []apitest.Post, err error) error           { return err }

// The posts of a cancellation over the API name its caller as the host (INF).
func TestStandInCancels(t *testing.T) {
	a := newTeam(t)
	a.subscribe(t)
	path, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", ines, monday.Add(time.Hour), monday.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	event := strings.Split(path, "/invitees/")[0]
	if status, out := a.post(t, event+"/cancellation", `{"reason":"`+strings.Repeat("a", 10001)+`"}`); status != http.StatusBadRequest {
		t.Errorf("%d %v", status, out)
	}
	status, out := a.post(t, event+"/cancellation", `{"reason":"Venue closed"}`)
	resource, _ := out["resource"].(map[string]any)
	if status != http.StatusCreated || resource["canceled_by"] != mara.Name || resource["canceler_type"] != "host" || resource["reason"] != "Venue closed" {
		t.Errorf("%d %v", status, out)
	}
	if status, out := a.post(t, event+"/cancellation", `{}`); status != http.StatusForbidden || out["message"] != "Event is already canceled" {
		t.Errorf("%d %v", status, out)
	}
	posts := a.Outbox()
	if len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"reason":"Venue closed"`) {
		t.Errorf("%+v", posts)
	}
}
