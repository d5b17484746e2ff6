package calcom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom/calcomtest"
)

// ask is a plain client's request, past our own limits.
func (a *account) ask(t *testing.T, method, path, version, body string) (int, map[string]any, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.APIBase()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.conn.API.Token)
	r.Header.Set("Cal-Api-Version", version)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.StatusCode, out, answer.Header
}

// member is an object's member that is one, too.
func member(of map[string]any, name string) map[string]any {
	m, _ := of[name].(map[string]any)
	return m
}

const v0813 = "2024-08-13"

// Another version, or none, is answered with another shape and no error.
func TestStandInVersions(t *testing.T) {
	a := newAccount(t)
	uid, _ := a.book(t, yoga, lena, noon)
	for path, right := range map[string]string{"/bookings": v0813, "/bookings/" + uid: v0813, "/event-types/90212": "2024-06-14"} {
		shapes := map[string]bool{}
		for _, version := range []string{right, "", "2024-04-15"} {
			status, body, _ := a.ask(t, http.MethodGet, path, version, "")
			text, err := json.Marshal(body["data"])
			if err != nil || status != http.StatusOK || body["status"] != "success" {
				t.Fatalf("%s as of %q: %d %v", path, version, status, body)
			}
			shapes[string(text)] = true
		}
		if len(shapes) != 2 {
			t.Errorf("%s has %d shapes", path, len(shapes))
		}
	}
}

func TestStandInErrors(t *testing.T) {
	a := newAccount(t)
	id := a.AddWebhook(calcomtest.Webhook{URL: target})
	for _, c := range []struct {
		method, path, body string
		status             int
		code, message      string
	}{
		{http.MethodGet, "/bookings/none", "", 404, "NotFoundException", "Booking with uid=none was not found in the database"},
		{http.MethodGet, "/bookings?status=open", "", 400, "BadRequestException", "Invalid status"},
		{http.MethodGet, "/bookings?take=251", "", 400, "BadRequestException", "250"},
		{http.MethodGet, "/bookings?skip=-1", "", 400, "BadRequestException", "skip"},
		{http.MethodGet, "/bookings?afterStart=monday", "", 400, "BadRequestException", "afterStart"},
		{http.MethodGet, "/event-types/1", "", 404, "NotFoundException", "not found"},
		{http.MethodGet, "/slots", "", 404, "NotFoundException", "Cannot GET /v2/slots"},
		{http.MethodPost, "/webhooks", `{"subscriberUrl":"` + target + `","triggers":[],"active":true}`, 409, "ConflictException", "already exists"},
		{http.MethodPost, "/webhooks", `{"subscriberUrl":"https://x.example","triggers":["BOOKING_CONFIRMED"],"active":true}`, 400, "BadRequestException", ""},
		{http.MethodPost, "/webhooks", `{"triggers":[]}`, 400, "BadRequestException", ""},
		{http.MethodPost, "/webhooks", `[`, 400, "BadRequestException", ""},
		{http.MethodGet, "/webhooks/none", "", 404, "NotFoundException", ""},
		{http.MethodPatch, "/webhooks/none", "{}", 404, "NotFoundException", ""},
		{http.MethodPatch, "/webhooks/" + id, `{"triggers":["x"]}`, 400, "BadRequestException", ""},
		{http.MethodDelete, "/webhooks/none", "", 404, "NotFoundException", ""},
		{http.MethodPost, "/bookings/none/cancel", `{"cancellationReason":"x"}`, 404, "NotFoundException", ""},
		{http.MethodPost, "/bookings/none/cancel", `x`, 400, "BadRequestException", ""},
	} {
		status, body, _ := a.ask(t, c.method, c.path, v0813, c.body)
		e := member(body, "error")
		message, _ := e["message"].(string)
		if status != c.status || body["status"] != "error" || e["code"] != c.code || !strings.Contains(message, c.message) || body["timestamp"] == nil || body["path"] != "/v2"+c.path {
			t.Errorf("%s %s: %d %v", c.method, c.path, status, body)
		}
	}
	for _, key := range []string{"", "another"} {
		a.conn.API.Token = key
		if status, body, _ := a.ask(t, http.MethodGet, "/me", v0813, ""); status != http.StatusUnauthorized || body["status"] != "error" {
			t.Errorf("key %q: %d %v", key, status, body)
		}
	}
}

