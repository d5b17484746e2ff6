package calendlytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
)

const (
	publicBase   = "https://api.calendly.com"
	organization = "/organizations/5d2c9a40-7f31-4c0e-9b6a-0c1f7be2a901"
	stamp        = "2006-01-02T15:04:05.000000Z"
)

// What a user may ask in a minute, by plan (OFF).
const (
	PaidPlan = 500
	FreePlan = 50
)

// Organization is the URI of the only one.
const Organization = publicBase + organization

// ErrUnknown says that there is no such invitee, event or user.
var ErrUnknown = errors.New("no such invitee, event or user")

// Options of a stand-in.
type Options struct {
	// Token is a personal access token of the owner.
	Token string
	// Owner of the organization; the zero Host is Mara Lindqvist.
	Owner Host
	// PerMinute is what a user may ask in a minute; 0 is PaidPlan.
	PerMinute int
	// PageSize is the most that a page holds, however many are asked for; 0 is 100.
	PageSize int
	// App may be authorised by OAuth; the zero App is none.
	App   App
	Tempo providers.Tempo
	Now   func() time.Time
}

// Hook is a subscription of before 2023: where old bodies go, and what signs them.
type Hook struct{ URL, Key string }

// Server is the stand-in. Its methods may be called while it serves.
type Server struct {
	*apitest.Front
	options Options

	mu            sync.Mutex
	hook          Hook
	next          int
	people        []*person
	invitees      map[string]*invitee // by path
	events        map[string]*event   // by path
	subscriptions []*subscription
	noHooks       bool // the plan has no webhooks
	outbox        []apitest.Post
	grants        map[string]*grant   // by access token
	renewals      map[string]*renewal // by refresh token
	codes         map[string]*code
	approver      string // who approves at the authorize endpoint; "" is the owner
	denies        bool
	signedIn      map[string]*meter // token requests, by user
}

// New makes a stand-in with nothing but its owner in it; Start serves it.
func New(o Options) *Server {
	if o.Owner.ID == "" {
		o.Owner = Host{ID: "1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a01", Name: "Mara Lindqvist", Email: "mara.lindqvist@northpier.example"}
	}
	if o.PerMinute <= 0 {
		o.PerMinute = PaidPlan
	}
	s := &Server{
		options: o, invitees: map[string]*invitee{}, events: map[string]*event{},
		grants: map[string]*grant{}, renewals: map[string]*renewal{}, codes: map[string]*code{},
		signedIn: map[string]*meter{},
	}
	owner := s.person(o.Owner)
	owner.role = Owner
	if o.Token != "" {
		s.grants[o.Token] = &grant{of: owner}
	}
	limits := apitest.Limits{Requests: o.PerMinute, Per: time.Minute, Who: s.who, Told: apitest.CalendlyHeaders}
	s.Front = apitest.NewFront(s.routes(), limits, o.Tempo, o.Now, errorText)
	return s
}

// APIBase is a connection's API URL, and the base of its OAuth endpoint.
func (s *Server) APIBase() string { return s.URL() }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, e := range map[string]endpoint{
		"GET /users/me":                                    s.getMe,
		"GET /organization_memberships":                    s.listMembers,
		"POST /webhook_subscriptions":                      s.postSubscription,
		"GET /webhook_subscriptions":                       s.listSubscriptions,
		"GET /webhook_subscriptions/{id}":                  s.getSubscription,
		"DELETE /webhook_subscriptions/{id}":               s.deleteSubscription,
		"GET /scheduled_events":                            s.listEvents,
		"GET /scheduled_events/{event}":                    s.getEvent,
		"POST /scheduled_events/{event}/cancellation":      s.postCancellation,
		"GET /scheduled_events/{event}/invitees":           s.listInvitees,
		"GET /scheduled_events/{event}/invitees/{invitee}": s.getInvitee,
		"/": func(*http.Request, *grant) (any, *refusal) { return nil, &refusal{status: http.StatusNotFound} },
	} {
		mux.Handle(pattern, s.serve(e))
	}
	mux.HandleFunc("GET /oauth/authorize", s.authorize)
	mux.HandleFunc("POST /oauth/token", s.token)
	mux.HandleFunc("POST /oauth/revoke", s.revoke)
	return mux
}

// endpoint answers a request of whoever holds a token, under the lock.
type endpoint func(r *http.Request, by *grant) (answer any, no *refusal)

// refusal is an error of the API's own; "" for what it says of that status.
type refusal struct {
	status    int
	message   string
	parameter string
}

func denied(message string) *refusal {
	return &refusal{status: http.StatusForbidden, message: message}
}

func invalid(parameter string) *refusal {
	return &refusal{status: http.StatusBadRequest, message: "The supplied parameters are invalid.", parameter: parameter}
}

func (s *Server) serve(do endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		by, no := s.holder(r)
		var answer any
		if no == nil {
			answer, no = do(r, by)
		}
		if no != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(no.status)
			_, _ = w.Write(no.body()) // a client that left
			return
		}
		status := http.StatusOK
		switch r.Method {
		case http.MethodPost:
			status = http.StatusCreated
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
			return
		}
		write(w, status, answer)
	})
}

func write(w http.ResponseWriter, status int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(errorText(http.StatusInternalServerError))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left
}

// who is counted: a user, whichever of his tokens asks (OFF).
func (s *Server) who(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, _ := s.holder(r); g != nil {
		return g.of.ID
	}
	return ""
}

// holder finds whose token it is. The texts are OFF.
func (s *Server) holder(r *http.Request) (*grant, *refusal) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, ok := s.grants[token]
	no := &refusal{status: http.StatusUnauthorized}
	switch {
	case !bearer || !ok:
		no.message = "The access token is invalid"
	case g.revoked:
		no.message = "The access token was revoked"
	case !g.expires.IsZero() && !s.options.Now().Before(g.expires):
		no.message = "The access token expired"
	default:
		return g, nil
	}
	return nil, no
}

func (no *refusal) body() []byte {
	if no.message == "" {
		return []byte(errorText(no.status))
	}
	out := map[string]any{"title": titles[no.status], "message": no.message}
	if no.parameter != "" {
		out["details"] = []any{map[string]any{"parameter": no.parameter, "message": "is invalid"}}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return []byte(errorText(http.StatusInternalServerError))
	}
	return body
}

var titles = map[int]string{
	http.StatusBadRequest: "Invalid Argument", http.StatusUnauthorized: "Unauthenticated", http.StatusForbidden: "Permission Denied",
	http.StatusNotFound: "Resource Not Found", http.StatusConflict: "Already Exists",
}

// errorText has the shapes of errors (OFF).
func errorText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return `{"title":"Unauthenticated","message":"The access token is invalid"}`
	case http.StatusForbidden:
		return `{"title":"Permission Denied","message":"You do not have permission"}`
	case http.StatusNotFound:
		return `{"title":"Resource Not Found","message":"The server could not find the requested resource."}`
	}
	return fmt.Sprintf(`{"title":%q,"message":"An error occurred."}`, http.StatusText(status))
}

func uri(path string) any {
	if path == "" {
		return nil
	}
	return publicBase + path
}

func resource(v any) any { return map[string]any{"resource": v} }
