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

// askedAtOnce is how many transitions one transaction asks for telling of: whoever
// applies a delivery stands behind it at most.
const askedAtOnce = 200

// AskWebhooks asks for telling an endpoint of the transitions since it was last
// looked: the ledger is what is to be told, in the order in which it was committed,
// and the endpoint's cursor how much of it was asked for. Both are written together,
// so that none is lost or asked for twice, and applying a delivery pays nothing. Of
// two processes that do so at once one finds it done. It returns the cursor up to which
// was asked, e's own when there was nothing new or enough is open already.
func (s *Store) AskWebhooks(ctx context.Context, e booking.Endpoint, now time.Time) (cursor int64, err error) {
	var rows []transitionRow
	if err := s.reader(ctx).Where("seq > ?", e.Cursor).Order("seq").Limit(askedAtOnce).Find(&rows).Error; err != nil {
		return e.Cursor, classify(err)
	}
	if len(rows) == 0 {
		return e.Cursor, nil // mostly: nothing more is asked of the database then
	}
	var open int64
	if err := s.reader(ctx).Table("effects").Where("target = ? AND "+openEffects, e.Target()).Count(&open).Error; err != nil {
		return e.Cursor, classify(err)
	}
	room := booking.EndpointBacklog - int(open)
	if room <= 0 {
		return e.Cursor, nil
	}
	rows = rows[:min(room, len(rows))]
	told, err := s.webhooksOf(ctx, e, rows, now)
	if err != nil {
		return e.Cursor, err
	}
	cursor = rows[len(rows)-1].Seq
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		// Guarded: whoever was faster has moved it, what was switched off meanwhile is
		// told nothing, and what a crash took back since it was read (inTripsAgain) is not
		// told of: others will have its numbers.
		res := tx.Exec(`UPDATE endpoints SET told = ? WHERE id = ? AND told = ? AND off = '' AND removed_at IS NULL
			AND EXISTS (SELECT 1 FROM transitions WHERE seq = ? AND id = ?)`, cursor, e.ID, e.Cursor, cursor, rows[len(rows)-1].ID)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			cursor = e.Cursor
			return nil
		}
		return s.keepEffects(tx, told)
	})
	if err != nil {
		cursor = e.Cursor
	}
	return cursor, err
}

// webhooksOf are the messages that tell an endpoint of transitions.
func (s *Store) webhooksOf(ctx context.Context, e booking.Endpoint, rows []transitionRow, now time.Time) ([]booking.Effect, error) {
	var all []booking.Transition
	var bookings, receipts []uuid.UUID
	for _, r := range rows {
		t, err := r.toDomain()
		if err != nil {
			return nil, err
		}
		if t.EndpointEvent() == "" {
			continue
		}
		all, bookings, receipts = append(all, t), append(bookings, t.BookingID), append(receipts, t.ReceiptID)
	}
	about := map[uuid.UUID][]uuid.UUID{}
	if len(e.Resources) > 0 {
		var err error
		if about, err = s.placesOf(ctx, bookings); err != nil {
			return nil, err
		}
	}
	requests, err := s.requestsOf(ctx, receipts)
	if err != nil {
		return nil, err
	}
	var out []booking.Effect
	for _, t := range all {
		if e.Hears(t.EndpointEvent(), about[t.BookingID]) {
			out = append(out, e.WebhookOf(&t, requests[t.ReceiptID], now))
		}
	}
	return out, nil
}

// placesOf are the resources that bookings are or once were at: a system that was told
// of a booking at one of its resources hears that it moved away, too.
func (s *Store) placesOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	out := map[uuid.UUID][]uuid.UUID{}
	for part := range slices.Chunk(distinctIDs(bookings), maxIn) {
		var rows []struct{ ID, ResourceID uuid.UUID }
		err := s.reader(ctx).Raw(`SELECT b.id, p.resource_id FROM bookings b JOIN session_resources p ON p.session_id = b.session_id WHERE b.id IN ?
			UNION SELECT b.id, p.resource_id FROM bookings b JOIN slots p ON p.session_id = b.session_id WHERE b.id IN ?`, part, part).Scan(&rows).Error
		if err != nil {
			return nil, classify(err)
		}
		for _, r := range rows {
			out[r.ID] = append(out[r.ID], r.ResourceID)
		}
	}
	return out, nil
}

// requestsOf are the request ids under which receipts first came.
func (s *Store) requestsOf(ctx context.Context, receipts []uuid.UUID) (map[uuid.UUID]string, error) {
	type first struct {
		ReceiptID uuid.UUID
		RequestID string
	}
	receipts = slices.DeleteFunc(receipts, func(id uuid.UUID) bool { return id == uuid.Nil })
	rows, err := in[first](s.reader(ctx).Table("deliveries").Select("receipt_id, request_id").Where("action = 'first'").Session(fresh), "receipt_id", distinctIDs(receipts))
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID]string{}
	for _, r := range rows {
		out[r.ReceiptID] = r.RequestID
	}
	return out, nil
}

