package booking

import (
	"time"

	"github.com/google/uuid"
)

// ReceiptCount is how many receipts of a connection and kind have a status. With
// StatusDuplicate it counts copies: posts that came again, of whatever receipt.
type ReceiptCount struct {
	ConnectionID uuid.UUID
	Kind         Kind
	// Told says that the provider posted them. What is not told was read from its
	// API by us, and is no delivery.
	Told   bool
	Status ReceiptStatus
	Count  int
}

// ReceiptCounts are those of a CountFilter: all by connection and kind, and how many
// of each status came in each of its parts.
type ReceiptCounts struct {
	Of    []ReceiptCount
	Parts []map[ReceiptStatus]int
}

// CountFilter says what to count: what was received in [From, To), and for charts
// what was in each of some parts, whatever [From, To) is. A time that is no whole
// quarter of an hour counts as the one that it lies in: receipts are counted by
// quarters, and every zone's hours and days begin with one.
type CountFilter struct {
	From         time.Time
	To           time.Time
	Parts        []Period
	ConnectionID *uuid.UUID
	Provider     string
}
