package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What people do wrong at three in the morning must not make it worse.
func TestMissteps(t *testing.T) {
	t.Parallel()
	t.Run("a lost key is not replaced", func(t *testing.T) {
		t.Parallel()
		s := prepare(t, "", "SLOTKEEPER_SECRET_KEY=")
		s.run(t, "token", "create", "--name", "first")
		key := filepath.Join(s.dir, "secret.key")
		if err := os.Remove(key); err != nil {
			t.Fatal(err)
		}
		if _, err := s.try(t, "", "connections", "list"); err == nil || !strings.Contains(err.Error(), "put your copy of the key back") {
			t.Errorf("without its key: %v", err)
		}
		if _, err := os.Stat(key); !os.IsNotExist(err) {
			t.Errorf("a new key was made: %v", err)
		}
	})
	t.Run("a wrong directory is not filled", func(t *testing.T) {
		t.Parallel()
		s := prepare(t, "")
		if _, err := s.try(t, "", "connections", "list"); err == nil || !strings.Contains(err.Error(), "SLOTKEEPER_DATA_DIR") {
			t.Errorf("in an empty directory: %v", err)
		}
		if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
			t.Errorf("it holds %v now, %v", left, err)
		}
	})
	t.Run("an open rotation is not overrun", func(t *testing.T) {
		t.Parallel()
		s := prepare(t, "")
		id := s.connect(t, "generic").id.String()
		s.run(t, "connections", "rotate", id)
		if _, err := s.try(t, "", "connections", "rotate", id); err == nil || !strings.Contains(err.Error(), "--finish") {
			t.Errorf("rotating again: %v", err)
		}
		s.run(t, "connections", "rotate", id, "--force")
		s.run(t, "connections", "rotate", id, "--finish")
		s.run(t, "connections", "rotate", id)
	})
	t.Run("help tells no secret", func(t *testing.T) {
		t.Parallel()
		s := prepare(t, "postgres://clinic:planted-password@127.0.0.1:1/none")
		if out := s.run(t, "serve", "--help"); strings.Contains(out, "planted-password") {
			t.Error("the help shows the database's password")
		}
	})
}
