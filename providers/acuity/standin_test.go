package acuity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/providertest"
)

func number(id int64) string { return strconv.FormatInt(id, 10) }

func toInt(t testing.TB, id string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ask is a plain client's request, past our own limits.
func (p *place) ask(t *testing.T, method, path, key string) (int, string, http.Header) {
	t.Helper()
	status, header, body := send(t, method, p.APIBase()+path, "", basic(key))
	return status, body, header
}

// put sends a body as well, again while it is asked to slow down.
func (p *place) put(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	for {
		status, _, answer := send(t, method, p.APIBase()+path, body, basic(apiKey))
		if status != http.StatusTooManyRequests {
			return status, answer
		}
	}
}

func basic(key string) http.Header {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth("90000001", key)
	return r.Header
}

// send follows no redirect.
func send(t *testing.T, method, address, body string, header http.Header) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(got)
}

// The stand-in's answers have the members, in the order, that recorded ones have.
func TestStandInAnswersAsRecorded(t *testing.T) {
	p := newPlace(t)
	seat, _, err := p.Book(mirela, mobility, studio, noon)
	if err != nil {
		t.Fatal(err)
	}
	single := p.book(t, consult, doctor)
	members := func(body string) []string {
		var out []string
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, ` "`); ok {
				name, _, _ := strings.Cut(rest, `"`)
				out = append(out, name)
			}
		}
		return out
	}
	compare := func(id, recorded string) {
		t.Helper()
		status, body, _ := p.ask(t, http.MethodGet, "/appointments/"+id, apiKey)
		if got, want := members(indented(t, body)), members(recorded); status != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("%d with\n%v, recorded\n%v", status, got, want)
		}
	}
	compare(single, file(t, "appointments/one_to_one.json"))
	compare(number(seat), indented(t, element(t, file(t, "appointments/class_two_attendees.json"), 0)))
	if _, err := p.Cancel(toInt(t, single), true); err != nil {
		t.Fatal(err)
	}
	compare(single, file(t, "appointments/no_show.json"))
	_, body, _ := p.ask(t, http.MethodGet, "/calendars", apiKey)
	got, want := members(indented(t, element(t, body, 0))), members(indented(t, element(t, file(t, "support/calendars.json"), 0)))
	if !slices.Equal(got, want) {
		t.Errorf("calendars have %v, recorded %v", got, want)
	}
}

func TestStandInErrors(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	for _, c := range []struct{ name, method, path, key, like string }{
		{"another key", http.MethodGet, "/appointments/" + id, "x", "401_unauthorized"},
		{"no such appointment", http.MethodGet, "/appointments/1", apiKey, "404_not_found"},
		{"no such path", http.MethodGet, "/appointment/1", apiKey, "404_not_found"},
		{"no such method", http.MethodPatch, "/appointments/" + id, apiKey, "405_method_not_allowed"},
	} {
		status, body, _ := p.ask(t, c.method, c.path, c.key)
		if want := recordedError(t, c.like); body != want.text || status != want.status {
			t.Errorf("%s: %d %s, want %s", c.name, status, body, want.text)
		}
	}
	for trouble, like := range map[apitest.Trouble]string{apitest.Limited: "429_too_many_requests", apitest.Forbidden: "403_forbidden", apitest.Missing: "404_not_found"} {
		p.Set(trouble)
		status, body, header := p.ask(t, http.MethodGet, "/appointments/"+id, apiKey)
		want := recordedError(t, like)
		if strings.ReplaceAll(body, `\/`, "/") != want.text || status != want.status || header.Get("Retry-After") != "" {
			t.Errorf("%s: %d %s, want %s", trouble, status, body, want.text)
		}
	}
	p.Set(apitest.Blocked)
	if status, body, header := p.ask(t, http.MethodGet, "/calendars", apiKey); status != http.StatusForbidden || body != file(t, "support/undocumented_403_rate_limit.html") || !strings.Contains(header.Get("Content-Type"), "html") {
		t.Errorf("blocked: %d %s", status, body)
	}
}

// Past 10 requests a second of its time it answers 429, however it is asked.
func TestStandInLimits(t *testing.T) {
	p := newPlace(t)
	p.Set(apitest.Missing) // quick answers
	statuses := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			status, _, _ := p.ask(t, http.MethodGet, "/calendars", apiKey)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	if statuses[http.StatusTooManyRequests] == 0 || statuses[http.StatusNotFound] < 10 {
		t.Errorf("got %v", statuses)
	}
	if p.Busiest() <= 10 {
		t.Errorf("%d requests in the busiest second", p.Busiest())
	}
}

