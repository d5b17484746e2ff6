package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
)

// fault is a signed body that cannot be used, or nearly so.
type fault struct {
	name string
	body []byte
	want verdict
	says string // what the error must name
}

// everyFault posts, signed, what nobody can use: each has its named verdict and
// is kept, with a text that says what is wrong.
func everyFault(t *testing.T, s *server) {
	db, token := s.database(t), s.token(t, "read")
	codes := map[string]bool{}
	for _, name := range []string{"calendly", "calcom", "generic"} {
		a := s.connect(t, name)
		for _, f := range faults(t, a) {
			t.Run(name+", "+f.name, func(t *testing.T) {
				got := settled(t, a, f.body, f.want)
				kept(t, s, db, token, got, f)
				code, _, _ := strings.Cut(f.want.error, ":")
				codes[code] = true
			})
		}
		t.Run(name+", a thousand attendees", func(t *testing.T) { thousand(t, s.connect(t, name)) })
	}
	for _, code := range []string{
		providers.CodeJSONInvalid, providers.CodeEncodingInvalid, providers.CodeNestingTooDeep, providers.CodeDuplicateKey,
		providers.CodeNumberTooLarge, providers.CodeTooManyValues, providers.CodeKindMissing, providers.CodePayloadMissing,
		providers.CodeIDMissing, providers.CodeIDInvalid, providers.CodeFieldTooLong, providers.CodeTimeMissing,
		providers.CodeTimeInvalid, providers.CodeEndBeforeStart, providers.CodeTooLong, providers.CodeZoneUnknown,
		providers.CodeResourceMissing, providers.CodeCapacityInvalid, providers.CodeAttendeesMissing,
		providers.CodeTemplateChanged, providers.CodeBodyRetired,
	} {
		if !codes[code] {
			t.Errorf("nothing failed with %s", code)
		}
	}
	select {
	case <-s.exited:
		t.Fatalf("the server ended:\n%s", s.log)
	default:
	}
	s.stop(t) // what it logs is complete then
	for _, l := range s.logLines(t) {
		if l["level"] == "ERROR" {
			t.Errorf("the log says %v", l)
		}
	}
}

// kept finds the receipt as the answer said, and the body unharmed.
func kept(t *testing.T, s *server, db *sql.DB, token string, got answer, f fault) {
	t.Helper()
	var r receiptItem
	decode(t, s.get(t, "/api/v1/receipts/"+got.text("event_id"), token), &r)
	if r.Status != f.want.status || r.Deliveries != 2 || (r.Error == nil) != (f.want.error == "") || r.Error != nil && *r.Error != got.text("error") {
		t.Errorf("the receipt is %+v, the answer was %s", r, got.body)
	}
	text := got.text("error")
	if !strings.Contains(text, f.says) {
		t.Errorf("%q does not name %q", text, f.says)
	}
	for _, private := range []string{"Jonas", "Priya", "jonas.whitfield", "priya.raman", "23125"} {
		if strings.Contains(text, private) {
			t.Errorf("%q tells who it is about", text)
		}
	}
	var sealed, sum []byte
	query := "SELECT raw_body, body_sha256 FROM webhook_receipts WHERE CAST(id AS text) = '" + got.text("event_id") + "'"
	if err := db.QueryRowContext(t.Context(), query).Scan(&sealed, &sum); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(f.body); !bytes.Equal(sum, want[:]) || len(sealed) <= len(f.body) {
		t.Errorf("of %d bytes with SHA-256 %s are kept %d with %s", len(f.body), hex.EncodeToString(want[:]), len(sealed), hex.EncodeToString(sum))
	}
}

// fields are where the providers' bodies say things.
type fields struct {
	kind, id, at, from, to, zone, seats, title string
}

var fieldsOf = map[string]fields{
	"calendly": {
		"event", "payload.uri", "payload.updated_at", "payload.scheduled_event.start_time", "payload.scheduled_event.end_time",
		"payload.timezone", "payload.scheduled_event.invitees_counter.limit", "payload.scheduled_event.name",
	},
	"calcom": {
		"triggerEvent", "payload.uid", "createdAt", "payload.startTime", "payload.endTime",
		"payload.attendees.0.timeZone", "payload.seatsPerTimeSlot", "payload.title",
	},
	"generic": {
		"type", "booking.id", "occurred_at", "booking.starts_at", "booking.ends_at",
		"booking.invitee.timezone", "booking.capacity", "booking.title",
	},
}

