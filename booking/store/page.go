package store

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

// A cursor is the place of a page's last row in its list's order: the list's
// name, then the columns that the order is by. It is opaque to callers, but
// nothing in it is secret and whatever comes back is checked.

func makeCursor(list string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(append([]string{list}, parts...), "|")))
}

var errCursor = &booking.InvalidError{Field: "cursor", Detail: "is not one that this list gave"}

// readCursor gives back n parts, or nil at the beginning of the list.
func readCursor(p booking.Page, list string, n int) ([]string, error) {
	if p.Cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil {
		return nil, errCursor
	}
	parts := strings.Split(string(text), "|")
	if len(parts) != n+1 || parts[0] != list {
		return nil, errCursor
	}
	return parts[1:], nil
}

// timeAndID is the place of a row in a list by time and id.
type timeAndID struct {
	at time.Time // zero: among those without a time
	id uuid.UUID
}

func (c timeAndID) cursor(list string) string {
	when := ""
	if !c.at.IsZero() {
		when = c.at.UTC().Format(stampFormat)
	}
	return makeCursor(list, when, c.id.String())
}

func readTimeAndID(p booking.Page, list string) (*timeAndID, error) {
	parts, err := readCursor(p, list, 2)
	if parts == nil || err != nil {
		return nil, err
	}
	var c timeAndID
	if parts[0] != "" {
		if c.at, err = time.Parse(stampFormat, parts[0]); err != nil {
			return nil, errCursor
		}
	}
	if c.id, err = uuid.Parse(parts[1]); err != nil {
		return nil, errCursor
	}
	return &c, nil
}

// place is where a row stands in a log: a list by time and then by number.
type place struct {
	at  time.Time
	seq int64
}

func (p place) cursor(list string) string {
	return makeCursor(list, p.at.UTC().Format(stampFormat), strconv.FormatInt(p.seq, 10))
}

// readPlace is nil at the beginning of the list.
func readPlace(p booking.Page, list string) (*place, error) {
	parts, err := readCursor(p, list, 2)
	if parts == nil || err != nil {
		return nil, err
	}
	var out place
	if out.at, err = time.Parse(stampFormat, parts[0]); err != nil {
		return nil, errCursor
	}
	if out.seq, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return nil, errCursor
	}
	return &out, nil
}

// limitOf is the page's size.
func limitOf(p booking.Page) (int, error) {
	switch {
	case p.Limit == 0:
		return booking.DefaultLimit, nil
	case p.Limit < 0 || p.Limit > booking.MaxLimit:
		return 0, &booking.InvalidError{Field: "limit", Detail: "must be from 1 to 200"}
	}
	return p.Limit, nil
}

// pageOf cuts rows, of which one more than the limit was read, to a page.
func pageOf[R, T any](rows []R, limit int, item func(R) T, cursor func(R) string) booking.List[T] {
	out := booking.List[T]{Items: []T{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = cursor(rows[limit-1])
	}
	for _, r := range rows {
		out.Items = append(out.Items, item(r))
	}
	return out
}

// maxIn is how many values one IN list may have.
const maxIn = 512

// in reads the rows whose column has one of the values. Lists are filled up to
// a power of two, so that the database sees few different statements.
func in[R, V any](tx *gorm.DB, column string, values []V) ([]R, error) {
	var out []R
	for part := range slices.Chunk(values, maxIn) {
		n := 1
		for n < len(part) {
			n *= 2
		}
		list := slices.Clone(part)
		for len(list) < n {
			list = append(list, part[len(part)-1])
		}
		var rows []R
		if err := tx.Where(column+" IN ?", list).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("store: load by %s: %w", column, err)
		}
		out = append(out, rows...)
	}
	return out, nil
}
