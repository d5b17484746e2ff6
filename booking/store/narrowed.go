package store

import (
	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// narrowed are the resources that what has a table of them is narrowed to. Of one
// that was merged into another, the other: its bookings are there.
func narrowed(tx *gorm.DB, table, owner, where string, values ...any) (map[uuid.UUID][]uuid.UUID, error) {
	var rows []struct{ Owner, ResourceID uuid.UUID }
	err := tx.Raw(`WITH RECURSIVE named (owner, resource_id) AS (
			SELECT `+owner+`, resource_id FROM `+table+` `+where+`
			UNION
			SELECT n.owner, r.merged_into FROM named n JOIN resources r ON r.id = n.resource_id WHERE r.merged_into IS NOT NULL)
		SELECT n.owner, n.resource_id FROM named n JOIN resources r ON r.id = n.resource_id
		WHERE r.merged_into IS NULL ORDER BY n.resource_id`, values...).Scan(&rows).Error
	out := map[uuid.UUID][]uuid.UUID{}
	for _, r := range rows {
		out[r.Owner] = append(out[r.Owner], r.ResourceID)
	}
	return out, classify(err)
}

// narrow writes what something is narrowed to. A resource that is not there is
// booking.ErrNotFound.
func narrow(tx *gorm.DB, table, owner string, id uuid.UUID, resources []uuid.UUID) error {
	resources = distinctIDs(resources)
	if len(resources) == 0 {
		return nil
	}
	var known int64
	if err := tx.Table("resources").Where("id IN ?", resources).Count(&known).Error; err != nil {
		return err
	}
	if int(known) != len(resources) {
		return booking.ErrNotFound
	}
	rows := make([]map[string]any, len(resources))
	for i, r := range resources {
		rows[i] = map[string]any{owner: id, "resource_id": r}
	}
	return tx.Table(table).Create(&rows).Error
}