func faults(t *testing.T, a connected) []fault {
	t.Helper()
	n, f := 0, fieldsOf[a.Name()]
	good := func(c changes) []byte {
		n++
		return a.body(t, said{"create", fmt.Sprintf("fault-%d", n), monday.AddDate(0, 0, n), monday, c})
	}
	with := func(members string) []byte {
		return bytes.Replace(good(nil), []byte("{"), []byte("{"+members+","), 1)
	}
	titled := func(raw string) []byte {
		return bytes.Replace(good(changes{f.title: "TITLE"}), []byte("TITLE"), []byte(raw), 1)
	}
	// What is no body of Cal.com's own is a template's, whatever else is wrong.
	ours := func(code string) verdict {
		if a.Name() == "calcom" {
			return failed("template_changed")
		}
		return failed(code)
	}
	day := func(days int, more time.Duration) string {
		return monday.AddDate(0, 0, days).Add(more).Format(time.RFC3339Nano)
	}
	zoneName := strings.Replace(f.zone, ".0.", ".", 1)
	good1 := good(nil)
	out := []fault{
		{"broken JSON", good1[:len(good1)-20], failed("json_invalid"), "at byte"},
		{"a comma too many", with(`"a":1,`), failed("json_invalid"), "at byte"},
		{"two values", append(good(nil), "{}"...), failed("json_invalid"), "more follows"},
		{"nothing", nil, failed("json_invalid"), "empty"},
		{"a list", []byte(`[1,2,3]`), ours("json_invalid"), ""},
		{"a form", []byte("event=BOOKING_CREATED&uid=f1&name=Priya+Raman"), ours("json_invalid"), ""},
		{"a page", []byte("<!doctype html><p>Jonas Whitfield"), ours("json_invalid"), ""},
		{"a NUL byte", titled("a\x00b"), failed("encoding_invalid"), "NUL"},
		{"an escaped NUL", titled(`a\u0000b`), failed("encoding_invalid"), "NUL"},
		{"invalid UTF-8", titled("a\xff\xfeb"), failed("encoding_invalid"), "UTF-8"},
		{"deep nesting", with(`"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), failed("nesting_too_deep"), "deeper than"},
		{"a key twice", with(`"a":1,"a":2`), failed("duplicate_key"), "twice"},
		{"the kind twice", with(fmt.Sprintf("%q:%q", f.kind, "x")), failed("duplicate_key"), "twice"},
		{"a huge power", with(`"a":1e999`), failed("number_too_large"), "too large"},
		{"a huge number", with(`"a":` + strings.Repeat("9", 400)), failed("number_too_large"), "too large"},
		{"huge seats", good(changes{f.seats: 1_000_000_000_000}), failed("number_too_large"), f.seats},
		{"many values", with(`"a":[` + strings.Repeat("0,", 200_000) + `0]`), failed("too_many_values"), "values"},
		{"no kind", good(changes{f.kind: gone}), ours("kind_missing"), ""},
		{"no id", good(changes{f.id: gone}), failed("id_missing"), f.id},
		{"a long id", good(changes{f.id: "https://api.calendly.com/" + strings.Repeat("x", 300)}), failed("field_too_long"), f.id},
		{"an id with control characters", good(changes{f.id: "a\x07b"}), failed("id_invalid"), f.id},
		{"never said", good(changes{f.at: gone}), failed("time_missing"), f.at},
		{"no beginning", good(changes{f.from: gone}), failed("time_missing"), f.from},
		{"an empty end", good(changes{f.to: ""}), failed("time_missing"), f.to},
		{"no time that is one", good(changes{f.from: "next Tuesday"}), failed("time_invalid"), f.from},
		{"a time without its offset", good(changes{f.from: "2026-12-08T14:00:00"}), failed("time_invalid"), f.from},
		{"a time before computers", good(changes{f.from: "1969-12-31T23:59:59Z"}), failed("time_invalid"), f.from},
		{"a time after all", good(changes{f.from: "10000-01-01T00:00:00Z"}), failed("time_invalid"), f.from},
		{"the last hour that there is", good(changes{f.from: "9999-12-31T22:00:00Z", f.to: "9999-12-31T23:00:00Z"}), processed, ""},
		{"half an emoji", titled(`Visit \ud83d`), processed, ""},
		{"a long title", good(changes{f.title: strings.Repeat("é", 100_000)}), processed, ""},
		{"the end before the start", good(changes{f.from: day(1, time.Hour), f.to: day(1, 0)}), failed("end_before_start"), f.to},
		{"the end at the start", good(changes{f.from: day(1, 0), f.to: day(1, 0)}), failed("end_before_start"), f.to},
		{"longer than 31 days", good(changes{f.from: day(0, 0), f.to: day(31, time.Microsecond)}), failed("too_long"), "31 days"},
		{"exactly 31 days", good(changes{f.from: day(400, 0), f.to: day(431, 0)}), processed, ""},
		{"a zone that does not exist", good(changes{f.zone: "Europe/Atlantis"}), failed("zone_unknown"), zoneName},
		{"the server's zone", good(changes{f.zone: "Local"}), failed("zone_unknown"), zoneName},
		{"an offset for a zone", good(changes{f.zone: "+02:00"}), failed("zone_unknown"), zoneName},
	}
	switch a.Name() {
	case "calendly":
		out = append(out,
			fault{"no payload", good(changes{"payload": gone}), failed("payload_missing"), "payload"},
			fault{"an id that is no URI", good(changes{"payload.uri": "b1c0de01"}), failed("id_invalid"), "payload.uri"},
			fault{"no event", good(changes{"payload.event": gone, "payload.scheduled_event.uri": gone}), failed("id_missing"), "payload.event"},
			fault{"of webhooks v1", sample(t, "calendly", "92_legacy_v1_invitee_created_retired_2025_08_27.json", nil), failed("body_retired"), "v2"})
	case "calcom":
		out = append(out,
			fault{"no payload", good(changes{"payload": gone}), failed("template_changed"), "Custom payload template"},
			fault{"a template", sample(t, "calcom", "custom_template_json.json", nil), failed("template_changed"), "Custom payload template"},
			fault{
				"a no-show of nobody", sample(t, "calcom", "booking_no_show_updated.json", changes{"payload.attendees": []any{}}),
				failed("attendees_missing"), "payload.attendees",
			})
	case "generic":
		out = append(out,
			fault{"no payload", good(changes{"booking": "b-1"}), failed("payload_missing"), "booking"},
			fault{"no resource", good(changes{"booking.resource": gone}), failed("resource_missing"), "booking.resource"},
			fault{"half a seat", good(changes{"booking.capacity": 1.5}), failed("capacity_invalid"), "booking.capacity"},
			fault{"no seat", good(changes{"booking.capacity": 0}), failed("capacity_invalid"), "booking.capacity"})
	}
	return out
}

// thousand lists as many attendees as any body may, and one more.
func thousand(t *testing.T, a connected) {
	people := func(n int) []map[string]any {
		out := make([]map[string]any, n)
		for i := range out {
			out[i] = map[string]any{"name": fmt.Sprintf("Guest %d", i), "email": fmt.Sprintf("guest.%d@mail.example", i), "timeZone": "Europe/Berlin"}
		}
		return out
	}
	tell := func(id string, days int, c changes) []byte {
		return a.body(t, said{"create", id, monday.AddDate(1, 0, days), monday, c})
	}
	token := a.token(t, "read")
	bookings := func(want int) {
		t.Helper()
		if n := len(api[bookingItem](t, a.server, token, "bookings?connection_id="+a.id.String())); n != want {
			t.Errorf("there are %d bookings, want %d", n, want)
		}
	}
	if a.Name() != "calcom" {
		// Who else comes is not theirs to book.
		guests := map[string]string{"calendly": "payload.scheduled_event.event_guests", "generic": "booking.guests"}[a.Name()]
		settled(t, a, tell("guests", 0, changes{guests: people(1000)}), processed)
		bookings(1)
		return
	}
	settled(t, a, tell("unseated", 0, changes{"payload.attendees": people(1000)}), processed)
	bookings(1)
	settled(t, a, tell("seated", 1, changes{"payload.attendees": people(1000), "payload.seatsPerTimeSlot": 1000}), processed)
	bookings(1001)
	got := settled(t, a, tell("too many", 2, changes{"payload.attendees": people(1001)}), failed("too_many_attendees"))
	if !strings.Contains(got.text("error"), "1000 attendees") {
		t.Errorf("the error is %s", got.text("error"))
	}
	bookings(1001)
}
