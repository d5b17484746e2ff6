package booking

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// claim is a place that a session wants: a resource for [from, to).
type claim struct {
	resource uuid.UUID
	from, to time.Time
}

// placeBefore is where a session was before the event.
type placeBefore struct {
	known bool
	place place
}

// place is when and with whom a meeting is.
type place struct {
	from, to time.Time
	hosts    string
}

func placeOf(s *Session) place {
	var names []string
	for _, h := range s.EffectiveHosts() {
		names = append(names, h.ExternalID)
	}
	slices.Sort(names)
	p := place{from: s.StartsAt, to: s.EndsAt}
	for _, n := range names {
		p.hosts += n + "\x00"
	}
	return p
}

// session is the meeting of that name; a new one is not saved yet.
func (w *work) session(ref Ref) Session {
	id := SessionID(ref.Source, ref.ExternalID)
	if s, ok := w.sessions.get(id); ok {
		return s
	}
	return Session{ID: id, Source: ref.Source, ExternalID: ref.ExternalID}
}

func (t *turn) saveSession(s Session) { t.sessions.put(s.ID, s) }

// touch remembers where a session was before the event first changed it or one
// of its bookings: its claims will be settled anew.
func (t *turn) touch(id uuid.UUID) {
	if _, ok := t.touched[id]; ok || id == uuid.Nil {
		return
	}
	s, ok := t.sessions.get(id)
	t.touched[id] = placeBefore{known: ok && !s.StartsAt.IsZero(), place: placeOf(&s)}
}

// feedSession lets the event's body say what it says of its session (R1, R9).
func (t *turn) feedSession() {
	e := t.event
	s := t.session(Ref{e.Source, e.Session.ExternalID})
	t.touch(s.ID)
	before, capacity, seated := placeOf(&s), s.Capacity, s.Seated
	facts := e.Session

	if facts.StartsAt != nil && facts.EndsAt != nil {
		if t.clock.After(s.TimeAt) {
			t.newer = true
			s.StartsAt, s.EndsAt, s.TimeAt = *facts.StartsAt, *facts.EndsAt, t.clock
		} else if !s.StartsAt.Equal(*facts.StartsAt) || !s.EndsAt.Equal(*facts.EndsAt) {
			t.differs = true
		}
	}
	t.feedHosts(&s)
	if facts.Capacity != nil && (s.Capacity == nil || *facts.Capacity > *s.Capacity) {
		s.Capacity = facts.Capacity
		t.newer = true
	}
	if e.Shared && e.Seats != nil {
		s.Seated = true
	}
	if placeOf(&s) != before || s.Capacity != capacity || s.Seated != seated {
		t.changed = true
	}
	t.saveSession(s)
}

func (t *turn) feedHosts(s *Session) {
	said := t.event.Session.Hosts
	if len(said) == 0 {
		return
	}
	for _, h := range said {
		t.learn(h)
		if h.Email != "" && !slices.Contains(s.HostEmails, h.Email) {
			s.HostEmails = append(slices.Clone(s.HostEmails), h.Email)
			slices.Sort(s.HostEmails)
		}
	}
	before := placeOf(s).hosts
	switch {
	case t.event.Session.HostsCut:
		for _, h := range said {
			i := slices.IndexFunc(s.Added, func(a AddedHost) bool { return a.Host.ExternalID == h.ExternalID })
			switch {
			case !t.clock.After(s.HostsAt):
			case i < 0:
				s.Added = append(slices.Clone(s.Added), AddedHost{h, t.clock})
			case t.clock.After(s.Added[i].At):
				s.Added = slices.Clone(s.Added)
				s.Added[i] = AddedHost{h, t.clock}
			}
		}
		t.newer = t.newer || placeOf(s).hosts != before
	case t.clock.After(s.HostsAt):
		t.newer = true
		s.Hosts, s.HostsAt = slices.Clone(said), t.clock
		// Before the next cut list is compared, what this one overtook goes.
		s.Added = slices.DeleteFunc(slices.Clone(s.Added), func(a AddedHost) bool { return !a.At.After(s.HostsAt) })
	default:
		full := Session{Hosts: said}
		t.differs = t.differs || placeOf(&full).hosts != before
	}
}

// learn makes the resource of a host seen first, and maps its identity.
func (t *turn) learn(h Host) {
	source := t.event.Source
	own := IdentityKey{source, h.ExternalID}
	if h.Email == "" {
		if _, ok := t.identities.get(own); !ok && h.Named {
			t.identify(Identity{Source: source, ExternalID: h.ExternalID, ResourceID: resourceIDByName(source, h.ExternalID)}, h.ExternalID)
		}
		return
	}
	byEmail, ok := t.identities.get(IdentityKey{ExternalID: h.Email})
	if !ok {
		byEmail = Identity{ExternalID: h.Email, Email: h.Email, ResourceID: ResourceIDByEmail(h.Email)}
		t.identify(byEmail, cmp.Or(h.Name, h.Email))
	}
	if _, ok := t.identities.get(own); !ok && h.ExternalID != h.Email {
		t.identify(Identity{Source: source, ExternalID: h.ExternalID, Email: h.Email, ResourceID: byEmail.ResourceID}, h.Name)
		t.touchHosted(own)
	}
}

