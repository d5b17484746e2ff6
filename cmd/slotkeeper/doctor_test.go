package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking/account"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly/calendlytest"
)

// examination is what doctor prints.
type examination struct {
	Status checkStatus `json:"status"`
	Checks []check     `json:"checks"`
	err    error       // how the command ended
}

// doctor runs the command with some settings changed.
func (s *server) doctor(t *testing.T, env ...string) examination {
	t.Helper()
	other := *s
	other.env = append(slices.Clone(s.env), env...)
	out, err := other.try(t, "", "doctor", "--json")
	e := examination{err: err}
	decode(t, out, &e)
	if (e.Status == statusFailed) != (err != nil) || err != nil && !strings.Contains(err.Error(), "checks failed") {
		t.Errorf("doctor says %s and ends with %v", e.Status, err)
	}
	for _, secret := range []string{secretKey, adminPassword} {
		if strings.Contains(out, secret) {
			t.Errorf("a secret is printed:\n%s", out)
		}
	}
	return e
}

// named is the check of a name, or the first whose name begins so.
func (e examination) named(t *testing.T, name string) check {
	t.Helper()
	for _, k := range e.Checks {
		if strings.HasPrefix(k.Name, name) {
			return k
		}
	}
	t.Fatalf("no check is called %s: %+v", name, e.Checks)
	return check{}
}

// wants a check of a status whose texts say something.
func (e examination) wants(t *testing.T, name string, status checkStatus, says string) {
	t.Helper()
	k := e.named(t, name)
	if k.Status != status || !strings.Contains(k.Detail+" "+k.Remedy, says) {
		t.Errorf("%s is %s, want %s with %q: %s → %s", name, k.Status, status, says, k.Detail, k.Remedy)
	}
	if k.Status != statusOK && k.Remedy == "" {
		t.Errorf("%s says nothing of what to do: %s", name, k.Detail)
	}
}

// failed are the names of the checks that failed.
func (e examination) failed() []string {
	var out []string
	for _, k := range e.Checks {
		if k.Status == statusFailed {
			out = append(out, k.Name)
		}
	}
	return out
}

// TestDoctor examines an installation in health, then with one thing wrong after
// the other.
func TestDoctor(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		if err := os.Chmod(s.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		e := s.doctor(t)
		e.wants(t, "connections", statusWarning, "there is none")
		a := s.connect(t, "generic")
		a.must(t, genericBody("invitee.created", "b-1", "room 1", monday, monday, monday.Add(time.Hour)))
		e = s.doctor(t)
		if failed := e.failed(); failed != nil || e.err != nil {
			t.Errorf("in health failed %v: %+v", failed, e.Checks)
		}
		for _, name := range []string{"database", "schema", "key", "fences", "writing", "clock and database"} {
			e.wants(t, name, statusOK, "")
		}
		e.wants(t, "public URL", statusWarning, "this very installation answers there")
		e.wants(t, "connection "+a.id.String(), statusOK, "the last delivery came")
		if s.db == "" {
			e.wants(t, "data directory", statusOK, "MiB free")
			e.wants(t, "durability", statusOK, "FULL")
			e.wants(t, "integrity", statusOK, "")
		} else {
			e.wants(t, "btree_gist", statusOK, "installed")
			e.wants(t, "sessions", statusOK, "")
			e.wants(t, "timeouts", statusOK, "lock_timeout 4s")
			e.wants(t, "role", statusWarning, "superuser")
			if e.named(t, "durability").Status != durabilityOf(t, s.db) {
				t.Errorf("durability: %+v", e.named(t, "durability"))
			}
		}
		if text := s.run(t, "doctor"); !strings.Contains(text, "ok       schema: ") || !strings.Contains(text, "         → ") {
			t.Errorf("for people it says\n%s", text)
		}

		// What cannot be used shows at its connection.
		a.deliver(t, []byte(`{"type":"invitee.created"}`))
		e = s.doctor(t)
		e.wants(t, "connection "+a.id.String(), statusWarning, "1 receipts failed")

		wrongKey := s.doctor(t, "SLOTKEEPER_SECRET_KEY="+base64.StdEncoding.EncodeToString(vault.NewKey()))
		wrongKey.wants(t, "key", statusFailed, "not the key")
		wrongKey.wants(t, "connections", statusWarning, "mend")

		doctorsPublicURL(t, s)

		s.stop(t)
		e = s.doctor(t)
		if failed := e.failed(); !slices.Equal(failed, []string{"public URL"}) {
			t.Errorf("with a stopped server failed %v", failed)
		}
		e.wants(t, "public URL", statusFailed, "nothing listens there")
	})
}

