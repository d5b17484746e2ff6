package calendly_test

import (
	"os"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/providertest"
)

func parse(body string) booking.Delivery {
	p := calendly.New(0)
	return p.Parse(providers.Request{Body: []byte(body)}, providertest.Origin(p))
}

func fixture(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// change replaces one thing in a body and fails when it is not there.
func change(t testing.TB, body, from, to string) string {
	t.Helper()
	if !strings.Contains(body, from) {
		t.Fatalf("the fixture has no %q", from)
	}
	return strings.ReplaceAll(body, from, to)
}

const oneOnOne = "01_one_on_one_invitee_created.json"

func TestBadInput(t *testing.T) {
	body := fixture(t, oneOnOne)
	for _, c := range []struct{ name, from, to, code string }{
		{"no start", `"start_time": "2026-12-08T14:00:00.000000Z",`, ``, providers.CodeTimeMissing},
		{"empty end", `"end_time": "2026-12-08T14:30:00.000000Z"`, `"end_time": ""`, providers.CodeTimeMissing},
		{"no time of change", `"updated_at": "2026-12-01T09:15:22.131902Z",`, ``, providers.CodeTimeMissing},
		{"a date alone", `"2026-12-08T14:00:00.000000Z"`, `"2026-12-08"`, providers.CodeTimeInvalid},
		{"a number for a time", `"2026-12-08T14:00:00.000000Z"`, `1796738400`, providers.CodeTimeInvalid},
		{"a time without offset", `"2026-12-08T14:00:00.000000Z"`, `"2026-12-08T14:00:00"`, providers.CodeTimeInvalid},
		{"the year 0", `"2026-12-08T14:00:00.000000Z"`, `"0000-12-08T14:00:00Z"`, providers.CodeTimeInvalid},
		{"end before start", `2026-12-08T14:30`, `2026-12-08T13:30`, providers.CodeEndBeforeStart},
		{"end at start", `2026-12-08T14:30`, `2026-12-08T14:00`, providers.CodeEndBeforeStart},
		{"32 days", `2026-12-08T14:30`, `2027-01-09T14:30`, providers.CodeTooLong},
		{"no such zone", `Europe/Berlin`, `Europe/Atlantis`, providers.CodeZoneUnknown},
		{"the server's zone", `Europe/Berlin`, `Local`, providers.CodeZoneUnknown},
		{"a file for a zone", `Europe/Berlin`, `../../../etc/passwd`, providers.CodeZoneUnknown},
		{"no uri", `"uri": "https://api.calendly.com/scheduled_events/a1c0de01-0000-4000-8000-000000000001/invitees/b1c0de01-0000-4000-8000-000000000001"`, `"uri": null`, providers.CodeIDMissing},
		{"a uri that is none", `/invitees/b1c0de01-0000-4000-8000-000000000001"`, `%zz"`, providers.CodeIDInvalid},
		{"a long uri", `/invitees/`, `/invitees/` + strings.Repeat("a", 300), providers.CodeFieldTooLong},
		{"a long e-mail", `jonas.whitfield@`, strings.Repeat("a", 400) + "@", providers.CodeFieldTooLong},
		{"too many seats", `"limit": 1`, `"limit": 1e12`, providers.CodeNumberTooLarge},
		{"no payload", `"payload": {`, `"payload": null, "x": {`, providers.CodePayloadMissing},
		{"no event", `"event": "invitee.created"`, `"event": ""`, providers.CodeKindMissing},
		{"another name's case", `"event": "invitee.created"`, `"Event": "invitee.created"`, providers.CodeKindMissing},
		{"twice", `"status": "active",`, `"status": "active", "status": "canceled",`, providers.CodeDuplicateKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(change(t, body, c.from, c.to))
			providertest.CheckDelivery(t, d)
			if d.Code != c.code {
				t.Errorf("code %q (%s), want %q", d.Code, d.Error, c.code)
			}
			for _, personal := range []string{"jonas", "Jonas", "brightfen", "Atlantis"} {
				if strings.Contains(d.Error, personal) {
					t.Errorf("the text quotes the body: %s", d.Error)
				}
			}
		})
	}
}

func TestWhatIsToleratedStillCounts(t *testing.T) {
	body := fixture(t, oneOnOne)
	for _, c := range []struct{ name, from, to string }{
		{"an old alias of a zone", `Europe/Berlin`, `Asia/Calcutta`},
		{"no zone", `"Europe/Berlin"`, `null`},
		{"no seats", `"limit": 1`, `"limit": null`},
		{"no location", `"location": {`, `"location": null, "x": {`},
		{"a location of another type", `"location": {`, `"location": [1], "x": {`},
		{"no tracking", `"tracking": {`, `"tracking": null, "x": {`},
		{"unknown fields", `"payload": {`, `"payload": {"new_in_2027": [{"a": [1, 2]}],`},
		{"31 days", `2026-12-08T14:30`, `2027-01-08T14:00`},
		{"half a surrogate pair", `"Jonas Whitfield"`, `"Jonas \ud83d"`},
	} {
		if d := parse(change(t, body, c.from, c.to)); d.Event == nil {
			t.Errorf("%s: status %q, code %q: %s", c.name, d.Status, d.Code, d.Error)
		}
	}
}

