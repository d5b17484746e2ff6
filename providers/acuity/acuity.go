package acuity

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"slotkeeper/providers"
)

const (
	// Name of the provider in URLs and in the database.
	Name = "acuity"

	apiBase         = site + apiPath
	signatureHeader = "X-Acuity-Signature"
	formType        = "application/x-www-form-urlencoded"
)

// Provider is the adapter. It remembers nothing of a connection but, for a while,
// the names and e-mails of its calendars.
type Provider struct {
	calendars *calendars
}

var (
	_ providers.Fetcher    = (*Provider)(nil)
	_ providers.Blocker    = (*Provider)(nil)
	_ providers.Authorizer = (*Provider)(nil)
	_ providers.FormKeeper = (*Provider)(nil)
)

// New makes the adapter. The clock and its tempo say when what it knows of
// calendars is old.
func New(now func() time.Time, tempo providers.Tempo) *Provider {
	return &Provider{calendars: newCalendars(now, tempo)}
}

// Name is the provider's in URLs and in the database.
func (*Provider) Name() string { return Name }

// APIBase is where Acuity's API lives.
func (*Provider) APIBase() string { return apiBase }

// Verify checks the signature over the raw form. Nothing in it grows old: what a
// copy can do is make us look again.
func (*Provider) Verify(r providers.Request, s providers.Secrets, _ time.Time) (string, error) {
	signature := strings.TrimSpace(r.Header.Get(signatureHeader))
	if signature == "" {
		return "", providers.ErrSignatureMissing
	}
	return providers.MatchSecret(s, func(key string) bool {
		return providers.FitsBase64(signature, key, r.Body)
	})
}

// Sign is the header that Acuity would send with the body.
func (*Provider) Sign(body []byte, secret string, _ time.Time) http.Header {
	h := http.Header{}
	h.Set("Content-Type", formType)
	h.Set(signatureHeader, providers.SumBase64(secret, body))
	return h
}

// secrets: who has the confirmation page can cancel the appointment, and forms
// hold what clients tell their therapist.
var secrets = providers.Redaction{
	Names: []string{
		"confirmationPage", "confirmationPagePaymentLink", "forms", "formsText", "notes", "certificate",
	},
	Links: true,
}

// Redact replaces the secrets inside a form or a fetched answer. What comes out is
// JSON, of a form an object of its fields.
func (*Provider) Redact(body []byte) []byte {
	if b := bytes.TrimSpace(body); len(b) == 0 || b[0] == '{' || b[0] == '[' || b[0] == '"' {
		return secrets.Apply(body)
	}
	form, f := providers.ScanForm(body)
	if f != nil {
		return []byte(providers.Withheld)
	}
	return secrets.Apply(form.JSON())
}

// SignsWithAPIKey says that the secret is the account's API key (facts, 2).
func (*Provider) SignsWithAPIKey() {}