func TestStandInWebhooks(t *testing.T) {
	a := newAccount(t)
	status, body, _ := a.ask(t, http.MethodPost, "/webhooks", v0813, `{"subscriberUrl":"`+target+`","triggers":["BOOKING_CREATED"],"active":true,"secret":"s"}`)
	made := member(body, "data")
	id, _ := made["id"].(string)
	if status != http.StatusCreated || made["subscriberUrl"] != target || made["secret"] != "s" || made["active"] != true {
		t.Fatalf("made: %d %v", status, body)
	}
	if _, body, _ := a.ask(t, http.MethodPatch, "/webhooks/"+id, v0813, `{"active":false}`); member(body, "data")["active"] != false {
		t.Errorf("changed: %v", body)
	}
	status, body, _ = a.ask(t, http.MethodGet, "/webhooks/"+id, v0813, "")
	if got := member(body, "data"); status != http.StatusOK || got["active"] != false || got["secret"] != "s" || fmt.Sprint(got["triggers"]) != "[BOOKING_CREATED]" {
		t.Errorf("read: %v", body)
	}
	if status, _, _ := a.ask(t, http.MethodDelete, "/webhooks/"+id, v0813, ""); status != http.StatusOK || len(a.Webhooks()) != 0 {
		t.Errorf("deleted: %d", status)
	}
	hides := newAccount(t, func(o *calcomtest.Options) { o.HideSecrets = true })
	id = hides.AddWebhook(calcomtest.Webhook{URL: target, Secret: "s"})
	if _, body, _ := hides.ask(t, http.MethodGet, "/webhooks/"+id, v0813, ""); strings.Contains(fmt.Sprint(body), "secret") {
		t.Errorf("told: %v", body)
	}
	if status, _, _ := newAccount(t, func(o *calcomtest.Options) { o.NoWebhooks = true }).ask(t, http.MethodGet, "/webhooks", v0813, ""); status != http.StatusNotFound {
		t.Errorf("without webhooks: %d", status)
	}
}

// Past 120 requests a minute of its time it answers 429, however it is asked.
func TestStandInLimits(t *testing.T) {
	a := newAccount(t, func(o *calcomtest.Options) { o.Tempo = 1 })
	_, _, header := a.ask(t, http.MethodGet, "/me", v0813, "")
	if header.Get("X-RateLimit-Limit-Default") != "120" || header.Get("X-RateLimit-Remaining-Default") != "119" || header.Get("X-RateLimit-Reset-Default") != "1" {
		t.Errorf("told: %v", header)
	}
	statuses := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			status, _, _ := a.ask(t, http.MethodGet, "/me", v0813, "")
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	// The bucket fills by two a second while this runs.
	if statuses[200] < 119 || statuses[200] > 150 || statuses[200]+statuses[429] != 200 {
		t.Errorf("answered %v", statuses)
	}
	a.Set(apitest.Limited)
	status, body, header := a.ask(t, http.MethodGet, "/me", v0813, "")
	if status != http.StatusTooManyRequests || body["status"] != "error" || header.Get("X-RateLimit-Remaining-Default") != "0" {
		t.Errorf("limited: %d %v %v", status, body, header)
	}
}

