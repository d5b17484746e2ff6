package acuity_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/providertest"
)

const signatureHeader = "X-Acuity-Signature"

var noon = time.Date(2026, 9, 15, 12, 0, 0, 0, time.UTC)

func adapter() *acuity.Provider {
	return acuity.New(func() time.Time { return noon }, 1)
}

type manifest struct {
	APIKey    string `json:"api_key"`
	SecondKey string `json:"second_api_key"`
	Cases     []struct {
		Name            string `json:"name"`
		File            string `json:"file"`
		Body            string `json:"body"`
		Signature       string `json:"signature"`
		SecondSignature string `json:"signature_second_key"`
	} `json:"cases"`
	Negative []struct {
		Name      string  `json:"name"`
		Body      string  `json:"body"`
		Signature *string `json:"signature"`
	} `json:"negative_cases"`
}

func load(t testing.TB) manifest {
	t.Helper()
	var m manifest
	if err := json.Unmarshal([]byte(file(t, "webhooks/manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Cases) != 7 || len(m.Negative) != 13 {
		t.Fatalf("%d cases, %d negative", len(m.Cases), len(m.Negative))
	}
	return m
}

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConformance(t *testing.T) {
	m := load(t)
	var cases []providertest.Case
	for _, c := range m.Cases {
		cases = append(cases, providertest.Case{
			File: c.File, Secret: m.APIKey, Now: noon,
			Header: http.Header{
				signatureHeader: {c.Signature},
				"Content-Type":  {"application/x-www-form-urlencoded"},
			},
			SignatureHeader: signatureHeader,
			Shown:           nil,
		})
	}
	providertest.Run(t, adapter(), cases...)
}

// The vectors are verified with the key that they were made with, beside another
// or alone, and with no other.
func TestVerify(t *testing.T) {
	m := load(t)
	verify := func(body, signature string, s providers.Secrets) (string, error) {
		header := http.Header{}
		header.Set(signatureHeader, signature)
		return adapter().Verify(providers.Request{Header: header, Body: []byte(body)}, s, noon)
	}
	for _, c := range m.Cases {
		for _, v := range []struct {
			name, signature string
			secrets         providers.Secrets
			by              string
		}{
			{"the main administrator's key", c.Signature, providers.Secrets{Current: m.APIKey}, providers.ByCurrent},
			{"either of two, the first", c.Signature, providers.Secrets{Current: m.APIKey, Previous: m.SecondKey}, providers.ByCurrent},
			{"either of two, the second", c.SecondSignature, providers.Secrets{Current: m.APIKey, Previous: m.SecondKey}, providers.ByPrevious},
			{"another user's key", c.SecondSignature, providers.Secrets{Current: m.APIKey}, ""},
		} {
			by, err := verify(c.Body, v.signature, v.secrets)
			if by != v.by || (err == nil) != (v.by != "") {
				t.Errorf("%s: %s: verified by %q (%v), want %q", c.Name, v.name, by, err, v.by)
			}
		}
	}
	for _, c := range m.Negative {
		signature, want := "", providers.ErrSignatureMissing
		if c.Signature != nil {
			signature, want = *c.Signature, providers.ErrSignatureInvalid
		}
		if by, err := verify(c.Body, signature, providers.Secrets{Current: m.APIKey}); by != "" || !errors.Is(err, want) {
			t.Errorf("%s: verified by %q (%v), want %v", c.Name, by, err, want)
		}
	}
	// Other spellings of the right bytes are no signatures.
	good := m.Cases[0]
	for _, signature := range []string{
		good.Signature + "=", good.Signature + good.Signature, "=" + good.Signature[1:], good.Signature[:22] + "\r\n" + good.Signature[22:],
		strings.Replace(good.Signature, "E4=", "E5=", 1), // trailing bits
		good.Signature[:43], strings.ToLower(good.Signature), "sha256=" + good.Signature,
	} {
		if by, err := verify(good.Body, signature, providers.Secrets{Current: m.APIKey}); err == nil {
			t.Errorf("%q was verified by %q", signature, by)
		}
	}
}

func parse(body string) booking.Delivery {
	p := adapter()
	return p.Parse(providers.Request{Body: []byte(body)}, providertest.Origin(p))
}

func TestActions(t *testing.T) {
	for _, c := range []struct {
		action string
		kind   booking.Kind
		key    string
	}{
		{"scheduled", booking.KindCreated, "acuity|7|scheduled"},
		{"appointment.scheduled", booking.KindCreated, "acuity|7|scheduled"},
		{"rescheduled", booking.KindMoved, "acuity|7|rescheduled"},
		{"appointment.rescheduled", booking.KindMoved, "acuity|7|rescheduled"},
		{"canceled", booking.KindCanceled, "acuity|7|canceled"},
		{"appointment.canceled", booking.KindCanceled, "acuity|7|canceled"},
		{"changed", booking.KindDetails, "acuity|7|changed"},
		{"appointment.changed", booking.KindDetails, "acuity|7|changed"},
		{"+Appointment.Changed+", booking.KindDetails, "acuity|7|changed"},
		{"%09SCHEDULED%0a", booking.KindCreated, "acuity|7|scheduled"},
	} {
		d := parse("action=" + c.action + "&id=7&calendarID=1&appointmentTypeID=2")
		providertest.CheckDelivery(t, d)
		if d.Status != booking.StatusPending || !d.Poke || d.Kind != c.kind || d.EventKey != c.key || d.Subject != "7" {
			t.Errorf("%s: %+v", c.action, d)
		}
	}
	for action, kind := range map[string]booking.Kind{
		"order.completed":                   "order.completed",
		"appointment.order.completed":       "appointment.order.completed",
		"appointment.appointment.scheduled": "appointment.appointment.scheduled",
		"appointment.":                      "appointment.",
		"no-show":                           "no-show",
		"priya%40mail.example":              "priya_mail.example",
	} {
		d := parse("action=" + action + "&id=7")
		providertest.CheckDelivery(t, d)
		if d.Status != booking.StatusIgnored || d.Kind != kind {
			t.Errorf("%s: %+v", action, d)
		}
	}
}

func TestBadForms(t *testing.T) {
	for _, c := range []struct{ name, body, code string }{
		{"no action", "id=7", providers.CodeKindMissing},
		{"a blank action", "action=+&id=7", providers.CodeKindMissing},
		{"no id", "action=scheduled", providers.CodeIDMissing},
		{"a blank id", "action=scheduled&id=%20", providers.CodeIDMissing},
		{"a word", "action=scheduled&id=seven", providers.CodeIDInvalid},
		{"zero", "action=scheduled&id=0", providers.CodeIDInvalid},
		{"below zero", "action=scheduled&id=-7", providers.CodeIDInvalid},
		{"a sign", "action=scheduled&id=%2B7", providers.CodeIDInvalid},
		{"a fraction", "action=scheduled&id=7.0", providers.CodeIDInvalid},
		{"hexadecimal", "action=scheduled&id=0x7", providers.CodeIDInvalid},
		{"underscores", "action=scheduled&id=1_000", providers.CodeIDInvalid},
		{"beyond 64 bits", "action=scheduled&id=9223372036854775808", providers.CodeIDInvalid},
		{"a path", "action=scheduled&id=7/../../me", providers.CodeIDInvalid},
		{"two", "action=scheduled&id=7%2C8", providers.CodeIDInvalid},
	} {
		d := parse(c.body)
		providertest.CheckDelivery(t, d)
		if d.Status != booking.StatusFailed || d.Code != c.code {
			t.Errorf("%s: status %q, code %q (%s), want %q", c.name, d.Status, d.Code, d.Error, c.code)
		}
	}
	if d := parse("action=scheduled&id=9223372036854775807"); d.Subject != "9223372036854775807" {
		t.Errorf("the largest id: %+v", d)
	}
	if d := parse("action=scheduled&id=007"); d.Subject != "7" || d.EventKey != "acuity|7|scheduled" {
		t.Errorf("an id has one spelling: %+v", d)
	}
}

func TestRedact(t *testing.T) {
	p := adapter()
	if got, want := string(p.Redact([]byte(load(t).Cases[0].Body))), `{"action":"scheduled","id":"1841200301","calendarID":"9120041","appointmentTypeID":"71500012"}`; got != want {
		t.Errorf("a form is shown as %s, want %s", got, want)
	}
	if got := string(p.Redact([]byte("action=scheduled&api_key=abc&x=https://example.com/?secret"))); strings.Contains(got, "abc") || strings.Contains(got, "secret\"") || strings.Contains(got, "example.com") {
		t.Errorf("secrets of a form are shown: %s", got)
	}
	whole := file(t, "appointments/one_to_one.json")
	got := string(p.Redact([]byte(whole)))
	for _, secret := range []string{"be4789d4c142b7c7cbee8b007f9ac903", "Return to running"} {
		if !strings.Contains(whole, secret) || strings.Contains(got, secret) {
			t.Errorf("%q of an appointment is shown", secret)
		}
	}
	if !strings.Contains(got, "Mirela") || !strings.Contains(got, "2026-09-17T10:00:00-0400") {
		t.Errorf("too much is hidden: %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range load(f).Cases {
		f.Add([]byte(c.Body))
	}
	p := adapter()
	o := providertest.Origin(p)
	f.Fuzz(func(t *testing.T, body []byte) {
		providertest.CheckDelivery(t, p.Parse(providers.Request{Body: body}, o))
	})
}

func FuzzRedact(f *testing.F) {
	for _, c := range load(f).Cases {
		f.Add([]byte(c.Body))
	}
	f.Add([]byte(file(f, "appointments/canceled.json")))
	p := adapter()
	f.Fuzz(func(t *testing.T, body []byte) { providertest.CheckRedaction(t, p, body) })
}

func BenchmarkParse(b *testing.B) {
	body := []byte(load(b).Cases[0].Body)
	p := adapter()
	o := providertest.Origin(p)
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(providers.Request{Body: body}, o)
	}
}
