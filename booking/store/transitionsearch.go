package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// How far a search of the audit log goes at once.
const (
	// maxCandidates is how many transitions a page looks through for those that
	// fit, and maxLookedUp how many when for each another table is read.
	maxCandidates = 10_000
	maxLookedUp   = 5_000
	// maxCounted is how many of these a count looks through.
	maxCounted = 2_000
	// maxNamed is how many bookings may have the id that a text is.
	maxNamed = 100
)

// transitionSearch is a filter of transitions, taken apart so that every search
// is an index read in the list's order and ends: one condition leads, by its
// index, with the window of time; the rest is asked of each candidate that this
// gives, of at most so many. Which one leads is said here and not left to the
// database: a planner that finds the rest rare would read whole tables to save
// itself the candidates, and SQLite has no statistics to judge by.
type transitionSearch struct {
	lead  []condition
	rest  []condition
	after *place
	// narrow tells that what leads gives few: those of a booking, a receipt, or
	// of whoever is no webhook.
	narrow bool
	// looksUp tells that some of the rest reads other tables.
	looksUp bool
}

type condition struct {
	sql  string
	args []any
}

// Terms of partial indexes stand in the text as the indexes have them: neither
// database would prove them from a parameter.
const (
	isTroubled = `(t.outcome = 'rejected' OR t."to" = 'conflicted')`
	// An overlap that was accepted stays conflicted, and troubles nobody any more.
	noAcceptance = `(t.outcome = 'rejected' OR t.event <> 'accept_overlap')`
	hasReason    = `t.reason <> ''`
	noWebhook    = `t.actor <> 'webhook'`
)

// searchTransitions takes a filter apart.
func (s *Store) searchTransitions(ctx context.Context, f booking.Filter) (transitionSearch, error) {
	var out transitionSearch
	if f.From != nil {
		out.lead = append(out.lead, condition{"t.recorded_at >= ?", []any{at(*f.From)}})
	}
	if f.To != nil {
		out.lead = append(out.lead, condition{"t.recorded_at < ?", []any{at(*f.To)}})
	}
	led := false
	// put has the first condition with an index lead: it goes where the index is read.
	put := func(index, asked bool, c condition) {
		switch {
		case !asked:
		case index && !led:
			led = true
			out.lead = append(out.lead, c)
		default:
			out.rest = append(out.rest, c)
		}
	}
	text, err := s.textCondition(ctx, f.Text, f.Scope)
	if err != nil {
		return out, err
	}
	put(true, f.BookingID != nil, condition{"t.booking_id = ?", []any{f.BookingID}})
	put(true, f.ReceiptID != nil, condition{"t.receipt_id = ?", []any{f.ReceiptID}})
	put(true, f.Text != "" && text.byID, text.condition)
	by, err := s.actorCondition(ctx, f.Actor)
	if err != nil {
		return out, err
	}
	put(f.Actor != string(booking.ActorWebhook), f.Actor != "", by)
	out.narrow = led
	put(true, f.Reason != "", condition{"t.reason = ? AND " + hasReason, []any{f.Reason}})
	put(true, f.Troubled, condition{isTroubled + " AND " + noAcceptance, nil})
	put(true, !f.Troubled && (f.Outcome == booking.Rejected || len(f.Statuses) == 1 && f.Statuses[0] == string(booking.Conflicted)), condition{isTroubled, nil})
	put(false, f.Outcome != "", condition{"t.outcome = ?", []any{f.Outcome}})
	put(false, len(f.Statuses) > 0, condition{`t."to" IN ?`, []any{f.Statuses}})

	// Of a booking or receipt each is a lookup of one row, never a join.
	before := len(out.rest)
	put(false, f.Provider != "", condition{"(SELECT b.provider FROM bookings b WHERE b.id = t.booking_id) = ?", []any{f.Provider}})
	put(false, f.ConnectionID != nil, condition{"(SELECT r.connection_id FROM webhook_receipts r WHERE r.id = t.receipt_id) = ?", []any{f.ConnectionID}})
	if f.Scope.Limited {
		about, err := s.resourceCondition(ctx, f.Scope.Resources...)
		if err != nil {
			return out, err
		}
		put(false, true, about)
	}
	if f.ResourceID != nil {
		about, err := s.resourceCondition(ctx, *f.ResourceID)
		if err != nil {
			return out, err
		}
		put(false, true, about)
	}
	put(false, f.Text != "" && !text.byID, text.condition)
	out.looksUp = len(out.rest) > before
	return out, nil
}

