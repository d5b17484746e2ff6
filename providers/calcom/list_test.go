package calcom_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/calcom/calcomtest"
)

// all reads every page, and gives the uids with the requests that they took.
func (a *account) all(t *testing.T, from, to time.Time) (standings []providers.Standing, pages, requests int) {
	t.Helper()
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		page, err := a.list(from, to, cursor)
		if err != nil {
			t.Fatal(err)
		}
		standings = append(standings, page.Standings...)
		requests += page.Requests
		cursor = page.Next
	}
	for _, s := range standings {
		a.check(t, s)
	}
	return standings, pages, requests
}

func uidsOf(standings []providers.Standing) []string {
	var out []string
	for _, s := range standings {
		if s.Event != nil {
			out = append(out, s.Event.ExternalID)
		}
	}
	return out
}

func TestListPages(t *testing.T) {
	a := newAccount(t)
	var want []string
	for i := range 250 {
		uid, _ := a.book(t, intro, priya, noon.Add(time.Duration(i)*time.Hour))
		want = append(want, uid)
	}
	got, pages, requests := a.all(t, noon, noon.AddDate(1, 0, 0))
	if !slices.Equal(uidsOf(got), want) || pages != 3 || requests != 3 || a.Count("/bookings") != 3 {
		t.Errorf("%d bookings in %d pages and %d requests (%d came)", len(got), pages, requests, a.Count("/bookings"))
	}
	// What begins later is not paged through.
	got, pages, _ = a.all(t, noon, noon.Add(10*time.Hour))
	if !slices.Equal(uidsOf(got), want[:10]) || pages != 1 {
		t.Errorf("%d bookings in %d pages", len(got), pages)
	}
	if _, err := a.list(noon, noon.Add(time.Hour), "x"); err == nil {
		t.Error("a strange cursor was taken")
	}
	if page, err := a.list(noon, noon.AddDate(1, 0, 0), "1000"); err != nil || page.Next != "" || len(page.Standings) != 0 {
		t.Errorf("after the last page: %+v (%v)", page, err)
	}
}

// The window is of beginnings, the first instant in it, the last not.
func TestListWindow(t *testing.T) {
	a := newAccount(t)
	a.AddEventType(calcomtest.EventType{ID: 1, Title: "Retreat", Minutes: 20 * 24 * 60})
	a.book(t, intro, priya, noon.Add(-time.Second))
	first, _ := a.book(t, intro, priya, noon)
	long, _ := a.book(t, 1, kofi, noon.Add(59*time.Minute))
	a.book(t, intro, priya, noon.Add(time.Hour))
	got, _, _ := a.all(t, noon, noon.Add(time.Hour))
	if !slices.Equal(uidsOf(got), []string{first, long}) {
		t.Errorf("got %v", uidsOf(got))
	}
}

