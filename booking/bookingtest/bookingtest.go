// Package bookingtest is what tests of the state machine share: events built
// with few words, scenarios of DESIGN's rules, a picture of a state that two
// orders of the same deliveries must agree on, and the invariants that hold
// whatever the order.
package bookingtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Day is midnight UTC of the day on which the scenarios' bookings are.
var Day = time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)

// At is a time of Day, written 10:15.
func At(clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return Day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
}

// Said is a provider's clock n minutes into the story, before Day.
func Said(n int) time.Time { return Day.Add(-48*time.Hour + time.Duration(n)*time.Minute) }

// Sources of the scenarios' events.
var (
	Calendly = booking.Source{Provider: "calendly", Base: "https://api.calendly.com"}
	Calcom   = booking.Source{Provider: "calcom", Base: "https://api.cal.com/v2"}
	Generic  = booking.Source{Provider: "generic", Base: "0b9d6f0e-0000-4000-8000-000000000001"}
)

// Option says more of an event.
type Option func(*booking.Event)

// New is an event of a kind about a booking, said at minute n.
func New(s booking.Source, kind booking.Kind, id string, n int, opts ...Option) *booking.Event {
	e := &booking.Event{
		Kind: kind, Source: s, ExternalID: id, At: Said(n), Shared: s.Provider == "calcom",
		Session: booking.SessionFacts{ExternalID: id},
	}
	for _, o := range opts {
		o(e)
	}
	e.Key = fmt.Sprintf("%s:%s:%d", kind, id, n)
	for _, a := range e.Attendees {
		e.Key += ":" + a.Key
	}
	if e.BookedAt == nil && (kind == booking.KindRequested || kind == booking.KindCreated || kind == booking.KindMoved) {
		at := e.At
		e.BookedAt = &at
	}
	if kind == booking.KindCanceled && e.Reason == booking.NoReason {
		e.Reason = booking.ReasonCanceled
	}
	return e
}

// When says the time, as 10:00 and 10:30.
func When(from, to string) Option {
	return func(e *booking.Event) {
		a, b := At(from), At(to)
		e.Session.StartsAt, e.Session.EndsAt = &a, &b
	}
}

// With says the full list of hosts by the local part of their e-mails.
func With(hosts ...string) Option {
	return func(e *booking.Event) {
		for _, h := range hosts {
			email := h + "@harbourclinic.example"
			id := email
			if e.Source.Provider == "calendly" {
				id = "/users/" + h
			}
			e.Session.Hosts = append(e.Session.Hosts, booking.Host{ExternalID: id, Email: email, Name: h})
		}
	}
}

// Cut says that the list of hosts may be cut.
func Cut() Option { return func(e *booking.Event) { e.Session.HostsCut = true } }

// NoEmail says hosts by their identity only.
func NoEmail(hosts ...string) Option {
	return func(e *booking.Event) {
		for _, h := range hosts {
			e.Session.Hosts = append(e.Session.Hosts, booking.Host{ExternalID: "/users/" + h})
		}
	}
}

// For lists attendees by the local part of their e-mails.
func For(people ...string) Option {
	return func(e *booking.Event) {
		for _, p := range people {
			name := strings.ToUpper(p[:1]) + p[1:]
			e.Attendees = append(e.Attendees, booking.Attendee{Key: p, Email: p + "@mail.example", Name: &name})
		}
	}
}

// ForHost lists a host among the attendees.
func ForHost(h string) Option {
	return func(e *booking.Event) {
		e.Attendees = append(e.Attendees, booking.Attendee{Key: "host-" + h, Email: h + "@harbourclinic.example"})
	}
}

// In names the session.
func In(session string) Option {
	return func(e *booking.Event) { e.Session.ExternalID = session }
}

// Room says the capacity.
func Room(n int) Option { return func(e *booking.Event) { e.Session.Capacity = &n } }

// Seats says a number of seats, as a Cal.com body does.
func Seats(n int) Option {
	return func(e *booking.Event) { e.Seats, e.Session.Capacity = &n, &n }
}

