package calendlytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
)

const (
	publicBase = "https://api.calendly.com"
	stamp      = "2006-01-02T15:04:05.000000Z"

	perMinute = 500
)

// ErrUnknown says that there is no such invitee.
var ErrUnknown = errors.New("no such invitee")

// Options of a stand-in.
type Options struct {
	// Token is what its API asks for.
	Token string
	Tempo providers.Tempo
	Now   func() time.Time
}

// Hook is the subscription: where posts go, and what signs them.
type Hook struct{ URL, Key string }

// Host is a user whose calendar is booked.
type Host struct{ ID, Name, Email string }

// Server is the stand-in. Its methods may be called while it serves.
type Server struct {
	*apitest.Front
	options Options

	mu       sync.Mutex
	hook     Hook
	next     int
	invitees map[string]*invitee // by path
	events   map[string]*event   // by path
}

type event struct {
	path       string
	host       Host
	start, end time.Time
	canceled   bool
}

type invitee struct {
	path, name, email string
	event             *event
	created, updated  time.Time
	canceled, moved   bool
	old, successor    string
}

// New makes a stand-in with nothing in it; Start serves it.
func New(o Options) *Server {
	s := &Server{options: o, invitees: map[string]*invitee{}, events: map[string]*event{}}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /scheduled_events/{event}", s.getEvent)
	routes.HandleFunc("GET /scheduled_events/{event}/invitees/{invitee}", s.getInvitee)
	routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound) })
	limits := apitest.Limits{PerSecond: perMinute / 60.0, Burst: perMinute, Header: http.Header{
		"X-Ratelimit-Limit": {"500"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"60"},
	}}
	s.Front = apitest.NewFront(s.authorized(routes), limits, o.Tempo, o.Now, errorText)
	return s
}

// APIBase is a connection's API URL.
func (s *Server) APIBase() string { return s.URL() }

func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+s.options.Token {
			fail(w, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// errorText has the shapes of errors (OFF).
func errorText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return `{"title":"Unauthenticated","message":"The access token is invalid"}`
	case http.StatusForbidden:
		return `{"title":"Permission Denied","message":"You do not have permission"}`
	case http.StatusNotFound:
		return `{"title":"Resource Not Found","message":"The server could not find the requested resource."}`
	}
	return fmt.Sprintf(`{"title":%q,"message":"An error occurred."}`, http.StatusText(status))
}

func fail(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(errorText(status))) // a client that left
}

func answer(w http.ResponseWriter, resource any, found bool) {
	body, err := json.Marshal(map[string]any{"resource": resource})
	switch {
	case !found:
		fail(w, http.StatusNotFound)
	case err != nil:
		fail(w, http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that left
	}
}

func (s *Server) getEvent(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.events[r.URL.Path]
	if !ok {
		answer(w, nil, false)
		return
	}
	answer(w, e.wire(), true)
}

func (s *Server) getInvitee(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.invitees[r.URL.Path]
	if !ok {
		answer(w, nil, false)
		return
	}
	answer(w, i.wire(), true)
}

// SetHook subscribes.
func (s *Server) SetHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
}

// Book makes an event with one invitee and gives the invitee's path.
func (s *Server) Book(name, email string, host Host, start, end time.Time) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.book(name, email, host, start, end)
	return s.sent(i.path, []*invitee{i}, "invitee.created")
}

func (s *Server) book(name, email string, host Host, start, end time.Time) *invitee {
	s.next++
	path := fmt.Sprintf("/scheduled_events/a1c0de02-0000-4000-8000-%012d", s.next)
	e := &event{path: path, host: host, start: start.UTC(), end: end.UTC()}
	at := s.options.Now().UTC()
	i := &invitee{path: fmt.Sprintf("%s/invitees/b1c0de02-0000-4000-8000-%012d", path, s.next), name: name, email: email, event: e, created: at, updated: at}
	s.events[e.path], s.invitees[i.path] = e, i
	return i
}

// Move gives an invitee another event, and gives the new invitee's path.
func (s *Server) Move(path string, start, end time.Time) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.invitees[path]
	if !ok || old.canceled {
		return "", nil, ErrUnknown
	}
	i := s.book(old.name, old.email, old.event.host, start, end)
	i.old = old.path
	old.canceled, old.moved, old.successor, old.updated, old.event.canceled = true, true, i.path, i.created, true
	return s.sent(i.path, []*invitee{old, i}, "invitee.canceled", "invitee.created")
}

