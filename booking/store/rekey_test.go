package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
	"slotkeeper/migrations/migratetest"
)

func vaultOf(t *testing.T, word string) *vault.Vault {
	t.Helper()
	key := sha256.Sum256([]byte(word))
	v, err := vault.New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rekeyed opens the database as a command does that is alone with it.
func rekeyed(t *testing.T, url, key string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Vault: vaultOf(t, key), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Everything that is sealed opens with the new key, and with no other, also after
// a change that was cut off and gone on with; until it ended nobody may begin.
func TestRekey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test runs it")
	}
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := fresh(t)
			b := storetest.NewBench(t, url)
			pepper, err := b.Installation(t.Context(), storetest.Now)
			if err != nil {
				t.Fatal(err)
			}
			var receipts []uuid.UUID
			for part := range 3 {
				var set []booking.Post
				for i := range 100 {
					id := fmt.Sprint("b", part, "-", i)
					p := b.Post(bt.New(bt.Calendly, cre, id, 1, bt.When("10:00", "10:30"), bt.With(id)))
					receipts = append(receipts, p.ReceiptID)
					set = append(set, p)
				}
				b.ApplyPosts(t, set...)
			}
			b.Apply(t, bt.New(bt.Calendly, booking.KindNoShow, "waits", 5, bt.For("priya"), bt.Missed(true)))
			fetched := b.Post(bt.New(bt.Calcom, cre, "fetched", 1, bt.When("10:00", "10:30"), bt.With("maren")))
			fetched.Status, fetched.Subject, fetched.Event = booking.StatusPending, "fetched", nil
			b.ApplyPosts(t, fetched)
			settled := b.Post(bt.New(bt.Calcom, cre, "fetched", 1, bt.When("10:00", "10:30"), bt.With("maren")))
			settled.ReceiptID, settled.EventKey, settled.Settles, settled.Snapshot = fetched.ReceiptID, fetched.EventKey, true, []byte("a snapshot")
			b.ApplyPosts(t, settled)

			begun := rekeyed(t, url, "storetest")
			next := vaultOf(t, "next")
			if b.Dialect() == migrations.Postgres {
				// The bench is a server that is still there.
				if _, err := begun.Rekey(t.Context(), next, storetest.Now, func(int64) error { return nil }); !errors.Is(err, store.ErrInUse) {
					t.Fatalf("beside others: %v", err)
				}
				if _, err := b.Installation(t.Context(), storetest.Now); err != nil {
					t.Fatalf("a change that was refused keeps others out: %v", err)
				}
			}
			closeAll(t, b)
			stop := errors.New("stop")
			batches := 0
			_, err = begun.Rekey(t.Context(), next, storetest.Now, func(int64) error {
				if batches++; batches == 3 {
					return stop
				}
				return nil
			})
			if !errors.Is(err, stop) {
				t.Fatalf("cut off: %v", err)
			}
			for _, key := range []string{"storetest", "next"} {
				if _, err := rekeyedInstallation(t, url, key); !errors.Is(err, store.ErrRekeying) {
					t.Errorf("in between, %s opens it: %v", key, err)
				}
			}
			if err := begun.Close(); err != nil {
				t.Fatal(err)
			}
			again := rekeyed(t, url, "storetest")
			if _, err := again.Rekey(t.Context(), vaultOf(t, "a third"), storetest.Now, func(int64) error { return nil }); err == nil {
				t.Error("gone on with by another new key")
			}
			done, err := again.Rekey(t.Context(), next, storetest.Now, func(int64) error { return nil })
			if err != nil || done.Already || done.Values == 0 || done.Values >= 300 {
				t.Fatalf("gone on: %+v, %v", done, err)
			}
			if done, err := again.Rekey(t.Context(), next, storetest.Now, func(int64) error { return nil }); err != nil || !done.Already {
				t.Errorf("a third time: %+v, %v", done, err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := rekeyedInstallation(t, url, "storetest"); !errors.Is(err, vault.ErrWrongKey) {
				t.Errorf("the key of before opens it: %v", err)
			}
			s := rekeyed(t, url, "next")
			if now, err := s.Installation(t.Context(), storetest.Now); err != nil || !bytes.Equal(now, pepper) {
				t.Errorf("the pepper changed: %v", err)
			}
			for _, id := range append(slices.Clone(receipts), fetched.ReceiptID) {
				if body, err := s.ReceiptBody(t.Context(), id); err != nil || len(body) == 0 {
					t.Fatalf("the body of %s: %q, %v", id, body, err)
				}
			}
			conn, err := s.Connection(t.Context(), b.Conn["calendly"])
			if err != nil || conn.Secrets.Current != "secret of calendly" {
				t.Errorf("the connection's secret: %+v, %v", conn.Secrets.Current, err)
			}
			// What waited opens when its booking comes.
			p := b.Post(bt.New(bt.Calendly, cre, "waits", 1, bt.When("15:00", "15:30"), bt.With("lena"), bt.For("priya")))
			if _, err := s.Apply(t.Context(), []booking.Post{p}, storetest.Now); err != nil {
				t.Fatal(err)
			}
			if v, err := s.Booking(t.Context(), booking.ID(bt.Calendly, "waits", "")); err != nil || !v.NoShow {
				t.Errorf("what waited: %+v, %v", v, err)
			}
		})
	}
}

func closeAll(t *testing.T, b *storetest.Bench) {
	t.Helper()
	if err := errors.Join(b.SQL.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func rekeyedInstallation(t *testing.T, url, key string) ([]byte, error) {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Vault: vaultOf(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Installation(context.WithoutCancel(t.Context()), storetest.Now)
}

// Every column of bytes is either sealed anew with the key or known not to be
// sealed: one that is forgotten would be lost with the key of before.
func TestSealedColumnsAreKnown(t *testing.T) {
	t.Parallel()
	known := append(store.SealedColumns(),
		"installation.pepper", "installation.key_check", "installation.next_key_check",
		"api_tokens.hash", "feeds.hash", "signin_links.hash", "web_sessions.data", "ledger.head", "transitions.prev", "transitions.hash", "webhook_receipts.body_sha256")
	b := storetest.NewBench(t, migratetest.Postgres(t))
	rows, err := b.SQL.QueryContext(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name NOT LIKE 'river%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(known, column) {
			t.Errorf("%s: is it sealed? Then sealedTables must have it", column)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