func TestStandInStatuses(t *testing.T) {
	a := newAccount(t)
	past, _ := a.book(t, intro, priya, today.Add(-time.Hour))
	next, _ := a.book(t, intro, priya, noon)
	asked, _ := a.book(t, consult, sean, noon)
	_, series, _, err := a.BookSeries(intro, kofi, noon, 24*time.Hour, 2)
	if err != nil {
		t.Fatal(err)
	}
	gone, _ := a.book(t, intro, lena, noon)
	_, done, err := a.Cancel(gone, "Ill")
	if err != nil {
		t.Fatal(err)
	}
	done()
	for status, want := range map[string][]string{
		"past": {past}, "upcoming": append([]string{next}, series...), "unconfirmed": {asked}, "recurring": series, "cancelled": {gone},
		"past,unconfirmed": {past, asked}, "": append([]string{past, next, asked}, append(series, gone)...),
	} {
		_, body, _ := a.ask(t, http.MethodGet, "/bookings?status="+status, v0813, "")
		var got []string
		list, _ := body["data"].([]any)
		for _, b := range list {
			in, _ := b.(map[string]any)
			uid, _ := in["uid"].(string)
			got = append(got, uid)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", status, got, want)
		}
	}
	_, body, _ := a.ask(t, http.MethodGet, "/bookings?take=2&skip=2&sortStart=desc", v0813, "")
	p := member(body, "pagination")
	if p["totalItems"] != 6.0 || p["returnedItems"] != 2.0 || p["hasNextPage"] != true || p["hasPreviousPage"] != true || p["currentPage"] != 2.0 || p["totalPages"] != 3.0 {
		t.Errorf("%v", p)
	}
}

// receiver takes posts, and says what it was sent.
func receiver(t *testing.T, status int) (*httptest.Server, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		got = append(got, string(body))
		mu.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// A post is sent once, whatever comes of it.
func TestStandInSendsOnce(t *testing.T) {
	a := newAccount(t)
	s, got := receiver(t, http.StatusServiceUnavailable)
	a.AddWebhook(calcomtest.Webhook{URL: s.URL, Secret: secret, Active: true, Triggers: ourTriggers})
	_, posts := a.book(t, intro, priya, noon)
	statuses, err := a.Sender(s.Client()).Send(context.Background(), posts...)
	if err != nil || !slices.Equal(statuses, []int{503}) || len(got()) != 1 {
		t.Errorf("%v (%v), %d came", statuses, err, len(got()))
	}
}

// Every active webhook that wants the trigger is sent a body of its own.
func TestStandInSubscriptions(t *testing.T) {
	a := newAccount(t)
	a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Active: true, Triggers: ourTriggers})
	a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Active: true, Triggers: ourTriggers})
	a.AddWebhook(calcomtest.Webhook{URL: target, Active: true, Triggers: ourTriggers, Template: "{{title}}"})
	off := a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Triggers: ourTriggers})
	a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Active: true, Triggers: []string{"BOOKING_CANCELLED"}})
	_, posts := a.book(t, intro, priya, noon)
	if len(posts) != 3 || bytes.Equal(posts[0].Body, posts[1].Body) {
		t.Fatalf("%d posts", len(posts))
	}
	first, second := a.sent(t, posts[:1]), a.sent(t, posts[1:2])
	if first.Key == second.Key || describe(first) == describe(second) && first.At.Equal(second.At) {
		t.Errorf("%s and %s", first.Key, second.Key)
	}
	r := providers.Request{Header: posts[2].Header, Body: posts[2].Body}
	if _, err := a.provider.Verify(r, a.conn.Secrets, today); !errors.Is(err, providers.ErrSignatureInvalid) || string(r.Body) != "false" {
		t.Errorf("a template without a secret sent %s (%v)", r.Body, err)
	}
	a.RemoveWebhook(off)
	if len(a.Webhooks()) != 4 {
		t.Errorf("%d webhooks", len(a.Webhooks()))
	}
}

// A cancel's webhook comes before its state: whoever looks at once is told that
// the booking stands.
func TestStandInSendsBeforeItCancels(t *testing.T) {
	var a *account
	var during []string
	a = newAccount(t, func(o *calcomtest.Options) {
		o.Deliver = func(_ context.Context, posts []apitest.Post) {
			for _, p := range posts {
				e := a.sent(t, []apitest.Post{p})
				b, _ := a.Booking(e.ExternalID)
				during = append(during, string(e.Kind)+" while "+b.Status+" with "+fmt.Sprint(len(b.Seats)))
			}
		}
	})
	a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Active: true, Triggers: ourTriggers})
	uid, _ := a.book(t, yoga, lena, noon)
	a.book(t, yoga, kofi, noon)
	if err := a.cancel(providers.CancelTarget{ExternalID: uid, Seat: kofi.Email}, ""); err != nil {
		t.Fatal(err)
	}
	if err := a.cancel(providers.CancelTarget{ExternalID: uid}, ""); err != nil {
		t.Fatal(err)
	}
	want := []string{"invitee.canceled while accepted with 2", "invitee.canceled while accepted with 1"}
	if b, _ := a.Booking(uid); !slices.Equal(during, want) || b.Status != calcomtest.Cancelled || len(a.Outbox()) != 0 {
		t.Errorf("%v, then %s", during, b.Status)
	}
}