func TestListTellsHowBookingsStand(t *testing.T) {
	a := newAccount(t)
	stands, _ := a.book(t, intro, priya, noon)
	asked, _ := a.book(t, consult, sean, noon)
	declined, _ := a.book(t, consult, sean, noon)
	if _, err := a.Reject(declined, "Full"); err != nil {
		t.Fatal(err)
	}
	canceled, _ := a.book(t, intro, kofi, noon)
	_, done, err := a.Cancel(canceled, "Ill")
	if err != nil {
		t.Fatal(err)
	}
	done()
	old, _ := a.book(t, intro, lena, noon)
	moved, _, err := a.Reschedule(old, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	a.clock.pass(30 * 24 * time.Hour) // the past is listed, too
	type state struct {
		kind        booking.Kind
		confirmed   bool
		reason      booking.Reason
		predecessor string
		successor   string
	}
	want := map[string]state{
		stands:   {kind: booking.KindCreated, confirmed: true},
		declined: {kind: booking.KindCanceled, reason: booking.ReasonDeclined},
		canceled: {kind: booking.KindCanceled, reason: booking.ReasonCanceled},
		old:      {kind: booking.KindCanceled, reason: booking.ReasonRescheduled, successor: moved},
		moved:    {kind: booking.KindCreated, confirmed: true, predecessor: old},
		asked:    {kind: booking.KindRequested},
	}
	got, _, _ := a.all(t, noon, noon.AddDate(0, 0, 1))
	for _, s := range got {
		e := s.Event
		if g := (state{e.Kind, e.Confirmed, e.Reason, e.Predecessor, e.Successor}); g != want[e.ExternalID] || s.Kind != e.Kind {
			t.Errorf("%+v, want %+v", g, want[e.ExternalID])
		}
		if !e.At.Equal(a.clock.now()) || e.BookedAt == nil || !e.BookedAt.Equal(today) || e.Seats != nil || e.Session.Capacity != nil || e.Session.HostsCut {
			t.Errorf("%+v", e)
		}
		if look := a.stands(t, e.ExternalID); fmt.Sprint(describe(look)) != fmt.Sprint(describe(e)) {
			t.Errorf("looked at: %v, listed: %v", describe(look), describe(e))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d listed", len(got))
	}
}

func TestListSeats(t *testing.T) {
	a := newAccount(t)
	withPhone := kofi
	withPhone.Phone = "+233302550143"
	uid, _ := a.book(t, yoga, lena, noon)
	a.book(t, yoga, withPhone, noon)
	other, _ := a.book(t, yoga, priya, noon.Add(2*time.Hour))
	if _, err := a.MarkNoShow(uid, kofi.Email, true); err != nil {
		t.Fatal(err)
	}
	got, _, requests := a.all(t, noon, noon.AddDate(0, 0, 1))
	if !slices.Equal(uidsOf(got), []string{uid, other}) || requests != 2 || a.Count("/event-types/90212") != 1 {
		t.Fatalf("%v in %d requests", uidsOf(got), requests)
	}
	e := got[0].Event
	if deref(e.Seats) != 8 || deref(e.Session.Capacity) != 8 || *e.Title != "Group Yoga" || len(e.Attendees) != 2 ||
		*e.Attendees[0].NoShow || !*e.Attendees[1].NoShow || *e.Attendees[1].Phone != withPhone.Phone {
		t.Errorf("%+v", e)
	}
	if e := got[1].Event; *e.Title != "Group Yoga between Maren Oduya and Priya Raman" {
		t.Errorf("the title of one is %q", *e.Title)
	}
	// A type that the key may not see leaves the number open, not that there are seats.
	hidden := newAccount(t)
	hidden.AddEventType(calcomtest.EventType{ID: 7, Title: "Theirs", Minutes: 60, Seats: 5})
	uid, _ = hidden.book(t, 7, lena, noon)
	hidden.book(t, 7, kofi, noon)
	hidden.Set("missing", "/event-types")
	if e := hidden.stands(t, uid); deref(e.Seats) != 2 || e.Session.Capacity != nil || e.Title != nil {
		t.Errorf("%+v", e)
	}
	hidden.Set("broken", "/event-types")
	if _, err := hidden.look(uid); err == nil {
		t.Error("a broken API left the number open")
	}
}

// With seats only some came from the old booking, which lives on for others.
func TestMovedSeatsHaveNoPredecessor(t *testing.T) {
	a := newAccount(t)
	uid, _ := a.book(t, yoga, lena, noon)
	a.book(t, yoga, kofi, noon)
	moved, _, err := a.MoveSeat(uid, kofi.Email, noon.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if e := a.stands(t, moved); e.Predecessor != "" || len(e.Attendees) != 1 {
		t.Errorf("%+v", e)
	}
	if e := a.stands(t, uid); e.Kind != booking.KindCreated || len(e.Attendees) != 1 || e.Attendees[0].Email != lena.Email {
		t.Errorf("%+v", e)
	}
}

func TestListHosts(t *testing.T) {
	a := newAccount(t)
	guest := calcomtest.Person{Name: "Ada Guest", Email: "ada.guest@mail.example", Timezone: "Europe/Paris"}
	uid, _, err := a.Book(panel, priya, noon, guest)
	if err != nil {
		t.Fatal(err)
	}
	e := a.stands(t, uid)
	if len(e.Session.Hosts) != 2 || e.Session.Hosts[1].Email != theo.Email || e.Session.HostsCut || len(e.Attendees) != 2 || e.Attendees[1].Email != guest.Email {
		t.Errorf("%+v", e)
	}
	// Who is booked instead is told of by nothing but this.
	lone, _ := a.book(t, intro, priya, noon)
	if err := a.Reassign(lone, theo); err != nil {
		t.Fatal(err)
	}
	if err := a.Relocate(lone, "Studio 4, Hafenstr. 12"); err != nil {
		t.Fatal(err)
	}
	e = a.stands(t, lone)
	if len(e.Session.Hosts) != 1 || e.Session.Hosts[0].ExternalID != theo.Email || e.Session.HostsCut || *e.Location != "Studio 4, Hafenstr. 12" {
		t.Errorf("%+v", e)
	}
}

func TestLookAtASeries(t *testing.T) {
	a := newAccount(t)
	series, uids, _, err := a.BookSeries(intro, priya, noon, 7*24*time.Hour, 52)
	if err != nil {
		t.Fatal(err)
	}
	if e := a.stands(t, uids[51]); !e.Session.StartsAt.Equal(noon.AddDate(0, 0, 51*7)) {
		t.Errorf("%+v", e)
	}
	for _, uid := range []string{series, "none", "a/b?c"} {
		if _, err := a.look(uid); !errors.Is(err, providers.ErrGone) {
			t.Errorf("%s: %v", uid, err)
		}
	}
	for _, uid := range []string{"", ".", ".."} {
		if _, err := a.look(uid); err == nil {
			t.Errorf("%q is asked for", uid)
		}
	}
	if got, _, _ := a.all(t, noon, noon.AddDate(2, 0, 0)); !slices.Equal(uidsOf(got), uids) {
		t.Errorf("%d listed", len(got))
	}
}

// canned answers every request with one text.
func canned(t *testing.T, body string) *account {
	t.Helper()
	a := newAccount(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body)) // a client that left
	}))
	t.Cleanup(s.Close)
	a.conn.APIBase = s.URL
	a.origin.Source = a.conn.Source()
	return a
}

