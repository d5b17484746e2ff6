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
	known  bool
	place  place
	claims []claim // as its slots stood
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

// touch remembers where a session was before the event first changed it or one
// of its bookings: its claims will be settled anew.
func (t *turn) touch(id uuid.UUID) {
	if _, ok := t.touched[id]; ok || id == uuid.Nil {
		return
	}
	s, ok := t.sessions.get(id)
	t.touched[id] = placeBefore{known: ok && !s.StartsAt.IsZero(), place: placeOf(&s), claims: t.claimed(id)}
}

// claimed are the places that a session's slots claim, in the order of claims.
func (w *work) claimed(id uuid.UUID) []claim {
	var out []claim
	for _, s := range w.slotsOf(id) {
		if s.Status != SlotReleased {
			out = append(out, claim{s.ResourceID, s.StartsAt, s.EndsAt})
		}
	}
	slices.SortFunc(out, func(a, b claim) int { return bytes.Compare(a.resource[:], b.resource[:]) })
	return out
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

// held are the active slots in a place.
func (w *work) held(c claim) []Slot {
	var out []Slot
	for day := range daysOf(c.from, c.to) {
		for _, id := range w.index.holding[resourceDay{c.resource, day}] {
			s, ok := w.slots.get(id)
			// One that touches several days counts on the first of them.
			if ok && s.Status == SlotActive && s.overlaps(c.resource, c.from, c.to) && day == max(dayOf(s.StartsAt), dayOf(c.from)) {
				out = append(out, s)
			}
		}
	}
	return out
}

// free tells whether nobody else holds any place that the session wants.
func (w *work) free(s *Session) bool {
	for _, c := range w.claims(s) {
		for _, o := range w.held(c) {
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
	leader := map[uuid.UUID]*Booking{}
	for id := range t.touched {
		out = append(out, id)
		if members := t.membersOf(id); len(t.touched) > 1 && len(members) > 0 {
			leader[id] = &members[0]
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int {
		if first[a] != first[b] {
			if first[a] {
				return -1
			}
			return 1
		}
		x, y := leader[a], leader[b]
		switch {
		case x != nil && y != nil:
			return inTurn(*x, *y)
		case x != nil:
			return -1
		case y != nil:
			return 1
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
	for _, c := range merged(area) {
		for day := range daysOf(c.from, c.to) {
			for _, id := range t.index.calendars[resourceDay{c.resource, day}] {
				slot, ok := t.slots.get(id)
				if ok && slot.Status != SlotReleased && !seen[slot.SessionID] && slot.overlaps(c.resource, c.from, c.to) {
					seen[slot.SessionID] = true
					out = append(out, slot.SessionID)
				}
			}
		}
	}
	return out
}

// merged joins places of one resource that overlap or touch, so that thousands
// that lie in a row are looked at once.
func merged(area []claim) []claim {
	all := slices.Clone(area)
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(bytes.Compare(a.resource[:], b.resource[:]), a.from.Compare(b.from))
	})
	var out []claim
	for _, c := range all {
		last := len(out) - 1
		if last < 0 || out[last].resource != c.resource || c.from.After(out[last].to) {
			out = append(out, c)
		} else if c.to.After(out[last].to) {
			out[last].to = c.to
		}
	}
	return out
}

// release goes once through the conflicted bookings around what changed, in
// turn, and lets in each that fits: a release frees nothing, so once is enough.
// It returns the area grown by what it took.
func (t *turn) release(touched []uuid.UUID, area []claim) []claim {
	var waiting []Booking
	rank := map[uuid.UUID]int{} // among the confirmed of its session: releases do not change it
	holds := map[uuid.UUID]bool{}
	for _, id := range t.around(touched, area) {
		confirmed := 0
		for _, b := range t.membersOf(id) {
			if b.Status == Conflicted {
				waiting = append(waiting, b)
				rank[b.ID] = confirmed
			}
			if b.confirmed() {
				confirmed++
			}
			holds[id] = holds[id] || b.Status == Active
		}
	}
	slices.SortFunc(waiting, inTurn)
	for _, b := range waiting {
		s, ok := t.sessions.get(b.SessionID)
		if !ok || (s.Capacity != nil && rank[b.ID] >= *s.Capacity) || (!holds[s.ID] && !t.free(&s)) {
			continue
		}
		to, err := Next(b.Status, Release, Free)
		if err != nil {
			continue
		}
		t.entries = append(t.entries, entry{booking: b.ID, action: Release, from: b.Status, to: to, outcome: Applied, actor: ActorSystem})
		b.Status = to
		t.save(b)
		if !holds[s.ID] {
			holds[s.ID] = true
			t.sync(&s)
			area = append(area, t.claims(&s)...)
		}
	}
	return area
}
