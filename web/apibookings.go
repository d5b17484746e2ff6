package web

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
)

// bookingJSON is a booking as programs get it. What nobody said is null.
type bookingJSON struct {
	ID              uuid.UUID      `json:"id"`
	Provider        string         `json:"provider"`
	ConnectionID    uuid.UUID      `json:"connection_id"`
	ExternalID      string         `json:"external_id"`
	SessionID       *uuid.UUID     `json:"session_id"`
	Title           *string        `json:"title"`
	Location        *string        `json:"location"`
	Status          booking.Status `json:"status" enum:"pending,active,conflicted,canceled"`
	Reason          *string        `json:"reason"`
	ResourceIDs     []uuid.UUID    `json:"resource_ids" nullable:"false"`
	StartsAt        *time.Time     `json:"starts_at"`
	EndsAt          *time.Time     `json:"ends_at"`
	BookedAt        *time.Time     `json:"booked_at"`
	Capacity        *int           `json:"capacity"`
	Invitee         inviteeJSON    `json:"invitee"`
	NoShow          bool           `json:"no_show"`
	ChainID         uuid.UUID      `json:"chain_id"`
	Supersedes      *uuid.UUID     `json:"supersedes"`
	SupersededBy    *uuid.UUID     `json:"superseded_by"`
	ConflictsWith   []uuid.UUID    `json:"conflicts_with" nullable:"false"`
	OverlapAccepted bool           `json:"overlap_accepted"`
}

type inviteeJSON struct {
	Name     *string `json:"name"`
	Email    *string `json:"email"`
	Phone    *string `json:"phone"`
	Timezone *string `json:"timezone"`
}

func newBookingJSON(v booking.View) bookingJSON {
	return bookingJSON{
		ID: v.ID, Provider: v.Provider, ConnectionID: v.ConnectionID, ExternalID: v.ExternalID,
		SessionID: orNullID(v.SessionID), Title: orNull(v.Title), Location: orNull(v.Location),
		Status: v.Status, Reason: orNull(string(v.Reason)), ResourceIDs: orEmpty(v.ResourceIDs),
		StartsAt: utc(v.StartsAt), EndsAt: utc(v.EndsAt), BookedAt: utc(v.BookedAt), Capacity: v.Capacity,
		Invitee: inviteeJSON{
			Name: orNull(v.Invitee.Name), Email: orNull(v.Invitee.Email),
			Phone: orNull(v.Invitee.Phone), Timezone: orNull(v.Invitee.Timezone),
		},
		NoShow: v.NoShow, ChainID: v.ChainID, Supersedes: v.Supersedes, SupersededBy: v.SupersededBy,
		ConflictsWith: orEmpty(v.ConflictsWith), OverlapAccepted: v.OverlapAccepted,
	}
}

// orNull makes what is unknown null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orNullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// orEmpty makes an empty list [], never null.
func orEmpty[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

type bookingsInput struct {
	Paging
	WindowFilter
	SourceFilter
	ResourceFilter
	BookingFilter
	StatusFilter
	ReasonFilter
}

func (in *bookingsInput) filter() (f booking.Filter, err error) {
	err = errors.Join(
		in.WindowFilter.into(&f), in.SourceFilter.into(&f), in.ResourceFilter.into(&f), in.BookingFilter.into(&f),
		in.StatusFilter.into(&f, texts(booking.Statuses())...), in.ReasonFilter.into(&f, bookingReasons...))
	return f, err
}

func (s *server) registerBookings(api huma.API) {
	listing(s, api, "/bookings", "list-bookings", "Bookings, by their start", (*bookingsInput).filter, s.Records.Bookings, newBookingJSON)
	one(s, api, "/bookings/{id}", "get-booking", "One booking", s.Records.Booking, newBookingJSON)
}
