package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"slotkeeper/booking"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	pg := func(code, constraint string) error {
		return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code, ConstraintName: constraint})
	}
	plain := errors.New("plain")
	for _, c := range []struct {
		name string
		err  error
		want string // unavailable, not found, plain, or a fence
	}{
		{"admin shutdown", pg("57P01", ""), "unavailable"},
		{"crash shutdown", pg("57P02", ""), "unavailable"},
		{"starting up", pg("57P03", ""), "unavailable"},
		{"statement timeout", pg("57014", ""), "unavailable"},
		{"lock timeout", pg("55P03", ""), "unavailable"},
		{"idle in transaction", pg("25P03", ""), "unavailable"},
		{"a standby", pg("25006", ""), "unavailable"},
		{"deadlock", pg("40P01", ""), "unavailable"},
		{"disk full", pg("53100", ""), "unavailable"},
		{"too many connections", pg("53300", ""), "unavailable"},
		{"io error", pg("58030", ""), "unavailable"},
		{"password", pg("28P01", ""), "unavailable"},
		{"deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), "unavailable"},
		{"canceled", context.Canceled, "unavailable"},
		{"bad connection", driver.ErrBadConn, "unavailable"},
		{"cut off", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "unavailable"},
		{"network", &net.OpError{Op: "dial", Err: errors.New("refused")}, "unavailable"},
		{"cannot connect", &pgconn.ConnectError{}, "unavailable"},
		{"unique", pg("23505", "one_booking_per_slot"), "one_booking_per_slot"},
		{"exclusion", pg("23P01", "no_overlapping_slots"), "no_overlapping_slots"},
		{"trigger", pg("23001", "transitions_append_only"), "transitions_append_only"},
		{"check", pg("23514", "bookings_status"), "plain"},
		{"bad text", pg("22021", ""), "plain"},
		{"no row", gorm.ErrRecordNotFound, "not found"},
		{"another", plain, "plain"},
		{"classified before", fmt.Errorf("again: %w", booking.ErrUnavailable), "unavailable"},
	} {
		got := classify(c.err)
		var fence *booking.FenceError
		kind := "plain"
		switch {
		case errors.As(got, &fence):
			kind = fence.Constraint
		case errors.Is(got, booking.ErrUnavailable):
			kind = "unavailable"
		case errors.Is(got, booking.ErrNotFound):
			kind = "not found"
		}
		if kind != c.want {
			t.Errorf("%s is %s, not %s", c.name, kind, c.want)
		}
		if c.want != "not found" && !errors.Is(got, c.err) {
			t.Errorf("%s lost its cause", c.name)
		}
	}
	if classify(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestSQLiteConstraint(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"constraint failed: UNIQUE constraint failed: slots.resource_id, slots.starts_at (2067)": "one_booking_per_slot",
		"constraint failed: UNIQUE constraint failed: index 'bookings_identity' (2067)":          "bookings_identity",
		"constraint failed: UNIQUE constraint failed: users.name (2067)":                         "users_name",
		"constraint failed: UNIQUE constraint failed: bookings.id (1555)":                        "bookings.id",
		"constraint failed: no_overlapping_slots (1811)":                                         "no_overlapping_slots",
		"something else entirely, that no version says":                                          "something else entirely, that no version says",
	} {
		if got := sqliteConstraint(message); got != want {
			t.Errorf("%q is of %q, not %q", message, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"slotkeeper.db": "slotkeeper.db", "/var/lib/slot keeper.db": "/var/lib/slot keeper.db",
		"sqlite:data/a.db": "data/a.db", "sqlite:///data/a.db": "/data/a.db",
	} {
		if a, err := parse(url); err != nil || a.path != want || a.pg != nil {
			t.Errorf("%q is %+v: %v", url, a, err)
		}
	}
	if a, err := parse("postgresql://u@h:1/d"); err != nil || a.pg == nil || a.pg.ConnectTimeout == 0 {
		t.Errorf("%+v: %v", a, err)
	}
	for _, url := range []string{"", "sqlite:", "mysql://root:planted@h/d", "postgres://u:planted@h:port/d"} {
		if _, err := parse(url); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestFileIsPrivate makes a database in a directory that others may read.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a?b#c%.db")
	if _, err := Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if again, err := Migrate(t.Context(), "sqlite:"+path); err != nil || again != 0 {
		t.Errorf("again %d: %v", again, err)
	}
	status, err := MigrationStatus(t.Context(), path)
	if err != nil || len(status) == 0 || status[0].AppliedAt.IsZero() {
		t.Errorf("status %+v: %v", status, err)
	}
	s := openTest(t, path)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", suffix, info.Mode())
		}
	}
}
