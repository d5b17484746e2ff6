// Package migratetest gives tests a migrated database of their own.
package migratetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/libtnb/sqlite"       // the driver "sqlite"

	"slotkeeper/migrations"
)

// EnvURL names the environment variable with the URL of a PostgreSQL server
// on which tests may make and drop databases.
const EnvURL = "TEST_DATABASE_URL"

// Postgres makes a migrated database that is dropped after the test, and
// returns its URL. It is copied from a template that is made once for each
// state of the migrations, whichever test binary is first. Without a server the
// test fails: one that is skipped proves nothing and looks green.
func Postgres(t testing.TB) string {
	t.Helper()
	server := serverURL(t)
	ctx := context.Background() // the test's own is over when Cleanup drops
	admin := open(t, "pgx", server.String())
	template := "slotkeeper_template_" + fingerprint(t)
	makeTemplate(ctx, t, admin, server, template)

	return create(ctx, t, admin, server, " TEMPLATE "+template)
}

// EmptyPostgres makes a database without the migrations, dropped after the test.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	server := serverURL(t)
	return create(context.Background(), t, open(t, "pgx", server.String()), server, "")
}

func create(ctx context.Context, t testing.TB, admin *sql.DB, server *url.URL, from string) string {
	t.Helper()
	name := "slotkeeper_test_" + random()
	if _, err := admin.ExecContext(ctx, `CREATE DATABASE `+name+from); err != nil {
		t.Fatalf("make the test's database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := admin.ExecContext(ctx, fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, name)); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return named(server, name)
}

// SQLite makes a migrated database in the test's directory and returns its
// path. The migrations run once in a test binary; what they leave is copied.
func SQLite(t testing.TB) string {
	t.Helper()
	migrated, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slotkeeper.db")
	if err := os.WriteFile(path, migrated, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var sqliteTemplate = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "slotkeeper-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	_, err = migrations.Up(context.Background(), db, migrations.SQLite)
	// The last one to close a database moves its log into its file.
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func serverURL(t testing.TB) *url.URL {
	t.Helper()
	raw := os.Getenv(EnvURL)
	if raw == "" {
		t.Fatalf("%s is not set: run the tests by `make test`, which starts a private PostgreSQL, or give the URL of a server on which databases may be made and dropped", EnvURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatalf("%s is no URL: %v", EnvURL, err)
	}
	return u
}

// makeTemplate makes the template unless it is there. The advisory lock keeps
// test binaries that run at the same time from each making it.
func makeTemplate(ctx context.Context, t testing.TB, admin *sql.DB, server *url.URL, template string) {
	t.Helper()
	const lockID = 5320731164 // any number that nobody else uses
	conn, err := admin.Conn(ctx)
	if err != nil {
		t.Fatalf("reach the server of %s: %v", EnvURL, err)
	}
	defer conn.Close() // ends the lock, too
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lockID); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, lockID); err != nil {
			t.Error(err)
		}
	}()
	var there bool
	if err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, template).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there {
		return
	}
	// Made under another name: a half-made one must never be taken for it.
	draft := template + "_draft"
	for _, q := range []string{`DROP DATABASE IF EXISTS ` + draft, `CREATE DATABASE ` + draft} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, "pgx", named(server, draft))
	_, err = migrations.Up(ctx, db, migrations.Postgres)
	if cerr := db.Close(); err != nil || cerr != nil {
		t.Fatalf("migrate the template: %v, %v", err, cerr)
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(`ALTER DATABASE %s RENAME TO %s`, draft, template)); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func named(server *url.URL, database string) string {
	u := *server
	u.Path = "/" + database
	return u.String()
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// fingerprint is a hash of the migrations.
func fingerprint(t testing.TB) string {
	t.Helper()
	dir, err := migrations.Files(migrations.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
