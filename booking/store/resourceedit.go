package store

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// maxResourceName is longer than any name that a page shows whole.
const maxResourceName = 200

// RenameResource gives a resource a name, which deliveries leave alone from then
// on. It waits its turn with them: one that read the old name would write it back.
func (s *Store) RenameResource(ctx context.Context, by access.By, id uuid.UUID, name string, now time.Time) error {
	name, err := givenName(name)
	if err != nil {
		return err
	}
	return s.editResource(ctx, by, id, now, access.DidRenameResource, nil, "UPDATE resources SET name = ?, name_given = ? WHERE id = ?", name, true, id)
}

// givenName is a name that a person may give.
func givenName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", &booking.InvalidError{Field: "name", Detail: "must not be empty"}
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", &booking.InvalidError{Field: "name", Detail: "must be plain text on one line"}
	case utf8.RuneCountInString(name) > maxResourceName:
		return "", &booking.InvalidError{Field: "name", Detail: "must have at most 200 characters"}
	}
	return name, nil
}

// SetZone says in which IANA time zone a resource is; "" is the installation's.
func (s *Store) SetZone(ctx context.Context, by access.By, id uuid.UUID, zone string, now time.Time) error {
	zone = strings.TrimSpace(zone)
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return &booking.InvalidError{Field: "zone", Detail: "is no time zone: give an IANA name such as Europe/Berlin"}
	}
	return s.editResource(ctx, by, id, now, access.DidSetZone, access.Facts{"zone": zone}, "UPDATE resources SET timezone = ? WHERE id = ?", zone, id)
}

func (s *Store) editResource(
	ctx context.Context, by access.By, id uuid.UUID, now time.Time, did string, detail access.Facts, statement string, args ...any,
) error {
	return s.inTrips(ctx, func(tx *transaction) error { //nolint:contextcheck // trips have the transaction's
		if _, err := lockLedger(tx); err != nil {
			return err
		}
		if _, err := standingIn(tx, id, "resource"); err != nil {
			return err
		}
		if err := tx.Exec(statement, args...).Error; err != nil {
			return err
		}
		return appendAdminLog(tx.DB, access.Entry{
			At: now, Actor: by.Actor, Action: did, Subject: resourceSubject(id), Detail: detail, Remote: by.Remote,
		})
	})
}
