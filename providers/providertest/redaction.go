package providertest

import (
	"bytes"
	"encoding/json"
	"testing"

	"slotkeeper/providers"
)

// CheckRedaction checks what holds of redacting anything: what comes out is
// JSON, redacting it again changes nothing, and what cannot be read is withheld.
func CheckRedaction(t testing.TB, p providers.Provider, body []byte) {
	t.Helper()
	out := p.Redact(body)
	if !json.Valid(out) {
		t.Fatalf("redacted to what is no JSON: %q", out)
	}
	if bytes.Equal(out, []byte(providers.Withheld)) {
		return
	}
	if !readable(p, body) {
		t.Fatal("what cannot be read is shown")
	}
	if again := p.Redact(out); !bytes.Equal(again, out) {
		t.Fatalf("redacting again changes %q to %q", out, again)
	}
}

func readable(p providers.Provider, body []byte) bool {
	if json.Valid(body) {
		return true
	}
	_, f := providers.ScanForm(body)
	return takesForms(p) && f == nil
}
