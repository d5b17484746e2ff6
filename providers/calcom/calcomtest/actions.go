package calcomtest

import (
	"slices"
	"time"

	"slotkeeper/providers/apitest"
)

// Book makes a booking, a request for one where the host must confirm, or takes a
// seat of the one that stands. The booker may bring guests.
func (s *Server) Book(typeID int, who Person, start time.Time, guests ...Person) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.types[typeID]
	if !ok {
		return "", nil, ErrUnknown
	}
	if t.Seats > 0 {
		if b := s.seatedAt(t, start); b != nil {
			if len(b.Seats) >= t.Seats {
				return "", nil, ErrSeatFull
			}
			seat := s.sit(b, who)
			b.Updated = s.now()
			return b.UID, s.posts(created, b.made([]Seat{seat})), nil
		}
	}
	status, trigger := Accepted, created
	if t.Confirm {
		status, trigger = Pending, requested
	}
	b := s.insert(t, who, start, status, guests...)
	return b.UID, s.posts(trigger, b.made(b.Seats)), nil
}

// seatedAt is the booking with seats at that time, if one stands.
func (s *Server) seatedAt(t EventType, start time.Time) *row {
	i := slices.IndexFunc(s.bookings, func(b *row) bool {
		return b.Type.ID == t.ID && b.Start.Equal(start) && b.Status == Accepted
	})
	if i < 0 {
		return nil
	}
	return s.bookings[i]
}

// BookSeries makes n bookings of one series, each so long after the one before.
func (s *Server) BookSeries(typeID int, who Person, start time.Time, every time.Duration, n int) (series string, uids []string, posts []apitest.Post, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.types[typeID]
	if !ok {
		return "", nil, nil, ErrUnknown
	}
	for i := range n {
		b := s.insert(t, who, start.Add(time.Duration(i)*every), Accepted)
		if series == "" {
			series = "series-" + b.UID
		}
		b.Series = series
		uids = append(uids, b.UID)
		body := b.made(b.Seats)
		body["recurringEvent"] = map[string]any{"freq": 2, "count": n, "interval": 1}
		posts = append(posts, s.posts(created, body)...)
	}
	return series, uids, posts, nil
}

// Confirm is the host's yes.
func (s *Server) Confirm(uid string) ([]apitest.Post, error) {
	return s.settle(uid, Accepted, "", created)
}

// Reject is the host's no.
func (s *Server) Reject(uid, reason string) ([]apitest.Post, error) {
	return s.settle(uid, Rejected, reason, rejected)
}

func (s *Server) settle(uid, status, reason, trigger string) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.find(uid)
	switch {
	case !ok:
		return nil, ErrUnknown
	case b.Status != Pending:
		return nil, ErrNotOpen
	}
	b.Status, b.Reason, b.Updated = status, reason, s.now()
	return s.posts(trigger, b.settled()), nil
}

// Reschedule moves a booking, as its attendee does: the old one is canceled, and
// nothing is sent about it (B).
func (s *Server) Reschedule(uid string, start time.Time) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.open(uid)
	if err != nil {
		return "", nil, err
	}
	status, trigger := Accepted, rescheduled
	if old.Type.Confirm {
		status, trigger = Pending, requested
	}
	b := s.insert(old.Type, old.Seats[0].Person, start, status, old.Guests...)
	b.Host, b.Series, b.From, b.Location = old.Host, old.Series, old.UID, old.Location
	b.Seats = slices.Clone(old.Seats)
	b.retitle()
	old.Status, old.To, old.Updated = Cancelled, b.UID, s.now()
	body := b.made(b.Seats)
	body["rescheduleId"], body["rescheduleUid"] = old.ID, old.UID
	body["rescheduleStartTime"], body["rescheduleEndTime"] = old.Start.Format(time.RFC3339), old.End.Format(time.RFC3339)
	return b.UID, s.posts(trigger, body), nil
}

