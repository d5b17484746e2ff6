package calendlytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"slotkeeper/providers/apitest"
)

// Session is an event to be made: a meeting of one or more hosts with up to Limit
// invitees. Without hosts it is the owner's.
type Session struct {
	Name       string
	Hosts      []Host
	Start, End time.Time
	Limit      int
}

type event struct {
	path             string
	name             string
	hosts            []Host
	start, end       time.Time
	limit            int
	created, updated time.Time
	ended            *cancellation // nil while it stands
	invitees         []*invitee
}

type invitee struct {
	path, name, email string
	event             *event
	created, updated  time.Time
	ended             *cancellation // nil while he comes
	absentSince       time.Time     // zero for not
	old, successor    string
}

// Open makes an event without invitees and gives its path.
func (s *Server) Open(m Session) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(m).path
}

func (s *Server) open(m Session) *event {
	if len(m.Hosts) == 0 {
		m.Hosts = []Host{s.people[0].Host}
	}
	s.next++
	now := s.now()
	e := &event{
		path: fmt.Sprintf("/scheduled_events/a1c0de02-0000-4000-8000-%012d", s.next),
		name: m.Name, hosts: slices.Clone(m.Hosts), start: m.Start.UTC(), end: m.End.UTC(), limit: max(m.Limit, 1), created: now, updated: now,
	}
	for _, h := range m.Hosts {
		s.person(h)
	}
	s.events[e.path] = e
	return e
}

func (s *Server) now() time.Time { return s.options.Now().UTC().Truncate(time.Microsecond) }

// Book makes an event of one host with one invitee and gives the invitee's path.
func (s *Server) Book(name, email string, host Host, start, end time.Time) (string, []apitest.Post, error) {
	path := s.Open(Session{Name: "Intro call (30 min)", Hosts: []Host{host}, Start: start, End: end, Limit: 1})
	return s.Join(path, name, email)
}

// Join books a seat of an event and gives the invitee's path. Each invitee of a
// group has a URI of his own below the one event's (OFF).
func (s *Server) Join(path, name, email string) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.events[path]
	if !ok || e.ended != nil {
		return "", nil, ErrUnknown
	}
	i := s.join(e, name, email)
	posts, err := s.posts(happening{inviteeCreated, i})
	return i.path, posts, err
}

func (s *Server) join(e *event, name, email string) *invitee {
	s.next++
	now := s.now()
	i := &invitee{
		path: fmt.Sprintf("%s/invitees/b1c0de02-0000-4000-8000-%012d", e.path, s.next),
		name: name, email: email, event: e, created: now, updated: now,
	}
	e.invitees, e.updated = append(e.invitees, i), now
	s.invitees[i.path] = i
	return i
}

// Move gives an invitee another event, and gives the new invitee's path: both get
// new URIs (OFF).
func (s *Server) Move(path string, start, end time.Time) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.invitees[path]
	if !ok || old.ended != nil {
		return "", nil, ErrUnknown
	}
	e := old.event
	return s.move(old, s.open(Session{Name: e.name, Hosts: e.hosts, Start: start, End: end, Limit: e.limit}))
}

// MoveTo takes an invitee into an event that stands already.
func (s *Server) MoveTo(path, eventPath string) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.invitees[path]
	e, open := s.events[eventPath]
	if !ok || !open || old.ended != nil || e.ended != nil {
		return "", nil, ErrUnknown
	}
	return s.move(old, e)
}

// move makes two posts (OFF) in the order that third parties call usual (TP).
func (s *Server) move(old *invitee, e *event) (string, []apitest.Post, error) {
	i := s.join(e, old.name, old.email)
	i.old, old.successor = old.path, i.path
	s.leave(old, &cancellation{by: old.name, kind: "invitee", at: i.created})
	posts, err := s.posts(happening{inviteeCanceled, old}, happening{inviteeCreated, i})
	return i.path, posts, err
}

// leave ends an invitee's booking. The event stands while others come (INF); that
// it ends with the last of a group is UNV.
func (s *Server) leave(i *invitee, c *cancellation) {
	i.ended, i.updated, i.event.updated = c, c.at, c.at
	if !slices.ContainsFunc(i.event.invitees, func(o *invitee) bool { return o.ended == nil }) {
		i.event.ended = c
	}
}

// Cancel ends an invitee's booking, as he does.
func (s *Server) Cancel(path string) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.invitees[path]
	if !ok || i.ended != nil {
		return nil, ErrUnknown
	}
	s.leave(i, &cancellation{by: i.name, kind: "invitee", at: s.now()})
	return s.posts(happening{inviteeCanceled, i})
}

// CancelEvent ends an event, as its host does: one post for each who was coming
// (INF).
func (s *Server) CancelEvent(path, reason string) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.events[path]
	if !ok || e.ended != nil {
		return nil, ErrUnknown
	}
	return s.cancelEvent(e, &cancellation{by: e.hosts[0].Name, kind: "host", reason: reason, at: s.now()})
}

func (s *Server) cancelEvent(e *event, c *cancellation) ([]apitest.Post, error) {
	var happened []happening
	for _, i := range e.invitees {
		if i.ended == nil {
			i.ended, i.updated = c, c.at
			happened = append(happened, happening{inviteeCanceled, i})
		}
	}
	e.ended, e.updated = c, c.at
	return s.posts(happened...)
}

// MarkNoShow says that an invitee did not come, or takes it back. That his time of
// change moves with it is INF.
func (s *Server) MarkNoShow(path string, absent bool) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.invitees[path]
	if !ok {
		return nil, ErrUnknown
	}
	name := noShowDeleted
	i.absentSince, i.updated = time.Time{}, s.now()
	if absent {
		name, i.absentSince = noShowCreated, i.updated
	}
	return s.posts(happening{name, i})
}

// Forget makes an event and its invitees unknown, as a deletion of data does. No
// post tells of it (INF).
func (s *Server) Forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.events[path]; ok {
		for _, i := range e.invitees {
			delete(s.invitees, i.path)
		}
		delete(s.events, path)
	}
}

// postCancellation cancels the whole event; its refusals are OFF, that the posts
// name a host is INF.
func (s *Server) postCancellation(r *http.Request, by *grant) (any, *refusal) {
	e, ok := s.events["/scheduled_events/"+r.PathValue("event")]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound}
	}
	var in struct {
		Reason *string `json:"reason"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Reason != nil && len([]rune(*in.Reason)) > 10000 {
		return nil, invalid("reason")
	}
	switch now := s.now(); {
	case !by.of.manages() && !e.hostedBy(publicBase+by.of.path()):
		return nil, denied("You are not allowed to cancel this event")
	case e.ended != nil:
		return nil, denied("Event is already canceled")
	case e.start.Before(now):
		return nil, denied("Event in the past")
	default:
		c := &cancellation{by: by.of.Name, kind: "host", at: now}
		if in.Reason != nil {
			c.reason = *in.Reason
		}
		posts, err := s.cancelEvent(e, c)
		if err != nil {
			return nil, &refusal{status: http.StatusInternalServerError}
		}
		s.outbox = append(s.outbox, posts...)
		return resource(c.wire()), nil
	}
}
