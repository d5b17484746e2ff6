package generic_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/generic"
	"slotkeeper/providers/providertest"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func bodies(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("fixtures: %d (%v)", len(files), err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

func fixture(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConformance(t *testing.T) {
	hidden := map[string][]string{"unknown_kind.json": {"tok_invented_1", "1234-invented"}}
	shown := map[string][]string{"unknown_kind.json": {`"colour": "blue"`}, "created_in_a_room.json": {"Jonas Whitfield", "Room 4"}}
	var cases []providertest.Case
	for _, file := range bodies(t) {
		cases = append(cases, providertest.Case{File: file, Secret: "a secret of the tests", Now: now, Hidden: hidden[file], Shown: shown[file]})
	}
	providertest.Run(t, generic.New(), cases...)
}

func TestVerifyHex(t *testing.T) {
	const secret, body = "a secret of the tests", `{"type":"selftest"}`
	sum := providers.SumHex(secret, []byte(body))
	for _, c := range []struct {
		name, id, signature string
		want                error
	}{
		{"bare hex", "evt_1", sum, nil},
		{"prefixed", "evt_1", "sha256=" + sum, nil},
		{"upper case", "evt_1", strings.ToUpper(sum), nil},
		{"no event id", "", sum, providers.ErrEventIDMissing},
		{"blank event id", "  ", sum, providers.ErrEventIDMissing},
		{"forged without an id", "", strings.Repeat("0", 64), providers.ErrSignatureInvalid},
		{"unsigned without an id", "", "", providers.ErrSignatureMissing},
		{"short", "evt_1", sum[:32], providers.ErrSignatureInvalid},
		{"another algorithm", "evt_1", "sha1=" + sum, providers.ErrSignatureInvalid},
	} {
		h := http.Header{}
		h.Set("X-Event-ID", c.id)
		h.Set("X-Signature", c.signature)
		if _, err := generic.New().Verify(providers.Request{Header: h, Body: []byte(body)}, providers.Secrets{Current: secret}, now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// standard signs as the Standard Webhooks library does.
func standard(t *testing.T, w *standardwebhooks.Webhook, body string, at time.Time) http.Header {
	t.Helper()
	signature, err := w.Sign("msg_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set("webhook-id", "msg_1")
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", "v1,AAAA "+signature)
	return h
}

func TestVerifyStandardWebhooks(t *testing.T) {
	const body = `{"type":"selftest"}`
	key := []byte("0123456789abcdef0123456789abcdef")
	encoded := base64.StdEncoding.EncodeToString(key)
	byText, err := standardwebhooks.NewWebhookRaw([]byte("a secret of the tests"))
	if err != nil {
		t.Fatal(err)
	}
	byKey, err := standardwebhooks.NewWebhook("whsec_" + encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		signer *standardwebhooks.Webhook
		secret string
		at     time.Time
		want   error
	}{
		{"prefixed secret", byKey, "whsec_" + encoded, now, nil},
		{"base64 without its prefix", byKey, encoded, now, nil},
		{"text", byText, "a secret of the tests", now, nil},
		{"five minutes old", byKey, "whsec_" + encoded, now.Add(-5 * time.Minute), nil},
		{"older", byKey, "whsec_" + encoded, now.Add(-5*time.Minute - time.Second), providers.ErrSignatureTooOld},
		{"five minutes ahead", byKey, "whsec_" + encoded, now.Add(5*time.Minute + time.Second), providers.ErrSignatureTooOld},
		{"old and forged", byText, "whsec_" + encoded, now.Add(-time.Hour), providers.ErrSignatureInvalid},
		{"another key", byText, "whsec_" + encoded, now, providers.ErrSignatureInvalid},
		{"a prefix and nothing else", byText, "whsec_", now, providers.ErrSignatureInvalid},
		{"no secret", byText, "", now, providers.ErrSignatureInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := providers.Request{Header: standard(t, c.signer, body, c.at), Body: []byte(body)}
			by, err := generic.New().Verify(r, providers.Secrets{Current: c.secret}, now)
			if !errors.Is(err, c.want) || (by == providers.ByCurrent) != (c.want == nil) {
				t.Errorf("verified by %q (%v), want %v", by, err, c.want)
			}
			if c.want != nil || err != nil {
				return
			}
			if by, err := generic.New().Verify(r, providers.Secrets{Current: "the next one", Previous: c.secret}, now); by != providers.ByPrevious || err != nil {
				t.Errorf("rotating: verified by %q (%v)", by, err)
			}
			d := generic.New().Parse(r, providertest.Origin(generic.New()))
			if d.SourceEventID != "msg_1" || d.Kind != booking.KindSelftest || d.Status != booking.StatusIgnored {
				t.Errorf("%+v", d)
			}
		})
	}
	empty, err := standardwebhooks.NewWebhookRaw(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"", "whsec_", "whsec_====", "whsec_AA=="} {
		r := providers.Request{Header: standard(t, empty, body, now), Body: []byte(body)}
		if _, err := generic.New().Verify(r, providers.Secrets{Current: secret}, now); !errors.Is(err, providers.ErrSignatureInvalid) {
			t.Errorf("an empty key verified a post under %q: %v", secret, err)
		}
	}
}
