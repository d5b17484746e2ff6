package booking

// compare says what a snapshot of a booking that is not canceled makes of what
// stands here (R15): a create of one not seen, or refused for a canceled one; a
// move when the time, the host or the session is another; else details. Whether
// it is newer than what stands is for the fields to say (R1).
func (w *work) compare(e *Event) *Event {
	c := *e
	c.Kind, c.Confirmed = KindCreated, true
	b, known := w.row(Ref{e.Source, e.ExternalID})
	// A replay must not say what it said before with a later clock: a create's is the
	// earliest of its time.
	said := w.again && !e.At.After(b.SessionAt.At)
	if !known || b.Status == Canceled || b.Status == Pending || said {
		return &c
	}
	c.Kind = KindDetails
	s, ok := w.sessions.get(b.SessionID)
	if !ok || s.ExternalID != e.Session.ExternalID || elsewhere(&s, &e.Session) {
		c.Kind = KindMoved
	}
	return &c
}

// elsewhere tells whether what is said of a session is another place than its own.
func elsewhere(s *Session, said *SessionFacts) bool {
	if said.StartsAt != nil && said.EndsAt != nil && (!said.StartsAt.Equal(s.StartsAt) || !said.EndsAt.Equal(s.EndsAt)) {
		return true
	}
	claimed := Session{Hosts: said.Hosts}
	return len(said.Hosts) > 0 && placeOf(&claimed).hosts != placeOf(s).hosts
}
