package booking

import (
	"reflect"
	"slices"

	"github.com/google/uuid"
)

// entry is a transition before it is chained: what it ends in is filled in when
// all claims are settled.
type entry struct {
	booking uuid.UUID
	action  Action
	from    Status
	to      Status
	outcome Outcome
	reason  Reason
	actor   Actor
	open    bool // to is not known before the claims are settled
}

// judge gives each booking of the event its verdict, in R13's order, and the
// receipt the first that holds of conflict, processed, rejected, unchanged.
func (t *turn) judge() (ReceiptStatus, Reason) {
	status, reason := StatusUnchanged, NoReason
	own := make([]entry, 0, len(t.own))
	for _, tg := range t.own {
		s, r, en := t.judgeOne(tg)
		if en != nil {
			own = append(own, *en)
		}
		if precedence(s) < precedence(status) {
			status, reason = s, r
		}
	}
	if status == StatusUnchanged && len(t.own) == 0 && t.changed {
		status = StatusProcessed
	}
	// The event's own come after the predecessors that made room for them and
	// before those whom they displaced.
	at := slices.IndexFunc(t.entries, func(e entry) bool { return e.action == Move || e.action == Release })
	if at < 0 {
		at = len(t.entries)
	}
	t.entries = slices.Insert(t.entries, at, own...)
	t.noteMoves()
	return status, reason
}

func precedence(s ReceiptStatus) int {
	return slices.Index([]ReceiptStatus{StatusConflict, StatusProcessed, StatusRejected, StatusUnchanged}, s)
}

func (t *turn) judgeOne(tg *target) (ReceiptStatus, Reason, *entry) {
	after, _ := t.bookings.get(tg.id)
	from := tg.before.Status
	refused := func(r Reason) (ReceiptStatus, Reason, *entry) {
		return StatusRejected, r, &entry{booking: tg.id, action: tg.action, from: from, to: from, outcome: Rejected, reason: r, actor: t.actor}
	}
	if tg.refuse {
		return refused(ReasonIllegal)
	}
	overtaken := !t.newer && t.differs && from == after.Status &&
		(tg.action == Move || tg.action == Details || tg.action == NoShow)
	changed := t.changed || !reflect.DeepEqual(visible(tg.before), visible(after))
	switch {
	case !changed && !overtaken:
		return StatusUnchanged, NoReason, nil
	case changed && !t.allowed(from, tg.action, after.Status):
		return refused(ReasonIllegal)
	case overtaken:
		return refused(ReasonStale)
	}
	moved := after.Status != Canceled && t.moved(tg.before, after)
	if (from == after.Status && !moved) || tg.action == Details || tg.action == NoShow {
		return StatusProcessed, NoReason, nil
	}
	en := &entry{booking: tg.id, action: tg.action, from: from, to: after.Status, outcome: Applied, reason: after.Reason, actor: t.actor}
	if after.Status == Conflicted {
		return StatusConflict, after.Reason, en
	}
	return StatusProcessed, after.Reason, en
}

// allowed asks the table whether the event may lead from one state to another.
func (t *turn) allowed(from Status, a Action, to Status) bool {
	guard := Free
	switch {
	case to == Conflicted && a != Details && a != NoShow:
		guard = Held
	case to == Pending && a == Move:
		guard = Unconfirmed
	}
	got, err := Next(from, a, guard)
	return err == nil && got == to
}

// visible is what people see of a booking and what its events may change:
// without clocks, and without what others' claims make of it (R12).
func visible(b Booking) Booking {
	b.SessionAt, b.NoShowAt = Clock{}, Clock{}
	for _, f := range []*Text{&b.Title, &b.Location, &b.Invitee.Name, &b.Invitee.Email, &b.Invitee.Phone, &b.Invitee.Timezone} {
		f.At = Clock{}
	}
	if b.Status != Canceled {
		b.Reason = NoReason
	}
	b.OverlapAccepted = false
	b.ConflictsWith, b.LastReceiptID, b.ConnectionID, b.ChainID = nil, uuid.Nil, uuid.Nil, uuid.Nil
	return b
}

// writeTransitions chains the turn's transitions into the ledger: what rules
// accepted comes after what made it conflicted.
func (t *turn) writeTransitions() {
	for _, en := range slices.Concat(t.entries, t.accepted) {
		if t.again && en.outcome == Rejected {
			continue
		}
		if b, ok := t.bookings.get(en.booking); ok && en.open {
			en.to = b.Status
		}
		tr := Transition{
			BookingID: en.booking, ReceiptID: t.receipt, Event: en.action, From: en.from, To: en.to,
			Outcome: en.outcome, Reason: en.reason, Actor: en.actor,
			OccurredAt: t.event.At, RecordedAt: t.now,
		}
		tr.ID = transitionID(t.receipt, en.booking, t.ledger.Seq+1)
		if b, ok := t.bookings.get(en.booking); ok && en.outcome == Applied && en.to == Conflicted {
			tr.Reason = b.Reason
			tr.HolderID, tr.Constraint = t.fence(b)
		}
		t.ledger.chain(&tr)
		t.transitions = append(t.transitions, tr)
	}
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
	told := map[uuid.UUID]bool{}
	for _, e := range t.entries {
		told[e.booking] = told[e.booking] || e.outcome == Applied
	}
	for _, id := range t.settleOrder(nil) {
		if !t.displaced(id) {
			continue
		}
		for _, b := range t.membersOf(id) {
			if b.Status == Canceled || told[b.ID] {
				continue
			}
			t.entries = append(t.entries, entry{booking: b.ID, action: Move, from: b.Status, to: b.Status, outcome: Applied, actor: t.actor})
		}
	}
}
