package web

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// idSeparator stands between the bookings of one meeting that are chosen together.
const idSeparator = ","

// pair is a conflict: the meeting that waits, beside those that hold the place.
type pair struct {
	Waits   side
	Holders []side
	More    int // holders than are shown
	Note    booking.ConflictNote
	// Accepted is who accepted it; nil for nobody.
	Accepted *acceptance
	Chosen   bool
	Over     bool // its time has passed
	// Within says that all who hold it are of the same provider, and Rule is where
	// such could be accepted by rule.
	Within bool
	Rule   string
}

// Chooses is what the form says to accept it: all bookings of the meeting.
func (p pair) Chooses() string {
	ids := []string{p.Waits.ID.String()}
	for _, o := range p.Waits.With {
		ids = append(ids, o.ID.String())
	}
	return strings.Join(ids, idSeparator)
}

// side is a booking, and the others of its meeting.
type side struct {
	entry
	offer
	Same bool   // has the e-mail of the one that waits
	Why  string // it holds what the other waits for
	// Asked is the cancel that was asked for last; nil for none.
	Asked *effectView
	With  []side
	// Whole says that its provider cancels nobody of the meeting alone.
	Whole bool
}

// People are all of the meeting who are in the conflict.
func (s side) People() []side {
	first := s
	first.With = nil
	return append([]side{first}, s.With...)
}

// CancelWhole is where to ask for the whole meeting to be canceled: "" when that is not
// possible, or asked for already, whoever of the meeting it was asked for at.
func (s side) CancelWhole() string {
	if !s.Whole || slices.ContainsFunc(s.With, func(o side) bool { return o.Cancel == "" }) {
		return ""
	}
	return s.Cancel
}

// acceptance is who accepted an overlap.
type acceptance struct {
	At     time.Time
	By     string
	Rule   bool // and no person
	Reason string
}

func newAcceptance(n booking.ConflictNote, actors map[booking.Actor]string, l *language) *acceptance {
	if n.Accepted == nil {
		return nil
	}
	return &acceptance{
		At: n.Accepted.At, By: l.decider(n.Accepted.Actor, actors), Rule: n.Accepted.Actor == booking.ActorSystem, Reason: n.Accepted.Reason,
	}
}

// decider is who made a decision: a user by name alone, others with what they are.
func (l *language) decider(a booking.Actor, actors map[booking.Actor]string) string {
	if strings.HasPrefix(string(a), "user:") {
		return cmp.Or(actors[a], l.actor(a))
	}
	return l.actorName(a, actors)
}

// already is a booking that somebody else had accepted when it was to be accepted.
type already struct {
	ID   uuid.UUID
	Name string
	Link string
	acceptance
}

// alreadyAccepted tells who accepted bookings. Those that are not accepted any more
// are left out.
func (s *server) alreadyAccepted(ctx context.Context, list []already, actors map[booking.Actor]string, who viewer) ([]already, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	found, err := s.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	// Only of those that whoever asks may see.
	notes, err := s.Overlaps.ConflictNotes(ctx, slices.Collect(maps.Keys(found)))
	if err != nil {
		return nil, err
	}
	var out []already
	for _, id := range ids {
		b, ok := found[id]
		by := newAcceptance(notes[id], actors, who.language)
		if ok && b.OverlapAccepted && by != nil {
			out = append(out, already{ID: id, Name: fullName(b, who.language), Link: "/bookings/" + id.String(), acceptance: *by})
		}
	}
	return out, nil
}

// conflictsWindow is what conflicts are shown in and by whom they are seen.
type conflictsWindow struct {
	query  conflictsQuery
	names  names
	actors map[booking.Actor]string
	who    viewer
}

