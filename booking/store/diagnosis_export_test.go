package store

import (
	"io/fs"
	"regexp"
	"testing"

	"slotkeeper/migrations"
)

// Fences are what a diagnosis looks for.
func Fences(d migrations.Dialect) []string { return fences[d] }

// TriggersIn are the names of the triggers that migrations make.
func TriggersIn(t *testing.T, files fs.FS) []string {
	t.Helper()
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^CREATE TRIGGER (\w+)`).FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
	}
	return out
}
