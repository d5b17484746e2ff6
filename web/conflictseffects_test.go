package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calendly"
	"slotkeeper/web"
)

// Whoever comes back to the conflicts sees what became of the cancel that was
// asked for: that it is under way, that it was taken, or that it failed and can be
// tried again from there.
func TestConflictsShowTheirCancels(t *testing.T) {
	t.Parallel()
	done := noon.Add(-time.Minute)
	for name, tt := range map[string]struct {
		status booking.EffectStatus
		of     byte // the one that waits, or the holder
		has    []string
		retry  bool
		cancel bool
	}{
		"queued":              {booking.EffectPending, 22, []string{"Cancel at Cal.com: queued", `datetime="2026-11-30T04:00:00Z"`}, false, false},
		"failed":              {booking.EffectFailed, 22, []string{"failed, is tried again", "may not do this.", "&lt;b&gt;no", "3 attempts", `datetime="2026-11-30T05:01:00Z"`}, true, false},
		"given up":            {booking.EffectDead, 22, []string{"given up", "may not do this."}, true, true},
		"taken":               {booking.EffectDone, 22, []string{"canceled at the provider", "as soon as the provider reports it", `datetime="2026-11-30T04:59:00Z"`}, false, false},
		"the holder's failed": {booking.EffectFailed, 21, []string{"Cancel at Calendly: failed"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			x := booking.Effect{
				ID: id(190), Kind: booking.EffectCancel, Lane: booking.Lane{BookingID: id(tt.of), Target: "there"}, Status: tt.status, Attempts: 3,
				CreatedAt: noon.Add(-time.Hour), DueAt: noon.Add(time.Minute),
			}
			switch tt.status {
			case booking.EffectFailed, booking.EffectDead:
				x.Error = "the API answered 403: <b>no</b>"
			case booking.EffectDone:
				x.DoneAt = &done
			case booking.EffectPending, booking.EffectWithdrawn:
			}
			e := &effects{records: r, list: []booking.Effect{x}}
			w := newWorld(t, r, nil, func(d *web.Deps) {
				d.Effects = e
				d.Providers["calendly"], d.Providers["calcom"] = calendly.New(time.Hour), calcom.New()
			})
			operator := w.user(t, "ayu", access.Operator)
			for _, lang := range []string{"en", "id"} {
				wholesome(t, w.get(t, operator, "/conflicts", "Accept-Language", lang), lang)
			}
			body := w.get(t, operator, "/conflicts?provider=calcom").body
			has(t, "the page", body, tt.has...)
			retry := "/effects/" + id(190).String() + "/retry?" + url.Values{"conflicts": {"provider=calcom"}}.Encode()
			if strings.Contains(body, `form="retry" formaction="`+retry+`"`) != tt.retry {
				t.Errorf("to be tried again: %v", !tt.retry)
			}
			withdraw := strings.Replace(retry, "/retry?", "/withdraw?", 1)
			if strings.Contains(body, `form="retry" formaction="`+withdraw+`"`) != tt.status.Open() {
				t.Errorf("to be withdrawn: %v", !tt.status.Open())
			}
			if strings.Contains(body, cancelOf(tt.of)) != tt.cancel {
				t.Errorf("to be asked for again: %v", !tt.cancel)
			}
			viewer := w.get(t, w.user(t, "budi", access.Viewer), "/conflicts").body
			has(t, "a viewer's page", viewer, tt.has[0])
			hasNot(t, "a viewer's page", viewer, "formaction")
			if !tt.retry {
				return
			}
			res := w.post(t, operator, retry, nil)
			to := res.Header.Get("Location")
			if res.StatusCode != http.StatusSeeOther || to != "/conflicts?done=retried&provider=calcom" || !slices.Equal(e.retried, []uuid.UUID{id(190)}) {
				t.Fatalf("%d, %s, retried %v", res.StatusCode, to, e.retried)
			}
			has(t, to, w.get(t, operator, to).body, "It is being tried again.")
		})
	}
}

// Whoever changed their mind takes the cancel back, from where they are.
func TestWithdrawCancel(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	operator, viewer := w.user(t, "ayu", access.Operator), w.user(t, "budi", access.Viewer)
	path := "/effects/" + id(191).String() + "/withdraw" // failed, to be tried again
	has(t, "the booking's page", w.get(t, operator, "/bookings/"+id(22).String()).body, `action="`+path+`"`)
	hasNot(t, "a viewer's page", w.get(t, viewer, "/bookings/"+id(22).String()).body, "/withdraw")
	if res := w.post(t, viewer, path, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer gets %d", res.StatusCode)
	}
	res := w.post(t, operator, path+"?"+url.Values{"conflicts": {"provider=calcom"}}.Encode(), nil)
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != "/conflicts?done=withdrawn&provider=calcom" {
		t.Fatalf("%d, %s", res.StatusCode, to)
	} else {
		has(t, to, w.get(t, operator, to).body, "It is withdrawn: nothing was canceled.")
	}
	if e.list[1].Status != booking.EffectWithdrawn {
		t.Errorf("it is %s", e.list[1].Status)
	}
	for _, lang := range []string{"en", "id"} {
		again := w.post(t, operator, path, nil, "Accept-Language", lang)
		wholesome(t, again, lang)
		if again.StatusCode != http.StatusConflict {
			t.Errorf("withdrawn twice: %d", again.StatusCode)
		}
		wholesome(t, w.get(t, operator, "/bookings/"+id(22).String(), "Accept-Language", lang), lang)
	}
}

// No cancel is offered where it cannot work: the page says what to do instead.
func TestCancelByHand(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	operator := w.user(t, "ayu", access.Operator)
	e.list, e.keyless = nil, []uuid.UUID{w.records.bookings[2].ConnectionID}
	for i := range w.records.bookings {
		if b := &w.records.bookings[i]; b.ID == id(22) {
			b.ConnectionID = e.keyless[0]
		}
	}
	for what, path := range map[string]string{"booking": "/bookings/" + id(22).String(), "conflicts": "/conflicts?provider=calcom"} {
		for _, lang := range []string{"en", "id"} {
			wholesome(t, w.get(t, operator, path, "Accept-Language", lang), lang)
		}
		body := w.get(t, operator, path).body
		has(t, what, body, "has no key or token", `href="/connections/`+e.keyless[0].String()+`"`)
		hasNot(t, what, body, cancelOf(22))
	}
	for i := range w.records.bookings {
		if b := &w.records.bookings[i]; b.ID == id(22) {
			b.Provider = "generic"
		}
	}
	for what, path := range map[string]string{"booking": "/bookings/" + id(22).String(), "conflicts": "/conflicts"} {
		has(t, "a generic one: "+what, w.get(t, operator, path).body, "It cannot be canceled from here: cancel it in ")
	}
}
