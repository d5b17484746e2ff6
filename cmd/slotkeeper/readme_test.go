package main

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.." // of the repository

// TestReadmeCommands does what the README says, in its order, on a running
// server: whatever fails, or is new to this test, fails it.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	r := &reader{server: s, t: t, dir: t.TempDir(), connections: map[string]string{}}
	if err := os.MkdirAll(filepath.Join(r.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(r.dir, "bin", "slotkeeper")); err != nil {
		t.Fatal(err)
	}
	text := document(t, "README.md")
	for _, block := range shellBlocks(text) {
		r.follow(block)
	}
	for _, name := range []string{"connect", "send", "connections", "resources", "token", "user", "help"} {
		if !slices.Contains(r.ran, name) && !strings.Contains(text, "`bin/slotkeeper "+name+"`") {
			t.Errorf("the README does not show slotkeeper %s", name)
		}
	}
	if !slices.Contains(r.ran, "send") {
		t.Error("no delivery was sent: the claims about it were not tried")
	}
	r.runs("bin/slotkeeper help")
}

// reader is somebody who follows the README.
type reader struct {
	*server
	t           *testing.T
	dir         string
	connections map[string]string // the newest id by provider
	last        string            // the newest id
	ran         []string          // commands of the binary
}

func shellBlocks(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)(?:^|\n)```sh\n(.*?\n)```\n").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// follow does what a block says, line by line.
func (r *reader) follow(block string) {
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	heredoc := regexp.MustCompile(`^cat > (\S+) <<'(\w+)'$`)
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		command := strings.Fields(line + " ")
		switch m := heredoc.FindStringSubmatch(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case m != nil:
			end := slices.Index(lines[i:], m[2])
			if end < 0 {
				r.t.Fatalf("%q has no end", line)
			}
			r.writes(m[1], strings.Join(lines[i+1:i+end], "\n")+"\n")
			i += end
		case command[0] == "make":
			// TestMakeRunAndDemo starts run and demo, and you are reading test.
			if len(command) < 2 || !slices.Contains([]string{"run", "demo", "test"}, command[1]) {
				r.t.Errorf("the README says %q, which no test runs", line)
			}
		case command[0] == "bin/slotkeeper":
			r.runs(line)
			if command[1] == "send" {
				r.tries(line)
			}
		default:
			r.t.Errorf("the README says %q, which this test does not know how to run", line)
		}
	}
}

func (r *reader) writes(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// runs gives a line to the shell, with the id that the reader would put in.
func (r *reader) runs(line string) string {
	r.t.Helper()
	command := strings.Fields(line)
	id := r.last
	if command[1] == "send" {
		id = r.connections[command[2]]
	}
	line = regexp.MustCompile(`\bID\b`).ReplaceAllString(line, id)
	cmd := exec.CommandContext(r.t.Context(), "sh", "-euc", line)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s%s", line, err, out, stderrOf(err))
	}
	r.ran = append(r.ran, command[1])
	if command[1] == "connect" {
		var made struct{ ID string }
		decode(r.t, string(out), &made)
		r.connections[command[2]], r.last = made.ID, made.ID
	}
	return string(out)
}