// durabilityOf is what doctor should say of the tests' own PostgreSQL, which is
// usually set to be fast.
func durabilityOf(t *testing.T, url string) checkStatus {
	t.Helper()
	d, err := store.Diagnose(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	set, err := d.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if set["fsync"] == "off" || set["full_page_writes"] == "off" || set["synchronous_commit"] == "off" {
		return statusWarning
	}
	return statusOK
}

// doctorsPublicURL leads the public URL elsewhere.
func doctorsPublicURL(t *testing.T, s *server) {
	t.Helper()
	other := newServer(t, "")
	s.doctor(t, "SLOTKEEPER_PUBLIC_URL="+other.url).wants(t, "public URL", statusFailed, "another database")
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	s.doctor(t, "SLOTKEEPER_PUBLIC_URL="+stranger.URL).wants(t, "public URL", statusFailed, "not Slotkeeper")
	s.doctor(t, "SLOTKEEPER_PUBLIC_URL=http://bookings.invalid").wants(t, "public URL", statusFailed, "check the host")
}

// TestDoctorMakesNothing runs it where nothing is, or where somebody else's is.
func TestDoctorMakesNothing(t *testing.T) {
	t.Parallel()
	s := prepare(t, "", "SLOTKEEPER_SECRET_KEY=")
	s.doctor(t).wants(t, "data directory", statusFailed, "no database")
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	p := prepare(t, migratetest.EmptyPostgres(t))
	for range 2 {
		e := p.doctor(t)
		e.wants(t, "schema", statusFailed, "migrate up")
		e.wants(t, "btree_gist", statusFailed, "CREATE EXTENSION")
		e.wants(t, "connections", statusWarning, "mend")
	}
	away := prepare(t, "postgres://slotkeeper:planted-password@127.0.0.1:1/slotkeeper?sslmode=disable")
	e := away.doctor(t)
	e.wants(t, "database", statusFailed, "SLOTKEEPER_DATABASE_URL")
	if strings.Contains(e.named(t, "database").Detail, "planted") {
		t.Error("the password is printed")
	}
	noKey := p.doctor(t, "SLOTKEEPER_SECRET_KEY=")
	noKey.wants(t, "key", statusFailed, "SLOTKEEPER_SECRET_KEY is missing")
}

// TestDoctorOfAnAccount watches an account whose webhook goes and whose token is
// revoked: both are told, and nothing is registered anew behind one's back.
func TestDoctorOfAnAccount(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		const token = "calendly-token-0123456789"
		c := calendlytest.New(calendlytest.Options{Token: token, Tempo: acuityTempo, Now: time.Now})
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		at, err := url.Parse(c.APIBase())
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, fmt.Sprintf("SLOTKEEPER_TEMPO=%d", acuityTempo))
		a := s.connect(t, "calendly", "--api-url", c.APIBase(), "--api-token", token, "--subscribe")
		name := "connection " + a.id.String()

		e := s.doctor(t)
		e.wants(t, name, statusOK, "the webhook is active")
		e.wants(t, "clock and calendly", statusOK, "agree")
		hops := s.selftest(t, a.id)
		hops.wants(t, account.HopAPI, true, "accepts the credentials")
		hops.wants(t, account.HopWebhook, true, "active")

		c.Unsubscribe(a.webhook())
		s.doctor(t).wants(t, name, statusFailed, "our webhook is gone")
		hops = s.selftest(t, a.id)
		hops.wants(t, account.HopReceipt, true, "")
		hops.wants(t, account.HopWebhook, false, "our webhook is gone")
		if left := c.Subscribed(); len(left) != 0 {
			t.Errorf("somebody registered %v", left)
		}

		c.Set(apitest.Unavailable)
		s.doctor(t).wants(t, name, statusWarning, "fails at the moment")
		c.Set(apitest.Healthy)

		c.Revoke(token)
		e = s.doctor(t)
		e.wants(t, name, statusFailed, "no longer accepted")
		hops = s.selftest(t, a.id)
		hops.wants(t, account.HopReceipt, true, "")
		hops.wants(t, account.HopAPI, false, "connect the account again")
		for _, printed := range []any{e.Checks, hops.Hops} {
			if b, err := json.Marshal(printed); err != nil || strings.Contains(string(b), token) {
				t.Errorf("the token is printed: %s %v", b, err)
			}
		}
	})
}

