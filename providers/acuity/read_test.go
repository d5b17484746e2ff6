package acuity_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/providertest"
)

const eventKey = "acuity|1841200301|changed"

// fetched is what is kept of an answer of the API.
func fetched(t testing.TB, id, appointment string) []byte {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/calendars" {
			_, _ = w.Write([]byte(file(t, "support/calendars.json"))) // the client sees what is missing
			return
		}
		_, _ = w.Write([]byte(appointment)) // the same
	}))
	defer s.Close()
	c := providers.Connection{APIBase: s.URL, API: providers.Credentials{User: "1"}, Secrets: providers.Secrets{Current: "key"}}
	answer, err := adapter().Fetch(context.Background(), s.Client(), c, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Snapshot
}

func element(t testing.TB, list string, i int) string {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatal(err)
	}
	return string(all[i])
}

func TestFetchedAnswers(t *testing.T) {
	class := file(t, "appointments/class_two_attendees.json")
	var cases []providertest.Fetched
	for _, c := range []struct {
		name, id, answer string
		kind             booking.Kind
		hidden           []string
	}{
		{"one_to_one", "1841200301", file(t, "appointments/one_to_one.json"), booking.KindCreated, []string{"Return to running", "be4789d4c142b7c7cbee8b007f9ac903"}},
		{"rescheduled", "1841200302", file(t, "appointments/rescheduled.json"), booking.KindMoved, nil},
		{"canceled", "1841200303", file(t, "appointments/canceled.json"), booking.KindCanceled, []string{"ab0f2ddb8cd8e4b1a097ffb5fa679765"}},
		{"no_show", "1841200305", file(t, "appointments/no_show.json"), booking.KindDetails, nil},
		{"class_a", "1841200411", element(t, class, 0), booking.KindCreated, nil},
		{"class_b", "1841200412", element(t, class, 1), booking.KindCreated, []string{"MOBILITY10"}},
	} {
		cases = append(cases, providertest.Fetched{
			Name: c.name, Snapshot: fetched(t, c.id, c.answer), Kind: c.kind, EventKey: "acuity|" + c.id + "|" + string(c.kind), Ticket: noon,
			Hidden: append(c.hidden, "confirmationPage", "formsText", "Price: $", "scheduledBy", "owner=90000001"),
		})
	}
	providertest.RunFetched(t, adapter(), cases...)
}

func read(snapshot string) booking.Delivery {
	p := adapter()
	return p.Read([]byte(snapshot), providertest.Origin(p), noon, booking.KindDetails, eventKey)
}

// change replaces one thing in a text and fails when it is not there.
func change(t testing.TB, body, from, to string) string {
	t.Helper()
	if !strings.Contains(body, from) {
		t.Fatalf("%s has no %q", body, from)
	}
	return strings.ReplaceAll(body, from, to)
}

func TestRead(t *testing.T) {
	snapshot := string(fetched(t, "1841200301", file(t, "appointments/one_to_one.json")))
	for _, c := range []struct{ name, from, to, code string }{
		{"as it is", `"id"`, `"id"`, ""},
		{"UTC", `-0400"`, `Z"`, ""},
		{"an offset with a colon", `-0400"`, `-04:00"`, ""},
		{"a number of minutes", `"duration":"50"`, `"duration":50`, ""},
		{"31 days", `"duration":"50"`, `"duration":"44640"`, ""},
		{"nobody's name", `"firstName":"Mirela","lastName":"Okonjo",`, ``, ""},
		{"no zone", `"timezone":"Europe/Lisbon"`, `"timezone":""`, ""},
		{"an old alias of a zone", `Europe/Lisbon`, `Asia/Calcutta`, ""},
		{"no time of booking", `"datetimeCreated":"2026-09-08T09:12:33-0500",`, ``, ""},
		{"more than 31 days", `"duration":"50"`, `"duration":"44641"`, providers.CodeTooLong},
		{"more than 64 bits", `"duration":"50"`, `"duration":"99999999999999999999"`, providers.CodeTimeInvalid},
		{"no minutes", `"duration":"50"`, `"duration":"0"`, providers.CodeEndBeforeStart},
		{"fewer", `"duration":"50"`, `"duration":"-50"`, providers.CodeEndBeforeStart},
		{"half minutes", `"duration":"50"`, `"duration":50.5`, providers.CodeTimeInvalid},
		{"no duration", `"duration":"50",`, ``, providers.CodeTimeMissing},
		{"no beginning", `"datetime":"2026-09-17T10:00:00-0400",`, ``, providers.CodeTimeMissing},
		{"a time without an offset", `10:00:00-0400"`, `10:00:00"`, providers.CodeTimeInvalid},
		{"a time for people", `2026-09-17T10:00:00-0400`, `September 17, 2026 10:00am`, providers.CodeTimeInvalid},
		{"the year 0", `2026-09-17`, `0000-09-17`, providers.CodeTimeInvalid},
		{"a wrong time of booking", `09:12:33-0500"`, `9am"`, providers.CodeTimeInvalid},
		{"no such zone", `Europe/Lisbon`, `Europe/Atlantis`, providers.CodeZoneUnknown},
		{"no id", `"id":1841200301,`, ``, providers.CodeIDMissing},
		{"an id of another kind", `"id":1841200301`, `"id":"a|b"`, providers.CodeIDInvalid},
		{"no calendar", `"calendarID":9120041,`, ``, providers.CodeIDMissing},
		{"not said whether canceled", `"canceled":false`, `"canceled":null`, providers.CodePayloadMissing},
	} {
		d := read(change(t, snapshot, c.from, c.to))
		providertest.CheckFetched(t, d, booking.KindDetails, eventKey)
		if d.Code != c.code {
			t.Errorf("%s: code %q (%s), want %q", c.name, d.Code, d.Error, c.code)
		}
	}
}