// Title says the title.
func Title(s string) Option { return func(e *booking.Event) { e.Title = &s } }

// From names the predecessor, To the successor.
func From(id string) Option { return func(e *booking.Event) { e.Predecessor = id } }

// To names the successor.
func To(id string) Option { return func(e *booking.Event) { e.Successor = id } }

// Confirmed says that a move's body calls the booking confirmed.
func Confirmed() Option { return func(e *booking.Event) { e.Confirmed = true } }

// Because gives a cancel's reason.
func Because(r booking.Reason) Option { return func(e *booking.Event) { e.Reason = r } }

// Missed says of every attendee whether it was a no-show.
func Missed(yes bool) Option {
	return func(e *booking.Event) {
		for i := range e.Attendees {
			e.Attendees[i].NoShow = &yes
		}
	}
}

// Booked gives the time of booking as a minute.
func Booked(n int) Option {
	return func(e *booking.Event) { at := Said(n); e.BookedAt = &at }
}

// Deliver makes a delivery of an event over the numbered connection: a post, or what
// a run makes of what it read (Read).
func Deliver(e *booking.Event, connection int) booking.Delivery {
	conn := uuid.MustParse(fmt.Sprintf("0b9d6f0e-0000-4000-8000-%012d", connection))
	d := booking.Delivery{
		ReceiptID:    uuid.NewSHA1(conn, []byte(e.Key)),
		ConnectionID: conn, EventKey: e.Key, Kind: e.Kind, Event: e, Actor: booking.ActorWebhook,
	}
	if IsRead(e.Key) {
		d.Actor, d.Read = reader(e.Key), true
	}
	return d
}

// Elsewhere is the same event of a world of its own: another API with other
// hosts, so that many orders of a scenario can share one database.
func Elsewhere(e *booking.Event, world int) *booking.Event {
	mark := fmt.Sprintf("#%d", world)
	c := *e
	c.Source.Base += mark
	c.Key += mark
	c.Session.Hosts = nil
	for _, h := range e.Session.Hosts {
		if h.ExternalID == h.Email {
			h.ExternalID = mark + h.ExternalID
		}
		if h.Email != "" {
			h.Email = mark + h.Email
		}
		c.Session.Hosts = append(c.Session.Hosts, h)
	}
	c.Attendees = slices.Clone(e.Attendees)
	for i, a := range c.Attendees {
		if strings.HasPrefix(a.Key, "host-") {
			c.Attendees[i].Email = mark + a.Email
		}
	}
	return &c
}

// Worlds parts a state by the worlds of Elsewhere.
func Worlds(st *booking.State) map[int]*booking.State {
	out := map[int]*booking.State{}
	world := func(s booking.Source) *booking.State {
		_, mark, _ := strings.Cut(s.Base, "#")
		n, err := strconv.Atoi(mark)
		if err != nil {
			n = -1
		}
		if out[n] == nil {
			out[n] = booking.NewState()
			out[n].Resources = st.Resources
		}
		return out[n]
	}
	for id, b := range st.Bookings {
		world(b.Source).Bookings[id] = b
	}
	for id, s := range st.Sessions {
		world(s.Source).Sessions[id] = s
	}
	for id, s := range st.Slots {
		world(st.Sessions[s.SessionID].Source).Slots[id] = s
	}
	return out
}

// Merge saves changes into a state, as a store would.
func Merge(st *booking.State, ch booking.Changes) {
	st.Ledger = ch.Ledger
	for _, r := range slices.Concat(ch.Receipts, ch.Resolved) {
		st.Receipts[booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}] = r
	}
	for _, v := range ch.Bookings {
		st.Bookings[v.ID] = v
	}
	for _, v := range ch.Sessions {
		st.Sessions[v.ID] = v
	}
	for _, v := range ch.Slots {
		st.Slots[v.ID] = v
	}
	for _, v := range ch.Attendances {
		st.Attendances[booking.AttendanceKey{Ref: booking.Ref{Source: v.Source, ExternalID: v.ExternalID}, Key: v.Key}] = v
	}
	for _, v := range ch.Links {
		st.Links[booking.LinkKey{Source: v.Source, Predecessor: v.Predecessor, Successor: v.Successor, Key: v.Key}] = v
	}
	for _, v := range ch.Identities {
		st.Identities[booking.IdentityKey{Source: v.Source, ExternalID: v.ExternalID}] = v
	}
	for _, v := range ch.Resources {
		st.Resources[v.ID] = v
	}
}

