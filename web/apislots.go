package web

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
)

// slotJSON is a session's claim on a resource.
type slotJSON struct {
	ID         uuid.UUID          `json:"id"`
	ResourceID uuid.UUID          `json:"resource_id"`
	SessionID  uuid.UUID          `json:"session_id"`
	StartsAt   time.Time          `json:"starts_at"`
	EndsAt     time.Time          `json:"ends_at"`
	Status     booking.SlotStatus `json:"status" enum:"active,tentative,waiting,released"`
	BookingIDs []uuid.UUID        `json:"booking_ids" nullable:"false" doc:"The session's bookings that are not canceled"`
}

func newSlotJSON(v booking.SlotView) slotJSON {
	return slotJSON{
		ID: v.ID, ResourceID: v.ResourceID, SessionID: v.SessionID,
		StartsAt: v.StartsAt.UTC(), EndsAt: v.EndsAt.UTC(), Status: v.Status, BookingIDs: orEmpty(v.BookingIDs),
	}
}

var slotStatuses = []booking.SlotStatus{booking.SlotActive, booking.SlotTentative, booking.SlotWaiting, booking.SlotReleased}

type slotsInput struct {
	Paging
	WindowFilter
	SourceFilter
	ResourceFilter
	BookingFilter
	StatusFilter
}

func (in *slotsInput) filter() (f booking.Filter, err error) {
	err = errors.Join(
		in.WindowFilter.into(&f), in.SourceFilter.into(&f), in.ResourceFilter.into(&f), in.BookingFilter.into(&f),
		in.StatusFilter.into(&f, texts(slotStatuses)...))
	return f, err
}

func (s *server) registerSlots(api huma.API) {
	listing(s, api, "/slots", "list-slots", "Slots, by their start", (*slotsInput).filter, s.Records.Slots, newSlotJSON)
}