// The same invitee is named under several hosts.
func TestIdentityIsThePath(t *testing.T) {
	body := fixture(t, oneOnOne)
	a, b := parse(body), parse(change(t, body, "https://api.calendly.com/scheduled_events", "https://calendly.com/scheduled_events"))
	if a.EventKey != b.EventKey || a.Event.ExternalID != b.Event.ExternalID || a.Event.Session.ExternalID != b.Event.Session.ExternalID {
		t.Errorf("%q and %q are one event", a.EventKey, b.EventKey)
	}
}

func TestLocation(t *testing.T) {
	body := fixture(t, oneOnOne)
	const was = `{
        "join_url": null,
        "status": "processing",
        "type": "google_conference"
      }`
	for _, c := range []struct{ location, want string }{
		{`{"type":"zoom_conference","join_url":"https://zoom.us/j/1?pwd=x"}`, "Zoom"},
		{`{"type":"physical","location":"12 Dock Lane","additional_info":"code 1234"}`, "12 Dock Lane"},
		{`{"type":"outbound_call","location":"+49 30 23125 014"}`, "+49 30 23125 014"},
		{`{"type":"outbound_call","location":null}`, "Phone call"},
		{`{"type":"inbound_call"}`, "Phone call"},
		{`{"type":"ask_invitee","location":"The café on the corner"}`, "The café on the corner"},
		{`{"type":"custom","location":"https://meet.google.com/abc-defg-hij"}`, "Google Meet"},
		{`{"type":"custom","location":"join at https://rooms.example/secret please"}`, "Online meeting"},
		{`{"type":"custom","location":null}`, ""},
		{`{"type":"new_in_2027"}`, ""},
		{`null`, ""},
	} {
		d := parse(change(t, body, was, c.location))
		if d.Event == nil {
			t.Fatalf("%s: %s", c.location, d.Error)
		}
		got := ""
		if d.Event.Location != nil {
			got = *d.Event.Location
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.location, got, c.want)
		}
	}
}

func TestHostsOf2022(t *testing.T) {
	body := change(t, fixture(t, oneOnOne), `,
          "user_email": "mara.lindqvist@northpier.example",
          "user_name": "Mara Lindqvist"`, ``)
	d := parse(body)
	want := booking.Host{ExternalID: "/users/1f0e7c52-2b3a-4d7e-8a10-6c0b5d9e4a01"}
	if d.Event == nil || len(d.Event.Session.Hosts) != 1 || d.Event.Session.Hosts[0] != want {
		t.Errorf("%+v, want host %+v", d, want)
	}
}

// Only the event's name tells whether a no-show was set or taken back.
func TestNoShowIsToldByTheName(t *testing.T) {
	body := fixture(t, "10_no_show_created.json")
	set, unset := parse(body), parse(change(t, body, `"event": "invitee_no_show.created"`, `"event": "invitee_no_show.deleted"`))
	if set.EventKey == unset.EventKey {
		t.Errorf("both have the key %q", set.EventKey)
	}
	if !*set.Event.Attendees[0].NoShow || *unset.Event.Attendees[0].NoShow {
		t.Error("the name was not heeded")
	}
}

func TestLinks(t *testing.T) {
	const file = "04_reschedule_01_invitee_canceled_old_half.json"
	body := fixture(t, file)
	const own = "a2c0de02-0000-4000-8000-000000000002/invitees/b2c0de02-0000-4000-8000-000000000002"
	const next = "a3c0de03-0000-4000-8000-000000000003/invitees/b3c0de03-0000-4000-8000-000000000003"
	for _, c := range []struct {
		name, from, to string
		reason         booking.Reason
		successor      string
	}{
		{"as it came", own, own, booking.ReasonRescheduled, "/scheduled_events/" + next},
		{"a successor without the flag", `"rescheduled": true`, `"rescheduled": false`, booking.ReasonRescheduled, "/scheduled_events/" + next},
		{"the flag without a successor", `"https://api.calendly.com/scheduled_events/` + next + `"`, `null`, booking.ReasonRescheduled, ""},
		{"itself as its successor", next, own, booking.ReasonRescheduled, ""},
	} {
		d := parse(change(t, body, c.from, c.to))
		if d.Event == nil || d.Event.Reason != c.reason || d.Event.Successor != c.successor {
			t.Errorf("%s: %+v", c.name, d.Event)
		}
	}
	d := parse(change(t, body, `"old_invitee": null`, `"old_invitee": "https://calendly.com/scheduled_events/`+own+`"`))
	if d.Event == nil || d.Event.Predecessor != "" {
		t.Errorf("itself as its predecessor: %+v", d.Event)
	}
}

func TestCancelNeedsNoTime(t *testing.T) {
	body := fixture(t, "02_one_on_one_invitee_canceled_by_invitee.json")
	d := parse(change(t, body, `"2026-12-08T14:00:00.000000Z"`, `null`))
	if d.Event == nil || d.Event.Session.StartsAt != nil || d.Event.Session.EndsAt != nil {
		t.Errorf("%+v", d)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := calendly.New(0)
	o := providertest.Origin(p)
	f.Fuzz(func(t *testing.T, body []byte) {
		providertest.CheckDelivery(t, p.Parse(providers.Request{Body: body}, o))
	})
}

func FuzzRedact(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := calendly.New(0)
	f.Fuzz(func(t *testing.T, body []byte) { providertest.CheckRedaction(t, p, body) })
}

func BenchmarkParse(b *testing.B) {
	body := []byte(fixture(b, oneOnOne))
	p := calendly.New(0)
	o := providertest.Origin(p)
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(providers.Request{Body: body}, o)
	}
}
