package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slotkeeper/migrations"
)

// TestSQLiteWritesNowhereElse has a statement that is too large to be taken back from
// memory, as sets of deliveries have. In a container whose only writable folder is the
// data's, SQLite answers it with a disk error if it is to go elsewhere, and deliveries
// are refused. Where SQLite puts such things is the process's: no other test may open a
// file meanwhile, so this one is not parallel.
//
//nolint:paralleltest // see above
func TestSQLiteWritesNowhereElse(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		t.Skip("only Linux tells which files are open")
	}
	dir := filepath.Join(t.TempDir(), "the clinic's data & more")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := address{dialect: migrations.SQLite, path: filepath.Join(dir, "slotkeeper.db")}.plain()
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
	beside := false
	for _, fd := range fds {
		if target, err := os.Readlink(filepath.Join(open, fd.Name())); err == nil && strings.HasSuffix(target, " (deleted)") {
			beside = true
			if filepath.Dir(target) != dir {
				t.Errorf("SQLite writes %s, which is not beside the database", target)
			}
		}
	}
	if !beside {
		t.Error("SQLite has no temporary file open: the statement was too small to tell")
	}
}
