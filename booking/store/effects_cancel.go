package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// CancelPlan is how far canceling a booking at its provider would go now, or
// booking.ErrNotFound.
func (s *Store) CancelPlan(ctx context.Context, id uuid.UUID) (booking.CancelPlan, error) {
	p, err := cancelPlan(s.reader(ctx), id)
	return p, classify(err)
}

// cancelPlan reads in four short statements what booking.Canceling judges.
func cancelPlan(tx *gorm.DB, id uuid.UUID) (booking.CancelPlan, error) {
	var none booking.CancelPlan
	var b bookingRow
	if err := tx.Where("id = ?", id).Take(&b).Error; err != nil {
		return none, err
	}
	var session sessionRow
	together := views(tx).Where("b.id = ?", id)
	if b.SessionID != nil {
		if err := tx.Where("id = ?", *b.SessionID).Take(&session).Error; err != nil {
			return none, err
		}
		together = views(tx).Where("b.session_id = ?", *b.SessionID)
	}
	var rows []viewRow
	if err := together.Order("b.invitee_name, b.id").Find(&rows).Error; err != nil {
		return none, err
	}
	var self booking.View
	all := make([]booking.View, len(rows))
	for i := range rows {
		all[i] = rows[i].toDomain(nil)
		if all[i].ID == id {
			self = all[i]
		}
	}
	p := booking.Canceling(self, session.toDomain(), all)
	var err error
	if p.ConnectionID, err = connectedTo(tx, b.toDomain()); err != nil {
		return none, err
	}
	var open int64
	err = tx.Table("effects").Where("booking_id = ? AND kind = ? AND "+openEffects, id, booking.EffectCancel).Count(&open).Error
	p.Open = open > 0
	return p, err
}

// connectedTo is the account that a booking can be reached through: the first that
// told of it, or when that is disconnected another that did; uuid.Nil for none.
func connectedTo(tx *gorm.DB, b booking.Booking) (uuid.UUID, error) {
	var found []struct{ ID uuid.UUID }
	err := tx.Table("connections c").Select("c.id").
		Where("c.disconnected_at IS NULL AND (c.id = ? OR EXISTS (SELECT 1 FROM webhook_receipts r WHERE r.subject = ? AND r.subject <> '' AND r.connection_id = c.id))",
			b.ConnectionID, storable(booking.Subject(b.Source, b.ExternalID))).
		Order(clause.Expr{SQL: "CASE WHEN c.id = ? THEN 0 ELSE 1 END, c.created_at, c.id", Vars: []any{b.ConnectionID}}).
		Limit(1).Find(&found).Error
	if err != nil || len(found) == 0 {
		return uuid.Nil, err
	}
	return found[0].ID, nil
}

// AskCancel asks for a booking to be canceled at its provider, with the entry that
// tells of it in the same transaction. The request's action asked again gives the
// effect that is there.
func (s *Store) AskCancel(ctx context.Context, r booking.CancelRequest, e access.Entry) (booking.Effect, error) {
	var out booking.Effect
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		switch known, err := effectOf(tx, r.Action); {
		case err == nil && known.BookingID == r.BookingID:
			out = known
			return nil
		case err == nil:
			return &booking.ConflictError{Detail: "the request's id was used for another booking"}
		case !errors.Is(err, booking.ErrNotFound):
			return err
		}
		p, err := cancelPlan(tx, r.BookingID)
		if err != nil {
			return err
		}
		if err := p.Refuse(); err != nil {
			return err
		}
		if err := p.Check(r.Message, r.Confirm); err != nil {
			return err
		}
		effect := booking.Effect{
			ID: uuid.Must(uuid.NewV7()), Action: r.Action, Kind: booking.EffectCancel, ConnectionID: p.ConnectionID,
			Lane:      booking.Lane{BookingID: r.BookingID, Target: "connection:" + p.ConnectionID.String()},
			RequestID: r.RequestID, Actor: e.Actor, CreatedAt: e.At,
		}
		if effect.Payload, err = json.Marshal(booking.CancelOrder{Affected: p.IDs(), Message: storable(r.Message)}); err != nil {
			return err
		}
		if err := s.askFor(tx, effect); err != nil {
			return err
		}
		e.Action, e.Subject = access.DidAskCancel, "booking:"+r.BookingID.String()
		e.Detail = map[string]string{"effect": effect.ID.String(), "affected": strconv.Itoa(len(p.Affected))}
		if err := appendAdminLog(tx, e); err != nil {
			return err
		}
		out, err = effectOf(tx, r.Action)
		return err
	})
	return out, cancelError(err)
}

// cancelError says what it means that another was faster.
func cancelError(err error) error {
	var fence *booking.FenceError
	if errors.As(err, &fence) && fence.Constraint == "one_open_cancel" {
		return booking.ErrAlreadyAsked
	}
	return err
}

func effectOf(tx *gorm.DB, action uuid.UUID) (booking.Effect, error) {
	return firstEffect(tx.Where("action = ? AND kind = ?", action, booking.EffectCancel))
}

func firstEffect(q *gorm.DB) (booking.Effect, error) {
	var rows []effectRow
	if err := q.Order("seq").Limit(1).Find(&rows).Error; err != nil {
		return booking.Effect{}, err
	}
	if len(rows) == 0 {
		return booking.Effect{}, booking.ErrNotFound
	}
	return rows[0].toDomain(), nil
}