// MoveSeat takes one who attends to another time: into the booking that stands
// there, whose body then has the old booking's number, or into a new one. Of
// others who stay nothing is said; the last cancels the old one silently (B).
func (s *Server) MoveSeat(uid, email string, start time.Time) (string, []apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.open(uid)
	if err != nil {
		return "", nil, err
	}
	i := old.seat(email)
	if i < 0 || old.Type.Seats == 0 {
		return "", nil, ErrUnknown
	}
	who := old.Seats[i].Person
	b, number := s.seatedAt(old.Type, start), old.ID
	if b == nil {
		b = s.insert(old.Type, who, start, Accepted)
		b.Host, b.From, number = old.Host, old.UID, b.ID
	} else {
		if len(b.Seats) >= b.Type.Seats {
			return "", nil, ErrSeatFull
		}
		s.sit(b, who)
	}
	s.leave(old, i)
	body := b.made(b.Seats[len(b.Seats)-1:])
	body["bookingId"], body["rescheduleUid"] = number, old.UID
	return b.UID, s.posts(rescheduled, body), nil
}

func (s *Server) leave(b *row, seat int) {
	b.Seats, b.Updated = slices.Delete(b.Seats, seat, seat+1), s.now()
	if len(b.Seats) == 0 {
		b.Status = Cancelled
	}
}

// Cancel ends a booking for all. The posts are sent before the state changes,
// which is what done does (B).
func (s *Server) Cancel(uid, reason string) (posts []apitest.Post, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.open(uid)
	if err != nil {
		return nil, nil, err
	}
	posts, done = s.cancel(b, reason)
	return posts, done, nil
}

func (s *Server) cancel(b *row, reason string) ([]apitest.Post, func()) {
	body := b.closed(b.attendees())
	body["cancellationReason"] = reason
	return s.posts(cancelled, body), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		b.Status, b.Reason, b.Updated = Cancelled, reason, s.now()
	}
}

// CancelSeat ends one attendee's seat; the last one's ends the booking. As with
// Cancel the posts come first.
func (s *Server) CancelSeat(uid, email string) (posts []apitest.Post, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.open(uid)
	if err != nil {
		return nil, nil, err
	}
	i := b.seat(email)
	if i < 0 || b.Type.Seats == 0 {
		return nil, nil, ErrUnknown
	}
	posts, done = s.cancelSeat(b, b.Seats[i])
	return posts, done, nil
}

func (s *Server) cancelSeat(b *row, seat Seat) ([]apitest.Post, func()) {
	body := b.closed([]any{b.rawAttendee(seat)})
	return s.posts(cancelled, body), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.IndexFunc(b.Seats, func(at Seat) bool { return at.UID == seat.UID }); i >= 0 {
			s.leave(b, i)
		}
	}
}

// MarkNoShow sets or takes back an attendee's no-show.
func (s *Server) MarkNoShow(uid, email string, absent bool) ([]apitest.Post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.find(uid)
	if !ok || b.seat(email) < 0 {
		return nil, ErrUnknown
	}
	b.Seats[b.seat(email)].Absent, b.Updated = absent, s.now()
	return s.posts(noShowUpdated, map[string]any{
		"message": email + " was marked", "bookingUid": b.UID, "bookingId": b.ID,
		"attendees": []any{map[string]any{"email": email, "noShow": absent}},
	}), nil
}

// Reassign gives a booking another host. Nothing is sent (B).
func (s *Server) Reassign(uid string, host Host) error {
	return s.silently(uid, func(b *row) { b.Host = host; b.retitle() })
}

// Relocate gives a booking another place. Nothing is sent (B).
func (s *Server) Relocate(uid, location string) error {
	return s.silently(uid, func(b *row) { b.Location = location })
}

func (s *Server) silently(uid string, change func(*row)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.find(uid)
	if !ok {
		return ErrUnknown
	}
	change(b)
	b.Updated = s.now()
	return nil
}

// OutOfOffice makes a host unavailable.
func (s *Server) OutOfOffice(h Host, from, to time.Time) []apitest.Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts(outOfOffice, s.away(h, from, to))
}
