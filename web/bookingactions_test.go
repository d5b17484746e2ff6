package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// A cancel that failed leaves a booking that somebody believes gone: it shows as trouble,
// with what can be done, as long as the booking stands.
func TestFailedCancelIsTrouble(t *testing.T) {
	t.Parallel()
	const refused, unauthorized = "the API answered 403: <b>no</b>", "the API answered 401: Unauthorized"
	for name, tt := range map[string]struct {
		status  booking.EffectStatus
		failure string
		role    access.Role
		gone    bool // the booking is canceled since
		heading string
		again   bool
	}{
		"tried again":                           {booking.EffectFailed, refused, access.Operator, false, "Not canceled at Calendly yet", false},
		"given up":                              {booking.EffectDead, refused, access.Operator, false, "Not canceled at Calendly<", false},
		"its key is refused":                    {booking.EffectFailed, unauthorized, access.Administrator, false, "Not canceled at Calendly yet", true},
		"its key is refused, to an operator":    {booking.EffectFailed, unauthorized, access.Operator, false, "Not canceled at Calendly yet", false},
		"its key is refused, to a viewer":       {booking.EffectFailed, unauthorized, access.Viewer, false, "Not canceled at Calendly yet", false},
		"given up, and canceled there since":    {booking.EffectDead, refused, access.Operator, true, "Asked of the provider", false},
		"on its way":                            {booking.EffectPending, "", access.Operator, false, "Asked of the provider", false},
		"given up, to an administrator":         {booking.EffectDead, refused, access.Administrator, false, "Not canceled at Calendly<", false},
		"its key is refused, and it is no more": {booking.EffectDead, unauthorized, access.Administrator, true, "Asked of the provider", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e := acting(t)
			b := &w.records.bookings[2]
			if tt.gone {
				b.Status, b.Reason = booking.Canceled, booking.ReasonCanceled
			}
			e.list = []booking.Effect{{
				ID: id(190), Kind: booking.EffectCancel, Lane: booking.Lane{BookingID: b.ID, Target: "there"}, ConnectionID: b.ConnectionID,
				Status: tt.status, Error: tt.failure, Attempts: 3, CreatedAt: noon, DueAt: noon,
			}}
			browser := w.user(t, "ayu", tt.role)
			for _, lang := range []string{"en", "id"} {
				wholesome(t, w.get(t, browser, "/bookings/"+b.ID.String(), "Accept-Language", lang), lang)
			}
			body := w.get(t, browser, "/bookings/"+b.ID.String()).body
			card := section(t, body, `id="effects"`, "</section>")
			has(t, "the card", card, tt.heading)
			trouble := strings.HasPrefix(tt.heading, "Not")
			if strings.Contains(body, `class="card undone"`) != trouble {
				t.Errorf("it shows as trouble: %v", !trouble)
			}
			if again := "/connections/new/calendly?id=" + b.ConnectionID.String(); strings.Contains(card, again) != tt.again {
				t.Errorf("the way to connect it again: %v", !tt.again)
			}
			if trouble {
				hasNot(t, "the page", body, "There is nothing to do")
			}
		})
	}
}

// The number that was confirmed was another one: the page says which, and what to do.
func TestUnconfirmedCancelSaysWhy(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	browser := w.user(t, "ayu", access.Operator)
	for typed, want := range map[string]string{
		"7":   "You confirmed 7, but 2 bookings will be canceled. Type 2.",
		"1":   "You confirmed 1, but 2 bookings will be canceled. Type 2.",
		"":    ">2 bookings will be canceled. Type 2.",
		"all": ">2 bookings will be canceled. Type 2.",
	} {
		res := w.post(t, browser, cancelOf(25), url.Values{"request": {uuid.NewString()}, "confirm": {typed}})
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d", typed, res.StatusCode)
		}
		has(t, typed, res.body, want, "Cancel all 2 at Calendly")
	}
	res := w.post(t, browser, cancelOf(21), url.Values{"request": {uuid.NewString()}, "confirm": {"2"}})
	has(t, "one is left", res.body, "Only this booking is left to cancel.", ">Cancel at Calendly<")
	if len(e.asked) > 0 {
		t.Errorf("asked was %v", e.asked)
	}
}

// The places that a moved booking has left are no cancellations.
func TestChainSaysWhatWasMoved(t *testing.T) {
	t.Parallel()
	w, _ := acting(t)
	browser := w.user(t, "ayu", access.Operator)
	chain := section(t, w.get(t, browser, "/bookings/"+id(24).String()).body, `<ol class="chain">`, "</ol>")
	has(t, "the chain", chain, "moved", "active")
	hasNot(t, "the chain", chain, "canceled</span>")
}