func TestStandInRules(t *testing.T) {
	p := newPlace(t)
	id := toInt(t, p.book(t, consult, doctor))
	if again, _, err := p.Book(mirela, consult, doctor, noon); err != nil || again == id {
		t.Errorf("an overlap is refused: %v", err)
	}
	if _, err := p.MarkNoShow(id, true); !errors.Is(err, acuitytest.ErrCancelNotAllowed) {
		t.Errorf("a no-show of what stands: %v", err)
	}
	if _, err := p.Cancel(id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Cancel(id, false); !errors.Is(err, acuitytest.ErrCancelNotAllowed) {
		t.Errorf("canceled twice: %v", err)
	}
	if _, err := p.Move(id, 0, noon.Add(time.Hour)); !errors.Is(err, acuitytest.ErrRescheduleCanceled) {
		t.Errorf("moved when canceled: %v", err)
	}
	if _, err := p.Edit(1, mirela); !errors.Is(err, acuitytest.ErrUnknown) {
		t.Errorf("edited nothing: %v", err)
	}
	// Seats of one class at one time share the session, and move alone.
	a, _, _ := p.Book(mirela, mobility, studio, noon)
	b, _, _ := p.Book(mirela, mobility, studio, noon)
	before, _ := p.Appointment(a)
	if _, err := p.Move(b, 0, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	stayed, _ := p.Appointment(a)
	moved, _ := p.Appointment(b)
	if before.ClassID == 0 || stayed.ClassID != before.ClassID || moved.ClassID == before.ClassID || !stayed.Start.Equal(noon) {
		t.Errorf("a %+v, b %+v", stayed, moved)
	}
}

func TestStandInPosts(t *testing.T) {
	p := newPlace(t)
	p.AddHook(acuitytest.Hook{URL: "https://static.example", Key: "main"})
	p.AddHook(acuitytest.Hook{URL: "https://dynamic.example", Key: "maker", Dynamic: true, Events: []string{"canceled", "changed"}})
	id, posts, err := p.Book(mirela, consult, doctor, noon)
	if err != nil {
		t.Fatal(err)
	}
	body := "&id=" + number(id) + "&calendarID=9120041&appointmentTypeID=71500012"
	bodies := func(posts []apitest.Post, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, post := range posts {
			key := map[string]string{"https://static.example": "main", "https://dynamic.example": "maker"}[post.URL]
			if _, err := p.provider.Verify(providers.Request{Header: post.Header, Body: post.Body}, providers.Secrets{Current: key}, noon); err != nil {
				t.Errorf("%s to %s: %v", post.Body, post.URL, err)
			}
			out = append(out, strings.TrimSuffix(string(post.Body), body))
		}
		return out
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	expect(bodies(posts, nil), "action=scheduled", "action=changed", "action=appointment.changed")
	expect(bodies(p.Move(id, 0, noon.Add(time.Hour))), "action=rescheduled", "action=changed", "action=appointment.changed")
	expect(bodies(p.Edit(id, mirela)), "action=changed", "action=appointment.changed")
	expect(bodies(p.Cancel(id, false)), "action=canceled", "action=appointment.canceled", "action=changed", "action=appointment.changed")
	expect(bodies(p.MarkNoShow(id, true)), "action=changed", "action=appointment.changed")
	expect(bodies(p.Order(162990071), nil), "action=order.completed&id=162990071")

	// They mean to us what they should.
	var kinds []booking.Kind
	for _, post := range posts {
		d := p.provider.Parse(providers.Request{Header: post.Header, Body: post.Body}, providertest.Origin(p.provider))
		if d.Subject != number(id) || !d.Poke {
			t.Errorf("%+v", d)
		}
		kinds = append(kinds, d.Kind)
	}
	if !slices.Equal(kinds, []booking.Kind{booking.KindCreated, booking.KindDetails, booking.KindDetails}) {
		t.Errorf("kinds %v", kinds)
	}
}

// A post is tried again after 5xx and silence, and not after a refusal.
func TestStandInTriesAgain(t *testing.T) {
	p := newPlace(t)
	answers := []int{500, 0, 503, 200, 401}
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		status := answers[len(got)-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	p.AddHook(acuitytest.Hook{URL: s.URL, Key: apiKey})
	_, posts, err := p.Book(mirela, consult, doctor, noon)
	if err != nil {
		t.Fatal(err)
	}
	statuses, err := p.Sender(s.Client()).Send(context.Background(), posts...)
	if err != nil || !slices.Equal(statuses, []int{200, 401}) || len(got) != 5 || got[0] != got[3] || got[3] == got[4] {
		t.Errorf("%v (%v) for %v", statuses, err, got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Sender(s.Client()).Send(ctx, posts...); !errors.Is(err, context.Canceled) {
		t.Errorf("sending that was stopped: %v", err)
	}
}

func indented(t testing.TB, body string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(body), "", " "); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return out.String()
}

type apiError struct {
	status int
	text   string
}

// recordedError is an error as the fixtures have it, on one line.
func recordedError(t testing.TB, name string) apiError {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(file(t, "support/errors.json")), &all); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, all[name]); err != nil {
		t.Fatal(err)
	}
	status, err := strconv.Atoi(name[:3])
	if err != nil {
		t.Fatal(err)
	}
	return apiError{status: status, text: out.String()}
}
