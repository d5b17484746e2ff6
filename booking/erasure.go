package booking

import (
	"errors"
	"time"
)

// CodeBodyRetired is the code of a receipt that nothing more can be done about,
// since its body is gone.
const CodeBodyRetired = "body_retired"

// ErrTracesLeft says that a person was erased, and that the embedded database's files
// still have traces in places that it does not use: erasing again removes them, when
// less is going on.
var ErrTracesLeft = errors.New("erased, but unused places of the database's files still have it: erase again when less is going on")

// Whom says who is to be erased: by one or the other.
type Whom struct {
	Email string
	Phone string
}

// Erasure is what erasing a person removed, or would.
type Erasure struct {
	Bookings    int64
	Attendances int64 // what is kept of seats beside their bookings
	Receipts    int64 // whose bodies, snapshots or waiting events tell of the person
	Effects     int64 // whose payloads do
	Forms       int64 // bookings whose intake forms and notes do
	// Emails says how many addresses the person was found with: by a phone number,
	// those of its bookings are erased too.
	Emails int64
	// Hosts are those of a list who are hosts now, and were left out.
	Hosts int64
}

// ErasedKind says what of a person a key stands for.
type ErasedKind string

// The kinds of keys.
const (
	ErasedEmail ErasedKind = "email"
	ErasedPhone ErasedKind = "phone"
)

// ErasedKey is what stays of somebody who was erased: an HMAC under the installation's
// pepper, of which nobody can be found who is not asked about.
type ErasedKey struct {
	Kind     ErasedKind
	Key      string
	ErasedAt time.Time
}

// ErasedList are all who were erased, so that they can be erased again in a database
// that was restored from before. It fits no other installation.
type ErasedList struct {
	Installation string
	People       []ErasedKey
}
