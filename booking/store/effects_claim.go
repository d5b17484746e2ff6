package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// ClaimEffect takes up the first effect of a lane until a time: until then no
// other may. booking.ErrNotFound says that the lane is done; a
// *booking.NotDueError when to come back.
func (s *Store) ClaimEffect(ctx context.Context, l booking.Lane, now, until time.Time) (booking.Effect, error) {
	var out booking.Effect
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		var rows []struct {
			Row     effectRow `gorm:"embedded"`
			Payload []byte
		}
		q := tx.Table("effects").Where("target = ? AND "+openEffects, l.Target).Order("seq").Limit(1)
		if l.BookingID == uuid.Nil {
			q = q.Where("booking_id IS NULL")
		} else {
			q = q.Where("booking_id = ?", l.BookingID)
		}
		if err := q.Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 {
			return booking.ErrNotFound
		}
		r := rows[0].Row
		due := r.DueAt.t
		if held := r.ClaimedUntil.time(); held.After(due) {
			due = held
		}
		if due.After(now) {
			return &booking.NotDueError{At: due}
		}
		// Guarded: of two who come at once, one finds it taken.
		res := tx.Exec(`UPDATE effects SET claimed_until = ?, attempts = attempts + 1
			WHERE id = ? AND attempts = ? AND status IN ('pending', 'failed') AND (claimed_until IS NULL OR claimed_until <= ?)`,
			at(until), r.ID, r.Attempts, at(now))
		if err := oneRow(res, &booking.NotDueError{At: until}); err != nil {
			return err
		}
		out = r.toDomain()
		out.Attempts++
		var err error
		if out.Payload, err = s.vault.Open(rows[0].Payload, payloadContext(r.ID)); err != nil {
			return fmt.Errorf("store: the payload of effect %s: %w", r.ID, err)
		}
		return nil
	})
	return out, err
}

// SettleEffect writes what became of a try: e with its new status, error and, of
// one that failed, when it is due again. Whoever lost the claim meanwhile gets
// booking.ErrNotFound and changes nothing. What is done keeps no payload.
func (s *Store) SettleEffect(ctx context.Context, e booking.Effect, now time.Time) error {
	columns := map[string]any{"status": e.Status, "error": storable(e.Error), "due_at": at(e.DueAt), "claimed_until": nil}
	if e.Status == booking.EffectDone {
		columns["done_at"], columns["payload"] = at(now), nil
	}
	return classify(oneRow(s.write.WithContext(ctx).Table("effects").
		Where("id = ? AND attempts = ? AND "+openEffects, e.ID, e.Attempts).Updates(columns), booking.ErrNotFound))
}
