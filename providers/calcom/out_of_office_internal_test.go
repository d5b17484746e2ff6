package calcom

import (
	"os"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

func TestOutOfOffice(t *testing.T) {
	fixture, err := os.ReadFile("testdata/ooo_created.json")
	if err != nil {
		t.Fatal(err)
	}
	o := providers.Origin{Source: booking.Source{Provider: Name, Base: apiBase}}
	said := func(id string) booking.Clock {
		return booking.Clock{At: time.Date(2026, 10, 15, 6, 0, 0, 0, time.UTC), Key: "OOO_CREATED|" + id + "|2026-10-15T06:00:00.000000Z"}
	}
	maren := booking.Host{ExternalID: "maren.oduya@harbourclinic.example", Email: "maren.oduya@harbourclinic.example", Name: "Maren Oduya"}
	want := booking.Block{
		Source: o.Source, ExternalID: "dd000000-0000-4000-8000-000000000077", Host: maren, At: said("dd000000-0000-4000-8000-000000000077"),
		StartsAt: time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC), EndsAt: time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	for _, c := range []struct {
		name, from, to, code string
		change               func(*booking.Block)
	}{
		{name: "as it comes"},
		{name: "without a uuid", from: `,"uuid":"dd000000-0000-4000-8000-000000000077"`, change: func(b *booking.Block) { b.ExternalID, b.At = "77", said("77") }},
		{name: "for a year", from: "2026-12-31T", to: "2027-12-31T", change: func(b *booking.Block) { b.EndsAt = b.EndsAt.AddDate(1, 0, 0) }},
		{name: "without a name", from: `"name":"Maren Oduya",`, change: func(b *booking.Block) { b.Host.Name = "" }},
		{name: "of no time of its own", from: `"createdAt":"2026-10-15T06:00:00.000Z","payload"`, to: `"payload"`, code: providers.CodeTimeMissing},
		{name: "without a beginning", from: `"start":"2026-12-21T00:00:00.000Z",`, code: providers.CodeTimeMissing},
		{name: "words for a time", from: "2026-12-31T23:59:59.000Z", to: "new year", code: providers.CodeTimeInvalid},
		{name: "backwards", from: "2026-12-31T", to: "2026-12-01T", code: providers.CodeEndBeforeStart},
		{name: "of nobody", from: "maren.oduya@harbourclinic.example", to: "Email-less", code: providers.CodeResourceMissing},
		{name: "without an entry", from: "oooEntry", to: "entry", code: providers.CodeTimeMissing},
		{name: "without a number", from: `"id":77,`},
	} {
		body := strings.Replace(string(fixture), c.from, c.to, 1)
		if body == string(fixture) && c.from != "" {
			t.Fatalf("%s: the fixture has no %q", c.name, c.from)
		}
		root, f := providers.Scan([]byte(body))
		if f != nil {
			t.Fatal(f.Text)
		}
		got, f := outOfOffice(root, o)
		code := ""
		if f != nil {
			code = f.Code
		}
		if code != c.code || (got == nil) != (c.code != "") {
			t.Errorf("%s: %+v, code %q, want %q", c.name, got, code, c.code)
			continue
		}
		expected := want
		if c.change != nil {
			c.change(&expected)
		}
		if got != nil && *got != expected {
			t.Errorf("%s: %+v, want %+v", c.name, *got, expected)
		}
	}
	body := strings.NewReplacer(`"id":77,`, ``, `"uuid":`, `"uid":`).Replace(string(fixture))
	root, _ := providers.Scan([]byte(body))
	if _, f := outOfOffice(root, o); f == nil || f.Code != providers.CodeIDMissing {
		t.Errorf("without any id: %+v", f)
	}
}
