package generic

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/providers"
)

const (
	// Name of the provider in URLs and in the database.
	Name = "generic"

	eventIDHeader   = "X-Event-ID"
	signatureHeader = "X-Signature"
	// tolerance of Standard Webhooks' timestamps, that of their libraries.
	tolerance = 5 * time.Minute
	// encodedPrefix marks a secret that is base64.
	encodedPrefix = "whsec_"
)

// Provider is the adapter.
type Provider struct{}

var _ providers.Provider = (*Provider)(nil)

// New makes the adapter.
func New() *Provider { return &Provider{} }

// Name is the provider's in URLs and in the database.
func (*Provider) Name() string { return Name }

// APIBase is "": each connection is a system of its own.
func (*Provider) APIBase() string { return "" }

// Verify checks the signature, then that the event has an id, so that only an
// authentic sender is told what is missing.
func (*Provider) Verify(r providers.Request, s providers.Secrets, now time.Time) (string, error) {
	check := verifyStandard
	if r.Header.Get(signatureHeader) != "" {
		check = verifyHex
	}
	by, err := check(r, s, now)
	if err != nil {
		return "", err
	}
	if eventID(r.Header) == "" {
		return "", providers.ErrEventIDMissing
	}
	return by, nil
}

func verifyHex(r providers.Request, s providers.Secrets, _ time.Time) (string, error) {
	signature := strings.TrimPrefix(strings.TrimSpace(r.Header.Get(signatureHeader)), "sha256=")
	return providers.MatchSecret(s, func(secret string) bool {
		return providers.FitsHex(signature, secret, r.Body)
	})
}

// verifyStandard leaves the age to us: the library reads the clock itself, and
// calls stale what it has not yet proved authentic.
func verifyStandard(r providers.Request, s providers.Secrets, now time.Time) (string, error) {
	if r.Header.Get(standardwebhooks.HeaderWebhookSignature) == "" {
		return "", providers.ErrSignatureMissing
	}
	by, err := providers.MatchSecret(s, func(secret string) bool {
		fits := false
		for _, w := range standardKeys(secret) {
			fits = w.VerifyIgnoringTimestamp(r.Body, r.Header) == nil || fits
		}
		return fits
	})
	if err != nil {
		return "", err
	}
	seconds, err := strconv.ParseInt(r.Header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return "", providers.ErrSignatureInvalid
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return "", providers.ErrSignatureTooOld
	}
	return by, nil
}

// minDecodedKey is the least that a decoded secret may be: an empty or tiny key
// would verify what anybody signs.
const minDecodedKey = 16

// standardKeys are the keys that a secret can mean under Standard Webhooks.
func standardKeys(secret string) []*standardwebhooks.Webhook {
	var keys []*standardwebhooks.Webhook
	encoded, prefixed := strings.CutPrefix(secret, encodedPrefix)
	if len(encoded)*3/4 >= minDecodedKey {
		if w, err := standardwebhooks.NewWebhook(encoded); err == nil {
			keys = append(keys, w)
		}
	}
	if !prefixed {
		if w, err := standardwebhooks.NewWebhookRaw([]byte(secret)); err == nil {
			keys = append(keys, w)
		}
	}
	return keys
}

// eventID is the sender's id of the event, which identifies nothing here.
func eventID(h http.Header) string {
	id := strings.TrimSpace(h.Get(eventIDHeader))
	if id == "" && h.Get(signatureHeader) == "" {
		id = strings.TrimSpace(h.Get(standardwebhooks.HeaderWebhookID))
	}
	id = strings.ToValidUTF8(id, "�")
	if len(id) > providers.MaxID {
		id = strings.ToValidUTF8(id[:providers.MaxID], "")
	}
	return id
}

// Sign is the header that a sender would send with the body, in the first of
// the two forms. The id is the body's: what is sent again is the same event.
func (*Provider) Sign(body []byte, secret string, _ time.Time) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(eventIDHeader, "evt_"+providers.Digest(body))
	h.Set(signatureHeader, "sha256="+providers.SumHex(secret, body))
	return h
}

// secrets: who has a meeting's link can join it, and a sender may add fields, of
// which those that are named like secrets go.
var secrets = providers.Redaction{Links: true}

// Redact replaces the secrets inside a body.
func (*Provider) Redact(body []byte) []byte { return secrets.Apply(body) }
