package main

import (
	"strings"
	"testing"
	"time"
)

// The command says that all is well with exit code 0, names a flaw with 1, and
// finds with a head that was kept what it cannot find without.
func TestAuditVerify(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		for i, kind := range []string{"invitee.created", "invitee.canceled", "invitee.created"} {
			a.must(t, genericBody(kind, "one", "room@example.com", monday.Add(time.Duration(i)*time.Minute), monday, monday.Add(time.Hour)))
		}
		type verification struct {
			OK          bool
			Transitions int
			Seq         int64
			Head        string
			Findings    []struct {
				Flaw string
				From int64
			}
			Heads []struct{ Seq *int64 }
		}
		var v verification
		decode(t, s.run(t, "audit", "verify", "--json"), &v)
		if !v.OK || v.Transitions != 3 || v.Seq != 3 || len(v.Head) != 64 || len(v.Findings) != 0 {
			t.Fatalf("found %+v", v)
		}
		kept := v.Head
		a.must(t, genericBody("invitee.created", "two", "room@example.com", monday, monday, monday.Add(time.Hour)))
		text := s.run(t, "audit", "verify", "--head", kept)
		if !strings.Contains(text, "4 transitions checked: none was changed") || !strings.Contains(text, kept+" is transition 3's") || !strings.Contains(text, "cannot find") {
			t.Errorf("says %s", text)
		}
		complaint := s.refuses(t, "audit", "verify", "--head", strings.Repeat("ab", 32))
		if !strings.Contains(complaint, "1 finding") {
			t.Errorf("a foreign head: %s", complaint)
		}
		if complaint := s.refuses(t, "audit", "verify", "--head", "abc"); !strings.Contains(complaint, "64 hexadecimal digits") {
			t.Errorf("half a head: %s", complaint)
		}
	})
}
