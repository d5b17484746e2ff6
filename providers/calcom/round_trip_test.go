package calcom_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom/calcomtest"
)

// describe is what an event says of its booking: all of it, less what the API and
// a webhook cannot have in common. Those are key, clock and kind; Confirmed, which
// goes with the kind; what only the API tells of (no-shows); and the capacity of a
// booking without seats, of which the API is silent.
func describe(e *booking.Event) string {
	c := *e
	c.Kind, c.Key, c.At, c.Confirmed = "", "", time.Time{}, false
	c.Attendees = append([]booking.Attendee(nil), e.Attendees...)
	for i := range c.Attendees {
		c.Attendees[i].NoShow = nil
	}
	if c.Seats == nil {
		c.Session.Capacity = nil
	}
	out, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// sent is what the adapter makes of a post that the stand-in made.
func (a *account) sent(t *testing.T, posts []apitest.Post) *booking.Event {
	t.Helper()
	if len(posts) != 1 {
		t.Fatalf("%d posts", len(posts))
	}
	r := providers.Request{Header: posts[0].Header, Body: posts[0].Body}
	if _, err := a.provider.Verify(r, a.conn.Secrets, a.clock.now()); err != nil {
		t.Fatal(err)
	}
	d := a.provider.Parse(r, a.origin)
	if d.Event == nil {
		t.Fatalf("%s: %s", d.Code, d.Error)
	}
	return d.Event
}

// What the API says of a booking is what the webhook about it said.
func TestRoundTrip(t *testing.T) {
	a := newAccount(t)
	if _, err := a.subscribe(); err != nil {
		t.Fatal(err)
	}
	same := func(name, uid string, posts []apitest.Post, mask ...func(*booking.Event)) {
		t.Helper()
		listed, sent := a.stands(t, uid), a.sent(t, posts)
		for _, m := range mask {
			m(listed)
			m(sent)
		}
		if got, want := describe(listed), describe(sent); got != want {
			t.Errorf("%s: the API says\n%s\nthe webhook\n%s", name, got, want)
		}
	}
	bookedOnce := func(e *booking.Event) { e.BookedAt = nil }         // a cancel does not say when it was booked
	mayBeCut := func(e *booking.Event) { e.Session.HostsCut = false } // what closes or confirms may be cut, the API's list is whole

	uid, posts := a.book(t, intro, priya, noon)
	same("booked", uid, posts)
	moved, posts, err := a.Reschedule(uid, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	same("moved", moved, posts)
	posts, done, err := a.Cancel(moved, "Ill")
	if err != nil {
		t.Fatal(err)
	}
	done()
	same("canceled", moved, posts, bookedOnce, mayBeCut, func(e *booking.Event) { e.Predecessor = "" })

	guest := calcomtest.Person{Name: "Ada Guest", Email: "ada.guest@mail.example", Timezone: "Europe/Paris"}
	uid, posts, err = a.Book(panel, priya, noon, guest)
	if err != nil {
		t.Fatal(err)
	}
	same("with a team and a guest", uid, posts)

	uid, posts = a.book(t, consult, sean, noon)
	same("asked for", uid, posts)
	declined, _ := a.book(t, consult, kofi, noon)
	if posts, err = a.Reject(declined, "Full"); err != nil {
		t.Fatal(err)
	}
	same("declined", declined, posts, bookedOnce, mayBeCut)
	a.clock.pass(time.Minute)
	if posts, err = a.Confirm(uid); err != nil {
		t.Fatal(err)
	}
	same("confirmed", uid, posts, bookedOnce, mayBeCut)
	again, posts, err := a.Reschedule(uid, noon.Add(3*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	same("moved, to be confirmed again", again, posts)

	uid, posts = a.book(t, yoga, lena, noon)
	same("a seat", uid, posts)
	alone, _, err := a.MoveSeat(uid, lena.Email, noon.Add(4*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if e := a.stands(t, uid); e.Kind != booking.KindCanceled || len(e.Attendees) != 0 || e.Seats != nil {
		t.Errorf("left by its last: %+v", e)
	}
	_, posts = a.book(t, yoga, kofi, noon.Add(4*time.Hour))
	listed, sent := a.stands(t, alone), a.sent(t, posts)
	if len(listed.Attendees) != 2 || len(sent.Attendees) != 1 {
		t.Fatalf("%d listed, %d sent", len(listed.Attendees), len(sent.Attendees))
	}
	listed.Attendees, listed.Title, listed.BookedAt = listed.Attendees[1:], sent.Title, sent.BookedAt
	if got, want := describe(listed), describe(sent); got != want {
		t.Errorf("a second seat: the API says\n%s\nthe webhook\n%s", got, want)
	}

	_, uids, posts, err := a.BookSeries(intro, priya, noon.AddDate(0, 1, 0), 7*24*time.Hour, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, uid := range uids {
		same("one of a series", uid, posts[i:i+1])
	}
}

// What a page keeps can be shown as it is: nothing of it is a secret.
func TestKeptBookings(t *testing.T) {
	a := newAccount(t)
	uid, _ := a.book(t, yoga, lena, noon)
	s, err := a.look(uid)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := a.Booking(uid)
	for _, hidden := range []string{calcomtest.JoinSecret, b.Seats[0].UID, apiKey, "bookingFieldsResponses", "metadata", "meetingUrl"} {
		if strings.Contains(string(s.Body), hidden) {
			t.Errorf("%q is kept: %s", hidden, s.Body)
		}
	}
	for _, shown := range []string{uid, "lena.fischer@mail.example", "2026-11-03T12:00:00.000Z", "Studio 4, Hafenstr. 12", `"seats":8`} {
		if !strings.Contains(string(s.Body), shown) {
			t.Errorf("%q is not kept: %s", shown, s.Body)
		}
	}
	if got := a.provider.Redact([]byte(`{"snapshot":"another","uid":"x"}`)); !strings.Contains(string(got), "withheld") {
		t.Errorf("shown: %s", got)
	}
}
