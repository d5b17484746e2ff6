package web

import (
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

var problemType = reflect.TypeFor[Problem]()

// The filters of the API, as far as each list has them. They are exported because
// huma reads only exported fields of what is embedded.

// WindowFilter narrows to a window of time. Dates without a time are midnight in
// UTC.
type WindowFilter struct {
	From string `query:"from" doc:"Only what ends or was recorded after this time, RFC 3339" example:"2026-11-23T00:00:00Z"`
	To   string `query:"to" doc:"Only what begins or was recorded before this time, RFC 3339" example:"2026-11-30T00:00:00Z"`
}

func (w WindowFilter) into(f *booking.Filter) (err error) {
	if f.From, err = parseTime("from", w.From); err != nil {
		return err
	}
	f.To, err = parseTime("to", w.To)
	return err
}

// SourceFilter narrows to where a record came from.
type SourceFilter struct {
	Provider     string `query:"provider"`
	ConnectionID string `query:"connection_id"`
}

func (s SourceFilter) into(f *booking.Filter) (err error) {
	f.Provider = s.Provider
	f.ConnectionID, err = parseFilterID("connection_id", s.ConnectionID)
	return err
}

// ResourceFilter narrows to a resource.
type ResourceFilter struct {
	ResourceID string `query:"resource_id"`
}

func (r ResourceFilter) into(f *booking.Filter) (err error) {
	f.ResourceID, err = parseFilterID("resource_id", r.ResourceID)
	return err
}

// BookingFilter narrows to a booking.
type BookingFilter struct {
	BookingID string `query:"booking_id"`
}

func (b BookingFilter) into(f *booking.Filter) (err error) {
	f.BookingID, err = parseFilterID("booking_id", b.BookingID)
	return err
}

// StatusFilter narrows to some states.
type StatusFilter struct {
	Status []string `query:"status" doc:"Any of these, separated by commas"`
}

func (s StatusFilter) into(f *booking.Filter, allowed ...string) error {
	for _, v := range s.Status {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if err := oneOf("status", v, allowed); err != nil {
			return err
		}
		f.Statuses = append(f.Statuses, v)
	}
	return nil
}

// ReasonFilter narrows to a reason.
type ReasonFilter struct {
	Reason string `query:"reason"`
}

func (r ReasonFilter) into(f *booking.Filter, allowed ...booking.Reason) error {
	if r.Reason == "" {
		return nil
	}
	f.Reason = booking.Reason(r.Reason)
	return oneOf("reason", r.Reason, texts(allowed))
}

func oneOf(field, value string, allowed []string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return &booking.InvalidError{Field: field, Detail: "is one of " + strings.Join(allowed, ", ")}
}

func texts[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

func parseTime(field, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 && t.Year() < 9999 {
			t = t.UTC()
			return &t, nil
		}
	}
	return nil, &booking.InvalidError{Field: field, Detail: "is a time like 2026-11-29T10:00:00Z"}
}

func parseFilterID(field, s string) (*uuid.UUID, error) {
	if s == "" {
		return nil, nil
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return nil, &booking.InvalidError{Field: field, Detail: "is an id"}
	}
	return &id, nil
}

// The reasons that a booking, and that a transition, can have.
var (
	bookingReasons = []booking.Reason{
		booking.ReasonRescheduled, booking.ReasonDeclined, booking.ReasonRemoved, booking.ReasonCanceled,
		booking.ReasonSlotTaken, booking.ReasonOverlap, booking.ReasonCapacityFull, booking.ReasonUnmapped,
	}
	refusalReasons = []booking.Reason{booking.ReasonIllegal, booking.ReasonStale}
	allReasons     = append(append([]booking.Reason{}, refusalReasons...), bookingReasons...)
)
