package calcomtest

import (
	"fmt"
	"slices"
	"time"
)

// Host is a user who is booked.
type Host struct {
	ID                              int
	Name, Email, Username, Timezone string
}

// Person is who books.
type Person struct {
	Name, Email, Timezone, Phone string
}

// EventType is what can be booked. With Seats several may share a booking, with
// Confirm the host has to agree, with a Team others host too.
type EventType struct {
	ID       int
	Slug     string
	Title    string
	Minutes  int
	Seats    int
	Confirm  bool
	Location string
	Team     []Host
}

// Seat is one who attends; UID is of those with seats.
type Seat struct {
	Person
	UID    string
	Absent bool
}

// Booking is what stands of one.
type Booking struct {
	ID         int
	UID        string
	Type       EventType
	Host       Host
	Title      string
	Location   string
	Start, End time.Time
	// Status as the API spells it.
	Status string
	Seats  []Seat
	// Guests of the first; they attend, too.
	Guests []Person
	// From and To are the uids of what it was moved from and to.
	From, To string
	// Series that it is one of.
	Series           string
	Created, Updated time.Time
	Reason           string
}

// The states of a booking.
const (
	Accepted  = "accepted"
	Pending   = "pending"
	Cancelled = "cancelled"
	Rejected  = "rejected"
)

type row struct{ Booking }

// AddEventType makes an event type, or replaces the one with its id.
func (s *Server) AddEventType(t EventType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types[t.ID] = t
}

// Booking is what stands of one.
func (s *Server) Booking(uid string) (Booking, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.find(uid)
	if !ok {
		return Booking{}, false
	}
	out := b.Booking
	out.Seats, out.Guests = slices.Clone(b.Seats), slices.Clone(b.Guests)
	return out, true
}

// Bookings are the uids of all, in the order of booking.
func (s *Server) Bookings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, len(s.bookings))
	for i, b := range s.bookings {
		out[i] = b.UID
	}
	return out
}

// Remove forgets a booking, as the deletion of an account does. Nothing is sent
// (B).
func (s *Server) Remove(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bookings = slices.DeleteFunc(s.bookings, func(b *row) bool { return b.UID == uid })
}

func (s *Server) find(uid string) (*row, bool) {
	i := slices.IndexFunc(s.bookings, func(b *row) bool { return b.UID == uid })
	if i < 0 {
		return nil, false
	}
	return s.bookings[i], true
}

// open finds one that stands, confirmed or not.
func (s *Server) open(uid string) (*row, error) {
	b, ok := s.find(uid)
	switch {
	case !ok:
		return nil, ErrUnknown
	case b.Status != Accepted && b.Status != Pending:
		return nil, ErrNotOpen
	}
	return b, nil
}

// now is the provider's clock, in the milliseconds that it writes.
func (s *Server) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

func (s *Server) number() int {
	s.next++
	return s.next
}

// insert makes a row; a Cal.com uid has 21 or 22 characters (B).
func (s *Server) insert(t EventType, who Person, start time.Time, status string, guests ...Person) *row {
	n := s.number()
	b := &row{Booking{
		ID: 880000 + n, UID: fmt.Sprintf("sTandIn%015d", n), Type: t, Host: s.options.User, Location: t.Location,
		Start: start.UTC(), End: start.UTC().Add(time.Duration(t.Minutes) * time.Minute), Status: status,
		Guests: guests, Created: s.now(), Updated: s.now(),
	}}
	s.sit(b, who)
	b.retitle()
	s.bookings = append(s.bookings, b)
	return b
}

func (s *Server) sit(b *row, who Person) Seat {
	seat := Seat{Person: who}
	if b.Type.Seats > 0 {
		seat.UID = fmt.Sprintf("f2a0a1de-3f0c-4b59-a6b7-%012d", s.number())
	}
	b.Seats = append(b.Seats, seat)
	return seat
}

func (b *row) retitle() {
	b.Title = b.Type.Title + " between " + b.Host.Name
	if len(b.Seats) > 0 {
		b.Title += " and " + b.Seats[0].Name
	}
}

func (b *row) seat(email string) int {
	return slices.IndexFunc(b.Seats, func(s Seat) bool { return s.Email == email })
}
