package store_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
)

var installedAt = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// eachDatabase gives the test a migrated database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"sqlite": migratetest.SQLite, "postgres": migratetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, url(t))
		})
	}
}

func openWith(t *testing.T, url string, key []byte) *store.Store {
	t.Helper()
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), url, store.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestInstallationIsMadeOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		key := vault.NewKey()
		peppers := make([][]byte, 4)
		stores := make([]*store.Store, len(peppers)) // processes that start at once
		for i := range stores {
			stores[i] = openWith(t, url, key)
		}
		var wg sync.WaitGroup
		for i := range peppers {
			wg.Go(func() {
				var err error
				if peppers[i], err = stores[i].Installation(t.Context(), installedAt); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, p := range peppers {
			if len(p) != 32 || !bytes.Equal(p, peppers[0]) {
				t.Errorf("pepper %x, another start has %x", p, peppers[0])
			}
		}
	})
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		key := vault.NewKey()
		pepper, err := openWith(t, url, key).Installation(t.Context(), installedAt)
		if err != nil {
			t.Fatal(err)
		}
		_, err = openWith(t, url, vault.NewKey()).Installation(t.Context(), installedAt)
		if !errors.Is(err, vault.ErrWrongKey) || !strings.Contains(err.Error(), "SLOTKEEPER_SECRET_KEY") {
			t.Errorf("error %v", err)
		}
		again, err := openWith(t, url, key).Installation(t.Context(), installedAt)
		if err != nil || !bytes.Equal(again, pepper) {
			t.Errorf("with the right key again: %x, %v; want %x", again, err, pepper)
		}
	})
}