const one = `{"uid":"u1","status":"accepted","title":"Intro","start":"2026-11-03T12:00:00.000Z","end":"2026-11-03T12:30:00.000Z","createdAt":"2026-10-01T00:00:00.000Z",` +
	`"hosts":[{"id":1,"name":"Maren Oduya","email":"maren.oduya@harbourclinic.example"}],"attendees":[{"name":"Priya Raman","email":"priya.raman@mail.example","timeZone":"America/New_York","absent":false}]}`

// One that cannot be read does not hide the others.
func TestListGoesOnAfterWhatItCannotRead(t *testing.T) {
	for _, c := range []struct{ name, from, to, code string }{
		{"no uid", `"uid":"u1",`, ``, providers.CodeIDMissing},
		{"no start", `"start":"2026-11-03T12:00:00.000Z",`, ``, providers.CodeTimeMissing},
		{"backwards", `T12:30`, `T11:30`, providers.CodeEndBeforeStart},
		{"no such zone", `America/New_York`, `America/Atlantis`, providers.CodeZoneUnknown},
		{"another state", `accepted`, `resting`, providers.CodeKindMissing},
		{"no state", `"status":"accepted",`, ``, providers.CodeKindMissing},
		{"a long e-mail", `priya.raman@`, strings.Repeat("p", 400) + "@", providers.CodeFieldTooLong},
		{"too many attend", `"attendees":[`, `"attendees":[` + strings.Repeat(`{"name":"A"},`, 1001), providers.CodeTooManyAttendees},
		{"too large", `"name":"Priya Raman"`, `"name":"` + strings.Repeat("x", 2<<20) + `"`, providers.CodeBodyTooLarge},
	} {
		bad := strings.Replace(one, c.from, c.to, 1)
		a := canned(t, `{"status":"success","data":[`+bad+`,`+strings.Replace(one, "u1", "u2", 1)+`]}`)
		page, err := a.list(noon, noon.Add(time.Hour), "")
		if err != nil || len(page.Standings) != 2 || page.Next != "" {
			t.Errorf("%s: %d (%v)", c.name, len(page.Standings), err)
			continue
		}
		failed, read := page.Standings[0], page.Standings[1]
		if failed.Status != booking.StatusFailed || failed.Code != c.code || read.Event == nil || read.Event.ExternalID != "u2" {
			t.Errorf("%s: %q %s", c.name, failed.Code, failed.Error)
		}
		for _, s := range page.Standings {
			a.check(t, s)
		}
		if strings.Contains(failed.Error, "Atlantis") || len(failed.Body) > providers.MaxSnapshot {
			t.Errorf("%s: %s", c.name, failed.Error)
		}
	}
}

