package booking

import (
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
	// unkept are those of reads that found nothing new.
	unkept map[uuid.UUID]bool
	// again says that the event is one of a receipt that has had its verdict.
	again bool

	receipts    *rows[ReceiptKey, Receipt]
	bookings    *rows[uuid.UUID, Booking]
	sessions    *rows[uuid.UUID, Session]
	slots       *rows[uuid.UUID, Slot]
	attendances *rows[AttendanceKey, Attendance]
	links       *rows[LinkKey, Link]
	identities  *rows[IdentityKey, Identity]
	resources   *rows[uuid.UUID, Resource]
	blocks      *rows[Ref, ToldBlock]
	index       index
}

func newWork(st *State, now time.Time) *work {
	w := &work{
		now: now.UTC().Truncate(time.Microsecond), ledger: st.Ledger, unkept: map[uuid.UUID]bool{},
		receipts: newRows(st.Receipts), bookings: newRows(st.Bookings), sessions: newRows(st.Sessions),
		slots: newRows(st.Slots), attendances: newRows(st.Attendances), links: newRows(st.Links),
		identities: newRows(st.Identities), resources: newRows(st.Resources),
		blocks: newRows[Ref, ToldBlock](nil), // what is stored is compared when they are saved
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
	w.blocks.keep()
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
	w.blocks.drop()
}

// member decides one delivery of the set.
func (w *work) member(d Delivery) (a Answer) {
	key, r, known := w.receiptOf(d)
	if known && d.Replays {
		return w.replayed(d, key, r)
	}
	if known && (!d.Settles || !r.open()) {
		return Answer{ReceiptID: r.ID, Status: StatusDuplicate, Original: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error}
	}
	if !known {
		r = Receipt{
			ID: d.ReceiptID, ConnectionID: d.ConnectionID, EventKey: key.EventKey, Kind: d.Kind, Subject: d.Subject, Actor: d.Actor,
		}
		w.order = append(w.order, key)
	}
	r.Status, r.Code, r.Error = d.Status, d.Code, d.Error
	ledger, transitions := w.ledger, len(w.transitions)
	defer func() {
		if p := recover(); p != nil {
			w.drop()
			w.ledger, w.transitions = ledger, w.transitions[:transitions]
			r.Status, r.Code, r.Event = StatusFailed, CodeApplyFailed, nil
			r.Error = fmt.Sprintf("applying the event failed: %v; it is kept and can be replayed", p)
		}
		w.receipts.put(key, r)
		if d.Read && r.Status == StatusUnchanged {
			w.unkept[r.ID] = true
		}
		w.keep()
		a = Answer{
			ReceiptID: r.ID, Status: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error,
			Transitions: w.transitions[transitions:len(w.transitions):len(w.transitions)],
		}
	}()
	switch {
	case d.Event != nil:
		r.Subject = Subject(d.Event.Source, d.Event.ExternalID)
		r.Status, r.Reason = w.turn(d.Event, r.ID, d.ConnectionID, d.Actor)
		if r.Status == StatusUnchanged || r.Status == StatusRejected {
			w.disown(r.ID)
		}
		if r.Status == StatusWaiting {
			r.Event = d.Event
			w.index.wait(key, d.Event)
		}
		w.resolveWaiting(d.Event)
	case d.Block != nil:
		r.Status = StatusProcessed
		w.block(d.Block, r.ID, d.ConnectionID)
	case d.Poke:
		w.index.pokes[ReceiptKey{d.ConnectionID, d.Subject}] = key
	}
	return a
}

// receiptOf finds the receipt that a delivery is a copy of, or the name of its
// own. A poke has no name of its own: it joins one about the same whose fetch
// has not begun, for that fetch will see what it tells of (R15).
func (w *work) receiptOf(d Delivery) (ReceiptKey, Receipt, bool) {
	key := ReceiptKey{d.ConnectionID, d.EventKey}
	if d.Poke {
		if open, ok := w.index.pokes[ReceiptKey{d.ConnectionID, d.Subject}]; ok {
			if r, ok := w.receipts.get(open); ok && r.Status == StatusPending && !r.Claimed {
				return open, r, true
			}
		}
		key.EventKey += "|" + d.ReceiptID.String()
	}
	r, known := w.receipts.get(key)
	return key, r, known
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

	own      []*target
	touched  map[uuid.UUID]placeBefore // sessions whose place, seats or bookings may have changed
	placing  []uuid.UUID               // bookings to place that are nobody's target
	clashes  map[uuid.UUID]clash       // of sessions, once all claims are settled
	entries  []entry
	accepted []entry // by rules, once all claims are settled
}

// target is a booking that the event is about.
type target struct {
	id     uuid.UUID
	before Booking // zero when the row is new
	action Action
	refuse bool // a request, create or move for a canceled booking
	place  bool // the event asks for its place now
}

// turn applies one event and says what became of it (R13).
func (w *work) turn(e *Event, receipt, conn uuid.UUID, actor Actor) (ReceiptStatus, Reason) {
	if e.Kind == KindSnapshot {
		e = w.compare(e)
	}
	t := &turn{
		work: w, event: e, clock: e.Clock(), receipt: receipt, conn: conn, actor: actor,
		touched: map[uuid.UUID]placeBefore{}, clashes: map[uuid.UUID]clash{},
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

// save writes a booking if the event changed anything of it.
func (t *turn) save(b Booking) {
	before, existed := t.bookings.get(b.ID)
	if existed && reflect.DeepEqual(before, b) {
		return
	}
	// What a person changed has no receipt; the newest that changed the row stays.
	if t.receipt != uuid.Nil && (!existed || !reflect.DeepEqual(visible(before), visible(b))) {
		b.LastReceiptID = t.receipt
	}
	t.bookings.put(b.ID, b)
	t.index.booking(b)
}

// disown takes back a receipt's name from bookings that it did not change in the end:
// while a place is looked for, they may be without one. A copy over a second connection
// would seem to be the newest change else.
func (w *work) disown(receipt uuid.UUID) {
	for id, b := range w.bookings.own {
		old, ok := w.bookings.set[id]
		if !ok {
			old, ok = w.bookings.base[id]
		}
		if ok && b.LastReceiptID == receipt && reflect.DeepEqual(visible(old), visible(b)) {
			b.LastReceiptID = old.LastReceiptID
			w.bookings.own[id] = b
		}
	}
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