func stderrOf(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// tries what the README claims below the first send: the body is changed as it
// says, sent again, and answered as it says.
func (r *reader) tries(send string) {
	file := strings.Fields(send)[3]
	body, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		r.t.Fatal(err)
	}
	now := string(body)
	change := func(from, to string) string {
		if strings.Count(now, from) != 1 {
			r.t.Fatalf("the README's body has %q %d times", from, strings.Count(now, from))
		}
		return strings.Replace(now, from, to, 1)
	}
	sends := func(want string) {
		r.t.Helper()
		r.writes(file, now)
		var answer acknowledgement
		decode(r.t, r.runs(send), &answer)
		if answer.Status != want {
			r.t.Errorf("answered %+v, the README says %s", answer, want)
		}
	}
	text := document(r.t, "README.md")
	claims := regexp.MustCompile("(?s)The answer says `processed`.*`duplicate`.*`id` to `b-2`.*`conflict`.*back\\s+to\\s+`b-1`.*`type` to `invitee.canceled`.*`occurred_at` to a later")
	if !claims.MatchString(text) {
		r.t.Fatal("the README says something else than this test tries")
	}
	if got := r.statuses(); len(got) != 1 || got["b-1"] != "active" {
		r.t.Errorf("after the first send there are %v", got)
	}
	sends("duplicate")
	now = change(`"b-1"`, `"b-2"`)
	sends("conflict")
	if got := r.statuses(); got["b-1"] != "active" || got["b-2"] != "conflicted" {
		r.t.Errorf("after the conflict there are %v", got)
	}
	r.sees(regexp.MustCompile("`(/calendar[^`]*)`").FindStringSubmatch(text)[1])
	now = change(`"b-2"`, `"b-1"`)
	now = change("invitee.created", "invitee.canceled")
	now = change(`"occurred_at": "2026-12-01T09:00:00Z"`, `"occurred_at": "2026-12-02T09:00:00Z"`)
	sends("processed")
	if got := r.statuses(); got["b-1"] != "canceled" || got["b-2"] != "active" {
		r.t.Errorf("after the cancel there are %v", got)
	}
}

// statuses of the bookings by the sender's id.
func (r *reader) statuses() map[string]string {
	out := map[string]string{}
	for _, b := range api[bookingItem](r.t, r.server, r.token(r.t, "read"), "bookings") {
		out[b.ExternalID] = b.Status
	}
	return out
}

// sees both bookings on the calendar, and in the audit who holds the slot.
func (r *reader) sees(calendar string) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	resp, err := c.PostForm(r.url+"/signin", url.Values{"username": {"admin"}, "password": {adminPassword}})
	if err != nil {
		r.t.Fatal(err)
	}
	resp.Body.Close()
	page := getPage(r.t, c, r.url+calendar)
	bookings := regexp.MustCompile(`<td role="cell" class="what"><a href="(/bookings/[0-9a-f-]+)`).FindAllStringSubmatch(page, -1)
	if len(bookings) != 2 {
		r.t.Errorf("%s shows %d bookings", calendar, len(bookings))
	}
	link := regexp.MustCompile(`href="(/audit/[0-9a-f-]+)"`).FindStringSubmatch(getPage(r.t, c, r.url+"/audit"))
	if link == nil {
		r.t.Fatal("the audit shows nothing")
	}
	if page := getPage(r.t, c, r.url+link[1]); !strings.Contains(page, "Held by") || !strings.Contains(page, "First visit") {
		r.t.Errorf("the audit does not say who holds the slot:\n%s", page)
	}
}

func getPage(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v\n%s", address, resp.Status, err, b)
	}
	return string(b)
}

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDocuments finds links and file names that lead nowhere, and keeps the
// README short enough to be read.
func TestDocuments(t *testing.T) {
	t.Parallel()
	if n := strings.Count(document(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, at most 120 are read", n)
	}
	files := map[string]bool{} // every path, and every file's bare name
	var documents []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "data"}, name) {
			return filepath.SkipDir
		}
		files[name], files[d.Name()] = true, true
		if strings.HasSuffix(name, ".md") {
			documents = append(documents, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("`([^`\n]+)`")
	path := regexp.MustCompile(`^\.?[a-z][A-Za-z0-9_-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+/?$|^[A-Za-z0-9_-]+\.(go|md|mmd|yml|toml|sql|css|js)$`)
	listed := regexp.MustCompile(`(?m)^([a-z]+(?:/[a-z]+)*)  +\S`)
	for _, name := range documents {
		text := document(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || target == "" {
				continue
			}
			if !files[filepath.Join(filepath.Dir(name), target)] {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			at := strings.TrimSuffix(m[1], "/")
			// Packages of others look like folders, but for their first part.
			first, _, _ := strings.Cut(at, "/")
			if path.MatchString(m[1]) && (filepath.Ext(at) != "" || files[first]) && !files[at] {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
		if name == "README.md" {
			for _, m := range listed.FindAllStringSubmatch(text, -1) {
				if !files[m[1]] && m[1] != "make" {
					t.Errorf("%s lists %s, which does not exist", name, m[1])
				}
			}
		}
	}
	if len(documents) < 8 {
		t.Errorf("only %v were read", documents)
	}
}
