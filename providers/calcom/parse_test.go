package calcom_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/providertest"
)

func parse(body string) booking.Delivery {
	p := calcom.New()
	return p.Parse(providers.Request{Body: []byte(body)}, providertest.Origin(p))
}

func fixture(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
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

func event(t testing.TB, body string) *booking.Event {
	t.Helper()
	d := parse(body)
	providertest.CheckDelivery(t, d)
	if d.Event == nil {
		t.Fatalf("status %q, code %q: %s", d.Status, d.Code, d.Error)
	}
	return d.Event
}

func TestBadInput(t *testing.T) {
	body := fixture(t, oneOnOne)
	for _, c := range []struct{ name, from, to, code string }{
		{"no start", `"startTime":"2026-11-03T15:00:00Z",`, ``, providers.CodeTimeMissing},
		{"empty end", `"endTime":"2026-11-03T15:30:00Z"`, `"endTime":""`, providers.CodeTimeMissing},
		{"no createdAt", `"createdAt":"2026-10-20T09:14:03.512Z",`, ``, providers.CodeTimeMissing},
		{"words for a time", `"2026-11-03T15:00:00Z"`, `"tomorrow"`, providers.CodeTimeInvalid},
		{"end before start", `2026-11-03T15:30`, `2026-11-03T14:30`, providers.CodeEndBeforeStart},
		{"two months", `2026-11-03T15:30`, `2027-01-03T15:30`, providers.CodeTooLong},
		{"no such zone", `America/New_York`, `America/Atlantis`, providers.CodeZoneUnknown},
		{"no uid", `"uid":"sotbT28Keb5YAmXYsNghnx",`, ``, providers.CodeIDMissing},
		{"a long uid", `"uid":"sotb`, `"uid":"` + strings.Repeat("s", 300), providers.CodeFieldTooLong},
		{"a long e-mail", `priya.raman@`, strings.Repeat("p", 400) + "@", providers.CodeFieldTooLong},
		{"seats past counting", `"seatsPerTimeSlot":null`, `"seatsPerTimeSlot":1e9`, providers.CodeNumberTooLarge},
		{"a huge number nobody reads", `"price":0`, `"price":1e999`, providers.CodeNumberTooLarge},
		{"twice", `"uid":`, `"uid":"x","uid":`, providers.CodeDuplicateKey},
		{"no payload", `"payload":{`, `"other":{`, providers.CodeTemplateChanged},
		{"no trigger", `"triggerEvent":"BOOKING_CREATED",`, ``, providers.CodeTemplateChanged},
		{"another name's case", `"triggerEvent":`, `"triggerevent":`, providers.CodeTemplateChanged},
		{"broken", `{"triggerEvent"`, `{"triggerEvent`, providers.CodeJSONInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(change(t, body, c.from, c.to))
			providertest.CheckDelivery(t, d)
			if d.Code != c.code {
				t.Errorf("code %q (%s), want %q", d.Code, d.Error, c.code)
			}
			for _, personal := range []string{"priya", "Priya", "mail.example", "Atlantis"} {
				if strings.Contains(d.Error, personal) {
					t.Errorf("the text quotes the body: %s", d.Error)
				}
			}
		})
	}
}

func TestTemplateChangedNamesTheSetting(t *testing.T) {
	for _, body := range []string{
		fixture(t, "custom_template_json.json"), fixture(t, "custom_template_form.txt"), `false`, `"text"`, `[]`, `{}`,
		`{"triggerEvent":"BOOKING_CREATED","createdAt":"2026-10-20T09:14:03.512Z","uid":"x"}`,
	} {
		d := parse(body)
		if d.Code != providers.CodeTemplateChanged || !strings.Contains(d.Error, "Custom payload template") {
			t.Errorf("%.40s: code %q: %s", body, d.Code, d.Error)
		}
	}
}

