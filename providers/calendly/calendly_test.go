package calendly_test

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
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/providertest"
)

const signatureHeader = "Calendly-Webhook-Signature"

type signatures struct {
	SigningKey string `json:"signing_key"`
	Vectors    []struct {
		File   string `json:"file"`
		T      int64  `json:"t"`
		Header string `json:"header"`
	} `json:"vectors"`
	EdgeCases map[string]any `json:"edge_cases"`
}

func load(t testing.TB) signatures {
	t.Helper()
	b, err := os.ReadFile("testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var s signatures
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// bodies are the fixtures that are webhook bodies.
func bodies(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/[0-9]*.json")
	if err != nil || len(files) < 15 {
		t.Fatalf("fixtures: %d (%v)", len(files), err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

func TestConformance(t *testing.T) {
	s := load(t)
	vectors := map[string]int{}
	for i, v := range s.Vectors {
		vectors[v.File] = i
	}
	hidden := map[string][]string{
		"01_one_on_one_invitee_created.json":             {"https://calendly.com/cancellations/", "https://calendly.com/reschedulings/"},
		"02_one_on_one_invitee_canceled_by_invitee.json": {"/google_meet"},
		"08_collective_two_hosts_invitee_created.json":   {"https://zoom.example/j/90000000001", `"password": "demo"`, "ch_demo000000000000000001"},
	}
	shown := map[string][]string{
		"01_one_on_one_invitee_created.json":           {"Jonas Whitfield", "https://api.calendly.com/scheduled_events/", "2026-12-08T14:00:00.000000Z"},
		"08_collective_two_hosts_invitee_created.json": {"zoom_conference", `"amount": 45.5`, `"provider": "stripe"`},
	}
	var cases []providertest.Case
	for _, file := range bodies(t) {
		c := providertest.Case{
			File: file, Secret: s.SigningKey, Now: time.Unix(1796116523, 0).UTC(),
			Hidden: hidden[file], Shown: shown[file],
		}
		if i, ok := vectors[file]; ok {
			c.Now = time.Unix(s.Vectors[i].T, 0).UTC()
			c.Header = http.Header{signatureHeader: {s.Vectors[i].Header}, "Content-Type": {"application/json"}}
			c.SignatureHeader = signatureHeader
		}
		cases = append(cases, c)
	}
	providertest.Run(t, calendly.New(0), cases...)
}

func TestVerifyEdgeCases(t *testing.T) {
	s := load(t)
	body, _ := s.EdgeCases["body"].(string)
	for name, v := range s.EdgeCases {
		header, ok := v.(string)
		if !ok || name == "body" {
			continue
		}
		var want error
		if strings.HasPrefix(name, "invalid") {
			want = providers.ErrSignatureInvalid
		}
		by, err := verify(header, body, s.SigningKey, time.Unix(1700000000, 0))
		if !errors.Is(err, want) || (by == providers.ByCurrent) != (want == nil) {
			t.Errorf("%s: verified by %q (%v), want %v", name, by, err, want)
		}
	}
}

func verify(header, body, secret string, now time.Time) (string, error) {
	return calendly.New(0).Verify(
		providers.Request{Header: http.Header{signatureHeader: {header}}, Body: []byte(body)},
		providers.Secrets{Current: secret}, now)
}

func TestVerifyAge(t *testing.T) {
	const secret, body = "a signing key", `{}`
	sent := time.Unix(1700000000, 0)
	for _, c := range []struct {
		name      string
		tolerance time.Duration
		now       time.Time
		want      error
	}{
		{"at once", 0, sent, nil},
		{"the last retry", 0, sent.Add(25 * time.Hour), nil},
		{"later than any retry", 0, sent.Add(25*time.Hour + time.Second), providers.ErrSignatureTooOld},
		{"their clock is ahead", 0, sent.Add(-5 * time.Minute), nil},
		{"their clock is too far ahead", 0, sent.Add(-5*time.Minute - time.Second), providers.ErrSignatureTooOld},
		{"a setting", 3 * time.Minute, sent.Add(3*time.Minute + time.Second), providers.ErrSignatureTooOld},
		{"a setting kept", 3 * time.Minute, sent.Add(3 * time.Minute), nil},
	} {
		p := calendly.New(c.tolerance)
		r := providers.Request{Header: p.Sign([]byte(body), secret, sent), Body: []byte(body)}
		if _, err := p.Verify(r, providers.Secrets{Current: secret}, c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if _, err := p.Verify(r, providers.Secrets{Current: "another"}, c.now); !errors.Is(err, providers.ErrSignatureInvalid) {
			t.Errorf("%s, forged: %v, want %v", c.name, err, providers.ErrSignatureInvalid)
		}
	}
}

func TestVerifySeveralSignatures(t *testing.T) {
	const secret, body = "a signing key", `{}`
	now := time.Unix(1700000000, 0)
	right := calendly.New(0).Sign([]byte(body), secret, now).Get(signatureHeader)
	for _, c := range []struct {
		name, header string
		want         error
	}{
		{"one of two", "v1=00ff," + right + ",v0=x", nil},
		{"the first of two", right + ",v1=00ff", nil},
		{"two times", "t=1," + right, providers.ErrSignatureInvalid},
		{"not a number", "t=now,v1=00ff", providers.ErrSignatureInvalid},
		{"nonsense", "=,==,;", providers.ErrSignatureInvalid},
		{"nothing", " ", providers.ErrSignatureMissing},
	} {
		if _, err := verify(c.header, body, secret, now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
