package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slotkeeper/booking/vault"
)

// The key is changed while nothing runs; then all goes on with the new one, and
// the one of before opens nothing.
func TestKeyRotate(t *testing.T) {
	t.Parallel()
	long(t)
	fresh := base64.StdEncoding.EncodeToString(vault.NewKey())
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		first := a.must(t, loadBody(0))
		s.env = append(s.env, "SLOTKEEPER_NEW_SECRET_KEY="+fresh)
		if complaint := s.refuses(t, "key", "rotate"); !strings.Contains(complaint, "in use") {
			t.Errorf("beside a running server: %s", complaint)
		}
		a.must(t, loadBody(3))
		s.stop(t)
		if out := s.run(t, "key", "rotate"); !strings.Contains(out, "set SLOTKEEPER_SECRET_KEY") {
			t.Errorf("says %s", out)
		}
		if complaint := s.refuses(t, "serve"); !strings.Contains(complaint, "SLOTKEEPER_SECRET_KEY") {
			t.Errorf("with the key of before: %s", complaint)
		}
		s.env = append(s.env, "SLOTKEEPER_SECRET_KEY="+fresh, "SLOTKEEPER_NEW_SECRET_KEY=")
		s.start(t)
		if ack := a.must(t, loadBody(0)); ack.Status != "duplicate" || ack.EventID != first.EventID {
			t.Errorf("a copy after the change: %+v", ack)
		}
		a.must(t, loadBody(6))
		s.run(t, "audit", "verify")
		s.stop(t)
		for _, c := range []struct{ env, want string }{
			{"SLOTKEEPER_NEW_SECRET_KEY=", "is missing"},
			{"SLOTKEEPER_NEW_SECRET_KEY=short", "SLOTKEEPER_NEW_SECRET_KEY"},
			{"SLOTKEEPER_NEW_SECRET_KEY=" + fresh, "the key of before"},
		} {
			o := *s
			o.env = append(append([]string{}, s.env...), c.env)
			if complaint := o.refuses(t, "key", "rotate"); !strings.Contains(complaint, c.want) {
				t.Errorf("%s: %s", c.env, complaint)
			}
		}
	})
}

// The key file changes with what it seals, also when the process died before it
// could.
func TestKeyRotateFile(t *testing.T) {
	t.Parallel()
	long(t)
	s := prepare(t, "", "SLOTKEEPER_SECRET_KEY=")
	for i, v := range s.env {
		if strings.HasPrefix(v, "SLOTKEEPER_SECRET_KEY=") {
			s.env[i] = "SLOTKEEPER_SECRET_KEY="
		}
	}
	s.start(t)
	a := s.connect(t, "generic")
	a.must(t, loadBody(0))
	s.stop(t)
	file := filepath.Join(s.dir, "secret.key")
	read := func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := read()
	s.run(t, "key", "rotate")
	after := read()
	if after == before {
		t.Fatal("the key is the same")
	}
	if _, err := os.Stat(file + ".new"); err == nil {
		t.Error("a second key is left")
	}
	// As if the process had died between the database and the file.
	for name, text := range map[string]string{file: before, file + ".new": after} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if complaint := s.refuses(t, "serve"); !strings.Contains(complaint, "key rotate") {
		t.Errorf("says %s", complaint)
	}
	if out := s.run(t, "key", "rotate"); !strings.Contains(out, "already") || read() != after {
		t.Errorf("gone on: %s", out)
	}
	s.start(t)
	if ack := a.must(t, loadBody(0)); ack.Status != "duplicate" {
		t.Errorf("a copy after the change: %+v", ack)
	}
}
