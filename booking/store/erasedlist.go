package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/libtnb/sqlite"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// erasedRow is a row of erased_people.
type erasedRow struct {
	Key      string
	Kind     booking.ErasedKind
	ErasedAt stamp
}

func (erasedRow) TableName() string { return "erased_people" }

func (r erasedRow) toDomain() booking.ErasedKey {
	return booking.ErasedKey{Kind: r.Kind, Key: r.Key, ErasedAt: r.ErasedAt.t}
}

// ErasedPeople are all who were erased, oldest first.
func (s *Store) ErasedPeople(ctx context.Context, now time.Time) (booking.ErasedList, error) {
	pepper, err := s.Installation(ctx, now)
	if err != nil {
		return booking.ErasedList{}, err
	}
	var rows []erasedRow
	if err := s.reader(ctx).Order("erased_at, key").Find(&rows).Error; err != nil {
		return booking.ErasedList{}, classify(err)
	}
	return booking.ErasedList{Installation: vault.PepperName(pepper), People: rowsOf(rows, erasedRow.toDomain)}, nil
}

// EraseAgain erases who stands in a list of this installation's, as Erase does: what a
// restored database has of people who were erased since its backup. Who is a host now
// is left out and counted. A list of another installation is a *booking.ConflictError:
// nobody would be found by it.
func (s *Store) EraseAgain(ctx context.Context, list booking.ErasedList, by access.By, now time.Time, dry bool) (booking.Erasure, error) {
	e, err := s.newErasure(ctx, now, dry)
	if err != nil {
		return booking.Erasure{}, err
	}
	if list.Installation != vault.PepperName(e.pepper) {
		return e.out, &booking.ConflictError{Code: "other_installation", Detail: "this list is another installation's: its keys say nothing about the people here"}
	}
	for _, p := range list.People {
		switch p.Kind {
		case booking.ErasedEmail:
			e.emails[p.Key] = true
		case booking.ErasedPhone:
			e.phones[p.Key] = true
		default:
			return e.out, &booking.InvalidError{Field: "kind", Detail: "is email or phone"}
		}
	}
	if err := e.leaveHosts(ctx); err != nil {
		return e.out, err
	}
	if len(e.emails)+len(e.phones) == 0 {
		return e.out, nil
	}
	return e.out, e.do(ctx, by, now)
}

// leaveHosts takes hosts out: bookings are told apart by their e-mails.
func (e *erasure) leaveHosts(ctx context.Context) error {
	var hosts []struct{ Email, ExternalID string }
	if err := e.reader(ctx).Table("identities").Select("coalesce(email, '') AS email, external_id").Find(&hosts).Error; err != nil {
		return classify(err)
	}
	for _, h := range hosts {
		for _, name := range []string{h.Email, h.ExternalID} {
			if key := vault.EmailKey(e.pepper, name); e.emails[key] {
				delete(e.emails, key)
				e.out.Hosts++
			}
		}
	}
	return nil
}

// ErasedIn are those who were erased in an embedded database that nobody has open. It
// changes nothing.
func ErasedIn(ctx context.Context, file string, v *vault.Vault) (list booking.ErasedList, err error) {
	db, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=ro&immutable=1&_timezone=UTC&_txlock=deferred")
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	d := &Diagnosis{db: db, address: address{dialect: migrations.SQLite, path: file}}
	if found, err := d.has(ctx, "erased_people"); err != nil || !found {
		return list, err // of before people could be erased
	}
	var sealed []byte
	if err := d.one(ctx, "SELECT pepper FROM installation WHERE id = 1", &sealed); err != nil {
		return list, err
	}
	pepper, err := v.Open(sealed, pepperContext)
	if err != nil {
		return list, err
	}
	list.Installation = vault.PepperName(pepper)
	rows, err := db.QueryContext(ctx, "SELECT key, kind, erased_at FROM erased_people ORDER BY erased_at, key")
	if err != nil {
		return list, err
	}
	defer rows.Close()
	for rows.Next() {
		var r erasedRow
		if err := rows.Scan(&r.Key, &r.Kind, &r.ErasedAt); err != nil {
			return list, fmt.Errorf("store: %s: %w", file, err)
		}
		list.People = append(list.People, r.toDomain())
	}
	return list, rows.Err()
}
