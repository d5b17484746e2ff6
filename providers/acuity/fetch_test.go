package acuity_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/providertest"
)

const (
	tempo    = 100
	apiKey   = "test_acuity_api_key_0123456789abcdef"
	doctor   = 9120041
	studio   = 9120052
	consult  = 71500012
	mobility = 71500044
)

var mirela = acuitytest.Client{FirstName: "Mirela", LastName: "Okonjo", Email: "mirela.okonjo@example.com", Phone: "2125550142", Timezone: "Europe/Lisbon"}

// place is an account at the stand-in, and what asks it.
type place struct {
	*acuitytest.Server
	provider *acuity.Provider
	client   *http.Client
	conn     providers.Connection
	passed   atomic.Int64 // what the adapter's clock is ahead
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return placeAt(t, tempo)
}

func placeAt(t *testing.T, tempo providers.Tempo) *place {
	t.Helper()
	return placeWith(t, acuitytest.Options{Tempo: tempo})
}

func placeWith(t *testing.T, o acuitytest.Options) *place {
	t.Helper()
	o.UserID, o.APIKey, o.Now = "90000001", apiKey, time.Now
	o.Name, o.Email = "Harbour Physiotherapy", "Frontdesk@Example.com"
	tempo := o.Tempo
	s := acuitytest.New(o)
	s.AddCalendar(acuitytest.Calendar{ID: doctor, Name: "Dr. Ines Falk", Timezone: "America/New_York"})
	s.AddCalendar(acuitytest.Calendar{ID: studio, Name: "Studio B", Email: "Studio@Example.com", Timezone: "America/New_York"})
	s.AddType(acuitytest.Type{ID: consult, Name: "Initial Consultation ", Minutes: 50})
	s.AddType(acuitytest.Type{ID: mobility, Name: "Evening Mobility Class", Minutes: 60, ClassSize: 12})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // nothing is kept
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Server: s, client: providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: tempo, Now: time.Now})}
	t.Cleanup(p.client.CloseIdleConnections)
	p.provider = acuity.New(func() time.Time { return time.Now().Add(time.Duration(p.passed.Load())) }, tempo)
	p.conn = providers.Connection{
		ID: uuid.New(), Provider: acuity.Name, APIBase: s.APIBase(),
		API: providers.Credentials{User: "90000001"}, Secrets: providers.Secrets{Current: apiKey},
	}
	return p
}

func (p *place) book(t *testing.T, typeID, calendarID int64) string {
	t.Helper()
	id, _, err := p.Book(mirela, typeID, calendarID, noon)
	if err != nil {
		t.Fatal(err)
	}
	return number(id)
}

func (p *place) fetch(id string) ([]byte, error) {
	fetched, err := p.provider.Fetch(context.Background(), p.client, p.conn, id, nil)
	return fetched.Snapshot, err
}

func (p *place) read(t *testing.T, id string) *booking.Event {
	t.Helper()
	snapshot, err := p.fetch(id)
	if err != nil {
		t.Fatal(err)
	}
	d := p.provider.Read(snapshot, providertest.Origin(p.provider), noon, booking.KindDetails, "key")
	providertest.CheckFetched(t, d, booking.KindDetails, "key")
	if d.Event == nil {
		t.Fatalf("%s: %s", d.Code, d.Error)
	}
	return d.Event
}

func TestFetchWhatStands(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	e := p.read(t, id)
	if e.Kind != booking.KindSnapshot || *e.Title != "Initial Consultation" || !e.Session.StartsAt.Equal(noon) || e.Session.Hosts[0].Email != "" {
		t.Errorf("%+v", e)
	}
	if _, err := p.Move(toInt(t, id), studio, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if e := p.read(t, id); e.ExternalID != id || !e.Session.StartsAt.Equal(noon.Add(time.Hour)) || e.Session.Hosts[0].Email != "studio@example.com" {
		t.Errorf("moved: %+v", e)
	}
	if _, err := p.Cancel(toInt(t, id), true); err != nil {
		t.Fatal(err)
	}
	if e := p.read(t, id); e.Kind != booking.KindCanceled || !*e.Attendees[0].NoShow {
		t.Errorf("canceled: %+v", e)
	}
	if _, err := p.MarkNoShow(toInt(t, id), false); err != nil {
		t.Fatal(err)
	}
	if e := p.read(t, id); e.Kind != booking.KindCanceled || *e.Attendees[0].NoShow {
		t.Errorf("no no-show: %+v", e)
	}
	p.Remove(toInt(t, id))
	if _, err := p.fetch(id); !errors.Is(err, providers.ErrGone) {
		t.Errorf("removed: %v", err)
	}
}

func TestFetchKeepsNoSecrets(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	snapshot, err := p.fetch(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{acuitytest.Secret(toInt(t, id)), "confirmationPage", "formsText", apiKey} {
		if strings.Contains(string(snapshot), secret) {
			t.Errorf("%q is kept", secret)
		}
	}
}

func TestFetchTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble apitest.Trouble
		gone    bool
		later   bool
		text    string
	}{
		{apitest.Healthy, false, false, ""},
		{apitest.Slow, false, false, ""},
		{apitest.Missing, true, false, "Not Found"},
		{apitest.Limited, false, true, "Rate limit reached"},
		{apitest.Blocked, false, true, "403"},
		{apitest.Unauthorized, false, false, "401: Unauthorized"},
		{apitest.Forbidden, false, false, "403: Forbidden"},
		{apitest.NotHere, false, false, "404"},
		{apitest.Broken, false, false, "500"},
		{apitest.Unavailable, false, false, "503"},
		{apitest.Hanging, false, false, "deadline"},
		{apitest.Dropped, false, false, "EOF"},
		{apitest.Elsewhere, false, false, "another host"},
		{apitest.Garbage, false, false, "not what it documents"},
		{apitest.Misshapen, false, false, "not what it documents"},
		{apitest.Cut, false, false, "not what it documents"},
		{apitest.Endless, false, false, "too large"},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			p := placeAt(t, patient)
			id := p.book(t, consult, studio)
			p.Set(c.trouble)
			_, err := p.fetch(id)
			var later *providers.LaterError
			if (err != nil) != (c.text != "") || errors.Is(err, providers.ErrGone) != c.gone || errors.As(err, &later) != c.later {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), apiKey)) {
				t.Errorf("got %v, want %q in it", err, c.text)
			}
		})
	}
}

