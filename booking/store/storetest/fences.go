package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/migrations"
)

// slotSQL inserts a claim past the application, for the session and the
// resource of the first claim.
func (b *Bench) slotSQL(t *testing.T, from, to time.Time, status booking.SlotStatus) (id uuid.UUID, query string) {
	t.Helper()
	s := b.slots(t, booking.Filter{})[0]
	id = uuid.New()
	const format = "2006-01-02T15:04:05.000000Z"
	return id, fmt.Sprintf(`INSERT INTO slots (id, session_id, resource_id, starts_at, ends_at, status) VALUES ('%s', '%s', '%s', '%s', '%s', '%s')`,
		id, s.SessionID, s.ResourceID, from.Format(format), to.Format(format), status)
}

// refused fails unless the named fence refused.
func refused(t *testing.T, what string, err error, fence string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s was accepted", what)
	case fence != "" && !strings.Contains(err.Error(), fence):
		t.Errorf("%s was refused, but not by %s: %v", what, fence, err)
	}
}

func testSlotFences(t *testing.T, b *Bench) {
	b.Apply(t, created("holder", "10:00", "10:30"))
	same := booking.FenceSlot
	if b.Dialect() == migrations.SQLite {
		same = "UNIQUE constraint failed: slots.resource_id, slots.starts_at" // its way to say so
	}
	for _, c := range []struct {
		what     string
		from, to time.Time
		status   booking.SlotStatus
		fence    string // "": allowed
	}{
		{"the same instant", bt.At("10:00"), bt.At("10:30"), booking.SlotActive, same},
		{"the same start, longer", bt.At("10:00"), bt.At("11:00"), booking.SlotActive, same},
		{"an overlapping start", bt.At("09:45"), bt.At("10:00").Add(time.Microsecond), booking.SlotActive, "no_overlapping_slots"},
		{"an overlapping end", bt.At("10:29"), bt.At("10:59"), booking.SlotActive, "no_overlapping_slots"},
		{"one inside", bt.At("10:10"), bt.At("10:20"), booking.SlotActive, "no_overlapping_slots"},
		{"one around", bt.At("09:00"), bt.At("12:00"), booking.SlotActive, "no_overlapping_slots"},
		{"a month around", bt.At("10:01").Add(-booking.MaxLength), bt.At("10:01"), booking.SlotActive, "no_overlapping_slots"},
		{"one that ends before it starts", bt.At("15:00"), bt.At("14:00"), booking.SlotActive, "slots_time"},
		{"one without length", bt.At("15:00"), bt.At("15:00"), booking.SlotActive, "slots_time"},
		{"one longer than 31 days", bt.At("15:00"), bt.At("15:00").Add(booking.MaxLength + time.Second), booking.SlotActive, "slots_length"},
		{"an unknown status", bt.At("15:00"), bt.At("16:00"), "taken", "slots_status"},
		{"one that waits there", bt.At("10:00"), bt.At("10:30"), booking.SlotWaiting, ""},
		{"one back to back before", bt.At("09:30"), bt.At("10:00"), booking.SlotActive, ""},
		{"one back to back after", bt.At("10:30"), bt.At("11:00"), booking.SlotActive, ""},
	} {
		_, query := b.slotSQL(t, c.from, c.to, c.status)
		err := b.exec(t, query)
		switch {
		case c.fence == "" && err != nil:
			t.Errorf("%s was refused: %v", c.what, err)
		case c.fence != "":
			refused(t, c.what, err, c.fence)
		}
	}
	id, query := b.slotSQL(t, bt.At("10:15"), bt.At("10:45"), booking.SlotWaiting)
	if err := b.exec(t, query); err != nil {
		t.Fatal(err)
	}
	refused(t, "one that waits becoming active", b.exec(t, fmt.Sprintf("UPDATE slots SET status = 'active' WHERE id = '%s'", id)), "no_overlapping_slots")
	refused(t, "moving a claim", b.exec(t, fmt.Sprintf("UPDATE slots SET ends_at = '2026-12-07T10:50:00.000000Z' WHERE id = '%s'", id)), "slots_never_move")
}

