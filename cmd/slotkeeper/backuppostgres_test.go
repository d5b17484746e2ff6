package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"slotkeeper/migrations/migratetest"
)

// The commands of docs/upkeep.md dump a PostgreSQL database beside its server and
// restore it into an empty one, on which a server goes on.
func TestPostgresDumpAndRestore(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, migratetest.EmptyPostgres(t))
	a := s.connect(t, "generic")
	for n := range 30 {
		a.must(t, loadBody(n))
	}
	dump := filepath.Join(t.TempDir(), "slotkeeper.dump")
	restored := migratetest.EmptyPostgres(t)
	for _, c := range [][]string{
		{"pg_dump", "--format=custom", "--file=" + dump, s.db},
		{"pg_restore", "--exit-on-error", "--no-owner", "--dbname=" + restored, dump},
	} {
		if out, err := exec.CommandContext(t.Context(), pgBinary(c[0]), c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	r := prepare(t, restored)
	if out := r.run(t, "audit", "verify"); !strings.Contains(out, "none was changed") {
		t.Errorf("the audit of the restored: %s", out)
	}
	r.start(t)
	for n := range 30 {
		if ack := a.on(r).must(t, loadBody(n)); ack.Status != "duplicate" {
			t.Errorf("delivery %d is %s in the restored", n, ack.Status)
		}
	}
}
