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
	// Why is why the one holds what the other waits for, where that is asked.
	Why string
	// Conflict is where one that waits stands beside whom it waits for.
	Conflict string
	// Who is in it, and what it is about, apart.
	Who      string
	Title    string
	Provider string

	of booking.View
}

func newRival(b booking.View, name string, at booking.View, q calendarQuery, l *language) rival {
	r := rival{Name: name, Link: bookingLink(b.ID, q), Phone: b.Invitee.Phone, Email: reachable(b.Invitee).Email, Who: l.whoIs(b.Invitee), Title: nameOf(b, l), Provider: b.Provider, of: b}
	if b.Status == booking.Conflicted {
		r.Conflict = conflictLink(b)
	}
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
	if who := l.whoIs(b.Invitee); who != "" {
		name += " · " + who
	}
	return name + " · " + l.named("provider", b.Provider)
}

// conflictList is what the calendar warns of.
type conflictList struct {
	Entries  []entry // the newest first
	Unlisted int     // there are so many more
	Open     int     // those that are not over, listed or not, whatever is shown
	// Elsewhere are those of other resources and providers than are shown.
	Elsewhere int
	More      string // the page that has all of these
}

// Count of those that are about what is shown.
func (c conflictList) Count() int { return len(c.Entries) + c.Unlisted }

// Newest is the one that came last; nil for none.
func (c conflictList) Newest() *entry {
	if len(c.Entries) == 0 {
		return nil
	}
	return &c.Entries[0]
}

// conflicts are the open ones that are not over, in whatever period and state, of the
// resource and the provider that are shown; of others it has the number, so that
// nobody filters them away without knowing. Of those that are over it has what lies in
// the period that is shown.
func (s *server) conflicts(ctx context.Context, shown []booking.View, q calendarQuery, names names, l *language) (conflictList, error) {
	page := conflictsQuery{Show: showOpen, Resource: q.Resource, Provider: q.Provider}
	out := conflictList{More: page.Link()}
	now := s.Now()
	f := q.filter()
	f.Text, f.From, f.OpenConflicts = "", &now, true
	open, err := s.Records.Bookings(ctx, f, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		return out, err
	}
	here := len(open.Items)
	if open.Next != "" {
		counts, _, err := s.Records.ByDay(ctx, f, []booking.Period{{From: now, To: now.AddDate(farAhead, 0, 0)}}, 0)
		if err != nil {
			return out, err
		}
		here = 0
		for _, n := range counts {
			here += n.Count
		}
	}
	out.Open = here
	if page.Filtered() {
		if out.Open, err = s.Records.OpenConflicts(ctx, now); err != nil {
			return out, err
		}
	}
	out.Elsewhere = out.Open - here
	for _, b := range open.Items {
		out.Entries = append(out.Entries, newEntry(b, q, names, l))
	}
	if err := s.newestFirst(ctx, out.Entries); err != nil {
		return out, err
	}
	out.Entries = out.Entries[:min(len(out.Entries), maxConflicts)]
	out.Unlisted = here - len(out.Entries)
	for _, b := range shown {
		if b.Status == booking.Conflicted && !b.OverlapAccepted && b.EndsAt != nil && !b.EndsAt.After(now) {
			out.Entries = append(out.Entries, newEntry(b, q, names, l))
		}
	}
	return out, s.addHolders(ctx, out.Entries, q, l)
}

// farAhead is how many years ahead conflicts are counted.
const farAhead = 100

// newestFirst orders conflicts, which are in order of time, by when they began.
func (s *server) newestFirst(ctx context.Context, list []entry) error {
	if len(list) < 2 {
		return nil
	}
	ids := make([]uuid.UUID, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	notes, err := s.Overlaps.ConflictNotes(ctx, ids)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b entry) int { return notes[b.ID].Since.Compare(notes[a.ID].Since) })
	return nil
}

// addOpenHolders says of bookings that wait, and that somebody has to decide about, who
// has their place.
func (s *server) addOpenHolders(ctx context.Context, list []entry, w window) error {
	var at []int
	var open []entry
	for i, e := range list {
		if e.contested() {
			at, open = append(at, i), append(open, e)
		}
	}
	if err := s.addHolders(ctx, open, w.query, w.language); err != nil {
		return err
	}
	for n, i := range at {
		list[i] = open[n]
	}
	return nil
}

// warnOnce leaves a warning at the first of those who are in one meeting.
func warnOnce(list []entry) {
	type warning struct{ session, rival uuid.UUID }
	told := map[warning]bool{}
	for i, e := range list {
		if e.SessionID == uuid.Nil || len(e.Rivals) == 0 {
			continue
		}
		list[i].Rivals = slices.DeleteFunc(slices.Clone(e.Rivals), func(r rival) bool {
			w := warning{e.SessionID, r.of.ID}
			if told[w] {
				return true
			}
			told[w] = true
			return false
		})
	}
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
		name := l.t(text, "Who", cmp.Or(l.whoIs(b.Invitee), l.t("booking.somebody")))
		for _, id := range b.ConflictsWith {
			if i, ok := at[id]; ok {
				list[i].Rivals = append(list[i].Rivals, newRival(b, name, list[i].View, q, l))
			}
		}
	}
	return nil
}

func inTime(a, b rival) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Name, b.Name)) }
