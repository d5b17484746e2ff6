package booking

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Decide applies the deliveries in order to what is stored, each on what the
// one before left, and returns what is to be saved and answered. It is pure:
// the same input gives the same output, and st is not changed. A delivery that
// panics becomes a failed receipt; the others are not touched by it. now is
// when the transitions are recorded, UTC.
func Decide(st *State, set []Delivery, now time.Time) Changes {
	w := newWork(st, now)
	answers := make([]Answer, 0, len(set))
	for _, d := range set {
		answers = append(answers, w.member(d))
	}
	return w.changes(answers)
}

// work is the state of one set while it is decided.
type work struct {
	now         time.Time
	ledger      Ledger
	transitions []Transition
	order       []ReceiptKey // of new receipts

	receipts    *rows[ReceiptKey, Receipt]
	bookings    *rows[uuid.UUID, Booking]
	sessions    *rows[uuid.UUID, Session]
	slots       *rows[uuid.UUID, Slot]
	attendances *rows[AttendanceKey, Attendance]
	links       *rows[LinkKey, Link]
	identities  *rows[IdentityKey, Identity]
	resources   *rows[uuid.UUID, Resource]
	index       index
}

func newWork(st *State, now time.Time) *work {
	w := &work{
		now: now.UTC().Truncate(time.Microsecond), ledger: st.Ledger,
		receipts: newRows(st.Receipts), bookings: newRows(st.Bookings), sessions: newRows(st.Sessions),
		slots: newRows(st.Slots), attendances: newRows(st.Attendances), links: newRows(st.Links),
		identities: newRows(st.Identities), resources: newRows(st.Resources),
	}
	w.index = newIndex(st)
	return w
}

func (w *work) keep() {
	w.receipts.keep()
	w.bookings.keep()
	w.sessions.keep()
	w.slots.keep()
	w.attendances.keep()
	w.links.keep()
	w.identities.keep()
	w.resources.keep()
}

func (w *work) drop() {
	w.receipts.drop()
	w.bookings.drop()
	w.sessions.drop()
	w.slots.drop()
	w.attendances.drop()
	w.links.drop()
	w.identities.drop()
	w.resources.drop()
}

// member decides one delivery of the set.
func (w *work) member(d Delivery) (a Answer) {
	key := ReceiptKey{d.ConnectionID, d.EventKey}
	if r, ok := w.receipts.get(key); ok {
		return Answer{ReceiptID: r.ID, Status: StatusDuplicate, Original: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error}
	}
	r := Receipt{
		ID: d.ReceiptID, ConnectionID: d.ConnectionID, EventKey: d.EventKey, Kind: d.Kind,
		Status: d.Status, Code: d.Code, Error: d.Error, Actor: d.Actor,
	}
	ledger, transitions := w.ledger, len(w.transitions)
	defer func() {
		if p := recover(); p != nil {
			w.drop()
			w.ledger, w.transitions = ledger, w.transitions[:transitions]
			r.Status, r.Code, r.Event = StatusFailed, CodeApplyFailed, nil
			r.Error = fmt.Sprintf("applying the event failed: %v; it is kept and can be replayed", p)
		}
		w.receipts.put(key, r)
		w.order = append(w.order, key)
		w.keep()
		a = Answer{
			ReceiptID: r.ID, Status: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error,
			Transitions: w.transitions[transitions:len(w.transitions):len(w.transitions)],
		}
	}()
	if d.Event != nil {
		r.Subject = Subject(d.Event.Source, d.Event.ExternalID)
		r.Status, r.Reason = w.turn(d.Event, d.ReceiptID, d.ConnectionID, d.Actor)
		if r.Status == StatusWaiting {
			r.Event = d.Event
			w.index.wait(key, d.Event)
		}
		w.resolveWaiting(d.Event)
	}
	return a
}

// CodeApplyFailed is the code of a receipt whose event could not be applied.
const CodeApplyFailed = "apply_failed"

// resolveWaiting applies what waited for a booking that the event made (R7),
// in the order of its clocks.
func (w *work) resolveWaiting(e *Event) {
	var due []Receipt
	for _, ref := range []string{e.ExternalID, e.Predecessor} {
		for key := range w.index.waiting[Ref{e.Source, ref}] {
			if r, ok := w.receipts.get(key); ok && r.Status == StatusWaiting && r.Event != nil && w.known(r.Event) {
				due = append(due, r)
			}
		}
	}
	slices.SortFunc(due, func(a, b Receipt) int { return compareClocks(a.Event.Clock(), b.Event.Clock()) })
	for _, r := range due {
		r.Status, r.Reason = w.turn(r.Event, r.ID, r.ConnectionID, r.Actor)
		r.Event = nil
		w.receipts.put(ReceiptKey{r.ConnectionID, r.EventKey}, r)
	}
}

func compareClocks(a, b Clock) int {
	switch {
	case a.After(b):
		return 1
	case b.After(a):
		return -1
	}
	return 0
}

// turn is one event's passage through the rules.
type turn struct {
	*work
	event   *Event
	clock   Clock
	receipt uuid.UUID
	conn    uuid.UUID
	actor   Actor

	// What the event's facts did to what stood before it (R13).
	changed bool // something that people see
	newer   bool // a field of the event was newer than what stood
	differs bool // a field of the event says otherwise, but is older

	own     []*target
	touched map[uuid.UUID]placeBefore // sessions whose place, seats or bookings may have changed
	placing []uuid.UUID               // bookings to place that are nobody's target
	entries []entry
}

