package calcomtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

const (
	basePath = "/v2"

	bookingsVersion   = "2024-08-13"
	eventTypesVersion = "2024-06-14"

	perMinute = 120
	limitName = "Default"

	apiTime = "2006-01-02T15:04:05.000Z"
)

// What the stand-in's actions refuse.
var (
	ErrUnknown  = errors.New("no such booking, event type or attendee")
	ErrNotOpen  = errors.New("the booking is not in a state for that")
	ErrSeatFull = errors.New("booking_seats_full_error")
)

// Options of a stand-in.
type Options struct {
	// Key is what its API asks for.
	Key string
	// User is whose key it is, and who hosts what has no other host.
	User  Host
	Tempo providers.Tempo
	Now   func() time.Time
	// Deliver sends the posts of what the API itself does, before the state
	// changes; without it they wait in Outbox.
	Deliver func(ctx context.Context, posts []apitest.Post)
	// Triggers that this version knows; nil for all.
	Triggers []string
	// HideSecrets leaves the webhooks' secrets out of answers.
	HideSecrets bool
	// NoWebhooks answers 404 about webhooks.
	NoWebhooks bool
	// SeatsWithoutReason refuses a reason beside a seatUid.
	SeatsWithoutReason bool
}

// Server is the stand-in. Its methods may be called while it serves.
type Server struct {
	*apitest.Front
	options Options

	mu       sync.Mutex
	types    map[int]EventType
	bookings []*row // in the order of booking
	hooks    []*Webhook
	outbox   []apitest.Post
	next     int
	// bucket is as full as the front's, which does not tell.
	bucket *rate.Limiter
}

// New makes a stand-in with nothing in it; Start serves it.
func New(o Options) *Server {
	s := &Server{
		options: o, types: map[int]EventType{},
		bucket: rate.NewLimiter(rate.Limit(o.Tempo.Rate(perMinute/60.0)), perMinute),
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET "+basePath+"/me", s.getMe)
	routes.HandleFunc("GET "+basePath+"/event-types/{id}", s.getEventType)
	routes.HandleFunc("GET "+basePath+"/bookings", s.getBookings)
	routes.HandleFunc("GET "+basePath+"/bookings/{uid}", s.getBooking)
	routes.HandleFunc("POST "+basePath+"/bookings/{uid}/cancel", s.cancelBooking)
	if !o.NoWebhooks {
		routes.HandleFunc("GET "+basePath+"/webhooks", s.getWebhooks)
		routes.HandleFunc("POST "+basePath+"/webhooks", s.postWebhook)
		routes.HandleFunc("GET "+basePath+"/webhooks/{id}", s.getWebhook)
		routes.HandleFunc("PATCH "+basePath+"/webhooks/{id}", s.patchWebhook)
		routes.HandleFunc("DELETE "+basePath+"/webhooks/{id}", s.deleteWebhook)
	}
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "Cannot "+r.Method+" "+r.URL.Path)
	})
	limits := apitest.Limits{PerSecond: perMinute / 60.0, Burst: perMinute, Header: limitHeader(0, 60)}
	s.Front = apitest.NewFront(s.counted(s.authorized(routes)), limits, o.Tempo, o.Now, s.errorText)
	return s
}

// SetKey gives the user another key; the old one opens nothing any more.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Key = key
}

func (s *Server) currentKey() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Key
}

// APIBase is a connection's API URL.
func (s *Server) APIBase() string { return s.URL() + basePath }

// limitHeader is what every answer tells of the limit (W; the name is INF).
func limitHeader(remaining, reset int) http.Header {
	h := http.Header{}
	h.Set("X-RateLimit-Limit-"+limitName, strconv.Itoa(perMinute))
	h.Set("X-RateLimit-Remaining-"+limitName, strconv.Itoa(remaining))
	h.Set("X-RateLimit-Reset-"+limitName, strconv.Itoa(reset))
	return h
}

func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range limitHeader(s.count()) {
			w.Header()[name] = values
		}
		next.ServeHTTP(w, r)
	})
}

// count takes one, and says how many are left and in how many seconds all are.
func (s *Server) count() (remaining, reset int) {
	s.bucket.Allow()
	tokens := max(s.bucket.Tokens(), 0)
	return int(tokens), int(math.Ceil((perMinute - tokens) / (perMinute / 60.0)))
}

// authorized asks for the key (W).
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		switch {
		case given == "":
			s.fail(w, r, http.StatusUnauthorized, "ApiAuthStrategy: No authentication method was provided")
		case given != "Bearer "+s.currentKey():
			s.fail(w, r, http.StatusUnauthorized, "ApiAuthStrategy - api key - Your api key is not valid")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// codes are the names of the exceptions that become errors (R).
var codes = map[int]string{
	http.StatusBadRequest: "BadRequestException", http.StatusUnauthorized: "UnauthorizedException", http.StatusForbidden: "ForbiddenException",
	http.StatusNotFound: "NotFoundException", http.StatusConflict: "ConflictException", http.StatusTooManyRequests: "ThrottlerException",
}

func (s *Server) errorBody(path string, status int, message string) string {
	code, ok := codes[status]
	if !ok {
		code = "INTERNAL_SERVER_ERROR"
	}
	return fmt.Sprintf(`{"status":"error","timestamp":%q,"path":%q,"error":{"code":%q,"message":%q,"details":{"statusCode":%d}}}`,
		s.options.Now().UTC().Format(apiTime), path, code, message, status)
}

// errorText is what the front answers on its own.
func (s *Server) errorText(status int) string {
	return s.errorBody(basePath, status, http.StatusText(status))
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(s.errorBody(r.URL.RequestURI(), status, message))) // a client that left
}

// answer writes what was asked for in its envelope.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, data any, more ...map[string]any) {
	out := map[string]any{"status": "success", "data": data}
	for _, m := range more {
		for name, v := range m {
			out[name] = v
		}
	}
	body, err := json.Marshal(out)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left
}

func (s *Server) getMe(w http.ResponseWriter, r *http.Request) {
	u := s.options.User
	s.answer(w, r, http.StatusOK, map[string]any{
		"id": u.ID, "username": u.Username, "email": u.Email, "name": u.Name, "avatarUrl": nil, "bio": nil, "timeFormat": 24,
		"defaultScheduleId": 1, "weekStart": "Monday", "timeZone": u.Timezone, "locale": "en", "organizationId": nil,
	})
}

func (s *Server) getEventType(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	s.mu.Lock()
	t, ok := s.types[id]
	s.mu.Unlock()
	switch {
	case err != nil || !ok:
		s.fail(w, r, http.StatusNotFound, "Event type with id "+r.PathValue("id")+" not found")
	case r.Header.Get("Cal-Api-Version") != eventTypesVersion:
		s.answer(w, r, http.StatusOK, map[string]any{"eventType": map[string]any{"id": t.ID, "seatsPerTimeSlot": seatsOrNull(t.Seats)}})
	default:
		seats := map[string]any{"disabled": true}
		if t.Seats > 0 {
			seats = map[string]any{"seatsPerTimeSlot": t.Seats, "showAttendeeInfo": true, "showAvailabilityCount": true}
		}
		s.answer(w, r, http.StatusOK, map[string]any{"id": t.ID, "title": t.Title, "slug": t.Slug, "lengthInMinutes": t.Minutes, "seats": seats})
	}
}

func seatsOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}
