package access_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
)

const (
	goodPassword = "correct horse battery"
	remote       = "203.0.113.7"
)

// house is an installation's accounts on a database of its own, with a clock
// that the test sets.
type house struct {
	*access.Accounts
	store *store.Store
	raw   *sql.DB // past the application, to see what is stored
	now   atomic.Pointer[time.Time]
}

func (h *house) advance(d time.Duration) {
	next := h.now.Load().Add(d)
	h.now.Store(&next)
}

// onBoth runs a test on each database.
func onBoth(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := migratetest.SQLite(t)
		test(t, open(t, path, "sqlite", "file:"+path))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := migratetest.Postgres(t)
		test(t, open(t, url, "pgx", url))
	})
}

func open(t *testing.T, url, driver, dsn string) *house {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), url, store.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), raw.Close()); err != nil {
			t.Error(err)
		}
	})
	h := &house{store: s, raw: raw}
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	h.now.Store(&start)
	h.Accounts = access.NewAccounts(s.Accounts(), func() time.Time { return *h.now.Load() })
	return h
}

type logged struct {
	actor, action, subject, remote string
	detail                         access.Facts
}

func (h *house) log(t *testing.T) []logged {
	t.Helper()
	rows, err := h.raw.QueryContext(t.Context(), `SELECT actor, action, subject, remote, detail FROM admin_log ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []logged
	for rows.Next() {
		var l logged
		var detail string
		if err := rows.Scan(&l.actor, &l.action, &l.subject, &l.remote, &detail); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(detail), &l.detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (h *house) column(t *testing.T, column, table string) []string {
	t.Helper()
	rows, err := h.raw.QueryContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s", column, table))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var stored []byte
		if err := rows.Scan(&stored); err != nil {
			t.Fatal(err)
		}
		out = append(out, string(stored))
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%d rows in %s, %v", len(out), table, err)
	}
	return out
}

func (h *house) lastLog(t *testing.T, wantRows int) logged {
	t.Helper()
	all := h.log(t)
	if len(all) != wantRows {
		t.Fatalf("%d rows in admin_log, want %d: %v", len(all), wantRows, all)
	}
	return all[len(all)-1]
}

func (h *house) addUser(t *testing.T, name string, role access.Role, password string) access.User {
	t.Helper()
	u, err := h.AddUser(t.Context(), access.System, name, role, password)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
