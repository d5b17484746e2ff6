package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// erasure is one under way.
type erasure struct {
	*Store
	people
	dry bool
	out booking.Erasure
	// entry says what is done, and on whose word.
	entry    access.Entry
	run      uuid.UUID
	bookings []erasedBooking
	names    []string
	numbers  people
}

type erasedBooking struct {
	ID              uuid.UUID
	SessionID       *uuid.UUID
	InviteeName     string
	InviteeEmail    string
	InviteePhone    string
	InviteeTimezone string
	Title           string
	Location        string
}

// done tells whether nothing of a person is left in it.
func (b erasedBooking) done(pepper []byte) bool {
	return b.InviteeName == "" && b.InviteePhone == "" && b.InviteeTimezone == "" && b.Title == "" && b.Location == "" &&
		b.InviteeEmail == vault.ErasedEmail(vault.EmailKey(pepper, b.InviteeEmail))
}

// Erase removes a person from everything that can be changed: bookings, what is
// kept of seats, bodies, snapshots, what waits, and payloads. Their HMACs stay, so
// that whatever comes about them later is kept without them, and so do event keys:
// a copy is still known. The audit log names nobody and is not touched. With dry it
// only counts. It may be called again, and goes on where it was cut off.
func (s *Store) Erase(ctx context.Context, who booking.Whom, by access.By, now time.Time, dry bool) (booking.Erasure, error) {
	if err := who.Check(); err != nil {
		return booking.Erasure{}, err
	}
	e, err := s.newErasure(ctx, by, now, dry)
	if err != nil {
		return booking.Erasure{}, err
	}
	e.entry.Action = access.DidErase
	if key := vault.EmailKey(e.pepper, who.Email); key != "" {
		e.emails[key] = true
	}
	if key := vault.PhoneKey(e.pepper, who.Phone); key != "" {
		e.phones[key] = true
	}
	if err := e.noHost(ctx, who.Email); err != nil {
		return e.out, err
	}
	return e.out, e.do(ctx, now)
}

func (s *Store) newErasure(ctx context.Context, by access.By, now time.Time, dry bool) (*erasure, error) {
	pepper, err := s.Installation(ctx, now)
	if err != nil {
		return nil, err
	}
	return &erasure{
		Store: s, dry: dry, run: uuid.New(), people: people{pepper: pepper, emails: map[string]bool{}, phones: map[string]bool{}},
		entry: access.Entry{At: now, Actor: by.Actor, Remote: by.Remote, Detail: access.Facts{}},
	}, nil
}

// do erases whom the keys stand for.
func (e *erasure) do(ctx context.Context, now time.Time) error {
	for _, step := range []func(context.Context) error{
		e.find, // the e-mails that a number leads to
		func(ctx context.Context) error { return e.begin(ctx, now) },
		e.find, // what came in between
		e.eraseBookings, e.eraseAttendances, e.eraseReceipts, e.eraseForms, e.eraseEffects,
		func(ctx context.Context) error { return e.end(ctx, now) },
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("store: erase: %w", classify(err))
		}
	}
	return nil
}

// noHost refuses hosts: what is booked is found by their e-mails.
func (e *erasure) noHost(ctx context.Context, email string) error {
	if email == "" {
		return nil
	}
	var n int64
	err := e.reader(ctx).Table("identities").Where("email = ? OR external_id = ?", booking.NormalizeEmail(email), booking.NormalizeEmail(email)).Count(&n).Error
	if err == nil && n > 0 {
		return &booking.ConflictError{Code: "host_email", Detail: "this e-mail is a host's: bookings are told apart by it. Disconnect the host's account at the provider first; hosts are not erased"}
	}
	return classify(err)
}