// Cancel ends an invitee's booking.
func (s *Server) Cancel(path string) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.invitees[path]
	if !ok || i.canceled {
		return nil, ErrUnknown
	}
	i.canceled, i.updated, i.event.canceled = true, s.options.Now().UTC(), true
	_, posts, err := s.sent(path, []*invitee{i}, "invitee.canceled")
	return posts, err
}

// sent makes the posts of before 2023.
func (s *Server) sent(path string, about []*invitee, events ...string) (string, []apitest.Post, error) {
	now := s.options.Now().UTC()
	out := make([]apitest.Post, len(events))
	for n, name := range events {
		payload := about[n].wire()
		payload["canceled"] = about[n].canceled
		body, err := json.Marshal(map[string]any{
			"event": name, "created_at": now.Truncate(time.Second).Format(stamp), "created_by": publicBase + "/users/" + about[n].event.host.ID,
			"payload": payload,
		})
		if err != nil {
			return "", nil, err
		}
		out[n] = apitest.Post{URL: s.hook.URL, Header: calendly.New(0).Sign(body, s.hook.Key, now), Body: body}
	}
	return path, out, nil
}

// Sender sends as Calendly does: again after anything but 2xx, for 24 hours (OFF).
func (s *Server) Sender(client *http.Client) apitest.Sender {
	return apitest.Sender{
		Client: client, Tempo: s.options.Tempo, For: 24 * time.Hour,
		Again: func(status int) bool { return status < http.StatusOK || status >= http.StatusMultipleChoices },
	}
}

func uri(path string) any {
	if path == "" {
		return nil
	}
	return publicBase + path
}

func (i *invitee) wire() map[string]any {
	status := "active"
	if i.canceled {
		status = "canceled"
	}
	id := i.path[len(i.path)-36:]
	out := map[string]any{
		"uri": uri(i.path), "event": uri(i.event.path), "name": i.name, "email": i.email, "first_name": nil, "last_name": nil,
		"status": status, "timezone": "Europe/Berlin", "created_at": i.created.Format(stamp), "updated_at": i.updated.Format(stamp),
		"questions_and_answers": []any{}, "tracking": map[string]any{"utm_source": nil}, "text_reminder_number": nil,
		"rescheduled": i.moved, "old_invitee": uri(i.old), "new_invitee": uri(i.successor),
		"cancel_url":     "https://calendly.com/cancellations/" + id,
		"reschedule_url": "https://calendly.com/reschedulings/" + id,
		"payment":        nil, "no_show": nil, "reconfirmation": nil, "routing_form_submission": nil,
	}
	if i.canceled {
		out["cancellation"] = map[string]any{"canceled_by": i.name, "reason": nil, "canceler_type": "invitee"}
	}
	return out
}

// JoinSecret stands in every event's join link and password.
const JoinSecret = "pwd-of-the-stand-in"

func (e *event) wire() map[string]any {
	status, active := "active", 1
	if e.canceled {
		status, active = "canceled", 0
	}
	return map[string]any{
		"uri": uri(e.path), "name": "Intro call (30 min)", "status": status,
		"start_time": e.start.Format(stamp), "end_time": e.end.Format(stamp),
		"event_type": publicBase + "/event_types/4c7d3f85-7e60-4bac-9d43-9f3e802b7d04",
		"location": map[string]any{
			"type": "zoom_conference", "status": "pushed", "join_url": "https://zoom.example/j/90000000001?pwd=" + JoinSecret,
			"data": map[string]any{"id": 90000000001, "password": JoinSecret},
		},
		"invitees_counter": map[string]any{"total": 1, "active": active, "limit": 1},
		"event_memberships": []any{map[string]any{
			"user": publicBase + "/users/" + e.host.ID, "user_email": e.host.Email, "user_name": e.host.Name,
			"buffered_start_time": e.start.Format(stamp), "buffered_end_time": e.end.Format(stamp),
		}},
		"event_guests": []any{}, "created_at": e.start.Add(-time.Hour).Format(stamp), "updated_at": e.start.Add(-time.Hour).Format(stamp),
	}
}