// askConnectionWebhooks asks for telling endpoints that a connection fails or does no
// more, in the transaction that has its alert begin or end: one outage is told once.
func (s *Store) askConnectionWebhooks(tx *gorm.DB, step booking.AlertStep, now time.Time) error {
	event, action := step.ConnectionEvent()
	connection, err := uuid.Parse(step.Alert.Subject)
	if event == "" || err != nil {
		return nil //nolint:nilerr // what is about no connection is not told
	}
	all, err := s.endpoints(tx.Session(fresh))
	if err != nil {
		return err
	}
	var told []string
	if event == booking.EventRecovered {
		if err := tx.Table("effects").Where("action = ?", step.Alert.ToldFailing()).Pluck("target", &told).Error; err != nil {
			return err
		}
	}
	payload, err := json.Marshal(booking.ConnectionNotice{Since: step.Alert.Since, Cause: step.Alert.Detail})
	if err != nil {
		return fmt.Errorf("store: a notice: %w", err)
	}
	var out []booking.Effect
	for _, e := range all {
		hears := e.Hears(event, step.Resources) || slices.Contains(told, e.Target()) && e.Hears(event, e.Resources)
		if hears { // one that is off is told once it is on again
			out = append(out, e.WebhookOfConnection(event, action, connection, payload, now))
		}
	}
	return s.keepEffects(tx, out)
}

// ClaimWebhooks takes up at most n messages of an endpoint that are due, until a time:
// until then nobody else may. Those about one booking, or one connection, go one after
// the other: of each the first alone can be due.
func (s *Store) ClaimWebhooks(ctx context.Context, endpoint uuid.UUID, n int, now, until time.Time) ([]booking.Effect, error) {
	type row struct {
		Row     effectRow `gorm:"embedded"`
		Payload []byte
	}
	target := booking.EndpointTarget(endpoint)
	var rows []row
	err := s.reader(ctx).Table("effects e").
		Where("e.target = ? AND e."+openEffects+" AND e.due_at <= ? AND (e.claimed_until IS NULL OR e.claimed_until <= ?)", target, at(now), at(now)).
		Where(`NOT EXISTS (SELECT 1 FROM effects p WHERE p.target = ? AND p.booking_id = e.booking_id AND p.`+openEffects+` AND p.seq < e.seq)`, target).
		Where(`(e.booking_id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM effects p WHERE p.target = ? AND p.booking_id IS NULL
			AND p.connection_id = e.connection_id AND p.`+openEffects+` AND p.seq < e.seq))`, target).
		Order("e.due_at, e.seq").Limit(n).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, classify(err)
	}
	var out []booking.Effect
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		out = nil
		for _, r := range rows {
			// Nothing of an endpoint that was switched off a moment ago.
			res := tx.Exec(`UPDATE effects SET claimed_until = ?, attempts = attempts + 1
				WHERE id = ? AND attempts = ? AND status IN ('pending', 'failed') AND (claimed_until IS NULL OR claimed_until <= ?)
				AND EXISTS (SELECT 1 FROM endpoints WHERE id = ? AND off = '' AND removed_at IS NULL)`,
				at(until), r.Row.ID, r.Row.Attempts, at(now), endpoint)
			if res.Error != nil {
				return res.Error
			}
			if res.RowsAffected == 0 {
				continue // another was faster
			}
			e := r.Row.toDomain()
			e.Attempts++
			if len(r.Payload) > 0 {
				var err error
				if e.Payload, err = s.vault.Open(r.Payload, payloadContext(e.ID)); err != nil {
					return fmt.Errorf("store: the payload of effect %s: %w", e.ID, err)
				}
			}
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// attemptRow is a row of effect_attempts.
type attemptRow struct {
	ID       uuid.UUID
	EffectID uuid.UUID
	Number   int
	At       stamp
	TookUs   int64
	Status   int
	Answer   []byte // sealed
	Cause    booking.AttemptCause
	Error    string
}

func (attemptRow) TableName() string { return "effect_attempts" }

func attemptID(effect uuid.UUID, number int) uuid.UUID {
	return uuid.NewSHA1(effect, fmt.Appendf(nil, "attempt %d", number))
}

func answerContext(attempt uuid.UUID) string { return "effect_attempts.answer:" + attempt.String() }

// SettleWebhook writes what became of a try: the message with its new status, the try
// itself, and the endpoint after it. It says whether the endpoint was switched off by
// it. Of a message that was taken back meanwhile it changes nothing and says why, with
// booking.ErrEndpointRemoved or booking.ErrSkipped; whoever lost the claim to another
// gets booking.ErrNotFound.
func (s *Store) SettleWebhook(ctx context.Context, e booking.Effect, a booking.Attempt) (off booking.EndpointOff, err error) {
	id, _ := booking.EndpointOf(e.Target)
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		off = ""
		columns := map[string]any{"status": e.Status, "error": storable(e.Error), "due_at": at(e.DueAt), "claimed_until": nil}
		if e.Status == booking.EffectDone {
			columns["done_at"] = at(a.At.Add(a.Took))
		}
		res := tx.Table("effects").Where("id = ? AND attempts = ? AND "+openEffects, e.ID, e.Attempts).Updates(columns)
		if res.Error == nil && res.RowsAffected == 0 {
			return overtaken(tx, id, e.ID)
		}
		if res.Error != nil {
			return res.Error
		}
		row := attemptRow{
			ID: attemptID(e.ID, a.Number), EffectID: e.ID, Number: a.Number, At: at(a.At), TookUs: a.Took.Microseconds(), Status: a.Status, Cause: a.Cause, Error: storable(a.Error),
		}
		if a.Answer != "" {
			row.Answer = s.vault.Seal([]byte(a.Answer), answerContext(row.ID))
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if e.Event == booking.EventTest && a.Error != "" && !a.Gone() {
			return nil // a test says nothing of what is to be told
		}
		var err error
		off, err = endpointAfter(tx, id, a)
		return err
	})
	return off, err
}

