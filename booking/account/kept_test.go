package account_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// A row keeps the text of its last error. A page that found another cause in it than
// the error had would send somebody to mend what is whole.
func TestCauseOfWhatWasKept(t *testing.T) {
	t.Parallel()
	answer := func(status int, said string) error { return &providers.AnswerError{Status: status, Message: said} }
	for name, tt := range map[string]struct {
		err  error
		said string
	}{
		"the key":        {answer(http.StatusUnauthorized, "Invalid token"), "Invalid token"},
		"the role":       {answer(http.StatusForbidden, "Upgrade (now)"), "Upgrade (now)"},
		"with a remedy":  {account.Remedied("calcom", answer(http.StatusForbidden, "Upgrade (now)")), "Upgrade (now)"},
		"without words":  {account.Remedied("calcom", answer(http.StatusForbidden, "")), ""},
		"the app":        {&providers.AppError{Status: http.StatusUnauthorized, Message: "invalid_client: no such app"}, "invalid_client: no such app"},
		"gone":           {fmt.Errorf("%w: %w", providers.ErrGone, answer(http.StatusNotFound, "Not found")), "Not found"},
		"trouble":        {answer(http.StatusBadGateway, "no such host upstream"), "no such host upstream"},
		"a bad request":  {answer(http.StatusBadRequest, "EOF"), "EOF"},
		"too much":       {&providers.LaterError{Err: answer(http.StatusTooManyRequests, "slow down")}, "slow down"},
		"left alone":     {&providers.LaterError{Err: providers.ErrPaused}, ""},
		"spent":          {&providers.LaterError{Err: providers.ErrSpent}, ""},
		"private":        {&providers.AddressError{Host: "cal.local:443"}, ""},
		"no name":        {&net.DNSError{Err: "no such host", Name: "cal.example", IsNotFound: true}, ""},
		"a certificate":  {&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "cal.example"}}, ""},
		"nobody there":   {&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}, ""},
		"too slow":       {context.DeadlineExceeded, ""},
		"broken off":     {io.ErrUnexpectedEOF, ""},
		"elsewhere":      {providers.ErrRedirected, ""},
		"odd":            {providers.BadAnswer("it has no id"), ""},
		"too large":      {fmt.Errorf("%w: more than 5 bytes", providers.ErrAnswerTooLarge), ""},
		"nothing to ask": {fmt.Errorf("%w: it is disconnected", account.ErrCannotAsk), ""},
		"our database":   {fmt.Errorf("store: %w", booking.ErrUnavailable), ""},
		"unheard of":     {errors.New("a surprise"), ""},
	} {
		kept := fmt.Errorf("list bookings: %w", tt.err).Error()
		cause, said := account.CauseIn(kept)
		if want := account.CauseOf(tt.err); cause != want || said != tt.said {
			t.Errorf("%s: %q has the cause %s and says %q, want %s and %q", name, kept, cause, said, want, tt.said)
		}
	}
}
