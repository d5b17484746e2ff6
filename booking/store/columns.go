package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// stampFormat is the one spelling of a time on SQLite, where times are compared
// as text: fixed width, UTC, microseconds. PostgreSQL reads it too.
const stampFormat = "2006-01-02T15:04:05.000000Z"

// stamp is a column with a time.
type stamp struct{ t time.Time }

func at(t time.Time) stamp { return stamp{t.UTC().Truncate(time.Microsecond)} }

// atOrNull is null for the zero time.
func atOrNull(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	s := at(t)
	return &s
}

func atPtr(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	s := at(*t)
	return &s
}

// time is the zero time for null.
func (s *stamp) time() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.t
}

func (s *stamp) ptr() *time.Time {
	if s == nil {
		return nil
	}
	return &s.t
}

// Value is text for both databases.
func (s stamp) Value() (driver.Value, error) { return s.t.UTC().Format(stampFormat), nil }

// Scan reads PostgreSQL's times, which come in the local zone, and SQLite's text.
func (s *stamp) Scan(v any) error {
	switch v := v.(type) {
	case time.Time:
		*s = at(v)
		return nil
	case string:
		t, err := time.Parse(stampFormat, v)
		if err != nil {
			return fmt.Errorf("store: a column holds no time: %w", err)
		}
		*s = at(t)
		return nil
	}
	return fmt.Errorf("store: a column holds %T, not a time", v)
}

// document is a column with a value as JSON text.
type document[T any] struct{ v T }

// Value keeps nil and empty apart.
func (d document[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(d.v)
	return string(text), err
}

// Scan is the opposite of Value.
func (d *document[T]) Scan(v any) error {
	var text []byte
	switch v := v.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("store: a column holds %T, not JSON", v)
	}
	d.v = *new(T)
	return json.Unmarshal(text, &d.v)
}

// clock is booking.Clock as one text that sorts as clocks do: time, rank, key.
type clock booking.Clock

// MarshalText is how the clock stands in JSON and in a column.
func (c clock) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

func (c clock) text() string {
	return fmt.Sprintf("%s %02d %s", c.At.UTC().Format(stampFormat), c.Rank, c.Key)
}

// UnmarshalText is the opposite of MarshalText.
func (c *clock) UnmarshalText(text []byte) error {
	parts := strings.SplitN(string(text), " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("store: %q is no clock", text)
	}
	t, err := time.Parse(stampFormat, parts[0])
	if err != nil {
		return fmt.Errorf("store: a clock's time: %w", err)
	}
	rank, err := strconv.Atoi(parts[1])
	if err != nil {
		return fmt.Errorf("store: a clock's rank: %w", err)
	}
	*c = clock{At: t.UTC(), Rank: rank, Key: parts[2]}
	return nil
}

// IsZero leaves unsaid clocks out of JSON.
func (c clock) IsZero() bool { return !booking.Clock(c).Said() }

func idOrNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func idOrNil(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

// storable replaces what PostgreSQL refuses in text (NUL, broken UTF-8), so
// that a receipt can be kept whatever its sender put into names and headers.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// clockColumn is a column with one clock.
type clockColumn struct{ c clock }

// Value is the clock's text.
func (c clockColumn) Value() (driver.Value, error) { return c.c.text(), nil }

// Scan is the opposite of Value.
func (c *clockColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("store: a column holds %T, not a clock", v)
	}
	return c.c.UnmarshalText([]byte(text))
}
