package main

import (
	"debug/elf"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// shipping are the files that an installation is made with.
var shipping = []string{"Dockerfile", "compose.yaml", "docs/slotkeeper.service", "docs/deploy.md"}

// one is the only match of a pattern with a group in a file.
func one(t *testing.T, name, pattern string) string {
	t.Helper()
	all := regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(document(t, name), -1)
	if len(all) != 1 {
		t.Fatalf("%s has %d of %s", name, len(all), pattern)
	}
	return all[0][1]
}

// variables are all that the program reads, those of secrets that a command takes
// aside.
func variables() map[string]bool {
	read := map[string]bool{}
	c := &cli{environment: environment{
		getenv: func(name string) string { read[name] = true; return "" },
		stdin:  strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
	}}
	c.command()
	return read
}

// TestShippingFitsTheProgram reads what an installation is made with against the
// program, for there may be nothing at hand to run it with: a variable that nothing
// reads, a path or a command that is not there would be found by whoever installs it.
func TestShippingFitsTheProgram(t *testing.T) {
	t.Parallel()
	read := variables()
	for _, name := range shipping {
		for _, v := range regexp.MustCompile(`SLOTKEEPER_[A-Z_]+[A-Z]`).FindAllString(document(t, name), -1) {
			if !read[v] {
				t.Errorf("%s sets %s, which nothing reads", name, v)
			}
		}
	}
	commands := map[string]bool{}
	everyCommand((&cli{environment: environment{getenv: func(string) string { return "" }}}).command(), func(cmd *cobra.Command) {
		commands[strings.TrimPrefix(cmd.CommandPath(), "slotkeeper ")] = true
	})
	code := regexp.MustCompile("(?s)```sh\n(.*?)```")
	said := regexp.MustCompile(`(?:^|\s)(?:/usr/local/bin/)?slotkeeper ((?:[a-z]+)(?: [a-z]+)?)`)
	for _, block := range code.FindAllStringSubmatch(document(t, "docs/deploy.md"), -1) {
		for _, m := range said.FindAllStringSubmatch(block[1], -1) {
			first, _, _ := strings.Cut(m[1], " ")
			if !commands[m[1]] && !commands[first] {
				t.Errorf("docs/deploy.md runs slotkeeper %s, which is no command", m[1])
			}
		}
	}
	for name, pattern := range map[string]string{
		"Dockerfile": `^CMD \["([a-z]+)"\]$`, "docs/slotkeeper.service": `^ExecStart=/usr/local/bin/slotkeeper ([a-z]+)$`,
	} {
		if got := one(t, name, pattern); got != "serve" {
			t.Errorf("%s starts %s", name, got)
		}
	}
	// Answers, then jobs: each has its time at the end, and is killed when it is over.
	most := answerTimeout + shutdownTimeout
	for name, pattern := range map[string]string{"compose.yaml": `build: \.[\s\S]*?stop_grace_period: (\d+)s`, "docs/slotkeeper.service": `^TimeoutStopSec=(\d+)$`} {
		if n, err := strconv.Atoi(one(t, name, pattern)); err != nil || time.Duration(n)*time.Second <= most {
			t.Errorf("%s gives it %d s to stop, which may take %s: %v", name, n, most, err)
		}
	}
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	const file = "Dockerfile"
	path := one(t, file, `^ENTRYPOINT \["(.*)"\]$`)
	if got := one(t, file, `^COPY --from=build /out/slotkeeper (.*)$`); got != path {
		t.Errorf("the program is put at %s and started at %s", got, path)
	}
	if got := one(t, file, `^HEALTHCHECK .*CMD \["(.*)", "healthcheck"\]$`); got != path {
		t.Errorf("health is asked by %s", got)
	}
	if got := one(t, file, `go build .* -o /out/slotkeeper (\S+)`); got != "./cmd/slotkeeper" {
		t.Errorf("it builds %s", got)
	}
	if got, want := one(t, file, `^FROM golang:(\d+\.\d+)-`), one(t, "go.mod", `^go (\d+\.\d+)`); got != want {
		t.Errorf("it builds with Go %s, and go.mod says %s", got, want)
	}
	if got := one(t, file, `-X main\.(\w+)=`); !strings.Contains(document(t, "Makefile"), "-X main."+got+"=") {
		t.Errorf("the version is told as main.%s", got)
	}
	if one(t, file, `^FROM ([a-z]+)$`) != "scratch" || !strings.Contains(document(t, file), "CGO_ENABLED=0 go build") {
		t.Error("the image is not of one static file")
	}
	user, _, _ := strings.Cut(one(t, file, `^USER (\S+)$`), ":")
	if n, err := strconv.Atoi(user); err != nil || n == 0 {
		t.Errorf("it runs as %s", user)
	}
	data := one(t, file, `SLOTKEEPER_DATA_DIR=(\S+)`)
	if one(t, file, `^VOLUME \["(.*)"\]$`) != data || one(t, file, `^COPY --from=build --chown=`+user+`:\d+ /out/volume/ /()$`) != "" {
		t.Errorf("its data is in %s, which is no volume of its user", data)
	}
	// People's names are in it; a builder gives a directory that COPY names mode 0755.
	if got := one(t, file, `install -d -m 0700 /out/volume(\S+)$`); got != data {
		t.Errorf("what its owner alone may read is %s, not %s", got, data)
	}
	if _, port, _ := strings.Cut(one(t, file, `SLOTKEEPER_LISTEN=(\S+)`), ":"); one(t, file, `^EXPOSE (\d+)$`) != port {
		t.Errorf("it listens on %s and exposes another", port)
	}
	if one(t, file, `^COPY --from=build (/etc/ssl/certs/ca-certificates.crt) /etc/ssl/certs/ca-certificates.crt$`) == "" {
		t.Error("no authority is believed")
	}
	// What the program is: without a loader it needs none in the image.
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) != 0 || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("the program needs %v: %v", libraries, err)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	const file = "compose.yaml"
	text := document(t, file)
	_, top, _ := strings.Cut(text, "\nsecrets:\n")
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+):\n    file: \./secrets/([a-z_]+)$`).FindAllStringSubmatch(top, -1) {
		if defined[m[1]] = true; m[1] != m[2] {
			t.Errorf("the secret %s is the file %s", m[1], m[2])
		}
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`secrets: \[([a-z_, ]+)\]`).FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			used[name] = true
		}
	}
	for _, m := range regexp.MustCompile(`[A-Z_]+_FILE: /run/secrets/([a-z_]+)`).FindAllStringSubmatch(text, -1) {
		if !used[m[1]] {
			t.Errorf("%s is read and not given", m[1])
		}
		delete(used, m[1])
		if !defined[m[1]] {
			t.Errorf("there is no secret %s", m[1])
		}
		if !strings.Contains(document(t, "docs/deploy.md"), "secrets/"+m[1]) {
			t.Errorf("docs/deploy.md does not say how %s is made", m[1])
		}
	}
	if len(used) != 0 {
		t.Errorf("given and never read: %v", slices.Sorted(maps.Keys(used)))
	}
	subnet, err := netip.ParsePrefix(one(t, file, `- subnet: (\S+)$`))
	if err != nil {
		t.Fatal(err)
	}
	gateway := one(t, file, `gateway: (\S+)$`)
	if addr, err := netip.ParseAddr(gateway); err != nil || !subnet.Contains(addr) || one(t, file, `SLOTKEEPER_TRUSTED_PROXIES: (\S+)$`) != gateway {
		t.Errorf("the proxy on the machine is not who is trusted: %v", err)
	}
	port := one(t, "Dockerfile", `^EXPOSE (\d+)$`)
	if got := one(t, file, `ports: \["127\.0\.0\.1:8080:(\d+)"\]`); got != port {
		t.Errorf("it publishes %s, the image listens on %s", got, port)
	}
	if one(t, file, `SLOTKEEPER_ADMIN_LISTEN: 0\.0\.0\.0:(\d+)$`) != one(t, file, `expose: \["(\d+)"\]`) {
		t.Error("the metrics are at another port")
	}
	if got := one(t, file, `test: \["CMD", "(.*)", "healthcheck", "--ready"\]`); got != one(t, "Dockerfile", `^ENTRYPOINT \["(.*)"\]$`) {
		t.Errorf("health is asked by %s", got)
	}
	if one(t, file, `volumes: \["data:(.*)"\]`) != one(t, "Dockerfile", `SLOTKEEPER_DATA_DIR=(\S+)`) {
		t.Error("the data's volume is elsewhere than the data")
	}
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	const file = "docs/slotkeeper.service"
	text := document(t, file)
	if got, want := one(t, file, `^Environment=SLOTKEEPER_DATA_DIR=(\S+)$`), "/var/lib/"+one(t, file, `^StateDirectory=(\S+)$`); got != want {
		t.Errorf("the data is in %s, and what it may write is %s", got, want)
	}
	for _, m := range regexp.MustCompile(`(?m)^#?Environment=SLOTKEEPER_[A-Z_]+_FILE=%d/(\S+)$`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "LoadCredential="+m[1]+":") {
			t.Errorf("the credential %s is not loaded", m[1])
		}
	}
	// A command that has the directory lent anew would open it to others otherwise.
	for _, run := range regexp.MustCompile("(?s)sudo systemd-run (.*?)/usr/local/bin/slotkeeper").FindAllStringSubmatch(document(t, "docs/deploy.md"), -1) {
		for _, setting := range []string{"DynamicUser", "User", "StateDirectory", "StateDirectoryMode", "UMask"} {
			if want := "--property=" + setting + "=" + one(t, file, "^"+setting+`=(\S+)$`) + " "; !strings.Contains(run[1], want) {
				t.Errorf("docs/deploy.md runs a command without %s: %s", want, run[1])
			}
		}
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not here: what systemd thinks of the unit was not asked")
		return
	}
	// With what is optional, too; the program is where the test built it.
	text = strings.NewReplacer("/usr/local/bin/slotkeeper", binary, "\n#LoadCredential", "\nLoadCredential", "\n#Environment", "\nEnvironment").Replace(text)
	unit := filepath.Join(t.TempDir(), "slotkeeper.service")
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), verify, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), "slotkeeper.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestSecretsInFiles starts a server whose secrets are files, as container engines
// and systemd hand them over.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	s := prepare(t, "")
	file := func(name, text string) string {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s.env = slices.DeleteFunc(s.env, func(v string) bool {
		return strings.HasPrefix(v, "SLOTKEEPER_SECRET_KEY=") || strings.HasPrefix(v, "SLOTKEEPER_ADMIN_PASSWORD=") || strings.HasPrefix(v, "SLOTKEEPER_DATABASE_URL=")
	})
	plain := slices.Clone(s.env)
	s.env = append(s.env, "SLOTKEEPER_SECRET_KEY_FILE="+file("key", secretKey+"\n"), "SLOTKEEPER_ADMIN_PASSWORD_FILE="+file("password", adminPassword))
	s.start(t)
	if !s.signsIn(t, "admin", adminPassword) {
		t.Error("the password of the file signs nobody in")
	}
	if _, err := os.Stat(filepath.Join(s.dir, "secret.key")); err == nil {
		t.Error("the key of the file was not used")
	}
	s.stop(t)
	for want, env := range map[string][]string{
		"SLOTKEEPER_SECRET_KEY_FILE":     {"SLOTKEEPER_SECRET_KEY_FILE=" + filepath.Join(s.dir, "none")},
		"given twice":                    {"SLOTKEEPER_SECRET_KEY_FILE=" + file("key2", secretKey), "SLOTKEEPER_SECRET_KEY=" + secretKey},
		"empty":                          {"SLOTKEEPER_SECRET_KEY_FILE=" + file("empty", "\n")},
		"several lines":                  {"SLOTKEEPER_DATABASE_URL_FILE=" + file("lines", "postgres://planted\nx\n")},
		"too long":                       {"SLOTKEEPER_DATABASE_URL_FILE=" + file("long", strings.Repeat("x", maxSecretFile+1))},
		"SLOTKEEPER_DATABASE_URL: it":    {"SLOTKEEPER_DATABASE_URL_FILE=" + file("url", "mysql://planted")},
		"SLOTKEEPER_ADMIN_PASSWORD_FILE": {"SLOTKEEPER_ADMIN_PASSWORD_FILE=" + s.dir},
	} {
		s.env = append(slices.Clone(plain), env...)
		if complaint := s.refuses(t, "serve"); !strings.Contains(complaint, want) || strings.Contains(complaint, "planted") || strings.Contains(complaint, secretKey) {
			t.Errorf("%v: %s", env[0], complaint)
		}
	}
}
