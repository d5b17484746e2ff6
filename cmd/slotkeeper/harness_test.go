package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
)

// The tests of this package run the product as its users do: the built binary,
// real processes, real databases, real HTTP.

// binary is the product, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "slotkeeper-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "slotkeeper")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the product: %v\n%s", err, out))
	}
	return m.Run()
}

// long leaves a test to make test: make check runs what takes seconds.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test runs it")
	}
}

// onBoth runs a test on a server with the embedded database and on one with
// PostgreSQL.
func onBoth(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newServer(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newServer(t, migratetest.EmptyPostgres(t)))
	})
}

// server is an installation and, while it runs, its process.
type server struct {
	url string
	env []string
	dir string
	db  string // "" is SQLite in dir
	log *lockedBuffer
	cmd *exec.Cmd

	exited chan struct{}
}

// newServer prepares an installation and starts it; it is stopped at the end.
func newServer(t testing.TB, databaseURL string, env ...string) *server {
	t.Helper()
	s := prepare(t, databaseURL, env...)
	s.start(t)
	return s
}

// prepare makes an installation that is not started yet.
func prepare(t testing.TB, databaseURL string, env ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), db: databaseURL, log: &lockedBuffer{}}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir,
		"SLOTKEEPER_DATA_DIR=" + s.dir, "SLOTKEEPER_DATABASE_URL=" + databaseURL, "SLOTKEEPER_SECRET_KEY=" + secretKey,
		"SLOTKEEPER_ADMIN_PASSWORD=" + adminPassword, "SLOTKEEPER_LOG_FORMAT=json",
	}, env...)
	s.move(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

const adminPassword = "correct horse battery staple"

// secretKey is the installations' own; second processes share it.
var secretKey = base64.StdEncoding.EncodeToString(vault.NewKey())

// move gives the installation an address of its own.
func (s *server) move(t testing.TB) {
	t.Helper()
	address := freeAddress(t)
	s.url = "http://" + address
	s.env = append(s.env, "SLOTKEEPER_LISTEN="+address)
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// second is another process on the same database.
func (s *server) second(t testing.TB) *server {
	t.Helper()
	o := &server{dir: s.dir, db: s.db, log: &lockedBuffer{}, env: s.env}
	o.move(t)
	t.Cleanup(func() { o.stop(t) })
	o.start(t)
	return o
}

// start runs serve and waits until it is ready.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.spawn(t)
	s.waitReady(t)
}

func (s *server) spawn(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env, s.cmd.Stderr = s.env, s.log
	s.cmd.Dir = s.dir
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() { _ = cmd.Wait(); close(exited) }()
}

func (s *server) waitReady(t testing.TB) {
	t.Helper()
	waitFor(t, "the server to be ready", func() error {
		select {
		case <-s.exited:
			t.Fatalf("the server ended:\n%s", s.log)
		default:
		}
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answered %s", resp.Status)
		}
		return nil
	})
}

// waitFor asks until there is no error any more, at most a minute: often at first,
// then less, since asking takes the time of what is waited for.
func waitFor(t testing.TB, what string, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(wait*3/2, 250*time.Millisecond) {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s: %v", what, err)
		case <-time.After(wait):
		}
	}
}

// stop asks the process to end and waits for it.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
}

// kill ends the process as a crash would.
func (s *server) kill(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
}

func (s *server) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-s.exited:
	case <-time.After(time.Minute):
		t.Errorf("the server did not end:\n%s", s.log)
		_ = s.cmd.Process.Kill()
	}
	s.cmd = nil
}

// run runs another command of the binary on the installation.
func (s *server) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.try(t, "", args...)
	if err != nil {
		t.Fatalf("slotkeeper %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try runs a command with an input and returns its standard output; the error
// holds what it complained of.
func (s *server) try(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = s.env, s.dir, strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, complaint.String())
	}
	return out.String(), nil
}

// connected is a connection as the tests use it.
type connected struct {
	*server
	providers.Provider
	id     uuid.UUID
	secret string
}

func (s *server) connect(t testing.TB, provider string, more ...string) connected {
	t.Helper()
	var out struct {
		ID     uuid.UUID `json:"id"`
		Secret string    `json:"signing_secret"`
	}
	decode(t, s.run(t, append([]string{"connect", provider}, more...)...), &out)
	cfg := config{CalendlyTolerance: time.Hour}
	return connected{s, adapters(&cfg)[provider], out.ID, out.Secret}
}

// on is the same account at another process.
func (a connected) on(s *server) connected {
	a.server = s
	return a
}

