package acuitytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

const (
	basePath = "/api/v1"

	firstAppointment = 1841200301
	firstClass       = 48800771

	burst       = 10
	perSecond   = 10
	connections = 20
)

// Options of a stand-in.
type Options struct {
	// UserID and APIKey are what its API asks for.
	UserID string
	APIKey string
	Tempo  providers.Tempo
	Now    func() time.Time
}

// Server is the stand-in. Its methods may be called while it serves.
type Server struct {
	*apitest.Front
	options Options

	mu           sync.Mutex
	calendars    []Calendar
	types        map[int64]Type
	appointments map[int64]*Appointment
	classes      map[classTime]int64
	hooks        []Hook
	next         int64
}

// Calendar is what is booked: a person or a room. Many have no e-mail (REC).
type Calendar struct {
	ID       int64
	Name     string
	Email    string
	Timezone string
}

// Type is what can be booked. With a ClassSize it is a class of so many.
type Type struct {
	ID        int64
	Name      string
	Minutes   int
	ClassSize int
}

// Client is who books. Names and e-mail may be empty (REC).
type Client struct {
	FirstName, LastName, Email, Phone, Timezone string
}

// Appointment is what stands of one.
type Appointment struct {
	ID       int64
	Client   Client
	Type     Type
	Calendar Calendar
	ClassID  int64 // 0 when it is in no class
	Start    time.Time
	Created  time.Time
	Canceled bool
	NoShow   bool
}

type classTime struct {
	typeID, calendarID int64
	start              time.Time
}

// New makes a stand-in with nothing in it; Start serves it.
func New(o Options) *Server {
	s := &Server{
		options: o, types: map[int64]Type{}, appointments: map[int64]*Appointment{}, classes: map[classTime]int64{},
		next: firstAppointment,
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET "+basePath+"/appointments/{id}", s.getAppointment)
	routes.HandleFunc("GET "+basePath+"/calendars", s.getCalendars)
	routes.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound) })
	routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusMethodNotAllowed) })
	limits := apitest.Limits{PerSecond: perSecond, Burst: burst, Connections: connections}
	s.Front = apitest.NewFront(s.authorized(routes), limits, o.Tempo, o.Now, errorText)
	return s
}

// APIBase is a connection's API URL.
func (s *Server) APIBase() string { return s.URL() + basePath }

// authorized asks for the user id and key (OFF).
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, key, _ := r.BasicAuth()
		if user != s.options.UserID || key != s.options.APIKey {
			fail(w, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// errorText has the shapes of errors (OFF; 404 REC).
func errorText(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return `{"status_code":429,"error":"too_many_requests","message":"Rate limit reached. Limit 10req\/s and 20 concurrent connections."}`
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return `{"status_code":500,"message":"Internal Server Error","error":"internal_error"}`
	}
	name := http.StatusText(status)
	return fmt.Sprintf(`{"status_code":%d,"message":%q,"error":%q}`, status, name, strings.ReplaceAll(strings.ToLower(name), " ", "_"))
}

func fail(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(errorText(status))) // a client that left
}

func answer(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that left
}

func (s *Server) getAppointment(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	a, ok := s.Appointment(id)
	if err != nil || !ok {
		fail(w, http.StatusNotFound)
		return
	}
	answer(w, wire(a))
}

func (s *Server) getCalendars(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	all := slices.Clone(s.calendars)
	s.mu.Unlock()
	out := make([]wireCalendar, 0, len(all))
	for _, c := range all {
		out = append(out, wireCalendar{ID: c.ID, Name: c.Name, Email: c.Email, ReplyTo: c.Email, Timezone: c.Timezone, IsValid: true})
	}
	answer(w, out)
}
