package booking

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// session is the meeting of that name; a new one is not saved yet.
func (w *work) session(ref Ref) Session {
	id := SessionID(ref.Source, ref.ExternalID)
	if s, ok := w.sessions.get(id); ok {
		return s
	}
	return Session{ID: id, Source: ref.Source, ExternalID: ref.ExternalID}
}

func (t *turn) saveSession(s Session) { t.sessions.put(s.ID, s) }

// feedSession lets the event's body say what it says of its session (R1, R9).
func (t *turn) feedSession() {
	e := t.event
	if e.Session.ExternalID == "" {
		return
	}
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
	// Who was first known by an e-mail alone gets the name when it is told.
	if r, ok := t.resources.get(byEmail.ResourceID); ok && r.Name == h.Email && !r.NameGiven && h.Name != "" {
		r.Name = h.Name
		t.resources.put(r.ID, r)
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
