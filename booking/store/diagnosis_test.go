package store_test

import (
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
	"slotkeeper/migrations/migratetest"
)

// diagnose looks at a database for the length of a test.
func diagnose(t *testing.T, url string) *store.Diagnosis {
	t.Helper()
	d, err := store.Diagnose(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// byHand runs a statement as an administrator with too many rights would.
func byHand(t *testing.T, url, statement string) {
	t.Helper()
	driver := "pgx"
	if !strings.Contains(url, "://") {
		driver = "sqlite"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func onEach(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, migratetest.SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, migratetest.Postgres(t))
	})
}

// TestDiagnosisOfAHealthyDatabase finds nothing wrong, and everything that it
// tells of is told.
func TestDiagnosisOfAHealthyDatabase(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		d := diagnose(t, url)
		text, major, err := d.Version(t.Context())
		if err != nil || text == "" || strings.Contains(text, " ") || (d.Dialect() == migrations.Postgres) != (major >= 15) {
			t.Errorf("version %q, %d, %v", text, major, err)
		}
		schema, err := d.Schema(t.Context())
		if err != nil || schema.Applied == 0 || len(schema.Pending) > 0 || len(schema.Newer) > 0 {
			t.Errorf("schema %+v, %v", schema, err)
		}
		if down, err := d.FencesDown(t.Context()); err != nil || len(down) > 0 {
			t.Errorf("fences down %v, %v", down, err)
		}
		set, err := d.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before, err := d.Beats(t.Context())
		if err := errors.Join(err, d.Write(t.Context())); err != nil {
			t.Fatal(err)
		}
		if after, err := d.Beats(t.Context()); after != before+1 || err != nil {
			t.Errorf("%d beats, then %d, %v", before, after, err)
		}
		if d.Dialect() == migrations.SQLite {
			if found, err := d.Damage(t.Context()); len(found) > 0 || err != nil {
				t.Errorf("damage %v, %v", found, err)
			}
			if set["journal_mode"] != "wal" || set["synchronous"] != "2" || !strings.HasSuffix(d.Place(), "slotkeeper.db") {
				t.Errorf("settings %v of %s", set, d.Place())
			}
			return
		}
		for _, name := range store.Timeouts() {
			if set[name] == "" || set[name] == "0" {
				t.Errorf("%s is %q", name, set[name])
			}
		}
		if p, err := d.Pooling(t.Context()); p.Broken() || err != nil {
			t.Errorf("pooling %+v, %v", p, err)
		}
		if version, available, err := d.Extension(t.Context(), "btree_gist"); version == "" || !available || err != nil {
			t.Errorf("btree_gist %q, %t, %v", version, available, err)
		}
		if version, available, err := d.Extension(t.Context(), "no_such_extension"); version != "" || available || err != nil {
			t.Errorf("no such extension: %q, %t, %v", version, available, err)
		}
		if role, err := d.Role(t.Context()); role.Name == "" || !role.Superuser || !role.Owner || !role.Replicates || err != nil {
			t.Errorf("the tests' role is %+v, %v", role, err)
		}
		for _, off := range []time.Duration{0, 3 * time.Minute, -3 * time.Minute} {
			ahead, within, err := d.Clock(t.Context(), func() time.Time { return time.Now().Add(off) })
			if err != nil || (ahead-off).Abs() > within+5*time.Second {
				t.Errorf("a clock that is off by %s is %s ahead (±%s), %v", off, ahead, within, err)
			}
		}
	})
}

// TestFencesAreWatched takes each guard of the schema away, and knows all that the
// migrations make.
func TestFencesAreWatched(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		d := diagnose(t, url)
		statement := "DROP TRIGGER transitions_append_only"
		if d.Dialect() == migrations.Postgres {
			statement = "ALTER TABLE transitions DISABLE TRIGGER transitions_append_only"
		}
		byHand(t, url, statement)
		byHand(t, url, "DROP INDEX one_booking_per_slot")
		if down, err := d.FencesDown(t.Context()); err != nil || !slices.Equal(down, []string{"one_booking_per_slot", "transitions_append_only"}) {
			t.Errorf("fences down %v, %v", down, err)
		}
		files, err := migrations.Files(d.Dialect())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range store.TriggersIn(t, files) {
			if !slices.Contains(store.Fences(d.Dialect()), name) {
				t.Errorf("the migrations make the trigger %s, which nobody watches", name)
			}
		}
	})
}

// TestDiagnosisMakesNothing looks at databases that nothing was made in.
func TestDiagnosisMakesNothing(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/empty.db"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{"sqlite": file, "postgres": migratetest.EmptyPostgres(t)} {
		d := diagnose(t, url)
		for range 2 { // the first look made nothing for the second
			schema, err := d.Schema(t.Context())
			if err != nil || schema.Applied != 0 || len(schema.Pending) < 7 {
				t.Errorf("%s: schema %+v, %v", name, schema, err)
			}
		}
		if made, err := d.KeyFits(t.Context(), newVault(t)); made || err == nil {
			t.Errorf("%s: a key of nothing: %t, %v", name, made, err)
		}
	}
	if _, err := store.Diagnose(t.Context(), "postgres://nobody:planted-password@127.0.0.1:1/x?connect_timeout=1"); !errors.Is(err, booking.ErrUnavailable) || strings.Contains(err.Error(), "planted") {
		t.Errorf("a database that is away: %v", err)
	}
}

func newVault(t *testing.T) *vault.Vault {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDiagnosisOfTheKeyAndTheSchema: the key is the database's or not, and what a
// newer version migrated is seen.
func TestDiagnosisOfTheKeyAndTheSchema(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		d, right := diagnose(t, url), newVault(t)
		if made, err := d.KeyFits(t.Context(), right); made || err != nil {
			t.Errorf("before the first start: %t, %v", made, err)
		}
		s, err := store.Open(t.Context(), url, store.Options{Vault: right})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Installation(t.Context(), time.Now())
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if made, err := d.KeyFits(t.Context(), right); !made || err != nil {
			t.Errorf("the right key: %t, %v", made, err)
		}
		if _, err := d.KeyFits(t.Context(), newVault(t)); !errors.Is(err, vault.ErrWrongKey) {
			t.Errorf("another key: %v", err)
		}
		byHand(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)")
		if schema, err := d.Schema(t.Context()); err != nil || !slices.Equal(schema.Newer, []int64{999}) {
			t.Errorf("schema %+v, %v", schema, err)
		}
	})
}