// actorCondition names the people, or the tokens, one by one: each is a place in
// the index.
func (s *Store) actorCondition(ctx context.Context, actor string) (condition, error) {
	switch actor {
	case string(booking.ActorWebhook):
		return condition{"t.actor = 'webhook'", nil}, nil
	case "user", "token":
		all, err := s.Actors(ctx)
		if err != nil {
			return condition{}, err
		}
		var kind []string
		for a := range all {
			if strings.HasPrefix(string(a), actor+":") {
				kind = append(kind, string(a))
			}
		}
		if len(kind) == 0 {
			return condition{"1 = 0", nil}, nil
		}
		slices.Sort(kind)
		return condition{"t.actor IN ? AND " + noWebhook, []any{kind}}, nil
	}
	return condition{"t.actor = ? AND " + noWebhook, []any{storable(actor)}}, nil
}

// resourceCondition asks first whether the session has a host that maps to one of
// the resources in any way: of most it has none, and the view, which knows which
// mapping wins, costs more.
func (s *Store) resourceCondition(ctx context.Context, ids ...uuid.UUID) (condition, error) {
	names, err := s.hostNames(ctx, ids)
	if err != nil {
		return condition{}, err
	}
	if len(names) == 0 {
		return condition{"1 = 0", nil}, nil
	}
	const session = "(SELECT b.session_id FROM bookings b WHERE b.id = t.booking_id)"
	return condition{
		"CASE WHEN (SELECT count(*) FROM session_hosts h WHERE h.session_id = " + session + " AND (h.external_id IN ? OR h.email IN ?)) = 0 THEN 1 = 0 " +
			"ELSE (SELECT count(*) FROM session_resources x WHERE x.session_id = " + session + " AND x.resource_id IN ?) > 0 END",
		[]any{names, names, ids},
	}, nil
}

type textSearch struct {
	condition
	byID bool // leads by the index of bookings
}

// textCondition finds bookings first where the text is their id, ours or their
// provider's: that is one read of an index. Anything else is looked for in each
// candidate's booking.
func (s *Store) textCondition(ctx context.Context, text string, scope booking.Scope) (textSearch, error) {
	text = strings.TrimSpace(storable(text))
	if text == "" {
		return textSearch{}, nil
	}
	var ids []uuid.UUID
	named := withID(text, scope)
	if err := s.reader(ctx).Table("bookings b").Where(named.sql, named.args...).Limit(maxNamed).Pluck("b.id", &ids).Error; err != nil {
		return textSearch{}, classify(err)
	}
	if id, err := uuid.Parse(text); err == nil {
		ids = append(ids, id)
	}
	if len(ids) > 0 {
		return textSearch{condition{"t.booking_id IN ?", []any{ids}}, true}, nil
	}
	in := inBooking(text, scope)
	return textSearch{condition: condition{"EXISTS (SELECT 1 FROM bookings b WHERE b.id = t.booking_id AND " + in.sql + ")", in.args}}, nil
}

const transitionOrder = "t.recorded_at DESC, t.seq DESC"

// candidates are the newest n transitions that the leading condition gives.
func (q transitionSearch) candidates(tx *gorm.DB, n int) *gorm.DB {
	tx = tx.Table("transitions t").Select("t.*").Order(transitionOrder).Limit(n)
	for _, c := range q.lead {
		tx = tx.Where(c.sql, c.args...)
	}
	if q.after != nil {
		tx = tx.Where("(t.recorded_at, t.seq) < (?, ?)", at(q.after.at), q.after.seq)
	}
	return tx
}

// fits is the rest as one condition.
func (q transitionSearch) fits() (string, []any) {
	all, args := []string{"1 = 1"}, []any(nil)
	for _, c := range q.rest {
		all = append(all, "("+c.sql+")")
		args = append(args, c.args...)
	}
	return strings.Join(all, " AND "), args
}

// counted are the candidates without what only a reader needs: where nothing is
// asked of them, their index alone has all.
func (q transitionSearch) counted(tx *gorm.DB, n int) *gorm.DB {
	if len(q.rest) == 0 {
		return q.candidates(tx, n).Select("t.seq")
	}
	return q.candidates(tx, n)
}

// depth is how many candidates a page looks through. Who asks for the next page of
// a search would rather wait a moment than ask many times.
func (q transitionSearch) depth() int {
	n := maxCandidates
	if q.looksUp {
		n = maxLookedUp
	}
	if q.after != nil {
		n *= 10
	}
	return n
}

// fitting are those candidates that fit, newest first.
func (q transitionSearch) fitting(tx *gorm.DB) *gorm.DB {
	if len(q.rest) == 0 {
		return q.candidates(tx, -1)
	}
	fits, args := q.fits()
	return tx.Table("(?) AS t", q.candidates(tx, q.depth())).Where(fits, args...).Order(transitionOrder)
}

// end is the place of the last candidate, nil when there were fewer than are looked
// through at once.
func (q transitionSearch) end(tx *gorm.DB) (*place, error) {
	var last []transitionRow
	err := q.candidates(tx, 1).Select("t.seq, t.recorded_at").Offset(q.depth() - 1).Find(&last).Error
	if err != nil || len(last) == 0 {
		return nil, classify(err)
	}
	return &place{last[0].RecordedAt.t, last[0].Seq}, nil
}
