package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
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
	out := booking.ErasedList{Installation: vault.PepperName(pepper), People: rowsOf(rows, erasedRow.toDomain)}
	var deeds []erasedDeed
	err = s.reader(ctx).Table("admin_log").Select("at, actor, detail").Where("action IN ?", erasing()).Find(&deeds).Error
	if err != nil {
		return booking.ErasedList{}, classify(err)
	}
	onWhoseWord(out.People, deeds)
	return out, nil
}

// erasing are the actions of entries that tell of an erasure.
func erasing() []string { return []string{access.DidErase, access.DidEraseAgain} }

// erasedDeed is what the admin log says of an erasure. What was erased by it has its
// time.
type erasedDeed struct {
	At     stamp
	Actor  booking.Actor
	Detail document[access.Facts]
}

// onWhoseWord says of erased people who had it done at first: of those who were erased
// again, whom the entry of that names.
func onWhoseWord(people []booking.ErasedKey, deeds []erasedDeed) {
	by := map[int64][]booking.Actor{}
	for _, d := range deeds {
		actors := []booking.Actor{d.Actor}
		if first := strings.Fields(d.Detail.v["first_by"]); len(first) > 0 {
			actors = nil
			for _, a := range first {
				actors = append(actors, booking.Actor(a))
			}
		}
		by[d.At.t.UnixMicro()] = actors
	}
	for i, p := range people {
		people[i].By = by[p.ErasedAt.UnixMicro()]
	}
}

// EraseAgain erases who stands in a list of this installation's, as Erase does: what a
// restored database has of people who were erased since its backup. The entry says why,
// and on whose word it was done at first. Who is a host now is left out and counted. A
// list of another installation is a *booking.ConflictError: nobody would be found by it.
func (s *Store) EraseAgain(ctx context.Context, list booking.ErasedList, because string, by access.By, now time.Time, dry bool) (booking.Erasure, error) {
	e, err := s.newErasure(ctx, by, now, dry)
	if err != nil {
		return booking.Erasure{}, err
	}
	e.entry.Action, e.entry.Detail["because"] = access.DidEraseAgain, because
	if first := list.By(); len(first) > 0 {
		e.entry.Detail["first_by"] = strings.Join(first, " ")
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
	return e.out, e.do(ctx, now)
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
	if err := rows.Err(); err != nil {
		return list, err
	}
	deeds, err := erasedDeeds(ctx, db)
	if err != nil {
		return list, fmt.Errorf("store: %s: %w", file, err)
	}
	onWhoseWord(list.People, deeds)
	return list, nil
}

func erasedDeeds(ctx context.Context, db *sql.DB) ([]erasedDeed, error) {
	rows, err := db.QueryContext(ctx, "SELECT at, actor, detail FROM admin_log WHERE action IN (?, ?)", access.DidErase, access.DidEraseAgain)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []erasedDeed
	for rows.Next() {
		var d erasedDeed
		if err := rows.Scan(&d.At, &d.Actor, &d.Detail); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}
