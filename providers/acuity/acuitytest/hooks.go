package acuitytest

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"slotkeeper/providers/acuity"
	"slotkeeper/providers/apitest"
)

// The events of hooks, by the names that hooks made in the pages send.
const (
	scheduled   = "scheduled"
	rescheduled = "rescheduled"
	canceled    = "canceled"
	changed     = "changed"

	orderCompleted = "order.completed"

	// dynamicPrefix stands before those of appointments where the hook was made
	// over the API (REC).
	dynamicPrefix = "appointment."
)

// Hook is where something is sent. Events are the short names; none means all.
type Hook struct {
	URL string
	// Key signs: the main administrator's for hooks made in the pages, the maker's
	// for those made over the API (OFF).
	Key string
	// Dynamic hooks were made over the API (REC).
	Dynamic bool
	Events  []string
}

// AddHook sets a hook up; two that want the same event both get it.
func (s *Server) AddHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, h)
}

// Order completes an order, which is no appointment and whose ids are others.
func (s *Server) Order(id int64) []apitest.Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []apitest.Post
	for _, h := range s.hooks {
		if h.wants(orderCompleted) {
			out = append(out, h.post(fmt.Sprintf("action=%s&id=%d", orderCompleted, id)))
		}
	}
	return out
}

// posts are what every hook is sent of the events.
func (s *Server) posts(a Appointment, events ...string) []apitest.Post {
	var out []apitest.Post
	for _, event := range events {
		for _, h := range s.hooks {
			if !h.wants(event) {
				continue
			}
			action := event
			if h.Dynamic {
				action = dynamicPrefix + event
			}
			out = append(out, h.post(form(action, a)))
		}
		for _, h := range s.made {
			if name := dynamicPrefix + event; h.active && h.event == name {
				out = append(out, Hook{URL: h.target, Key: s.key}.post(form(name, a)))
			}
		}
	}
	return out
}

func form(action string, a Appointment) string {
	return fmt.Sprintf("action=%s&id=%d&calendarID=%d&appointmentTypeID=%d", action, a.ID, a.Calendar.ID, a.Type.ID)
}

func (h Hook) wants(event string) bool {
	return len(h.Events) == 0 || slices.Contains(h.Events, event)
}

func (h Hook) post(body string) apitest.Post {
	return apitest.Post{URL: h.URL, Header: (*acuity.Provider)(nil).Sign([]byte(body), h.Key, time.Time{}), Body: []byte(body)}
}

// Sender sends as Acuity does: again after 5xx and silence, for 24 hours (TP).
func (s *Server) Sender(client *http.Client) apitest.Sender {
	return apitest.Sender{
		Client: client, Tempo: s.options.Tempo, For: 24 * time.Hour,
		Again: func(status int) bool { return status == 0 || status >= http.StatusInternalServerError },
	}
}
