package acuitytest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
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
	firstHook        = 501
	firstBlock       = 9990000618 // past 32 bits (REC)

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
	// Timezone is the account's; "" is America/New_York.
	Timezone string
	// Name and Email are the owner's.
	Name, Email string
	// AnyTarget lets webhooks made over the API go to any port, which servers of
	// tests have. Acuity's go to 443 and 80 only (OFF).
	AnyTarget bool
	// App may be authorised; the zero App is none.
	App App
}

// Server is the stand-in. Its methods may be called while it serves.
type Server struct {
	*apitest.Front
	options Options

	mu           sync.Mutex
	key          string // "" when it was revoked
	zone         *time.Location
	calendars    []Calendar
	types        map[int64]Type
	appointments map[int64]*Appointment
	classes      map[classTime]int64
	hooks        []Hook
	made         []*madeHook // over the API
	nextHook     int64
	blocks       []Block
	nextBlock    int64
	notice       time.Duration
	locked       map[int64]error
	due          []apitest.Post
	grants       grants
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
	// CancelNote is what whoever canceled it over the API wrote.
	CancelNote string
	// Notes and Answers are what others must not keep: the first are the owner's
	// own, the others what the client wrote in the intake form.
	Notes   string
	Answers []Answer
}

// Answer is a field of the intake form.
type Answer struct{ Question, Text string }

type classTime struct {
	typeID, calendarID int64
	start              time.Time
}

// New makes a stand-in with nothing in it; Start serves it.
func New(o Options) *Server {
	zone, err := time.LoadLocation(cmp.Or(o.Timezone, "America/New_York"))
	if err != nil {
		zone = time.UTC
	}
	s := &Server{
		options: o, key: o.APIKey, zone: zone, types: map[int64]Type{}, appointments: map[int64]*Appointment{},
		classes: map[classTime]int64{}, locked: map[int64]error{}, grants: newGrants(),
		next: firstAppointment, nextHook: firstHook, nextBlock: firstBlock,
	}
	routes := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /me": s.getMe, "GET /calendars": s.getCalendars, "GET /appointment-types": s.getTypes,
		"GET /appointments": s.listAppointments, "GET /appointments/{id}": s.getAppointment,
		"PUT /appointments/{id}/cancel": s.putCancel, "GET /blocks": s.listBlocks,
		"GET /webhooks": s.listHooks, "POST /webhooks": s.postHook, "DELETE /webhooks/{id}": s.deleteHook,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		routes.HandleFunc(method+" "+basePath+path, h)
	}
	routes.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound) })
	routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusMethodNotAllowed) })
	site := http.NewServeMux()
	site.HandleFunc("GET /oauth2/authorize", s.authorize)
	site.HandleFunc("POST /oauth2/token", s.token)
	site.Handle("/", s.authorized(routes))
	limits := apitest.Limits{PerSecond: perSecond, Burst: burst, Connections: connections}
	s.Front = apitest.NewFront(site, limits, o.Tempo, o.Now, errorText)
	return s
}

// APIBase is a connection's API URL.
func (s *Server) APIBase() string { return s.URL() + basePath }

// SetKey gives the user another API key; the old one opens nothing any more, and
// hooks sign with the new one (INF). "" takes the key and all tokens away.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
	if key == "" {
		s.grants = newGrants()
	}
}

// authorized asks for the user id and key, or for a token; 401 else (OFF).
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.admits(r) {
			fail(w, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) admits(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		return s.grants.tokens[token]
	}
	user, key, _ := r.BasicAuth()
	return s.key != "" && user == s.options.UserID && key == s.key
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

func fail(w http.ResponseWriter, status int) { write(w, status, []byte(errorText(status))) }

// refuse answers 400 with an error's own code and text (OFF).
func refuse(w http.ResponseWriter, code, message string) {
	body, err := json.Marshal(struct {
		Status  int    `json:"status_code"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}{http.StatusBadRequest, message, code})
	if err != nil {
		fail(w, http.StatusInternalServerError)
		return
	}
	write(w, http.StatusBadRequest, body)
}

func answer(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError)
		return
	}
	write(w, http.StatusOK, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left
}

func (s *Server) getAppointment(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	a, ok := s.Appointment(id)
	if err != nil || !ok {
		fail(w, http.StatusNotFound)
		return
	}
	answer(w, wireSingle{wireAppointment: wire(a)})
}
