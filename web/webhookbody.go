package web

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// WebhookBodies say what endpoints are told: bookings and transitions as the API has
// them, as far as the endpoint is told of people.
type WebhookBodies struct{ records guarded }

// NewWebhookBodies makes them.
func NewWebhookBodies(records Records) *WebhookBodies { return &WebhookBodies{guarded{records}} }

// webhookJSON is a message, in the form that the Standard Webhooks specification
// proposes.
type webhookJSON struct {
	Type      booking.EndpointEvent `json:"type"`
	Timestamp time.Time             `json:"timestamp"` // when it happened
	Data      any                   `json:"data"`
}

// transitionToldJSON is the data about a booking: it as it is now, and what happened
// to it. Of two messages the transition's seq tells which came later.
type transitionToldJSON struct {
	Booking    bookingJSON    `json:"booking"`
	Transition transitionJSON `json:"transition"`
}

type connectionToldJSON struct {
	Connection connectionNamedJSON `json:"connection"`
	Since      time.Time           `json:"since"`
	Cause      *string             `json:"cause"`
}

type connectionNamedJSON struct {
	ID       uuid.UUID `json:"id"`
	Provider string    `json:"provider"`
	Name     string    `json:"name"`
}

// Body is the message of an effect to an endpoint. What is said of a booking is how it
// stands now: nothing of it is kept for the message, so that whoever is erased
// meanwhile is in none.
func (w *WebhookBodies) Body(ctx context.Context, to booking.Endpoint, e booking.Effect) ([]byte, error) {
	out := webhookJSON{Type: e.Event, Timestamp: e.CreatedAt.UTC()}
	switch e.Event {
	case booking.EventTest:
		out.Data = map[string]string{"message": "A test from Slotkeeper"}
	case booking.EventFailing, booking.EventRecovered:
		told, err := w.connection(ctx, e)
		if err != nil {
			return nil, err
		}
		out.Data = told
	default:
		ctx = withScope(ctx, to.Scope())
		t, err := w.records.Transition(ctx, e.Action)
		if err != nil {
			return nil, fmt.Errorf("transition %s: %w", e.Action, err)
		}
		b, err := w.records.Booking(ctx, e.BookingID)
		if err != nil {
			return nil, fmt.Errorf("booking %s: %w", e.BookingID, err)
		}
		if !to.People {
			b.Invitee.Timezone = "" // it tells where somebody is
		}
		out.Timestamp = t.RecordedAt.UTC()
		out.Data = transitionToldJSON{newBookingJSON(b), newTransitionJSON(t)}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("web: a message: %w", err)
	}
	return body, nil
}

func (w *WebhookBodies) connection(ctx context.Context, e booking.Effect) (connectionToldJSON, error) {
	var n booking.ConnectionNotice
	if err := json.Unmarshal(e.Payload, &n); err != nil {
		return connectionToldJSON{}, fmt.Errorf("web: the payload of effect %s: %w", e.ID, err)
	}
	c, err := w.records.all.Connection(ctx, e.ConnectionID)
	if err != nil {
		return connectionToldJSON{}, fmt.Errorf("connection %s: %w", e.ConnectionID, err)
	}
	return connectionToldJSON{connectionNamedJSON{c.ID, c.Provider, c.Name}, n.Since.UTC(), orNull(n.Cause)}, nil
}
