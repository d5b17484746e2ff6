package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
)

// TestSettingsAreDocumented holds docs/settings.md against what the program
// reads: the variables, their flags and the defaults, in both directions.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	type setting struct{ flags, otherwise string }
	documented := map[string]setting{}
	row := regexp.MustCompile("(?m)^\\| `(SLOTKEEPER_[A-Z_]+)` \\|([^|]*)\\|([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = setting{flags: strings.TrimSpace(m[2]), otherwise: strings.Trim(m[3], " `")}
	}

	read := map[string]bool{}
	c := &cli{environment: environment{
		getenv: func(name string) string { read[name] = true; return "" },
		stdin:  strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
	}}
	flags := map[string]*pflag.Flag{}
	everyCommand(c.command(), func(cmd *cobra.Command) {
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = f })
		}
	})
	// Secrets of single commands are read when the command runs.
	for name := range flags {
		if secret, ok := strings.CutSuffix(name, "-file"); ok {
			read["SLOTKEEPER_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(secret, "--"), "-", "_"))] = true
		}
	}

	if got, want := slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(read)); !slices.Equal(got, want) {
		t.Errorf("docs/settings.md has %v, the program reads %v", got, want)
	}
	inFlags := map[string]bool{}
	for variable, s := range documented {
		for _, name := range regexp.MustCompile(`--[a-z-]+`).FindAllString(s.flags, -1) {
			inFlags[name] = true
			f := flags[name]
			switch {
			case f == nil:
				t.Errorf("%s: there is no flag %s", variable, name)
			// Defaults that are made of others, or that nothing is, stand in words.
			case regexp.MustCompile(`^[0-9./:a-z]+$`).MatchString(s.otherwise) && f.DefValue != s.otherwise && f.DefValue != s.otherwise+"0m0s":
				t.Errorf("%s is %q by default, and docs/settings.md says %q", variable, f.DefValue, s.otherwise)
			}
		}
	}
	c.command().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !inFlags["--"+f.Name] {
			t.Errorf("docs/settings.md does not have --%s", f.Name)
		}
	})
}

func everyCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		everyCommand(c, f)
	}
}

// TestBadSettingsAreReportedAtOnce gives every setting a value that it cannot
// have: the start names each of them once, and repeats no secret.
func TestBadSettingsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"SLOTKEEPER_DATABASE_URL":       "mysql://root:planted-password@localhost/x",
		"SLOTKEEPER_LISTEN":             "localhost",
		"SLOTKEEPER_ADMIN_LISTEN":       "localhost:many",
		"SLOTKEEPER_PUBLIC_URL":         "ftp://bookings.example",
		"SLOTKEEPER_SECRET_KEY":         "planted-secret",
		"SLOTKEEPER_TRUSTED_PROXIES":    "127.0.0.1,proxy",
		"SLOTKEEPER_LOG_FORMAT":         "xml",
		"SLOTKEEPER_MAX_SET":            "many",
		"SLOTKEEPER_CALENDLY_TOLERANCE": "a day",
	}
	s := prepare(t, "")
	for name, value := range bad {
		s.env = append(s.env, name+"="+value)
	}
	complaint := s.refuses(t, "serve")
	for name := range bad {
		if n := strings.Count(complaint, name); n != 1 {
			t.Errorf("%s is named %d times in\n%s", name, n, complaint)
		}
	}
	if strings.Contains(complaint, "planted") {
		t.Errorf("a secret is repeated:\n%s", complaint)
	}

	for _, value := range []struct{ name, value string }{
		{"SLOTKEEPER_MAX_SET", "0"},
		{"SLOTKEEPER_MAX_SET", "65"},
		{"SLOTKEEPER_CALENDLY_TOLERANCE", "-1h"},
		{"SLOTKEEPER_PUBLIC_URL", "https://bookings.example/path"},
		{"SLOTKEEPER_PUBLIC_URL", "https://user@bookings.example"},
		{"SLOTKEEPER_PUBLIC_URL", "bookings.example"},
		{"SLOTKEEPER_LISTEN", "127.0.0.1:70000"},
		{"SLOTKEEPER_SECRET_KEY", base64.StdEncoding.EncodeToString(make([]byte, 16))},
		{"SLOTKEEPER_ADMIN_PASSWORD", "short"},
	} {
		s := prepare(t, "", value.name+"="+value.value)
		if value.name == "SLOTKEEPER_LISTEN" { // prepare's own stands behind
			s.env = append(s.env, value.name+"="+value.value)
		}
		if complaint := s.refuses(t, "serve"); strings.Count(complaint, value.name) != 1 {
			t.Errorf("%s=%s: %s", value.name, value.value, complaint)
		}
	}
	if complaint := prepare(t, "").refuses(t, "serve", "--max-set", "many", "--listen", "nowhere"); !strings.Contains(complaint, "max-set") {
		t.Errorf("a bad flag: %s", complaint)
	}
}

// refuses runs a command that must fail as commands do, and returns what it
// complains of.
func (s *server) refuses(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.try(t, "", args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("slotkeeper %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if !strings.Contains(err.Error(), "slotkeeper: ") || strings.Contains(err.Error(), "panic") {
		t.Errorf("slotkeeper %s complains: %v", strings.Join(args, " "), err)
	}
	return err.Error()
}

// TestTheKeyIsNeeded starts on both databases with another key, and on
// PostgreSQL with none: the complaint names the variable, and the right key
// works as before.
func TestTheKeyIsNeeded(t *testing.T) {
	t.Parallel()
	long(t)
	for name, database := range map[string]func(testing.TB) string{
		"sqlite": func(testing.TB) string { return "" }, "postgres": migratetest.EmptyPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, database(t))
			a := s.connect(t, "generic")
			s.stop(t)
			right := s.env
			for _, args := range [][]string{{"serve"}, {"connections", "list"}, {"send", "generic", "-", "--connection", a.id.String()}} {
				s.env = append(slices.Clone(right), "SLOTKEEPER_SECRET_KEY="+base64.StdEncoding.EncodeToString(vault.NewKey()))
				if complaint := s.refuses(t, args...); !strings.Contains(complaint, "SLOTKEEPER_SECRET_KEY") || !strings.Contains(complaint, "not the key") {
					t.Errorf("%v with another key: %s", args, complaint)
				}
				if s.db == "" {
					continue // a file beside the database is made
				}
				s.env = append(slices.Clone(right), "SLOTKEEPER_SECRET_KEY=")
				if complaint := s.refuses(t, args...); !strings.Contains(complaint, "SLOTKEEPER_SECRET_KEY is missing") {
					t.Errorf("%v without a key: %s", args, complaint)
				}
			}
			s.env = right
			s.start(t)
			if ack := a.must(t, genericBody("invitee.created", "b-1", "room 1", monday, monday, monday.Add(time.Hour))); ack.Status != "processed" {
				t.Errorf("with the right key again: %+v", ack)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "", "SLOTKEEPER_SECRET_KEY=")
		a := s.connect(t, "generic")
		s.stop(t)
		file := s.dir + "/secret.key"
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the key file's mode is %v", info.Mode())
		}
		if err := os.Rename(file, file+".old"); err != nil {
			t.Fatal(err)
		}
		if complaint := s.refuses(t, "serve"); !strings.Contains(complaint, "SLOTKEEPER_SECRET_KEY") {
			t.Errorf("without its file: %s", complaint)
		}
		if err := os.Rename(file+".old", file); err != nil {
			t.Fatal(err)
		}
		s.start(t)
		a.must(t, genericBody("invitee.created", "b-1", "room 1", monday, monday, monday.Add(time.Hour)))
	})
}

// TestCommandsHaveHelp asks every command for help, and misspells every group.
func TestCommandsHaveHelp(t *testing.T) {
	t.Parallel()
	s := prepare(t, "")
	c := &cli{environment: environment{getenv: func(string) string { return "" }}}
	var paths []string
	everyCommand(c.command(), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		paths = append(paths, strings.Join(path, " "))
		help := s.run(t, append(path, "--help")...)
		if cmd.Short == "" || !strings.Contains(help, "Usage:\n  slotkeeper") {
			t.Errorf("slotkeeper %s --help says %q", strings.Join(path, " "), help)
		}
		if cmd.HasSubCommands() {
			if complaint := s.refuses(t, append(path, "misspelt")...); !strings.Contains(complaint, "misspelt") {
				t.Errorf("slotkeeper %s misspelt: %s", strings.Join(path, " "), complaint)
			}
		}
	})
	want := []string{
		"", "audit", "audit export", "audit verify", "backup", "connect", "connections", "connections backfill", "connections disconnect", "connections forms", "connections list", "connections rotate", "connections stop", "connections sync", "connections test", "demo", "doctor", "endpoints", "endpoints add", "endpoints list", "endpoints remove", "endpoints rotate", "endpoints switch", "endpoints test", "erase", "feeds", "feeds add", "feeds list", "feeds revoke", "healthcheck", "key", "key rotate", "migrate", "migrate status", "migrate up", "replay", "resources",
		"resources list", "resources map", "resources merge", "resources rename", "resources split", "resources zone", "restore", "send", "serve", "token", "token create", "token list", "token revoke", "user", "user add",
		"user disable", "user enable", "user list", "user passwd", "version",
	}
	slices.Sort(paths)
	if !slices.Equal(paths, want) {
		t.Errorf("the commands are %q, want %q", paths, want)
	}
	// Asking leaves nothing behind.
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
		t.Errorf("help made %v, %v", left, err)
	}
}

// TestCommands runs what beside serve changes and lists an installation.
func TestCommands(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		t.Run("migrate", func(t *testing.T) {
			if out := s.run(t, "migrate", "up"); out != "0 migrations applied\n" {
				t.Errorf("migrate up after a start says %q", out)
			}
			fresh := prepare(t, "")
			pending := fresh.run(t, "migrate", "status")
			if strings.Count(pending, "pending") != strings.Count(pending, "\n") || !strings.Contains(pending, "accounts") {
				t.Errorf("before the first start: %s", pending)
			}
			if out := fresh.run(t, "migrate", "up"); out != fmt.Sprintf("%d migrations applied\n", len(list(t, s, "migrate", "status"))) {
				t.Errorf("migrate up says %q", out)
			}
			for _, m := range list(t, s, "migrate", "status") {
				if m["name"] == "" || m["applied_at"] == nil {
					t.Errorf("migration %v", m)
				}
			}
			if strings.Contains(s.run(t, "migrate", "status"), "pending") {
				t.Error("a migration is pending while the server runs")
			}
		})
		t.Run("token", func(t *testing.T) {
			made := object(t, s, "token", "create", "--name", "reports", "--scope", "read", "--json")
			token, id := made.text("token"), made.text("id")
			s.get(t, "/api/v1/bookings", token)
			tokens := list(t, s, "token", "list")
			if len(tokens) != 1 || tokens[0]["name"] != "reports" || tokens[0]["scope"] != "read" || tokens[0]["token"] != nil || tokens[0]["revoked_at"] != nil {
				t.Errorf("tokens %v", tokens)
			}
			if text := s.run(t, "token", "list"); strings.Contains(text, token) || !strings.Contains(text, "reports") {
				t.Errorf("token list says %s", text)
			}
			s.run(t, "token", "revoke", id)
			s.refuses(t, "token", "revoke", "0190a2b4-0000-7000-8000-000000000000")
			s.refuses(t, "token", "create", "--name", "reports", "--scope", "everything")
			s.refuses(t, "token", "create")
			if status := s.status(t, "/api/v1/bookings", token); status != http.StatusUnauthorized {
				t.Errorf("a revoked token is answered %d", status)
			}
			if !strings.Contains(s.run(t, "token", "list"), "revoked") {
				t.Error("token list does not tell of the revoked one")
			}
		})
		t.Run("user", func(t *testing.T) {
			made := object(t, s, "user", "add", "front.desk", "--role", "operator", "--json")
			if made["name"] != "front.desk" || made["role"] != "operator" || !strings.HasPrefix(made.text("link"), s.url+"/link/") {
				t.Errorf("user add says %v", made)
			}
			if out := s.run(t, "user", "add", "theo", "--role", "viewer"); !strings.Contains(out, s.url+"/link/") {
				t.Errorf("user add says %s", out)
			}
			if complaint := s.refuses(t, "user", "add", "front.desk"); !strings.Contains(complaint, "exists") {
				t.Errorf("a name that is taken: %s", complaint)
			}
			s.refuses(t, "user", "add", "x", "--role", "king")
			s.refuses(t, "user", "passwd", "nobody", "--password", adminPassword)
			s.refuses(t, "user", "passwd", "front.desk", "--password", "short")
			s.refuses(t, "user", "passwd", "front.desk") // nothing on the standard input
			if s.signsIn(t, "front.desk", adminPassword) {
				t.Error("somebody signed in without a password of theirs")
			}
			if out, err := s.try(t, adminPassword+"\n", "user", "passwd", "front.desk"); err != nil {
				t.Fatal(out, err)
			}
			if !s.signsIn(t, "front.desk", adminPassword) {
				t.Error("the password that was set signs nobody in")
			}
			if out := s.run(t, "user", "list"); !strings.Contains(out, "front.desk") || !strings.Contains(out, "may sign in") {
				t.Errorf("user list says %s", out)
			}
			s.refuses(t, "user", "enable", "front.desk")
			s.run(t, "user", "disable", "front.desk")
			if out := s.run(t, "user", "list", "--json"); !strings.Contains(out, `"disabled_at": "2`) || !strings.Contains(out, `"resources": null`) {
				t.Errorf("user list says %s", out)
			}
			s.refuses(t, "user", "disable", "nobody")
			if s.signsIn(t, "front.desk", adminPassword) {
				t.Error("a disabled user signed in")
			}
		})
		t.Run("connections", func(t *testing.T) {
			made := object(t, s, "connect", "generic", "--name", "Front desk", "--json")
			id, first := made.text("id"), made.text("signing_secret")
			if made["webhook_url"] != s.url+"/webhooks/generic/"+id || made["subscribed"] != false {
				t.Errorf("connect says %v", made)
			}
			body := genericBody("invitee.created", "c-1", "room 9", monday, monday, monday.Add(time.Hour))
			send := func(secret, want string) {
				t.Helper()
				if err := answered(t, s.as(t, "generic", id, secret), body, want); err != nil {
					t.Error(err)
				}
			}
			send(first, "processed")
			second := object(t, s, "connections", "rotate", id, "--json").text("signing_secret")
			// A server believes what it read a second or two ago.
			waitFor(t, "the new secret", func() error { return answered(t, s.as(t, "generic", id, second), body, "duplicate") })
			send(first, "duplicate") // either is good
			if done := object(t, s, "connections", "rotate", id, "--finish"); done["signing_secret"] != nil {
				t.Errorf("--finish says %v", done)
			}
			waitFor(t, "the old secret to end", func() error { return answered(t, s.as(t, "generic", id, first), body, "signature_invalid") })
			send(second, "duplicate")
			all := list(t, s, "connections", "list")
			if len(all) != 1 || all[0]["id"] != id || all[0]["name"] != "Front desk" || all[0]["signing_secret"] != nil {
				t.Errorf("connections %v", all)
			}
			if text := s.run(t, "connections", "list"); strings.Contains(text, first) || strings.Contains(text, second) || !strings.Contains(text, id) {
				t.Errorf("connections list says %s", text)
			}
			s.refuses(t, "connect", "acuity")
			s.refuses(t, "connect", "generic", "--signing-secret", "short")
			s.refuses(t, "connect", "generic", "--api-url", "https://api.example")
			s.refuses(t, "connections", "rotate", "0190a2b4-0000-7000-8000-000000000000")
			s.refuses(t, "connections", "rotate", "x")
		})
		t.Run("resources", func(t *testing.T) {
			// A host whose e-mail the body does not tell has no resource yet.
			const email = `"user_email": "mara.lindqvist@northpier.example",`
			body := fixture(t, "calendly/testdata/01_one_on_one_invitee_created.json")
			if !bytes.Contains(body, []byte(email)) {
				t.Fatal("the fixture has no host")
			}
			s.connect(t, "calendly").must(t, bytes.Replace(body, []byte(email), nil, 1))
			type resource struct{ ID, Name string }
			var before, after struct {
				Resources []resource
				Unmapped  []map[string]any
			}
			decode(t, s.run(t, "resources", "list", "--json"), &before)
			if len(before.Unmapped) != 1 || before.Unmapped[0]["provider"] != "calendly" {
				t.Fatalf("unmapped %+v", before)
			}
			identity, _ := before.Unmapped[0]["external_id"].(string)
			if text := s.run(t, "resources", "list"); !strings.Contains(text, "unmapped") || !strings.Contains(text, identity) {
				t.Errorf("resources list says %s", text)
			}
			done := object(t, s, "resources", "map", "calendly", identity, "--name", "Maren", "--json")
			token := s.token(t, "read")
			slots := api[struct {
				Status   string
				Resource string `json:"resource_id"`
			}](t, s, token, "slots?from=2026-12-08T00:00:00Z&to=2026-12-09T00:00:00Z")
			if len(slots) != 1 || slots[0].Status != "active" || slots[0].Resource != done.text("resource_id") {
				t.Errorf("after resources map said %v the slots are %+v", done, slots)
			}
			decode(t, s.run(t, "resources", "list", "--json"), &after)
			if len(after.Unmapped) != 0 || !slices.Contains(after.Resources, resource{done.text("resource_id"), "Maren"}) {
				t.Errorf("after mapping %v: %+v", done, after)
			}
			s.refuses(t, "resources", "map", "calendly", identity)
			s.refuses(t, "resources", "map", "nothing", identity, "--name", "x")
			s.refuses(t, "resources", "map", "calendly", identity, "--resource", "0190a2b4-0000-7000-8000-000000000000")
		})
		t.Run("send", func(t *testing.T) {
			a := s.connect(t, "generic")
			body := string(genericBody("invitee.created", "s-1", "room 2", monday, monday, monday.Add(time.Hour)))
			var answer acknowledgement
			out, err := s.try(t, body, "send", "generic", "-", "--connection", a.id.String(), "--url", s.url, "--json")
			if err != nil {
				t.Fatal(out, err)
			}
			if decode(t, out, &answer); answer.Status != "processed" {
				t.Errorf("send says %s", out)
			}
			if out, err := s.try(t, body, "send", "calcom", "-", "--connection", a.id.String()); err == nil {
				t.Errorf("sent as another provider: %s", out)
			}
			s.refuses(t, "send", "generic", "-", "--connection", a.id.String(), "--url", "http://"+freeAddress(t))
			s.refuses(t, "send", "generic", "missing.json", "--connection", a.id.String())
		})
		t.Run("version", func(t *testing.T) {
			v := object(t, s, "version", "--json").text("version")
			if v == "" || s.run(t, "version") != "slotkeeper "+v+"\n" {
				t.Errorf("version is %q", v)
			}
		})
		t.Run("taken address", func(t *testing.T) {
			other := &server{dir: s.dir, db: s.db, env: s.env, log: &lockedBuffer{}}
			if complaint := other.refuses(t, "serve"); !strings.Contains(complaint, "SLOTKEEPER_LISTEN") {
				t.Errorf("a second server on the same address: %s", complaint)
			}
		})
	})
}

