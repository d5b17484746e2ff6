// Package endpoint tells other systems of events: it signs messages by the Standard
// Webhooks specification, posts them, and tries again what did not get through. What
// is to be told stands in the audit log; here it goes out, or is seen not to have.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
package endpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Timeout is how long an endpoint has to take a message: the specification proposes 15
// to 30 seconds.
const Timeout = 15 * time.Second

// keptAnswer is how much is kept of what a refusal said.
const keptAnswer = 1 << 10

// secretBytes is what the specification proposes at least: 24 to 64 bytes.
const secretBytes = 32

// NewSecret draws a secret that signs messages, in the form whsec_….
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails; it ends the process rather
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// Sender posts messages.
type Sender struct {
	client *http.Client
	now    func() time.Time
	agent  string
}

// NewSender makes one that posts with client, which must neither follow redirects nor
// reach private networks (providers.NewPoster), and names itself agent.
func NewSender(client *http.Client, now func() time.Time, agent string) *Sender {
	return &Sender{client, now, agent}
}

// Send posts a body to an endpoint under a message's id and tells what came of it.
func (s *Sender) Send(ctx context.Context, to booking.Endpoint, e booking.Effect, body []byte) booking.Attempt {
	a := booking.Attempt{Effect: e.ID, Number: e.Attempts, At: s.now()}
	err := s.post(ctx, to, e, body, &a)
	a.Took = s.now().Sub(a.At)
	if err != nil {
		a.Error = err.Error()
		if a.Cause == "" {
			a.Cause = causeOf(err)
		}
	}
	return a
}

// causeOf says why there was no answer.
func causeOf(err error) booking.AttemptCause {
	var (
		private *providers.AddressError
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		network net.Error
	)
	switch {
	case errors.As(err, &private):
		return booking.AttemptPrivate
	case errors.As(err, &dns) && dns.IsNotFound:
		return booking.AttemptNoHost
	case errors.As(err, &cert):
		return booking.AttemptCertificate
	case errors.Is(err, syscall.ECONNREFUSED):
		return booking.AttemptNobody
	case errors.As(err, &network) && network.Timeout():
		return booking.AttemptTimeout
	}
	return booking.AttemptUnanswered
}

func (s *Sender) post(ctx context.Context, to booking.Endpoint, e booking.Effect, body []byte, a *booking.Attempt) error {
	signature, err := sign(to, e.ID.String(), a.At, body)
	if err != nil {
		a.Cause = booking.AttemptUnmade
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		a.Cause = booking.AttemptUnmade
		return errors.New("the URL cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.agent)
	r.Header.Set(standardwebhooks.HeaderWebhookID, e.ID.String())
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(a.At.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	if e.RequestID != "" {
		r.Header.Set("Traceparent", traceparent(e.RequestID, e.ID))
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("no answer: %w", providers.PlainCause(err))
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	a.Status = answer.StatusCode
	if answer.StatusCode/100 == 2 {
		return nil // it said so, whatever else it was about to say
	}
	if !to.People { // whoever was told of people may repeat it
		said, _ := io.ReadAll(io.LimitReader(answer.Body, keptAnswer)) // as much as came
		a.Answer = strings.ToValidUTF8(string(said), "")
	}
	a.RetryAfter = providers.RetryAfterOf(answer.Header)
	a.Cause = booking.AttemptRefused
	if answer.StatusCode/100 == 3 {
		a.Cause = booking.AttemptRedirected
		return fmt.Errorf("answered %d: redirects are not followed, give the URL that it leads to", answer.StatusCode)
	}
	return fmt.Errorf("answered %d", answer.StatusCode)
}

// sign signs with every secret of the endpoint: while it is rotated, whoever knows
// either finds its signature.
func sign(to booking.Endpoint, id string, at time.Time, body []byte) (string, error) {
	var all []string
	for _, secret := range []string{to.Secret, to.OldSecret} {
		if secret == "" {
			continue
		}
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", errors.New("the endpoint's secret cannot be read: rotate it")
		}
		signature, err := w.Sign(id, at, body)
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		all = append(all, signature)
	}
	return strings.Join(all, " "), nil
}

// traceparent carries the request id of the delivery that led to a message, as W3C's
// trace context: the trace is the request's id where that is a UUID, else the
// beginning of its SHA-256; the parent is the message.
// https://www.w3.org/TR/trace-context/#traceparent-header
func traceparent(requestID string, message uuid.UUID) string {
	trace, err := uuid.Parse(requestID)
	if err != nil || trace == uuid.Nil {
		sum := sha256.Sum256([]byte(requestID))
		trace = uuid.UUID(sum[:16])
	}
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(message[8:]) + "-01"
}
