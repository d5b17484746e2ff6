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

// formsRow is a row of booking_forms: a booking's intake forms and notes.
type formsRow struct {
	ID           uuid.UUID // the booking's
	ConnectionID uuid.UUID
	Forms        []byte // sealed
	ToldAt       stamp
}

func (formsRow) TableName() string { return "booking_forms" }

func formsContext(id uuid.UUID) string { return "booking_forms.forms:" + id.String() }

// keepingRow is a connection that has forms kept.
type keepingRow struct{ ID uuid.UUID }

func (keepingRow) TableName() string { return "connections" }

// formedRow is a booking that there is, and when its forms were told.
type formedRow struct {
	ID     uuid.UUID
	ToldAt *stamp
}

func (formedRow) TableName() string { return "bookings" }

// saveForms keeps the forms that a set tells of bookings that there are now. It asks
// under the ledger's lock whether their connections have them kept: what is told
// while somebody ends that is not kept.
func (s *Store) saveForms(tx *transaction, set []booking.Post) error {
	told := map[uuid.UUID]booking.Post{}
	var connections, bookings []uuid.UUID
	for _, p := range set {
		if p.Forms == nil || p.Event == nil {
			continue
		}
		id := booking.ID(p.Event.Source, p.Event.ExternalID, "")
		if before, again := told[id]; again && before.Event.At.After(p.Event.At) {
			continue
		}
		told[id] = p
		connections, bookings = append(connections, p.ConnectionID), append(bookings, id)
	}
	if len(told) == 0 {
		return nil
	}
	t := tx.trip()
	keeping := query[keepingRow](t, "SELECT id FROM connections WHERE keep_forms AND id = any(?)", distinctIDs(connections))
	known := query[formedRow](t, "SELECT b.id, f.told_at FROM bookings b LEFT JOIN booking_forms f ON f.id = b.id WHERE b.id = any(?)", distinctIDs(bookings))
	if err := t.make(); err != nil || len(*keeping) == 0 {
		return err
	}
	var rows []formsRow
	var none []uuid.UUID
	for _, b := range *known {
		p := told[b.ID]
		if !slices.Contains(*keeping, keepingRow{p.ConnectionID}) || b.ToldAt.time().After(p.Event.At) {
			continue
		}
		if p.Forms.Empty() {
			none = append(none, b.ID)
			continue
		}
		plain, err := json.Marshal(p.Forms)
		if err != nil {
			return fmt.Errorf("store: the forms of booking %s: %w", b.ID, err)
		}
		rows = append(rows, formsRow{ID: b.ID, ConnectionID: p.ConnectionID, Forms: s.vault.Seal(plain, formsContext(b.ID)), ToldAt: at(p.Event.At)})
	}
	save := tx.trip()
	insertRows(save, rows, "id")
	if len(none) > 0 {
		save.write(-1, "forget forms that are empty now", "DELETE FROM booking_forms WHERE id = any(?)", none)
	}
	return save.make()
}

// Forms are a booking's intake forms and notes, or booking.ErrNotFound: also when its
// connection has them kept no longer, and they are about to be removed.
func (s *Store) Forms(ctx context.Context, id uuid.UUID) (booking.KeptForms, error) {
	var none booking.KeptForms
	var rows []formsRow
	err := s.reader(ctx).Table("booking_forms f").Select("f.*").Joins("JOIN connections c ON c.id = f.connection_id AND c.keep_forms").
		Where("f.id = ?", id).Find(&rows).Error
	if err != nil {
		return none, classify(err)
	}
	if len(rows) == 0 {
		return none, booking.ErrNotFound
	}
	forms, err := s.openForms(rows[0])
	return booking.KeptForms{Forms: forms, ToldAt: rows[0].ToldAt.t}, err
}

