package calendly

import (
	"context"
	"net/http"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// maxReason is the longest reason that the API takes, in characters.
const maxReason = 10000

// alreadyCanceled is what the API's refusal to cancel an event twice says.
const alreadyCanceled = "Event is already canceled"

// Cancel cancels the whole event, with all that were invited to it: the API has
// nothing for one invitee. Doing it twice is refused as done already, so that it may
// be sent again.
func (*Provider) Cancel(ctx context.Context, client *http.Client, c providers.Connection, t providers.CancelTarget, message string) error {
	event := t.SessionExternalID
	if inviteePath.MatchString(t.ExternalID) {
		event = eventOf(t.ExternalID)
	}
	if !eventPath.MatchString(event) {
		return booking.ErrUnnamed
	}
	var body struct {
		Reason string `json:"reason,omitempty"`
	}
	body.Reason = cut(strings.TrimSpace(message))
	a := &api{client: client, connection: c}
	answer, err := a.call(ctx, http.MethodPost, event+"/cancellation", nil, body, maxResource, true)
	if said, no := forbidden(err); no && strings.Contains(said, alreadyCanceled) {
		return nil
	}
	if err == nil && !answer.Get("resource", "canceled_by").Present() {
		return providers.BadAnswer("it does not say that the event was canceled")
	}
	return err
}

func cut(reason string) string {
	if runes := []rune(reason); len(runes) > maxReason {
		return string(runes[:maxReason])
	}
	return reason
}