func TestWhatStands(t *testing.T) {
	snapshot := string(fetched(t, "1841200301", file(t, "appointments/one_to_one.json")))
	e := read(snapshot).Event
	if e == nil || e.Kind != booking.KindSnapshot || e.Reason != booking.NoReason || !e.At.Equal(noon) || e.ExternalID != "1841200301" || e.Shared {
		t.Fatalf("%+v", e)
	}
	start := time.Date(2026, 9, 17, 14, 0, 0, 0, time.UTC) // the calendar's zone, not the client's
	s := e.Session
	if s.ExternalID != "appointment|1841200301" || !s.StartsAt.Equal(start) || !s.EndsAt.Equal(start.Add(50*time.Minute)) || *s.Capacity != 1 {
		t.Errorf("%+v", s)
	}
	if want := (booking.Host{ExternalID: "calendar|9120041", Name: "Dr. Ines Falk"}); len(s.Hosts) != 1 || s.Hosts[0] != want {
		t.Errorf("hosts %+v, want %+v", s.Hosts, want)
	}
	if a := e.Attendees; len(a) != 1 || *a[0].Name != "Mirela Okonjo" || a[0].Email != "mirela.okonjo@example.com" || a[0].Key == "" || *a[0].Timezone != "Europe/Lisbon" || a[0].NoShow != nil {
		t.Errorf("attendees %+v", a)
	}

	// Silence about the class is not the same as none.
	if e := read(change(t, snapshot, `"classID":null,`, ``)).Event; e.Session.Capacity != nil || e.Session.ExternalID != "appointment|1841200301" {
		t.Errorf("nothing said of a class: %+v", e.Session)
	}
	// Canceled needs no time, for it changes none.
	gone := read(change(t, change(t, snapshot, `"canceled":false`, `"canceled":true,"noShow":false`), `"datetime":"2026-09-17T10:00:00-0400",`, ``)).Event
	if gone == nil || gone.Kind != booking.KindCanceled || gone.Reason != booking.ReasonCanceled || gone.Session.StartsAt != nil || *gone.Attendees[0].NoShow {
		t.Errorf("canceled: %+v", gone)
	}
	// noShow is a canceled appointment's only.
	if e := read(change(t, snapshot, `"canceled":false`, `"canceled":false,"noShow":true`)).Event; e.Attendees[0].NoShow != nil {
		t.Error("a no-show of an appointment that stands")
	}
}

func TestClassSessions(t *testing.T) {
	class := file(t, "appointments/class_two_attendees.json")
	a := string(fetched(t, "1841200411", element(t, class, 0)))
	b := string(fetched(t, "1841200412", element(t, class, 1)))
	const session = "class|9120052|71500044|2026-09-24T22:00:00Z"
	for _, snapshot := range []string{a, b, change(t, a, "18:00:00-0400", "23:00:00+0100")} {
		e := read(snapshot).Event
		if e == nil || e.Session.ExternalID != session || e.Session.Capacity != nil {
			t.Errorf("%s: %+v", snapshot, e)
		}
		if h := e.Session.Hosts[0]; h.Email != "studio@example.com" {
			t.Errorf("host %+v", h)
		}
	}
	if read(a).Event.ExternalID == read(b).Event.ExternalID {
		t.Error("two attendees are one booking")
	}
	if moved := read(change(t, a, "T18:00", "T19:00")).Event; moved.Session.ExternalID == session {
		t.Error("an attendee moved and stayed in the session")
	}
}

func TestPlaceWithoutItsLink(t *testing.T) {
	answer := change(t, file(t, "appointments/one_to_one.json"), `"location": ""`, `"location": "https://us02web.zoom.us/j/90000000001?pwd=demo"`)
	snapshot := string(fetched(t, "1841200301", answer))
	if strings.Contains(snapshot, "pwd") || !strings.Contains(snapshot, `"location":"Zoom"`) {
		t.Errorf("kept: %s", snapshot)
	}
	if e := read(snapshot).Event; e == nil || *e.Location != "Zoom" {
		t.Errorf("%+v", e)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"one_to_one", "canceled", "no_show"} {
		f.Add([]byte(file(f, "appointments/"+name+".json")))
	}
	p := adapter()
	o := providertest.Origin(p)
	f.Fuzz(func(t *testing.T, snapshot []byte) {
		providertest.CheckFetched(t, p.Read(snapshot, o, noon, booking.KindDetails, eventKey), booking.KindDetails, eventKey)
	})
}
