package store

import (
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// A holder of a run or a replay commits what he does without waiting for the disk, and
// goes on behind it. Where the database crashes and is back before he asks it for
// anything, he would never hear of it, and keep a place behind what is lost. So a hold
// does not outlast a crash: it needs a row of holders, which PostgreSQL empties then.

// standing is the condition of a hold that no crash has ended, in statements about the
// table.
func standing(table string) string {
	return "EXISTS (SELECT 1 FROM holders WHERE holders.held = " + table + ".id AND holders.holder = " + table + ".claimed_by)"
}

// claim gives a row of the table to who asks, unless it has ended or another holds it.
func claim(tx *gorm.DB, d migrations.Dialect, table string, id uuid.UUID, now time.Time, h booking.Hold) (bool, error) {
	if d == migrations.Postgres {
		// Whoever waits for another's claim must see that one's row of holders, too.
		if err := tx.Exec("SELECT 1 FROM "+table+" WHERE id = ? FOR UPDATE", id).Error; err != nil {
			return false, err
		}
	}
	res := tx.Table(table).
		Where("id = ? AND status = 'running' AND (claimed_until IS NULL OR claimed_until < ? OR NOT "+standing(table)+")", id, at(now)).
		Updates(map[string]any{"claimed_by": h.By, "claimed_until": at(h.Until)})
	if res.Error != nil || res.RowsAffected == 0 {
		return false, res.Error
	}
	return true, tx.Exec("INSERT INTO holders (held, holder) VALUES (?, ?) ON CONFLICT (held) DO UPDATE SET holder = excluded.holder", id, h.By).Error
}

// held narrows an update of the table to what its holder holds.
func held(tx *gorm.DB, table string, id, by uuid.UUID) *gorm.DB {
	return tx.Table(table).Where("id = ? AND status = 'running' AND claimed_by = ? AND "+standing(table), id, by)
}

// letGo forgets who held what is given back or stopped.
func letGo(tx *gorm.DB, id uuid.UUID) error {
	return tx.Exec("DELETE FROM holders WHERE held = ?", id).Error
}
