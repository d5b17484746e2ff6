package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// receiptRow is a row of webhook_receipts as it is written.
type receiptRow struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         booking.Kind
	Subject      string
	Status       booking.ReceiptStatus
	Reason       booking.Reason
	Code         string
	Error        string
	Actor        booking.Actor
	RawBody      []byte // sealed
	BodySHA256   []byte `gorm:"column:body_sha256"`
	Headers      document[map[string]string]
	Signature    string
	VerifiedBy   *string
	Snapshot     []byte // sealed
	WaitingEvent []byte // sealed
	Poke         bool
	ReceivedAt   stamp
	ProcessedAt  *stamp
}

func (receiptRow) TableName() string { return "webhook_receipts" }

// What sealed columns are bound to: a value put into another row does not open.
func bodyContext(receipt uuid.UUID) string { return "webhook_receipts.raw_body:" + receipt.String() }

func snapshotContext(receipt uuid.UUID) string {
	return "webhook_receipts.snapshot:" + receipt.String()
}

func eventContext(receipt uuid.UUID) string {
	return "webhook_receipts.waiting_event:" + receipt.String()
}

// processedAt is null while something is still to be done about the receipt by
// itself: it is queued, waits for its booking, or failed in a way that a retry
// may mend. What only a person can mend (json_invalid, …) is done with.
func processedAt(status booking.ReceiptStatus, code string, now time.Time) *stamp {
	switch {
	case status == booking.StatusPending, status == booking.StatusWaiting,
		status == booking.StatusFailed && code == booking.CodeApplyFailed:
		return nil
	}
	return atOrNull(now)
}

func (s *Store) receiptFromDomain(r booking.Receipt, p booking.Post, now time.Time) (receiptRow, error) {
	sum := sha256.Sum256(p.Body)
	headers := make(map[string]string, len(p.Header))
	for k, v := range p.Header {
		headers[storable(k)] = storable(v)
	}
	row := receiptRow{
		ID: r.ID, ConnectionID: r.ConnectionID, EventKey: storable(r.EventKey), Kind: booking.Kind(storable(string(r.Kind))),
		Subject: storable(r.Subject), Status: r.Status, Reason: r.Reason, Code: storable(r.Code), Error: storable(r.Error), Actor: r.Actor,
		BodySHA256: sum[:], Headers: document[map[string]string]{headers},
		Signature: storable(p.Signature), Poke: p.Poke, ReceivedAt: at(p.ReceivedAt), ProcessedAt: processedAt(r.Status, r.Code, now),
	}
	if !p.Erased {
		row.RawBody = s.vault.Seal(p.Body, bodyContext(r.ID))
	}
	if p.VerifiedBy != "" {
		row.VerifiedBy = &p.VerifiedBy
	}
	var err error
	row.WaitingEvent, err = s.sealEvent(r)
	return row, err
}

// sealEvent is what waits of a receipt, nil for none.
func (s *Store) sealEvent(r booking.Receipt) ([]byte, error) {
	if r.Event == nil {
		return nil, nil
	}
	plain, err := json.Marshal(r.Event)
	if err != nil {
		return nil, fmt.Errorf("store: the event of receipt %s: %w", r.ID, err)
	}
	return s.vault.Seal(plain, eventContext(r.ID)), nil
}

// knownReceipt is what of a stored receipt the domain asks for.
type knownReceipt struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         booking.Kind
	Subject      string
	Status       booking.ReceiptStatus
	Reason       booking.Reason
	Code         string
	Error        string
	Actor        booking.Actor
	ClaimedAt    *stamp
	WaitingEvent []byte
}

func (knownReceipt) TableName() string { return "webhook_receipts" }

func (s *Store) receiptToDomain(r knownReceipt) (booking.Receipt, error) {
	out := booking.Receipt{
		ID: r.ID, ConnectionID: r.ConnectionID, EventKey: r.EventKey, Kind: r.Kind, Subject: r.Subject, Status: r.Status,
		Reason: r.Reason, Code: r.Code, Error: r.Error, Actor: r.Actor, Claimed: r.ClaimedAt != nil,
	}
	if r.Status != booking.StatusWaiting {
		return out, nil
	}
	plain, err := s.vault.Open(r.WaitingEvent, eventContext(r.ID))
	if err != nil {
		return out, fmt.Errorf("store: the waiting event of receipt %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(plain, &out.Event); err != nil {
		return out, fmt.Errorf("store: the waiting event of receipt %s: %w", r.ID, err)
	}
	return out, nil
}

// deliveryRow is a row of deliveries.
type deliveryRow struct {
	ReceiptID    uuid.UUID
	ConnectionID uuid.UUID
	ReceivedAt   stamp
	RequestID    string
	Signature    string
	Action       string
	Answer       booking.ReceiptStatus
}

func (deliveryRow) TableName() string { return "deliveries" }

// The actions of a delivery.
const (
	actionFirst = "first"
	actionCopy  = "copy"
)

func deliveryFromDomain(p booking.Post, a booking.Answer) deliveryRow {
	row := deliveryRow{
		ReceiptID: a.ReceiptID, ConnectionID: p.ConnectionID, ReceivedAt: at(p.ReceivedAt),
		RequestID: storable(p.RequestID), Signature: storable(p.Signature), Action: actionFirst, Answer: a.Status,
	}
	if a.Status == booking.StatusDuplicate {
		row.Action = actionCopy
	}
	return row
}

// transitionRow is a row of transitions.
type transitionRow struct {
	Seq        int64 `gorm:"primaryKey;autoIncrement:false"`
	ID         uuid.UUID
	BookingID  uuid.UUID
	ReceiptID  *uuid.UUID
	Event      booking.Action
	From       booking.Status
	To         booking.Status
	Outcome    booking.Outcome
	Reason     booking.Reason
	HolderID   *uuid.UUID
	Constraint string
	Actor      booking.Actor
	OccurredAt stamp
	RecordedAt stamp
	Prev       []byte
	Hash       []byte
}

func (transitionRow) TableName() string { return "transitions" }

func transitionFromDomain(t booking.Transition) transitionRow {
	return transitionRow{
		Seq: t.Seq, ID: t.ID, BookingID: t.BookingID, ReceiptID: idOrNull(t.ReceiptID), Event: t.Event, From: t.From, To: t.To,
		Outcome: t.Outcome, Reason: t.Reason, HolderID: t.HolderID, Constraint: t.Constraint, Actor: t.Actor,
		OccurredAt: at(t.OccurredAt), RecordedAt: at(t.RecordedAt), Prev: t.Prev[:], Hash: t.Hash[:],
	}
}

func (r *transitionRow) toDomain() (booking.Transition, error) {
	t := booking.Transition{
		Seq: r.Seq, ID: r.ID, BookingID: r.BookingID, ReceiptID: idOrNil(r.ReceiptID), Event: r.Event, From: r.From, To: r.To,
		Outcome: r.Outcome, Reason: r.Reason, HolderID: r.HolderID, Constraint: r.Constraint, Actor: r.Actor,
		OccurredAt: r.OccurredAt.t, RecordedAt: r.RecordedAt.t,
	}
	if copy(t.Prev[:], r.Prev) != len(t.Prev) || copy(t.Hash[:], r.Hash) != len(t.Hash) {
		return t, fmt.Errorf("store: transition %d has a short hash", r.Seq)
	}
	return t, nil
}