func (t *turn) identify(i Identity, name string) {
	t.identities.put(IdentityKey{i.Source, i.ExternalID}, i)
	if _, ok := t.resources.get(i.ResourceID); !ok {
		t.resources.put(i.ResourceID, Resource{ID: i.ResourceID, Name: name})
	}
}

// touchHosted touches the sessions of a host whose resource is another from now
// on: they claim it (R16).
func (t *turn) touchHosted(key IdentityKey) {
	for id, s := range t.sessions.all() {
		if s.Source == key.Source && slices.ContainsFunc(s.EffectiveHosts(), func(h Host) bool { return h.ExternalID == key.ExternalID }) {
			t.touch(id)
		}
	}
}

// resource is what a host's identity maps to. What a person mapped beats the
// e-mail, which beats what the identity was once seen with.
func (w *work) resource(source Source, h Host) (uuid.UUID, bool) {
	own, mapped := w.identities.get(IdentityKey{source, h.ExternalID})
	if mapped && own.Pinned {
		return own.ResourceID, true
	}
	if h.Email != "" {
		if i, ok := w.identities.get(IdentityKey{ExternalID: h.Email}); ok {
			return i.ResourceID, true
		}
	}
	return own.ResourceID, mapped
}

// claims are the places that a session wants; none while it has no time or its
// hosts have no resource.
func (w *work) claims(s *Session) []claim {
	if s.StartsAt.IsZero() {
		return nil
	}
	var out []claim
	for _, h := range s.EffectiveHosts() {
		if id, ok := w.resource(s.Source, h); ok {
			out = append(out, claim{id, s.StartsAt, s.EndsAt})
		}
	}
	slices.SortFunc(out, func(a, b claim) int { return bytes.Compare(a.resource[:], b.resource[:]) })
	return slices.Compact(out)
}

// overlapping are the slots in a place with one of the statuses.
func (w *work) overlapping(c claim, statuses ...SlotStatus) []Slot {
	var out []Slot
	for _, id := range w.index.calendars[c.resource] {
		if s, ok := w.slots.get(id); ok && s.overlaps(c.resource, c.from, c.to) && slices.Contains(statuses, s.Status) {
			out = append(out, s)
		}
	}
	return out
}

// free tells whether nobody else holds any place that the session wants.
func (w *work) free(s *Session) bool {
	for _, c := range w.claims(s) {
		for _, o := range w.overlapping(c, SlotActive) {
			if o.SessionID != s.ID {
				return false
			}
		}
	}
	return true
}

// inTurn is R11's order: who booked first, unknown last; then by identity.
func inTurn(a, b Booking) int {
	switch {
	case a.BookedAt == nil && b.BookedAt != nil:
		return 1
	case a.BookedAt != nil && b.BookedAt == nil:
		return -1
	case a.BookedAt != nil:
		if n := a.BookedAt.Compare(*b.BookedAt); n != 0 {
			return n
		}
	}
	return cmp.Or(
		cmp.Compare(a.Source.Provider, b.Source.Provider), cmp.Compare(a.ExternalID, b.ExternalID),
		cmp.Compare(a.Invitee.Email.Value, b.Invitee.Email.Value), bytes.Compare(a.ID[:], b.ID[:]))
}

// settle gives every touched session its place or takes it away (R8), the
// event's own first, then releases who fits into what became free (R11), and
// says of each who still waits whom it waits for (R12).
func (t *turn) settle() {
	own := map[uuid.UUID]bool{}
	for _, id := range t.placing {
		own[id] = true
	}
	for _, tg := range t.own {
		if tg.place {
			own[tg.id] = true
		}
	}
	order := t.settleOrder(own)
	var area []claim
	for _, id := range order {
		area = append(area, t.retract(id)...)
	}
	for _, id := range order {
		t.settleSession(id, own)
	}
	area = t.release(order, area)
	t.explain(order, area)
}

// settleOrder lists the touched sessions, those of the bookings to be placed
// first, then by whose booking comes first in turn.
func (t *turn) settleOrder(own map[uuid.UUID]bool) []uuid.UUID {
	first := map[uuid.UUID]bool{}
	for id := range own {
		if b, ok := t.bookings.get(id); ok {
			first[b.SessionID] = true
		}
	}
	var out []uuid.UUID
	for id := range t.touched {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int {
		if first[a] != first[b] {
			if first[a] {
				return -1
			}
			return 1
		}
		x, y := t.membersOf(a), t.membersOf(b)
		switch {
		case len(x) > 0 && len(y) > 0:
			return inTurn(x[0], y[0])
		case len(x) != len(y):
			return len(y) - len(x)
		}
		return bytes.Compare(a[:], b[:])
	})
	return out
}

