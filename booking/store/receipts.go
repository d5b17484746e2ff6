package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// receiptViewRow is a receipt joined with its connection, and its deliveries
// counted.
type receiptViewRow struct {
	ID           uuid.UUID
	Provider     string
	ConnectionID uuid.UUID
	EventKey     string
	Kind         booking.Kind
	Status       booking.ReceiptStatus
	Reason       booking.Reason
	Code         string
	Error        string
	Deliveries   int
	ReceivedAt   stamp
	ProcessedAt  *stamp
}

func (r receiptViewRow) toDomain() booking.ReceiptView {
	return booking.ReceiptView{
		ID: r.ID, Provider: r.Provider, ConnectionID: r.ConnectionID, EventKey: r.EventKey, Kind: r.Kind, Status: r.Status,
		Reason: r.Reason, Code: r.Code, Error: r.Error, Deliveries: r.Deliveries,
		ReceivedAt: r.ReceivedAt.t, ProcessedAt: r.ProcessedAt.ptr(),
	}
}

// receiptColumns are what a view needs of its receipt; never the body.
const receiptColumns = "r.id, r.connection_id, r.event_key, r.kind, r.status, r.reason, r.code, r.error, r.received_at, r.processed_at"

func receiptViews(tx *gorm.DB, from string, args ...any) *gorm.DB {
	return tx.Table(from, args...).Joins("JOIN connections c ON c.id = r.connection_id").
		Select(receiptColumns + ", c.provider, (SELECT count(*) FROM deliveries d WHERE d.receipt_id = r.id) AS deliveries")
}

const listReceipts = "receipts"

// Receipts lists receipts, newest first. Those of a booking are all that are
// about its identity: of a seated uid, about any of its seats. However rarely the
// filter fits, a page looks through so many receipts and then gives what it found.
func (s *Store) Receipts(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ReceiptView], error) {
	var none booking.List[booking.ReceiptView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	search, err := s.searchReceipts(ctx, f)
	if err != nil {
		return none, err
	}
	if search.after, err = readTimeAndID(p, listReceipts); err != nil {
		return none, err
	}
	var rows []receiptViewRow
	if err := search.fitting(s.reader(ctx), limit+1).Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	out := pageOf(rows, limit, receiptViewRow.toDomain,
		func(r receiptViewRow) string { return timeAndID{r.ReceivedAt.t, r.ID}.cursor(listReceipts) })
	if out.Next == "" && search.bounded() {
		out.Next, err = search.end(s.reader(ctx))
	}
	return out, err
}

// subjectOf is how receipts name a booking, "" when there is no such booking.
func (s *Store) subjectOf(ctx context.Context, id uuid.UUID) (string, error) {
	var rows []bookingRow
	if err := s.reader(ctx).Where("id = ?", id).Find(&rows).Error; err != nil {
		return "", classify(err)
	}
	if len(rows) == 0 {
		return "", nil
	}
	b := rows[0].toDomain()
	return storable(booking.Subject(b.Source, b.ExternalID)), nil
}

// BookingsOfReceipts are the bookings that receipts are about, by receipt, each
// list sorted: several of a seated uid, none of one that is not known (yet).
func (s *Store) BookingsOfReceipts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	type receipt struct {
		ID       uuid.UUID
		Subject  string
		Provider string
		APIBase  string
	}
	about := s.reader(ctx).Table("webhook_receipts r").Joins("JOIN connections c ON c.id = r.connection_id").
		Select("r.id, r.subject, c.provider, c.api_base").Where("r.subject <> ''").Session(fresh)
	receipts, err := in[receipt](about, "r.id", ids)
	if err != nil {
		return nil, classify(err)
	}
	var external []string
	for _, r := range receipts {
		if id, ok := strings.CutPrefix(r.Subject, booking.Subject(booking.Source{Provider: r.Provider, Base: r.APIBase}, "")); ok {
			external = append(external, id)
		}
	}
	slices.Sort(external)
	type named struct {
		ID         uuid.UUID
		ExternalID string
		Provider   string
		APIBase    string
	}
	bookings, err := in[named](s.reader(ctx).Table("bookings").Session(fresh), "external_id", slices.Compact(external))
	if err != nil {
		return nil, classify(err)
	}
	bySubject := map[string][]uuid.UUID{}
	for _, b := range bookings {
		subject := booking.Subject(booking.Source{Provider: b.Provider, Base: b.APIBase}, b.ExternalID)
		bySubject[subject] = append(bySubject[subject], b.ID)
	}
	out := make(map[uuid.UUID][]uuid.UUID, len(receipts))
	for _, r := range receipts {
		if list := bySubject[r.Subject]; len(list) > 0 {
			slices.SortFunc(list, compareIDs)
			out[r.ID] = list
		}
	}
	return out, nil
}

