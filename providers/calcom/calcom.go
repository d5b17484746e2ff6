package calcom

import (
	"net/http"
	"strings"
	"time"

	"slotkeeper/providers"
)

const (
	// Name of the provider in URLs and in the database.
	Name = "calcom"

	apiBase         = "https://api.cal.com/v2"
	signatureHeader = "X-Cal-Signature-256"
)

// Provider is the adapter.
type Provider struct{}

var _ providers.Account = (*Provider)(nil)

// New makes the adapter.
func New() *Provider { return &Provider{} }

// Name is the provider's in URLs and in the database.
func (*Provider) Name() string { return Name }

// APIBase is where the hosted Cal.com's API lives; others give their own.
func (*Provider) APIBase() string { return apiBase }

// Verify checks the signature. "no-secret-provided", which a webhook without a
// secret sends, is no hex and so fits nothing.
func (*Provider) Verify(r providers.Request, s providers.Secrets, _ time.Time) (string, error) {
	signature := strings.TrimSpace(r.Header.Get(signatureHeader))
	if signature == "" {
		return "", providers.ErrSignatureMissing
	}
	return providers.MatchSecret(s, func(secret string) bool {
		return providers.FitsHex(signature, secret, r.Body)
	})
}

// Sign is the header that Cal.com would send with the body.
func (*Provider) Sign(body []byte, secret string, _ time.Time) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(signatureHeader, providers.SumHex(secret, body))
	return h
}

// secrets: oneTimePassword accepts or declines a booking for whoever has it,
// videoCallData opens the meeting, payments have their own ids and links.
var secrets = providers.Redaction{
	Names: []string{
		"oneTimePassword", "videoCallData.id", "videoCallData.url", "videoCallUrl", "meetingUrl", "meetingId",
		"connectAndJoinUrl", "downloadLink", "downloadLinks", "conferenceData", "hashedLink",
		"paymentData", "paymentInfo", "payment", "metadata.externalId", "credential", "references",
	},
	Links: true,
}

// Redact replaces the secrets inside a body, or inside a booking that was read
// from the API. Of one that is neither nobody knows what its fields are: a
// template may put a secret anywhere.
func (*Provider) Redact(body []byte) []byte {
	root, f := providers.Scan(body)
	if f != nil || root.Get("triggerEvent").Text() == "" && root.Get(keptName).Text() != keptBooking {
		return []byte(providers.Withheld)
	}
	return secrets.ApplyValue(root)
}
