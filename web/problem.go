package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// Problem is the body of every error that a program gets (RFC 9457). Code is
// stable; title and detail are for people and may change.
type Problem struct { //nolint:errname // it is the body of an answer first; huma wants it to be an error
	Type      string    `json:"type" doc:"A URN made of the code"`
	Title     string    `json:"title"`
	Status    int       `json:"status"`
	Code      string    `json:"code" doc:"Stable: programs decide by it"`
	Detail    string    `json:"detail,omitempty"`
	Errors    []Invalid `json:"errors,omitempty" doc:"What is wrong with which part of the input"`
	RequestID string    `json:"request_id,omitempty"`

	retryAfter time.Duration
	// cause is logged, never shown.
	cause error
}

// Invalid is one thing that is wrong with an input.
type Invalid struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error, GetStatus and ContentType let huma send it.
func (p *Problem) Error() string { return p.Title }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of a problem.
func (p *Problem) ContentType(string) string { return problemJSON }

// GetHeaders are the headers that go with it.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		after := min(p.retryAfter, mostRetryAfter)
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized && p.Code == codeUnauthenticated {
		h.Set(echo.HeaderWWWAuthenticate, `Bearer realm="slotkeeper"`)
	}
	return h
}

func (p *Problem) Unwrap() error { return p.cause }

const problemJSON = "application/problem+json"

// refusal is an error of this package's own.
type refusal struct {
	status int
	code   string
	retry  time.Duration
	cause  error
}

func (r *refusal) Error() string {
	if r.cause == nil {
		return r.code
	}
	return r.code + ": " + r.cause.Error()
}

func (r *refusal) Unwrap() error { return r.cause }

const (
	codeUnauthenticated = "unauthenticated"
	codeInvalid         = "invalid"
	codeUnavailable     = "unavailable"
	codeInternal        = "internal"
)

// titles says in English what each code means. Pages have their own texts, in
// locales/, under problem.CODE.
var titles = map[string]string{
	"bad_request":           "the request cannot be read",
	"event_id_missing":      "the event id header is missing",
	"signature_missing":     "the signature is missing",
	"signature_invalid":     "the signature does not fit the body",
	"signature_too_old":     "the signature's time is too far from now",
	codeUnauthenticated:     "a valid bearer token is needed",
	"forbidden":             "this needs a higher role",
	"cross_origin":          "the request came from another site",
	"not_found":             "there is no such thing",
	"connection_unknown":    "there is no such connection",
	"link_spent":            "the link was used or has expired",
	"provider_signin_spent": "the sign-in at the provider was not begun here or took too long",
	"method_not_allowed":    "the method is not allowed here",
	"conflict":              "what stands does not allow it",
	"illegal_transition":    "the booking's state does not allow it",
	"already_canceled":      "the booking is canceled already",
	"already_asked":         "the booking is being canceled already",
	"cannot_cancel":         "the booking cannot be canceled at its provider",
	"unconfirmed":           "more is canceled than was confirmed",
	"nothing_to_retry":      "there is nothing to try again",
	"nothing_to_withdraw":   "there is nothing to withdraw",
	"being_tried":           "it is being tried at the provider at this moment",
	"body_too_large":        "the body is too large",
	codeInvalid:             "the input is not valid",
	"unsupported":           "the content type is not supported",
	"not_acceptable":        "no such format is available",
	"rate_limited":          "too many attempts",
	codeUnavailable:         "the database is not available; try again",
	codeInternal:            "something went wrong here",
}

// codes of plain HTTP statuses, as echo and huma give them.
var codes = map[int]string{
	http.StatusBadRequest:            "bad_request",
	http.StatusUnauthorized:          codeUnauthenticated,
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusNotAcceptable:         "not_acceptable",
	http.StatusRequestEntityTooLarge: "body_too_large",
	http.StatusUnsupportedMediaType:  "unsupported",
	http.StatusUnprocessableEntity:   codeInvalid,
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusServiceUnavailable:    codeUnavailable,
}

// known maps errors that carry no data.
var known = []struct {
	err    error
	status int
	code   string
}{
	{providers.ErrEventIDMissing, http.StatusBadRequest, "event_id_missing"},
	{providers.ErrSignatureMissing, http.StatusUnauthorized, "signature_missing"},
	{providers.ErrSignatureInvalid, http.StatusUnauthorized, "signature_invalid"},
	{providers.ErrSignatureTooOld, http.StatusUnauthorized, "signature_too_old"},
	{access.ErrBadToken, http.StatusUnauthorized, codeUnauthenticated},
	{access.ErrLinkSpent, http.StatusNotFound, "link_spent"},
	{booking.ErrNotFound, http.StatusNotFound, "not_found"},
	{booking.ErrAlreadyCanceled, http.StatusConflict, "already_canceled"},
	{booking.ErrAlreadyAsked, http.StatusConflict, "already_asked"},
	{booking.ErrNothingToRetry, http.StatusConflict, "nothing_to_retry"},
	{booking.ErrNothingToWithdraw, http.StatusConflict, "nothing_to_withdraw"},
	{booking.ErrBeingTried, http.StatusConflict, "being_tried"},
	{booking.ErrUnavailable, http.StatusServiceUnavailable, codeUnavailable},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, codeUnavailable},
}

// retryUnavailable is when to come back after 503: soon, for a database that
// restarts is back within seconds, and providers have backoffs of their own.
const retryUnavailable = 5 * time.Second