// overtaken says what became of a message that is not its sender's any more.
func overtaken(tx *gorm.DB, endpoint, message uuid.UUID) error {
	var withdrawn, removed int64
	if err := tx.Table("effects").Where("id = ? AND status = ?", message, booking.EffectWithdrawn).Count(&withdrawn).Error; err != nil {
		return err
	}
	if withdrawn == 0 {
		return booking.ErrNotFound
	}
	if err := tx.Table("endpoints").Where("id = ? AND removed_at IS NOT NULL", endpoint).Count(&removed).Error; err != nil {
		return err
	}
	if removed > 0 {
		return booking.ErrEndpointRemoved
	}
	return booking.ErrSkipped
}

// endpointAfter writes an endpoint's row where a try changes it: mostly it does not.
func endpointAfter(tx *gorm.DB, id uuid.UUID, a booking.Attempt) (booking.EndpointOff, error) {
	var rows []endpointRow
	if err := tx.Where("id = ? AND removed_at IS NULL", id).Limit(1).Find(&rows).Error; err != nil || len(rows) == 0 {
		return "", err
	}
	before := booking.Endpoint{FailingSince: rows[0].FailingSince.ptr(), Off: rows[0].Off, OffAt: rows[0].OffAt.ptr()}
	after := before.After(a)
	if after.Off == before.Off && (after.FailingSince == nil) == (before.FailingSince == nil) {
		return "", nil
	}
	err := tx.Table("endpoints").Where("id = ? AND removed_at IS NULL", id).
		Updates(map[string]any{"failing_since": atPtr(after.FailingSince), "off": after.Off, "off_at": atPtr(after.OffAt)}).Error
	if after.Off == before.Off {
		return "", err
	}
	return after.Off, err
}

// BeginTest keeps a test of an endpoint, taken up by whoever asks for it until a time,
// with the entry that tells of it.
func (s *Store) BeginTest(ctx context.Context, e booking.Effect, until time.Time, by access.By) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.keepEffects(tx, []booking.Effect{e}); err != nil {
			return err
		}
		if err := tx.Exec("UPDATE effects SET claimed_until = ?, attempts = 1 WHERE id = ?", at(until), e.ID).Error; err != nil {
			return err
		}
		return appendAdminLog(tx, access.Entry{At: e.CreatedAt, Actor: by.Actor, Remote: by.Remote, Action: access.DidTestEndpoint, Subject: e.Target})
	})
}

// Webhooks are what an endpoint was told, newest first, before a seq; 0 is from the
// newest on. Without a status it is all.
func (s *Store) Webhooks(ctx context.Context, endpoint uuid.UUID, status booking.EffectStatus, before int64, limit int) ([]booking.Effect, error) {
	q := s.reader(ctx).Where("target = ?", booking.EndpointTarget(endpoint)).Order("seq DESC").Limit(limit)
	if before > 0 {
		q = q.Where("seq < ?", before)
	}
	if status != "" {
		q = q.Where("status = ?", status)
	}
	var rows []effectRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	return rowsOf(rows, effectRow.toDomain), nil
}

// Attempts are those of effects, by effect and oldest first.
func (s *Store) Attempts(ctx context.Context, effects []uuid.UUID) (map[uuid.UUID][]booking.Attempt, error) {
	rows, err := in[attemptRow](s.reader(ctx).Order("number").Session(fresh), "effect_id", effects)
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID][]booking.Attempt{}
	for _, r := range rows {
		a := booking.Attempt{Effect: r.EffectID, Number: r.Number, At: r.At.t, Took: time.Duration(r.TookUs) * time.Microsecond, Status: r.Status, Cause: r.Cause, Error: r.Error}
		if len(r.Answer) > 0 {
			answer, err := s.vault.Open(r.Answer, answerContext(r.ID))
			if err != nil {
				return nil, fmt.Errorf("store: the answer to effect %s: %w", r.EffectID, err)
			}
			a.Answer = string(answer)
		}
		out[r.EffectID] = append(out[r.EffectID], a)
	}
	return out, nil
}
