package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// QueueEffectsWith has the lanes of effects handed to f in the transaction that
// asks for them. Call it before anything is asked for.
func (s *Store) QueueEffectsWith(f func(ctx context.Context, tx *sql.Tx, lanes []booking.Lane) error) {
	s.wake = f
}

// newEffectRow is a row of effects as it is first written; the database gives seq.
type newEffectRow struct {
	ID           uuid.UUID
	Action       uuid.UUID
	Kind         booking.EffectKind
	Event        booking.EndpointEvent
	Target       string
	BookingID    *uuid.UUID
	ConnectionID *uuid.UUID
	Payload      []byte // sealed
	RequestID    string
	Actor        booking.Actor
	Status       booking.EffectStatus
	CreatedAt    stamp
	DueAt        stamp
}

func (newEffectRow) TableName() string { return "effects" }

func (s *Store) effectFromDomain(e booking.Effect) newEffectRow {
	return newEffectRow{
		ID: e.ID, Action: e.Action, Kind: e.Kind, Event: e.Event, Target: storable(e.Target), BookingID: idOrNull(e.BookingID),
		ConnectionID: idOrNull(e.ConnectionID), Payload: s.sealPayload(e),
		RequestID: storable(e.RequestID), Actor: e.Actor, Status: booking.EffectPending, CreatedAt: at(e.CreatedAt), DueAt: at(e.CreatedAt),
	}
}

// sealPayload is null for none: what tells of a transition alone is made of it when
// it is sent.
func (s *Store) sealPayload(e booking.Effect) []byte {
	if len(e.Payload) == 0 {
		return nil
	}
	return s.vault.Seal(e.Payload, payloadContext(e.ID))
}

func payloadContext(effect uuid.UUID) string { return "effects.payload:" + effect.String() }

// effectRow is a row of effects without its payload.
type effectRow struct {
	Seq            int64
	ID             uuid.UUID
	Action         uuid.UUID
	Kind           booking.EffectKind
	Event          booking.EndpointEvent
	Target         string
	BookingID      *uuid.UUID
	ConnectionID   *uuid.UUID
	RequestID      string
	Actor          booking.Actor
	Status         booking.EffectStatus
	Attempts       int
	AttemptsBefore int
	Error          string
	CreatedAt      stamp
	DueAt          stamp
	ClaimedUntil   *stamp
	DoneAt         *stamp
}

func (effectRow) TableName() string { return "effects" }

func (r effectRow) toDomain() booking.Effect {
	return booking.Effect{
		Seq: r.Seq, ID: r.ID, Action: r.Action, Kind: r.Kind, Event: r.Event, Lane: booking.Lane{BookingID: idOrNil(r.BookingID), Target: r.Target},
		ConnectionID: idOrNil(r.ConnectionID), RequestID: r.RequestID, Actor: r.Actor, Status: r.Status, Attempts: r.Attempts,
		Before: r.AttemptsBefore, Error: r.Error, CreatedAt: r.CreatedAt.t, DueAt: r.DueAt.t, DoneAt: r.DoneAt.ptr(),
	}
}

// The open statuses, in the text so that the partial indexes fit.
const openEffects = "status IN ('pending', 'failed')"

// askFor writes effects in the transaction of their cause and has their lanes
// worked on. One that its action asked for already is left as it is.
func (s *Store) askFor(tx *gorm.DB, effects ...booking.Effect) error {
	lanes := make([]booking.Lane, 0, len(effects))
	for _, e := range effects {
		lanes = append(lanes, e.Lane)
	}
	if err := s.keepEffects(tx, effects); err != nil {
		return err
	}
	return s.wakeLanes(tx, lanes...)
}

// keepEffects writes effects, but for those that their action asked for already.
func (s *Store) keepEffects(tx *gorm.DB, effects []booking.Effect) error {
	if len(effects) == 0 {
		return nil
	}
	once := clause.OnConflict{Columns: []clause.Column{{Name: "action"}, {Name: "kind"}, {Name: "target"}}, DoNothing: true}
	rows := rowsOf(effects, s.effectFromDomain)
	return tx.Clauses(once).CreateInBatches(&rows, maxIn).Error
}

func (s *Store) wakeLanes(tx *gorm.DB, lanes ...booking.Lane) error {
	if s.wake == nil || len(lanes) == 0 {
		return nil
	}
	plain, ok := tx.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return errors.New("store: effects are asked for outside of a transaction")
	}
	return s.wake(tx.Statement.Context, plain, lanes)
}

