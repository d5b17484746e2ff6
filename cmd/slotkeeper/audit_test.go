package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// The command writes what the page exports, to the byte: of everything, and of
// what each filter leaves.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		a, b := s.connect(t, "generic"), s.connect(t, "generic")
		book := func(c connected, kind, id string, said, hour int) {
			t.Helper()
			from := monday.Add(time.Duration(hour) * time.Hour)
			c.must(t, genericBody(kind, id, "room@example.com", monday.AddDate(0, 0, said-9), from, from.Add(30*time.Minute)))
		}
		book(a, "invitee.created", "first", 1, 0)
		book(b, "invitee.created", "rival", 2, 0)
		book(a, "invitee.canceled", "first", 3, 0)
		book(a, "invitee.created", "first", 2, 0)

		lines := func(args ...string) []map[string]any {
			t.Helper()
			var out []map[string]any
			for in := json.NewDecoder(strings.NewReader(s.run(t, append([]string{"audit", "export", "--format", "jsonl"}, args...)...))); in.More(); {
				var line map[string]any
				if err := in.Decode(&line); err != nil {
					t.Fatal(err)
				}
				out = append(out, line)
			}
			return out
		}
		all := lines()
		if len(all) < 5 || all[0]["outcome"] != "rejected" || all[0]["reason"] != "illegal_transition" {
			t.Fatalf("lines %v", all)
		}
		count := func(key string, value any) (n int) {
			for _, line := range all {
				if line[key] == value {
					n++
				}
			}
			return n
		}
		first, _ := all[0]["booking_id"].(string)
		resources, _ := all[0]["resource_ids"].([]any)
		room, _ := resources[0].(string)
		for _, c := range []struct {
			args []string
			want int
		}{
			{[]string{"--reason", "illegal_transition"}, 1},
			{[]string{"--outcome", "rejected"}, 1},
			{[]string{"--troubled"}, 2},
			{[]string{"--booking", first}, count("booking_id", first)},
			{[]string{"--connection", b.id.String()}, count("connection_id", b.id.String())},
			{[]string{"--provider", "generic"}, len(all)},
			{[]string{"--provider", "acuity"}, 0},
			{[]string{"--resource", room}, len(all)},
			{[]string{"--actor", "system"}, count("actor", "system")},
			{[]string{"--actor", "user"}, 0},
			{[]string{"--text", "rival"}, count("booking_id", all[slices.IndexFunc(all, func(l map[string]any) bool { return l["booking_id"] != first })]["booking_id"])},
			{[]string{"--from", "2020-01-01", "--to", "2020-01-02T00:00:00Z"}, 0},
			{[]string{"--from", "2020-01-01"}, len(all)},
		} {
			if got := lines(c.args...); len(got) != c.want {
				t.Errorf("%v leaves %d, not %d", c.args, len(got), c.want)
			}
		}

		text := s.run(t, "audit", "export", "--format", "csv")
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != len(all)+1 || !strings.HasSuffix(text, "\r\n") {
			t.Errorf("%d rows: %v", len(rows), err)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		res, err := browser.PostForm(s.url+"/signin", url.Values{"username": {"admin"}, "password": {adminPassword}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		for format, want := range map[string]string{"csv": text, "jsonl": s.run(t, "audit", "export", "--format", "jsonl")} {
			if got := getPage(t, browser, s.url+"/audit/export."+format+"?show=all&range=all"); got != want {
				t.Errorf("the page's %s is not the command's:\n%s\n%s", format, got, want)
			}
		}
		deeds := s.run(t, "audit", "export", "--view", "admin", "--format", "jsonl", "--action", "token.created")
		s.token(t, "read")
		if after := s.run(t, "audit", "export", "--view", "admin", "--format", "jsonl", "--action", "token.created"); strings.Count(after, "\n") != strings.Count(deeds, "\n")+1 {
			t.Errorf("tokens made are %s, and one more %s", deeds, after)
		} else if got := getPage(t, browser, s.url+"/audit/export.jsonl?view=admin&range=all&action=token.created"); got != after {
			t.Errorf("the page's log of actions is not the command's:\n%s\n%s", got, after)
		}
		log := getPage(t, browser, s.url+"/audit?view=admin&action=admin_log.exported")
		if strings.Count(log, " exported this log of accounts and actions.") != 3 {
			t.Errorf("exports of the log of actions are not in it:\n%s", log)
		}
		log = getPage(t, browser, s.url+"/audit?view=admin&action=audit.exported")
		if strings.Count(log, " exported the audit.") < 4 || !strings.Contains(log, "admin exported the audit.") {
			t.Errorf("the exports are not in the log:\n%s", log)
		}
		for _, bad := range [][]string{
			{"--format", "xlsx"},
			{"--from", "soon"},
			{"--to", "31.12.2026"},
			{"--booking", "mine"},
			{"--connection", "x"},
			{"--resource", "x"},
			{"--outcome", "maybe"},
			{"file.csv"},
			{"--action", "user.signed_in"},
			{"--view", "all"},
			{"--view", "admin", "--reason", "stale"},
			{"--view", "admin", "--troubled"},
			{"--view", "admin", "--action", "user.sang"},
			{"--view", "admin", "--actor", "user"},
			{"--view", "admin", "--actor", "user:ayu"},
		} {
			s.refuses(t, append([]string{"audit", "export"}, bad...)...)
		}
	})
}