func testAppendOnly(t *testing.T, b *Bench) {
	b.Apply(t, created("one", "10:00", "10:30"))
	if err := b.exec(t, `INSERT INTO admin_log (at, actor, action) VALUES ('2026-12-06T09:30:00.000000Z', 'system', 'test')`); err != nil {
		t.Fatal(err)
	}
	for query, fence := range map[string]string{
		"UPDATE transitions SET outcome = 'rejected'":                        "transitions_append_only",
		"DELETE FROM transitions":                                            "transitions_append_only",
		"UPDATE admin_log SET actor = 'user:2'":                              "admin_log_append_only",
		"DELETE FROM admin_log":                                              "admin_log_append_only",
		"DELETE FROM webhook_receipts":                                       "receipts_are_kept",
		"INSERT INTO open_runs_cannot_commit (id) VALUES (1)":                "open_runs_cannot_commit",
		"UPDATE bookings SET status = 'active', reason = 'overlap'":          "bookings_reason",
		"UPDATE bookings SET status = 'canceled', reason = 'overlap'":        "bookings_reason",
		"INSERT INTO ledger (id, seq, head) SELECT 2, seq, head FROM ledger": "ledger_single",
	} {
		refused(t, query, b.exec(t, query), fence)
	}
	if n := len(b.transitions(t, booking.Filter{})); n != 1 {
		t.Errorf("%d transitions are left", n)
	}
}

// testRetention empties a body, which only an open run may, and which can stand
// open only within its own transaction.
func testRetention(t *testing.T, b *Bench) {
	post := b.Post(created("one", "10:00", "10:30"))
	b.ApplyPosts(t, post)
	const (
		begin = `INSERT INTO retention_runs (id, open, cutoff, started_at)
			VALUES ('0b9d6f0e-0000-4000-8000-000000000009', 1, '2026-12-06T09:30:00.000000Z', '2026-12-06T09:30:00.000000Z')`
		empty = "UPDATE webhook_receipts SET raw_body = NULL"
		end   = "UPDATE retention_runs SET open = NULL, emptied = 1, finished_at = started_at"
	)
	refused(t, "emptying a body without a run", b.exec(t, empty), "bodies_are_kept")
	refused(t, "changing a body's hash", b.exec(t, "UPDATE webhook_receipts SET body_sha256 = snapshot"), "")
	refused(t, "committing an open run", b.exec(t, begin), "")
	run := func(queries ...string) error {
		tx, err := b.SQL.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries {
			if _, err := tx.ExecContext(t.Context(), q); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			_ = tx.Rollback() // SQLite keeps a transaction whose commit was refused
			return err
		}
		return nil
	}
	refused(t, "leaving a run open", run(begin, empty), "")
	if body, err := b.ReceiptBody(t.Context(), post.ReceiptID); err != nil || len(body) == 0 {
		t.Errorf("the body is gone after a refused run: %q, %v", body, err)
	}
	refused(t, "writing another body", run(begin, "UPDATE webhook_receipts SET raw_body = body_sha256", end), "bodies_are_kept")
	if err := run(begin, empty, end); err != nil {
		t.Fatalf("a proper run was refused: %v", err)
	}
	if _, err := b.ReceiptBody(t.Context(), post.ReceiptID); !errors.Is(err, booking.ErrNotFound) {
		t.Errorf("the emptied body reads as %v", err)
	}
	if a := b.Apply(t, created("one", "10:00", "10:30"))[0]; a.Status != booking.StatusDuplicate {
		t.Errorf("a copy after retention is %+v", a)
	}
}

// testFenceError writes a claim past the ledger's lock, in the name of the
// session itself, so that the domain sees no rival: the store's own write is
// refused, and its caller is told by which constraint.
func testFenceError(t *testing.T, b *Bench) {
	b.Apply(t, created("one", "10:00", "10:30", bt.In("class")))
	_, query := b.slotSQL(t, bt.At("10:00"), bt.At("10:30"), booking.SlotActive)
	for _, q := range []string{"UPDATE slots SET status = 'released'", query} {
		if err := b.exec(t, q); err != nil {
			t.Fatal(err)
		}
	}
	post := b.Post(created("two", "10:00", "10:30", bt.In("class")))
	_, err := b.Store.Apply(t.Context(), []booking.Post{post}, Now)
	var fence *booking.FenceError
	if !errors.As(err, &fence) || errors.Is(err, booking.ErrUnavailable) || fence.Constraint != booking.FenceSlot {
		t.Fatalf("error %v", err)
	}
	if a, err := b.KeepFailed(t.Context(), post, fence, Now); err != nil || !strings.Contains(a.Error, booking.FenceSlot) {
		t.Errorf("kept as %+v: %v", a, err)
	}
}
