package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// eraser is a store that counts and erases.
type eraser struct {
	found  booking.Erasure
	err    error
	erased []booking.Whom
	by     []access.By
}

func (e *eraser) Erase(_ context.Context, who booking.Whom, by access.By, _ time.Time, dry bool) (booking.Erasure, error) {
	if err := who.Check(); err != nil {
		return booking.Erasure{}, err
	}
	if !dry {
		e.erased, e.by = append(e.erased, who), append(e.by, by)
	}
	return e.found, e.err
}

// Nobody is erased who was not shown first and typed again; no address, and no line of
// the log, says whom.
func TestErasePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	w.eraser.found = booking.Erasure{Bookings: 2, Attendances: 1, Receipts: 5, Forms: 1, Emails: 1}
	admin := w.user(t, "admin", access.Administrator)
	says(t, w.get(t, admin, "/settings/erase"), "Erase a person", "Show what there is")
	const email = "wulan.prastiwi@mail.example"
	form := url.Values{"by": {"email"}, "who": {" Wulan.Prastiwi@mail.example "}}
	says(t, w.post(t, admin, "/settings/erase", form), "2 bookings", "1 seat of a group event", "5 messages that booking providers sent about them", "intake forms and notes of 1 booking", "Type the e-mail again", "cannot be undone")
	for _, again := range []string{"", "wulan@mail.example", "yes"} {
		form.Set("again", again)
		if resp := w.post(t, admin, "/settings/erase/confirm", form); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(resp.body, "not what you entered") {
			t.Errorf("%q is answered %d", again, resp.StatusCode)
		}
	}
	if len(w.eraser.erased) != 0 {
		t.Fatalf("erased %v without a confirmation", w.eraser.erased)
	}
	form.Set("again", email)
	page := says(t, w.post(t, admin, "/settings/erase/confirm", form), "Erased", "were removed from:", "2 bookings", "What stays, and why", "Ask for it there too", "without saying whom")
	if strings.Contains(page, "cancellation") {
		t.Error("the page counts what there was none of")
	}
	if len(w.eraser.erased) != 1 || !strings.EqualFold(w.eraser.erased[0].Email, email) || !strings.HasPrefix(string(w.eraser.by[0].Actor), "user:") {
		t.Errorf("erased %v by %v", w.eraser.erased, w.eraser.by)
	}
	for place, text := range map[string]string{"the page": page, "the log": w.logs.String()} {
		if strings.Contains(strings.ToLower(text), "wulan") {
			t.Errorf("%s says whom: %s", place, text)
		}
	}
	number := url.Values{"by": {"phone"}, "who": {"+62 811-4440-7788"}, "again": {"+6281144407788"}}
	says(t, w.post(t, admin, "/settings/erase/confirm", number), "Erased")
	if len(w.eraser.erased) != 2 || w.eraser.erased[1].Phone == "" {
		t.Errorf("erased %v", w.eraser.erased)
	}
	for _, wrong := range []struct{ by, who, want string }{
		{"email", " ", "That is no e-mail address"},
		{"email", "Wulan Prastiwi", "choose phone number"},
		{"email", "+62 811 4440 7788", "choose phone number"},
		{"phone", "12", "That is no phone number"},
		{"phone", "wulan@mail.example", "choose e-mail"},
	} {
		resp := w.post(t, admin, "/settings/erase", url.Values{"by": {wrong.by}, "who": {wrong.who}})
		if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(resp.body, wrong.want) {
			t.Errorf("%s %q is answered %d", wrong.by, wrong.who, resp.StatusCode)
		}
	}
	w.eraser.found = booking.Erasure{Emails: 1}
	says(t, w.post(t, admin, "/settings/erase", form), "Nothing that is kept here tells of them")
	for _, lang := range []string{"en", "id"} {
		wholesome(t, w.post(t, admin, "/settings/erase/confirm", form, "Accept-Language", lang), lang)
	}
	says(t, w.post(t, admin, "/settings/erase/confirm", form), "Nothing was left to erase")
	w.eraser.found = booking.Erasure{Bookings: 2}
	w.eraser.err = booking.ErrTracesLeft
	says(t, w.post(t, admin, "/settings/erase/confirm", form), "Erased", "still have some of it")
	w.eraser.err = &booking.ConflictError{Detail: "a host"}
	if resp := w.post(t, admin, "/settings/erase", form); resp.StatusCode != http.StatusConflict || !strings.Contains(resp.body, "Hosts are not erased") {
		t.Errorf("a host is answered %d", resp.StatusCode)
	}
}

// Another site cannot have somebody erased over an administrator's browser, and an
// operator not at all.
func TestErasePageIsGuarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	form := url.Values{"by": {"email"}, "who": {"wulan@mail.example"}, "again": {"wulan@mail.example"}}
	if resp := w.post(t, w.user(t, "op", access.Operator), "/settings/erase/confirm", form); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an operator is answered %d", resp.StatusCode)
	}
	admin := w.user(t, "admin", access.Administrator)
	for _, path := range []string{"/settings/erase", "/settings/erase/confirm"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		resp, err := admin.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s from another site is answered %d", path, resp.StatusCode)
		}
	}
	if len(w.eraser.erased) != 0 {
		t.Errorf("erased %v", w.eraser.erased)
	}
}
