package calcom_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/providertest"
)

const (
	signatureHeader = "X-Cal-Signature-256"
	fixtureSecret   = "calcom_fixture_secret_1"
	oneOnOne        = "booking_created_1to1.json"
)

// sent is what came with a fixture.
type sent struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// bodies are the fixtures by the list that came with them.
func bodies(t testing.TB) []string {
	t.Helper()
	var index struct {
		Fixtures []struct {
			File string `json:"file"`
		} `json:"fixtures"`
	}
	readJSON(t, "index.json", &index)
	var out []string
	for _, f := range index.Fixtures {
		out = append(out, f.File)
	}
	if len(out) < 30 {
		t.Fatalf("only %d fixtures", len(out))
	}
	return out
}

func TestConformance(t *testing.T) {
	hidden := map[string][]string{
		oneOnOne:                                  {"7c0e6a1e-3f3f-4a57-9a0f-2f6d4f9f0a11", "eyJhbGciOiJIUzI1NiJ9.fixture.token", "https://app.cal.com/video/"},
		"booking_payment_initiated.json":          {"cc000000-0000-4000-8000-000000000009", "https://app.cal.com/payment/pay_fixture"},
		"booking_paid.json":                       {"pi_fixture_123", "eyJhbGciOiJIUzI1NiJ9.fixture.token"},
		"booking_created_after_confirmation.json": {"https://meet.google.com/abc-defg-hij"},
		"instant_meeting.json":                    {"FIXTURETOKEN"},
		"meeting_started.json":                    {"0b7c8f55-5fb1-4f93-8a38-0f8f0b8f5f02"},
		"custom_template_json.json":               {"qdtEQgiBiCnUcVDtqqhxrG"},
		"custom_template_form.txt":                {"sotbT28Keb5YAmXYsNghnx", "Priya"},
	}
	shown := map[string][]string{
		oneOnOne: {"Priya Raman", "2026-11-03T15:00:00Z", "integrations:daily", `"type":"daily_video"`, "sotbT28Keb5YAmXYsNghnx@Cal.com"},
	}
	var cases []providertest.Case
	for _, file := range bodies(t) {
		c := providertest.Case{
			File: file, SignatureHeader: signatureHeader, Now: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
			Hidden: hidden[file], Shown: shown[file],
		}
		if file == "custom_template_form.txt" { // came without a header of its own
			c.Secret = fixtureSecret
			cases = append(cases, c)
			continue
		}
		var s sent
		readJSON(t, filepath.Join("headers", file), &s)
		c.Secret, c.Header = s.Secret, http.Header{}
		for name, value := range s.Headers {
			c.Header.Set(name, value)
		}
		cases = append(cases, c)
	}
	providertest.Run(t, calcom.New(), cases...)
}

func TestNoSecretProvidedIsRefused(t *testing.T) {
	for _, signature := range []string{"no-secret-provided", "", "  ", "00", "zz", strings.Repeat("0", 64), strings.Repeat("0", 4096)} {
		h := http.Header{}
		h.Set(signatureHeader, signature)
		want := providers.ErrSignatureInvalid
		if strings.TrimSpace(signature) == "" {
			want = providers.ErrSignatureMissing
		}
		for _, s := range []providers.Secrets{{}, {Current: "no-secret-provided"}, {Current: "a", Previous: "b"}} {
			if _, err := calcom.New().Verify(providers.Request{Header: h, Body: []byte("{}")}, s, time.Time{}); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", signature, err, want)
			}
		}
	}
}
