package store

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// newlyMapped has the sessions of hosts read whose resource an event may tell for
// the first time: they will claim it.
func (l *loader) newlyMapped() {
	for _, e := range l.events {
		for _, h := range e.Session.Hosts {
			key := booking.IdentityKey{Source: e.Source, ExternalID: h.ExternalID}
			known, ok := l.st.Identities[key]
			if (h.Email != "" || h.Named) && (!ok || known.ResourceID == uuid.Nil) {
				l.told[key] = append(l.told[key], h.Email)
				// A host named by its e-mail or its name had its resource from
				// the first; only an opaque id can have stood without one. Else
				// every event would read all that its host ever had.
				if h.Email != "" && h.ExternalID != h.Email {
					l.hosting.add(h.ExternalID)
				}
			}
		}
	}
}

// area is a resource in a time.
type area struct {
	resource uuid.UUID
	from, to time.Time
}

// surroundings reads who is where the sessions are or will be, and around those
// that wait there the same again, twice: who is let in may keep out others.
func (l *loader) surroundings() error {
	next := slices.Collect(maps.Keys(l.st.Sessions))
	areas := l.eventAreas()
	for range 3 {
		held := l.claimsBySession()
		for _, id := range next {
			l.places[id] = true
			areas = append(areas, l.areasOf(id, held[id])...)
		}
		t := l.tx.trip()
		around := l.askSlots(t, areas)
		resources := l.askResources(t)
		if err := t.make(); err != nil {
			return err
		}
		around()
		resources()
		if err := l.rest(); err != nil {
			return err
		}
		if next, areas = l.waitingSessions(), nil; len(next) == 0 {
			break
		}
	}
	t := l.tx.trip()
	resources := l.askResources(t)
	if err := t.make(); err != nil {
		return err
	}
	resources()
	return nil
}

// waitingSessions are those with a conflicted booking whose surroundings are
// not read yet.
func (l *loader) waitingSessions() []uuid.UUID {
	out := map[uuid.UUID]bool{}
	for _, b := range l.st.Bookings {
		if b.Status == booking.Conflicted && !l.places[b.SessionID] {
			out[b.SessionID] = true
		}
	}
	return slices.Collect(maps.Keys(out))
}

func (l *loader) claimsBySession() map[uuid.UUID][]area {
	out := map[uuid.UUID][]area{}
	for _, s := range l.st.Slots {
		if s.Status == booking.SlotReleased {
			continue
		}
		out[s.SessionID] = append(out[s.SessionID], area{s.ResourceID, s.StartsAt, s.EndsAt})
	}
	return out
}

// areasOf are the places that a session holds and those that it wants.
func (l *loader) areasOf(id uuid.UUID, held []area) []area {
	out := held
	s, ok := l.st.Sessions[id]
	if !ok || s.StartsAt.IsZero() {
		return out
	}
	for _, r := range l.resourcesOf(s.Source, hostsOf(s)) {
		out = append(out, area{r, s.StartsAt, s.EndsAt})
	}
	return out
}

// eventAreas are the places that the events may give to sessions: every host
// that the session has or that any event names, at every time that any says.
func (l *loader) eventAreas() []area {
	type facts struct {
		source  booking.Source
		hosts   []booking.Host
		windows [][2]time.Time
	}
	all := map[uuid.UUID]*facts{}
	for _, e := range l.events {
		id := booking.SessionID(e.Source, e.Session.ExternalID)
		f := all[id]
		if f == nil {
			f = &facts{source: e.Source}
			if s, ok := l.st.Sessions[id]; ok {
				f.hosts = hostsOf(s)
				if !s.StartsAt.IsZero() {
					f.windows = append(f.windows, [2]time.Time{s.StartsAt, s.EndsAt})
				}
			}
			all[id] = f
		}
		f.hosts = append(f.hosts, e.Session.Hosts...)
		if e.Session.StartsAt != nil && e.Session.EndsAt != nil {
			f.windows = append(f.windows, [2]time.Time{*e.Session.StartsAt, *e.Session.EndsAt})
		}
	}
	var out []area
	for _, f := range all {
		for _, r := range l.resourcesOf(f.source, f.hosts) {
			for _, w := range f.windows {
				out = append(out, area{r, w[0], w[1]})
			}
		}
	}
	return out
}

