package booking

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// recordLinks keeps the predecessor and the successor that the event names and
// ends the predecessor (R5), whatever becomes of the event itself.
func (t *turn) recordLinks() {
	e := t.event
	if e.Predecessor != "" && e.Predecessor != e.ExternalID {
		t.recordLink(e.Predecessor, e.ExternalID)
	}
	if e.Successor != "" && e.Successor != e.ExternalID {
		t.recordLink(e.ExternalID, e.Successor)
	}
}

func (t *turn) recordLink(predecessor, successor string) {
	e := t.event
	ref := Ref{e.Source, predecessor}
	if !e.Shared {
		t.link(Link{Source: e.Source, Predecessor: predecessor, Successor: successor, At: t.clock})
		// Its own cancel ends the event's booking by itself.
		if predecessor != e.ExternalID || e.Action() != Cancel {
			t.supersede(ref)
		}
		return
	}
	for _, person := range listed(e) {
		t.link(Link{Source: e.Source, Predecessor: predecessor, Successor: successor, Key: person.Key, At: t.clock})
		a := t.attendance(ref, person.Key)
		a.close(t.clock, ReasonRescheduled)
		if person.Email != "" && t.clock.After(a.Invitee.Email.At) {
			a.Invitee.Email = Text{person.Email, t.clock}
		}
		t.attendances.put(AttendanceKey{ref, person.Key}, a)
	}
	s := t.session(ref)
	s.Seated = s.Seated || e.Seats != nil
	t.saveSession(s)
	t.follow(ref, nil)
}

func (t *turn) link(l Link) {
	key := LinkKey{l.Source, l.Predecessor, l.Successor, l.Key}
	old, existed := t.links.get(key)
	if existed && !l.At.After(old.At) {
		return
	}
	t.changed = t.changed || !existed
	t.links.put(key, l)
	t.index.link(key)
}

// supersede ends a booking that another took the place of; one not seen yet
// gets a tombstone.
func (t *turn) supersede(ref Ref) {
	before, existed := t.row(ref)
	b := before
	if !existed {
		b = t.open(ref, "")
	}
	b = closed(b, ReasonRescheduled)
	if before.Status == b.Status && before.Reason == b.Reason {
		return
	}
	t.changed = true
	t.touch(b.SessionID)
	t.save(b)
	if before.Status != Canceled {
		t.entries = append(t.entries, entry{booking: b.ID, action: Cancel, from: before.Status, to: Canceled, outcome: Applied, reason: b.Reason, actor: t.actor})
	}
}

// joined is a link between bookings that have rows.
type joined struct {
	Link
	predecessor, successor uuid.UUID
}

// relink derives from the links what supersedes what, and the chains, of every
// booking that the event's may be joined with.
func (t *turn) relink() {
	e := t.event
	refs := t.reachable(Ref{e.Source, e.ExternalID})
	var pairs []joined
	var all []Booking
	seen := map[LinkKey]bool{}
	for _, ref := range refs {
		all = append(all, t.currentOf(ref)...)
		for _, key := range t.index.links[ref] {
			l, ok := t.links.get(key)
			if !ok || seen[key] {
				continue
			}
			seen[key] = true
			if j, ok := t.join(l); ok {
				pairs = append(pairs, j)
			}
		}
	}
	// The newest counts, whichever side named it.
	slices.SortFunc(pairs, func(a, b joined) int {
		if n := compareClocks(b.At, a.At); n != 0 {
			return n
		}
		return cmp.Or(cmp.Compare(a.Predecessor, b.Predecessor), cmp.Compare(a.Successor, b.Successor), cmp.Compare(a.Key, b.Key))
	})
	chains := chainIDs(all, pairs)
	for _, b := range all {
		b.Supersedes, b.SupersededBy = nil, nil
		if i := slices.IndexFunc(pairs, func(j joined) bool { return j.predecessor == b.ID }); i >= 0 && pairs[i].successor != uuid.Nil {
			b.SupersededBy = &pairs[i].successor
		}
		if i := slices.IndexFunc(pairs, func(j joined) bool { return j.successor == b.ID }); i >= 0 {
			b.Supersedes = &pairs[i].predecessor
		}
		b.ChainID = chains[b.ID]
		t.save(b)
	}
}

// reachable are the identities that links lead to, from one on, in order.
func (w *work) reachable(from Ref) []Ref {
	refs, seen := []Ref{from}, map[Ref]bool{from: true}
	for i := 0; i < len(refs); i++ {
		for _, key := range w.index.links[refs[i]] {
			if _, ok := w.links.get(key); !ok {
				continue
			}
			for _, end := range []string{key.Predecessor, key.Successor} {
				if ref := (Ref{key.Source, end}); !seen[ref] {
					seen[ref] = true
					refs = append(refs, ref)
				}
			}
		}
	}
	return refs
}

// currentOf are the bookings of an identity, of each seat the current one.
func (w *work) currentOf(ref Ref) []Booking {
	var out []Booking
	for _, b := range w.rowsOf(ref) {
		if b.Seat != "" {
			if c, ok := w.seat(ref, b.Seat); !ok || c.ID != b.ID {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// join finds the bookings at a link's ends. The successor may have no row yet.
// A link older than what took its predecessor's seat again joins nothing (R10).
func (w *work) join(l Link) (joined, bool) {
	p, ok := w.endOf(Ref{l.Source, l.Predecessor}, l.Key)
	if !ok {
		return joined{}, false
	}
	if p.Seat != "" {
		a, _ := w.attendances.get(AttendanceKey{Ref{l.Source, l.Predecessor}, p.Seat})
		if a.opened().After(l.At) {
			return joined{}, false
		}
	}
	j := joined{Link: l, predecessor: p.ID}
	if s, ok := w.endOf(Ref{l.Source, l.Successor}, l.Key); ok {
		j.successor = s.ID
	}
	return j, true
}

func (w *work) endOf(ref Ref, key string) (Booking, bool) {
	s, ok := w.sessions.get(SessionID(ref.Source, ref.ExternalID))
	if key != "" && ok && s.Seated {
		return w.seat(ref, key)
	}
	return w.row(ref)
}

// chainIDs gives each booking the id of its chain's first: the one that no
// other comes before; of several, or in a circle, the least identity.
func chainIDs(all []Booking, pairs []joined) map[uuid.UUID]uuid.UUID {
	parent := map[uuid.UUID]uuid.UUID{}
	for _, b := range all {
		parent[b.ID] = b.ID
	}
	var find func(uuid.UUID) uuid.UUID
	find = func(id uuid.UUID) uuid.UUID {
		if parent[id] != id {
			parent[id] = find(parent[id])
		}
		return parent[id]
	}
	follows := map[uuid.UUID]bool{}
	for _, j := range pairs {
		_, known := parent[j.predecessor]
		if _, ok := parent[j.successor]; ok && known {
			parent[find(j.successor)] = find(j.predecessor)
			follows[j.successor] = true
		}
	}
	first := map[uuid.UUID]Booking{}
	for _, b := range all {
		root := find(b.ID)
		f, ok := first[root]
		if !ok || (follows[f.ID] && !follows[b.ID]) || (follows[f.ID] == follows[b.ID] && name(b) < name(f)) {
			first[root] = b
		}
	}
	out := map[uuid.UUID]uuid.UUID{}
	for _, b := range all {
		out[b.ID] = first[find(b.ID)].ID
	}
	return out
}

func name(b Booking) string { return b.ExternalID + "|" + b.Seat }
