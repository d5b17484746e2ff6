package acuity_test

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/providertest"
)

// around is a window of two days about noon.
var around = providers.Window{From: noon.Add(-day), To: noon.Add(day)}

const day = 24 * time.Hour

// list reads all pages, and counts the requests that they say they took.
func (p *place) list(t *testing.T, w providers.Window) ([]providers.Standing, int) {
	t.Helper()
	var all []providers.Standing
	requests := 0
	for cursor, turns := "", 0; ; turns++ {
		page, err := p.provider.List(t.Context(), p.client, p.conn, providertest.Origin(p.provider), w, cursor, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Standings {
			providertest.CheckFetched(t, s.Delivery, s.Kind, "")
		}
		all = append(all, page.Standings...)
		requests += page.Requests
		if cursor = page.Next; cursor == "" {
			return all, requests
		}
		if turns > 400 {
			t.Fatal("there is no last page")
		}
	}
}

func externalIDs(t *testing.T, all []providers.Standing) []string {
	t.Helper()
	var ids []string
	for _, s := range all {
		if s.Event == nil {
			t.Errorf("%s: %s", s.Code, s.Error)
			continue
		}
		ids = append(ids, s.Event.ExternalID)
	}
	slices.Sort(ids)
	return ids
}

// What a list says of an appointment is what fetching it says, and so does Look.
func TestListReadsAsFetchDoes(t *testing.T) {
	p := newPlace(t)
	stands, moved, gone, absent := p.book(t, consult, doctor), p.book(t, consult, doctor), p.book(t, consult, studio), p.book(t, consult, studio)
	seats := []string{p.book(t, mobility, studio), p.book(t, mobility, studio)}
	nobody, _, err := p.Book(acuitytest.Client{}, consult, doctor, noon.Add(3*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Move(toInt(t, moved), studio, noon.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for id, noShow := range map[string]bool{gone: false, absent: true} {
		if _, err := p.Cancel(toInt(t, id), noShow); err != nil {
			t.Fatal(err)
		}
	}
	all, requests := p.list(t, around)
	want := slices.Sorted(slices.Values(append(seats, stands, moved, gone, absent, number(nobody))))
	if got := externalIDs(t, all); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	// Four days, for the account's dates are its own, and the calendars once.
	if requests != p.Count("/") || p.Count("/appointments") != 5 || p.Count("/calendars") != 1 {
		t.Errorf("said %d requests, were %d of appointments and %d of calendars", requests, p.Count("/appointments"), p.Count("/calendars"))
	}
	kinds := map[string]booking.Kind{gone: booking.KindCanceled, absent: booking.KindCanceled}
	for _, s := range all {
		id := s.Event.ExternalID
		kind := booking.KindSnapshot
		if k, ok := kinds[id]; ok {
			kind = k
		}
		if s.Kind != kind || s.Event.Kind != kind || !s.Event.At.Equal(noon) {
			t.Errorf("%s: %+v", id, s)
		}
		fetched := p.read(t, id)
		fetched.Key, fetched.At = s.Event.Key, s.Event.At
		if !reflect.DeepEqual(s.Event, fetched) {
			t.Errorf("%s: listed\n%+v\nfetched\n%+v", id, s.Event, fetched)
		}
		looked, err := p.provider.Look(t.Context(), p.client, p.conn, providertest.Origin(p.provider), id, noon)
		if err != nil || !reflect.DeepEqual(looked, s) {
			t.Errorf("%s: looked at\n%+v (%v)\nlisted\n%+v", id, looked, err, s)
		}
		// What is kept says the same when it is read again.
		if again := p.provider.Read(s.Body, providertest.Origin(p.provider), noon, s.Kind, ""); !reflect.DeepEqual(again.Event, s.Event) {
			t.Errorf("%s: kept\n%s", id, s.Body)
		}
	}
}

func TestLookAtWhatIsNotThere(t *testing.T) {
	p := newPlace(t)
	look := func(id string) error {
		_, err := p.provider.Look(t.Context(), p.client, p.conn, providertest.Origin(p.provider), id, noon)
		return err
	}
	if err := look("17"); !errors.Is(err, providers.ErrGone) {
		t.Errorf("unknown: %v", err)
	}
	if err := look("7/../me"); err == nil || p.Count("/") != 1 {
		t.Errorf("no id: %v", err)
	}
}

// A window's edges are instants, wherever the account's days begin.
func TestListWindow(t *testing.T) {
	w := providers.Window{From: time.Date(2026, 9, 15, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 9, 17, 0, 0, 0, 0, time.UTC)}
	for _, zone := range []string{"America/New_York", "Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"} {
		p := placeWith(t, acuitytest.Options{Tempo: tempo, Timezone: zone})
		var want []string
		for _, c := range []struct {
			at     time.Time
			inside bool
		}{
			{w.From.Add(-day), false},
			{w.From.Add(-time.Second), false},
			{w.From, true},
			{w.From.Add(day), true},
			{w.To.Add(-time.Second), true},
			{w.To, false},
			{w.To.Add(day), false},
		} {
			id, _, err := p.Book(mirela, consult, doctor, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if c.inside {
				want = append(want, number(id))
			}
		}
		all, _ := p.list(t, w)
		if got := externalIDs(t, all); !slices.Equal(got, want) {
			t.Errorf("%s: listed %v, want %v", zone, got, want)
		}
	}
	p := newPlace(t)
	if all, requests := p.list(t, providers.Window{From: noon, To: noon}); len(all) != 0 || requests != 0 {
		t.Errorf("an empty window: %v after %d requests", all, requests)
	}
	if _, err := p.provider.List(t.Context(), p.client, p.conn, providers.Origin{}, w, "17", noon); err == nil {
		t.Error("no cursor was taken for one")
	}
}

// fill books appointments, each later than the one before by step.
func (p *place) fill(t *testing.T, n int, typeID, calendarID int64, step time.Duration) []string {
	t.Helper()
	var ids []string
	for i := range n {
		id, _, err := p.Book(mirela, typeID, calendarID, noon.Add(time.Duration(i)*step))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, number(id))
	}
	return ids
}

func TestFullDays(t *testing.T) {
	t.Parallel()
	const other, third = 71500099, 71500100
	for _, c := range []struct {
		name string
		// fill says which appointments there are.
		fill func(t *testing.T, p *place) []string
		// requests are those for the day and for what it is split by.
		requests int
	}{
		{"99", func(t *testing.T, p *place) []string { return p.fill(t, 99, consult, doctor, time.Minute) }, 1},
		{"100, from both ends", func(t *testing.T, p *place) []string { return p.fill(t, 100, consult, doctor, time.Minute) }, 2},
		{"198, from both ends", func(t *testing.T, p *place) []string { return p.fill(t, 198, consult, doctor, time.Minute) }, 2},
		{"100 at one time, of two calendars", func(t *testing.T, p *place) []string {
			return append(p.fill(t, 50, consult, doctor, 0), p.fill(t, 50, consult, studio, 0)...)
		}, 5},
		{"250, of two calendars", func(t *testing.T, p *place) []string {
			return append(p.fill(t, 125, consult, doctor, time.Minute), p.fill(t, 125, consult, studio, time.Minute)...)
		}, 7},
		{"250 at one time, of three types", func(t *testing.T, p *place) []string {
			return slices.Concat(p.fill(t, 80, consult, doctor, 0), p.fill(t, 85, other, doctor, 0), p.fill(t, 85, third, doctor, 0))
		}, 11},
		{"a calendar that is no longer listed", func(t *testing.T, p *place) []string {
			ids := append(p.fill(t, 60, consult, doctor, 0), p.fill(t, 60, consult, studio, 0)...)
			p.DropCalendar(studio)
			return ids
		}, 5},
		{"classes of a day", func(t *testing.T, p *place) []string {
			var ids []string
			for hour := range 12 {
				for range 12 {
					id, _, err := p.Book(mirela, mobility, studio, noon.Add(time.Duration(hour)*time.Hour))
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, number(id))
				}
			}
			return ids
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := placeAt(t, patient)
			p.AddType(acuitytest.Type{ID: other, Name: "Follow-up", Minutes: 20})
			p.AddType(acuitytest.Type{ID: third, Name: "Massage", Minutes: 30})
			want := c.fill(t, p)
			all, requests := p.list(t, around)
			if got := externalIDs(t, all); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%d listed, %d stand", len(got), len(want))
			}
			// Four more days, and the calendars' e-mails.
			if requests != c.requests+5 || p.Count("/") != requests {
				t.Errorf("said %d requests, were %d, want %d", requests, p.Count("/"), c.requests+5)
			}
			if p.Count("/") != len(p.Requests()) || strings.Contains(c.name, "class") && len(sessions(all)) != 12 {
				t.Errorf("%d sessions", len(sessions(all)))
			}
		})
	}
}

func sessions(all []providers.Standing) map[string]int {
	out := map[string]int{}
	for _, s := range all {
		out[s.Event.Session.ExternalID]++
	}
	return out
}

// What cannot be read whole is an error, never a part.
func TestFullBeyondReading(t *testing.T) {
	p := placeAt(t, patient)
	p.fill(t, 100, mobility, studio, 0)
	page, err := p.provider.List(t.Context(), p.client, p.conn, providertest.Origin(p.provider), around, "2026-09-15", noon)
	if err != nil || len(page.Standings) != 101 {
		t.Fatalf("%d standings: %v", len(page.Standings), err)
	}
	if s := page.Standings[0]; s.Event != nil || s.Code != providers.CodeListCut || s.Subject != "day|2026-09-15" ||
		!strings.Contains(s.Error, "2026-09-15 in calendar 9120052 of type 71500044") {
		t.Errorf("%+v", s)
	}
}

// One that cannot be read is shown as such, and hides no other.
func TestListGoesOnPastWhatItCannotRead(t *testing.T) {
	p := newPlace(t)
	p.AddType(acuitytest.Type{ID: 9, Name: "Nothing", Minutes: 0})
	good, bad := p.book(t, consult, doctor), p.book(t, 9, doctor)
	all, _ := p.list(t, around)
	if len(all) != 2 || all[0].Event == nil || all[0].Event.ExternalID != good {
		t.Fatalf("%+v", all)
	}
	if s := all[1]; s.Status != booking.StatusFailed || s.Code != providers.CodeEndBeforeStart || !strings.Contains(string(s.Body), bad) {
		t.Errorf("%+v", s)
	}
}

// recorder notes the queries that a client sends.
type recorder struct {
	next    http.RoundTripper
	queries []url.Values
	before  func(r *http.Request)
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.queries = append(r.queries, request.URL.Query())
	if r.before != nil {
		r.before(request)
	}
	return r.next.RoundTrip(request)
}

func (p *place) record() *recorder {
	r := &recorder{next: p.client.Transport}
	p.client.Transport = r
	return r
}

// Forms and notes hold what clients tell their therapist: lists do not ask for
// them, and nothing keeps what an answer has all the same.
func TestHealthDataIsNotKept(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	if _, err := p.Tell(toInt(t, id), "asked about her knee", acuitytest.Answer{Question: "Goal", Text: "Return to running"}); err != nil {
		t.Fatal(err)
	}
	if _, body, _ := p.ask(t, http.MethodGet, "/appointments/"+id, apiKey); !strings.Contains(body, "knee") || !strings.Contains(body, "running") {
		t.Fatalf("the API has nothing to hide: %s", body)
	}
	sent := p.record()
	all, _ := p.list(t, around)
	for _, query := range sent.queries {
		if query.Has("minDate") && query.Get("excludeForms") != "true" {
			t.Errorf("asked for forms: %v", query)
		}
	}
	looked, err := p.provider.Look(t.Context(), p.client, p.conn, providertest.Origin(p.provider), id, noon)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d listed (%v)", len(all), err)
	}
	for _, body := range [][]byte{all[0].Body, looked.Body} {
		for _, hidden := range []string{"knee", "running", "Goal", "forms", "notes", "confirmationPage", acuitytest.Secret(toInt(t, id)), apiKey} {
			if strings.Contains(string(body), hidden) {
				t.Errorf("%q is kept in %s", hidden, body)
			}
		}
	}
}
