package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// save writes what a set leaves in one trip, each table in few statements, in the
// order of their references.
func (s *Store) save(tx *transaction, st *booking.State, ch booking.Changes, set []booking.Post, now time.Time) error {
	t := tx.trip()
	saveResources(t, ch)
	if err := s.saveReceipts(t, ch, set, now); err != nil {
		return err
	}
	saveSessions(t, st, ch.Sessions)
	insertRows(t, rowsOf(ch.Bookings, bookingFromDomain), "id")
	insertRows(t, rowsOf(ch.Attendances, attendanceFromDomain), "external_id", "key", "provider", "api_base")
	insertRows(t, rowsOf(ch.Links, bookingLinkFromDomain), "predecessor", "successor", "key", "provider", "api_base")
	saveSlots(t, ch.Slots)
	saveBlocks(t, ch.Blocks, now)
	saveTransitions(t, st.Ledger, ch)
	if err := t.make(); err != nil {
		return err
	}
	if err := s.saveForms(tx, set); err != nil {
		return err
	}
	return s.queue(tx, ch.Receipts)
}

func rowsOf[D, R any](in []D, f func(D) R) []R {
	out := make([]R, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func saveResources(t *trip, ch booking.Changes) {
	insertRows(t, rowsOf(ch.Resources, resourceFromDomain), "id")
	insertRows(t, rowsOf(ch.Identities, identityFromDomain), "external_id", "provider", "api_base")
}

func (s *Store) saveReceipts(t *trip, ch booking.Changes, set []booking.Post, now time.Time) error {
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
	insertRows(t, receipts)
	if err := s.resolve(t, ch.Resolved, posts, now); err != nil {
		return err
	}
	s.keepSnapshots(t, set)
	deliveries := make([]deliveryRow, 0, len(set))
	for i, p := range set {
		if !p.Settles && !p.Read { // nothing was delivered then
			deliveries = append(deliveries, deliveryFromDomain(p, ch.Answers[i]))
		}
	}
	insertRows(t, deliveries)
	return nil
}

// queue asks for the fetches of new receipts, in the same transaction.
func (s *Store) queue(tx *transaction, receipts []booking.Receipt) error {
	var ids []uuid.UUID
	for _, r := range receipts {
		if r.Status == booking.StatusPending || (r.Status == booking.StatusFailed && r.Code == booking.CodeApplyFailed) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 || s.enqueue == nil {
		return nil
	}
	return s.enqueue(tx.Statement.Context, tx.sql, ids)
}

// resolve writes what became of receipts that were stored before: those that
// waited, with the same verdict in one statement, and those that the set settles.
func (s *Store) resolve(t *trip, receipts []booking.Receipt, posts map[uuid.UUID]booking.Post, now time.Time) error {
	type verdict struct {
		status booking.ReceiptStatus
		reason booking.Reason
		code   string
		error  string
	}
	same := map[verdict][]uuid.UUID{}
	for _, r := range receipts {
		if p, ok := posts[r.ID]; ok && p.Replays {
			if err := s.settleReplayed(t, r, now); err != nil {
				return err
			}
			continue
		} else if ok && p.Settles {
			if err := s.settle(t, r, p, now); err != nil {
				return err
			}
			continue
		}
		v := verdict{r.Status, r.Reason, r.Code, r.Error}
		same[v] = append(same[v], r.ID)
	}
	for v, ids := range same {
		t.write(int64(len(ids)), "resolve what waited",
			`UPDATE webhook_receipts SET status = ?, reason = ?, code = ?, error = ?, waiting_event = NULL, processed_at = ?
				WHERE id = any(?) AND status = 'waiting'`,
			string(v.status), string(v.reason), storable(v.code), storable(v.error), timeOrNil(processedAt(v.status, v.code, now)), ids)
	}
	return nil
}

// settle writes what became of a receipt that was fetched for or tried again.
func (s *Store) settle(t *trip, r booking.Receipt, p booking.Post, now time.Time) error {
	event, err := s.sealEvent(r)
	if err != nil {
		return err
	}
	var snapshot []byte
	var fetched any
	if p.Snapshot != nil {
		snapshot, fetched = s.vault.Seal(p.Snapshot, snapshotContext(r.ID)), timeOrNil(atOrNull(p.SnapshotAt))
	}
	t.write(1, "settle receipt "+r.ID.String(),
		`UPDATE webhook_receipts SET status = ?, reason = ?, code = ?, error = ?, subject = ?, waiting_event = ?, processed_at = ?,
			snapshot = coalesce(?, snapshot), snapshot_at = coalesce(?, snapshot_at) WHERE id = ? AND status IN ('pending', 'failed')`,
		string(r.Status), string(r.Reason), storable(r.Code), storable(r.Error), storable(r.Subject), event,
		timeOrNil(processedAt(r.Status, r.Code, now)), snapshot, fetched, r.ID)
	return nil
}

func timeOrNil(s *stamp) any {
	if s == nil {
		return nil
	}
	return s.t
}

func saveSessions(t *trip, st *booking.State, sessions []booking.Session) {
	insertRows(t, rowsOf(sessions, sessionFromDomain), "id")
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
	if len(stale) > 0 {
		t.write(-1, "forget hosts", "DELETE FROM session_hosts WHERE session_id = any(?)", stale)
	}
	insertRows(t, hosts)
}

// saveSlots writes all that leave active before any that become active: in one
// statement, a place handed on would be refused by its own fence.
func saveSlots(t *trip, slots []booking.Slot) {
	var leaving, entering []slotRow
	for _, s := range slots {
		if s.Status == booking.SlotActive {
			entering = append(entering, slotFromDomain(s))
		} else {
			leaving = append(leaving, slotFromDomain(s))
		}
	}
	insertRows(t, leaving, "id")
	insertRows(t, entering, "id")
}

func saveTransitions(t *trip, before booking.Ledger, ch booking.Changes) {
	insertRows(t, rowsOf(ch.Transitions, transitionFromDomain))
	if ch.Ledger != before {
		t.write(1, "advance the ledger", "UPDATE ledger SET seq = ?, head = ? WHERE id = 1 AND seq = ?", ch.Ledger.Seq, ch.Ledger.Head[:], before.Seq)
	}
}
