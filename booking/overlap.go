package booking

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// OverlapAnswer is what became of one booking whose overlap was to be accepted.
type OverlapAnswer struct {
	BookingID uuid.UUID
	// Unchanged says that it was accepted before: nothing was written.
	Unchanged bool
	// Refused is the machine's refusal of a booking that is not conflicted, which
	// is recorded; nil else.
	Refused *IllegalTransitionError
}

// AcceptOverlaps lets bookings that are conflicted leave the list of conflicts
// (R16). Each stays conflicted and claims nothing; the transition tells who
// accepted it. st must hold the bookings and what is around the places that
// their sessions want, as for Decide.
//
// What is accepted is the conflict as it stands: a person looked at these
// bookings in these places. It ends, so that a person looks again, when
//   - the booking is released, canceled or goes to another session;
//   - its session claims other places than it did;
//   - the session of a booking that holds the place does, or another session
//     comes to hold it;
//   - it becomes one of too many in its own session (capacity_full), or the
//     places there become enough.
//
// The end of an acceptance has no transition of its own: what ended it has.
func AcceptOverlaps(st *State, ids []uuid.UUID, actor Actor, now time.Time) (Changes, []OverlapAnswer) {
	t := newDecision(st, actor, now)
	answers := make([]OverlapAnswer, 0, len(ids))
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		b, ok := t.bookings.get(id)
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		answer := OverlapAnswer{BookingID: id}
		en := entry{booking: id, action: AcceptOverlap, from: b.Status, to: b.Status, outcome: Rejected, reason: ReasonIllegal, actor: actor}
		_, err := Next(b.Status, AcceptOverlap, Free)
		switch {
		case err != nil:
			answer.Refused = &IllegalTransitionError{From: b.Status, Action: AcceptOverlap}
			t.entries = append(t.entries, en)
		case b.OverlapAccepted:
			answer.Unchanged = true
		default:
			en.outcome, en.reason = Applied, b.Reason
			t.entries = append(t.entries, en)
			b.OverlapAccepted = true
			t.save(b)
		}
		answers = append(answers, answer)
	}
	t.writeTransitions()
	t.keep()
	return t.changes(nil), answers
}

// SetOverlapRule switches the rule of a resource that overlaps there between
// bookings of one provider and API base are accepted, or off again. From then on
// it is part of every decision, and its transitions' actor is the system. Switched
// on it accepts the open conflicts that it covers: those whose place is held only
// where the rule is on, and only by bookings of their own source. Too many in one
// session are no overlap. Switched off it leaves alone what it accepted. st must
// hold the resource, the sessions with open conflicts that claim it, and what is
// around them.
func SetOverlapRule(st *State, resource uuid.UUID, on bool, now time.Time) Changes {
	t := newDecision(st, ActorSystem, now)
	r, ok := t.resources.get(resource)
	if !ok || r.AcceptWithinProvider == on {
		return t.changes(nil)
	}
	r.AcceptWithinProvider = on
	t.resources.put(r.ID, r)
	if on {
		t.explain(t.waitingFor(resource), nil)
	}
	t.writeTransitions()
	t.keep()
	return t.changes(nil)
}

// newDecision is a turn of no event: what a person decides.
func newDecision(st *State, actor Actor, now time.Time) *turn {
	w := newWork(st, now)
	return &turn{
		work: w, event: &Event{At: w.now}, actor: actor,
		touched: map[uuid.UUID]placeBefore{}, clashes: map[uuid.UUID]clash{},
	}
}

// waitingFor are the sessions with open conflicts that claim a resource.
func (t *turn) waitingFor(resource uuid.UUID) []uuid.UUID {
	var out []uuid.UUID
	for id, s := range t.sessions.all() {
		if slices.ContainsFunc(t.claims(&s), func(c claim) bool { return c.resource == resource }) &&
			slices.ContainsFunc(t.membersOf(id), func(b Booking) bool { return b.Status == Conflicted && !b.OverlapAccepted }) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// within tells whether the rule of a resource accepts that another session holds
// there what one wants.
func (w *work) within(s *Session, resource, holder uuid.UUID) bool {
	r, _ := w.resources.get(resource)
	if !r.AcceptWithinProvider {
		return false
	}
	o, ok := w.sessions.get(holder)
	return ok && o.Source == s.Source
}

// accepting ends the acceptance of a conflicted booking whose conflict is another
// by now, and accepts what the rules cover. The booking's row still tells what it
// conflicted with before.
func (t *turn) accepting(b *Booking, s *Session, c clash) {
	b.OverlapAccepted = b.OverlapAccepted && t.asAccepted(b, s, c)
	if b.OverlapAccepted || !c.ruled {
		return
	}
	b.OverlapAccepted = true
	t.accepted = append(t.accepted, entry{
		booking: b.ID, action: AcceptOverlap, from: Conflicted, to: Conflicted, outcome: Applied, reason: c.reason, actor: ActorSystem,
	})
}

// asAccepted tells whether a conflict is still the one that was accepted.
func (t *turn) asAccepted(b *Booking, s *Session, c clash) bool {
	if t.replaced(s.ID) || (b.Reason == ReasonCapacityFull) != (c.reason == ReasonCapacityFull) {
		return false
	}
	before := map[uuid.UUID]bool{}
	for _, id := range b.ConflictsWith {
		// One that was canceled may not be at hand; its session is known by others.
		if o, ok := t.bookings.get(id); ok && o.Status != Canceled {
			before[o.SessionID] = true
		}
	}
	for _, id := range c.with {
		o, _ := t.bookings.get(id)
		if !before[o.SessionID] || o.SessionID != s.ID && t.replaced(o.SessionID) {
			return false
		}
	}
	return true
}

// replaced tells whether a session claims other places than before the event.
func (t *turn) replaced(session uuid.UUID) bool {
	was, ok := t.touched[session]
	if !ok {
		return false
	}
	s, _ := t.sessions.get(session)
	return !slices.Equal(was.claims, t.claims(&s))
}

// MaxOverlapReason is the longest reason for accepting an overlap, in characters.
const MaxOverlapReason = 500

// OverlapReason is a reason as it is kept, or what is wrong with it.
func OverlapReason(said string) (string, error) {
	said = strings.TrimFunc(said, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	switch {
	case said == "":
		return "", &InvalidError{Field: "reason", Detail: "must not be empty"}
	case !utf8.ValidString(said):
		return "", &InvalidError{Field: "reason", Detail: "must be plain text"}
	case utf8.RuneCountInString(said) > MaxOverlapReason:
		return "", &InvalidError{Field: "reason", Detail: "must have at most 500 characters"}
	}
	return said, nil
}

// ConflictNote tells of a conflicted booking since when it waits, and who
// accepted that, as the audit has it.
type ConflictNote struct {
	Since    time.Time
	Accepted *AcceptedNote
}

// AcceptedNote is who accepted an overlap and why; a rule gives no reason.
type AcceptedNote struct {
	At     time.Time
	Actor  Actor
	Reason string
}
