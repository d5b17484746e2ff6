package web

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// explainHolds says of the other side of a booking's conflicts why the one holds what
// the other waits for.
func (s *server) explainHolds(ctx context.Context, e *entry, q calendarQuery, l *language) error {
	if len(e.Holders)+len(e.Rivals) == 0 {
		return nil
	}
	holders, ids := make([]booking.View, len(e.Holders)), []uuid.UUID{e.ID}
	for i, r := range e.Holders {
		holders[i], ids = r.of, append(ids, r.of.ID)
	}
	for _, r := range e.Rivals {
		ids = append(ids, r.of.ID)
	}
	how, err := s.Overlaps.Arrivals(ctx, ids)
	if err != nil {
		return err
	}
	for _, h := range booking.WhyHeld(e.View, holders, how) {
		i := slices.IndexFunc(holders, h.Of)
		e.Holders[i].Why = l.held(h, q)
	}
	for i := range e.Rivals {
		for _, h := range booking.WhyHeld(e.Rivals[i].of, []booking.View{e.View}, how) {
			e.Rivals[i].Why = l.held(h, q)
		}
	}
	return nil
}

// heldMeeting is a meeting that holds what a booking waits for.
type heldMeeting struct {
	rival          // the first of those who are in it
	People []rival // all of them
}

// Meetings are those that hold what the booking waits for, each once.
func (e entry) Meetings() []heldMeeting {
	var out []heldMeeting
	for _, r := range e.Holders {
		i := slices.IndexFunc(out, func(m heldMeeting) bool { return r.of.SessionID != uuid.Nil && m.of.SessionID == r.of.SessionID })
		if i < 0 {
			i = len(out)
			out = append(out, heldMeeting{rival: r})
		}
		m := &out[i]
		m.Why = cmp.Or(m.Why, r.Why)
		r.Why = "" // it is the meeting's
		m.People = append(m.People, r)
	}
	return out
}

// withoutSlot says what became of a booking that holds no slot, and what to do.
func (l *language) withoutSlot(b booking.View, by []heldMeeting) string {
	switch {
	case b.Reason == booking.ReasonCapacityFull:
		return l.t("booking.conflict.full")
	case len(by) > 1:
		return l.t("booking.conflict.several")
	case len(by) == 1 && len(by[0].People) > 1:
		return l.n("booking.conflict.group", len(by[0].People))
	}
	return l.t("booking.conflict.help")
}

// held is why a booking holds what another waits for, in a sentence; "" where nothing
// is known of it.
func (l *language) held(h booking.Holding, q calendarQuery) string {
	if h.Because == booking.HeldUnknown {
		return ""
	}
	at, waits := l.dates.stamp(h.At.In(q.Zone)), l.dates.stamp(h.Waits.In(q.Zone))
	key := "held." + string(h.Because)
	if h.Because == booking.HeldFirst {
		if h.Later {
			key += ".later" // which would else look like a mistake
		}
		if at == waits { // as of an import
			key += ".together"
		}
	}
	return l.t(key, "Held", at, "Waits", waits)
}

// conflictLink is where a conflict is shown with what can be done about it.
func conflictLink(waits booking.View) string {
	link := "/conflicts?booking=" + waits.ID.String() + "&past=1"
	if waits.OverlapAccepted {
		link += "&show=accepted"
	}
	return link
}
