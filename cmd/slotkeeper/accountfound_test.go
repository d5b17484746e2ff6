package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestComparisonTellsWhatItFound has a provider say nothing of a booking and of a
// cancel: the comparison that is asked for finds both, and command, API and pages tell
// the same of it, as of what was found and not of what was delivered.
func TestComparisonTellsWhatItFound(t *testing.T) {
	t.Parallel()
	long(t)
	o := officeAs[*calendlyOffice](t, newCalendlyOffice(t))
	o.before(t)
	// At its own pace, so that no comparison but the one asked for is made meanwhile.
	s := newServer(t, "", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+hostOf(t, o))
	w := &world{server: s}
	id := w.opens(t, o).ID
	who, token := s.signedIn(t), s.token(t, "read")
	w.settles(t, who, id)
	known := len(api[bookingItem](t, s, token, "bookings"))

	came, _ := o.book(t, o.hour(), calendlyOwner)
	left := o.open[0]
	if _, err := o.Cancel(left); err != nil {
		t.Fatal(err)
	}
	var run runItem
	decode(t, s.run(t, "connections", "sync", id.String(), "--json"), &run)
	if run.Kind != "reconcile" || run.Status != "done" || run.Differed != 2 || run.AtProvider != run.Here || run.Refused+run.Unreadable > 0 {
		t.Errorf("the comparison ended as %+v", run)
	}

	type found struct {
		transitionItem
		Actor string `json:"actor"`
	}
	receipts, bookings := map[uuid.UUID]receiptItem{}, map[uuid.UUID]bookingItem{}
	for _, r := range api[receiptItem](t, s, token, "receipts") {
		receipts[r.ID] = r
	}
	for _, b := range api[bookingItem](t, s, token, "bookings") {
		bookings[b.ID] = b
	}
	if len(bookings) != known+1 {
		t.Errorf("there are %d bookings, there were %d", len(bookings), known)
	}
	told := map[string]string{}
	for _, f := range api[found](t, s, token, "transitions") {
		if f.Actor != "reconcile" {
			continue
		}
		b, r := bookings[f.BookingID], receipt(t, receipts, f.ReceiptID)
		told[b.ExternalID] = fmt.Sprintf("%s %s: %s; %s, came %d times", f.Event, f.Outcome, b.Status, r.Status, r.Deliveries)
	}
	want := map[string]string{
		came: "create applied: active; processed, came 0 times", left: "cancel applied: canceled; processed, came 0 times",
	}
	for external, says := range want {
		if told[external] != says {
			t.Errorf("the API says of %s %q, want %q", external, told[external], says)
		}
	}
	if len(told) != len(want) {
		t.Errorf("found are %v", told)
	}

	for language, texts := range map[string][]string{
		"en": {fmt.Sprintf("%d at the provider, %d here, 2 differ", run.AtProvider, run.Here), "Set right by the last comparison"},
		"id": {fmt.Sprintf("%d di penyedia, %d di sini, 2 berbeda", run.AtProvider, run.Here)},
	} {
		for path, more := range map[string][]string{"/connections/" + id.String(): texts, "/deliveries": texts[:1]} {
			page := who.pageIn(t, language, path)
			for _, text := range more {
				if !strings.Contains(page, text) {
					t.Errorf("%s in %s does not say %q", path, language, text)
				}
			}
		}
	}
	page := who.page(t, "/connections/"+id.String())
	audit := regexp.MustCompile(`href="(/audit\?[^"]*actor=reconcile[^"]*)"`).FindStringSubmatch(page)
	if audit == nil {
		t.Fatal("no way leads to what was changed")
	}
	rows := who.page(t, strings.ReplaceAll(audit[1], "&amp;", "&"))
	for _, b := range bookings {
		_, is := want[b.ExternalID]
		link := `href="/bookings/` + b.ID.String() + `"`
		if strings.Contains(rows, link) != is || is && !strings.Contains(page, link) {
			t.Errorf("what was found is listed otherwise: %s, %t", b.ExternalID, is)
		}
		if is && !strings.Contains(who.page(t, "/bookings/"+b.ID.String()), "comparison") {
			t.Errorf("the page of %s does not say that it was found", b.ExternalID)
		}
	}
}

func receipt(t *testing.T, all map[uuid.UUID]receiptItem, id *uuid.UUID) receiptItem {
	t.Helper()
	if id == nil {
		t.Fatal("what was found has no receipt")
	}
	return all[*id]
}

// pageIn is a page in a language.
func (v *signedIn) pageIn(t *testing.T, language, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+path, http.NoBody)
	must(t, err)
	req.Header.Set("Accept-Language", language)
	resp, err := v.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s was answered %s", path, resp.Status)
	}
	return string(b)
}
