package migrations_test

import (
	"bytes"
	"context"
	"database/sql"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/migrations"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
)

// Of the process that TestTwoProcessesRace starts: which database to migrate.
const (
	envDialect = "MIGRATE_DIALECT"
	envDSN     = "MIGRATE_DSN"
)

func TestMain(m *testing.M) {
	if d := os.Getenv(envDialect); d != "" {
		os.Exit(migrateOnce(migrations.Dialect(d), os.Getenv(envDSN)))
	}
	os.Exit(m.Run())
}

func migrateOnce(d migrations.Dialect, dsn string) int {
	db, err := sql.Open(driver(d), dsn)
	if err == nil {
		_, err = migrations.Up(context.Background(), db, d)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func driver(d migrations.Dialect) string {
	if d == migrations.Postgres {
		return "pgx"
	}
	return "sqlite"
}

func empty(t *testing.T, d migrations.Dialect) (*sql.DB, string) {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "a b%.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
	dsn = strings.ReplaceAll(dsn, "%", "%25")
	if d == migrations.Postgres {
		dsn = migratetest.EmptyPostgres(t)
	}
	db, err := sql.Open(driver(d), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, dsn
}

func each(t *testing.T, f func(t *testing.T, d migrations.Dialect)) {
	t.Helper()
	for _, d := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			f(t, d)
		})
	}
}

// schema lists all tables, columns, indexes, constraints and triggers.
func schema(t *testing.T, db *sql.DB, d migrations.Dialect) []string {
	t.Helper()
	query := `SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`
	if d == migrations.Postgres {
		query = `
			SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
			FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'
			UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'
			UNION ALL SELECT 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'goose%'
			UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
			UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'refuse%'`
	}
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d migrations.Dialect) {
		db, _ := empty(t, d)
		n, err := migrations.Up(t.Context(), db, d)
		if err != nil || n == 0 {
			t.Fatalf("first up applied %d: %v", n, err)
		}
		first := schema(t, db, d)
		if n, err := migrations.Up(t.Context(), db, d); err != nil || n != 0 {
			t.Errorf("second up applied %d: %v", n, err)
		}
		if err := migrations.Down(t.Context(), db, d); err != nil {
			t.Fatal(err)
		}
		if left := schema(t, db, d); len(left) != 0 {
			t.Errorf("down left %q", left)
		}
		if again, err := migrations.Up(t.Context(), db, d); err != nil || again != n {
			t.Fatalf("up after down applied %d: %v", again, err)
		}
		if again := schema(t, db, d); !slices.Equal(first, again) {
			t.Errorf("up, down, up differs from up:\n%q\n%q", first, again)
		}
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d migrations.Dialect) {
		db, _ := empty(t, d)
		before, err := migrations.Status(t.Context(), db, d)
		if err != nil || len(before) == 0 {
			t.Fatalf("%d migrations: %v", len(before), err)
		}
		for _, m := range before {
			if !m.AppliedAt.IsZero() {
				t.Errorf("%s applied at %s before up", m.Name, m.AppliedAt)
			}
		}
		if _, err := migrations.Up(t.Context(), db, d); err != nil {
			t.Fatal(err)
		}
		after, err := migrations.Status(t.Context(), db, d)
		if err != nil || len(after) != len(before) {
			t.Fatalf("%d of %d migrations: %v", len(after), len(before), err)
		}
		for _, m := range after {
			if m.AppliedAt.IsZero() {
				t.Errorf("%s pending after up", m.Name)
			}
		}
	})
}

func TestTwoProcessesRace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d migrations.Dialect) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			db, dsn := empty(t, d)
			var cmds [2]*exec.Cmd
			var said [2]bytes.Buffer
			for i := range cmds {
				cmds[i] = exec.CommandContext(t.Context(), self)
				cmds[i].Env = append(os.Environ(), envDialect+"="+string(d), envDSN+"="+dsn)
				cmds[i].Stderr = &said[i]
				if err := cmds[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			for i, cmd := range cmds {
				if err := cmd.Wait(); err != nil {
					t.Errorf("process %d: %v: %s", i, err, &said[i])
				}
			}
			if n, err := migrations.Up(t.Context(), db, d); err != nil || n != 0 {
				t.Errorf("after both, %d were left: %v", n, err)
			}
		}
	})
}

func TestUnknownDialect(t *testing.T) {
	t.Parallel()
	if _, err := migrations.Files("oracle"); err == nil {
		t.Error("no error")
	}
}

var inList = regexp.MustCompile(`CONSTRAINT (\w+) CHECK \("?\w+"? IN\s*\(([^)]*)\)`)