// retract lets go of the places that a session no longer wants or holds for
// nobody, and returns all that it had and all that it wants.
func (t *turn) retract(id uuid.UUID) []claim {
	s, ok := t.sessions.get(id)
	if !ok {
		return nil
	}
	claims := t.claims(&s)
	area := slices.Clone(claims)
	held := slices.ContainsFunc(t.membersOf(id), func(b Booking) bool { return b.Status == Active })
	for _, slot := range t.slotsOf(id) {
		if slot.Status == SlotReleased {
			continue
		}
		c := claim{slot.ResourceID, slot.StartsAt, slot.EndsAt}
		area = append(area, c)
		if !held || !slices.Contains(claims, c) {
			t.setSlot(slot, SlotReleased)
		}
	}
	return area
}

func (w *work) slotsOf(session uuid.UUID) []Slot {
	var out []Slot
	for _, id := range w.index.claims[session] {
		if s, ok := w.slots.get(id); ok {
			out = append(out, s)
		}
	}
	return out
}

func (t *turn) setSlot(s Slot, status SlotStatus) {
	if s.Status == status {
		return
	}
	s.Status = status
	t.slots.put(s.ID, s)
	t.index.slot(s)
}

// settleSession decides whether the session holds its place, and who of its
// confirmed bookings has a seat: over a known capacity, the first in turn.
func (t *turn) settleSession(id uuid.UUID, own map[uuid.UUID]bool) {
	s, ok := t.sessions.get(id)
	if !ok {
		return
	}
	free, taken := t.free(&s), 0
	for _, b := range t.membersOf(id) {
		if !b.confirmed() {
			continue
		}
		fits := free && (s.Capacity == nil || taken < *s.Capacity)
		taken++
		switch {
		case own[b.ID]:
			b.Status = Conflicted
			if fits {
				b.Status = Active
			}
			t.save(b)
		case b.Status == Active && !fits:
			t.entries = append(t.entries, entry{booking: b.ID, action: Move, from: Active, to: Conflicted, outcome: Applied, actor: t.actor})
			b.Status = Conflicted
			t.save(b)
		}
	}
	t.sync(&s)
}

// sync gives the session's claims the status that its bookings make (DESIGN §4).
func (t *turn) sync(s *Session) {
	status := SlotReleased
	for _, b := range t.membersOf(s.ID) {
		switch {
		case b.Status == Active:
			status = SlotActive
		case b.Status == Pending && status != SlotActive:
			status = SlotTentative
		case b.Status == Conflicted && status == SlotReleased:
			status = SlotWaiting
		}
	}
	claims := t.claims(s)
	for _, slot := range t.slotsOf(s.ID) {
		if !slices.Contains(claims, claim{slot.ResourceID, slot.StartsAt, slot.EndsAt}) {
			t.setSlot(slot, SlotReleased)
		}
	}
	for _, c := range claims {
		id := slotID(s.ID, c)
		slot, ok := t.slots.get(id)
		if !ok {
			if status == SlotReleased {
				continue
			}
			slot = Slot{ID: id, SessionID: s.ID, ResourceID: c.resource, StartsAt: c.from, EndsAt: c.to, ReceiptID: t.receipt}
		}
		t.setSlot(slot, status)
	}
}

// around are the sessions that claim any of the places, and the touched ones.
func (t *turn) around(touched []uuid.UUID, area []claim) []uuid.UUID {
	out := slices.Clone(touched)
	seen := map[uuid.UUID]bool{}
	for _, id := range touched {
		seen[id] = true
	}
	for _, c := range area {
		for _, slot := range t.overlapping(c, SlotActive, SlotTentative, SlotWaiting) {
			if !seen[slot.SessionID] {
				seen[slot.SessionID] = true
				out = append(out, slot.SessionID)
			}
		}
	}
	return out
}

// release goes once through the conflicted bookings around what changed, in
// turn, and lets in each that fits: a release frees nothing, so once is enough.
// It returns the area grown by what it took.
func (t *turn) release(touched []uuid.UUID, area []claim) []claim {
	var waiting []Booking
	for _, id := range t.around(touched, area) {
		for _, b := range t.membersOf(id) {
			if b.Status == Conflicted {
				waiting = append(waiting, b)
			}
		}
	}
	slices.SortFunc(waiting, inTurn)
	for _, b := range waiting {
		s, ok := t.sessions.get(b.SessionID)
		if !ok || !t.free(&s) || !t.seated(&s, b) {
			continue
		}
		to, err := Next(b.Status, Release, Free)
		if err != nil {
			continue
		}
		t.entries = append(t.entries, entry{booking: b.ID, action: Release, from: b.Status, to: to, outcome: Applied, actor: ActorSystem})
		b.Status = to
		t.save(b)
		t.sync(&s)
		area = append(area, t.claims(&s)...)
	}
	return area
}

