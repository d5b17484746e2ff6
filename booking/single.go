package booking

import "time"

// open makes the row of a booking not seen before.
func (t *turn) open(ref Ref, seat string) Booking {
	id := ID(ref.Source, ref.ExternalID, seat)
	return Booking{
		ID: id, Source: ref.Source, ExternalID: ref.ExternalID, Seat: seat, ChainID: id,
		ConnectionID: t.conn, LastReceiptID: t.receipt,
	}
}

// followSingle decides an event about a booking that has its identity to itself.
func (t *turn) followSingle() {
	e := t.event
	b, existed := t.row(Ref{e.Source, e.ExternalID})
	tg := &target{before: b, action: e.Action()}
	if !existed && e.Action() == Cancel && e.Reason == ReasonRemoved {
		return // what the provider no longer knows, and nobody here ever saw (R15)
	}
	if !existed {
		b = t.open(Ref{e.Source, e.ExternalID}, "")
	}
	tg.id = b.ID
	t.own = append(t.own, tg)

	t.foldSession(&b)
	t.foldText(&b.Title, e.Title)
	t.foldText(&b.Location, e.Location)
	b.BookedAt = earliest(b.BookedAt, e.BookedAt)
	if len(e.Attendees) > 0 {
		t.foldInvitee(&b.Invitee, &b.NoShow, &b.NoShowAt, e.Attendees[0])
	}

	switch a := e.Action(); a {
	case Request, Create, Move:
		if b.Status == Canceled {
			tg.refuse = true
			break
		}
		if a == Create || (a == Move && (e.Confirmed || b.confirmed())) {
			tg.place = true
			b.Status = Conflicted // until it is settled
		} else if b.Status == New {
			b.Status = Pending
		}
	case Cancel:
		reason := e.Reason
		if e.Successor != "" {
			reason = ReasonRescheduled
		}
		b = closed(b, reason)
	case Details, NoShow, Release, AcceptOverlap:
	}
	t.touch(b.SessionID)
	t.save(b)
}

// foldSession puts the booking into the session that the event names, if that is
// newer.
func (t *turn) foldSession(b *Booking) {
	e := t.event
	if e.Session.ExternalID == "" {
		return
	}
	session := SessionID(e.Source, e.Session.ExternalID)
	if t.clock.After(b.SessionAt) {
		t.touch(b.SessionID)
		t.newer = true
		b.OverlapAccepted = b.OverlapAccepted && b.SessionID == session
		b.SessionID, b.SessionAt = session, t.clock
	} else if b.SessionID != session {
		t.differs = true
	}
}

// closed is the booking canceled, with the strongest of its reasons (R6).
func closed(b Booking, reason Reason) Booking {
	if b.Status != Canceled || reason.strength() > b.Reason.strength() {
		b.Reason = reason
	}
	b.Status, b.ConflictsWith = Canceled, nil
	return b
}

func (t *turn) foldText(f *Text, said *string) {
	if said == nil {
		return
	}
	if t.clock.After(f.At) {
		t.newer = true
		f.Value, f.At = *said, t.clock
	} else if f.Value != *said {
		t.differs = true
	}
}

func (t *turn) foldInvitee(v *Invitee, noShow *bool, noShowAt *Clock, a Attendee) {
	if a.Email != "" {
		t.foldText(&v.Email, &a.Email)
	}
	t.foldText(&v.Name, a.Name)
	t.foldText(&v.Phone, a.Phone)
	t.foldText(&v.Timezone, a.Timezone)
	if a.NoShow == nil {
		return
	}
	if t.clock.After(*noShowAt) {
		t.newer = true
		*noShow, *noShowAt = *a.NoShow, t.clock
	} else if *noShow != *a.NoShow {
		t.differs = true
	}
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.Before(*a)) {
		return b
	}
	return a
}