// closedSets are the CHECK lists of a dialect, by the constraint's name.
func closedSets(t *testing.T, d migrations.Dialect) map[string][]string {
	t.Helper()
	dir, err := migrations.Files(d)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	err = fs.WalkDir(dir, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, path)
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, m := range inList.FindAllStringSubmatch(up, -1) {
			var values []string
			for v := range strings.SplitSeq(m[2], ",") {
				values = append(values, strings.Trim(strings.TrimSpace(v), "'"))
			}
			slices.Sort(values)
			out[m[1]] = values
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sorted[T ~string](lists ...[]T) []string {
	var out []string
	for _, l := range lists {
		for _, v := range l {
			out = append(out, string(v))
		}
	}
	slices.Sort(out)
	return out
}

// TestClosedSets compares the CHECK lists of both databases with the domain's
// constants: a value that only one of them knows would be refused at runtime.
func TestClosedSets(t *testing.T) {
	t.Parallel()
	canceled := []booking.Reason{booking.ReasonCanceled, booking.ReasonRemoved, booking.ReasonDeclined, booking.ReasonRescheduled}
	reasons := sorted([]booking.Reason{
		booking.NoReason, booking.ReasonSlotTaken, booking.ReasonOverlap, booking.ReasonCapacityFull, booking.ReasonUnmapped,
		booking.ReasonIllegal, booking.ReasonStale,
	}, canceled)
	closing := sorted([]booking.Reason{booking.NoReason}, canceled)
	states := sorted([]booking.Status{booking.New}, booking.Statuses())
	actors := sorted([]booking.Actor{booking.ActorWebhook, booking.ActorSystem, "backfill", "reconcile", "replay"})
	want := map[string][]string{
		"webhook_receipts_status":      sorted(booking.ReceiptStatuses()),
		"webhook_receipts_reason":      reasons,
		"webhook_receipts_actor":       actors,
		"webhook_receipts_verified_by": {"current", "previous"},
		"deliveries_answer":            sorted(booking.ReceiptStatuses(), []booking.ReceiptStatus{booking.StatusDuplicate}),
		"deliveries_action":            {"copy", "first"},
		"bookings_status":              sorted(booking.Statuses()),
		"attendances_close_reason":     closing,
		"attendances_strongest":        closing,
		"slots_status":                 sorted([]booking.SlotStatus{booking.SlotActive, booking.SlotTentative, booking.SlotWaiting, booking.SlotReleased}),
		"transitions_event":            sorted(booking.Actions()),
		"transitions_from":             states,
		"transitions_to":               states,
		"transitions_outcome":          sorted([]booking.Outcome{booking.Applied, booking.Rejected}),
		"transitions_reason":           reasons,
		"transitions_actor":            actors,
		"users_role":                   sorted(access.Roles()),
		"users_first_weekday":          {"0", "1", "6"}, // access.FirstWeekdays
		"users_appearance":             sorted(access.Appearances()),
		"role_privacy_role":            sorted(access.HideableRoles()),
		"api_tokens_scope":             {"admin", "operate", "read"},
		"feeds_level":                  sorted(booking.FeedLevels()),
		"connections_subscription":     sorted(providers.Subscriptions()),
		"runs_kind":                    sorted(booking.RunKinds()),
		"runs_status":                  sorted(booking.RunStatuses()),
		"drifts_kind":                  sorted(booking.DriftKinds()),
		"replays_status":               sorted(booking.RunStatuses()),
		"retention_runs_kind":          {"erase", "rekey", "retention"}, // the store's own
		"erased_people_kind":           {"email", "phone"},
		"effects_status":               sorted(booking.EffectStatuses()),
		"effects_actor":                actors,
		"alerts_kind":                  sorted(booking.TroubleKinds()),
		"alerts_level":                 sorted(booking.AlertLevels()),
		"effect_attempts_cause":        append([]string{""}, sorted(booking.AttemptCauses())...),
		"endpoints_off":                append([]string{""}, sorted(booking.EndpointOffs())...),
		"alert_recipients_channel":     sorted(booking.AlertChannels()),
		"alert_recipients_least":       sorted(booking.AlertLevels()),
	}
	for _, d := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		if got := closedSets(t, d); !reflect.DeepEqual(got, want) {
			for name := range want {
				if !slices.Equal(got[name], want[name]) {
					t.Errorf("%s: %s allows %q, the domain knows %q", d, name, got[name], want[name])
				}
			}
			for name := range got {
				if want[name] == nil {
					t.Errorf("%s: the list %s is compared with nothing", d, name)
				}
			}
		}
	}
}
