package store

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// adminLogRow has no seq: the database gives it.
type adminLogRow struct {
	At      stamp
	Actor   string
	Action  string
	Subject string
	Detail  document[access.Facts]
	Remote  string
}

func (adminLogRow) TableName() string { return "admin_log" }

// appendAdminLog writes the entry in the transaction of what it tells of.
func appendAdminLog(tx *gorm.DB, e access.Entry) error {
	detail := access.Facts{}
	for name, value := range e.Detail {
		detail[name] = storable(value)
	}
	return tx.Create(&adminLogRow{
		At: at(e.At), Actor: string(e.Actor), Action: e.Action, Subject: storable(e.Subject),
		Detail: document[access.Facts]{detail}, Remote: storable(e.Remote),
	}).Error
}

// loggedRow is an entry as it is read.
type loggedRow struct {
	Seq int64
	Row adminLogRow `gorm:"embedded"`
}

func (r *loggedRow) toDomain() access.LoggedEntry {
	return access.LoggedEntry{Seq: r.Seq, Entry: access.Entry{
		At: r.Row.At.t, Actor: booking.Actor(r.Row.Actor), Action: r.Row.Action, Subject: r.Row.Subject, Detail: r.Row.Detail.v, Remote: r.Row.Remote,
	}}
}

const listAdminLog = "admin_log"

// AdminLog lists what people and commands did, newest first.
func (s *Store) AdminLog(ctx context.Context, f access.EntryFilter, p booking.Page) (booking.List[access.LoggedEntry], error) {
	var none booking.List[access.LoggedEntry]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readPlace(p, listAdminLog)
	if err != nil {
		return none, err
	}
	q := s.reader(ctx).Table("admin_log").Order("at DESC, seq DESC").Limit(limit + 1)
	if f.From != nil {
		q = q.Where("at >= ?", at(*f.From))
	}
	if f.To != nil {
		q = q.Where("at < ?", at(*f.To))
	}
	if f.Actor != "" {
		q = q.Where("actor = ?", storable(string(f.Actor)))
	}
	if f.Action != "" {
		q = q.Where("action = ?", storable(f.Action))
	}
	if after != nil {
		q = q.Where("(at, seq) < (?, ?)", at(after.at), after.seq)
	}
	var rows []loggedRow
	if err := q.Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	return pageOf(rows, limit, func(r loggedRow) access.LoggedEntry { return r.toDomain() },
		func(r loggedRow) string { return place{r.Row.At.t, r.Seq}.cursor(listAdminLog) }), nil
}

// Actors names the users and tokens that may have done something, those too that
// may no more.
func (s *Store) Actors(ctx context.Context) (map[booking.Actor]string, error) {
	out := map[booking.Actor]string{}
	for kind, table := range map[string]string{"user:": "users", "token:": "api_tokens"} {
		var rows []struct {
			ID   uuid.UUID
			Name string
		}
		if err := s.reader(ctx).Table(table).Select("id, name").Find(&rows).Error; err != nil {
			return nil, classify(err)
		}
		for _, r := range rows {
			out[booking.Actor(kind+r.ID.String())] = r.Name
		}
	}
	return out, nil
}
