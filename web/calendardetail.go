package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// bookingDetail is a booking beside the calendar: what whoever is at the front desk
// needs of it. All else is on the booking's own page.
type bookingDetail struct {
	entry
	Page    string // the booking's own
	Close   string // the calendar without it
	Theirs  string // when, where the invitee is; "" when that is the viewer's zone
	Fellows []entry
	Seats   *int
	Chain   []chainLink
	// Conflict is where the conflict is shown and decided; "" for none. Decides says
	// that the viewer may.
	Conflict string
	Decides  bool
	// Group is how many people are in the meeting that holds the slot, and Waits who
	// waits for it.
	Group   int
	Waits   string
	Missing bool // there is no such booking, or not for the viewer
}

// groupOf is how many people are in the meeting that holds the slot: canceling one of
// several frees nothing. It is 1 where it does, as of a group whose seats are all taken.
func (d *bookingDetail) groupOf() int {
	elsewhere := func(r rival) bool { return r.of.SessionID != d.SessionID }
	if slices.ContainsFunc(d.Rivals, elsewhere) {
		n := 1
		for _, f := range d.Fellows {
			if f.Status == booking.Active {
				n++
			}
		}
		return n
	}
	if all := d.Meetings(); len(all) == 1 && elsewhere(all[0].rival) {
		return len(all[0].People)
	}
	return 1
}

// waits names whoever waits for the slot.
func (d *bookingDetail) waits(l *language) string {
	if len(d.Rivals) == 0 {
		return cmp.Or(d.Who, l.t("booking.somebody"))
	}
	names := make([]string, len(d.Rivals))
	for i, r := range d.Rivals {
		names[i] = cmp.Or(r.Who, l.t("booking.somebody"))
	}
	return strings.Join(names, ", ")
}

// maxFellows is how many of those in the same meeting are named.
const maxFellows = 20

// detail is the booking that the query opens; nil for none.
func (s *server) detail(ctx context.Context, w window, who viewer) (*bookingDetail, error) {
	if w.query.Open == uuid.Nil {
		return nil, nil
	}
	d := &bookingDetail{Close: w.query.Closed(), Page: bookingLink(w.query.Open, w.query)}
	b, err := s.Records.Booking(ctx, w.query.Open)
	if errors.Is(err, booking.ErrNotFound) {
		d.Missing = true
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.entry, d.Theirs = newEntry(b, w.query, w.names, w.language), theirs(b, w.query, w.language)
	if err := s.addOthers(ctx, &d.entry, w.query, w.language); err != nil {
		return nil, err
	}
	if err := s.addAbsences(ctx, &d.entry, w.query, w.names, w.language); err != nil {
		return nil, err
	}
	if d.Chain, err = s.chain(ctx, b, w.query, w.names, w.language); err != nil {
		return nil, err
	}
	if b.Status == booking.Conflicted {
		d.Conflict = conflictLink(b)
	}
	d.Decides = who.may(access.AcceptOverlaps) || who.may(access.ActAtProvider)
	if b.Capacity != nil && *b.Capacity > 1 {
		d.Seats = b.Capacity
	}
	if d.Fellows, err = s.fellows(ctx, b, w); err != nil {
		return nil, err
	}
	d.Group, d.Waits = d.groupOf(), d.waits(w.language)
	return d, nil
}

// fellows are the others of a booking's meeting.
func (s *server) fellows(ctx context.Context, b booking.View, w window) ([]entry, error) {
	if b.StartsAt == nil || b.EndsAt == nil || b.SessionID == uuid.Nil {
		return nil, nil
	}
	f := booking.Filter{From: b.StartsAt, To: b.EndsAt, Provider: b.Provider, Statuses: texts(shownByDefault)}
	all, _, err := s.collect(ctx, f)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, o := range all {
		if o.SessionID == b.SessionID && o.ID != b.ID && len(out) < maxFellows {
			e := newEntry(o, w.query, w.names, w.language)
			e.Link = w.query.Detail(o.ID)
			out = append(out, e)
		}
	}
	return out, nil
}
