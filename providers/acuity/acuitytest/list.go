package acuitytest

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostListed is how many the API lists unless it is asked for fewer (OFF). Whether
// it would list more when asked is UNV: here it does not.
const mostListed = 100

// listAppointments has the documented filters, and no cursor, offset, page or
// updated-since (OFF). Of appointments that begin at one time the order is UNV:
// here it is that of their ids, whichever the direction.
func (s *Server) listAppointments(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	wanted, ok := s.filters(query)
	most, err := most(query)
	if !ok || err != nil {
		refuse(w, "bad_request", "A parameter is invalid.")
		return
	}
	s.mu.Lock()
	var found []Appointment
	for _, a := range s.appointments {
		if !slices.ContainsFunc(wanted, func(f filter) bool { return !f(*a) }) {
			found = append(found, *a)
		}
	}
	s.mu.Unlock()
	way := -1 // DESC is the default (OFF)
	if strings.EqualFold(query.Get("direction"), "ASC") {
		way = 1
	}
	slices.SortFunc(found, func(a, b Appointment) int {
		return cmp.Or(way*a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
	})
	out := make([]wireAppointment, 0, len(found))
	for _, a := range found[:min(most, len(found))] {
		if truth(query.Get("excludeForms")) { // without the forms (OFF)
			a.Answers = nil
		}
		out = append(out, wire(a))
	}
	answer(w, out)
}

func most(query url.Values) (int, error) {
	if !query.Has("max") {
		return mostListed, nil
	}
	n, err := strconv.ParseUint(query.Get("max"), 10, 31)
	return int(min(n, mostListed)), err
}

func truth(text string) bool { return text == "true" || text == "1" }

// filter tells whether an appointment is wanted.
type filter func(Appointment) bool

func (s *Server) filters(query url.Values) ([]filter, bool) {
	all := []filter{stateFilter(query)}
	for name, of := range map[string]func(Appointment) string{
		"calendarID":        func(a Appointment) string { return strconv.FormatInt(a.Calendar.ID, 10) },
		"appointmentTypeID": func(a Appointment) string { return strconv.FormatInt(a.Type.ID, 10) },
		"firstName":         func(a Appointment) string { return a.Client.FirstName },
		"lastName":          func(a Appointment) string { return a.Client.LastName },
		"email":             func(a Appointment) string { return a.Client.Email },
		"phone":             func(a Appointment) string { return a.Client.Phone },
	} {
		if want := query.Get(name); want != "" {
			all = append(all, func(a Appointment) bool { return strings.EqualFold(of(a), want) })
		}
	}
	for name := range query {
		if field, found := strings.CutPrefix(name, "field:"); found {
			all = append(all, fieldFilter(field, query.Get(name)))
		}
	}
	from, to, ok := dates(query)
	return append(all, func(a Appointment) bool { return within(a.Start.In(s.zone), from, to) }), ok
}

// stateFilter leaves canceled ones out unless they are asked for: canceled=true has
// only them, showall=true both (OFF, REC).
func stateFilter(query url.Values) filter {
	all, canceled := truth(query.Get("showall")), truth(query.Get("canceled"))
	return func(a Appointment) bool { return all || a.Canceled == canceled }
}

func fieldFilter(field, want string) filter {
	return func(a Appointment) bool {
		for _, form := range forms(a) {
			for _, v := range form.Values {
				if strconv.FormatInt(v.FieldID, 10) == field {
					return v.Value == want
				}
			}
		}
		return false
	}
}

// dates are the first and the last, both included (OFF), of the account's own
// (INF); "" is no bound. Here they are in one spelling only.
func dates(query url.Values) (from, to string, ok bool) {
	ok = true
	read := func(name string) string {
		date := query.Get(name)
		if _, err := time.Parse(time.DateOnly, date); date != "" && err != nil {
			ok = false
		}
		return date
	}
	return read("minDate"), read("maxDate"), ok
}

func within(local time.Time, from, to string) bool {
	date := local.Format(time.DateOnly)
	return (from == "" || date >= from) && (to == "" || date <= to)
}
