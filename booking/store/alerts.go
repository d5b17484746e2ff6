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

// alertRow is a row of alerts.
type alertRow struct {
	ID             uuid.UUID
	Kind           booking.TroubleKind
	Subject        string
	Level          booking.AlertLevel
	Detail         string
	Count          int
	Since          stamp
	OpenedAt       stamp
	GoneAt         *stamp
	ClosedAt       *stamp
	Returns        int
	AcknowledgedBy *booking.Actor
	AcknowledgedAt *stamp
}

func (alertRow) TableName() string { return "alerts" }

func alertFromDomain(a *booking.Alert) alertRow {
	r := alertRow{
		ID: a.ID, Kind: a.Kind, Subject: a.Subject, Level: a.Level, Detail: storable(a.Detail), Count: a.Count, Since: at(a.Since),
		OpenedAt: at(a.OpenedAt), GoneAt: atPtr(a.GoneAt), ClosedAt: atPtr(a.ClosedAt), Returns: a.Returns, AcknowledgedAt: atPtr(a.AcknowledgedAt),
	}
	if a.AcknowledgedBy != "" {
		r.AcknowledgedBy = &a.AcknowledgedBy
	}
	return r
}

func (r alertRow) toDomain() booking.Alert {
	a := booking.Alert{
		ID: r.ID, Kind: r.Kind, Subject: r.Subject, Level: r.Level, Detail: r.Detail, Count: r.Count, Since: r.Since.t,
		OpenedAt: r.OpenedAt.t, GoneAt: r.GoneAt.ptr(), ClosedAt: r.ClosedAt.ptr(), Returns: r.Returns, AcknowledgedAt: r.AcknowledgedAt.ptr(),
	}
	if r.AcknowledgedBy != nil {
		a.AcknowledgedBy = *r.AcknowledgedBy
	}
	return a
}

// recipientRow is a row of alert_recipients.
type recipientRow struct {
	ID        uuid.UUID
	Channel   booking.AlertChannel
	Address   []byte // sealed
	Label     string
	Least     booking.AlertLevel
	Language  string
	CreatedBy booking.Actor
	CreatedAt stamp
	RemovedAt *stamp
}

func (recipientRow) TableName() string { return "alert_recipients" }

func (r recipientRow) toDomain() booking.AlertRecipient {
	return booking.AlertRecipient{
		ID: r.ID, Channel: r.Channel, Label: r.Label, Least: r.Least, Language: r.Language, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt.t,
	}
}

func recipientContext(id uuid.UUID) string { return "alert_recipients.address:" + id.String() }

const openAlerts = "closed_at IS NULL"

// FollowAlerts writes what became of the alerts, now that these are the troubles, and
// asks for telling whom it concerns, in one transaction. Of two processes that do so
// at once one fails on what both began: the database has one open alert of a trouble.
func (s *Store) FollowAlerts(ctx context.Context, troubles []booking.Trouble, now time.Time) ([]booking.AlertStep, error) {
	var steps []booking.AlertStep
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		var rows []alertRow
		if err := tx.Where(openAlerts).Find(&rows).Error; err != nil {
			return err
		}
		var over []alertRow
		if err := tx.Where("closed_at > ?", at(now.Add(-booking.ReturnsWithin))).Find(&over).Error; err != nil {
			return err
		}
		told, err := recipients(tx)
		if err != nil {
			return err
		}
		steps = booking.StepAlerts(rowsOf(append(rows, over...), alertRow.toDomain), troubles, now)
		for _, step := range steps {
			if err := s.follow(tx, step, told, now); err != nil {
				return err
			}
		}
		return nil
	})
	return steps, err
}

// writeAlert tells whether there was something to write: somebody else may have been
// first.
func writeAlert(tx *gorm.DB, step booking.AlertStep) (bool, error) {
	row := alertFromDomain(&step.Alert)
	columns, stands := []string{"level", "detail", "count", "since", "gone_at", "closed_at", "returns"}, openAlerts
	switch step.Event {
	case booking.AlertOpened:
		return true, tx.Create(&row).Error
	case booking.AlertReturned:
		columns, stands = append(columns, "acknowledged_by", "acknowledged_at"), "closed_at IS NOT NULL"
	case booking.AlertWorse, booking.AlertRecovered:
	}
	res := tx.Select(columns).Where(stands).Updates(&row)
	return res.RowsAffected > 0, res.Error
}

func (s *Store) follow(tx *gorm.DB, step booking.AlertStep, recipients []booking.AlertRecipient, now time.Time) error {
	a := step.Alert
	written, err := writeAlert(tx, step)
	if err != nil || !written || step.Event == "" {
		return err
	}
	if err := s.askConnectionWebhooks(tx, step, now); err != nil {
		return err
	}
	when := now
	if a.GoneAt != nil {
		when = *a.GoneAt // it is over since then, and not since nobody waits any more
	}
	hears := func(r booking.AlertRecipient) bool { return r.Hears(step) }
	if step.Event == booking.AlertRecovered {
		var told []string
		if err := tx.Table("effects").Where("action IN ?", a.ToldBefore()).Pluck("target", &told).Error; err != nil {
			return err
		}
		hears = func(r booking.AlertRecipient) bool { return slices.Contains(told, r.ID.String()) }
	}
	var effects []booking.Effect
	for _, r := range recipients {
		if !hears(r) {
			continue
		}
		payload, err := json.Marshal(booking.Notice{
			AlertID: a.ID, Recipient: r.ID, Event: step.Event, Level: a.Level, Count: a.Count, Detail: a.Detail, At: when,
		})
		if err != nil {
			return fmt.Errorf("store: a notice: %w", err)
		}
		effects = append(effects, booking.Effect{
			ID: uuid.NewSHA1(a.Told(step.Event), r.ID[:]), Action: a.Told(step.Event), Kind: r.Channel.Effect(),
			Lane: booking.Lane{Target: r.ID.String()}, Actor: booking.ActorSystem, CreatedAt: now, Payload: payload,
		})
	}
	if len(effects) == 0 {
		return nil
	}
	return s.askFor(tx, effects...)
}