// RetryEffect has an effect that failed or was given up tried again now, with the
// entry that tells of it in the same transaction. One that is done, in hand, or tells an
// endpoint is booking.ErrNothingToRetry.
func (s *Store) RetryEffect(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Effect, error) {
	return s.retry(ctx, s.reader(ctx).Where("kind <> ?", booking.EffectWebhook), id, "status IN ('failed', 'dead')", e)
}

// RetryWebhook has a message of an endpoint sent again now, also one that got through.
func (s *Store) RetryWebhook(ctx context.Context, endpoint, id uuid.UUID, e access.Entry) error {
	of := s.reader(ctx).Where("kind = ? AND target = ?", booking.EffectWebhook, booking.EndpointTarget(endpoint))
	_, err := s.retry(ctx, of, id, "status IN ('failed', 'dead', 'done')", e)
	return err
}

// retry has an effect among some tried again that is in a state.
func (s *Store) retry(ctx context.Context, of *gorm.DB, id uuid.UUID, state string, e access.Entry) (booking.Effect, error) {
	if _, err := s.oneEffect(ctx, id); err != nil {
		return booking.Effect{}, err
	}
	effect, err := firstEffect(of.Where("id = ?", id))
	if errors.Is(err, booking.ErrNotFound) {
		return effect, booking.ErrNothingToRetry
	}
	if err != nil {
		return effect, classify(err)
	}
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		res := tx.Exec(`UPDATE effects SET status = ?, due_at = ?, claimed_until = NULL, done_at = NULL, attempts_before = attempts
			WHERE id = ? AND `+state+` AND (claimed_until IS NULL OR claimed_until <= ?)`, booking.EffectPending, at(e.At), id, at(e.At))
		if err := oneRow(res, booking.ErrNothingToRetry); err != nil {
			return err
		}
		e.Action, e.Subject = access.DidRetryEffect, effectSubject(effect)
		e.Detail = effectFacts(effect)
		if err := appendAdminLog(tx, e); err != nil {
			return err
		}
		if effect.Kind != booking.EffectWebhook { // endpoints' messages are looked for
			if err := s.wakeLanes(tx, effect.Lane); err != nil {
				return err
			}
		}
		var err error
		effect, err = firstEffect(tx.Where("id = ?", id))
		return err
	})
	return effect, cancelError(err)
}

// oneEffect is one of any kind, or booking.ErrNotFound.
func (s *Store) oneEffect(ctx context.Context, id uuid.UUID) (booking.Effect, error) {
	e, err := firstEffect(s.reader(ctx).Where("id = ?", id))
	return e, classify(err)
}

// effectSubject is what an entry about an effect is about: the other system that is
// told, the booking, or whoever is told of an alert.
func effectSubject(e booking.Effect) string {
	if _, endpoint := booking.EndpointOf(e.Target); endpoint {
		return e.Target
	}
	if e.BookingID != uuid.Nil {
		return bookingSubject(e.BookingID)
	}
	return "recipient:" + e.Target
}

// effectFacts are what an entry says of an effect: of what tells another system, of
// which event.
func effectFacts(e booking.Effect) access.Facts {
	facts := access.Facts{"effect": e.ID.String(), "kind": string(e.Kind)}
	if e.Event != "" {
		facts["event"] = string(e.Event)
	}
	return facts
}

// Effects are those of a booking, newest first.
func (s *Store) Effects(ctx context.Context, bookingID uuid.UUID) ([]booking.Effect, error) {
	var rows []effectRow
	err := s.reader(ctx).Where("booking_id = ?", bookingID).Order("seq DESC").Limit(booking.MaxLimit).Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	return rowsOf(rows, effectRow.toDomain), nil
}

// UndoneEffects counts those that are not done or withdrawn, by kind and status. A test
// that failed was for whoever asked for it.
func (s *Store) UndoneEffects(ctx context.Context) ([]booking.EffectCount, error) {
	var out []booking.EffectCount
	err := s.reader(ctx).Table("effects").Where("status NOT IN ('done', 'withdrawn') AND event <> ?", booking.EventTest).Select("kind, status, count(*) AS count").
		Group("kind, status").Find(&out).Error
	return out, classify(err)
}

// OpenLanes are lanes with effects to do, those due first.
func (s *Store) OpenLanes(ctx context.Context, limit int) ([]booking.Lane, error) {
	var rows []struct {
		BookingID *uuid.UUID
		Target    string
	}
	err := s.reader(ctx).Table("effects").Where(openEffects).Where("kind <> ?", booking.EffectWebhook).Select("booking_id, target").
		Group("booking_id, target").Order("min(due_at)").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make([]booking.Lane, len(rows))
	for i, r := range rows {
		out[i] = booking.Lane{BookingID: idOrNil(r.BookingID), Target: r.Target}
	}
	return out, nil
}