func TestOlderShapes(t *testing.T) {
	// A version without e-mails names neither hosts nor invitees.
	a := canned(t, `{"status":"success","data":[`+strings.NewReplacer(`,"email":"maren.oduya@harbourclinic.example"`, ``, `"email":"priya.raman@mail.example",`, ``).Replace(one)+`,null,7]}`)
	page, err := a.list(noon, noon.Add(time.Hour), "")
	if err != nil || len(page.Standings) != 3 {
		t.Fatal(err)
	}
	if e := page.Standings[0].Event; e == nil || e.Session.Hosts != nil || len(e.Attendees) != 1 || e.Attendees[0].Key != "" {
		t.Errorf("%+v", e)
	}
	// Without answers to the form a second attendee may be a host.
	a = canned(t, `{"status":"success","data":`+strings.Replace(one, `"attendees":[`, `"attendees":[{"name":"Theo","email":"theo.adeyemi@harbourclinic.example"},`, 1)+`}`)
	if e := a.stands(t, "u1"); !e.Session.HostsCut || len(e.Attendees) != 2 || len(e.Session.Hosts) != 1 {
		t.Errorf("%+v", e)
	}
	// A placeholder names nobody; a meeting that waits for its host is a request.
	a = canned(t, `{"status":"success","data":`+strings.NewReplacer(`maren.oduya@harbourclinic.example`, `unknown`, `accepted`, `awaiting_host`).Replace(one)+`}`)
	if e := a.stands(t, "u1"); e.Session.Hosts != nil || e.Kind != booking.KindRequested {
		t.Errorf("%+v", e)
	}
	for _, body := range []string{
		`{"status":"success","data":{"bookings":[` + one + `],"recurringInfo":[],"nextCursor":null}}`, `{"status":"success"}`, `{"data":null}`, `[]`,
		`{"data":{"uid":"u2","status":"accepted","start":"2026-11-03T12:00:00.000Z"}}`, `{"data":{"uid":"u1","startTime":"2026-11-03T12:00:00.000Z"}}`,
	} {
		a := canned(t, body)
		if _, err := a.list(noon, noon.Add(time.Hour), ""); err == nil || !strings.Contains(err.Error(), "not what it documents") {
			t.Errorf("listed %s: %v", body, err)
		}
		if _, err := a.look("u1"); err == nil || !strings.Contains(err.Error(), "not what it documents") {
			t.Errorf("looked at %s: %v", body, err)
		}
	}
}

// Each booking counts once a page, whatever the parts of the list that it is in.
func TestListTwice(t *testing.T) {
	a := canned(t, `{"status":"success","data":[`+one+`,`+one+`],"pagination":{"hasNextPage":true,"itemsPerPage":2}}`)
	page, err := a.list(noon, noon.Add(time.Hour), "4")
	if err != nil || len(page.Standings) != 1 || !strings.HasPrefix(page.Next, "6 ") {
		t.Errorf("%+v (%v)", page, err)
	}
}