// Alerts are those that last, the worst first, or those that are over, the newest
// first.
func (s *Store) Alerts(ctx context.Context, over bool, limit int) ([]booking.Alert, error) {
	q := s.reader(ctx).Order("opened_at DESC, id DESC").Limit(limit)
	if over {
		q = q.Where("closed_at IS NOT NULL")
	} else {
		q = q.Where(openAlerts)
	}
	var rows []alertRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	out := rowsOf(rows, alertRow.toDomain)
	if !over {
		booking.WorstFirst(out)
	}
	return out, nil
}

// UnseenAlerts counts those about which something is wrong now and that nobody sees to.
func (s *Store) UnseenAlerts(ctx context.Context) (int, error) {
	var n int64
	err := s.reader(ctx).Table("alerts").Where(openAlerts + " AND gone_at IS NULL AND acknowledged_by IS NULL").Count(&n).Error
	return int(n), classify(err)
}

// Alert is one of them, or booking.ErrNotFound.
func (s *Store) Alert(ctx context.Context, id uuid.UUID) (booking.Alert, error) {
	var rows []alertRow
	if err := s.reader(ctx).Where("id = ?", id).Find(&rows).Error; err != nil {
		return booking.Alert{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.Alert{}, booking.ErrNotFound
	}
	return rows[0].toDomain(), nil
}

// AcknowledgeAlert notes who sees to an alert. The first counts; one that is over is
// booking.ErrNotFound.
func (s *Store) AcknowledgeAlert(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		res := tx.Table("alerts").Where("id = ? AND "+openAlerts+" AND acknowledged_by IS NULL", id).
			Updates(map[string]any{"acknowledged_by": by.Actor, "acknowledged_at": at(now)})
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			var there int64
			if err := tx.Table("alerts").Where("id = ? AND "+openAlerts, id).Count(&there).Error; err != nil {
				return err
			}
			if there == 0 {
				return booking.ErrNotFound
			}
			return nil
		}
		return appendAdminLog(tx, access.Entry{
			At: now, Actor: by.Actor, Remote: by.Remote, Action: access.DidAcknowledge, Subject: "alert:" + id.String(),
		})
	})
}

// AddRecipient keeps who is told of alerts, with its address sealed.
func (s *Store) AddRecipient(ctx context.Context, r booking.AlertRecipient, by access.By) error {
	row := recipientRow{
		ID: r.ID, Channel: r.Channel, Address: s.vault.Seal([]byte(r.Address), recipientContext(r.ID)), Label: storable(r.Label),
		Least: r.Least, Language: r.Language, CreatedBy: by.Actor, CreatedAt: at(r.CreatedAt),
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := narrow(tx, "alert_recipient_resources", "recipient_id", r.ID, r.Resources); err != nil {
			return err
		}
		return appendAdminLog(tx, access.Entry{
			At: r.CreatedAt, Actor: by.Actor, Remote: by.Remote, Action: access.DidAddRecipient, Subject: "recipient:" + r.ID.String(),
			Detail: access.Facts{"name": r.Label},
		})
	})
}

// recipients are who is told of alerts. Of a resource that was merged into another they
// hear of the other: its bookings are there.
func recipients(tx *gorm.DB) ([]booking.AlertRecipient, error) {
	var rows []recipientRow
	if err := tx.Where("removed_at IS NULL").Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, err
	}
	resources, err := narrowed(tx, "alert_recipient_resources", "recipient_id", "")
	if err != nil {
		return nil, err
	}
	out := rowsOf(rows, recipientRow.toDomain)
	for i := range out {
		out[i].Resources = resources[out[i].ID]
	}
	return out, nil
}

// RemoveRecipient has nobody told there any more, not even of what is queued.
func (s *Store) RemoveRecipient(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// The address is of no use any more.
		res := tx.Table("alert_recipients").Where("id = ? AND removed_at IS NULL", id).Updates(map[string]any{"removed_at": at(now), "address": []byte{}})
		if err := oneRow(res, booking.ErrNotFound); err != nil {
			return err
		}
		return appendAdminLog(tx, access.Entry{
			At: now, Actor: by.Actor, Remote: by.Remote, Action: access.DidRemoveRecipient, Subject: "recipient:" + id.String(),
		})
	})
}

// Recipients are who is told of alerts, without their addresses.
func (s *Store) Recipients(ctx context.Context) ([]booking.AlertRecipient, error) {
	out, err := recipients(s.reader(ctx))
	return out, classify(err)
}

// Recipient is one with its address, or booking.ErrNotFound.
func (s *Store) Recipient(ctx context.Context, id uuid.UUID) (booking.AlertRecipient, error) {
	var rows []recipientRow
	if err := s.reader(ctx).Where("id = ? AND removed_at IS NULL", id).Find(&rows).Error; err != nil {
		return booking.AlertRecipient{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.AlertRecipient{}, booking.ErrNotFound
	}
	r := rows[0].toDomain()
	address, err := s.vault.Open(rows[0].Address, recipientContext(id))
	if err != nil {
		return r, fmt.Errorf("store: the address of recipient %s: %w", id, err)
	}
	r.Address = string(address)
	return r, nil
}
