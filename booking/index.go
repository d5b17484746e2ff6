package booking

import (
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
)

// index finds rows of a work by what they belong to. It only grows: a row that
// moved away, or whose member was dropped, is passed over when it is read.
type index struct {
	refs       map[Ref][]uuid.UUID           // bookings of an identity
	seats      map[AttendanceKey][]uuid.UUID // of an attendee's seat
	members    map[uuid.UUID][]uuid.UUID     // bookings that were ever in a session
	claims     map[uuid.UUID][]uuid.UUID     // slots of a session
	calendars  map[resourceDay][]uuid.UUID   // slots of a resource that touch a day
	holding    map[resourceDay][]uuid.UUID   // those of them that are or were active
	attendance map[Ref][]AttendanceKey
	links      map[Ref][]LinkKey
	waiting    map[Ref]map[ReceiptKey]bool
	pokes      map[ReceiptKey]ReceiptKey // open ones, by connection and subject
}

func newIndex(st *State) index {
	x := index{
		refs: map[Ref][]uuid.UUID{}, seats: map[AttendanceKey][]uuid.UUID{}, members: map[uuid.UUID][]uuid.UUID{}, claims: map[uuid.UUID][]uuid.UUID{},
		calendars: map[resourceDay][]uuid.UUID{}, holding: map[resourceDay][]uuid.UUID{}, attendance: map[Ref][]AttendanceKey{}, links: map[Ref][]LinkKey{},
		waiting: map[Ref]map[ReceiptKey]bool{}, pokes: map[ReceiptKey]ReceiptKey{},
	}
	// What is stored stands once: nothing needs to be looked for, as add does.
	for _, b := range st.Bookings {
		ref := Ref{b.Source, b.ExternalID}
		x.refs[ref] = append(x.refs[ref], b.ID)
		x.seats[AttendanceKey{ref, b.Seat}] = append(x.seats[AttendanceKey{ref, b.Seat}], b.ID)
		x.members[b.SessionID] = append(x.members[b.SessionID], b.ID)
	}
	for _, s := range st.Slots {
		x.claims[s.SessionID] = append(x.claims[s.SessionID], s.ID)
		for day := range daysOf(s.StartsAt, s.EndsAt) {
			k := resourceDay{s.ResourceID, day}
			x.calendars[k] = append(x.calendars[k], s.ID)
			if s.Status == SlotActive {
				x.holding[k] = append(x.holding[k], s.ID)
			}
		}
	}
	for k := range st.Attendances {
		x.attend(k)
	}
	for k := range st.Links {
		x.link(k)
	}
	for k, r := range st.Receipts {
		if r.Event != nil {
			x.wait(k, r.Event)
		}
		if r.Status == StatusPending && !r.Claimed && r.Subject != "" {
			x.pokes[ReceiptKey{k.ConnectionID, r.Subject}] = k
		}
	}
	return x
}

func add[K, V comparable](m map[K][]V, k K, v V) {
	if !slices.Contains(m[k], v) {
		m[k] = append(m[k], v)
	}
}

func (x *index) booking(b Booking) {
	ref := Ref{b.Source, b.ExternalID}
	add(x.refs, ref, b.ID)
	add(x.seats, AttendanceKey{ref, b.Seat}, b.ID)
	add(x.members, b.SessionID, b.ID)
}

func (x *index) slot(s Slot) {
	add(x.claims, s.SessionID, s.ID)
	for day := range daysOf(s.StartsAt, s.EndsAt) {
		k := resourceDay{s.ResourceID, day}
		add(x.calendars, k, s.ID)
		if s.Status == SlotActive {
			add(x.holding, k, s.ID)
		}
	}
}

// resourceDay is a resource on a day of UTC, so that whoever looks into a place
// need not look through all that the resource ever had.
type resourceDay struct {
	resource uuid.UUID
	day      int64
}

// daysOf are the days that [from, to) touches, in order.
func daysOf(from, to time.Time) iter.Seq[int64] {
	first, last := dayOf(from), dayOf(to.Add(-1))
	return func(yield func(int64) bool) {
		for day := first; day <= last && yield(day); day++ {
		}
	}
}

func dayOf(t time.Time) int64 {
	const seconds = 24 * 60 * 60
	s := t.Unix()
	if s < 0 {
		s -= seconds - 1
	}
	return s / seconds
}

func (x *index) attend(k AttendanceKey) { add(x.attendance, k.Ref, k) }

func (x *index) link(k LinkKey) {
	add(x.links, Ref{k.Source, k.Predecessor}, k)
	add(x.links, Ref{k.Source, k.Successor}, k)
}

func (x *index) wait(k ReceiptKey, e *Event) {
	ref := Ref{e.Source, e.ExternalID}
	if x.waiting[ref] == nil {
		x.waiting[ref] = map[ReceiptKey]bool{}
	}
	x.waiting[ref][k] = true
}

// row is the booking of an identity that is not seated.
func (w *work) row(ref Ref) (Booking, bool) {
	for _, b := range w.seatRows(ref, "") {
		return b, true
	}
	return Booking{}, false
}

// seatRows are the bookings of an attendee's seat, earlier closed ones too.
func (w *work) seatRows(ref Ref, seat string) []Booking {
	var out []Booking
	for _, id := range w.index.seats[AttendanceKey{ref, seat}] {
		if b, ok := w.bookings.get(id); ok && b.Seat == seat {
			out = append(out, b)
		}
	}
	return out
}

// rowsOf are all bookings of an identity, earlier closed ones too.
func (w *work) rowsOf(ref Ref) []Booking {
	var out []Booking
	for _, id := range w.index.refs[ref] {
		if b, ok := w.bookings.get(id); ok {
			out = append(out, b)
		}
	}
	return out
}

// membersOf are the bookings in a session, by R11's order.
func (w *work) membersOf(session uuid.UUID) []Booking {
	var out []Booking
	for _, id := range w.index.members[session] {
		if b, ok := w.bookings.get(id); ok && b.SessionID == session {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, inTurn)
	return out
}
