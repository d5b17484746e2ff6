package providers

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxRetries is how often a call is sent again.
const maxRetries = 2

// Limit is how often a provider lets itself be asked, and who is counted. A window
// of more than a second may be used up in a burst; within one of a second or less
// requests go evenly apart.
type Limit struct {
	// Who is counted beside the host: a user, a key; "" counts by our address.
	// It is never logged.
	Who string
	// Requests in a time, Connections at once; 0 for the client's own. Of Who's
	// calls at a host the first one's Connections hold.
	Requests    int
	Per         time.Duration
	Connections int
}

// Call is a request to a connection's API.
type Call struct {
	Method string
	URL    string
	Header http.Header
	// JSON is the body to send, or Form; nil for none.
	JSON any
	Form url.Values
	// MaxAnswer is the most that is read of the answer, in bytes.
	MaxAnswer int64
	Limit     Limit
	// Secrets are the credentials that no error may repeat.
	Secrets []string
	// Repeatable says that the request may be sent again after an answer that
	// nobody understood or that never came. GET, PUT and DELETE are.
	Repeatable bool
}

// Do sends the request and returns the JSON that the API answers with 200 or
// 201; the zero Value of 204. Its errors are those of Fetcher.Fetch.
//
// What may be sent again is, at most twice and while the context lasts, after a
// 5xx, a connection that failed or an answer that is no JSON; never when the API
// asks to be left alone, which is for whoever queues, nor when it hung, which has
// taken long enough.
//
// With NewClient's clients it waits for its turn within Limit, and before it is
// sent again. Give ctx a deadline: without one a spent window is waited for, with
// one that ends before the turn a *LaterError comes back at once.
func (c Call) Do(ctx context.Context, client *http.Client) (Value, http.Header, error) {
	body, kind, err := c.body()
	if err != nil {
		return Value{}, nil, err
	}
	v, header, err := c.once(ctx, client, body, kind, 0)
	for again := 1; again <= maxRetries && c.mayRepeat() && passing(err, header, again); again++ {
		nextV, nextHeader, nextErr := c.once(ctx, client, body, kind, again)
		if errors.Is(nextErr, errNoTime) {
			break // what the last answer said is worth more
		}
		v, header, err = nextV, nextHeader, nextErr
	}
	return v, header, err
}

func (c Call) mayRepeat() bool {
	switch c.Method {
	case "", http.MethodGet, http.MethodPut, http.MethodDelete:
		return true
	}
	return c.Repeatable
}

// errUnanswered marks the errors of requests that got no answer, or not all of it.
var errUnanswered = errors.New("ask the API")

// passing tells whether what went wrong may be over soon.
func passing(err error, header http.Header, again int) bool {
	var answer *AnswerError
	switch {
	case err == nil:
		return false
	case errors.As(err, &answer):
		after, told := wait(header, "Retry-After")
		return answer.Status >= http.StatusInternalServerError && (!told || after <= retryPause(again)/2)
	case errors.Is(err, errUnanswered):
		return !lasting(err)
	}
	return errors.Is(err, ErrBadAnswer)
}

// lasting tells of errors that asking again at once does not change, and of those
// that have taken long enough.
func lasting(err error) bool {
	var (
		asLater   *LaterError
		asAddress *AddressError
		asCert    *tls.CertificateVerificationError
		asDNS     *net.DNSError
		asNet     net.Error
	)
	return errors.As(err, &asLater) || errors.As(err, &asAddress) || errors.As(err, &asCert) ||
		errors.As(err, &asDNS) && asDNS.IsNotFound || errors.As(err, &asNet) && asNet.Timeout() ||
		errors.Is(err, ErrRedirected) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// once sends the request; again is how often it was sent before.
func (c Call) once(ctx context.Context, client *http.Client, body []byte, kind string, again int) (Value, http.Header, error) {
	r, err := c.request(withAsked(ctx, c.Limit, again), body, kind)
	if err != nil {
		return Value{}, nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return Value{}, nil, fmt.Errorf("%w: %w", errUnanswered, CauseOf(err))
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	content, err := readCapped(answer.Body, c.MaxAnswer)
	switch answer.StatusCode {
	case http.StatusNoContent:
		return Value{}, answer.Header, nil
	case http.StatusOK, http.StatusCreated:
		if errors.Is(err, ErrAnswerTooLarge) {
			return Value{}, answer.Header, err
		}
		if err != nil {
			return Value{}, answer.Header, fmt.Errorf("%w: %w", errUnanswered, err)
		}
		v, err := scanAnswer(content)
		return v, answer.Header, err
	}
	if err != nil {
		content = nil // the status says enough
	}
	return Value{}, answer.Header, refusal(answer, content, c.Secrets)
}

// body is what to send, and its content type.
func (c Call) body() (body []byte, kind string, err error) {
	switch {
	case c.JSON != nil:
		body, err = json.Marshal(c.JSON)
		return body, "application/json", err
	case c.Form != nil:
		return []byte(c.Form.Encode()), "application/x-www-form-urlencoded", nil
	}
	return nil, "", nil
}

func (c Call) request(ctx context.Context, body []byte, kind string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, c.Method, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", userAgentHeader)
	return r, nil
}
