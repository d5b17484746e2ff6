package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// maxConflicts is how many open conflicts the calendar lists.
const maxConflicts = 20

// rival is the other side of a conflict: who holds what a booking wants, or who
// was booked into what it holds.
type rival struct {
	Name  string
	Link  string
	Hours string // with the day where that is another
	From  time.Time
	Phone string
	Email string
	Same  bool // has the e-mail of the one that it is shown at
}

func newRival(b booking.View, name string, at booking.View, q calendarQuery, l *language) rival {
	r := rival{Name: name, Link: bookingLink(b.ID, q), Phone: b.Invitee.Phone, Email: b.Invitee.Email}
	r.Same = sameInvitee(b, at)
	if b.StartsAt == nil || b.EndsAt == nil {
		return r
	}
	r.From = b.StartsAt.In(q.Zone)
	if at.StartsAt == nil {
		r.Hours = l.dates.span(r.From, b.EndsAt.In(q.Zone))
	} else {
		r.Hours = l.dates.hours(r.From, b.EndsAt.In(q.Zone), calendar.DateOf(*at.StartsAt, q.Zone))
	}
	return r
}

// sameInvitee tells whether two bookings have one e-mail.
func sameInvitee(a, b booking.View) bool {
	return a.Invitee.Email != "" && strings.EqualFold(a.Invitee.Email, b.Invitee.Email)
}

// fullName tells a booking from others in one line.
func fullName(b booking.View, l *language) string {
	name := nameOf(b, l)
	if who := whoIs(b); who != "" {
		name += " · " + who
	}
	return name + " · " + l.named("provider", b.Provider)
}

// conflictList is what the calendar warns of.
type conflictList struct {
	Entries  []entry
	Unlisted int // there are so many more
	Open     int // those that are not over, listed or not
}

// Count of all.
func (c conflictList) Count() int { return len(c.Entries) + c.Unlisted }

// conflicts are the open ones that are not over, the next first, whatever else
// the calendar shows: nobody should page or filter them away without knowing.
// Of those that are over it has what lies in the period that is shown.
func (s *server) conflicts(ctx context.Context, shown []booking.View, q calendarQuery, names names, l *language) (conflictList, error) {
	var out conflictList
	now := s.Now()
	open, err := s.Records.Bookings(ctx, booking.Filter{From: &now, OpenConflicts: true}, booking.Page{Limit: maxConflicts})
	if err != nil {
		return out, err
	}
	out.Open = len(open.Items)
	if open.Next != "" {
		if out.Open, err = s.Records.OpenConflicts(ctx, now); err != nil {
			return out, err
		}
	}
	out.Unlisted = out.Open - len(open.Items)
	for _, b := range open.Items {
		out.Entries = append(out.Entries, newEntry(b, q, names, l))
	}
	for _, b := range shown {
		if b.Status == booking.Conflicted && !b.OverlapAccepted && b.EndsAt != nil && !b.EndsAt.After(now) {
			out.Entries = append(out.Entries, newEntry(b, q, names, l))
		}
	}
	return out, s.addHolders(ctx, out.Entries, q, l)
}

// addHolders says of bookings without a place who has it.
func (s *server) addHolders(ctx context.Context, list []entry, q calendarQuery, l *language) error {
	var ids []uuid.UUID
	for _, e := range list {
		ids = append(ids, e.ConflictsWith...)
	}
	found, err := s.byID(ctx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		for _, id := range e.ConflictsWith {
			if b, ok := found[id]; ok {
				e.Holders = append(e.Holders, newRival(b, fullName(b, l), e.View, q, l))
			}
		}
		slices.SortStableFunc(e.Holders, inTime)
	}
	return nil
}

// byID reads those of the ids that exist, at once.
func (s *server) byID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]booking.View, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := s.Records.BookingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]booking.View, len(all))
	for _, b := range all {
		out[b.ID] = b
	}
	return out, nil
}

// addRivals says of bookings that hold a place who else was booked into it. One
// who wants the place overlaps it, so that one read of their whole time has all.
func (s *server) addRivals(ctx context.Context, list []entry, q calendarQuery, l *language) error {
	at := map[uuid.UUID]int{}
	f := booking.Filter{OpenConflicts: true}
	for i, e := range list {
		if e.Status != booking.Active || e.StartsAt == nil || e.EndsAt == nil {
			continue
		}
		at[e.ID] = i
		if f.From == nil || e.StartsAt.Before(*f.From) {
			f.From = e.StartsAt
		}
		if f.To == nil || e.EndsAt.After(*f.To) {
			f.To = e.EndsAt
		}
	}
	if len(at) == 0 {
		return nil
	}
	open, _, err := s.collect(ctx, f)
	if err != nil {
		return err
	}
	for _, b := range open {
		text := "booking.rival"
		if b.Reason == booking.ReasonCapacityFull {
			text = "booking.rival.full"
		}
		name := l.t(text, "Who", cmp.Or(whoIs(b), l.t("booking.somebody")))
		for _, id := range b.ConflictsWith {
			if i, ok := at[id]; ok {
				list[i].Rivals = append(list[i].Rivals, newRival(b, name, list[i].View, q, l))
			}
		}
	}
	return nil
}

func inTime(a, b rival) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Name, b.Name)) }
