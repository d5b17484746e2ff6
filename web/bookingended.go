package web

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// ending is how a booking ended, in sentences.
type ending struct {
	Told string
	// Asked says who had it canceled from here; "" where nobody did.
	Asked string
	// Successor is the booking that took over; "" for none.
	Successor string
	// Awaited says that one took over there of which nothing is known here yet.
	Awaited bool
}

// maxEnderBodies is how many bodies are looked at for who ended a booking.
const maxEnderBodies = 4

// ending tells of a canceled booking what its provider did with it. The reason is the
// booking's, not that of the change that canceled it: a cancel may turn out later to
// have been one half of a reschedule (R6).
func (s *server) ending(ctx context.Context, v bookingPageView, q calendarQuery, l *language) (*ending, error) {
	b, by := v.View, canceling(v.Timeline)
	reason := b.Reason
	if !slices.Contains([]booking.Reason{booking.ReasonRescheduled, booking.ReasonDeclined, booking.ReasonRemoved}, reason) {
		reason = booking.ReasonCanceled
	}
	out := &ending{}
	if b.SupersededBy != nil {
		out.Successor = bookingLink(*b.SupersededBy, q)
	}
	out.Awaited = reason == booking.ReasonRescheduled && b.SupersededBy == nil
	if reason == booking.ReasonCanceled || reason == booking.ReasonDeclined {
		if e := asked(v.Effects.Effects, by); e != nil {
			out.Asked = l.t("booking.ended.asked", "Who", v.By(e.Actor))
		}
	}
	key, data := "booking.ended."+string(reason), []any{"Provider", l.named("provider", b.Provider)}
	if by == nil { // before what the timeline reaches back to
		out.Told = l.t(key+".undated", data...)
		return out, nil
	}
	data = append(data, "When", l.dates.stamp(by.OccurredAt.In(q.Zone)))
	// Who asked from here is known better than the provider does: to it that is
	// whoever the account belongs to.
	if reason != booking.ReasonRemoved && out.Asked == "" {
		who, err := s.endedBy(ctx, b, v.Timeline, by.ReceiptID)
		if err != nil {
			return nil, err
		}
		if name := l.party(who); name != "" {
			key, data = key+".by", append(data, "Who", name)
		}
	}
	out.Told = l.t(key, data...)
	return out, nil
}

// asked is the cancel that was asked for here and ended the booking: one that was done,
// and asked for before the provider says that the booking ended.
func asked(effects []effectView, by *booking.TransitionView) *effectView {
	i := slices.IndexFunc(effects, func(e effectView) bool {
		return e.Kind == booking.EffectCancel && e.Status == booking.EffectDone && (by == nil || !e.CreatedAt.After(by.OccurredAt.Add(apart)))
	})
	if i < 0 {
		return nil
	}
	return &effects[i]
}

// endedBy is whom the provider names in what it sent: in the delivery that ended the
// booking, else in one that told of it too, as of a reschedule each half does. A
// viewer who sees no bodies is not told, nor is anybody once retention emptied them.
func (s *server) endedBy(ctx context.Context, b booking.View, items []timelineItem, receipt uuid.UUID) (providers.Party, error) {
	ender, tells := s.Providers[b.Provider].(providers.Ender)
	if !tells {
		return providers.Party{}, nil
	}
	ids := []uuid.UUID{receipt}
	for _, item := range items {
		if r := item.Receipt; r != nil && r.Kind == booking.KindCanceled && r.ID != receipt && len(ids) < maxEnderBodies {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range ids {
		body, err := s.Records.ReceiptBody(ctx, id)
		if err != nil && !errors.Is(err, booking.ErrNotFound) {
			return providers.Party{}, err
		}
		if who := ender.EndedBy(body); who != (providers.Party{}) {
			return who, nil
		}
	}
	return providers.Party{}, nil
}

// maxPartyName is as long as a name may be within a sentence.
const maxPartyName = 100

// party is somebody in a sentence; "" for nobody known.
func (l *language) party(p providers.Party) string {
	name := []rune(strings.Join(strings.Fields(p.Name), " "))
	if len(name) > maxPartyName {
		name = append(name[:maxPartyName-1], '…')
	}
	switch {
	case p.Role == "":
		return string(name)
	case len(name) == 0:
		return l.t("party." + string(p.Role))
	}
	return l.t("party."+string(p.Role)+".named", "Name", string(name))
}
