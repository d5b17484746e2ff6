package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"slotkeeper/booking/vault"
)

type slotItem struct {
	ResourceID string    `json:"resource_id"`
	StartsAt   time.Time `json:"starts_at"`
	EndsAt     time.Time `json:"ends_at"`
}

// loadBody is the nth delivery of a load: bookings that are made, canceled and
// made late, on places that overlap.
func loadBody(n int) []byte {
	i := n / 3
	from := monday.Add(time.Duration(i%40) * 20 * time.Minute)
	kind := []string{"invitee.created", "invitee.canceled", "invitee.created"}[n%3]
	if i%2 == 0 { // half of them are never canceled
		kind = "invitee.created"
	}
	said := monday.AddDate(0, 0, -9).Add(time.Duration(n) * time.Second)
	return genericBody(kind, fmt.Sprint("load-", i), fmt.Sprintf("room%d@example.com", i%3), said, from, from.Add(30*time.Minute))
}

// A backup that is taken while deliveries come in holds all that was acknowledged
// before it began, and what it holds keeps every promise once it is restored.
func TestRestoreOfABackupUnderLoad(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	a := s.connect(t, "generic")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var acked [][]byte
	next := 0
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				body := loadBody(n)
				if ack, err := a.send(context.WithoutCancel(ctx), body); err != nil || ack.HTTP/100 != 2 {
					t.Errorf("delivery %d: %v, %+v", n, err, ack)
					return
				}
				mu.Lock()
				acked = append(acked, body)
				mu.Unlock()
			}
		})
	}
	waitFor(t, "some load", func() error {
		if count() < 300 {
			return errors.New("few deliveries yet")
		}
		return nil
	})
	before := count()
	file := filepath.Join(t.TempDir(), "backup.db")
	var made backupJSON
	decode(t, s.run(t, "backup", file, "--json"), &made)
	during := count()
	waitFor(t, "load after the backup", func() error {
		if count() < during+50 {
			return errors.New("few deliveries yet")
		}
		return nil
	})
	stop()
	senders.Wait()
	if during == before {
		t.Error("no delivery was taken while the backup was made")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the backup: %v, %v", info, err)
	}
	if made.Receipts < int64(before) || made.Receipts >= int64(len(acked)) || !made.AuditIntact {
		t.Errorf("of %d acknowledged before and %d in all, it holds %+v", before, len(acked), made)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("beside the backup: %v, %v", left, err)
	}

	r := prepare(t, "")
	r.run(t, "restore", file)
	r.start(t)
	b := a.on(r)
	token := r.token(t, "read")
	if out := r.run(t, "audit", "verify", "--head", made.Head); !strings.Contains(out, "none was changed") {
		t.Errorf("the audit of the restored: %s", out)
	}
	state := func() map[string]string {
		out := map[string]string{}
		for _, v := range api[bookingItem](t, r, token, "bookings") {
			out[v.ExternalID] = v.Status
		}
		return out
	}
	restored := state()
	for i, body := range acked[:before] {
		if ack := b.must(t, body); ack.Status != "duplicate" {
			t.Fatalf("delivery %d was acknowledged before the backup, and the restored answers %s", i, ack.Status)
		}
	}
	for id, status := range state() {
		if restored[id] != status {
			t.Errorf("copies made %s %s of %s", id, status, restored[id])
		}
	}
	for _, body := range acked { // as providers would that try again, and a comparison
		b.must(t, body)
	}
	whole := state()
	for _, v := range api[bookingItem](t, s, s.token(t, "read"), "bookings") {
		if (whole[v.ExternalID] == "canceled") != (v.Status == "canceled") || whole[v.ExternalID] == "" {
			t.Errorf("%s is %q in the restored, and %q in the other", v.ExternalID, whole[v.ExternalID], v.Status)
		}
	}
	for id, status := range restored {
		if status == "canceled" && whole[id] != "canceled" {
			t.Errorf("%s came back as %s", id, whole[id])
		}
	}
	held := map[string][]slotItem{}
	for _, v := range api[slotItem](t, r, token, "slots?status=active") {
		for _, o := range held[v.ResourceID] {
			if o.StartsAt.Before(v.EndsAt) && v.StartsAt.Before(o.EndsAt) {
				t.Errorf("%v and %v overlap", o, v)
			}
		}
		held[v.ResourceID] = append(held[v.ResourceID], v)
	}
	if len(held) != 3 {
		t.Errorf("slots of %d resources", len(held))
	}
}

// What could lose something is refused before anything is touched.
func TestBackupAndRestoreRefuse(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	s.connect(t, "generic").must(t, loadBody(0))
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	s.run(t, "backup", file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := bytes.Clone(whole)
	for i := len(damaged) / 2; i < len(damaged)/2+9000; i++ {
		damaged[i] ^= 0x55
	}
	otherKey := "SLOTKEEPER_SECRET_KEY=" + base64.StdEncoding.EncodeToString(vault.NewKey())
	stopped := prepare(t, "")
	foreign := prepare(t, "", otherKey)
	foreign.env = append(foreign.env, otherKey)
	keyless := prepare(t, "")
	keyless.env = append(keyless.env, "SLOTKEEPER_SECRET_KEY=")
	for _, c := range []struct {
		what string
		on   *server
		args []string
		want string
	}{
		{"a backup over a file", s, []string{"backup", file}, "replaces nothing"},
		{"a backup into a folder that is not there", s, []string{"backup", filepath.Join(dir, "no", "backup.db")}, "no such file"},
		{"a backup of nothing", stopped, []string{"backup", filepath.Join(dir, "new.db")}, "there is no database"},
		{"a restore beside a running server", s, []string{"restore", file}, "stop the server"},
		{"a damaged backup", stopped, []string{"restore", write("damaged.db", damaged)}, "damaged"},
		{"half a backup", stopped, []string{"restore", write("half.db", whole[:len(whole)/2])}, ""},
		{"a text", stopped, []string{"restore", write("text.db", []byte(strings.Repeat("no database ", 100)))}, "no database"},
		{"nothing", stopped, []string{"restore", write("empty.db", nil)}, "no database"},
		{"a file that is not there", stopped, []string{"restore", filepath.Join(dir, "missing.db")}, "no such file"},
		{"a backup of another key", foreign, []string{"restore", file}, "is not the key"},
		{"a restore without the key", keyless, []string{"restore", file}, "put your copy of the key there first"},
	} {
		if complaint := c.on.refuses(t, c.args...); !strings.Contains(complaint, c.want) {
			t.Errorf("%s: %s", c.what, complaint)
		}
	}
	for _, o := range []*server{stopped, foreign, keyless} {
		if left, err := os.ReadDir(o.dir); err != nil || len(left) != 0 {
			t.Errorf("a restore that was refused leaves %v, %v", left, err)
		}
	}
	s.stop(t)
	out := s.run(t, "restore", file)
	kept, err := filepath.Glob(filepath.Join(s.dir, "slotkeeper.db.before-restore-*"))
	if err != nil || len(kept) != 1 || !strings.Contains(out, kept[0]) {
		t.Fatalf("kept %v, %v: %s", kept, err, out)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(kept[0] + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has a file %s beside it", kept[0], suffix)
		}
	}
	s.start(t)
	s.run(t, "audit", "verify")

	pg := prepare(t, "postgres://nobody@127.0.0.1:1/none")
	for _, args := range [][]string{{"backup", filepath.Join(dir, "pg.db")}, {"restore", file}} {
		if complaint := pg.refuses(t, args...); !strings.Contains(complaint, "pg_dump") {
			t.Errorf("%v on PostgreSQL: %s", args, complaint)
		}
	}
}
