package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// receiptSearch is a filter of receipts, taken apart as a transitionSearch is: what
// leads is read by its index in the list's order, the rest is asked of each
// candidate that this gives, of at most so many. A planner left to itself would
// read all receipts of a year for a kind that came twice.
type receiptSearch struct {
	lead  []condition
	rest  []condition
	after *timeAndID
	// narrow tells that what leads gives few.
	narrow bool
}

// isUnsettled is the term of the partial index on receipts.
const isUnsettled = "r." + unsettled

// searchReceipts takes a filter apart.
func (s *Store) searchReceipts(ctx context.Context, f booking.Filter) (receiptSearch, error) {
	var out receiptSearch
	leads := func(text string, args ...any) { out.lead = append(out.lead, condition{text, args}) }
	asks := func(asked bool, text string, args ...any) {
		if asked {
			out.rest = append(out.rest, condition{text, args})
		}
	}
	if f.From != nil {
		leads("r.received_at >= ?", at(*f.From))
	}
	if f.To != nil {
		leads("r.received_at < ?", at(*f.To))
	}
	if f.BookingID != nil {
		subject, err := s.subjectOf(ctx, *f.BookingID)
		if err != nil {
			return out, err
		}
		out.narrow = true
		leads("r.subject = ? AND r.subject <> ''", subject)
	}
	if f.ReceiptID != nil {
		out.narrow = true
		leads("r.id = ?", *f.ReceiptID)
	}
	if text := strings.TrimSpace(storable(f.Text)); text != "" {
		ids, err := s.receiptsNamed(ctx, text)
		if err != nil {
			return out, err
		}
		out.narrow = true
		if len(ids) == 0 {
			leads("1 = 0")
		} else {
			leads("r.id IN ?", ids)
		}
	}
	if !out.narrow && len(f.Statuses) > 0 && !slices.ContainsFunc(f.Statuses, settled) {
		leads(isUnsettled)
	}
	asks(f.Provider != "", "r.connection_id IN (SELECT id FROM connections WHERE provider = ?)", f.Provider)
	asks(f.ConnectionID != nil, "r.connection_id = ?", f.ConnectionID)
	asks(f.Kind != "", "r.kind = ?", storable(string(f.Kind)))
	asks(len(f.Statuses) > 0, "r.status IN ?", f.Statuses)
	asks(f.Reason != "", "r.reason = ?", f.Reason)
	return out, nil
}

func settled(status string) bool {
	switch booking.ReceiptStatus(status) { //nolint:exhaustive // the rest is settled
	case booking.StatusPending, booking.StatusFailed, booking.StatusWaiting, booking.StatusDead:
		return false
	}
	return true
}

// receiptsNamed are the receipts that a text names: by their own id or event key,
// or by the id, ours or the provider's, of the booking that they are about. Each is
// a read of an index.
func (s *Store) receiptsNamed(ctx context.Context, text string) ([]uuid.UUID, error) {
	var out []uuid.UUID
	find := func(where string, args ...any) error {
		var ids []uuid.UUID
		err := s.reader(ctx).Table("webhook_receipts").Where(where, args...).Limit(booking.MaxLimit).Pluck("id", &ids).Error
		out = append(out, ids...)
		return classify(err)
	}
	var sources []struct {
		Provider string
		APIBase  string
	}
	if err := s.reader(ctx).Table("connections").Distinct("provider", "api_base").Find(&sources).Error; err != nil {
		return nil, classify(err)
	}
	var subjects []string
	for _, c := range sources {
		subjects = append(subjects, booking.Subject(booking.Source{Provider: c.Provider, Base: c.APIBase}, text))
	}
	if id, err := uuid.Parse(text); err == nil {
		if err := find("id = ?", id); err != nil {
			return nil, err
		}
		subject, err := s.subjectOf(ctx, id)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject)
	}
	if err := find("event_key = ?", text); err != nil {
		return nil, err
	}
	if len(subjects) > 0 {
		if err := find("subject IN ? AND subject <> ''", subjects); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const receiptOrder = "r.received_at DESC, r.id DESC"

// bounded tells whether a page may end before the list does.
func (q receiptSearch) bounded() bool { return len(q.rest) > 0 && !q.narrow }

// candidates are the newest n receipts that the leading conditions give.
func (q receiptSearch) candidates(tx *gorm.DB, columns string, n int) *gorm.DB {
	tx = tx.Table("webhook_receipts r").Select(columns).Order(receiptOrder).Limit(n)
	for _, c := range q.lead {
		tx = tx.Where(c.sql, c.args...)
	}
	if q.after != nil {
		tx = tx.Where("(r.received_at, r.id) < (?, ?)", at(q.after.at), q.after.id)
	}
	return tx
}

func (q receiptSearch) depth() int {
	if q.after != nil {
		return 10 * maxCandidates
	}
	return maxCandidates
}

// fitting are the newest n of those candidates that fit.
func (q receiptSearch) fitting(tx *gorm.DB, n int) *gorm.DB {
	among := n
	switch {
	case q.bounded():
		among = q.depth()
	case len(q.rest) > 0:
		among = -1 // they are few
	}
	out := receiptViews(tx, "(?) AS r", q.candidates(tx, receiptColumns, among)).Order(receiptOrder).Limit(n)
	for _, c := range q.rest {
		out = out.Where(c.sql, c.args...)
	}
	return out
}

// end is the cursor behind the last candidate, "" when there were fewer than are
// looked through at once.
func (q receiptSearch) end(tx *gorm.DB) (string, error) {
	var last []receiptViewRow
	err := q.candidates(tx, "r.id, r.received_at", 1).Offset(q.depth() - 1).Find(&last).Error
	if err != nil || len(last) == 0 {
		return "", classify(err)
	}
	return timeAndID{last[0].ReceivedAt.t, last[0].ID}.cursor(listReceipts), nil
}
