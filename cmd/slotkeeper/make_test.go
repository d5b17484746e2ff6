package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMakeRunAndDemo does what a newcomer does first: a fresh copy of the
// repository, make, a look, and Ctrl-C.
func TestMakeRunAndDemo(t *testing.T) {
	t.Parallel()
	long(t)
	checkout := checkOut(t)
	t.Run("help", func(t *testing.T) {
		t.Parallel()
		out, err := makeCommand(checkout).Output()
		if err != nil {
			t.Fatal(err, stderrOf(err))
		}
		for _, target := range []string{"run", "demo", "test", "shots", "check", "soak", "lint", "fmt", "fuzz", "build"} {
			if !strings.Contains(string(out), "make "+target+" ") {
				t.Errorf("make does not tell of %s:\n%s", target, out)
			}
		}
	})
	// Both build first: here, so that they find it done.
	if out, err := makeCommand(checkout, "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(t.TempDir(), "data")
		m := startMake(t, checkout, "run", "SLOTKEEPER_DATA_DIR="+data)
		m.waitFor(t, &m.stderr, regexp.MustCompile(`serving`))
		for _, path := range []string{"/healthz", "/readyz"} {
			if page, status := m.get(t, m.url+path); status != http.StatusOK {
				t.Errorf("%s answers %d: %s", path, status, page)
			}
		}
		link := m.waitFor(t, &m.stderr, regexp.MustCompile(`http://\S+/link/\S+`))
		if page, status := m.get(t, link); status != http.StatusOK || !strings.Contains(page, `name="password"`) {
			t.Errorf("the printed link answers %d: %s", status, page)
		}
		m.interrupt(t)
		for _, name := range []string{"slotkeeper.db", "secret.key"} {
			info, err := os.Stat(filepath.Join(data, name))
			if err != nil {
				t.Error(err)
			} else if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("others may read %s: %v", name, info.Mode())
			}
		}
	})
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		data, temporary := filepath.Join(t.TempDir(), "data"), t.TempDir()
		m := startMake(t, checkout, "demo", "SLOTKEEPER_DATA_DIR="+data, "TMPDIR="+temporary,
			"SLOTKEEPER_PUBLIC_URL=https://bookings.example", "SLOTKEEPER_DATABASE_URL=postgres://nobody@nowhere.example/x")
		link := m.waitFor(t, &m.stdout, regexp.MustCompile(`http://\S+/link/\S+`))
		m.waitFor(t, &m.stdout, regexp.MustCompile(`Ctrl-C`))
		if want := regexp.MustCompile(`Posted \d+ signed deliveries: \d+ processed, [1-9]\d* copies known, 2 conflict, 1 refused, 1 waiting`); !want.MatchString(m.stdout.String()) {
			t.Errorf("the demo says %s", &m.stdout)
		}
		if page, status := m.get(t, link); status != http.StatusOK || !strings.Contains(page, `method="post"`) {
			t.Fatalf("the printed link answers %d: %s", status, page)
		}
		resp, err := m.client.PostForm(link, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/calendar" {
			t.Fatalf("the link leads to %s: %s", resp.Request.URL, resp.Status)
		}
		page := string(b)
		section := regexp.MustCompile(`(?s)<section class="trouble".*?</section>`).FindString(page)
		for _, want := range []string{"2 conflicts need a person", "First visit", "Kofi Mensah", "the slot is taken", "Intro call with Priya Raman", "Maren Oduya"} {
			if !strings.Contains(section, want) && !strings.Contains(page, want) {
				t.Errorf("the calendar does not show %q: %s", want, section)
			}
		}
		if !strings.Contains(section, "Kofi Mensah") {
			t.Errorf("the double booking is not in sight: %s", section)
		}
		audit, _ := m.get(t, m.url+"/audit")
		for _, want := range []string{"Kofi Mensah", "Lena Fischer", "not allowed from this state"} {
			if !strings.Contains(audit, want) {
				t.Errorf("the audit does not show %q", want)
			}
		}
		m.interrupt(t)
		for _, dir := range []string{data, temporary} {
			if left, err := os.ReadDir(dir); len(left) != 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the demo left %v in %s (%v)", left, dir, err)
			}
		}
	})
}

// checkOut copies what belongs to the repository.
func checkOut(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{".git", "bin", "data", "shots"}, name):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(name, ".test"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// makeCommand is make in a checkout, in an environment without what the make
// that runs the tests, or the reader's own installation, have set.
func makeCommand(checkout string, args ...string) *exec.Cmd {
	cmd := exec.Command("make", args...)
	cmd.Dir = checkout
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS") && !strings.HasPrefix(v, "SLOTKEEPER_") && !strings.HasPrefix(v, "RUN=") && !strings.HasPrefix(v, "PKG=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// running is a make that runs.
type running struct {
	url            string
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
	exited         chan error
	client         *http.Client
}

func startMake(t *testing.T, checkout, target string, env ...string) *running {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	m := &running{
		url: "http://" + address, cmd: makeCommand(checkout, target), exited: make(chan error, 1),
		client: &http.Client{Jar: jar, Timeout: 30 * time.Second},
	}
	m.cmd.Env = append(append(m.cmd.Env, "SLOTKEEPER_LISTEN="+address), env...)
	m.cmd.Stdout, m.cmd.Stderr = &m.stdout, &m.stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { m.exited <- m.cmd.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL) })
	return m
}

// waitFor waits until something is printed. Make builds first.
func (m *running) waitFor(t *testing.T, in *lockedBuffer, want *regexp.Regexp) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	for {
		if found := want.FindString(in.String()); found != "" {
			return found
		}
		select {
		case err := <-m.exited:
			t.Fatalf("make ended: %v\n%s%s", err, &m.stdout, &m.stderr)
		case <-late.C:
			t.Fatalf("waited in vain for %s:\n%s%s", want, &m.stdout, &m.stderr)
		case <-tick.C:
		}
	}
}

func (m *running) get(t *testing.T, address string) (page string, status int) {
	t.Helper()
	resp, err := m.client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.StatusCode
}

// interrupt stops what make runs, as Ctrl-C does; make then ends as that did.
func (m *running) interrupt(t *testing.T) {
	t.Helper()
	pid := m.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for child := range bytes.FieldsSeq(children) {
		pid, err := strconv.Atoi(string(child))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGINT)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-m.exited:
		if err != nil {
			t.Errorf("make ended: %v\n%s%s", err, &m.stdout, &m.stderr)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it did not end:\n%s%s", &m.stdout, &m.stderr)
	}
}
