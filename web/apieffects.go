package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// effectJSON is an effect as programs get it.
type effectJSON struct {
	ID           uuid.UUID            `json:"id"`
	BookingID    *uuid.UUID           `json:"booking_id"`
	ConnectionID *uuid.UUID           `json:"connection_id"`
	Kind         booking.EffectKind   `json:"kind"`
	Event        *string              `json:"event" doc:"What another system is told; null of other kinds"`
	EndpointID   *uuid.UUID           `json:"endpoint_id" doc:"The other system that is told"`
	Status       booking.EffectStatus `json:"status" enum:"pending,failed,done,dead,withdrawn" doc:"Failed is tried again at due_at; dead was given up; withdrawn was taken back before it was done"`
	Attempts     int                  `json:"attempts"`
	Error        *string              `json:"error" doc:"Of the newest try that failed"`
	Actor        booking.Actor        `json:"actor"`
	RequestID    string               `json:"request_id"`
	CreatedAt    time.Time            `json:"created_at"`
	DueAt        *time.Time           `json:"due_at" doc:"When it is tried next; null when it is not"`
	DoneAt       *time.Time           `json:"done_at" doc:"When it was done or withdrawn"`
}

func newEffectJSON(e booking.Effect) effectJSON {
	out := effectJSON{
		ID: e.ID, BookingID: orNullID(e.BookingID), ConnectionID: orNullID(e.ConnectionID), Kind: e.Kind, Status: e.Status,
		Attempts: e.Attempts, Error: orNull(e.Error), Actor: e.Actor, RequestID: e.RequestID, CreatedAt: e.CreatedAt.UTC(), DoneAt: utc(e.DoneAt),
	}
	if id, told := booking.EndpointOf(e.Target); told {
		out.Event, out.EndpointID = orNull(string(e.Event)), &id
	}
	if e.Status.Open() {
		out.DueAt = utc(&e.DueAt)
	}
	return out
}

// CancelBody is what a cancel takes. Exported for huma.
type CancelBody struct {
	Message string `json:"message,omitempty" maxLength:"2000" doc:"Shown to those who are canceled"`
	Confirm int    `json:"confirm,omitempty" minimum:"0" doc:"How many bookings are to be canceled: needed where the provider cancels a whole group"`
}

type cancelInput struct {
	PathID
	Body CancelBody
}

func (s *server) registerEffects(api huma.API) {
	command(s, api, "/bookings/{id}/cancel-at-provider", "cancel-at-provider",
		"Cancel a booking at its provider. The booking changes when the provider's webhook says so",
		func(ctx context.Context, by access.By, in *cancelInput) (effectJSON, error) {
			id, err := in.parse()
			if err != nil {
				return effectJSON{}, err
			}
			e, err := s.askCancel(ctx, booking.CancelRequest{
				BookingID: id, Action: newID(), Message: in.Body.Message, Confirm: in.Body.Confirm,
			}, by)
			return newEffectJSON(e), err
		})
	command(s, api, "/effects/{id}/retry", "retry-effect", "Try an effect again that failed or was given up",
		func(ctx context.Context, by access.By, in *PathID) (effectJSON, error) {
			id, err := in.parse()
			if err != nil {
				return effectJSON{}, err
			}
			e, err := s.Effects.RetryEffect(ctx, id, s.entry(by))
			return newEffectJSON(e), err
		})
	act(s, api, http.StatusOK, "/effects/{id}/withdraw", "withdraw-effect", "Take back an effect that is still to be done",
		func(ctx context.Context, by access.By, in *PathID) (effectJSON, error) {
			id, err := in.parse()
			if err != nil {
				return effectJSON{}, err
			}
			e, err := s.Effects.WithdrawEffect(ctx, id, s.entry(by))
			return newEffectJSON(e), err
		})
	operation(s, api, "/bookings/{id}/effects", "list-effects", "What was asked to be done at a booking's provider, newest first",
		func(ctx context.Context, in *PathID) (list[effectJSON], error) {
			id, err := in.parse()
			if err != nil {
				return list[effectJSON]{}, err
			}
			if _, err := s.Records.Booking(ctx, id); err != nil {
				return list[effectJSON]{}, err
			}
			all, err := s.Effects.Effects(ctx, id)
			return listOf(booking.List[booking.Effect]{Items: all}, newEffectJSON), err
		})
}

// command registers a POST that asks for something to be done later: its answer is
// 202.
func command[I, O any](
	s *server, api huma.API, path, id, summary string, handle func(context.Context, access.By, *I) (O, error),
) {
	act(s, api, http.StatusAccepted, path, id, summary, handle)
}

// act registers a POST with the status of its answer. Who may stands in the table
// of actions, by its route.
func act[I, O any](
	s *server, api huma.API, status int, path, id, summary string, handle func(context.Context, access.By, *I) (O, error),
) {
	op := s.described(api, http.MethodPost, path, id, summary)
	op.DefaultStatus = status
	huma.Register(api, op, func(ctx context.Context, in *I) (*output[O], error) {
		who, ok := ctx.Value(keyCaller).(caller)
		if !ok { // requireToken let nobody in
			return nil, s.apiProblem(ctx, path, access.ErrBadToken)
		}
		out, err := handle(ctx, access.By{Actor: who.Actor(), Remote: who.remote}, in)
		if err != nil {
			return nil, s.apiProblem(ctx, path, err)
		}
		return &output[O]{Body: out}, nil
	})
}
