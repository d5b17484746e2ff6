package calendlytest

import (
	"net/http"
	"time"
)

// Role of a user in the organization.
type Role string

// The roles that we tell apart.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "user"
)

// Host is a user whose calendar is booked.
type Host struct{ ID, Name, Email string }

// person is a user of the organization.
type person struct {
	Host
	role Role
}

func (p *person) path() string { return "/users/" + p.ID }

// manages tells who may read the organization's things (OFF).
func (p *person) manages() bool { return p.role == Owner || p.role == Admin }

// grant is an access token.
type grant struct {
	of      *person
	expires time.Time // zero for never
	revoked bool
	app     bool // by OAuth
}

// person finds the user, or makes one without any rights.
func (s *Server) person(h Host) *person {
	if p := s.find(h.ID); p != nil {
		return p
	}
	p := &person{Host: h, role: Member}
	s.people = append(s.people, p)
	return p
}

func (s *Server) find(id string) *person {
	for _, p := range s.people {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// AddUser takes a user into the organization, or gives him another role.
func (s *Server) AddUser(h Host, role Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.person(h).role = role
}

// AddToken gives a user a personal access token.
func (s *Server) AddToken(token, userID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(userID)
	if p == nil {
		return ErrUnknown
	}
	s.grants[token] = &grant{of: p}
	return nil
}

// Revoke ends an access token or a refresh token.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(token)
}

func (s *Server) end(token string) {
	if g := s.grants[token]; g != nil {
		g.revoked = true
	}
	if n := s.renewals[token]; n != nil {
		n.used = true
	}
}

func (p *person) wire() map[string]any {
	return map[string]any{
		"uri": uri(p.path()), "name": p.Name, "slug": p.ID, "email": p.Email, "scheduling_url": "https://calendly.com/" + p.ID,
		"timezone": "Europe/Stockholm", "avatar_url": nil, "created_at": "2024-05-22T09:45:15.000000Z", "updated_at": "2026-11-20T12:40:00.000000Z",
		"locale": "en", "time_notation": "24h", "resource_type": "User",
	}
}

func (s *Server) getMe(_ *http.Request, by *grant) (any, *refusal) {
	out := by.of.wire()
	out["current_organization"] = Organization
	return resource(out), nil
}

// listMembers gives a user who is neither owner nor administrator himself only when
// he asks for himself; that he gets 403 for the organization is INF.
func (s *Server) listMembers(r *http.Request, by *grant) (any, *refusal) {
	q := r.URL.Query()
	if o := q.Get("organization"); o != "" && o != Organization {
		return nil, denied("You do not have permission to access this resource.")
	}
	user := q.Get("user")
	if !by.of.manages() && user != uri(by.of.path()) {
		return nil, denied("You do not have permission to access this resource.")
	}
	var all []map[string]any
	for _, p := range s.people {
		if user != "" && user != uri(p.path()) {
			continue
		}
		all = append(all, map[string]any{
			"uri": publicBase + "/organization_memberships/" + p.ID, "role": p.role, "user": p.wire(), "organization": Organization,
			"created_at": "2024-05-22T09:45:15.000000Z", "updated_at": "2026-11-20T12:40:00.000000Z",
		})
	}
	return s.paged(r, all)
}
