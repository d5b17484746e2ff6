package calendly

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	// Name of the provider in URLs and in the database.
	Name = "calendly"
	// DefaultTolerance is how old a signature may be: Calendly repeats a
	// delivery for 24 hours and may not sign it anew.
	DefaultTolerance = 25 * time.Hour
	// aheadTolerance is how far Calendly's clock may be ahead of ours.
	aheadTolerance = 5 * time.Minute

	apiBase         = "https://api.calendly.com"
	signatureHeader = "Calendly-Webhook-Signature"
)

// Provider is the adapter.
type Provider struct {
	tolerance time.Duration
}

var (
	_ providers.Fetcher    = (*Provider)(nil)
	_ providers.Authorizer = (*Provider)(nil)
)

// New makes the adapter. A tolerance that is not positive means DefaultTolerance.
func New(tolerance time.Duration) *Provider {
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	return &Provider{tolerance: tolerance}
}

// Name is the provider's in URLs and in the database.
func (*Provider) Name() string { return Name }

// APIBase is where Calendly's API lives.
func (*Provider) APIBase() string { return apiBase }

// Verify checks the signature first and its age then, so that ErrSignatureTooOld
// is said only of what is authentic: a clock that is wrong, or a replay.
func (p *Provider) Verify(r providers.Request, s providers.Secrets, now time.Time) (string, error) {
	header := strings.TrimSpace(r.Header.Get(signatureHeader))
	if header == "" {
		return "", providers.ErrSignatureMissing
	}
	stamp, signatures := splitSignature(header)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || len(signatures) == 0 {
		return "", providers.ErrSignatureInvalid
	}
	by, err := providers.MatchSecret(s, func(secret string) bool {
		fits := false
		for _, v1 := range signatures {
			fits = providers.FitsHex(v1, secret, []byte(stamp), []byte("."), r.Body) || fits
		}
		return fits
	})
	if err != nil {
		return "", err
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > p.tolerance || age < -aheadTolerance {
		return "", providers.ErrSignatureTooOld
	}
	return by, nil
}

// maxSignatures bounds how many v1 one header may offer: each costs an HMAC.
const maxSignatures = 4

// splitSignature takes the header apart. Order, spaces and unknown names do not
// matter; several v1 are alternatives. A second t makes the header useless.
func splitSignature(header string) (stamp string, signatures []string) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if stamp != "" {
				return "", nil
			}
			stamp = value
		case "v1":
			if len(signatures) < maxSignatures {
				signatures = append(signatures, value)
			}
		}
	}
	return stamp, signatures
}

// Sign is the header that Calendly would send with the body now.
func (*Provider) Sign(body []byte, secret string, now time.Time) http.Header {
	stamp := strconv.FormatInt(now.Unix(), 10)
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(signatureHeader, "t="+stamp+",v1="+providers.SumHex(secret, []byte(stamp), []byte("."), body))
	return h
}

// secrets: whoever has a cancel or reschedule URL can use it, and conference
// data hold the meeting's password. Links of the API's own host name things.
var secrets = providers.Redaction{
	Names:    []string{"cancel_url", "reschedule_url", "join_url", "location.data", "payment.external_id"},
	Links:    true,
	Harmless: []string{"https://api.calendly.com/", "https://calendly.com/scheduled_events/"},
}

// Redact replaces the secrets inside a body.
func (*Provider) Redact(body []byte) []byte { return secrets.Apply(body) }

// Selftest is a body that Parse ignores, under the kind selftest, to be signed and
// posted as Calendly would. id tells it from others.
func (*Provider) Selftest(id string) []byte {
	var payload, out providers.Object
	payload.AddText("id", id)
	out.AddText("event", string(booking.KindSelftest))
	out.Add("payload", payload.JSON())
	return out.JSON()
}