// find looks through all bookings: spelling is not the database's to judge.
func (e *erasure) find(ctx context.Context) error {
	e.bookings, e.names, e.numbers = nil, nil, people{pepper: e.pepper, phones: map[string]bool{}}
	left := 0
	var last uuid.UUID
	for {
		var rows []erasedBooking
		err := e.reader(ctx).Table("bookings").Select("id, session_id, invitee_name, invitee_email, invitee_phone, invitee_timezone, title, location").
			Where("id > ?", last).Order("id").Limit(retentionBatch).Find(&rows).Error
		if err != nil {
			return err
		}
		for _, r := range rows {
			if !e.email(r.InviteeEmail) && !e.phone(r.InviteePhone) {
				continue
			}
			if key := vault.EmailKey(e.pepper, r.InviteeEmail); key != "" {
				e.emails[key] = true
			}
			e.bookings = append(e.bookings, r)
			if !r.done(e.pepper) {
				left++
			}
			if key := vault.PhoneKey(e.pepper, r.InviteePhone); key != "" {
				e.numbers.phones[key] = true
			}
			if len([]rune(r.InviteeName)) > 2 {
				e.names = append(e.names, r.InviteeName)
			}
		}
		if len(rows) < retentionBatch {
			e.out.Bookings, e.out.Emails = int64(left), int64(len(e.emails))
			slices.Sort(e.names)
			e.names = slices.Compact(e.names)
			return nil
		}
		last = rows[len(rows)-1].ID
	}
}

// begin makes it known whom nothing is to be kept of from now on.
func (e *erasure) begin(ctx context.Context, now time.Time) error {
	if e.dry {
		return nil
	}
	return e.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE ledger SET erased = erased + 1 WHERE id = 1").Error; err != nil {
			return err
		}
		for kind, keys := range map[booking.ErasedKind]map[string]bool{booking.ErasedEmail: e.emails, booking.ErasedPhone: e.phones} {
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				row := erasedRow{Key: key, Kind: kind, ErasedAt: at(now)}
				if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
					return err
				}
			}
		}
		return tx.Create(&retentionRow{ID: e.run, Kind: runErase, Cutoff: at(now), StartedAt: at(now)}).Error
	})
}

// nobody is what stands where a person stood.
func (e *erasure) nobody(email string) map[string]any {
	return map[string]any{
		"invitee_name": "", "invitee_email": vault.ErasedEmail(vault.EmailKey(e.pepper, email)), "invitee_phone": "", "invitee_timezone": "",
		"title": "", "location": "",
	}
}

