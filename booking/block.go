package booking

import (
	"time"

	"github.com/google/uuid"
)

// Block is a time at which a host is unavailable, as a provider says it. It is
// shown and warned of; it claims no slot and refuses nobody.
type Block struct {
	Source Source
	// ExternalID of the block at its provider.
	ExternalID string
	// At is the clock of who said it (R2); of what is read from an API, whoever
	// stores it gives it the reading's ticket.
	At Clock
	// Host whom it is about, as bookings name it.
	Host     Host
	StartsAt time.Time
	EndsAt   time.Time
	// Note is what people may read of it; "" for none. It never has a reason of
	// health: what the owner wrote for himself stays at the provider.
	Note string
}

// ToldBlock is a block with the delivery that told of it.
type ToldBlock struct {
	Block
	ConnectionID uuid.UUID
	ReceiptID    uuid.UUID
}

// BlockView is a block as people see it. ResourceID is what its host maps to now,
// whatever that was when the block was told of; uuid.Nil for none.
type BlockView struct {
	Block
	ConnectionID uuid.UUID
	ResourceID   uuid.UUID
}

// LongBlock is from when on a block counts as long. A window of blocks is read by
// when they begin, so that history does not slow it; long ones, which would make
// that reach far back, are few and read by when they end.
const LongBlock = 48 * time.Hour

// Long tells whether the block is longer than LongBlock.
func (b *Block) Long() bool { return b.EndsAt.Sub(b.StartsAt) > LongBlock }

// block keeps what is newest of a block, whichever delivery of a set came first.
func (w *work) block(b *Block, receipt, conn uuid.UUID) {
	key := Ref{b.Source, b.ExternalID}
	if known, ok := w.blocks.get(key); ok && !b.At.After(known.At) {
		return
	}
	w.blocks.put(key, ToldBlock{Block: *b, ConnectionID: conn, ReceiptID: receipt})
}