// Picture is what every order of the same deliveries must agree on: bookings
// and slots by their names, without what DESIGN lets depend on order (ids, and
// how many earlier closed rows a seat has). With rivals, who got the place may
// depend on the order too.
func Picture(st *booking.State, rivals bool) string {
	names := map[uuid.UUID]string{}
	current := map[string]booking.Booking{}
	for _, b := range st.Bookings {
		s := st.Sessions[b.SessionID]
		if s.Seated && b.Source == s.Source && b.ExternalID == s.ExternalID {
			if b.Seat == "" || (b.Status == booking.Canceled && slices.Contains(s.HostEmails, b.Invitee.Email.Value)) {
				continue
			}
		}
		name := b.Source.Provider + "/" + b.ExternalID + "/" + b.Seat
		names[b.ID] = name
		if c, ok := current[name]; !ok || newerRow(b, c) {
			current[name] = b
		}
	}
	var lines []string
	chains := map[uuid.UUID][]string{}
	for name, b := range current {
		chains[b.ChainID] = append(chains[b.ChainID], name)
	}
	for name, b := range current {
		s := st.Sessions[b.SessionID]
		status, reason, with := string(b.Status), string(b.Reason), nameAll(names, b.ConflictsWith)
		if rivals && (b.Status == booking.Active || b.Status == booking.Conflicted) {
			status, reason, with = "confirmed", "", ""
		}
		together := chains[b.ChainID]
		slices.Sort(together)
		lines = append(lines, fmt.Sprintf("%s %s %s [%s] %q %q %q %q %q %q noshow=%v booked=%s when=%s hosts=%s cap=%s in=%s after=%s then=%s chain=%s",
			name, status, reason, with, b.Title.Value, b.Location.Value, b.Invitee.Name.Value, b.Invitee.Email.Value,
			b.Invitee.Phone.Value, b.Invitee.Timezone.Value, b.NoShow, ptr(b.BookedAt), span(s), hosts(s), capacity(s), s.ExternalID,
			ref(names, b.Supersedes), ref(names, b.SupersededBy), strings.Join(together, "+")))
	}
	for _, s := range st.Slots {
		if s.Status == booking.SlotReleased {
			continue
		}
		status := string(s.Status)
		if rivals {
			status = "claimed"
		}
		lines = append(lines, fmt.Sprintf("slot %s %s-%s %s %s", st.Resources[s.ResourceID].Name, s.StartsAt.Format("02T15:04"), s.EndsAt.Format("02T15:04"), st.Sessions[s.SessionID].ExternalID, status))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func newerRow(a, b booking.Booking) bool {
	if (a.Status == booking.Canceled) != (b.Status == booking.Canceled) {
		return b.Status == booking.Canceled
	}
	if !a.OpenedAt.Equal(b.OpenedAt) {
		return a.OpenedAt.After(b.OpenedAt)
	}
	return a.ID.String() > b.ID.String()
}

func nameAll(names map[uuid.UUID]string, ids []uuid.UUID) string {
	var out []string
	for _, id := range ids {
		out = append(out, names[id])
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func ref(names map[uuid.UUID]string, id *uuid.UUID) string {
	if id == nil {
		return "-"
	}
	return names[*id]
}

func ptr(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("02T15:04")
}

func span(s booking.Session) string {
	if s.StartsAt.IsZero() {
		return "-"
	}
	return s.StartsAt.Format("02T15:04") + "-" + s.EndsAt.Format("02T15:04")
}

func hosts(s booking.Session) string {
	var out []string
	for _, h := range s.EffectiveHosts() {
		out = append(out, cmp.Or(h.Name, h.ExternalID))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func capacity(s booking.Session) string {
	if s.Capacity == nil {
		return "-"
	}
	return fmt.Sprint(*s.Capacity)
}

// Check says what of the promises a state breaks, "" when nothing: no two
// active slots of a resource overlap, no conflicted booking would fit, slots
// say what their bookings say, and conflicted ones name who holds.
func Check(st *booking.State) string {
	slots := slices.Collect(maps.Values(st.Slots))
	for i, a := range slots {
		for _, b := range slots[i+1:] {
			if a.Status == booking.SlotActive && b.Status == booking.SlotActive && clash(a, b) {
				return fmt.Sprintf("two sessions hold one place: %v and %v", a, b)
			}
		}
	}
	rows := map[string]bool{}
	for _, b := range st.Bookings {
		row := fmt.Sprint(b.Source, b.ExternalID, "/", b.Seat, "/", b.OpenedAt.UnixMicro())
		if rows[row] {
			return "two rows of one booking: " + row
		}
		rows[row] = true
		if b.Status == booking.Canceled && b.Reason == booking.NoReason {
			return fmt.Sprintf("canceled without a reason: %s", b.ExternalID)
		}
		if b.Status == booking.Active {
			if why := hasPlace(st, b); why != "" {
				return why
			}
		}
		if b.Status != booking.Conflicted {
			continue
		}
		if fits(st, b) {
			return fmt.Sprintf("conflicted booking would fit: %s", b.ExternalID)
		}
		if want := holders(st, b); !slices.Equal(want, b.ConflictsWith) {
			return fmt.Sprintf("%s conflicts with %v, the row says %v", b.ExternalID, want, b.ConflictsWith)
		}
	}
	return ""
}

func clash(a, b booking.Slot) bool {
	return a.ResourceID == b.ResourceID && a.StartsAt.Before(b.EndsAt) && b.StartsAt.Before(a.EndsAt)
}

func slotsOf(st *booking.State, session uuid.UUID) []booking.Slot {
	var out []booking.Slot
	for _, s := range st.Slots {
		if s.SessionID == session && s.Status != booking.SlotReleased {
			out = append(out, s)
		}
	}
	return out
}

func hasPlace(st *booking.State, b booking.Booking) string {
	own := slotsOf(st, b.SessionID)
	if (len(own) == 0) != (b.Reason == booking.ReasonUnmapped) {
		return fmt.Sprintf("active booking %s has %d slots and reason %q", b.ExternalID, len(own), b.Reason)
	}
	s := st.Sessions[b.SessionID]
	for _, o := range own {
		if o.Status != booking.SlotActive || !o.StartsAt.Equal(s.StartsAt) || !o.EndsAt.Equal(s.EndsAt) {
			return fmt.Sprintf("active booking %s has slot %v", b.ExternalID, o)
		}
	}
	return ""
}

func fits(st *booking.State, b booking.Booking) bool {
	s := st.Sessions[b.SessionID]
	for _, mine := range slotsOf(st, b.SessionID) {
		for _, o := range st.Slots {
			if o.Status == booking.SlotActive && o.SessionID != b.SessionID && clash(mine, o) {
				return false
			}
		}
	}
	active := 0
	for _, o := range st.Bookings {
		if o.SessionID == b.SessionID && o.Status == booking.Active {
			active++
		}
	}
	return s.Capacity == nil || active < *s.Capacity
}

func holders(st *booking.State, b booking.Booking) []uuid.UUID {
	var out []uuid.UUID
	sessions := map[uuid.UUID]bool{}
	for _, mine := range slotsOf(st, b.SessionID) {
		for _, o := range st.Slots {
			if o.Status == booking.SlotActive && o.SessionID != b.SessionID && clash(mine, o) {
				sessions[o.SessionID] = true
			}
		}
	}
	if len(sessions) == 0 {
		sessions[b.SessionID] = true
	}
	for _, o := range st.Bookings {
		if sessions[o.SessionID] && o.Status == booking.Active {
			out = append(out, o.ID)
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return out
}
