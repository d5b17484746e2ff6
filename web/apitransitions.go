package web

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
)

// transitionJSON is a row of the audit log. From is null when the booking was
// not known before.
type transitionJSON struct {
	Seq        *int64          `json:"seq,omitempty" doc:"The row's place in the whole audit log. Left out for whoever is limited to some resources: its gaps would tell how much goes on at the others"`
	ID         uuid.UUID       `json:"id"`
	BookingID  *uuid.UUID      `json:"booking_id"`
	ReceiptID  *uuid.UUID      `json:"receipt_id"`
	Event      booking.Action  `json:"event"`
	From       *string         `json:"from"`
	To         *string         `json:"to"`
	Outcome    booking.Outcome `json:"outcome" enum:"applied,rejected"`
	Reason     *string         `json:"reason"`
	OccurredAt time.Time       `json:"occurred_at"`
	RecordedAt time.Time       `json:"recorded_at"`
	Actor      booking.Actor   `json:"actor"`
}

func newTransitionJSON(v booking.TransitionView) transitionJSON {
	return transitionJSON{
		Seq: orNullSeq(v.Seq), ID: v.ID, BookingID: orNullID(v.BookingID), ReceiptID: orNullID(v.ReceiptID),
		Event: v.Event, From: orNull(string(v.From)), To: orNull(string(v.To)),
		Outcome: v.Outcome, Reason: orNull(string(v.Reason)),
		OccurredAt: v.OccurredAt.UTC(), RecordedAt: v.RecordedAt.UTC(), Actor: v.Actor,
	}
}

func orNullSeq(seq int64) *int64 {
	if seq == 0 {
		return nil
	}
	return &seq
}

type transitionsInput struct {
	Paging
	WindowFilter
	SourceFilter
	ResourceFilter
	BookingFilter
	StatusFilter
	ReasonFilter
	Outcome string `query:"outcome" doc:"applied or rejected"`
}

func (in *transitionsInput) filter() (f booking.Filter, err error) {
	if in.Outcome != "" {
		f.Outcome = booking.Outcome(in.Outcome)
		err = oneOf("outcome", in.Outcome, texts([]booking.Outcome{booking.Applied, booking.Rejected}))
	}
	err = errors.Join(err,
		in.WindowFilter.into(&f), in.SourceFilter.into(&f), in.ResourceFilter.into(&f), in.BookingFilter.into(&f),
		in.StatusFilter.into(&f, texts(booking.Statuses())...), in.ReasonFilter.into(&f, allReasons...))
	return f, err
}

func (s *server) registerTransitions(api huma.API) {
	listing(s, api, "/transitions", "list-transitions", "The audit log, newest first", (*transitionsInput).filter, s.Records.Transitions, newTransitionJSON)
	one(s, api, "/transitions/{id}", "get-transition", "One row of the audit log", s.Records.Transition, newTransitionJSON)
}
