package acuitytest

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"slotkeeper/providers/apitest"
)

// mostHooks an account may have made over the API; the next is refused (OFF).
const mostHooks = 25

// madeHook was made over the API: one event, one URL, signed with the API key of
// the user who made it (OFF).
type madeHook struct {
	id            int64
	event, target string
	active        bool
}

type wireHook struct {
	ID     int64  `json:"id"`
	Event  string `json:"event"`
	Target string `json:"target"`
	Status string `json:"status"`
}

func (h *madeHook) wire() wireHook {
	w := wireHook{ID: h.id, Event: h.event, Target: h.target, Status: "active"} // or disabled (OFF)
	if !h.active {
		w.Status = "disabled"
	}
	return w
}

var madeEvents = []string{
	dynamicPrefix + scheduled, dynamicPrefix + rescheduled, dynamicPrefix + canceled, dynamicPrefix + changed, orderCompleted,
}

// listHooks has those made over the API; those made in the pages are not in it
// (INF).
func (s *Server) listHooks(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]wireHook, 0, len(s.made))
	for _, h := range s.made {
		out = append(out, h.wire())
	}
	answer(w, out)
}

// postHook makes one of an event and a target (OFF). There is no call that changes
// one (OFF), and nothing keeps two from being the same (INF).
func (s *Server) postHook(w http.ResponseWriter, r *http.Request) {
	var body struct{ Event, Target string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, "bad_request", "Expected a JSON object.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !slices.Contains(madeEvents, body.Event):
		refuse(w, "bad_request", "The event is invalid.") // the text is UNV
	case !s.mayPostTo(body.Target):
		refuse(w, "bad_request", "The target is invalid.") // the text is UNV
	case len(s.made) >= mostHooks:
		refuse(w, "bad_request", "You may have at most 25 webhooks.") // the text is UNV
	default:
		h := &madeHook{id: s.nextHook, event: body.Event, target: body.Target, active: true}
		s.nextHook++
		s.made = append(s.made, h)
		answer(w, h.wire())
	}
}

// mayPostTo allows the ports 443 and 80 only (OFF).
func (s *Server) mayPostTo(target string) bool {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	return s.options.AnyTarget || u.Port() == "" || u.Port() == "443" || u.Port() == "80"
}

// deleteHook answers 204 (TP).
func (s *Server) deleteHook(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || !s.RemoveHook(id) {
		fail(w, http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// RemoveHook removes a hook made over the API, as somebody may in Acuity's pages;
// it answers false when there is none.
func (s *Server) RemoveHook(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.made)
	s.made = slices.DeleteFunc(s.made, func(h *madeHook) bool { return h.id == id })
	return len(s.made) < before
}

// DropHook removes the hook to a target for one event, as somebody may in Acuity's
// pages.
func (s *Server) DropHook(target, event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = slices.DeleteFunc(s.made, func(h *madeHook) bool { return h.target == target && h.event == event })
}

// HookEvents are the events that are posted to a target, in order.
func (s *Server) HookEvents(target string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, h := range s.made {
		if h.active && h.target == target {
			out = append(out, h.event)
		}
	}
	slices.Sort(out)
	return out
}

// DisableHooks disables the hooks to a target, as Acuity does after five days of
// failures, without a word (TP). Nothing is posted to them.
func (s *Server) DisableHooks(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.made {
		if h.target == target {
			h.active = false
		}
	}
}

// Scatter puts posts in any order, and some of them twice or three times: the
// order of several is not documented, and what was taken may be sent again when the
// answer was lost (TP).
func Scatter(random *rand.Rand, posts []apitest.Post) []apitest.Post {
	var out []apitest.Post
	for _, p := range posts {
		for range 1 + random.IntN(3) {
			out = append(out, p)
		}
	}
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
