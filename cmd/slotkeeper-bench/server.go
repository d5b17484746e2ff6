package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"slotkeeper/booking/vault"
)

// server is an installation of the built program that runs.
type server struct {
	account
	installation
	cmd      *exec.Cmd
	exited   chan struct{}
	log      *os.File
	answered int64 // deliveries that must be stored
}

// installation is a migrated database with a connection, and what opens it.
type installation struct {
	dir        string
	database   string // "" is the embedded one
	key        []byte
	connection connection
	more       []string // settings of its own
}

const (
	administrator = "admin"
	password      = "for the benchmark only"
)

// environment is an installation's own; what is set for the caller's is left out.
func (i *installation) environment(address string, maxSet int) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + i.dir, "SLOTKEEPER_DATA_DIR=" + i.dir, "SLOTKEEPER_DATABASE_URL=" + i.database,
		"SLOTKEEPER_SECRET_KEY=" + base64.StdEncoding.EncodeToString(i.key), "SLOTKEEPER_ADMIN_PASSWORD=" + password,
		"SLOTKEEPER_LISTEN=" + address, "SLOTKEEPER_MAX_SET=" + strconv.Itoa(maxSet), "SLOTKEEPER_LOG_FORMAT=json",
		// The past that is measured is years old.
		"SLOTKEEPER_KEEP_BODIES=forever", "SLOTKEEPER_KEEP_DELIVERIES=forever", "SLOTKEEPER_KEEP_READS=forever", "SLOTKEEPER_KEEP_MESSAGES=forever",
	}, i.more...)
}

// command runs the program on the installation and returns what it prints.
func (b *bench) command(ctx context.Context, i *installation, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.binary, args...) //nolint:gosec // G204: whoever measures names the program
	cmd.Env = i.environment("127.0.0.1:0", 1)
	return output(cmd)
}

// connection is what the command connect prints.
type connection struct {
	ID     string `json:"id"`
	URL    string `json:"webhook_url"`
	Secret string `json:"signing_secret"`
}

// install migrates a database ("" is the embedded one) and makes a generic
// connection in it.
func (b *bench) install(ctx context.Context, database string, more ...string) (installation, error) {
	dir, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return installation{}, err
	}
	i := installation{dir: dir, database: database, key: vault.NewKey(), more: more}
	out, err := b.command(ctx, &i, "connect", "generic", "--name", "Benchmark")
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(out, &i.connection); err != nil {
		return i, fmt.Errorf("connect: %w", err)
	}
	return i, nil
}

// file is the embedded database's.
func (i *installation) file() string { return filepath.Join(i.dir, "slotkeeper.db") }

// remove frees the disk.
func (i *installation) remove() error { return os.RemoveAll(i.dir) }

// serve starts a server on an empty database ("" is the embedded one) and makes
// the people known that the load books.
func (b *bench) serve(ctx context.Context, database string, maxSet int, more ...string) (*server, error) {
	i, err := b.install(ctx, database, more...)
	if err != nil {
		return nil, err
	}
	return b.start(ctx, i, maxSet)
}

// start starts a server on an installation that none ran on yet.
func (b *bench) start(ctx context.Context, i installation, maxSet int) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	webhook, err := url.Parse(i.connection.URL)
	if err != nil {
		return nil, err
	}
	s := &server{
		account:      account{host: address, path: webhook.Path, secret: i.connection.Secret, last: &atomic.Int64{}},
		installation: i,
		cmd:          exec.Command(b.binary, "serve"), //nolint:gosec,noctx // G204: see install; stop ends it, and it is asked to
		exited:       make(chan struct{}),
	}
	if s.log, err = os.Create(filepath.Join(i.dir, "log")); err != nil {
		return nil, err
	}
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = i.environment(address, maxSet), s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // whether it was asked to is known elsewhere
		close(s.exited)
	}()
	if err = s.waitReady(ctx); err == nil {
		walls := s.walls()
		s.answered = int64(len(walls))
		err = prepare(ctx, s.account, walls)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 30 * time.Second
)

func (s *server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %w", ctx.Err())
		case <-s.exited:
			b, _ := os.ReadFile(s.log.Name()) // it only adds to what is wrong already
			return fmt.Errorf("the server left: %s", bytes.TrimSpace(b))
		case <-tick.C:
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.host+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop asks the server to leave, and ends it when it does not.
func (s *server) stop() error {
	defer s.log.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have left already
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		return errors.New("the server did not leave when it was asked to")
	}
}

// clockTick is the unit of /proc/PID/stat: 1/100 s on all that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that the server has used.
func (s *server) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return cpuOf(string(b))
}

func cpuOf(stat string) (time.Duration, error) {
	// The name, in brackets, may hold anything.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/PID/stat is %q", stat)
	}
	user, err1 := strconv.ParseInt(fields[utime], 10, 64)
	system, err2 := strconv.ParseInt(fields[stime], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(err1, err2)
}

// peak is the most memory that the server has had resident, in bytes.
func (s *server) peak() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return peakOf(string(b))
}

func peakOf(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status has no VmHWM")
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// output runs a command and returns what it prints; what it complains of is the
// error's.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s%s", filepath.Base(cmd.Path), err, bytes.TrimSpace(exit.Stderr), bytes.TrimSpace(out))
	}
	return out, err
}
