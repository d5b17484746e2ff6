package account

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Cause is why an account could not be connected or asked, as far as it tells a
// person what to do. The provider's own words are in the error.
type Cause string

// The causes. Each has a text with its remedy in the pages and the commands.
const (
	CauseCredentials Cause = "credentials" // the key or token is not accepted
	CauseKeyRefused  Cause = "key_refused" // the key that signs posts is not accepted
	CauseKeyForeign  Cause = "key_foreign" // it is another account's
	CauseApp         Cause = "app"         // this installation's app is not accepted
	CauseForbidden   Cause = "forbidden"   // accepted, but may not do this
	CauseNoAPI       Cause = "no_api"      // there is no such API at the address
	CauseUnreachable Cause = "unreachable" // no answer, or not all of one
	CauseNoHost      Cause = "no_host"     // nobody knows the address's name
	CauseCertificate Cause = "certificate" // its certificate is not accepted
	CausePrivate     Cause = "private"     // a private address that is not allowed
	CauseLimited     Cause = "limited"     // asked to come back later
	CauseProvider    Cause = "provider"    // the provider fails
	CauseInput       Cause = "input"       // what was entered cannot be right
	CauseCannotAsk   Cause = "cannot_ask"  // no API, or no credentials
	CauseOwn         Cause = "unavailable" // our database is away
	CauseUnknown     Cause = "unknown"     // see the error
)

// Causes are all of them.
func Causes() []Cause {
	return []Cause{
		CauseCredentials, CauseKeyRefused, CauseKeyForeign, CauseApp, CauseForbidden, CauseNoAPI, CauseUnreachable, CauseNoHost, CauseCertificate, CausePrivate, CauseLimited,
		CauseProvider, CauseInput, CauseCannotAsk, CauseOwn, CauseUnknown,
	}
}

// CauseOf finds the cause of an error.
func CauseOf(err error) Cause {
	var (
		answer  *providers.AnswerError
		key     *providers.KeyError
		app     *providers.AppError
		later   *providers.LaterError
		invalid *booking.InvalidError
		private *providers.AddressError
		network net.Error
		name    *net.DNSError
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &invalid):
		return CauseInput
	case errors.Is(err, booking.ErrUnavailable):
		return CauseOwn
	case errors.Is(err, ErrCannotAsk), errors.Is(err, providers.ErrNoCredentials):
		return CauseCannotAsk
	case errors.As(err, &key) && key.Foreign:
		return CauseKeyForeign
	case errors.As(err, &key):
		return CauseKeyRefused
	case errors.As(err, &app):
		return CauseApp
	case errors.As(err, &later):
		return CauseLimited
	case errors.As(err, &private):
		return CausePrivate
	case errors.Is(err, providers.ErrGone):
		return CauseNoAPI
	case errors.As(err, &answer):
		return causeOfAnswer(answer.Status)
	case errors.As(err, &name) && name.IsNotFound:
		return CauseNoHost
	case errors.As(err, &cert):
		return CauseCertificate
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return CauseUnreachable // it broke off, or never came
	case errors.Is(err, providers.ErrRedirected), errors.Is(err, providers.ErrBadAnswer), errors.Is(err, providers.ErrAnswerTooLarge):
		return CauseNoAPI
	}
	return CauseUnknown
}

func causeOfAnswer(status int) Cause {
	switch {
	case status == http.StatusUnauthorized:
		return CauseCredentials
	case status == http.StatusForbidden:
		return CauseForbidden
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return CauseNoAPI
	case status >= http.StatusInternalServerError:
		return CauseProvider
	}
	return CauseUnknown
}
