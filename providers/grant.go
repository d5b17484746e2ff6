package providers

import (
	"errors"
	"fmt"
	"net/http"
)

// The codes of RFC 6749 that say whose fault a refusal is.
const (
	invalidGrant       = "invalid_grant"
	invalidClient      = "invalid_client"
	unauthorizedClient = "unauthorized_client"
)

// AppError says that a provider does not accept the app of this installation. Nobody
// who signs in anew mends that: its id and secret are an administrator's.
type AppError struct {
	Status int
	// Message is as AnswerError's.
	Message string
}

// AppRefused begins the text of every AppError.
const AppRefused = "the provider does not accept the app of this installation: look at its client id and secret"

func (e *AppError) Error() string {
	return AppRefused + ": " + (&AnswerError{Status: e.Status, Message: e.Message}).Error()
}

// GrantRefused is the error of a token endpoint that gave none: a *LaterError that asks
// to wait, an *AppError, or an *AnswerError, of 401 when the grant itself is no longer
// accepted, which only signing in again mends. code and described are what was read of
// a body that need not be JSON; secrets are not repeated.
func GrantRefused(answer *http.Response, body []byte, code, described string, secrets ...string) error {
	err := refusal(answer, body, secrets)
	var later *LaterError
	if errors.As(err, &later) {
		return err
	}
	var refused *AnswerError
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Message == "" {
		text := code
		if described != "" {
			text = fmt.Sprintf("%s: %s", code, described)
		}
		refused.Message = cut(without(secrets, plainLine(text)))
	}
	switch {
	case code == invalidGrant:
		return &AnswerError{Status: http.StatusUnauthorized, Message: refused.Message}
	case code == invalidClient, code == unauthorizedClient, code == "" && refused.Status == http.StatusUnauthorized:
		return &AppError{Status: refused.Status, Message: refused.Message}
	}
	return err
}
