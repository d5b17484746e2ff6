package web_test

import (
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calendly"
	"slotkeeper/web"
)

// Whoever asks why a booking is gone is told what its provider did with it, when, and
// who did it there: not that a webhook did, nor that what was moved or has vanished was
// canceled.
func TestCanceledBookingSaysHowItEnded(t *testing.T) {
	t.Parallel()
	const (
		calendlyBy   = `{"event":"invitee.canceled","payload":{"cancellation":{"canceled_by":"Siti  Rahma","canceler_type":"invitee","reason":""}}}`
		calendlyHost = `{"event":"invitee.canceled","payload":{"cancellation":{"canceled_by":"Ayu Lestari","canceler_type":"host"}}}`
		calendlyOld  = `{"event":"invitee.canceled","payload":{"cancellation":{"canceled_by":"Ayu Lestari"}}}`
		calendlyNone = `{"event":"invitee.created","payload":{"old_invitee":"x"}}`
		calcomBy     = `{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"SITI@mail.example","organizer":{"email":"ayu@clinic.example","name":"Ayu Lestari"},"attendees":[{"email":"siti@mail.example","name":"Siti Rahma"}]}}`
		calcomMoved  = `{"triggerEvent":"BOOKING_RESCHEDULED","payload":{"rescheduledBy":"ayu@clinic.example","organizer":{"email":"ayu@clinic.example","name":"Ayu Lestari"}}}`
		calcomOther  = `{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"office@clinic.example"}}`
		calcomNo     = `{"triggerEvent":"BOOKING_REJECTED","payload":{}}`
	)
	when := noon.Add(-time.Hour)
	stamp, stempel := "30 Nov 2026, 11:00 WIB", "30 Nov 2026, 11.00 WIB"
	for name, tt := range map[string]struct {
		provider      string
		reason        booking.Reason // the booking's
		transition    booking.Reason // of the change that canceled it
		body          string
		second        string        // of a later delivery about it
		asked         time.Duration // how long before it ended a user asked for it here
		undated       bool          // the timeline does not reach back so far
		role          access.Role
		en, id        string
		not           string
		toldSuccessor bool
	}{
		"by the invitee": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyBy,
			en: "Canceled at Calendly on " + stamp + " by Siti Rahma (invitee).", id: "Dibatalkan di Calendly pada " + stempel + " oleh Siti Rahma (tamu).",
		},
		"by the host": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyHost,
			en: "Canceled at Calendly on " + stamp + " by Ayu Lestari (host).", id: "oleh Ayu Lestari (penyelenggara).",
		},
		"by whom nobody knows the side of": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyOld,
			en: "Canceled at Calendly on " + stamp + " by Ayu Lestari.", id: "oleh Ayu Lestari.",
		},
		"by an e-mail of the booking": {
			provider: "calcom", reason: booking.ReasonCanceled, body: calcomBy,
			en: "Canceled at Cal.com on " + stamp + " by Siti Rahma (invitee).", id: "Dibatalkan di Cal.com pada " + stempel + " oleh Siti Rahma (tamu).",
		},
		"by an e-mail of nobody's": {
			provider: "calcom", reason: booking.ReasonCanceled, body: calcomOther,
			en: "Canceled at Cal.com on " + stamp + " by office@clinic.example.", id: "oleh office@clinic.example.",
		},
		"by nobody who is told": {
			provider: "acuity", reason: booking.ReasonCanceled, body: "action=appointment.canceled&id=1",
			en: "Canceled at Acuity on " + stamp + ".", id: "Dibatalkan di Acuity pada " + stempel + ".",
		},
		"a body that retention emptied": {
			provider: "calendly", reason: booking.ReasonCanceled,
			en: "Canceled at Calendly on " + stamp + ".", id: "Dibatalkan di Calendly pada " + stempel + ".",
		},
		"a viewer from whom names are hidden": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyBy, role: access.Viewer,
			en: "Canceled at Calendly on " + stamp + ".", id: "Dibatalkan di Calendly pada " + stempel + ".", not: "(invitee)",
		},
		"from here": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyHost, asked: time.Minute,
			en: "Canceled at Calendly on " + stamp + ". rini asked for it here.", id: "Dibatalkan di Calendly pada " + stempel + ". Pembatalannya diminta dari sini oleh rini.", not: "(host)",
		},
		"asked for here when it had ended": {
			provider: "calendly", reason: booking.ReasonCanceled, body: calendlyBy, asked: -10 * time.Minute,
			en: "Canceled at Calendly on " + stamp + " by Siti Rahma (invitee).", id: "oleh Siti Rahma (tamu).", not: "asked for it here",
		},
		"a request declined from here": {
			provider: "calcom", reason: booking.ReasonDeclined, body: calcomNo, asked: time.Minute,
			en: "Declined at Cal.com on " + stamp + ". rini asked for it here.", id: "Ditolak di Cal.com pada " + stempel + ". Pembatalannya diminta dari sini oleh rini.",
		},
		"declined": {
			provider: "calcom", reason: booking.ReasonDeclined, body: calcomNo,
			en: "Declined at Cal.com on " + stamp + " by the host.", id: "Ditolak di Cal.com pada " + stempel + " oleh penyelenggara.",
		},
		"rescheduled": {
			provider: "calcom", reason: booking.ReasonRescheduled, body: calcomMoved, toldSuccessor: true,
			en: "On " + stamp + ", Ayu Lestari (host) rescheduled this at Cal.com.", id: "Pada " + stempel + ", Ayu Lestari (penyelenggara) menjadwal ulang pemesanan ini di Cal.com.", not: "has not reached us",
		},
		"rescheduled, as the new half says first and the old one by whom": {
			provider: "calendly", reason: booking.ReasonRescheduled, body: calendlyNone, second: calendlyBy, toldSuccessor: true,
			en: "On " + stamp + ", Siti Rahma (invitee) rescheduled this at Calendly.", id: "menjadwal ulang pemesanan ini", not: "Canceled at",
		},
		"rescheduled, as was told after a cancel": {
			provider: "calendly", reason: booking.ReasonRescheduled, transition: booking.ReasonCanceled, toldSuccessor: true,
			en: "On " + stamp + ", this was rescheduled at Calendly.", id: "Pada " + stempel + ", pemesanan ini dijadwal ulang di Calendly.", not: "Canceled at",
		},
		"rescheduled although its cancel was asked for here": {
			provider: "calendly", reason: booking.ReasonRescheduled, asked: time.Minute, toldSuccessor: true,
			en: "On " + stamp + ", this was rescheduled at Calendly.", id: "dijadwal ulang", not: "asked for it here",
		},
		"rescheduled to what has not come yet": {
			provider: "calendly", reason: booking.ReasonRescheduled, body: calendlyBy,
			en: "On " + stamp + ", Siti Rahma (invitee) rescheduled this at Calendly. The new booking has not reached us yet.", id: "Pemesanan penggantinya belum sampai ke sini.",
		},
		"removed": {
			provider: "acuity", reason: booking.ReasonRemoved,
			en: "Removed at Acuity without notice; found on " + stamp + ".", id: "Dihapus di Acuity tanpa pemberitahuan; ketahuan pada " + stempel + ".", not: "Canceled at",
		},
		"removed, before what is shown": {
			provider: "acuity", reason: booking.ReasonRemoved, undated: true,
			en: "Removed at Acuity without notice.", id: "Dihapus di Acuity tanpa pemberitahuan.",
		},
		"canceled before what is shown": {
			provider: "calendly", reason: booking.ReasonCanceled, undated: true,
			en: "Canceled at Calendly.", id: "Dibatalkan di Calendly.",
		},
		"moved before what is shown": {
			provider: "calendly", reason: booking.ReasonRescheduled, undated: true, toldSuccessor: true,
			en: "Rescheduled at Calendly.", id: "Dijadwal ulang di Calendly.",
		},
		"declined before what is shown": {
			provider: "calcom", reason: booking.ReasonDeclined, undated: true,
			en: "Declined at Cal.com.", id: "Ditolak di Cal.com.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			b := &r.bookings[0] // Siti Rahma's, canceled
			b.Provider, b.Reason = tt.provider, tt.reason
			if !tt.toldSuccessor {
				b.SupersededBy = nil
			}
			r.transitions, r.receipts = nil, nil
			tell := func(n byte, transition booking.Transition, body string) {
				transition.ID, transition.BookingID, transition.ReceiptID, transition.Actor = id(n), b.ID, id(n), booking.ActorWebhook
				transition.OccurredAt, transition.RecordedAt, transition.Hash = when, when, [32]byte{n}
				r.transitions = append(r.transitions, booking.TransitionView{Transition: transition, Provider: tt.provider, ConnectionID: b.ConnectionID})
				r.receipts = append(r.receipts, booking.ReceiptView{ID: id(n), Provider: tt.provider, ConnectionID: b.ConnectionID, Kind: booking.KindCanceled, Status: booking.StatusProcessed, Deliveries: 1, ReceivedAt: when})
				r.bodies[id(n)] = []byte(body)
			}
			if tt.second != "" {
				tell(71, booking.Transition{Event: booking.Cancel, From: booking.Canceled, To: booking.Canceled, Outcome: booking.Rejected}, tt.second)
			}
			if !tt.undated {
				tell(70, booking.Transition{Event: booking.Cancel, From: booking.Active, To: booking.Canceled, Outcome: booking.Applied, Reason: tt.transition}, tt.body)
			}
			e := &effects{records: r}
			w := newWorld(t, r, nil, func(d *web.Deps) {
				d.Effects = e
				d.Providers["calendly"], d.Providers["calcom"], d.Providers["acuity"] = calendly.New(time.Hour), calcom.New(), acuity.New(d.Now, 1)
			})
			role := access.Operator
			if tt.role != "" {
				role = tt.role
				if err := w.accounts.SetPrivacy(t.Context(), access.System, access.RolePrivacy{Role: role, Hidden: access.Hidden{Names: true}}); err != nil {
					t.Fatal(err)
				}
			}
			browser := w.user(t, "rini", role)
			if tt.asked != 0 {
				users, err := w.accounts.Users(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				done := when.Add(-tt.asked).Add(time.Second)
				e.list = append(e.list, booking.Effect{
					ID: id(190), Kind: booking.EffectCancel, Status: booking.EffectDone, Actor: users[len(users)-1].Principal().Actor(), CreatedAt: when.Add(-tt.asked), DoneAt: &done,
					Lane: booking.Lane{BookingID: b.ID},
				})
			}
			for language, want := range map[string]string{"en": tt.en, "id": tt.id} {
				res := w.get(t, browser, "/bookings/"+b.ID.String(), "Accept-Language", language)
				got := strings.Join(shows(t, res, "ended"), " ")
				if !strings.Contains(got, want) {
					t.Errorf("%s: it says %q, want %q", language, got, want)
				}
				if tt.not != "" && strings.Contains(got, tt.not) {
					t.Errorf("%s: it says %q, with %q", language, got, tt.not)
				}
				link := `href="/bookings/` + id(24).String() + `"`
				if _, notice, _ := strings.Cut(res.body, `class="notice ended"`); (b.SupersededBy != nil) != strings.Contains(notice[:min(400, len(notice))], link) {
					t.Errorf("%s: the way to the booking that took over, of %v: %q", language, b.SupersededBy, got)
				}
			}
		})
	}
}