// seated tells whether a booking is among those whom its session has seats for.
func (w *work) seated(s *Session, b Booking) bool {
	if s.Capacity == nil {
		return true
	}
	before := 0
	for _, m := range w.membersOf(s.ID) {
		if m.ID == b.ID {
			break
		}
		if m.confirmed() {
			before++
		}
	}
	return before < *s.Capacity
}

// explain derives for the bookings around what changed why they are conflicted
// and with whom, or that they stand without a slot (R12, R16).
func (t *turn) explain(touched []uuid.UUID, area []claim) {
	for _, id := range t.around(touched, area) {
		s, ok := t.sessions.get(id)
		if !ok {
			continue
		}
		for _, b := range t.membersOf(id) {
			old := b
			switch b.Status {
			case Active:
				b.Reason, b.ConflictsWith = NoReason, nil
				if len(t.claims(&s)) == 0 {
					b.Reason = ReasonUnmapped
				}
			case Conflicted:
				b.Reason, b.ConflictsWith, _ = t.conflict(&s, b)
			case Pending:
				b.Reason, b.ConflictsWith = NoReason, nil
			case Canceled, New:
				continue
			}
			if b.Reason != old.Reason || !slices.Equal(b.ConflictsWith, old.ConflictsWith) {
				t.save(b)
			}
		}
	}
}

// conflict says why a booking has no place: who holds it at the same instant,
// who overlaps it, or who has the seats.
func (w *work) conflict(s *Session, b Booking) (Reason, []uuid.UUID, *uuid.UUID) {
	reason := ReasonCapacityFull
	var holders, exact []Booking
	for _, c := range w.claims(s) {
		for _, o := range w.overlapping(c, SlotActive) {
			if o.SessionID == s.ID {
				continue
			}
			for _, m := range w.membersOf(o.SessionID) {
				if m.Status != Active {
					continue
				}
				holders = append(holders, m)
				if o.StartsAt.Equal(c.from) {
					exact = append(exact, m)
				}
			}
		}
	}
	switch {
	case len(exact) > 0:
		reason = ReasonSlotTaken
	case len(holders) > 0:
		reason, exact = ReasonOverlap, holders
	default:
		for _, m := range w.membersOf(s.ID) {
			if m.Status == Active && m.ID != b.ID {
				holders = append(holders, m)
			}
		}
		exact = holders
	}
	ids := make([]uuid.UUID, 0, len(holders))
	for _, h := range holders {
		ids = append(ids, h.ID)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var first *uuid.UUID
	if len(exact) > 0 {
		id := slices.MinFunc(exact, inTurn).ID
		first = &id
	}
	return reason, slices.Compact(ids), first
}

// The database's fences (DESIGN §4).
const (
	FenceSlot    = "one_booking_per_slot"
	FenceOverlap = "no_overlapping_slots"
)

// fence names who holds a conflicted booking's place, and the constraint that
// would refuse it.
func (w *work) fence(b Booking) (*uuid.UUID, string) {
	s, ok := w.sessions.get(b.SessionID)
	if !ok {
		return nil, ""
	}
	reason, _, holder := w.conflict(&s, b)
	switch reason {
	case ReasonSlotTaken:
		return holder, FenceSlot
	case ReasonOverlap:
		return holder, FenceOverlap
	}
	return holder, ""
}

// moved tells whether the event changed when or with whom a booking is.
func (t *turn) moved(before, after Booking) bool {
	if before.SessionID != uuid.Nil && before.SessionID != after.SessionID {
		return true
	}
	return t.displaced(after.SessionID)
}

func (t *turn) displaced(session uuid.UUID) bool {
	was, ok := t.touched[session]
	if !ok || !was.known {
		return false
	}
	s, _ := t.sessions.get(session)
	return placeOf(&s) != was.place
}

// noteMoves records a move for every living booking whose meeting the event
// moved though the event was not about it, or was refused.
func (t *turn) noteMoves() {
	for _, id := range t.settleOrder(nil) {
		if !t.displaced(id) {
			continue
		}
		for _, b := range t.membersOf(id) {
			if b.Status == Canceled || slices.ContainsFunc(t.entries, func(e entry) bool { return e.booking == b.ID && e.outcome == Applied }) {
				continue
			}
			t.entries = append(t.entries, entry{booking: b.ID, action: Move, from: b.Status, to: b.Status, outcome: Applied, actor: t.actor})
		}
	}
}