// resourcesOf are all resources that hosts map to in any way. Which of them
// counts is the domain's to say; a place too many does no harm.
func (l *loader) resourcesOf(source booking.Source, hosts []booking.Host) []uuid.UUID {
	out := map[uuid.UUID]bool{}
	for _, h := range hosts {
		own := booking.IdentityKey{Source: source, ExternalID: h.ExternalID}
		keys := []booking.IdentityKey{own, {ExternalID: h.Email}}
		for _, key := range keys {
			if id, ok := l.mapped[key]; ok {
				out[id] = true
			}
		}
		for _, email := range l.told[own] {
			keys = append(keys, booking.IdentityKey{ExternalID: email})
		}
		for _, key := range keys {
			if i, ok := l.st.Identities[key]; ok && i.ResourceID != uuid.Nil {
				out[i.ResourceID] = true
			}
		}
	}
	return slices.Collect(maps.Keys(out))
}

// The bound on the start makes it a search of the index and not a walk through a
// resource's past.
const slotsInAreas = ` JOIN slots s ON s.resource_id = a.resource_id AND s.starts_at > a.bound AND s.starts_at < a.hi AND s.ends_at > a.lo
	WHERE s.status <> 'released'`

// askSlots asks for the claims in the areas that are not released, and then for
// their sessions.
func (l *loader) askSlots(t *trip, areas []area) (found func()) {
	areas = distinct(areas)
	if len(areas) == 0 {
		return func() {}
	}
	var rows *[]slotRow
	columns := "SELECT DISTINCT " + tableOf[slotRow]().list("s.") + " FROM "
	if l.dialect == migrations.Postgres {
		ids := make([]uuid.UUID, len(areas))
		bounds, from, to := make([]time.Time, len(areas)), make([]time.Time, len(areas)), make([]time.Time, len(areas))
		for i, a := range areas {
			ids[i], bounds[i], from[i], to[i] = a.resource, a.from.Add(-booking.MaxLength), a.from, a.to
		}
		rows = query[slotRow](t, columns+"unnest(?::uuid[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[]) AS a (resource_id, bound, lo, hi)"+
			slotsInAreas, ids, bounds, from, to)
	} else {
		list := make([][]string, len(areas))
		for i, a := range areas {
			list[i] = []string{
				a.resource.String(), a.from.Add(-booking.MaxLength).UTC().Format(stampFormat), a.from.UTC().Format(stampFormat), a.to.UTC().Format(stampFormat),
			}
		}
		// The order of a cross join is that of the text: the areas lead.
		rows = query[slotRow](t, columns+"(SELECT value ->> 0 AS resource_id, value ->> 1 AS bound, value ->> 2 AS lo, value ->> 3 AS hi FROM json_each(?)) a CROSS"+
			slotsInAreas, list)
	}
	return func() {
		for _, r := range *rows {
			s := r.toDomain()
			l.st.Slots[s.ID] = s
			if !l.meetings.known[s.SessionID] {
				l.others.add(s.SessionID)
			}
		}
	}
}

// near is how far apart two areas of a resource may be and still be read as one:
// reading what lies between is cheaper than searching the index for each, and of
// thousands that wait in one month each would scan the month.
const near = 24 * time.Hour

// distinct merges areas of one resource that overlap or are near.
func distinct(areas []area) []area {
	slices.SortFunc(areas, func(a, b area) int {
		if n := bytes.Compare(a.resource[:], b.resource[:]); n != 0 {
			return n
		}
		return a.from.Compare(b.from)
	})
	var out []area
	for _, a := range areas {
		last := len(out) - 1
		if last >= 0 && out[last].resource == a.resource && a.from.Before(out[last].to.Add(near)) {
			if a.to.After(out[last].to) {
				out[last].to = a.to
			}
			continue
		}
		out = append(out, a)
	}
	return out
}

// askResources asks for what identities and claims refer to, as far as it is not
// read yet.
func (l *loader) askResources(t *trip) (found func()) {
	ids := map[uuid.UUID]bool{}
	add := func(id uuid.UUID) {
		if _, known := l.st.Resources[id]; !known && id != uuid.Nil {
			ids[id] = true
		}
	}
	for _, i := range l.st.Identities {
		add(i.ResourceID)
	}
	for _, s := range l.st.Slots {
		add(s.ResourceID)
	}
	for _, id := range l.mapped {
		add(id)
	}
	if len(ids) == 0 {
		return func() {}
	}
	rows := read[resourceRow](t, "WHERE id = any(?)", slices.Collect(maps.Keys(ids)))
	return func() {
		for _, r := range *rows {
			l.st.Resources[r.ID] = r.toDomain()
		}
	}
}
