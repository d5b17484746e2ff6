package acuitytest

import (
	"errors"
	"maps"
	"slices"
	"time"

	"slotkeeper/providers/apitest"
)

// What Acuity refuses (OFF, by the codes of its errors).
var (
	ErrUnknown            = errors.New("not_found")
	ErrRescheduleCanceled = errors.New("reschedule_canceled")
	ErrCancelNotAllowed   = errors.New("cancel_not_allowed")
	ErrCancelTooClose     = errors.New("cancel_too_close")
)

// AddCalendar makes a calendar, or replaces the one with its id.
func (s *Server) AddCalendar(c Calendar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calendars = slices.DeleteFunc(s.calendars, func(old Calendar) bool { return old.ID == c.ID })
	s.calendars = append(s.calendars, c)
	for _, a := range s.appointments {
		if a.Calendar.ID == c.ID {
			a.Calendar = c
		}
	}
}

// AddType makes a type of appointment or class.
func (s *Server) AddType(t Type) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types[t.ID] = t
}

// Book makes an appointment, in a class a seat. Overlaps are not refused (REC).
func (s *Server) Book(c Client, typeID, calendarID int64, start time.Time) (int64, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calendar, ok := s.calendar(calendarID)
	kind, known := s.types[typeID]
	if !ok || !known {
		return 0, nil, ErrUnknown
	}
	a := &Appointment{ID: s.next, Client: c, Type: kind, Calendar: calendar, Start: start.UTC(), Created: s.options.Now().UTC()}
	s.next++
	s.enter(a)
	s.appointments[a.ID] = a
	return a.ID, s.posts(*a, scheduled, changed), nil
}

func (s *Server) calendar(id int64) (Calendar, bool) {
	i := slices.IndexFunc(s.calendars, func(c Calendar) bool { return c.ID == id })
	if i < 0 {
		return Calendar{}, false
	}
	return s.calendars[i], true
}

// enter gives a class's seat the id of its session.
func (s *Server) enter(a *Appointment) {
	if a.Type.ClassSize == 0 {
		return
	}
	at := classTime{a.Type.ID, a.Calendar.ID, a.Start}
	if s.classes[at] == 0 {
		s.classes[at] = firstClass + int64(len(s.classes))
	}
	a.ClassID = s.classes[at]
}

// Move takes an appointment to another time and calendar; calendar 0 is the same.
// Of a class only this seat moves.
func (s *Server) Move(id, calendarID int64, start time.Time) ([]apitest.Post, error) {
	return s.change(id, func(a *Appointment) ([]string, error) {
		if a.Canceled {
			return nil, ErrRescheduleCanceled
		}
		if calendarID != 0 {
			calendar, ok := s.calendar(calendarID)
			if !ok {
				return nil, ErrUnknown
			}
			a.Calendar = calendar
		}
		a.Start = start.UTC()
		s.enter(a)
		return []string{rescheduled, changed}, nil
	})
}

// Cancel ends an appointment for good, as a no-show or not.
func (s *Server) Cancel(id int64, noShow bool) ([]apitest.Post, error) {
	return s.change(id, func(a *Appointment) ([]string, error) {
		if a.Canceled {
			return nil, ErrCancelNotAllowed
		}
		a.Canceled, a.NoShow = true, noShow
		return []string{canceled, changed}, nil
	})
}

// MarkNoShow sets or takes back the no-show of an appointment that is canceled.
func (s *Server) MarkNoShow(id int64, noShow bool) ([]apitest.Post, error) {
	return s.change(id, func(a *Appointment) ([]string, error) {
		if !a.Canceled {
			return nil, ErrCancelNotAllowed
		}
		a.NoShow = noShow
		return []string{changed}, nil
	})
}

// Edit changes who comes.
func (s *Server) Edit(id int64, c Client) ([]apitest.Post, error) {
	return s.change(id, func(a *Appointment) ([]string, error) {
		a.Client = c
		return []string{changed}, nil
	})
}

// Tell writes the owner's notes and the client's answers to the intake form.
func (s *Server) Tell(id int64, notes string, answers ...Answer) ([]apitest.Post, error) {
	return s.change(id, func(a *Appointment) ([]string, error) {
		a.Notes, a.Answers = notes, answers
		return []string{changed}, nil
	})
}

// Remove makes an appointment unknown. Nothing is sent (INF).
func (s *Server) Remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.appointments, id)
}

// change applies what is allowed and makes the posts of it.
func (s *Server) change(id int64, do func(*Appointment) ([]string, error)) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.appointments[id]
	if !ok {
		return nil, ErrUnknown
	}
	events, err := do(a)
	if err != nil {
		return nil, err
	}
	return s.posts(*a, events...), nil
}

// Appointment is what stands of one.
func (s *Server) Appointment(id int64) (Appointment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.appointments[id]
	if !ok {
		return Appointment{}, false
	}
	return *a, true
}

// Appointments are the ids of all, in the order of booking.
func (s *Server) Appointments() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.appointments))
}
