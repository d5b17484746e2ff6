package store

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
)

// save writes what a set leaves, each table in few statements, in the order of
// their references.
func (s *Store) save(tx *gorm.DB, st *booking.State, ch booking.Changes, set []booking.Post, now time.Time) error {
	if err := saveResources(tx, ch); err != nil {
		return err
	}
	if err := s.saveReceipts(tx, ch, set, now); err != nil {
		return err
	}
	if err := saveSessions(tx, st, ch.Sessions); err != nil {
		return err
	}
	if err := upsert(tx, rowsOf(ch.Bookings, bookingFromDomain), "id"); err != nil {
		return err
	}
	if err := upsert(tx, rowsOf(ch.Attendances, attendanceFromDomain), "external_id", "key", "provider", "api_base"); err != nil {
		return err
	}
	if err := upsert(tx, rowsOf(ch.Links, bookingLinkFromDomain), "predecessor", "successor", "key", "provider", "api_base"); err != nil {
		return err
	}
	if err := saveSlots(tx, ch.Slots); err != nil {
		return err
	}
	return saveTransitions(tx, st.Ledger, ch)
}

func rowsOf[D, R any](in []D, f func(D) R) []R {
	out := make([]R, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

// maxRows is how many rows one statement writes: the widest has 27 columns, and
// SQLite takes 32,766 values.
const maxRows = 500

func insert[R any](tx *gorm.DB, rows []R) error {
	for part := range slices.Chunk(rows, maxRows) {
		if err := tx.Create(&part).Error; err != nil {
			return fmt.Errorf("store: insert %T: %w", *new(R), err)
		}
	}
	return nil
}

// upsert writes rows whole, whether or not they stand.
func upsert[R any](tx *gorm.DB, rows []R, key ...string) error {
	c := clause.OnConflict{UpdateAll: true}
	for _, k := range key {
		c.Columns = append(c.Columns, clause.Column{Name: k})
	}
	return insert(tx.Clauses(c).Session(fresh), rows)
}

func saveResources(tx *gorm.DB, ch booking.Changes) error {
	resources := rowsOf(ch.Resources, func(r booking.Resource) resourceRow { return resourceRow{ID: r.ID, Name: r.Name} })
	if err := upsert(tx, resources, "id"); err != nil {
		return err
	}
	return upsert(tx, rowsOf(ch.Identities, identityFromDomain), "external_id", "provider", "api_base")
}

func (s *Store) saveReceipts(tx *gorm.DB, ch booking.Changes, set []booking.Post, now time.Time) error {
	posts := make(map[uuid.UUID]booking.Post, len(set))
	for _, p := range set {
		posts[p.ReceiptID] = p
	}
	receipts := make([]receiptRow, 0, len(ch.Receipts))
	for _, r := range ch.Receipts {
		p, ok := posts[r.ID]
		if !ok {
			return fmt.Errorf("store: receipt %s belongs to no delivery of the set", r.ID)
		}
		row, err := s.receiptFromDomain(r, p, now)
		if err != nil {
			return err
		}
		receipts = append(receipts, row)
	}
	if err := insert(tx, receipts); err != nil {
		return err
	}
	if err := s.resolve(tx, ch.Resolved, posts, now); err != nil {
		return err
	}
	deliveries := make([]deliveryRow, 0, len(set))
	for i, p := range set {
		if !p.Settles { // nothing was delivered then
			deliveries = append(deliveries, deliveryFromDomain(p, ch.Answers[i]))
		}
	}
	if err := insert(tx, deliveries); err != nil {
		return err
	}
	return s.queue(tx, ch.Receipts)
}

// queue asks for the fetches of new receipts, in the same transaction.
func (s *Store) queue(tx *gorm.DB, receipts []booking.Receipt) error {
	var ids []uuid.UUID
	for _, r := range receipts {
		if r.Status == booking.StatusPending || (r.Status == booking.StatusFailed && r.Code == booking.CodeApplyFailed) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 || s.enqueue == nil {
		return nil
	}
	sqlTx, ok := tx.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return fmt.Errorf("store: a transaction is a %T", tx.Statement.ConnPool)
	}
	return s.enqueue(tx.Statement.Context, sqlTx, ids)
}

// resolve writes what became of receipts that were stored before: those that
// waited, with the same verdict in one statement, and those that the set settles.
func (s *Store) resolve(tx *gorm.DB, receipts []booking.Receipt, posts map[uuid.UUID]booking.Post, now time.Time) error {
	type verdict struct {
		status booking.ReceiptStatus
		reason booking.Reason
		code   string
		error  string
	}
	same := map[verdict][]uuid.UUID{}
	for _, r := range receipts {
		if p, ok := posts[r.ID]; ok && p.Settles {
			if err := s.settle(tx, r, p, now); err != nil {
				return err
			}
			continue
		}
		v := verdict{r.Status, r.Reason, r.Code, r.Error}
		same[v] = append(same[v], r.ID)
	}
	for v, ids := range same {
		for part := range slices.Chunk(ids, maxIn) {
			res := tx.Table("webhook_receipts").Where("id IN ? AND status = 'waiting'", part).Updates(map[string]any{
				"status": v.status, "reason": v.reason, "code": storable(v.code), "error": storable(v.error),
				"waiting_event": nil, "processed_at": processedAt(v.status, v.code, now),
			})
			if res.Error != nil {
				return fmt.Errorf("store: resolve what waited: %w", res.Error)
			}
			if res.RowsAffected != int64(len(part)) {
				return fmt.Errorf("store: %d of %d receipts waited", res.RowsAffected, len(part))
			}
		}
	}
	return nil
}

// settle writes what became of a receipt that was fetched for or tried again.
func (s *Store) settle(tx *gorm.DB, r booking.Receipt, p booking.Post, now time.Time) error {
	event, err := s.sealEvent(r)
	if err != nil {
		return err
	}
	set := map[string]any{
		"status": r.Status, "reason": r.Reason, "code": storable(r.Code), "error": storable(r.Error), "subject": storable(r.Subject),
		"waiting_event": event, "processed_at": processedAt(r.Status, r.Code, now),
	}
	if p.Snapshot != nil {
		set["snapshot"] = s.vault.Seal(p.Snapshot, snapshotContext(r.ID))
	}
	res := tx.Table("webhook_receipts").Where("id = ? AND status IN ('pending', 'failed')", r.ID).Updates(set)
	if res.Error == nil && res.RowsAffected != 1 {
		return fmt.Errorf("store: receipt %s was settled already", r.ID)
	}
	return res.Error
}

func saveSessions(tx *gorm.DB, st *booking.State, sessions []booking.Session) error {
	if err := upsert(tx, rowsOf(sessions, sessionFromDomain), "id"); err != nil {
		return err
	}
	var stale []uuid.UUID
	var hosts []sessionHostRow
	for _, s := range sessions {
		old, known := st.Sessions[s.ID]
		before, after := sessionHosts(old), sessionHosts(s)
		if known && slices.Equal(before, after) {
			continue
		}
		if len(before) > 0 {
			stale = append(stale, s.ID)
		}
		hosts = append(hosts, after...)
	}
	for part := range slices.Chunk(stale, maxIn) {
		if err := tx.Where("session_id IN ?", part).Delete(&sessionHostRow{}).Error; err != nil {
			return fmt.Errorf("store: forget hosts: %w", err)
		}
	}
	return insert(tx, hosts)
}

// saveSlots writes all that leave active before any that become active: in one
// statement, a place handed on would be refused by its own fence.
func saveSlots(tx *gorm.DB, slots []booking.Slot) error {
	var leaving, entering []slotRow
	for _, s := range slots {
		if s.Status == booking.SlotActive {
			entering = append(entering, slotFromDomain(s))
		} else {
			leaving = append(leaving, slotFromDomain(s))
		}
	}
	if err := upsert(tx, leaving, "id"); err != nil {
		return err
	}
	return upsert(tx, entering, "id")
}

func saveTransitions(tx *gorm.DB, before booking.Ledger, ch booking.Changes) error {
	if err := insert(tx, rowsOf(ch.Transitions, transitionFromDomain)); err != nil {
		return err
	}
	if ch.Ledger == before {
		return nil
	}
	res := tx.Table("ledger").Where("id = 1 AND seq = ?", before.Seq).
		Updates(map[string]any{"seq": ch.Ledger.Seq, "head": ch.Ledger.Head[:]})
	if res.Error != nil {
		return fmt.Errorf("store: advance the ledger: %w", res.Error)
	}
	if res.RowsAffected != 1 {
		return fmt.Errorf("store: the ledger was not at %d", before.Seq)
	}
	return nil
}