// The bodies that the stand-in sends have what those of the fixtures have, as far
// as anybody reads it.
func TestStandInBodies(t *testing.T) {
	a := newAccount(t)
	if _, err := a.subscribe(); err != nil {
		t.Fatal(err)
	}
	check := func(name, file string, posts []apitest.Post) *booking.Event {
		t.Helper()
		got, want := a.sent(t, posts), event(t, fixture(t, file))
		if got.Kind != want.Kind || got.Confirmed != want.Confirmed || got.Reason != want.Reason || (got.Seats != nil) != (want.Seats != nil) ||
			(got.Session.Capacity != nil) != (want.Session.Capacity != nil) || got.Session.HostsCut != want.Session.HostsCut ||
			(got.Predecessor != "") != (want.Predecessor != "") || len(got.Attendees) != len(want.Attendees) || (got.BookedAt != nil) != (want.BookedAt != nil) {
			t.Errorf("%s: %+v, the fixture %+v", name, got, want)
		}
		return got
	}
	uid, posts := a.book(t, intro, priya, noon)
	check("booked", oneOnOne, posts)
	moved, posts, err := a.Reschedule(uid, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if e := check("moved", "booking_rescheduled.json", posts); e.Predecessor != uid || e.ExternalID != moved {
		t.Errorf("%+v", e)
	}
	posts, done, err := a.Cancel(moved, "Ill")
	if err != nil {
		t.Fatal(err)
	}
	check("canceled", "booking_cancelled.json", posts)
	done()
	asked, posts := a.book(t, consult, sean, noon)
	check("asked for", "booking_requested.json", posts)
	again, posts, err := a.Reschedule(asked, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	check("asked for another time", "booking_requested_reschedule.json", posts)
	if posts, err = a.Confirm(again); err != nil {
		t.Fatal(err)
	}
	check("confirmed", "booking_created_after_confirmation.json", posts)
	declined, _ := a.book(t, consult, sean, noon)
	if posts, err = a.Reject(declined, "Full"); err != nil {
		t.Fatal(err)
	}
	check("declined", "booking_rejected.json", posts)

	seats, posts := a.book(t, yoga, lena, noon)
	check("the first seat", "booking_created_seat_first.json", posts)
	_, posts = a.book(t, yoga, kofi, noon)
	if e := check("the second seat", "booking_created_seat_second.json", posts); e.ExternalID != seats || e.Attendees[0].Email != kofi.Email {
		t.Errorf("%+v", e)
	}
	into, posts, err := a.MoveSeat(seats, kofi.Email, noon.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	check("a seat moved", "booking_rescheduled_one_seat.json", posts)
	a.book(t, yoga, priya, noon)
	joined, posts, err := a.MoveSeat(seats, priya.Email, noon.Add(2*time.Hour))
	b, _ := a.Booking(seats)
	if err != nil || joined != into || !strings.Contains(string(posts[0].Body), fmt.Sprintf(`"bookingId":%d`, b.ID)) {
		t.Errorf("joined %s, %s stands there (%v)", joined, into, err)
	}
	posts, done, err = a.CancelSeat(into, kofi.Email)
	if err != nil {
		t.Fatal(err)
	}
	check("a seat canceled", "booking_cancelled_one_seat.json", posts)
	done()
	if b, _ := a.Booking(into); b.Status != calcomtest.Accepted || len(b.Seats) != 1 {
		t.Errorf("%+v", b)
	}
	if posts, err = a.MarkNoShow(into, priya.Email, true); err != nil {
		t.Fatal(err)
	}
	if e := check("a no-show", "booking_no_show_updated.json", posts); !*e.Attendees[0].NoShow {
		t.Errorf("%+v", e)
	}
	_, uids, posts, err := a.BookSeries(intro, priya, noon.AddDate(0, 1, 0), 7*24*time.Hour, 3)
	if err != nil || len(posts) != 3 || len(uids) != 3 || strings.Contains(string(posts[0].Body), "series-") {
		t.Fatalf("%d posts of %d (%v)", len(posts), len(uids), err)
	}
	check("one of a series", "booking_created_recurring_2of3.json", posts[1:2])
	away := a.OutOfOffice(maren, noon, noon.AddDate(0, 0, 7))
	if len(away) != 1 || !strings.Contains(string(away[0].Body), `"OOO_CREATED"`) || !strings.Contains(string(away[0].Body), maren.Email) {
		t.Errorf("%+v", away)
	}
}

// What Cal.com changes silently it changes silently.
func TestStandInSilence(t *testing.T) {
	a := newAccount(t)
	if _, err := a.subscribe(); err != nil {
		t.Fatal(err)
	}
	uid, _ := a.book(t, intro, priya, noon)
	for _, err := range []error{a.Reassign(uid, theo), a.Relocate(uid, "inPerson")} {
		if err != nil {
			t.Error(err)
		}
	}
	if b, _ := a.Booking(uid); b.Host != theo || b.Location != "inPerson" || b.Title != "Intro Call between Theo Adeyemi and Priya Raman" || len(a.Outbox()) != 0 {
		t.Errorf("%+v", b)
	}
	if got := a.Bookings(); !slices.Equal(got, []string{uid}) {
		t.Errorf("%v", got)
	}
	a.Remove(uid)
	if _, ok := a.Booking(uid); ok {
		t.Error("it is still there")
	}
	for name, err := range map[string]error{
		"another host": a.Reassign(uid, theo), "another place": a.Relocate(uid, "x"),
	} {
		if !errors.Is(err, calcomtest.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStandInRefuses(t *testing.T) {
	a := newAccount(t)
	a.AddEventType(calcomtest.EventType{ID: 2, Title: "Pair", Minutes: 60, Seats: 2})
	uid, _ := a.book(t, 2, lena, noon)
	a.book(t, 2, kofi, noon)
	done, _ := a.book(t, intro, priya, noon)
	_, end, err := a.Cancel(done, "x")
	if err != nil {
		t.Fatal(err)
	}
	end()
	other, _ := a.book(t, 2, sean, noon.Add(time.Hour))
	last := func(_, _ any, err error) error { return err }
	for name, c := range map[string]struct{ got, want error }{
		"a third of two seats":    {last(a.Book(2, priya, noon)), calcomtest.ErrSeatFull},
		"moving to where two sit": {last(a.MoveSeat(other, sean.Email, noon)), calcomtest.ErrSeatFull},
		"a strange type":          {last(a.Book(3, priya, noon)), calcomtest.ErrUnknown},
		"moving what is canceled": {last(a.Reschedule(done, noon)), calcomtest.ErrNotOpen},
		"canceling it again":      {last(a.Cancel(done, "x")), calcomtest.ErrNotOpen},
		"canceling what is not":   {last(a.Cancel("none", "x")), calcomtest.ErrUnknown},
		"a seat of nobody":        {last(a.CancelSeat(uid, priya.Email)), calcomtest.ErrUnknown},
		"a seat where none is":    {last(a.MoveSeat(uid, priya.Email, noon)), calcomtest.ErrUnknown},
		"confirming what stands":  {last(0, 0, second(a.Confirm(uid))), calcomtest.ErrNotOpen},
		"declining what is not":   {last(0, 0, second(a.Reject("none", ""))), calcomtest.ErrUnknown},
		"a no-show of nobody":     {last(0, 0, second(a.MarkNoShow(uid, priya.Email, true))), calcomtest.ErrUnknown},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	// The API refuses a host who gives no reason, and a seat that is gone.
	for body, want := range map[string]string{
		`{}`: "Cancellation reason is required", `{"cancellationReason":" "}`: "Cancellation reason is required",
		`{"seatUid":"none"}`: "does not exist or has already been cancelled",
	} {
		status, answer, _ := a.ask(t, http.MethodPost, "/bookings/"+uid+"/cancel", v0813, body)
		if status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(answer), want) {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
}

func second[T any](_ T, err error) error { return err }
