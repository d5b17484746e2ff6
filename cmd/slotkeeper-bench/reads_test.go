package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

// TestByHandIsWhatTheStoreReads fills a small past on both databases and reads
// its weeks in both ways: the same answers, and on PostgreSQL, which tells, the
// same statements, but for the columns that they name.
func TestByHandIsWhatTheStoreReads(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the server")
	}
	b := testBench(t)
	name := fmt.Sprintf("bench_reads_%d", os.Getpid())
	t.Cleanup(func() {
		if err := b.drop(t.Context(), name); err != nil {
			t.Log(err) // the cluster goes anyway
		}
	})
	database, err := b.database(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, database := range []string{database, ""} {
		t.Run(cmp.Or(database, sqliteKind), func(t *testing.T) {
			t.Parallel()
			i, err := b.install(t.Context(), database)
			if err != nil {
				t.Fatal(err)
			}
			p := past{people: 5, bookings: 500, cancelEvery: 10}
			if err := b.fill(t.Context(), i, p); err != nil {
				t.Fatal(err)
			}
			v, err := vault.New(i.key)
			if err != nil {
				t.Fatal(err)
			}
			st, err := store.Open(t.Context(), cmp.Or(database, "sqlite:"+i.file()), store.Options{Vault: v})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			hand, err := openByHand(&server{installation: i})
			if err != nil {
				t.Fatal(err)
			}
			defer hand.close()

			w := p.weekly(1)
			var stored, scanned []booking.View
			var slots, slotsScanned []booking.SlotView
			byStore := executedIf(t, b, database, func() (err error) {
				if stored, err = whole(t.Context(), w, st.Bookings); err == nil {
					slots, err = whole(t.Context(), w, st.Slots)
				}
				return err
			})
			byHand := executedIf(t, b, database, func() (err error) {
				if scanned, err = hand.bookings(t.Context(), w); err == nil {
					slotsScanned, err = hand.slots(t.Context(), w)
				}
				return err
			})
			if len(stored) != 250 || !reflect.DeepEqual(stored, scanned) {
				t.Errorf("%d bookings by the store, %d by hand", len(stored), len(scanned))
			}
			if len(slots) != 250 || !reflect.DeepEqual(slots, slotsScanned) {
				t.Errorf("%d slots by the store, %d by hand", len(slots), len(slotsScanned))
			}
			if !maps.Equal(byStore, byHand) {
				t.Errorf("the store executes\n%v\nand by hand it is\n%v", slices.Sorted(maps.Keys(byStore)), slices.Sorted(maps.Keys(byHand)))
			}
		})
	}
}

// named are the columns that a statement names, the quotes of its table, and how
// many values it looks for.
var named = regexp.MustCompile(`SELECT .* FROM|"|\(\?[?, ]*\)`)

// executedIf is what a PostgreSQL database executed while f ran, from FROM on.
func executedIf(t *testing.T, b *bench, database string, f func() error) map[string]int {
	t.Helper()
	if database == "" {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	out := map[string]int{}
	for statement, n := range executed(t, b, database, f) {
		out[named.ReplaceAllString(statement, "")] += n
	}
	return out
}

// TestPast holds what the scripts write against the schema and against what a
// server would have stored: a server takes the year up and finds its ledger.
func TestPast(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and starts the server")
	}
	b := testBench(t)
	b.each = warmUp
	name := fmt.Sprintf("bench_past_%d", os.Getpid())
	t.Cleanup(func() {
		if err := b.drop(t.Context(), name); err != nil {
			t.Log(err) // the cluster goes anyway
		}
	})
	for _, name := range []string{name, ""} {
		p := year(3000)
		s, err := b.filled(t.Context(), name, p)
		if err != nil {
			t.Fatal(err)
		}
		query := func(sql string) (string, error) { return b.query(t.Context(), s, sql) }
		for sql, want := range map[string]string{
			"SELECT count(*) FROM webhook_receipts WHERE status = 'processed'":                                                      "3040",
			"SELECT count(*) FROM ledger l WHERE l.seq = (SELECT max(t.seq) FROM transitions t)":                                    "1",
			"SELECT count(*) FROM ledger l JOIN transitions t ON t.seq = l.seq AND t.hash = l.head":                                 "1",
			"SELECT count(*) FROM transitions WHERE seq <= 3000":                                                                    "3000",
			"SELECT count(*) FROM bookings WHERE status = 'canceled'":                                                               "1000",
			"SELECT count(*) FROM slots WHERE status = 'active'":                                                                    "1040",
			"SELECT count(*) FROM transitions t LEFT JOIN bookings b ON b.id = t.booking_id WHERE b.id IS NULL":                     "0",
			"SELECT count(*) FROM transitions t LEFT JOIN webhook_receipts r ON r.id = t.receipt_id WHERE r.id IS NULL":             "0",
			"SELECT count(*) FROM deliveries d LEFT JOIN webhook_receipts r ON r.id = d.receipt_id WHERE r.id IS NULL":              "0",
			"SELECT count(*) FROM bookings b LEFT JOIN sessions s ON s.id = b.session_id WHERE s.id IS NULL":                        "0",
			"SELECT count(*) FROM session_resources":                                                                                "2040",
			"SELECT count(*) FROM slots l LEFT JOIN session_resources r USING (session_id, resource_id) WHERE r.session_id IS NULL": "0",
		} {
			if got, err := query(sql); err != nil || got != want {
				t.Errorf("%s: %s (%v), want %s", sql, got, err, want)
			}
		}
		if err := b.warm(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := b.assertStored(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := b.end(t.Context(), s, name); err != nil {
			t.Error(err)
		}
	}
}

// testBench has the server built as the tests find it.
func testBench(t *testing.T) *bench {
	t.Helper()
	postgres := os.Getenv("TEST_DATABASE_URL")
	if postgres == "" {
		t.Fatal("TEST_DATABASE_URL is not set: use make test, or .ci/with-postgres")
	}
	dir := t.TempDir()
	b := &bench{settings: settings{binary: filepath.Join(dir, "slotkeeper"), postgres: postgres}, dir: dir, progress: t.Output()}
	build := exec.Command("go", "build", "-o", b.binary, "../slotkeeper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err := output(build)
	if err != nil {
		t.Fatal(err)
	}
	if b.files, err = unpack(dir); err != nil {
		t.Fatal(err)
	}
	return b
}
