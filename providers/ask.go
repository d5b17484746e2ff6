package providers

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxRetryAfter bounds how long an API can make us wait.
const maxRetryAfter = time.Hour

// maxMessage bounds what of an API's error text we repeat, in characters.
const maxMessage = 200

// AnswerError is an API's refusal.
type AnswerError struct {
	Status int
	// Message is the API's own, cut, and without our credentials; "" when it gave
	// none that can be read.
	Message string
}

func (e *AnswerError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the API answered %d", e.Status)
	}
	return fmt.Sprintf("the API answered %d: %s", e.Status, e.Message)
}

// errBadAnswer is what an answer is that says 200 and is not what was asked for.
// It may be asked for again: something in front of the API may have sent it.
var errBadAnswer = errors.New("the API's answer is not what it documents")

// BadAnswer is an error about the shape of an answer; what must not quote it.
func BadAnswer(what string) error { return fmt.Errorf("%w: %s", errBadAnswer, what) }

// Snapshot gives what is to be kept of an answer, if it may be as large.
func Snapshot(kept []byte) ([]byte, error) {
	if len(kept) > MaxSnapshot {
		return nil, BadAnswer("what is to be kept of it is too large")
	}
	return kept, nil
}

// Ask sends a GET to a connection's API and returns the JSON that it answers, of
// at most limit bytes. Its errors are those of Fetcher.Fetch; secrets are the
// credentials that no error may repeat.
func Ask(client *http.Client, r *http.Request, limit int64, secrets ...string) (Value, error) {
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", userAgentHeader)
	answer, err := client.Do(r) //nolint:gosec // the API's address is an administrator's, and the client refuses private ones
	if err != nil {
		return Value{}, fmt.Errorf("ask the API: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := readCapped(answer.Body, limit)
	if answer.StatusCode == http.StatusOK {
		if err != nil {
			return Value{}, err
		}
		return scanAnswer(body)
	}
	if err != nil {
		body = nil // the status says enough
	}
	return Value{}, refusal(answer, body, secrets)
}

func scanAnswer(body []byte) (Value, error) {
	v, f := Scan(body)
	if f != nil {
		return Value{}, BadAnswer(f.Text)
	}
	return v, nil
}

// refusal is the error of an answer that is not 200.
func refusal(answer *http.Response, body []byte, secrets []string) error {
	v, f := Scan(body)
	err := &AnswerError{Status: answer.StatusCode}
	if f == nil {
		err.Message = message(v, secrets)
	}
	switch {
	case answer.StatusCode == http.StatusTooManyRequests,
		answer.StatusCode == http.StatusForbidden && f != nil:
		after, told := retryAfter(answer)
		if !told {
			after = FirstBackoff
		}
		return &LaterError{After: after, Err: err}
	case answer.StatusCode == http.StatusNotFound && !isPage(answer, body):
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// isPage tells an API's answer from the page of something in front of it, whose
// 404 says nothing about bookings.
func isPage(answer *http.Response, body []byte) bool {
	return strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "html") ||
		bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

func message(v Value, secrets []string) string {
	text := strings.Join(strings.Fields(v.Get("message").Text()), " ")
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, Redacted)
		}
	}
	if utf8.RuneCountInString(text) > maxMessage {
		text = string([]rune(text)[:maxMessage]) + "…"
	}
	return text
}

// retryAfter is how long the answer asks to be left alone: Retry-After in seconds
// or as a date against the answer's own, or Calendly's X-RateLimit-Reset.
func retryAfter(answer *http.Response) (time.Duration, bool) {
	for _, name := range []string{"Retry-After", "X-RateLimit-Reset"} {
		text := strings.TrimSpace(answer.Header.Get(name))
		if n, err := strconv.ParseUint(text, 10, 31); err == nil {
			return min(time.Duration(n)*time.Second, maxRetryAfter), true
		}
		until, err := http.ParseTime(text)
		sent, sentErr := http.ParseTime(answer.Header.Get("Date"))
		if err == nil && sentErr == nil && until.After(sent) {
			return min(until.Sub(sent), maxRetryAfter), true
		}
	}
	return 0, false
}
