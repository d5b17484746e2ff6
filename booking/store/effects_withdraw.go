package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// WithdrawEffect takes back an effect that is still to be done, with the entry that
// tells of it in the same transaction. One that is being tried is
// booking.ErrBeingTried: nobody could say what became of it. One that is over is
// booking.ErrNothingToWithdraw.
func (s *Store) WithdrawEffect(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Effect, error) {
	var out booking.Effect
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		effect, err := firstEffect(tx.Where("id = ?", id))
		if err != nil {
			return err
		}
		if !effect.Status.Open() || effect.Kind == booking.EffectWebhook {
			return booking.ErrNothingToWithdraw
		}
		if err := s.withdraw(tx, effect, "asked for", e); err != nil {
			return err
		}
		out, err = firstEffect(tx.Where("id = ?", id))
		return err
	})
	return out, err
}

// withdraw ends an open effect. Guarded: whoever takes it up at the same time is
// faster or finds nothing. Its message is kept no longer.
func (s *Store) withdraw(tx *gorm.DB, effect booking.Effect, because string, e access.Entry) error {
	res := tx.Exec(`UPDATE effects SET status = ?, done_at = ?, claimed_until = NULL, payload = NULL
		WHERE id = ? AND status IN ('pending', 'failed') AND (claimed_until IS NULL OR claimed_until <= ?)`,
		booking.EffectWithdrawn, at(e.At), effect.ID, at(e.At))
	if err := oneRow(res, booking.ErrBeingTried); err != nil {
		return err
	}
	e.Action, e.Subject = access.DidWithdrawEffect, bookingSubject(effect.BookingID)
	e.Detail = effectFacts(effect)
	e.Detail["because"] = because
	if err := appendAdminLog(tx, e); err != nil {
		return err
	}
	// What waits behind it may be due.
	return s.wakeLanes(tx, effect.Lane)
}

// withdrawFor takes back the cancels that are still to be done of bookings whose
// overlap is being accepted, those too that would cancel them with their meeting.
// One that is being tried refuses the acceptance: it may be too late.
func (s *Store) withdrawFor(tx *gorm.DB, accepted []uuid.UUID, by access.By, now time.Time) error {
	if len(accepted) == 0 {
		return nil
	}
	var rows []struct {
		Row     effectRow `gorm:"embedded"`
		Payload []byte
	}
	err := tx.Table("effects").Where("kind = ? AND "+openEffects, booking.EffectCancel).
		Where(`(booking_id IN ? OR booking_id IN (SELECT o.id FROM bookings o JOIN bookings b ON b.session_id = o.session_id WHERE b.id IN ?))`, accepted, accepted).
		Order("seq").Find(&rows).Error
	if err != nil {
		return err
	}
	for _, r := range rows {
		effect := r.Row.toDomain()
		payload, err := s.vault.Open(r.Payload, payloadContext(effect.ID))
		if err != nil {
			return fmt.Errorf("store: the payload of effect %s: %w", effect.ID, err)
		}
		var order booking.CancelOrder
		if err := json.Unmarshal(payload, &order); err != nil {
			return fmt.Errorf("store: the payload of effect %s: %w", effect.ID, err)
		}
		hit := func(id uuid.UUID) bool { return slices.Contains(order.Affected, id) }
		if !slices.Contains(accepted, effect.BookingID) && !slices.ContainsFunc(accepted, hit) {
			continue
		}
		if err := s.withdraw(tx, effect, "the overlap was accepted", access.Entry{At: now, Actor: by.Actor, Remote: by.Remote}); err != nil {
			return err
		}
	}
	return nil
}
