package calcom

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// A host must give a reason.
const defaultReason = "The meeting has been canceled."

// Cancel cancels a booking for all who attend, or one e-mail's seats of it.
func (*Provider) Cancel(ctx context.Context, client *http.Client, c providers.Connection, t providers.CancelTarget, message string) error {
	if t.Seat == "" {
		return cancel(ctx, client, c, t.ExternalID, map[string]any{"cancellationReason": reason(message)})
	}
	b, err := look(ctx, client, c, t.ExternalID)
	if err != nil {
		return err
	}
	if kindOfStatus(b.Get("status").Text()) == booking.KindCanceled {
		return nil
	}
	if !hasSeats(b) {
		return booking.ErrSeatsHidden
	}
	for a := range b.Get("attendees").Items() {
		seat := a.Get("seatUid").Text()
		if seat == "" || booking.NormalizeEmail(a.Get("email").Text()) != booking.NormalizeEmail(t.Seat) {
			continue
		}
		if err := cancelSeat(ctx, client, c, t.ExternalID, seat, message); err != nil {
			return err
		}
	}
	return nil // who has no seat any more is canceled already
}

// cancelSeat gives the reason first: newer versions ask for one, older ones refuse
// a seat's cancel that has any.
func cancelSeat(ctx context.Context, client *http.Client, c providers.Connection, uid, seat, message string) error {
	err := cancel(ctx, client, c, uid, map[string]any{"seatUid": seat, "cancellationReason": reason(message)})
	if status(err) == http.StatusBadRequest && strings.Contains(err.Error(), "should not exist") {
		return cancel(ctx, client, c, uid, map[string]any{"seatUid": seat})
	}
	return err
}

// cancel may be sent again: the second is told that it is done.
func cancel(ctx context.Context, client *http.Client, c providers.Connection, uid string, body map[string]any) error {
	_, err := send(ctx, client, c, request{
		method: http.MethodPost, path: "/bookings/" + url.PathEscape(uid) + "/cancel", version: bookingsVersion, json: body, repeatable: true,
	})
	if status(err) == http.StatusBadRequest && alreadyCanceled(err) {
		return nil
	}
	return err
}

// alreadyCanceled goes by the text, for the API has no code for it.
func alreadyCanceled(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "already been cancelled") || strings.Contains(text, "already cancelled")
}

func reason(message string) string {
	if text := providers.Plain(message); text != nil {
		return *text
	}
	return defaultReason
}
