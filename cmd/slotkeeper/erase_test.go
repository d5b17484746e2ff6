package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func aboutPerson(kind, id, name, email, phone, zone string, said, from time.Time) []byte {
	b, err := json.Marshal(map[string]any{
		"type": kind, "occurred_at": said.UTC().Format(time.RFC3339Nano),
		"booking": map[string]any{
			"id": id, "title": "Visit of " + name, "location": "tel:" + phone, "resource": "room@example.com",
			"starts_at": from.UTC().Format(time.RFC3339Nano), "ends_at": from.Add(30 * time.Minute).UTC().Format(time.RFC3339Nano),
			"invitee": map[string]any{"name": name, "email": email, "phone": phone, "timezone": zone},
		},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// Nothing of a person who was erased can be found: not in the database's files or
// its dump, a backup, an export, an answer or a log; and copies, replays, a restart
// and new bookings do not bring it back.
func TestErasedStaysErased(t *testing.T) {
	t.Parallel()
	long(t)
	const name, email, phone = "Wulan Prastiwi", "wulan.prastiwi@mail.example", "+62 811-4440-7788"
	traces := []string{"Wulan", "Prastiwi", "wulan.prastiwi", "4440-7788", "44407788", "Asia/Makassar"}
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		var bodies [][]byte
		tell := func(kind, id string, said, hours int) acknowledgement {
			t.Helper()
			body := aboutPerson(kind, id, name, email, phone, "Asia/Makassar", monday.AddDate(0, 0, -9).Add(time.Duration(said)*time.Minute), monday.Add(time.Duration(hours)*time.Hour))
			bodies = append(bodies, body)
			return a.must(t, body)
		}
		tell("invitee.created", "one", 1, 0)
		tell("booking.moved", "one", 2, 1)
		tell("invitee.created", "two", 3, 2)
		tell("invitee.canceled", "two", 4, 2)
		tell("invitee.created", "two", 5, 2) // refused
		a.must(t, aboutPerson("invitee.created", "other", "Jonas Keller", "jonas.keller@mail.example", "+49 30 5550 123", "Europe/Berlin", monday.AddDate(0, 0, -9), monday.Add(5*time.Hour)))

		preview := s.run(t, "erase", "--email", strings.ToUpper(email))
		if !strings.Contains(preview, "2 bookings") || !strings.Contains(preview, "5 receipts") || !strings.Contains(preview, "nothing was changed") {
			t.Errorf("the preview says %s", preview)
		}
		if out := s.run(t, "audit", "export", "--format", "csv"); !strings.Contains(out, name) {
			t.Fatalf("the preview erased, or the test looks in vain: %s", out)
		}
		var done erasureJSON
		decode(t, s.run(t, "erase", "--email", email, "--yes", "--json"), &done)
		if !done.Erased || done.Bookings != 2 || done.Receipts != 5 {
			t.Errorf("erased %+v", done)
		}
		token := s.token(t, "operate")
		search := func(when string) {
			t.Helper()
			places := map[string][]byte{
				"the export":        []byte(s.run(t, "audit", "export", "--format", "jsonl")),
				"the log":           []byte(s.log.String()),
				"the API":           []byte(s.get(t, "/api/v1/bookings?limit=200", token)),
				"the receipts' API": []byte(s.get(t, "/api/v1/receipts?limit=200", token)),
			}
			s.everyFile(t, places)
			for place, text := range places {
				for _, trace := range traces {
					if at := bytes.Index(bytes.ToLower(text), bytes.ToLower([]byte(trace))); at >= 0 {
						t.Errorf("%s, %q is in %s: …%q…", when, trace, place, text[max(0, at-60):min(len(text), at+60)])
					}
				}
			}
		}
		search("erased")
		if text := s.get(t, "/api/v1/bookings?limit=200", token); !strings.Contains(text, "Jonas Keller") {
			t.Errorf("another person is gone: %s", text)
		}
		for i, body := range bodies {
			if ack := a.must(t, body); ack.Status != "duplicate" {
				t.Errorf("copy %d is %s", i, ack.Status)
			}
		}
		tell("invitee.created", "three", 6, 8)
		tell("booking.moved", "one", 7, 3)
		s.run(t, "replay", "--all")
		s.stop(t)
		s.start(t)
		tell("invitee.created", "four", 8, 9)
		search("after copies, new bookings, a replay and a restart")
		want := map[string]string{"one": "active", "two": "canceled", "three": "active", "four": "active", "other": "active"}
		for _, v := range api[bookingItem](t, s, token, "bookings") {
			if v.Status != want[v.ExternalID] {
				t.Errorf("%s is %s", v.ExternalID, v.Status)
			}
		}
		s.run(t, "audit", "verify")
		if out := s.run(t, "erase", "--email", email, "--yes"); !strings.HasPrefix(out, "nothing was left to erase") {
			t.Errorf("a second time it says %s", out)
		}
		if complaint := s.refuses(t, "erase", "--email", name); !strings.Contains(complaint, "is no e-mail address: give one like") {
			t.Errorf("a name is refused with %s", complaint)
		}
		for _, args := range [][]string{{}, {"--email", email, "--phone", phone}, {"--phone", "12"}, {"--email", "room@example.com"}} {
			s.refuses(t, append([]string{"erase"}, args...)...)
		}
	})
}

// everyFile adds what lies on disk: the data directory and a backup, or the dump of
// the server's database.
func (s *server) everyFile(t *testing.T, places map[string][]byte) {
	t.Helper()
	if s.db != "" {
		dump, err := exec.CommandContext(t.Context(), pgBinary("pg_dump"), "--dbname", s.db).Output()
		if err != nil || len(dump) == 0 {
			t.Fatalf("pg_dump: %v", err)
		}
		places["the dump"] = dump
	} else {
		backup := filepath.Join(t.TempDir(), "backup.db")
		s.run(t, "backup", backup)
		text, err := os.ReadFile(backup)
		if err != nil {
			t.Fatal(err)
		}
		places["the backup"] = text
	}
	err := fs.WalkDir(os.DirFS(s.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(s.dir, path))
		places[fmt.Sprint("the file ", path)] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Who was erased after a backup was made is in it again, and is erased again: by
// restore itself while the database that it replaces is there, else by the list that
// was kept.
func TestRestoreErasesAgain(t *testing.T) {
	t.Parallel()
	const name, email, phone = "Wulan Prastiwi", "wulan.prastiwi@mail.example", "+62 811-4440-7788"
	s := newServer(t, "")
	a := s.connect(t, "generic")
	a.must(t, aboutPerson("invitee.created", "one", name, email, phone, "Asia/Makassar", monday.AddDate(0, 0, -9), monday))
	backup := filepath.Join(t.TempDir(), "backup.db")
	s.run(t, "backup", backup)
	s.run(t, "erase", "--email", email, "--yes")
	list := filepath.Join(t.TempDir(), "erased.json")
	text := s.run(t, "erase", "--list")
	if strings.Contains(text, "wulan") || !strings.Contains(text, `"kind": "email"`) {
		t.Errorf("the list is %s", text)
	}
	must(t, os.WriteFile(list, []byte(text), 0o600))
	s.stop(t)
	exported := func() string { return s.run(t, "audit", "export", "--format", "csv") }
	s.run(t, "restore", backup)
	if out := exported(); strings.Contains(out, name) || !strings.Contains(out, ",applied,") {
		t.Errorf("restored beside what was there: %s", out)
	}
	if out := s.run(t, "audit", "export", "--view", "admin", "--format", "jsonl", "--action", "person.erased_again"); !strings.Contains(out, `"because":"a backup was restored"`) ||
		!strings.Contains(out, `"first_by":"system"`) {
		t.Errorf("the log says %s", out)
	}
	must(t, os.Remove(filepath.Join(s.dir, "slotkeeper.db")))
	s.run(t, "restore", backup)
	if out := exported(); !strings.Contains(out, name) {
		t.Fatalf("the test looks in vain: %s", out)
	}
	if out := s.run(t, "erase", "--from", list); !strings.Contains(out, "1 booking,") || !strings.Contains(out, "nothing was changed") {
		t.Errorf("the preview says %s", out)
	}
	s.run(t, "erase", "--from", list, "--yes")
	for _, more := range [][]string{{}, {"--yes"}} {
		if out := s.run(t, append([]string{"erase", "--from", list}, more...)...); !strings.HasPrefix(out, "nothing is left to erase") {
			t.Errorf("a second time it says %s", out)
		}
	}
	if out := exported(); strings.Contains(out, name) {
		t.Errorf("erased by the list: %s", out)
	}
	must(t, os.WriteFile(list, []byte(strings.Replace(text, `"installation": "`, `"installation": "f`, 1)), 0o600))
	s.refuses(t, "erase", "--from", list, "--yes")
	s.refuses(t, "erase", "--from", backup)
	s.refuses(t, "erase", "--from", list, "--email", email)
}