// acknowledgement is what a post is answered.
type acknowledgement struct {
	HTTP       int       `json:"-"`
	RetryAfter string    `json:"-"`
	EventID    uuid.UUID `json:"event_id"`
	Status     string    `json:"status"`
	Original   string    `json:"original_status"`
	Error      string    `json:"error"`
	SourceID   string    `json:"source_event_id"`
	At         time.Time `json:"ack_timestamp"`
	Type       string    `json:"-"` // the content type
	problem
}

// problem is what is read of a problem+json.
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// send signs a body as the provider does and posts it.
func (a connected) send(ctx context.Context, body []byte) (acknowledgement, error) {
	return a.sendWith(ctx, body, a.Sign(body, a.secret, time.Now()))
}

func (a connected) sendWith(ctx context.Context, body []byte, header http.Header) (acknowledgement, error) {
	return postTo(ctx, a.url+"/webhooks/"+a.Name()+"/"+a.id.String(), body, header)
}

// client keeps enough connections open for the tests' load.
var client = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true},
}

func postTo(ctx context.Context, url string, body []byte, header http.Header) (acknowledgement, error) {
	var ack acknowledgement
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return ack, err
	}
	req.Header = header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return ack, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return ack, err
	}
	var into any = &ack
	if resp.StatusCode/100 != 2 { // a problem, whose status is the number
		into = &ack.problem
	}
	err = json.Unmarshal(b, into)
	ack.HTTP, ack.RetryAfter, ack.Type = resp.StatusCode, resp.Header.Get("Retry-After"), resp.Header.Get("Content-Type")
	if err != nil {
		return ack, fmt.Errorf("%s answered %s: %q", url, resp.Status, b)
	}
	return ack, nil
}

// must sends a body and wants a 2xx.
func (a connected) must(t testing.TB, body []byte) acknowledgement {
	t.Helper()
	ack, err := a.send(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	if ack.HTTP/100 != 2 {
		t.Fatalf("answered %d %s\n%s", ack.HTTP, ack.Code, a.log)
	}
	return ack
}

// genericBody is a body of the generic provider.
func genericBody(kind, id, resource string, said, from, to time.Time) []byte {
	b, err := json.Marshal(map[string]any{
		"type": kind, "occurred_at": said.UTC().Format(time.RFC3339Nano),
		"booking": map[string]any{
			"id": id, "title": "Visit", "resource": resource,
			"starts_at": from.UTC().Format(time.RFC3339Nano), "ends_at": to.UTC().Format(time.RFC3339Nano),
			"invitee": map[string]any{"name": "Priya Raman", "email": "priya.raman@mail.example"},
		},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// monday is when the tests' bookings begin.
var monday = time.Date(2026, 12, 7, 8, 0, 0, 0, time.UTC)

// api reads all pages of a list of the API.
func api[T any](t testing.TB, s *server, token, path string) []T {
	t.Helper()
	var out []T
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	for cursor := ""; ; {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next_cursor"`
		}
		body := s.get(t, "/api/v1/"+path+sep+"limit=200&cursor="+cursor, token)
		decode(t, body, &page)
		out = append(out, page.Items...)
		if page.Next == "" {
			return out
		}
		cursor = page.Next
	}
}

func (s *server) get(t testing.TB, path, token string) string {
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
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %s", path, resp.Status, b)
	}
	return string(b)
}

func (s *server) token(t testing.TB, scope string) string {
	t.Helper()
	var out struct{ Token string }
	decode(t, s.run(t, "token", "create", "--name", "tests", "--scope", scope), &out)
	return out.Token
}

func decode(t testing.TB, s string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), v); err != nil {
		t.Fatalf("%v in %q", err, s)
	}
}

// What the tests read of the API.
type (
	bookingItem struct {
		ID            uuid.UUID   `json:"id"`
		ExternalID    string      `json:"external_id"`
		Status        string      `json:"status"`
		Reason        *string     `json:"reason"`
		StartsAt      *time.Time  `json:"starts_at"`
		ConflictsWith []uuid.UUID `json:"conflicts_with"`
	}
	transitionItem struct {
		Seq       int64      `json:"seq"`
		BookingID uuid.UUID  `json:"booking_id"`
		ReceiptID *uuid.UUID `json:"receipt_id"`
		Event     string     `json:"event"`
		From      *string    `json:"from"`
		To        string     `json:"to"`
		Outcome   string     `json:"outcome"`
		Reason    *string    `json:"reason"`
	}
	receiptItem struct {
		ID         uuid.UUID `json:"id"`
		Status     string    `json:"status"`
		Kind       string    `json:"kind"`
		EventKey   string    `json:"event_key"`
		Deliveries int       `json:"deliveries"`
		Error      *string   `json:"error"`
	}
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
