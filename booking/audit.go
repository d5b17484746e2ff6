package booking

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// Outcome of a transition.
type Outcome string

// A transition that ends conflicted is applied (R12).
const (
	Applied  Outcome = "applied"
	Rejected Outcome = "rejected"
)

// Transition is one attempt to change a booking's state, time, hosts or overlap
// acceptance: a row of the audit log. It holds no personal data.
type Transition struct {
	Seq        int64
	ID         uuid.UUID
	BookingID  uuid.UUID
	ReceiptID  uuid.UUID
	Event      Action
	From       Status
	To         Status
	Outcome    Outcome
	Reason     Reason
	HolderID   *uuid.UUID // the booking that holds the slot, of a conflicted one
	Constraint string     // the database's fence that would refuse it
	Actor      Actor
	OccurredAt time.Time
	RecordedAt time.Time
	Prev       [32]byte
	Hash       [32]byte
}

// Ledger is the head of the audit chain.
type Ledger struct {
	Seq  int64
	Head [32]byte
}

// Sum is the hash that chains the transition to the one before: SHA-256 over
// Prev and every field, each preceded by its length, times in microseconds UTC,
// so that no two rows have one encoding.
func (t *Transition) Sum() [32]byte {
	h := sha256.New()
	var n [8]byte
	num := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v)) //nolint:gosec // a bit pattern, not a quantity
		h.Write(n[:])
	}
	text := func(s string) {
		num(int64(len(s)))
		h.Write([]byte(s))
	}
	h.Write(t.Prev[:])
	num(t.Seq)
	h.Write(t.ID[:])
	h.Write(t.BookingID[:])
	h.Write(t.ReceiptID[:])
	for _, s := range []string{string(t.Event), string(t.From), string(t.To), string(t.Outcome), string(t.Reason), t.Constraint, string(t.Actor)} {
		text(s)
	}
	if t.HolderID == nil {
		text("")
	} else {
		text(t.HolderID.String())
	}
	num(t.OccurredAt.UnixMicro())
	num(t.RecordedAt.UnixMicro())
	return [32]byte(h.Sum(nil))
}

// chain appends the transition to the ledger.
func (l *Ledger) chain(t *Transition) {
	t.Seq, t.Prev = l.Seq+1, l.Head
	t.Hash = t.Sum()
	l.Seq, l.Head = t.Seq, t.Hash
}
