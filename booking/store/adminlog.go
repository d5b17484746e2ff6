package store

import (
	"gorm.io/gorm"

	"slotkeeper/booking/access"
)

// adminLogRow has no seq: the database gives it.
type adminLogRow struct {
	At      stamp
	Actor   string
	Action  string
	Subject string
	Detail  document[map[string]string]
	Remote  string
}

func (adminLogRow) TableName() string { return "admin_log" }

// appendAdminLog writes the entry in the transaction of what it tells of.
func appendAdminLog(tx *gorm.DB, e access.Entry) error {
	detail := map[string]string{}
	for name, value := range e.Detail {
		detail[name] = storable(value)
	}
	return tx.Create(&adminLogRow{
		At: at(e.At), Actor: string(e.Actor), Action: e.Action, Subject: storable(e.Subject),
		Detail: document[map[string]string]{detail}, Remote: storable(e.Remote),
	}).Error
}