// TestALesserRole does what docs/operating.md says: one role owns the schema, and
// the server is another, which doctor finds nothing wrong with.
func TestALesserRole(t *testing.T) {
	t.Parallel()
	long(t)
	database := migratetest.EmptyPostgres(t)
	s := prepare(t, database)
	s.run(t, "migrate", "up")
	name := "slotkeeper_server_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	statements := []string{"CREATE ROLE " + name + " LOGIN"}
	for _, line := range strings.Split(document(t, "docs/operating.md"), "\n") {
		if strings.HasSuffix(line, " TO slotkeeper_server;") {
			statements = append(statements, strings.ReplaceAll(line, "slotkeeper_server", name))
		}
	}
	if len(statements) < 5 {
		t.Fatalf("docs/operating.md grants %q", statements[1:])
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY " + name, "DROP ROLE " + name} {
			if _, err := db.ExecContext(context.Background(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(name)
	s = newServer(t, u.String())
	a := s.connect(t, "generic")
	if ack := a.must(t, genericBody("invitee.created", "b-1", "room 1", monday, monday, monday.Add(time.Hour))); ack.Status != "processed" {
		t.Errorf("answered %+v", ack)
	}
	e := s.doctor(t)
	e.wants(t, "role", statusOK, "neither switch off nor drop")
	if failed := e.failed(); failed != nil {
		t.Errorf("failed %v: %+v", failed, e.Checks)
	}
	if strings.Contains(s.log.String(), "permission denied") {
		t.Errorf("the server may do too little:\n%s", s.log)
	}
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE transitions DISABLE TRIGGER transitions_append_only"); err != nil {
		t.Fatal(err)
	}
	s.doctor(t).wants(t, "fences", statusFailed, "transitions_append_only")
}

func TestDoctorsVerdicts(t *testing.T) {
	t.Parallel()
	status := func(k check) checkStatus { return k.Status }
	schema := func(s store.SchemaState) checkStatus {
		k, current := schemaVerdict(s)
		if current != (k.Status == statusOK) {
			t.Errorf("%+v is %s and current %t", s, k.Status, current)
		}
		return k.Status
	}
	safe := map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
	without := func(name, value string) map[string]string {
		set := map[string]string{}
		for k, v := range safe {
			set[k] = v
		}
		set[name] = value
		return set
	}
	limits := map[string]string{"lock_timeout": "4s", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "10s"}
	for name, c := range map[string]struct {
		got, want checkStatus
	}{
		"a clock that agrees":           {status(clockVerdict("clock", "X's", 0, 0)), statusOK},
		"a second ahead":                {status(clockVerdict("clock", "X's", time.Second, 0)), statusOK},
		"five seconds ahead":            {status(clockVerdict("clock", "X's", 5*time.Second, 0)), statusWarning},
		"five seconds, as unsure":       {status(clockVerdict("clock", "X's", 5*time.Second, 5*time.Second)), statusOK},
		"an hour behind":                {status(clockVerdict("clock", "X's", -time.Hour, 0)), statusFailed},
		"room enough":                   {status(diskSpace("disk", "/", 10<<30)), statusOK},
		"little room":                   {status(diskSpace("disk", "/", 500<<20)), statusWarning},
		"no room":                       {status(diskSpace("disk", "/", 1<<20)), statusFailed},
		"all durable":                   {status(durability(safe)), statusOK},
		"a replica waited for":          {status(durability(without("synchronous_commit", "remote_apply"))), statusOK},
		"commits not waited for":        {status(durability(without("synchronous_commit", "off"))), statusWarning},
		"no fsync":                      {status(durability(without("fsync", "off"))), statusWarning},
		"torn pages":                    {status(durability(without("full_page_writes", "off"))), statusWarning},
		"SQLite as it is set":           {status(sqliteDurability(map[string]string{"journal_mode": "wal", "synchronous": "2"})), statusOK},
		"SQLite on a network":           {status(sqliteDurability(map[string]string{"journal_mode": "delete", "synchronous": "2"})), statusWarning},
		"SQLite in a hurry":             {status(sqliteDurability(map[string]string{"journal_mode": "wal", "synchronous": "1"})), statusFailed},
		"timeouts":                      {status(sessionTimeouts(limits)), statusOK},
		"no timeouts":                   {status(sessionTimeouts(map[string]string{"lock_timeout": "0"})), statusWarning},
		"no pooler":                     {status(poolingVerdict(store.Pooling{})), statusOK},
		"a pooler of sessions":          {status(poolingVerdict(store.Pooling{StartupRefused: "no"})), statusWarning},
		"a pooler of transactions":      {status(poolingVerdict(store.Pooling{Moved: true})), statusFailed},
		"that refuses, too":             {status(poolingVerdict(store.Pooling{Shared: true, StartupRefused: "no"})), statusFailed},
		"a role that reads and writes":  {status(roleVerdict(store.Role{Name: "server"})), statusOK},
		"a superuser":                   {status(roleVerdict(store.Role{Name: "postgres", Superuser: true})), statusWarning},
		"the owner":                     {status(roleVerdict(store.Role{Name: "owner", Owner: true})), statusWarning},
		"one that passes over triggers": {status(roleVerdict(store.Role{Name: "replica", Replicates: true})), statusWarning},
		"the schema":                    {schema(store.SchemaState{Applied: 9}), statusOK},
		"an old schema":                 {schema(store.SchemaState{Applied: 8, Pending: []string{"00009_x.sql"}}), statusFailed},
		"a schema of the future":        {schema(store.SchemaState{Applied: 9, Newer: []int64{99}}), statusFailed},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", name, c.got, c.want)
		}
	}
}

func TestConnectionVerdict(t *testing.T) {
	t.Parallel()
	now := monday
	recent, old, long := now.Add(-time.Hour), now.Add(-time.Hour), now.Add(-30*24*time.Hour)
	base := providers.Connection{ID: uuid.New(), Provider: "calendly", APIBase: "https://api.calendly.com", CreatedAt: long, LastDeliveryAt: &recent}
	quiet, house := base, base
	quiet.LastDeliveryAt = nil
	house.Provider, house.APIBase = "generic", house.ID.String()
	registered := account.Asked{Registered: true}
	is := func(h providers.HookState) account.Asked { return account.Asked{Registered: true, Hook: h} }
	canceled := []providers.HookKind{{Name: "appointment.canceled", Of: providers.TopicCanceled}}
	for name, c := range map[string]struct {
		conn    providers.Connection
		asked   account.Asked
		err     error
		backlog store.Backlog
		want    checkStatus
		says    string
	}{
		"working":           {conn: base, asked: registered, want: statusOK, says: "webhook is active"},
		"by hand":           {conn: base, want: statusOK, says: "accepts the credentials"},
		"generic":           {conn: house, err: account.ErrCannotAsk, want: statusOK, says: "the last delivery came"},
		"without a token":   {conn: base, err: account.ErrCannotAsk, want: statusWarning, says: "no credentials"},
		"quiet":             {conn: quiet, asked: registered, want: statusWarning, says: "nothing came yet"},
		"switched off":      {conn: base, asked: is(providers.HookState{Trouble: providers.HookOff}), want: statusFailed, says: "webhook is switched off"},
		"one of four gone":  {conn: base, asked: is(providers.HookState{Trouble: providers.HookNarrowed, Missing: canceled}), want: statusFailed, says: "does not tell of appointment.canceled"},
		"an old version":    {conn: base, asked: is(providers.HookState{Trouble: providers.HookDated, Missing: canceled}), want: statusOK, says: "webhook is active"},
		"not delivered to":  {conn: base, asked: is(providers.HookState{Trouble: providers.HookFailing, FailingSince: &old}), want: statusWarning, says: "fail since 2026"},
		"revoked":           {conn: base, err: &providers.AnswerError{Status: http.StatusUnauthorized, Message: "revoked"}, want: statusFailed, says: "connect the account again"},
		"down":              {conn: base, err: &providers.AnswerError{Status: http.StatusBadGateway}, want: statusWarning, says: "try again later"},
		"asked to wait":     {conn: base, err: &providers.LaterError{Err: errors.New("later")}, want: statusWarning, says: "left alone"},
		"unreachable":       {conn: base, err: &url.Error{Op: "Get", URL: "x", Err: os.ErrDeadlineExceeded}, want: statusFailed, says: "way out"},
		"given up":          {conn: base, asked: registered, backlog: store.Backlog{Dead: 2}, want: statusWarning, says: "2 receipts were given up"},
		"open":              {conn: base, asked: registered, backlog: store.Backlog{Pending: 3, OldestPending: &now}, want: statusOK, says: "3 receipts are open"},
		"open for an hour":  {conn: base, asked: registered, backlog: store.Backlog{Pending: 3, OldestPending: &old}, want: statusWarning, says: "is the server running"},
		"failed stays so":   {conn: quiet, asked: is(providers.HookState{Trouble: providers.HookGone}), backlog: store.Backlog{Dead: 1}, want: statusFailed, says: "given up"},
		"and what was said": {conn: quiet, asked: registered, backlog: store.Backlog{Failed: 1}, want: statusWarning, says: "1 receipts failed"},
	} {
		k := connectionVerdict(c.conn, c.asked, c.err, c.backlog, now)
		if k.Status != c.want || !strings.Contains(k.Detail+" "+k.Remedy, c.says) {
			t.Errorf("%s: %+v, want %s with %q", name, k, c.want, c.says)
		}
	}
}
