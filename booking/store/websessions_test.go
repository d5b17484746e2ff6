package store_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking/vault"
)

func TestWebSessions(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		ctx, now := t.Context(), installedAt
		w := openWith(t, url, vault.NewKey()).WebSessions(func() time.Time { return now })

		find := func(token, want string) {
			t.Helper()
			data, found, err := w.FindCtx(ctx, token)
			if err != nil || found != (want != "") || string(data) != want {
				t.Errorf("FindCtx(%s) = %q, %v, %v; want %q", token, data, found, err, want)
			}
		}
		commit := func(token, data string, life time.Duration) {
			t.Helper()
			if err := w.CommitCtx(ctx, token, []byte(data), now.Add(life)); err != nil {
				t.Fatal(err)
			}
		}
		find("a", "")
		commit("a", "one", time.Hour)
		commit("b", "other\x00\xff", 2*time.Hour)
		find("a", "one")
		find("b", "other\x00\xff")
		commit("a", "two", 90*time.Minute)
		now = now.Add(time.Hour)
		find("a", "two")
		now = now.Add(30 * time.Minute) // to the instant
		find("a", "")
		if n, err := w.DeleteExpired(ctx); err != nil || n != 1 {
			t.Errorf("DeleteExpired = %d, %v", n, err)
		}
		find("b", "other\x00\xff")
		for range 2 { // the second finds nothing, which is no error
			if err := w.DeleteCtx(ctx, "b"); err != nil {
				t.Error(err)
			}
		}
		find("b", "")
	})
}

func TestWebSessionsDoNotKeepTheToken(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		const token = "Zq3dTq1kQe0FfZ0n6y1u"
		w := openWith(t, url, vault.NewKey()).WebSessions(func() time.Time { return installedAt })
		if err := w.Commit(token, []byte("data"), installedAt.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		driver := "sqlite"
		if strings.Contains(url, "://") {
			driver = "pgx"
		}
		db, err := sql.Open(driver, url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var stored string
		if err := db.QueryRowContext(t.Context(), `SELECT token FROM web_sessions`).Scan(&stored); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stored, token) || len(stored) != 64 {
			t.Errorf("stored token %q", stored)
		}
	})
}
