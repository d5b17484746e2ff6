package generic_test

import (
	"net/http"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/generic"
	"slotkeeper/providers/providertest"
)

func parse(body string) booking.Delivery { return parseAs(body, "evt_1") }

func parseAs(body, id string) booking.Delivery {
	p := generic.New()
	h := http.Header{}
	h.Set("X-Event-ID", id)
	h.Set("X-Signature", "00")
	return p.Parse(providers.Request{Header: h, Body: []byte(body)}, providertest.Origin(p))
}

// change replaces one thing in a body and fails when it is not there.
func change(t testing.TB, body, from, to string) string {
	t.Helper()
	if !strings.Contains(body, from) {
		t.Fatalf("the fixture has no %q", from)
	}
	return strings.ReplaceAll(body, from, to)
}

func TestBadInput(t *testing.T) {
	body := fixture(t, "created_in_a_room.json")
	for _, c := range []struct{ name, from, to, code string }{
		{"no time of change", `"occurred_at"`, `"occurred"`, providers.CodeTimeMissing},
		{"no start", `"starts_at"`, `"start"`, providers.CodeTimeMissing},
		{"a time without offset", `15:30:00+01:00`, `15:30:00`, providers.CodeTimeInvalid},
		{"end before start", `15:30:00+01:00`, `15:30:00+02:00`, providers.CodeEndBeforeStart},
		{"a year", `2026-12-08T15:30`, `2027-12-08T15:30`, providers.CodeTooLong},
		{"no such zone", `Europe/Berlin`, `Mars/Olympus`, providers.CodeZoneUnknown},
		{"no id", `"id": "bk-1001",`, ``, providers.CodeIDMissing},
		{"a list for an id", `"bk-1001"`, `["bk-1001"]`, providers.CodeIDMissing},
		{"a long id", `bk-1001`, strings.Repeat("b", 256), providers.CodeFieldTooLong},
		{"a line break in an id", `bk-1001`, `bk\n1001`, providers.CodeIDInvalid},
		{"no resource", `"Room 4"`, `" "`, providers.CodeResourceMissing},
		{"no room", `"capacity": 10`, `"capacity": 0`, providers.CodeCapacityInvalid},
		{"half a seat", `"capacity": 10`, `"capacity": 1.5`, providers.CodeCapacityInvalid},
		{"words for a number", `"capacity": 10`, `"capacity": "ten"`, providers.CodeCapacityInvalid},
		{"a crowd", `"capacity": 10`, `"capacity": 1e300`, providers.CodeNumberTooLarge},
		{"no booking", `"booking"`, `"bookings"`, providers.CodePayloadMissing},
		{"no type", `"type"`, `"kind"`, providers.CodeKindMissing},
		{"twice", `"title"`, `"id": "x", "title"`, providers.CodeDuplicateKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(change(t, body, c.from, c.to))
			providertest.CheckDelivery(t, d)
			if d.Code != c.code {
				t.Errorf("code %q (%s), want %q", d.Code, d.Error, c.code)
			}
			if strings.Contains(strings.ToLower(d.Error), "jonas") || strings.Contains(d.Error, "Mars") {
				t.Errorf("the text quotes the body: %s", d.Error)
			}
			if d.SourceEventID != "evt_1" {
				t.Errorf("the sender's id is %q", d.SourceEventID)
			}
		})
	}
}

// The id is outside the signature: whoever holds one signed post could send it
// again under any number of ids.
func TestTheEventIDMakesNoEvent(t *testing.T) {
	body := fixture(t, "created_in_a_room.json")
	a, b := parseAs(body, "evt_1"), parseAs(body, "evt_2")
	if a.EventKey != b.EventKey || b.SourceEventID != "evt_2" {
		t.Errorf("%q and %q", a.EventKey, b.EventKey)
	}
	if c := parse(change(t, body, "Site visit", "Second visit")); c.EventKey == a.EventKey {
		t.Errorf("another body has the same key %q", c.EventKey)
	}
}

func TestLongEventIDIsCut(t *testing.T) {
	if d := parseAs(`{"type":"selftest"}`, strings.Repeat("é", 500)); len(d.SourceEventID) > providers.MaxID {
		t.Errorf("%d bytes", len(d.SourceEventID))
	}
}

func TestAnEMailForAnIDIsNotInTheKey(t *testing.T) {
	d := parse(change(t, fixture(t, "created_in_a_room.json"), "bk-1001", "jonas.whitfield@brightfen.example|2026"))
	providertest.CheckDelivery(t, d)
	if d.Event == nil || strings.Contains(d.EventKey, "jonas") {
		t.Errorf("%+v", d)
	}
}

func TestWhatAKindNeeds(t *testing.T) {
	const bare = `{"type":"%","occurred_at":"2026-12-04T10:00:00Z","booking":{"id":"bk-1","starts_at":"2026-12-11T14:00:00Z","ends_at":"2026-12-11T14:30:00Z"}}`
	for kind, code := range map[string]string{
		"booking.requested": providers.CodeResourceMissing, "invitee.created": providers.CodeResourceMissing,
		"booking.moved": "", "invitee.canceled": "",
	} {
		if d := parse(strings.Replace(bare, "%", kind, 1)); d.Code != code {
			t.Errorf("%s: code %q, want %q", kind, d.Code, code)
		}
	}
}

func TestResource(t *testing.T) {
	body := fixture(t, "created_in_a_room.json")
	for resource, want := range map[string]booking.Host{
		`"Room 4"`:                   {ExternalID: "Room 4", Name: "Room 4", Named: true},
		`"Desk @ the lobby"`:         {ExternalID: "Desk @ the lobby", Name: "Desk @ the lobby", Named: true},
		`4`:                          {ExternalID: "4", Name: "4", Named: true},
		`" Mara@Northpier.example "`: {ExternalID: "mara@northpier.example", Email: "mara@northpier.example"},
	} {
		d := parse(change(t, body, `"Room 4"`, resource))
		if d.Event == nil || len(d.Event.Session.Hosts) != 1 || d.Event.Session.Hosts[0] != want {
			t.Errorf("%s: %+v, want %+v", resource, d, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := generic.New()
	o := providertest.Origin(p)
	f.Fuzz(func(t *testing.T, body []byte) {
		providertest.CheckDelivery(t, p.Parse(providers.Request{Body: body}, o))
	})
}

func FuzzRedact(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := generic.New()
	f.Fuzz(func(t *testing.T, body []byte) { providertest.CheckRedaction(t, p, body) })
}

// TestJoinLinkIsNotKept: who has a meeting's link can join it.
func TestJoinLinkIsNotKept(t *testing.T) {
	const link = "https://us02web.zoom.us/j/981?pwd=invented"
	body := change(t, fixture(t, "created_in_a_room.json"), "Pier House, 12 Dock Lane", link)
	if d := parse(body); d.Event == nil || d.Event.Location == nil || *d.Event.Location != "Zoom" {
		t.Errorf("the location of %+v is kept", d)
	}
	if shown := string(generic.New().Redact([]byte(body))); strings.Contains(shown, "invented") {
		t.Errorf("the link is shown: %s", shown)
	}
}
