package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"slotkeeper/providers"
)

// What a token endpoint says decides who is sent to mend it: whoever connected the
// account, whoever runs the server, or nobody yet. Its words come to pages and logs, so
// that they are one short line without a secret in it.
func TestGrantError(t *testing.T) {
	t.Parallel()
	const secret, refresh = "planted-app-secret", "planted+refresh/token"
	long := strings.Repeat("very long ", 100)
	for name, tt := range map[string]struct {
		status int
		header http.Header
		body   string
		cause  Cause
		signIn bool
		says   string
		after  time.Duration
	}{
		"a spent grant":          {status: 400, body: `{"error":"invalid_grant","error_description":"The grant was used."}`, cause: CauseCredentials, signIn: true, says: "invalid_grant: The grant was used."},
		"without a description":  {status: 400, body: `{"error":"invalid_grant"}`, cause: CauseCredentials, signIn: true, says: "invalid_grant"},
		"as a form":              {status: 400, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, body: "error=invalid_grant&error_description=used", cause: CauseCredentials, signIn: true, says: "invalid_grant: used"},
		"our secret":             {status: 401, body: `{"error":"invalid_client","error_description":"no such app"}`, cause: CauseApp, says: "invalid_client: no such app"},
		"our secret, as 400":     {status: 400, body: `{"error":"invalid_client"}`, cause: CauseApp, says: "invalid_client"},
		"an app that may not":    {status: 400, body: `{"error":"unauthorized_client"}`, cause: CauseApp, says: "unauthorized_client"},
		"401 without a word":     {status: 401, body: `no`, cause: CauseApp},
		"too many":               {status: 429, header: http.Header{"Retry-After": {"90"}}, body: `{"error":"slow_down"}`, cause: CauseLimited, says: "slow_down", after: 90 * time.Second},
		"too many, without when": {status: 429, body: `{}`, cause: CauseLimited, after: providers.FirstBackoff},
		"trouble":                {status: 503, body: `<html>`, cause: CauseProvider},
		"something else":         {status: 400, body: `{"error":"invalid_request","error_description":"bad"}`, cause: CauseUnknown, says: "invalid_request: bad"},
		"our secrets in it":      {status: 400, body: `{"error":"invalid_request","error_description":"` + secret + ` and ` + refresh + ` and planted%2Brefresh%2Ftoken"}`, cause: CauseUnknown, says: "[redacted] and [redacted] and [redacted]"},
		"lines and escapes":      {status: 400, body: `{"error":"invalid_grant","error_description":"one\ntwo\u001b[31m"}`, cause: CauseCredentials, signIn: true, says: "one two [31m"},
		"a long one":             {status: 400, body: `{"error":"invalid_grant","error_description":"` + long + `"}`, cause: CauseCredentials, signIn: true, says: "very long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for name, values := range tt.header {
					w.Header()[name] = values
				}
				w.WriteHeader(tt.status)
				_, _ = fmt.Fprint(w, tt.body)
			}))
			t.Cleanup(endpoint.Close)
			config := oauth2.Config{ClientID: "app", ClientSecret: secret, Endpoint: oauth2.Endpoint{TokenURL: endpoint.URL, AuthStyle: oauth2.AuthStyleInHeader}}
			_, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: refresh}).Token()
			err = grantError(err, secret, refresh)
			if CauseOf(err) != tt.cause || providers.NeedsSignIn(err) != tt.signIn {
				t.Errorf("%v has the cause %s, needs a sign-in %t", err, CauseOf(err), providers.NeedsSignIn(err))
			}
			var later *providers.LaterError
			if errors.As(err, &later) != (tt.after > 0) || later != nil && later.After != tt.after {
				t.Errorf("asked to wait: %+v", later)
			}
			text := err.Error()
			if said := Said(err); !strings.Contains(said, tt.says) || tt.says == "" && said != "" || len(text) > 400 {
				t.Errorf("it says %q, want %q", said, tt.says)
			}
			if strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, secret) || strings.Contains(text, refresh) {
				t.Errorf("%q", text)
			}
			if cause, said := CauseIn(text); tt.after == 0 && (cause != tt.cause || said != Said(err)) {
				t.Errorf("kept as a text it has the cause %s and says %q", cause, said)
			}
		})
	}
}
