package calcom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/calcom/calcomtest"
)

func (a *account) cancel(t providers.CancelTarget, message string) error {
	return a.provider.Cancel(context.Background(), a.client, a.conn, t, message)
}

func TestCancel(t *testing.T) {
	a := newAccount(t)
	a.AddWebhook(calcomtest.Webhook{URL: target, Secret: secret, Active: true, Triggers: ourTriggers})
	for _, c := range [][2]string{{"", "The meeting has been canceled."}, {" Maren is ill. ", "Maren is ill."}} {
		message, want := c[0], c[1]
		uid, _ := a.book(t, intro, priya, noon)
		for range 2 { // that it is canceled already is no error
			if err := a.cancel(providers.CancelTarget{ExternalID: uid}, message); err != nil {
				t.Fatal(err)
			}
		}
		if b, _ := a.Booking(uid); b.Status != calcomtest.Cancelled || b.Reason != want {
			t.Errorf("%q: %+v", message, b)
		}
		if posts := a.Outbox(); len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"BOOKING_CANCELLED"`) {
			t.Errorf("sent %d", len(posts))
		}
	}
}

func TestCancelIsRefused(t *testing.T) {
	a := newAccount(t)
	uid, _ := a.book(t, intro, priya, noon)
	a.clock.pass(72 * time.Hour)
	var answer *providers.AnswerError
	if err := a.cancel(providers.CancelTarget{ExternalID: uid}, ""); !errors.As(err, &answer) || answer.Status != 400 || !strings.Contains(answer.Message, "already ended") {
		t.Errorf("ended: %v", err)
	}
	for _, seat := range []string{"", lena.Email} {
		if err := a.cancel(providers.CancelTarget{ExternalID: "none", Seat: seat}, ""); !errors.Is(err, providers.ErrGone) {
			t.Errorf("unknown, seat %q: %v", seat, err)
		}
	}
}

func TestCancelASeat(t *testing.T) {
	for _, strict := range []bool{false, true} {
		a := newAccount(t, func(o *calcomtest.Options) { o.SeatsWithoutReason = strict })
		uid, _ := a.book(t, yoga, lena, noon)
		a.book(t, yoga, kofi, noon)
		kofis := providers.CancelTarget{ExternalID: uid, SessionExternalID: uid, Seat: "KOFI.mensah@mail.example"}
		for range 2 { // a seat that is gone is no error
			if err := a.cancel(kofis, "We are full."); err != nil {
				t.Fatal(err)
			}
		}
		b, _ := a.Booking(uid)
		if b.Status != calcomtest.Accepted || len(b.Seats) != 1 || b.Seats[0].Email != lena.Email {
			t.Errorf("%+v", b)
		}
		for range 2 { // with the last seat the booking ends
			if err := a.cancel(providers.CancelTarget{ExternalID: uid, Seat: lena.Email}, ""); err != nil {
				t.Fatal(err)
			}
		}
		if b, _ := a.Booking(uid); b.Status != calcomtest.Cancelled {
			t.Errorf("%+v", b)
		}
	}
}

// Where the seats are not shown, it must not look as if one had been canceled.
func TestCancelAHiddenSeat(t *testing.T) {
	a := newAccount(t)
	uid, _ := a.book(t, intro, priya, noon)
	if err := a.cancel(providers.CancelTarget{ExternalID: uid, Seat: priya.Email}, ""); !errors.Is(err, booking.ErrSeatsHidden) {
		t.Errorf("got %v", err)
	}
	if b, _ := a.Booking(uid); b.Status != calcomtest.Accepted {
		t.Errorf("%+v", b)
	}
}
