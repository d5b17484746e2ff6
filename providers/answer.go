package providers

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// answerIn is AnswerError's text in that of an error around it.
var answerIn = regexp.MustCompile(`(\(?)the API answered (\d{3})(?:: (.*)|\))?$`)

// AnswerErrorIn finds an API's refusal in an error's text that was kept, where the
// error itself is gone. It is the last thing that the text says.
func AnswerErrorIn(text string) (*AnswerError, bool) {
	found := answerIn.FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	message := found[3]
	if found[1] != "" {
		message = strings.TrimSuffix(message, ")")
	}
	status, err := strconv.Atoi(found[2])
	return &AnswerError{Status: status, Message: message}, err == nil
}

// ErrBadAnswer is what an answer is that says 200 and is not what was asked for.
// It may be asked for again: something in front of the API may have sent it.
var ErrBadAnswer = errors.New("the API's answer is not what it documents")

// BadAnswer is an error about the shape of an answer; what must not quote it.
func BadAnswer(what string) error { return fmt.Errorf("%w: %s", ErrBadAnswer, what) }

// Snapshot gives what is to be kept of an answer, if it may be as large.
func Snapshot(kept []byte) ([]byte, error) {
	if len(kept) > MaxSnapshot {
		return nil, BadAnswer("what is to be kept of it is too large")
	}
	return kept, nil
}

func scanAnswer(body []byte) (Value, error) {
	v, f := Scan(body)
	if f != nil {
		return Value{}, BadAnswer(f.Text)
	}
	return v, nil
}

// refusal is the error of an answer that says neither success nor silence.
func refusal(answer *http.Response, body []byte, secrets []string) error {
	v, f := Scan(body)
	err := &AnswerError{Status: answer.StatusCode}
	if f == nil {
		err.Message = message(v, secrets)
	}
	switch {
	case answer.StatusCode == http.StatusTooManyRequests,
		answer.StatusCode == http.StatusForbidden && f != nil:
		after, told := RetryAfter(answer.Header)
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

// message is what an API's error says of itself: Acuity and Cal.com's first
// version a message, Cal.com's second one inside error, Calendly a title, a
// message and details by parameter, OAuth a code and its description.
func message(v Value, secrets []string) string {
	var parts []string
	add := func(text string) {
		if text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	add(v.Get("title").Text())
	add(texts(v.Get("message")))
	add(texts(v.Get("error", "message")))
	if len(parts) == 0 {
		add(v.Get("error").Text())
	}
	add(v.Get("error_description").Text())
	text := strings.Join(parts, ": ")
	if all := details(v.Get("details")); all != "" {
		text += " (" + all + ")"
	}
	return cut(without(secrets, plainLine(text)))
}

// details are what Calendly says of single parameters.
func details(v Value) string {
	var all []string
	for detail := range v.Items() {
		if text := strings.TrimSpace(detail.Get("parameter").Text() + " " + detail.Get("message").Text()); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// texts is a text, or a list of them in one, as validators answer.
func texts(v Value) string {
	if !v.Array() {
		return v.Text()
	}
	var all []string
	for item := range v.Items() {
		if text := item.Text(); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// plainLine is a text as one line that cannot steer a terminal.
func plainLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// without replaces secrets in a text, also as a URL or a form writes them.
func without(secrets []string, text string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, Redacted)
			text = strings.ReplaceAll(text, url.QueryEscape(secret), Redacted)
		}
	}
	return text
}

func cut(text string) string {
	if utf8.RuneCountInString(text) > maxMessage {
		return string([]rune(text)[:maxMessage]) + "…"
	}
	return text
}
