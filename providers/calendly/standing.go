package calendly

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// The states of an invitee and of an event.
const (
	statusActive   = "active"
	statusCanceled = "canceled"
)

// standingEvent stands in a Standing's body where a webhook's names its event:
// nothing happened, it stands so.
const standingEvent = string(booking.KindSnapshot)

var errBadInvitee = errors.New("the booking's id is not the path of a Calendly invitee")

// Look reads an invitee and his event.
func (*Provider) Look(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, externalID string, _ time.Time) (providers.Standing, error) {
	if !inviteePath.MatchString(externalID) {
		return providers.Standing{}, errBadInvitee
	}
	a := &api{client: client, connection: c}
	invitee, err := a.resource(ctx, externalID)
	if err != nil {
		return providers.Standing{}, err
	}
	event, err := a.resource(ctx, eventOf(externalID))
	if err != nil {
		return providers.Standing{}, err
	}
	return stands(invitee, event, o), nil
}

// eventOf is the path of the event that an invitee's begins with.
func eventOf(invitee string) string {
	event, _, _ := strings.Cut(invitee, "/invitees/")
	return event
}

// stands reads what the API says of an invitee and his event through the body that
// is kept of it, so that the body says all that was read.
func stands(invitee, event providers.Value, o providers.Origin) providers.Standing {
	body := kept(invitee, event)
	root, f := providers.ScanObject(body)
	if f == nil && len(body) > providers.MaxSnapshot {
		f = providers.Faultf(providers.CodeBodyTooLarge, "what the API says of the invitee is larger than %d bytes", providers.MaxSnapshot)
	}
	if f != nil {
		return providers.Standing{Delivery: o.Fetched(booking.KindSnapshot, "", nil, f), Body: []byte(providers.Withheld)}
	}
	e, f := standing(root.Get("payload"), o)
	kind := booking.KindSnapshot
	if e != nil {
		kind = e.Kind
	}
	return providers.Standing{Delivery: o.Fetched(kind, "", e, f), Body: secrets.ApplyValue(root)}
}

// unreadable is an event whose invitees cannot even be asked for.
func unreadable(event providers.Value, o providers.Origin) providers.Standing {
	f := providers.Faultf(providers.CodeIDInvalid, "uri is not that of a scheduled event, so that its invitees cannot be read")
	return providers.Standing{Delivery: o.Fetched(booking.KindSnapshot, "", nil, f), Body: secrets.Apply(kept(providers.Value{}, event))}
}

func kept(invitee, event providers.Value) []byte {
	var out providers.Object
	out.AddText("event", standingEvent)
	out.Add("payload", merge(invitee, event))
	return out.JSON()
}

// standing reads a merged payload as the webhook would be read that told of it, at
// the invitee's time of change (R2): as a snapshot, or as a cancel. In an event that
// is canceled nobody meets, whatever its invitees' rows say yet.
func standing(payload providers.Value, o providers.Origin) (*booking.Event, *providers.Fault) {
	if !payload.Get("scheduled_event").Object() {
		return nil, providers.Faultf(providers.CodePayloadMissing, "scheduled_event is missing or not an object")
	}
	name := inviteeCreated
	switch status := payload.Get("status").Text(); {
	case status == statusCanceled, payload.Get("scheduled_event", "status").Text() == statusCanceled:
		name = inviteeCanceled
	case status != statusActive:
		return nil, providers.Faultf(providers.CodeKindMissing, "status is neither active nor canceled; without it nobody can tell how the booking stands")
	}
	e, f := invitee(payload, name, o)
	if f != nil {
		return nil, f
	}
	e.Key = ""
	if name == inviteeCreated {
		e.Kind = booking.KindSnapshot
	}
	if noShow := payload.Get("no_show"); noShow.Present() {
		absent := noShow.Object()
		for i := range e.Attendees {
			e.Attendees[i].NoShow = &absent
		}
	}
	return e, nil
}
