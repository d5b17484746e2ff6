package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/libtnb/sqlite"
)

// What the tests look at: whole answers, the log's lines, the database's rows.

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   []byte
	fields map[string]any // of a JSON object
}

// keys are the names of the JSON object's members, in order.
func (a answer) keys() []string { return slices.Sorted(maps.Keys(a.fields)) }

func (a answer) text(key string) string {
	s, _ := a.fields[key].(string)
	return s
}

// direct is client that does not follow where it is sent.
var direct = &http.Client{
	Timeout: client.Timeout, Transport: client.Transport,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func ask(t testing.TB, method, to string, body []byte, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := direct.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := answer{status: resp.StatusCode, header: resp.Header}
	if out.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(out.body, &out.fields) // a page has none
	return out
}

func (a connected) webhook() string { return a.url + "/webhooks/" + a.Name() + "/" + a.id.String() }

// signed is the header that the provider would send with the body now.
func (a connected) signed(body []byte) http.Header { return a.Sign(body, a.secret, time.Now()) }

// deliver posts a body as the provider does.
func (a connected) deliver(t testing.TB, body []byte) answer {
	t.Helper()
	return ask(t, http.MethodPost, a.webhook(), body, a.signed(body))
}

// connectAll connects one account of each provider whose posts say what happened.
func (s *server) connectAll(t testing.TB) map[string]connected {
	t.Helper()
	out := map[string]connected{}
	for _, name := range []string{"calcom", "calendly", "generic"} {
		out[name] = s.connect(t, name)
	}
	return out
}

// gone leaves a field out of a fixture.
const gone = "\x00gone"

// changes are a fixture's fields that are to say something else, by their path.
type changes map[string]any

// sample is a body as its provider writes it, with changes.
func sample(t testing.TB, provider, file string, c changes) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "providers", provider, "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if len(c) == 0 {
		return raw
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	// What is inside another goes first: the other may go altogether.
	paths := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return strings.Count(b, ".") - strings.Count(a, ".")
	})
	for _, path := range paths {
		change(t, root, strings.Split(path, "."), c[path])
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func change(t testing.TB, in any, path []string, value any) {
	t.Helper()
	if list, ok := in.([]any); ok {
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(list) {
			t.Fatalf("the fixture has no %v", path)
		}
		if len(path) == 1 {
			list[i] = value
			return
		}
		change(t, list[i], path[1:], value)
		return
	}
	object, ok := in.(map[string]any)
	switch {
	case !ok:
		t.Fatalf("the fixture has no %v", path)
	case len(path) > 1:
		change(t, object[path[0]], path[1:], value)
	case value == gone:
		delete(object, path[0])
	default:
		object[path[0]] = value
	}
}

// said is what a body of the tests says: what happened to which booking, when it
// is, and when that was said.
type said struct {
	kind string // request, create, move or cancel
	id   string
	from time.Time
	at   time.Time
	with changes // on top
}

// The fixtures that the tests' bodies are made of.
const (
	calendlyCreated  = "01_one_on_one_invitee_created.json"
	calendlyCanceled = "02_one_on_one_invitee_canceled_by_invitee.json"
	calcomCreated    = "booking_created_1to1.json"
	genericCreated   = "created_in_a_room.json"
)

// What the providers call what happens to a booking.
var (
	calcomTriggers = map[string]string{
		"request": "BOOKING_REQUESTED", "create": "BOOKING_CREATED", "move": "BOOKING_RESCHEDULED", "cancel": "BOOKING_CANCELLED",
	}
	genericTypes = map[string]string{
		"request": "booking.requested", "create": "invitee.created", "move": "booking.moved", "cancel": "invitee.canceled",
	}
)

// body is what the account's provider would write of a booking of half an hour.
func (a connected) body(t testing.TB, w said) []byte {
	t.Helper()
	iso := func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
	from, to, at := iso(w.from), iso(w.from.Add(30*time.Minute)), iso(w.at)
	file, c := "", changes{}
	switch a.Name() {
	case "calendly":
		file = calendlyCreated
		if w.kind == "cancel" {
			file = calendlyCanceled
		}
		event := "https://api.calendly.com/scheduled_events/" + w.id
		c = changes{
			"payload.uri": event + "/invitees/" + w.id, "payload.event": event, "payload.scheduled_event.uri": event,
			"payload.updated_at": at, "payload.scheduled_event.start_time": from, "payload.scheduled_event.end_time": to,
		}
	case "calcom":
		file = calcomCreated
		c = changes{
			"triggerEvent": calcomTriggers[w.kind], "createdAt": at,
			"payload.uid": w.id, "payload.startTime": from, "payload.endTime": to,
		}
	case "generic":
		file = genericCreated
		c = changes{
			"type": genericTypes[w.kind], "occurred_at": at,
			"booking.id": w.id, "booking.session": gone, "booking.starts_at": from, "booking.ends_at": to, "booking.capacity": gone,
		}
	}
	maps.Copy(c, w.with)
	return sample(t, a.Name(), file, c)
}

// logLines are the log's, each of which must be JSON.
func (s *server) logLines(t testing.TB) []map[string]any {
	t.Helper()
	var out []map[string]any
	scan := bufio.NewScanner(strings.NewReader(s.log.String()))
	scan.Buffer(nil, 4<<20)
	for scan.Scan() {
		var line map[string]any
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Errorf("a line of the log is no JSON: %s", scan.Text())
			continue
		}
		out = append(out, line)
	}
	return out
}

// logged are the log's lines with that message.
func (s *server) logged(t testing.TB, msg string) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(s.logLines(t), func(l map[string]any) bool { return l["msg"] != msg })
}

// database is the installation's, past the application.
func (s *server) database(t testing.TB) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", s.db
	if s.db == "" {
		driver, dsn = "sqlite", "file:"+filepath.Join(s.dir, "slotkeeper.db")+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// tables are the database's.
func (s *server) tables(t testing.TB, db *sql.DB) []string {
	t.Helper()
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if s.db != "" {
		list = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	}
	rows, err := db.QueryContext(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil || len(out) < 10 {
		t.Fatalf("only the tables %v (%v)", out, err)
	}
	return out
}

// rowCounts are how many rows each table has.
func (s *server) rowCounts(t testing.TB, db *sql.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range s.tables(t, db) {
		if strings.HasPrefix(table, "river_") {
			continue // it looks after the connections every minute
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

// dump is all that each table holds, bytes as they are.
func (s *server) dump(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range s.tables(t, db) {
		out[table] = dumpTable(t, db, table)
	}
	return out
}

func dumpTable(t testing.TB, db *sql.DB, table string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			fmt.Fprintf(&out, "%s=%v\n", columns[i], v)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// planted is something that must not be found where it does not belong.
type planted struct{ name, value string }

// forms are the spellings in which it may hide.
func (p planted) forms() []string {
	raw := []byte(p.value)
	out := []string{
		p.value, hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
		template.HTMLEscapeString(p.value), url.QueryEscape(p.value),
	}
	if key, err := base64.StdEncoding.DecodeString(p.value); err == nil && len(key) == 32 {
		out = append(out, string(key), hex.EncodeToString(key))
	}
	return out
}

// absent fails for each of the values that stands in the text.
func absent(t testing.TB, where, text string, values []planted) {
	t.Helper()
	for _, p := range values {
		for _, form := range p.forms() {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s holds %s: …%q…", where, p.name, text[max(0, at-60):min(len(text), at+len(form)+20)])
				break
			}
		}
	}
}
