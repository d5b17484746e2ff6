package acuitytest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"slotkeeper/providers/apitest"
)

// refusals are the texts of 400s (OFF; cancel_not_allowed's is UNV).
var refusals = map[error]string{
	ErrCancelNotAllowed: "This appointment may not be canceled.",
	ErrCancelTooClose:   "Clients are not allowed to cancel this close to the time of the appointment.",
}

// SetNotice is how long before its beginning a client may still cancel an
// appointment. An administrator is no client (OFF).
func (s *Server) SetNotice(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = d
}

// Lock has the API refuse to cancel an appointment with that error, whoever asks;
// nil ends it. What makes Acuity do so to administrators is UNV.
func (s *Server) Lock(id int64, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked[id] = why
}

// Due are the posts that follow what was done over the API since it was last
// asked.
func (s *Server) Due() []apitest.Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.due
	s.due = nil
	return due
}

type cancellation struct {
	CancelNote string `json:"cancelNote"`
	NoShow     bool   `json:"noShow"`
}

// putCancel cancels for a client or, with admin=true, for an administrator, who
// alone may say that nobody came (OFF). What is no object is refused (OFF). That
// the appointment is answered as it then stands is INF.
func (s *Server) putCancel(w http.ResponseWriter, r *http.Request) {
	var body *cancellation
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body == nil {
		refuse(w, "bad_request", "Expected a JSON object.")
		return
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		fail(w, http.StatusNotFound)
		return
	}
	admin := truth(r.URL.Query().Get("admin"))
	posts, err := s.change(id, func(a *Appointment) ([]string, error) {
		switch {
		case a.Canceled: // final (OFF); that it is refused so is INF
			return nil, ErrCancelNotAllowed
		case s.locked[id] != nil:
			return nil, s.locked[id]
		case !admin && a.Start.Sub(s.options.Now()) < s.notice:
			return nil, ErrCancelTooClose
		}
		a.Canceled, a.NoShow, a.CancelNote = true, admin && body.NoShow, body.CancelNote
		return []string{canceled, changed}, nil
	})
	switch {
	case errors.Is(err, ErrUnknown):
		fail(w, http.StatusNotFound)
		return
	case err != nil:
		refuse(w, err.Error(), refusals[err])
		return
	}
	s.mu.Lock()
	s.due = append(s.due, posts...)
	a := *s.appointments[id]
	s.mu.Unlock()
	answer(w, wireSingle{wireAppointment: wire(a)})
}
