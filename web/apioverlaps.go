package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

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
			}
			b, err := s.Records.Booking(ctx, id)
			return newBookingJSON(b), err
		})
}