// printed is an object of a command's JSON.
type printed map[string]any

func (p printed) text(key string) string {
	s, _ := p[key].(string) // "" fails what it is compared with
	return s
}

// object is what a command prints as one JSON object.
func object(t *testing.T, s *server, args ...string) printed {
	t.Helper()
	var out printed
	decode(t, s.run(t, args...), &out)
	return out
}

// list is what a command prints as a JSON list.
func list(t *testing.T, s *server, args ...string) []map[string]any {
	t.Helper()
	var out []map[string]any
	decode(t, s.run(t, append(args, "--json")...), &out)
	return out
}

// status is what the API answers a token.
func (s *server) status(t *testing.T, path, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// signsIn tells whether a name and password get a session.
func (s *server) signsIn(t *testing.T, name, password string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/signin",
		strings.NewReader(url.Values{"username": {name}, "password": {password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Transport.RoundTrip(req) // no redirect is followed
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusSeeOther:
		return len(resp.Cookies()) == 1
	case http.StatusUnprocessableEntity:
		return false
	}
	t.Fatalf("signing in was answered %s", resp.Status)
	return false
}

// answered posts a body and wants a status, or the code of a refusal.
func answered(t *testing.T, a connected, body []byte, want string) error {
	t.Helper()
	ack, err := a.send(t.Context(), body)
	if got := ack.Status + ack.Code; err == nil && got != want {
		err = fmt.Errorf("answered %d %s, want %s", ack.HTTP, got, want)
	}
	return err
}

// as is a connection with a secret of its past or future.
func (s *server) as(t *testing.T, provider, id, secret string) connected {
	t.Helper()
	cfg := config{CalendlyTolerance: time.Hour}
	return connected{s, adapters(&cfg)[provider], uuid.MustParse(id), secret}
}
