package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// AcceptBody is what accepting an overlap takes. Exported for huma.
type AcceptBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Why the overlap is all right: kept with who accepted it. Leave out personal data"`
}

type acceptInput struct {
	PathID
	Body AcceptBody
}

// sameAcceptance refuses whoever accepts what was accepted for another reason: that
// one is kept, and his would be lost without a word. Who says the same again, since
// his first answer did not reach him, is told that all is well.
func (s *server) sameAcceptance(ctx context.Context, id uuid.UUID, reason string) error {
	notes, err := s.Overlaps.ConflictNotes(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	reason, err = booking.OverlapReason(reason)
	if err != nil {
		return err
	}
	if note := notes[id].Accepted; note != nil && note.Actor != booking.ActorSystem && note.Reason == reason {
		return nil
	}
	return &booking.ConflictError{Code: "accepted", Detail: "the overlap was accepted already, for another reason"}
}

func (s *server) registerOverlaps(api huma.API) {
	act(s, api, http.StatusOK, "/bookings/{id}/accept-overlap", "accept-overlap",
		"Accept that a conflicted booking overlaps another. It stays conflicted, without a slot, and is not listed as open any more",
		func(ctx context.Context, by access.By, in *acceptInput) (bookingJSON, error) {
			id, err := in.parse()
			if err != nil {
				return bookingJSON{}, err
			}
			answers, err := s.acceptOverlaps(ctx, by, []uuid.UUID{id}, in.Body.Reason)
			if err != nil {
				return bookingJSON{}, err
			}
			for _, a := range answers {
				if a.Refused != nil {
					return bookingJSON{}, a.Refused
				}
				if a.Unchanged {
					if err := s.sameAcceptance(ctx, id, in.Body.Reason); err != nil {
						return bookingJSON{}, err
					}
				}
			}
			b, err := s.Records.Booking(ctx, id)
			return newBookingJSON(b), err
		})
}
