package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestAcuitySignatures posts the signed bodies that Acuity's adapter is tested
// with, and those that only look like them: the first are taken, of the others
// nothing is left.
func TestAcuitySignatures(t *testing.T) {
	t.Parallel()
	long(t)
	var m struct {
		Key   string `json:"api_key"`
		Cases []struct{ Name, Body, Signature string }
		Not   []struct {
			Name, Body string
			Signature  *string
		} `json:"negative_cases"`
	}
	manifest, err := os.ReadFile(filepath.Join("..", "..", "providers", "acuity", "testdata", "webhooks", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(manifest), &m)
	if len(m.Cases) != 7 || len(m.Not) != 13 {
		t.Fatalf("%d cases, %d others", len(m.Cases), len(m.Not))
	}
	onBoth(t, func(t *testing.T, s *server) {
		// Nobody answers there: what is taken stays pending.
		a := s.connect(t, "acuity", "--api-url", "https://acuity.invalid/api/v1", "--api-user", acuityUser, "--api-key", m.Key)
		post := func(body string, signature *string) answer {
			header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			if signature != nil {
				header.Set("X-Acuity-Signature", *signature)
			}
			return ask(t, http.MethodPost, a.webhook(), []byte(body), header)
		}
		for _, c := range m.Not {
			code := "signature_invalid"
			if c.Signature == nil {
				code = "signature_missing"
			}
			refusedWith(t, post(c.Body, c.Signature), http.StatusUnauthorized, code)
		}
		token := s.token(t, "read")
		if left := api[json.RawMessage](t, s, token, "receipts"); len(left) > 0 {
			t.Errorf("what was refused left %s", left)
		}
		taken := map[string]int{}
		for _, c := range m.Cases {
			got := post(c.Body, &c.Signature)
			if taken[got.text("status")]++; got.status/100 != 2 {
				t.Errorf("%s is answered %d %s", c.Name, got.status, got.body)
			}
		}
		// Two tell of one appointment, and one of an order.
		if taken["ignored"] != 1 || taken["pending"]+taken["duplicate"] != 6 {
			t.Errorf("answered %v", taken)
		}
		t.Logf("%d refused, %d taken: %v", len(m.Not), len(m.Cases), taken)
	})
}
