package calcom

import (
	"context"
	"errors"
	"net/http"
	"time"

	"slotkeeper/providers"
)

// eventTypes knows, for one page, the event types of the bookings with seats in
// it: a booking does not say how many seats there are.
type eventTypes struct {
	client *http.Client
	c      providers.Connection
	known  map[string]eventType
	asked  int
}

// eventType is what we use of one; zero of one that the key may not see.
type eventType struct {
	seats string // as the API writes the number; "" when it is not known
	title string
}

func (t *eventTypes) standing(ctx context.Context, b providers.Value, o providers.Origin, at time.Time) (providers.Standing, error) {
	var kind eventType
	if hasSeats(b) {
		var err error
		if kind, err = t.of(ctx, b); err != nil {
			return providers.Standing{}, err
		}
	}
	kept := reduce(b, kind)
	if len(kept) > providers.MaxSnapshot {
		f := providers.Faultf(providers.CodeBodyTooLarge, "the booking is larger than %d bytes", providers.MaxSnapshot)
		return providers.Standing{Delivery: o.Fetched(kindOfStatus(b.Get("status").Text()), "", nil, f), Body: reduceToID(b)}, nil
	}
	return standing(kept, o, at), nil
}

func (t *eventTypes) of(ctx context.Context, b providers.Value) (eventType, error) {
	id := b.Get("eventType", "id").Number()
	if id == "" {
		id = b.Get("eventTypeId").Number()
	}
	if id == "" {
		return eventType{}, nil
	}
	if kind, ok := t.known[id]; ok {
		return kind, nil
	}
	t.asked++
	answer, err := get(ctx, t.client, t.c, "/event-types/"+id, eventTypesVersion)
	refused := status(err) >= http.StatusBadRequest && status(err) < http.StatusInternalServerError && status(err) != http.StatusUnauthorized
	if err != nil && !refused && !errors.Is(err, providers.ErrGone) {
		return eventType{}, err
	}
	kind := eventType{}
	if err == nil {
		data := answer.Get("data")
		kind = eventType{seats: data.Get("seats", "seatsPerTimeSlot").Number(), title: data.Get("title").Text()}
	}
	if t.known == nil {
		t.known = map[string]eventType{}
	}
	t.known[id] = kind
	return kind, nil
}

// hasSeats tells whether a booking's attendees sit on seats of their own.
func hasSeats(b providers.Value) bool {
	for a := range b.Get("attendees").Items() {
		if a.Get("seatUid").Text() != "" {
			return true
		}
	}
	return false
}