// attendees makes the member of that many.
func attendees(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"email":"Guest%d@mail.example","name":"Guest %d","timeZone":"Asia/Calcutta"}`, i, i)
	}
	return b.String()
}

func TestAThousandAttendees(t *testing.T) {
	body := fixture(t, oneOnOne)
	const last = `"utcOffset":-300}]`
	e := event(t, change(t, body, last, `"utcOffset":-300}`+attendees(999)+`]`))
	if len(e.Attendees) != 1000 || e.Attendees[999].Email != "guest998@mail.example" {
		t.Errorf("%d attendees", len(e.Attendees))
	}
	if d := parse(change(t, body, last, `"utcOffset":-300}`+attendees(1000)+`]`)); d.Code != providers.CodeTooManyAttendees {
		t.Errorf("1001 attendees: code %q, want %q", d.Code, providers.CodeTooManyAttendees)
	}
}

func TestAnAttendeeCountsOnce(t *testing.T) {
	e := event(t, change(t, fixture(t, oneOnOne), `"utcOffset":-300}]`, `"utcOffset":-300},{"email":"PRIYA.RAMAN@mail.example "},{"name":"By telephone"},{}]`))
	if len(e.Attendees) != 3 || *e.Attendees[0].Name != "Priya Raman" || e.Attendees[1].Key != "" {
		t.Errorf("%+v", e.Attendees)
	}
}

func TestSeats(t *testing.T) {
	body := fixture(t, oneOnOne)
	for _, c := range []struct {
		name, to        string
		seats, capacity int // 0 is nil
		cut             bool
	}{
		{"explicitly one", `"seatsPerTimeSlot":null,`, 0, 1, false},
		{"eight", `"seatsPerTimeSlot":8,`, 8, 8, false},
		{"silence, a confirmation", ``, 0, 0, true},
		{"nothing that counts", `"seatsPerTimeSlot":0,`, 0, 0, false},
		{"half a seat", `"seatsPerTimeSlot":1.5,`, 0, 0, false},
		{"words", `"seatsPerTimeSlot":"8",`, 0, 0, false},
	} {
		e := event(t, change(t, body, `"seatsPerTimeSlot":null,`, c.to))
		if got := deref(e.Seats); got != c.seats {
			t.Errorf("%s: %d seats, want %d", c.name, got, c.seats)
		}
		if got := deref(e.Session.Capacity); got != c.capacity {
			t.Errorf("%s: capacity %d, want %d", c.name, got, c.capacity)
		}
		if e.Session.HostsCut != c.cut {
			t.Errorf("%s: hosts cut: %t, want %t", c.name, e.Session.HostsCut, c.cut)
		}
	}
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Two seats of one uid may be taken in one millisecond.
func TestTwoSeatsAreTwoEvents(t *testing.T) {
	a := change(t, fixture(t, "booking_created_seat_first.json"), "2026-10-26T09:00:00.000Z", "2026-10-26T09:00:41.337Z")
	b := fixture(t, "booking_created_seat_second.json")
	if ka, kb := event(t, a).Key, event(t, b).Key; ka == kb {
		t.Errorf("both have the key %q", ka)
	}
}

func TestSecondSubscription(t *testing.T) {
	a, b := event(t, fixture(t, oneOnOne)), event(t, fixture(t, "booking_created_1to1_second_subscription.json"))
	if a.Key == b.Key || a.ExternalID != b.ExternalID {
		t.Errorf("%q and %q", a.Key, b.Key)
	}
}

func TestMovedInPlaceHasNoPredecessor(t *testing.T) {
	body := fixture(t, "booking_rescheduled.json")
	if e := event(t, body); e.Predecessor != "sotbT28Keb5YAmXYsNghnx" || !e.Confirmed {
		t.Errorf("%+v", e)
	}
	in := change(t, body, `"rescheduleUid":"sotbT28Keb5YAmXYsNghnx"`, `"rescheduleUid":"hX1gC6xAFqw8yLjoomqbZu"`)
	in = change(t, in, `"status":"ACCEPTED"`, `"status":"PENDING"`)
	if e := event(t, in); e.Predecessor != "" || e.Confirmed {
		t.Errorf("%+v", e)
	}
}

func TestCancelWithoutTime(t *testing.T) {
	body := change(t, fixture(t, "booking_cancelled.json"), `"2026-11-05T16:00:00+00:00"`, `""`)
	if e := event(t, body); e.Session.StartsAt != nil || e.Session.EndsAt != nil {
		t.Errorf("%+v", e.Session)
	}
}

func TestFourSpellingsOfOneTime(t *testing.T) {
	body := fixture(t, oneOnOne)
	want := *event(t, body).Session.StartsAt
	for _, s := range []string{"2026-11-03T15:00:00.000Z", "2026-11-03T15:00:00+00:00", "2026-11-03T16:00:00+01:00"} {
		if got := *event(t, change(t, body, `"startTime":"2026-11-03T15:00:00Z"`, `"startTime":"`+s+`"`)).Session.StartsAt; got != want {
			t.Errorf("%s is read as %s, want %s", s, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	body := change(t, fixture(t, oneOnOne), `"attendees":[`,
		`"team":{"id":1,"members":[{"email":"Theo.Adeyemi@harbourclinic.example","name":"Theo"},{"email":"MAREN.ODUYA@harbourclinic.example"},{"email":"Email-less"}]},"attendees":[`)
	got := event(t, body).Session.Hosts
	if len(got) != 2 || got[0].ExternalID != "maren.oduya@harbourclinic.example" || got[1].ExternalID != "theo.adeyemi@harbourclinic.example" || got[1].Email != got[1].ExternalID {
		t.Errorf("%+v", got)
	}
	if got := event(t, change(t, fixture(t, oneOnOne), `"email":"maren.oduya@harbourclinic.example","username"`, `"email":"Email-less","username"`)).Session.Hosts; got != nil {
		t.Errorf("a placeholder became a host: %+v", got)
	}
}

func TestNoShowOfNobody(t *testing.T) {
	body := change(t, fixture(t, "booking_no_show_updated.json"), `"noShow":true`, `"noShow":"yes"`)
	if d := parse(body); d.Code != providers.CodeAttendeesMissing {
		t.Errorf("code %q, want %q", d.Code, providers.CodeAttendeesMissing)
	}
}

func TestLocation(t *testing.T) {
	body := fixture(t, oneOnOne)
	for from, want := range map[string]string{
		`"integrations:daily"`: "Cal Video", `"integrations:new_in_2027"`: "Online meeting", `"https://zoom.us/j/1?pwd=x"`: "Zoom",
		`"Studio 4, Hafenstr. 12"`: "Studio 4, Hafenstr. 12", `"+1 202 555 0143"`: "+1 202 555 0143", `""`: "", `null`: "", `{"a":1}`: "",
	} {
		e := event(t, change(t, body, `"location":"integrations:daily"`, `"location":`+from))
		got := ""
		if e.Location != nil {
			got = *e.Location
		}
		if got != want {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
}

func TestKindsWithoutUse(t *testing.T) {
	for _, c := range []struct {
		body string
		kind booking.Kind
	}{
		{`{"triggerEvent":"BOOKING_NEW_IN_2027","createdAt":"x","payload":{"uid":"a@b.example"}}`, "BOOKING_NEW_IN_2027"},
		{`{"triggerEvent":"a@b.example <script>"}`, "a_b.example__script_"},
		{`{"triggerEvent":"` + strings.Repeat("X", 500) + `"}`, booking.Kind(strings.Repeat("X", 64))},
	} {
		d := parse(c.body)
		providertest.CheckDelivery(t, d)
		if d.Status != booking.StatusIgnored || d.Kind != c.kind {
			t.Errorf("%.60s: status %q, kind %q", c.body, d.Status, d.Kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := calcom.New()
	o := providertest.Origin(p)
	f.Fuzz(func(t *testing.T, body []byte) {
		providertest.CheckDelivery(t, p.Parse(providers.Request{Body: body}, o))
	})
}

func FuzzRedact(f *testing.F) {
	for _, file := range bodies(f) {
		f.Add([]byte(fixture(f, file)))
	}
	p := calcom.New()
	f.Fuzz(func(t *testing.T, body []byte) { providertest.CheckRedaction(t, p, body) })
}

func BenchmarkParse(b *testing.B) {
	body := []byte(fixture(b, oneOnOne))
	p := calcom.New()
	o := providertest.Origin(p)
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(providers.Request{Body: body}, o)
	}
}