// target is a booking that the event is about.
type target struct {
	id     uuid.UUID
	before Booking // zero when the row is new
	action Action
	refuse bool // a request, create or move for a canceled booking
	place  bool // the event asks for its place now
}

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

// turn applies one event and says what became of it (R13).
func (w *work) turn(e *Event, receipt, conn uuid.UUID, actor Actor) (ReceiptStatus, Reason) {
	t := &turn{
		work: w, event: e, clock: e.Clock(), receipt: receipt, conn: conn, actor: actor,
		touched: map[uuid.UUID]placeBefore{},
	}
	t.recordLinks()
	waits := (e.Action() == Details || e.Action() == NoShow) && !t.known(e)
	switch {
	case waits && e.Shared:
		t.attend() // kept for exactly that e-mail, until its row is made
	case waits:
	default:
		t.feedSession()
		if e.Shared {
			t.attend()
			t.followSeats()
		} else {
			t.followSingle()
		}
	}
	t.relink()
	t.settle()
	status, reason := t.judge()
	t.writeTransitions()
	if waits {
		return StatusWaiting, NoReason
	}
	return status, reason
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
	b.ConflictsWith, b.LastReceiptID, b.ConnectionID, b.ChainID = nil, uuid.Nil, uuid.Nil, uuid.Nil
	return b
}

// save writes a booking if the event changed anything of it.
func (t *turn) save(b Booking) {
	before, existed := t.bookings.get(b.ID)
	if existed && reflect.DeepEqual(before, b) {
		return
	}
	if !existed || !reflect.DeepEqual(visible(before), visible(b)) {
		b.LastReceiptID = t.receipt
	}
	t.bookings.put(b.ID, b)
	t.index.booking(b)
}

// open makes the row of a booking not seen before.
func (t *turn) open(ref Ref, seat string) Booking {
	id := BookingID(ref.Source, ref.ExternalID, seat)
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
	if !existed {
		b = t.open(Ref{e.Source, e.ExternalID}, "")
	}
	tg.id = b.ID
	t.own = append(t.own, tg)

	if session := SessionID(e.Source, e.Session.ExternalID); t.clock.After(b.SessionAt) {
		t.touch(b.SessionID)
		t.newer = true
		b.SessionID, b.SessionAt = session, t.clock
	} else if b.SessionID != session {
		t.differs = true
	}
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

// known tells whether the booking that details or a no-show is about has a row.
func (w *work) known(e *Event) bool {
	ref := Ref{e.Source, e.ExternalID}
	if !e.Shared {
		_, ok := w.row(ref)
		return ok
	}
	if e.Action() == Details {
		return len(w.index.refs[ref]) > 0
	}
	return slices.ContainsFunc(e.Attendees, func(a Attendee) bool {
		_, ok := w.seat(ref, a.Key)
		return ok
	})
}

// writeTransitions chains the turn's transitions into the ledger.
func (t *turn) writeTransitions() {
	for _, en := range t.entries {
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

// changes are the set's net results, in an order that does not depend on maps.
func (w *work) changes(answers []Answer) Changes {
	ch := Changes{Answers: answers, Transitions: w.transitions, Ledger: w.ledger}
	fresh := map[ReceiptKey]bool{}
	for _, key := range w.order {
		fresh[key] = true
		r, _ := w.receipts.get(key)
		ch.Receipts = append(ch.Receipts, r)
	}
	for key, r := range w.receipts.changed() {
		if !fresh[key] {
			ch.Resolved = append(ch.Resolved, r)
		}
	}
	for _, v := range w.bookings.changed() {
		ch.Bookings = append(ch.Bookings, v)
	}
	for _, v := range w.sessions.changed() {
		ch.Sessions = append(ch.Sessions, v)
	}
	for id, v := range w.slots.changed() {
		if old, ok := w.slots.base[id]; !ok || old.Status != v.Status {
			ch.Slots = append(ch.Slots, v)
		}
	}
	for _, v := range w.attendances.changed() {
		ch.Attendances = append(ch.Attendances, v)
	}
	for _, v := range w.links.changed() {
		ch.Links = append(ch.Links, v)
	}
	for _, v := range w.identities.changed() {
		ch.Identities = append(ch.Identities, v)
	}
	for _, v := range w.resources.changed() {
		ch.Resources = append(ch.Resources, v)
	}
	sortByID(ch.Resolved, func(r Receipt) uuid.UUID { return r.ID })
	sortByID(ch.Bookings, func(b Booking) uuid.UUID { return b.ID })
	sortByID(ch.Sessions, func(s Session) uuid.UUID { return s.ID })
	sortByID(ch.Slots, func(s Slot) uuid.UUID { return s.ID })
	sortByID(ch.Resources, func(r Resource) uuid.UUID { return r.ID })
	slices.SortFunc(ch.Attendances, func(a, b Attendance) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.ExternalID, b.ExternalID), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(ch.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.Predecessor, b.Predecessor),
			cmp.Compare(a.Successor, b.Successor), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(ch.Identities, func(a, b Identity) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	return ch
}

func sortByID[T any](s []T, id func(T) uuid.UUID) {
	slices.SortFunc(s, func(a, b T) int {
		x, y := id(a), id(b)
		return bytes.Compare(x[:], y[:])
	})
}
