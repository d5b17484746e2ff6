package store

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// auditRow is a transition joined with what names it.
type auditRow struct {
	Row         transitionRow `gorm:"embedded"`
	Provider    string
	Title       string
	InviteeName string
	SessionID   *uuid.UUID
	ReceiptKind *booking.Kind
}

const auditColumns = `t.*, b.provider, b.title, b.invitee_name, b.session_id, r.kind AS receipt_kind`

func audit(tx *gorm.DB) *gorm.DB {
	return tx.Table("transitions t").
		Joins("JOIN bookings b ON b.id = t.booking_id").Joins("LEFT JOIN webhook_receipts r ON r.id = t.receipt_id")
}

func filterTransitions(q *gorm.DB, f booking.Filter) *gorm.DB {
	if f.From != nil {
		q = q.Where("t.recorded_at >= ?", at(*f.From))
	}
	if f.To != nil {
		q = q.Where("t.recorded_at < ?", at(*f.To))
	}
	if f.ResourceID != nil {
		q = q.Where("EXISTS (SELECT 1 FROM session_resources x WHERE x.session_id = b.session_id AND x.resource_id = ?)", *f.ResourceID)
	}
	if f.Provider != "" {
		q = q.Where("b.provider = ?", f.Provider)
	}
	if f.ConnectionID != nil {
		q = q.Where("r.connection_id = ?", *f.ConnectionID)
	}
	if f.BookingID != nil {
		q = q.Where("t.booking_id = ?", *f.BookingID)
	}
	if f.ReceiptID != nil {
		q = q.Where("t.receipt_id = ?", *f.ReceiptID)
	}
	if len(f.Statuses) > 0 {
		q = q.Where(`t."to" IN ?`, f.Statuses)
	}
	if f.Outcome != "" {
		q = q.Where("t.outcome = ?", f.Outcome)
	}
	if f.Reason != "" {
		q = q.Where("t.reason = ?", f.Reason)
	}
	if f.Troubled {
		q = q.Where(`(t.outcome = 'rejected' OR t."to" = 'conflicted')`)
	}
	return q
}

const listTransitions = "transitions"

// Transitions lists the audit log, newest first.
func (s *Store) Transitions(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	var none booking.List[booking.TransitionView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readCursor(p, listTransitions, 1)
	if err != nil {
		return none, err
	}
	q := filterTransitions(audit(s.reader(ctx)).Select(auditColumns), f).Order("t.seq DESC").Limit(limit + 1)
	if after != nil {
		seq, err := strconv.ParseInt(after[0], 10, 64)
		if err != nil {
			return none, errCursor
		}
		q = q.Where("t.seq < ?", seq)
	}
	var rows []auditRow
	if err := q.Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	items, err := s.transitionViews(ctx, rows)
	if err != nil {
		return none, err
	}
	return pageOf(items, limit,
		func(v booking.TransitionView) booking.TransitionView { return v },
		func(v booking.TransitionView) string {
			return makeCursor(listTransitions, strconv.FormatInt(v.Seq, 10))
		}), nil
}

// Transition is one row of the audit log, or booking.ErrNotFound.
func (s *Store) Transition(ctx context.Context, id uuid.UUID) (booking.TransitionView, error) {
	var rows []auditRow
	if err := audit(s.reader(ctx)).Select(auditColumns).Where("t.id = ?", id).Find(&rows).Error; err != nil {
		return booking.TransitionView{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.TransitionView{}, booking.ErrNotFound
	}
	items, err := s.transitionViews(ctx, rows)
	if err != nil {
		return booking.TransitionView{}, err
	}
	return items[0], nil
}

func (s *Store) transitionViews(ctx context.Context, rows []auditRow) ([]booking.TransitionView, error) {
	resources, err := resourcesOf(ctx, s, rows, func(r auditRow) *uuid.UUID { return r.SessionID })
	if err != nil {
		return nil, err
	}
	out := make([]booking.TransitionView, 0, len(rows))
	for _, r := range rows {
		t, err := r.Row.toDomain()
		if err != nil {
			return nil, err
		}
		v := booking.TransitionView{
			Transition: t, Provider: r.Provider, Title: r.Title, Invitee: r.InviteeName, ResourceIDs: resources[idOrNil(r.SessionID)],
		}
		if r.ReceiptKind != nil {
			v.ReceiptKind = *r.ReceiptKind
		}
		out = append(out, v)
	}
	return out, nil
}

// Tally counts the transitions of a filter by provider, outcome and reason.
func (s *Store) Tally(ctx context.Context, f booking.Filter) ([]booking.Tally, error) {
	var out []booking.Tally
	err := filterTransitions(audit(s.reader(ctx)), f).
		Select("b.provider, t.outcome, t.reason, count(*) AS count").
		Group("b.provider, t.outcome, t.reason").Order("b.provider, t.outcome, t.reason").Find(&out).Error
	return out, classify(err)
}