// pairs are conflicts with all that a page says of them. Those of one meeting that
// wait for the same are one.
func (s *server) pairs(ctx context.Context, waiting []booking.View, w conflictsWindow) ([]pair, error) {
	q, who := w.query, w.who
	var ids, holding []uuid.UUID
	for _, b := range waiting {
		ids = append(ids, b.ID)
		holding = append(holding, b.ConflictsWith[:min(len(b.ConflictsWith), maxHolders)]...)
	}
	notes, err := s.Overlaps.ConflictNotes(ctx, ids)
	if err != nil {
		return nil, err
	}
	held, err := s.byID(ctx, holding)
	if err != nil {
		return nil, err
	}
	asked, err := s.Effects.EffectsOf(ctx, slices.Concat(ids, holding))
	if err != nil {
		return nil, err
	}
	how, err := s.Overlaps.Arrivals(ctx, slices.Concat(ids, holding))
	if err != nil {
		return nil, err
	}
	keyless, err := s.Effects.KeylessConnections(ctx)
	if err != nil {
		return nil, err
	}
	calendar, may := readCalendarQuery(url.Values{}, who.zone, s.Now()), who.may(access.ActAtProvider)
	show := func(b booking.View) side {
		out := side{entry: newEntry(b, calendar, w.names, who.language), Asked: newestCancel(b, asked[b.ID], may)}
		out.offer = s.offerOf(b, out.Asked, q.From(cancelLink(b.ID, calendar)), keyless, w.names, may)
		if out.Asked != nil && out.Asked.Retry != "" {
			out.Asked.Retry = q.From(out.Asked.Retry)
		}
		if out.Asked != nil && out.Asked.Withdraw != "" {
			out.Asked.Withdraw = q.From(out.Asked.Withdraw)
		}
		return out
	}
	var out []pair
	for _, of := range meetings(waiting) {
		b := of[0]
		p := pair{Waits: show(b), Note: notes[b.ID], More: max(len(b.ConflictsWith)-maxHolders, 0), Over: over(b, s.Now())}
		p.Accepted = newAcceptance(p.Note, w.actors, who.language)
		for _, o := range of[1:] {
			p.Waits.With = append(p.Waits.With, show(o))
		}
		p.Within = b.Reason != booking.ReasonCapacityFull && p.More == 0
		var holders []side
		for _, id := range b.ConflictsWith[:len(b.ConflictsWith)-p.More] {
			h, ok := held[id]
			if !ok {
				continue
			}
			one := show(h)
			one.Same = slices.ContainsFunc(of, func(b booking.View) bool { return sameInvitee(b, h) })
			p.Within = p.Within && oneSource(b, h)
			holders = append(holders, one)
		}
		slices.SortStableFunc(holders, func(a, b side) int {
			return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Who, b.Who))
		})
		p.Holders = together(holders)
		p.Waits.Whole = wholly(p.Waits, p.Holders)
		for i := range p.Holders {
			p.Holders[i].Whole = wholly(p.Holders[i], []side{p.Waits})
		}
		explainSides(b, p.Holders, how, calendar, who.language)
		if p.Within && len(b.ResourceIDs) == 1 && who.may(access.AcceptOverlaps) {
			p.Rule = ruleLink(b.ResourceIDs[0])
		}
		out = append(out, p)
	}
	return out, nil
}

// wholly tells whether a side is more than a booking and is only canceled as a whole:
// others of its meeting stand beside it, or, where seats are short, across from it.
func wholly(one side, across []side) bool {
	return booking.CancelsWhole(one.Provider) && (len(one.With) > 0 ||
		one.SessionID != uuid.Nil && slices.ContainsFunc(across, func(o side) bool { return o.SessionID == one.SessionID }))
}

// explainSides says of each meeting that holds a place why it does.
func explainSides(waits booking.View, holders []side, how map[uuid.UUID]booking.Arrival, q calendarQuery, l *language) {
	var all []booking.View
	for _, one := range holders {
		all = append(all, one.View)
		for _, o := range one.With {
			all = append(all, o.View)
		}
	}
	for _, h := range booking.WhyHeld(waits, all, how) {
		i := slices.IndexFunc(holders, func(one side) bool { return h.Of(one.View) })
		holders[i].Why = l.held(h, q)
	}
}

// meetings groups bookings that are in one meeting and wait for the same, in the
// order in which they come.
func meetings(waiting []booking.View) [][]booking.View {
	var out [][]booking.View
	for _, b := range waiting {
		i := slices.IndexFunc(out, func(of []booking.View) bool { return oneConflict(of[0], b) })
		if i < 0 {
			out = append(out, []booking.View{b})
			continue
		}
		out[i] = append(out[i], b)
	}
	return out
}

// oneConflict tells whether bookings are in one meeting and in one conflict. One of
// too many in its own meeting stands alone, and so does one that was accepted: each
// may have been so by another, for other reasons.
func oneConflict(a, b booking.View) bool {
	if a.SessionID == uuid.Nil || a.SessionID != b.SessionID || a.OverlapAccepted || b.OverlapAccepted || a.Reason != b.Reason ||
		a.Reason == booking.ReasonCapacityFull || len(a.ConflictsWith) != len(b.ConflictsWith) {
		return false
	}
	return !slices.ContainsFunc(a.ConflictsWith, func(id uuid.UUID) bool { return !slices.Contains(b.ConflictsWith, id) })
}

// together groups the bookings of one meeting under its first.
func together(all []side) []side {
	var out []side
	for _, one := range all {
		i := slices.IndexFunc(out, func(o side) bool { return o.SessionID != uuid.Nil && o.SessionID == one.SessionID })
		if i < 0 {
			out = append(out, one)
			continue
		}
		out[i].With = append(out[i].With, one)
	}
	return out
}