func (s *Store) openForms(r formsRow) (booking.Forms, error) {
	var out booking.Forms
	plain, err := s.vault.Open(r.Forms, formsContext(r.ID))
	if err != nil {
		return out, fmt.Errorf("store: the forms of booking %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(plain, &out); err != nil {
		return out, fmt.Errorf("store: the forms of booking %s: %w", r.ID, err)
	}
	return out, nil
}

// KeepForms says whether the intake forms and notes of a connection's bookings are
// kept from now on. When they no longer are, those that were are removed at once, in
// batches with between called after each; what is left when that is cut off is shown
// to nobody, and the next run of retention removes it. It tells how many were removed.
// What is so already changes nothing and is not logged.
func (s *Store) KeepForms(ctx context.Context, connection uuid.UUID, keep bool, by access.By, now time.Time, between func(context.Context) error) (removed int64, err error) {
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		// Whoever applies a set has read that they are kept, or will read what is
		// written here.
		if err := standInLine(tx, s.dialect); err != nil {
			return err
		}
		var rows []struct {
			KeepForms      bool
			DisconnectedAt *stamp
			Name           string
		}
		if err := tx.Table("connections").Select("keep_forms, disconnected_at, name").Where("id = ?", connection).Find(&rows).Error; err != nil {
			return err
		}
		switch {
		case len(rows) == 0:
			return booking.ErrNotFound
		case keep && rows[0].DisconnectedAt != nil:
			return &booking.ConflictError{Code: "disconnected", Detail: "the connection is disconnected: connect it again first"}
		case rows[0].KeepForms == keep:
			return nil
		}
		if err := tx.Table("connections").Where("id = ?", connection).Update("keep_forms", keep).Error; err != nil {
			return err
		}
		did := access.DidKeepForms
		if !keep {
			did = access.DidDropForms
		}
		return appendAdminLog(tx, access.Entry{At: now, Actor: by.Actor, Remote: by.Remote, Action: did, Subject: "connection:" + connection.String()})
	})
	if err != nil || keep {
		return 0, classify(err)
	}
	return s.inBatches(ctx, between, func(tx *gorm.DB) (int64, error) {
		res := tx.Exec("DELETE FROM booking_forms WHERE id IN (SELECT id FROM booking_forms WHERE connection_id = ? LIMIT ?)", connection, retentionBatch)
		return res.RowsAffected, res.Error
	})
}

// forms removes those whose time is over, and those of connections that have them
// kept no longer.
func (r *retention) forms(ctx context.Context, keep time.Duration) error {
	err := r.remove(ctx, "forms", &r.row.Forms, `DELETE FROM booking_forms WHERE id IN (SELECT f.id FROM booking_forms f
		JOIN connections c ON c.id = f.connection_id AND NOT c.keep_forms LIMIT ?)`, retentionBatch)
	if err != nil || keep == 0 {
		return err
	}
	return r.remove(ctx, "forms", &r.row.Forms, `DELETE FROM booking_forms WHERE id IN (SELECT id FROM booking_forms WHERE told_at < ? LIMIT ?)`,
		r.row.Cutoff, retentionBatch)
}

// eraseForms removes the person's forms, and those of others that tell of the person.
func (e *erasure) eraseForms(ctx context.Context) error {
	own := map[uuid.UUID]bool{}
	for _, b := range e.bookings {
		own[b.ID] = true
	}
	var last uuid.UUID
	for {
		var rows []formsRow
		if err := e.reader(ctx).Where("id > ?", last).Order("id").Limit(rekeyBatch).Find(&rows).Error; err != nil {
			return err
		}
		var telling []uuid.UUID
		for _, r := range rows {
			forms, err := e.openForms(r)
			if err != nil {
				return err
			}
			if own[r.ID] || e.inForms(&forms) {
				telling = append(telling, r.ID)
			}
		}
		e.out.Forms += int64(len(telling))
		if !e.dry && len(telling) > 0 {
			if err := e.write.WithContext(ctx).Exec("DELETE FROM booking_forms WHERE id IN ?", telling).Error; err != nil {
				return err
			}
		}
		if len(rows) < rekeyBatch {
			return nil
		}
		last = rows[len(rows)-1].ID
	}
}
