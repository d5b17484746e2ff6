package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slotkeeper/migrations"
)

// TestSQLiteNeedsNoOtherFolder has a statement whose undoing SQLite would put into a
// file of its own, as that of sets of deliveries. In a container whose only writable
// folder is the data's it answers it with a disk error, and deliveries are refused. Which
// files are open is the process's, so this one is not parallel.
//
//nolint:paralleltest // see above
func TestSQLiteNeedsNoOtherFolder(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		t.Skip("only Linux tells which files are open")
	}
	db, err := address{dialect: migrations.SQLite, path: filepath.Join(t.TempDir(), "the clinic's data & more.db")}.plain()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range []string{
		"CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)",
		"INSERT INTO notes WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i, printf('%0500d', i) FROM n",
		"UPDATE notes SET body = 'b' || body",
	} {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	fds, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(filepath.Join(open, fd.Name())); err == nil && strings.HasSuffix(target, " (deleted)") {
			t.Errorf("SQLite put something into %s", target)
		}
	}
}