func (e *erasure) eraseBookings(ctx context.Context) error {
	if e.dry {
		return nil
	}
	for part := range slices.Chunk(e.bookings, rekeyBatch) {
		err := e.openRun(ctx, e.run, func(tx *gorm.DB) (map[string]int64, error) {
			for _, b := range part {
				if err := tx.Table("bookings").Where("id = ?", b.ID).Updates(e.nobody(b.InviteeEmail)).Error; err != nil {
					return nil, err
				}
				if b.SessionID == nil {
					continue
				}
				if err := e.eraseFromOthers(tx, *b.SessionID); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseFromOthers looks at the others of a meeting: its title or its place may be of
// one of its people.
func (e *erasure) eraseFromOthers(tx *gorm.DB, session uuid.UUID) error {
	var others []struct {
		ID              uuid.UUID
		Title, Location string
	}
	if err := tx.Table("bookings").Where("session_id = ?", session).Select("id, title, location").Find(&others).Error; err != nil {
		return err
	}
	for _, o := range others {
		set := e.texts(o.Title, o.Location)
		if len(set) == 0 {
			continue
		}
		if err := tx.Table("bookings").Where("id = ?", o.ID).Updates(set).Error; err != nil {
			return err
		}
	}
	return nil
}

// texts are those of a title and a place that tell of the person, emptied.
func (e *erasure) texts(title, location string) map[string]any {
	set := map[string]any{}
	for column, text := range map[string]string{"title": title, "location": location} {
		if e.named(text) || e.in([]byte(text)) || e.calledIn(text) {
			set[column] = ""
		}
	}
	return set
}

func (e *erasure) eraseAttendances(ctx context.Context) error {
	type seat struct {
		ExternalID, Key, Provider, APIBase string
		InviteeEmail, InviteePhone         string
		InviteeName, InviteeTimezone       string
		Title, Location                    string
	}
	var found []seat
	last := seat{}
	for {
		var rows []seat
		err := e.reader(ctx).Table("attendances").Select("external_id, key, provider, api_base, invitee_email, invitee_phone, invitee_name, invitee_timezone, title, location").
			Where("(external_id, key, provider, api_base) > (?, ?, ?, ?)", last.ExternalID, last.Key, last.Provider, last.APIBase).
			Order("external_id, key, provider, api_base").Limit(retentionBatch).Find(&rows).Error
		if err != nil {
			return err
		}
		for _, r := range rows {
			own := e.emails[r.Key] || e.email(r.InviteeEmail) || e.phone(r.InviteePhone)
			done := erasedBooking{
				InviteeName: r.InviteeName, InviteeEmail: r.InviteeEmail, InviteePhone: r.InviteePhone, InviteeTimezone: r.InviteeTimezone, Title: r.Title, Location: r.Location,
			}.done(e.pepper)
			if own && !done || len(e.texts(r.Title, r.Location)) > 0 {
				found = append(found, r)
			}
		}
		if len(rows) < retentionBatch {
			break
		}
		last = rows[len(rows)-1]
	}
	e.out.Attendances = int64(len(found))
	if e.dry {
		return nil
	}
	for part := range slices.Chunk(found, rekeyBatch) {
		err := e.openRun(ctx, e.run, func(tx *gorm.DB) (map[string]int64, error) {
			for _, r := range part {
				set := e.nobody(r.InviteeEmail)
				if !e.emails[r.Key] && !e.email(r.InviteeEmail) && !e.phone(r.InviteePhone) {
					set = e.texts(r.Title, r.Location) // another's
				}
				err := tx.Table("attendances").Where("external_id = ? AND key = ? AND provider = ? AND api_base = ?", r.ExternalID, r.Key, r.Provider, r.APIBase).Updates(set).Error
				if err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *erasure) named(title string) bool {
	return slices.ContainsFunc(e.names, func(name string) bool { return strings.Contains(strings.ToLower(title), strings.ToLower(name)) })
}

// calledIn tells whether a text has a number of one of the person's bookings in it.
// Of an e-mail, those are not erased elsewhere: a family may share one.
func (e *erasure) calledIn(text string) bool {
	return len(e.numbers.phones) > 0 && e.numbers.dialled([]byte(text))
}

// toldRow is what a receipt may tell of somebody.
type toldRow struct {
	ID           uuid.UUID
	RawBody      []byte
	Snapshot     []byte
	WaitingEvent []byte
}

// eraseReceipts reads every body: who is named in one need not have a booking.
func (e *erasure) eraseReceipts(ctx context.Context) error {
	var last uuid.UUID
	for {
		var rows []toldRow
		err := e.reader(ctx).Table("webhook_receipts").Select("id, raw_body, snapshot, waiting_event").
			Where("id > ? AND (raw_body IS NOT NULL OR snapshot IS NOT NULL OR waiting_event IS NOT NULL)", last).
			Order("id").Limit(rekeyBatch).Find(&rows).Error
		if err != nil {
			return err
		}
		var telling []toldRow
		for _, r := range rows {
			tells, err := e.tells(r)
			if err != nil {
				return err
			}
			if tells {
				telling = append(telling, r)
			}
		}
		e.out.Receipts += int64(len(telling))
		if err := e.eraseTold(ctx, telling); err != nil {
			return err
		}
		if len(rows) < rekeyBatch {
			return nil
		}
		last = rows[len(rows)-1].ID
	}
}

func (e *erasure) tells(r toldRow) (bool, error) {
	for _, sealed := range []struct {
		value   []byte
		context string
	}{{r.RawBody, bodyContext(r.ID)}, {r.Snapshot, snapshotContext(r.ID)}} {
		if sealed.value == nil {
			continue
		}
		plain, err := e.vault.Open(sealed.value, sealed.context)
		if err != nil {
			return false, fmt.Errorf("receipt %s: %w", r.ID, err)
		}
		if e.in(plain) {
			return true, nil
		}
	}
	if r.WaitingEvent == nil {
		return false, nil
	}
	before, after, err := e.waitingWithout(r)
	return e.in(before) && !bytes.Equal(before, after), err
}

func (e *erasure) eraseTold(ctx context.Context, telling []toldRow) error {
	if e.dry || len(telling) == 0 {
		return nil
	}
	return e.openRun(ctx, e.run, func(tx *gorm.DB) (map[string]int64, error) {
		for _, r := range telling {
			of := tx.Table("webhook_receipts").Where("id = ?", r.ID).Session(fresh)
			if err := of.Updates(map[string]any{"raw_body": nil, "snapshot": nil}).Error; err != nil {
				return nil, err
			}
			if r.WaitingEvent != nil {
				_, after, err := e.waitingWithout(r)
				if err != nil {
					return nil, err
				}
				sealed := e.vault.Seal(after, eventContext(r.ID))
				// What was applied meanwhile is not to wait again.
				if err := of.Where("waiting_event IS NOT NULL").Update("waiting_event", sealed).Error; err != nil {
					return nil, err
				}
			}
			// One that was still to be tried again has nothing left to be tried with.
			err := of.Where("status = 'failed' AND code = ?", booking.CodeApplyFailed).
				Updates(map[string]any{"code": booking.CodeBodyRetired, "error": "its body told of somebody who was erased"}).Error
			if err != nil {
				return nil, err
			}
		}
		return map[string]int64{"emptied": int64(len(telling))}, nil
	})
}

// waitingWithout is what waits of a receipt, with the person and without.
func (e *erasure) waitingWithout(r toldRow) (before, after []byte, err error) {
	if before, err = e.vault.Open(r.WaitingEvent, eventContext(r.ID)); err != nil {
		return nil, nil, fmt.Errorf("receipt %s: %w", r.ID, err)
	}
	var event *booking.Event
	if err := json.Unmarshal(before, &event); err != nil {
		return nil, nil, fmt.Errorf("receipt %s: what waits: %w", r.ID, err)
	}
	event, _ = e.without(event)
	after, err = json.Marshal(event)
	return before, after, err
}

// eraseEffects gives up what is still to be done about the person: a message to a
// provider may name anybody.
func (e *erasure) eraseEffects(ctx context.Context) error {
	ids := make([]uuid.UUID, len(e.bookings))
	for i, b := range e.bookings {
		ids[i] = b.ID
	}
	for part := range slices.Chunk(ids, rekeyBatch) {
		of := func(tx *gorm.DB) *gorm.DB {
			return tx.Table("effects").Where("booking_id IN ? AND payload IS NOT NULL", part)
		}
		var n int64
		if err := of(e.reader(ctx)).Count(&n).Error; err != nil {
			return err
		}
		e.out.Effects += n
		if e.dry || n == 0 {
			continue
		}
		err := e.inTx(ctx, func(tx *gorm.DB) error {
			err := of(tx).Where("status IN ('pending', 'failed')").
				Updates(map[string]any{"status": booking.EffectDead, "error": "given up: the person was erased", "claimed_until": nil}).Error
			if err != nil {
				return err
			}
			return of(tx).Update("payload", nil).Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *erasure) end(ctx context.Context, now time.Time) error {
	if e.dry {
		return nil
	}
	for name, n := range map[access.Fact]int64{
		"bookings": e.out.Bookings, "seats": e.out.Attendances, "receipts": e.out.Receipts, "effects": e.out.Effects, "forms": e.out.Forms,
	} {
		e.entry.Detail[name] = strconv.FormatInt(n, 10)
	}
	err := e.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE retention_runs SET finished_at = ? WHERE id = ?", at(now), e.run).Error; err != nil {
			return err
		}
		return appendAdminLog(tx, e.entry)
	})
	if err != nil {
		return err
	}
	return e.compact(ctx)
}

// vacuum writes the file anew by way of another of its size, which is no thing for the
// memory: the other is where SQLite looks for a place, see SQLITE_TMPDIR in the image.
func vacuum(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "PRAGMA temp_store = FILE"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "VACUUM")
	_, back := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store = MEMORY")
	return errors.Join(err, back)
}

// compact has SQLite write its file anew: what was overwritten stays in it and in
// its log otherwise. PostgreSQL's autovacuum does so by itself, in time.
func (s *Store) compact(ctx context.Context) error {
	if s.dialect == migrations.Postgres {
		return nil
	}
	db, err := s.write.DB()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // only gives it back
	if err := vacuum(ctx, conn); err != nil {
		return fmt.Errorf("%w: %w", booking.ErrTracesLeft, err)
	}
	var busy, pages, moved sql.NullInt64
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy.Int64 != 0 {
		return booking.ErrTracesLeft
	}
	return nil
}