// A calendar's e-mail decides whether a slot is claimed: it is asked for before
// the appointment is believed, unless the account may not ask.
func TestCalendarsInTrouble(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble apitest.Trouble
		fails   bool
	}{
		{apitest.Broken, true},
		{apitest.Misshapen, true},
		{apitest.Limited, true},
		{apitest.Forbidden, false},
		{apitest.Missing, false},
	} {
		t.Run(string(c.trouble), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			id := p.book(t, consult, studio)
			p.Set(c.trouble, "/calendars")
			snapshot, err := p.fetch(id)
			if (err != nil) != c.fails || strings.Contains(string(snapshot), "calendarEmail") {
				t.Errorf("%s (%v)", snapshot, err)
			}
		})
	}
}

func TestCalendarsAreAskedOnce(t *testing.T) {
	p := newPlace(t)
	known, unknown := p.book(t, consult, studio), p.book(t, consult, doctor)
	calls := func() int { return p.Count("/calendars") }
	fetch := func(ids ...string) {
		t.Helper()
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				if _, err := p.fetch(id); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	fetch(known, known, unknown, known, unknown)
	if calls() != 1 {
		t.Errorf("asked %d times at first", calls())
	}
	// A calendar without an e-mail is asked about again after a minute, and then
	// for all.
	p.passed.Store(int64(time.Minute / tempo))
	fetch(known)
	if calls() != 1 {
		t.Errorf("asked %d times, though the e-mail is known", calls())
	}
	p.AddCalendar(acuitytest.Calendar{ID: doctor, Name: "Dr. Ines Falk", Email: "ines.falk@example.com", Timezone: "America/New_York"})
	fetch(unknown, unknown, unknown)
	if calls() != 2 {
		t.Errorf("asked %d times after a minute", calls())
	}
	if e := p.read(t, unknown); e.Session.Hosts[0].Email != "ines.falk@example.com" {
		t.Errorf("host %+v", e.Session.Hosts)
	}
	// One that is known is asked about again after an hour.
	p.passed.Store(int64(2 * time.Hour / tempo))
	fetch(known, unknown)
	if calls() != 3 {
		t.Errorf("asked %d times after an hour", calls())
	}
	// Another connection, or another base, knows nothing of these.
	p.conn.ID = uuid.New()
	fetch(known, unknown)
	if calls() != 4 {
		t.Errorf("asked %d times over two connections", calls())
	}
}

func TestFetchNeedsCredentials(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	p.conn.API.User = ""
	if _, err := p.fetch(id); err == nil || p.Count("/") != 0 {
		t.Errorf("asked %d times without a user (%v)", p.Count("/"), err)
	}
	if _, err := p.fetch("7/../me"); err == nil || p.Count("/") != 0 {
		t.Errorf("asked %d times for no id (%v)", p.Count("/"), err)
	}
}

// Any number of workers together stay within 10 requests in any second, and 20
// connections. This takes real seconds, and runs beside no other: the faster time
// passes, and the busier the machine, the more its own delays look like a burst.
func TestFetchStaysWithinTheLimits(t *testing.T) {
	const appointments = 25
	p := placeAt(t, 1)
	var all sync.WaitGroup
	began := time.Now()
	for range appointments {
		id := p.book(t, consult, doctor)
		all.Go(func() {
			if _, err := p.fetch(id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, took := p.Count("/"), time.Since(began); n != appointments+1 || took > 5*time.Second {
		t.Errorf("%d requests in %s", n, took)
	}
	if p.Busiest() > 10 || p.MostConnections() > 20 {
		t.Errorf("%d requests in one second, %d connections", p.Busiest(), p.MostConnections())
	}
}