// Failing looks back over a connection's newest receipts, as far as a page of a
// list goes, until one that worked. What is still worked on says nothing.
func (s *Store) Failing(ctx context.Context, connection uuid.UUID) (booking.Failing, error) {
	var out booking.Failing
	var newest []struct{ Status booking.ReceiptStatus }
	err := s.reader(ctx).Table("deliveries d").Joins("JOIN webhook_receipts r ON r.id = d.receipt_id").Select("r.status").
		Where("d.connection_id = ? AND d.action = ?", connection, actionFirst).
		Order("d.received_at DESC, d.receipt_id DESC").Limit(booking.MaxLimit).Find(&newest).Error
	if err != nil {
		return out, classify(err)
	}
	for _, r := range newest {
		switch r.Status {
		case booking.StatusPending:
		case booking.StatusFailed, booking.StatusDead:
			out.Count++
			out.Newest = cmp.Or(out.Newest, r.Status)
		default:
			return out, nil
		}
	}
	return out, nil
}

// Receipt is one receipt, or booking.ErrNotFound.
func (s *Store) Receipt(ctx context.Context, id uuid.UUID) (booking.ReceiptView, error) {
	var rows []receiptViewRow
	if err := receiptViews(s.reader(ctx), "webhook_receipts r").Where("r.id = ?", id).Find(&rows).Error; err != nil {
		return booking.ReceiptView{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.ReceiptView{}, booking.ErrNotFound
	}
	return rows[0].toDomain(), nil
}

// ReceiptBody is what was received, with the secrets inside: whoever shows it
// redacts it first. booking.ErrNotFound also once retention emptied it.
func (s *Store) ReceiptBody(ctx context.Context, id uuid.UUID) ([]byte, error) {
	var sealed struct{ RawBody []byte }
	res := s.reader(ctx).Table("webhook_receipts").Select("raw_body").Where("id = ?", id).Find(&sealed)
	switch {
	case res.Error != nil:
		return nil, classify(res.Error)
	case res.RowsAffected == 0:
		return nil, booking.ErrNotFound
	case sealed.RawBody == nil:
		return nil, fmt.Errorf("%w: the body was removed when its time was over", booking.ErrNotFound)
	}
	body, err := s.vault.Open(sealed.RawBody, bodyContext(id))
	if err != nil {
		return nil, fmt.Errorf("store: the body of receipt %s: %w", id, err)
	}
	return body, nil
}

// Copies lists the deliveries of a receipt, in order of arrival.
func (s *Store) Copies(ctx context.Context, receiptID uuid.UUID) ([]booking.Copy, error) {
	var rows []deliveryRow
	err := s.reader(ctx).Where("receipt_id = ?", receiptID).Order("received_at, action DESC, request_id").Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	return rowsOf(rows, func(r deliveryRow) booking.Copy {
		return booking.Copy{ReceivedAt: r.ReceivedAt.t, RequestID: r.RequestID, Answer: r.Answer}
	}), nil
}

// Backlog counts what is pending or failed. The oldest is of those that
// somebody still works on by itself: a body that only a person can mend would
// else be the oldest for good.
func (s *Store) Backlog(ctx context.Context) (booking.Backlog, error) {
	out := booking.Backlog{Open: map[booking.ReceiptStatus]int{booking.StatusPending: 0, booking.StatusFailed: 0, booking.StatusDead: 0}}
	var rows []struct {
		Status booking.ReceiptStatus
		Count  int
	}
	// The statuses stand in the text, so that the partial index fits.
	open := s.reader(ctx).Table("webhook_receipts").Where("status IN ('pending', 'failed')").Session(fresh)
	if err := open.Select("status, count(*) AS count").Group("status").Find(&rows).Error; err != nil {
		return out, classify(err)
	}
	for _, r := range rows {
		out.Open[r.Status] = r.Count
	}
	var dead int64
	// The first condition is the index's own, the second what is asked.
	if err := s.reader(ctx).Table("webhook_receipts").Where(unsettled + " AND status = 'dead'").Count(&dead).Error; err != nil {
		return out, classify(err)
	}
	out.Open[booking.StatusDead] = int(dead)
	var oldest []struct {
		ID         uuid.UUID
		ReceivedAt stamp
	}
	if err := open.Select("id, received_at").Where("processed_at IS NULL").Order("received_at").Limit(1).Find(&oldest).Error; err != nil {
		return out, classify(err)
	}
	if len(oldest) > 0 {
		out.Oldest, out.OldestID = &oldest[0].ReceivedAt.t, oldest[0].ID
	}
	return out, nil
}
