package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/acuity/acuitytest"
)

// TestIntakeForms follows what clients tell Acuity: it is nowhere unless somebody asks
// for it; then it stands on the booking's page, each look logged, and nowhere else in
// clear; and goes with the person, and when it is kept no longer.
func TestIntakeForms(t *testing.T) {
	t.Parallel()
	long(t)
	traces := []string{"warfarin", "Medication", "her knee", "ibuprofen"}
	onBothStudios(t, func(t *testing.T, s studio) {
		admin := s.signedIn(t)
		tell := func(id int64, answer string) {
			t.Helper()
			posts, err := s.Tell(id, "asked about\nher knee", acuitytest.Answer{Question: "Medication", Text: answer})
			must(t, err)
			s.deliverAll(t, posts)
			s.settled(t)
		}
		book := func(who acuitytest.Client, calendar int64, at time.Time) (int64, bookingItem) {
			t.Helper()
			id, posts, err := s.Book(who, 1, calendar, at)
			must(t, err)
			s.deliverAll(t, posts)
			return id, s.until(t, id, "active", at)
		}
		open := func(b bookingItem) string { return admin.page(t, "/bookings/"+b.ID.String()+"?forms=show") }
		nowhere := func(when string) {
			t.Helper()
			places := map[string][]byte{
				"the booking's page": []byte(admin.page(t, "/calendar?view=agenda&date="+monday.Format(time.DateOnly))),
				"the deliveries":     []byte(admin.page(t, "/deliveries")), "the admin log": []byte(admin.page(t, "/audit?view=admin")),
				"the audit's export": []byte(s.run(t, "audit", "export", "--format", "jsonl")), "the log": []byte(s.log.String()),
				"the metrics": []byte(s.get(t, "/metrics", s.token)),
			}
			for _, r := range api[receiptItem](t, s.server, s.token, "receipts") {
				places["the delivery "+r.ID.String()] = []byte(admin.page(t, "/deliveries/"+r.ID.String()+"?body=1"))
			}
			for _, list := range []string{"bookings", "slots", "transitions", "receipts", "connections", "resources"} {
				places["the API's "+list] = []byte(s.get(t, "/api/v1/"+list+"?limit=200", s.token))
			}
			s.everyFile(t, places)
			for place, text := range places {
				for _, trace := range traces {
					if at := bytes.Index(text, []byte(trace)); at >= 0 {
						t.Errorf("%s, %q is in %s: …%q…", when, trace, place, text[max(0, at-60):min(len(text), at+60)])
					}
				}
			}
		}

		first, early := book(visitor, 1, monday)
		tell(first, "warfarin")
		if strings.Contains(open(early), "Intake forms") {
			t.Error("the page speaks of forms although nobody asked")
		}
		nowhere("unasked")

		var out struct {
			Keeps   bool `json:"keep_forms"`
			Removed int  `json:"removed"`
		}
		forms := func(how string) {
			t.Helper()
			decode(t, s.run(t, "connections", "forms", s.id.String(), how), &out)
		}
		if forms("--keep"); !out.Keeps {
			t.Errorf("the command says %+v", out)
		}
		other := acuitytest.Client{FirstName: "Kofi", LastName: "Mensah", Email: "kofi.mensah@mail.example", Timezone: "Africa/Accra"}
		second, late := book(other, 2, monday.Add(time.Hour))
		tell(second, "ibuprofen")
		has := func(b bookingItem, words ...string) {
			t.Helper()
			page := open(b)
			for _, w := range words {
				if !strings.Contains(page, w) {
					t.Errorf("the page of %s has no %q", b.ExternalID, w)
				}
			}
		}
		has(late, "ibuprofen", "asked about\nher knee", "Medication")
		// What stood before comes in with an import, which changes nothing else.
		s.run(t, "connections", "backfill", s.id.String(), "--from", time.Now().AddDate(0, 0, -30).Format(time.DateOnly))
		has(early, "warfarin")
		if log := admin.page(t, "/audit?view=admin"); !strings.Contains(log, "looked at the intake forms") || !strings.Contains(log, "kept from then on") {
			t.Error("the admin log does not tell of it")
		}
		nowhere("kept")

		s.run(t, "erase", "--email", visitor.Email, "--yes")
		tell(first, "warfarin")
		if strings.Contains(open(early), "warfarin") {
			t.Error("of who was erased it is kept")
		}
		has(late, "ibuprofen")
		if forms("--drop"); out.Keeps || out.Removed != 1 {
			t.Errorf("the command says %+v", out)
		}
		tell(second, "ibuprofen")
		if strings.Contains(open(late), "Intake forms") {
			t.Error("it is shown although it is kept no longer")
		}
		if left := fmt.Sprint(s.dump(t, s.database(t))["booking_forms"]); strings.Contains(left, late.ID.String()) {
			t.Errorf("left is %s", left)
		}

		// The page does what the command does.
		post := func(form url.Values) string {
			t.Helper()
			resp, err := admin.PostForm(s.url+"/connections/"+s.id.String()+"/forms", form)
			must(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			return strconv.Itoa(resp.StatusCode) + string(body)
		}
		if got := post(url.Values{"keep": {"yes"}}); !strings.HasPrefix(got, strconv.Itoa(http.StatusUnprocessableEntity)) {
			t.Errorf("unread, it says %.3s", got)
		}
		if got := post(url.Values{"keep": {"yes"}, "understood": {"yes"}}); !strings.Contains(got, "are kept from now on") {
			t.Errorf("asked to keep them, it says %.3s", got)
		}
		tell(second, "ibuprofen")
		has(late, "ibuprofen")
		if got := post(url.Values{"keep": {"no"}}); !strings.Contains(got, "no longer kept") {
			t.Errorf("asked to remove them, it says %.3s", got)
		}
		if strings.Contains(open(late), "Intake forms") {
			t.Error("removed by page, it is shown")
		}

		for what, args := range map[string][]string{
			"neither": {s.id.String()}, "both": {s.id.String(), "--keep", "--drop"}, "no such connection": {"01900000-0000-7000-8000-000000000000", "--keep"},
		} {
			if complaint := s.refuses(t, append([]string{"connections", "forms"}, args...)...); complaint == "" {
				t.Errorf("%s is taken", what)
			}
		}
		desk := s.connect(t, "generic")
		if complaint := s.refuses(t, "connections", "forms", desk.id.String(), "--keep"); !strings.Contains(complaint, "no intake forms") {
			t.Errorf("of a generic one: %s", complaint)
		}
	})
}
