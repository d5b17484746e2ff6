package booking

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// namespace of all derived ids. Changing it would orphan every stored row.
var namespace = uuid.MustParse("5d0c3b52-7d0b-5f6c-9a55-0b1f6a3c51d7")

func derive(parts ...string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\x00")))
}

// ID is the id of the first row of an identity; seat is "" unless the
// uid is seated.
func ID(s Source, externalID, seat string) uuid.UUID {
	return derive("booking", s.Provider, s.Base, externalID, seat)
}

// SessionID is the id of a meeting.
func SessionID(s Source, externalID string) uuid.UUID {
	return derive("session", s.Provider, s.Base, externalID)
}

// ResourceIDByEmail is the id that a resource has when its e-mail is seen first.
func ResourceIDByEmail(email string) uuid.UUID {
	return derive("resource", "email", NormalizeEmail(email))
}

func resourceIDByName(s Source, name string) uuid.UUID {
	return derive("resource", s.Provider, s.Base, name)
}

func slotID(session uuid.UUID, c claim) uuid.UUID {
	return derive("slot", session.String(), c.resource.String(), stamp(c.from), stamp(c.to))
}

func transitionID(receipt, booking uuid.UUID, seq int64) uuid.UUID {
	return derive("transition", receipt.String(), booking.String(), strconv.FormatInt(seq, 10))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
