package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"gorm.io/gorm"

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
	if p.ConnectionID, p.Keyless, err = connectedTo(tx, b.toDomain()); err != nil {
		return none, err
	}
	var open int64
	err = tx.Table("effects").Where("booking_id = ? AND kind = ? AND "+openEffects, id, booking.EffectCancel).Count(&open).Error
	p.Open = open > 0
	return p, err
}

// connectedTo is the connection that a booking can be reached through: the first that
// told of it, or when that is ended another to the same account, or another that was
// told of it; uuid.Nil for none. One without a key for its API is only given when
// there is no other.
func connectedTo(tx *gorm.DB, b booking.Booking) (id uuid.UUID, keyless bool, err error) {
	var all []connectionRow
	err = tx.Where("provider = ? AND api_base = ?", b.Source.Provider, b.Source.Base).Order("created_at, id").Find(&all).Error
	if err != nil {
		return uuid.Nil, false, err
	}
	owner := ""
	for _, c := range all {
		if c.ID == b.ConnectionID && c.DisconnectedAt != nil {
			owner = c.Owner.v.ExternalID
		}
	}
	for _, keyed := range []bool{true, false} {
		fit := slices.DeleteFunc(slices.Clone(all), func(c connectionRow) bool { return c.DisconnectedAt != nil || c.keyed() != keyed })
		if id, err := reaching(tx, b, owner, fit); err != nil || id != uuid.Nil {
			return id, !keyed, err
		}
	}
	return uuid.Nil, false, nil
}

// reaching is the first of connections through which a booking can be reached.
func reaching(tx *gorm.DB, b booking.Booking, owner string, connected []connectionRow) (uuid.UUID, error) {
	for _, c := range connected {
		if c.ID == b.ConnectionID || owner != "" && c.Owner.v.ExternalID == owner {
			return c.ID, nil
		}
	}
	for _, c := range connected {
		var told int64
		err := tx.Table("webhook_receipts").Where("subject = ? AND subject <> '' AND connection_id = ?",
			storable(booking.Subject(b.Source, b.ExternalID)), c.ID).Count(&told).Error
		if err != nil || told > 0 {
			return c.ID, err
		}
	}
	return uuid.Nil, nil
}

// keyed tells whether the row has something to call the API with, as
// account.HasCredentials does of a connection.
func (r *connectionRow) keyed() bool { return r.APIUser != "" || len(r.APIToken) > 0 }

// KeylessConnections are those that take posts and have nothing to call their API
// with, nor has another of their provider there. What came through them can only be
// canceled by hand.
func (s *Store) KeylessConnections(ctx context.Context) ([]uuid.UUID, error) {
	var rows []connectionRow
	err := s.reader(ctx).Where("disconnected_at IS NULL").Order("created_at, id").Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	type place struct{ provider, base string }
	keyed := map[place]bool{}
	for _, r := range rows {
		keyed[place{r.Provider, r.APIBase}] = keyed[place{r.Provider, r.APIBase}] || r.keyed()
	}
	var out []uuid.UUID
	for _, r := range rows {
		if !keyed[place{r.Provider, r.APIBase}] {
			out = append(out, r.ID)
		}
	}
	return out, nil
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
			return &booking.ConflictError{Code: "request_used", Detail: "the request's id was used for another booking"}
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
		if effect.Payload, err = json.Marshal(p.Order(storable(r.Message))); err != nil {
			return err
		}
		if err := s.askFor(tx, effect); err != nil {
			return err
		}
		e.Action, e.Subject = access.DidAskCancel, "booking:"+r.BookingID.String()
		e.Detail = access.Facts{"effect": effect.ID.String(), "affected": strconv.Itoa(len(p.Affected))}
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
