package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// isOpen are the receipts that something is left to be done about by itself.
const isOpen = "(status = 'pending' OR (status = 'failed' AND code = '" + booking.CodeApplyFailed + "'))"

type claimRow struct {
	ID           uuid.UUID
	ConnectionID uuid.UUID
	EventKey     string
	Kind         booking.Kind
	Subject      string
	Status       booking.ReceiptStatus
	RawBody      []byte
}

// Claim takes up a receipt and gives it a ticket, in a transaction of its own
// that is committed before anybody is asked anything: from then on no poke joins
// it. A receipt that is settled, or is not there, is booking.ErrNotFound. One may
// be claimed again, by whoever tries again.
func (s *Store) Claim(ctx context.Context, receipt uuid.UUID, now time.Time) (providers.Claim, error) {
	var claim providers.Claim
	var row claimRow
	err := s.inTrips(ctx, func(tx *transaction) error { //nolint:contextcheck // trips have the transaction's
		if _, err := lockLedger(tx); err != nil {
			return err
		}
		var rows []claimRow
		if err := tx.Table("webhook_receipts").Where("id = ? AND "+isOpen, receipt).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return booking.ErrNotFound
		}
		row = rows[0]
		var err error
		if claim.Ticket, err = nextTicket(tx.DB, now); err != nil {
			return err
		}
		return tx.Exec("UPDATE webhook_receipts SET claimed_at = ?, attempts = attempts + 1 WHERE id = ?", at(now), receipt).Error
	})
	if err != nil {
		return claim, err
	}
	if claim.Connection, err = s.Connection(ctx, row.ConnectionID); err != nil {
		return claim, err
	}
	claim.ReceiptID, claim.EventKey, claim.Kind, claim.Status = row.ID, row.EventKey, row.Kind, row.Status
	claim.Subject = strings.TrimPrefix(row.Subject, booking.Subject(claim.Connection.Source(), ""))
	if row.RawBody != nil {
		claim.Body, err = s.vault.Open(row.RawBody, bodyContext(row.ID))
	}
	return claim, err
}

// nextTicket is a time later than all tickets before. The row's lock makes them
// one line, also where the ledger is not locked.
func nextTicket(tx *gorm.DB, now time.Time) (time.Time, error) {
	var last stamp
	// What changes nothing takes the lock on either database.
	if err := tx.Raw("UPDATE tickets SET last = last WHERE id = 1 RETURNING last").Row().Scan(&last); err != nil {
		return time.Time{}, fmt.Errorf("store: the last ticket: %w", err)
	}
	ticket := now.UTC().Truncate(time.Microsecond)
	if next := last.t.Add(time.Microsecond); next.After(ticket) {
		ticket = next
	}
	return ticket, tx.Exec("UPDATE tickets SET last = ? WHERE id = 1", at(ticket)).Error
}

// TriedInVain keeps why a claimed receipt is not settled yet; the text must hold
// nothing personal.
func (s *Store) TriedInVain(ctx context.Context, receipt uuid.UUID, why string) error {
	return classify(s.write.WithContext(ctx).Exec("UPDATE webhook_receipts SET error = ? WHERE id = ? AND "+isOpen, storable(why), receipt).Error)
}

// GiveUp makes a receipt dead: it is kept and shown, and only a person tries again.
func (s *Store) GiveUp(ctx context.Context, receipt uuid.UUID, why string, now time.Time) error {
	return classify(s.write.WithContext(ctx).Exec(
		"UPDATE webhook_receipts SET status = 'dead', error = ?, processed_at = ? WHERE id = ? AND "+isOpen, storable(why), at(now), receipt).Error)
}

// Unsettled lists the receipts that something is left to be done about, oldest first.
func (s *Store) Unsettled(ctx context.Context, limit int) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := s.reader(ctx).Table("webhook_receipts").Where(isOpen).Order("received_at").Limit(limit).Pluck("id", &ids).Error
	return ids, classify(err)
}