// mostRetryAfter is the longest that anybody is told to stay away: by then it is worth
// a try.
const mostRetryAfter = time.Hour

// problemOf is the one place that decides what an error looks like from outside.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var own *refusal
	if errors.As(err, &own) {
		p = newProblem(own.status, own.code, err)
		p.retryAfter = own.retry
		return p
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		p = newProblem(http.StatusUnprocessableEntity, codeInvalid, err)
		p.Detail = invalid.Error()
		p.Errors = []Invalid{{Field: invalid.Field, Detail: invalid.Detail}}
		return p
	}
	var conflict *booking.ConflictError
	if errors.As(err, &conflict) {
		p = newProblem(http.StatusConflict, "conflict", err)
		p.Detail = conflict.Detail
		return p
	}
	var illegal *booking.IllegalTransitionError
	if errors.As(err, &illegal) {
		p = newProblem(http.StatusConflict, string(booking.ReasonIllegal), err)
		p.Detail = illegal.Error()
		return p
	}
	if p := problemOfCancel(err); p != nil {
		return p
	}
	var throttled *access.ThrottledError
	if errors.As(err, &throttled) {
		p = newProblem(http.StatusTooManyRequests, "rate_limited", err)
		p.retryAfter = throttled.RetryAfter
		return p
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return newProblem(http.StatusRequestEntityTooLarge, "body_too_large", err)
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			p = newProblem(k.status, k.code, err)
			if k.status == http.StatusServiceUnavailable {
				p.retryAfter = retryUnavailable
			}
			return p
		}
	}
	var plain *echo.HTTPError
	if errors.As(err, &plain) {
		if code, ok := codes[plain.Code]; ok {
			return newProblem(plain.Code, code, err)
		}
	}
	return newProblem(http.StatusInternalServerError, codeInternal, err)
}

// problemOfCancel is what a cancel at a provider is refused with; nil for other
// errors.
func problemOfCancel(err error) *Problem {
	var cannot *booking.CannotCancelError
	if errors.As(err, &cannot) {
		p := newProblem(http.StatusConflict, "cannot_cancel", err)
		p.Detail = cannot.Detail
		return p
	}
	var unconfirmed *booking.UnconfirmedError
	if errors.As(err, &unconfirmed) {
		p := newProblem(http.StatusConflict, "unconfirmed", err)
		p.Detail = unconfirmed.Error()
		p.Errors = []Invalid{{Field: "confirm", Detail: "must be " + strconv.Itoa(unconfirmed.Affected)}}
		return p
	}
	return nil
}

func newProblem(status int, code string, cause error) *Problem {
	return &Problem{
		Type: "urn:slotkeeper:problem:" + code, Title: titles[code], Status: status, Code: code, cause: cause,
	}
}

// problemOfHuma turns huma's own errors (a parameter that cannot be read, a
// format that we do not speak) into ours. It does not echo values.
func problemOfHuma(m *huma.ErrorModel) *Problem {
	code, ok := codes[m.Status]
	if !ok {
		return newProblem(http.StatusInternalServerError, codeInternal, m)
	}
	p := newProblem(m.Status, code, m)
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, Invalid{Field: e.Location, Detail: e.Message})
	}
	if len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Field + ": " + p.Errors[0].Detail
	}
	return p
}

// handleError is the end of every request that failed.
func (s *server) handleError(err error, c echo.Context) {
	ctx := c.Request().Context()
	if c.Response().Committed {
		s.logProblem(ctx, c.Path(), newProblem(http.StatusInternalServerError, codeInternal, err))
		return
	}
	p := problemOf(err)
	left := errors.Is(err, context.Canceled) && ctx.Err() != nil
	if left {
		// The client left, or only closed its half of the connection: then it
		// still reads, and silence would become a 200 that nobody meant.
		p = newProblem(http.StatusServiceUnavailable, codeUnavailable, err)
		p.retryAfter = retryUnavailable
	}
	p.RequestID = requestIDOf(ctx)
	if !left {
		s.logProblem(ctx, c.Path(), p)
	}
	for name, values := range p.GetHeaders() {
		c.Response().Header()[name] = values
	}
	if c.Request().Method == http.MethodHead {
		_ = c.NoContent(p.Status) // nobody is left to tell
		return
	}
	if speaksJSON(c.Request().URL.Path) {
		_ = sendProblem(c, p)
		return
	}
	if err := s.problemPage(c, p); err != nil {
		s.Log.ErrorContext(ctx, "the error page failed", slog.Any("error", err))
		_ = sendProblem(c, p)
	}
}

func sendProblem(c echo.Context, p *Problem) error {
	c.Response().Header().Set(echo.HeaderContentType, problemJSON)
	return c.JSON(p.Status, p)
}

// logProblem logs what is our fault. What callers do wrong is in the request's
// line.
func (s *server) logProblem(ctx context.Context, route string, p *Problem) {
	if p.Status < http.StatusInternalServerError {
		return
	}
	if route == webhookRoute && p.Code == codeUnavailable {
		return // the delivery's own line says it
	}
	s.Log.LogAttrs(ctx, slog.LevelError, "request failed",
		slog.String("request_id", requestIDOf(ctx)), slog.String("route", route),
		slog.String("code", p.Code), slog.Any("error", p.cause))
}
