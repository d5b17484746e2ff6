package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

// oldestPostgres is the first major version that we run on.
const oldestPostgres = 15

// database examines the database, and tells whether the store can be opened on it.
func (d *doctor) database(ctx context.Context, db *store.Diagnosis, v *vault.Vault) (usable bool) {
	d.add(databaseVersion(ctx, db))
	if isPostgres(db) {
		d.add(extension(ctx, db), pooling(ctx, db))
	}
	if set, err := db.Settings(ctx); err != nil {
		d.add(unasked("durability", err))
	} else if isPostgres(db) {
		d.add(durability(set), sessionTimeouts(set))
	} else {
		d.add(sqliteDurability(set))
	}
	schema, current := schemaState(ctx, db)
	d.add(schema)
	if !current {
		return false
	}
	usable = v != nil && d.keyFits(ctx, db, v)
	if isPostgres(db) {
		d.add(role(ctx, db))
	} else {
		d.add(damage(ctx, db))
	}
	d.add(fencesUp(ctx, db))
	if err := db.Write(ctx); err != nil {
		d.add(failure("writing", "the database cannot be written: "+err.Error(), "senders are told to come back until it can: is it a standby, is the disk full, may this user write?"))
		usable = false
	} else {
		d.add(fine("writing", "the database can be written"))
	}
	d.add(databaseClock(ctx, db, d.now))
	return usable
}

func databaseVersion(ctx context.Context, db *store.Diagnosis) check {
	text, major, err := db.Version(ctx)
	switch {
	case err != nil:
		return unasked("database", err)
	case !isPostgres(db):
		return fine("database", fmt.Sprintf("SQLite %s, %s", text, db.Place()))
	case major < oldestPostgres:
		return failure("database", fmt.Sprintf("PostgreSQL %s, %s: it is too old", text, db.Place()), fmt.Sprintf("use PostgreSQL %d or newer", oldestPostgres))
	}
	return fine("database", fmt.Sprintf("PostgreSQL %s, %s", text, db.Place()))
}

func extension(ctx context.Context, db *store.Diagnosis) check {
	const name = "btree_gist"
	version, available, err := db.Extension(ctx, name)
	switch {
	case err != nil:
		return unasked(name, err)
	case version != "":
		return fine(name, "installed, version "+version)
	case available:
		return failure(name, "not installed in this database: no overlap could be refused", "run migrate up as a role that may CREATE EXTENSION, or have it created")
	}
	return failure(name, "the server does not have this extension: no overlap could be refused", "install PostgreSQL's contrib package")
}

// durability: a delivery is acknowledged once it is committed, which is worth
// nothing where a commit does not reach the disk.
func durability(set map[string]string) check {
	const name = "durability"
	var off []string
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if set[setting] == "off" {
			off = append(off, setting)
		}
	}
	if len(off) == 0 {
		return fine(name, fmt.Sprintf("fsync %s, full_page_writes %s, synchronous_commit %s", set["fsync"], set["full_page_writes"], set["synchronous_commit"]))
	}
	meaning := "after a crash the last moments' acknowledged deliveries can be gone"
	if off[0] != "synchronous_commit" {
		meaning = "a crash of the machine can lose acknowledged deliveries and damage the whole database"
	}
	return warning(name, strings.Join(off, ", ")+" off: "+meaning, "switch on in postgresql.conf, or for the role or database: "+strings.Join(off, ", "))
}

// sqliteDurability reads what the pragmas of our own connections came to.
func sqliteDurability(set map[string]string) check {
	const name = "durability"
	if set["journal_mode"] != "wal" {
		return warning(name, "the journal mode is "+set["journal_mode"]+", not wal: readers and the writer wait for each other",
			"is the data directory on a network file system? SQLite needs a local one")
	}
	if set["synchronous"] != "2" {
		return failure(name, "synchronous is "+set["synchronous"]+", not 2 (FULL): a crash can lose acknowledged deliveries", "report this: Slotkeeper sets it itself")
	}
	return fine(name, "journal mode wal, synchronous FULL")
}

func sessionTimeouts(set map[string]string) check {
	var none, all []string
	for _, name := range store.Timeouts() {
		all = append(all, name+" "+set[name])
		if set[name] == "0" {
			none = append(none, name)
		}
	}
	if len(none) > 0 {
		return warning("timeouts", strings.Join(none, ", ")+" not set: a stuck transaction holds up every delivery",
			"a pooler may have dropped them: set them for the role, with ALTER ROLE … SET")
	}
	return fine("timeouts", strings.Join(all, ", "))
}

func pooling(ctx context.Context, db *store.Diagnosis) check {
	p, err := db.Pooling(ctx)
	if err != nil {
		return unasked("sessions", err)
	}
	return poolingVerdict(p)
}

func poolingVerdict(p store.Pooling) check {
	const (
		name   = "sessions"
		remedy = "connect to PostgreSQL itself, or to a pooler in session mode (PgBouncer: pool_mode = session, and lock_timeout, statement_timeout, idle_in_transaction_session_timeout in ignore_startup_parameters)"
	)
	if !p.Broken() {
		return fine(name, "each connection keeps a session of its own")
	}
	var what []string
	for text, found := range map[string]bool{
		"two connections share a session":               p.Shared,
		"a connection changes its session":              p.Moved,
		"a lock is not held against others":             p.LocksLost,
		"a session's settings are lost or reach others": p.SettingsLost,
		"prepared statements are forgotten":             p.StatementsLost,
	} {
		if found {
			what = append(what, text)
		}
	}
	slices.Sort(what)
	if len(what) == 0 { // it took our settings away, and nothing else
		return warning(name, "a pooler refuses our sessions' settings, and the server will not start with it: "+p.StartupRefused, remedy)
	}
	if p.StartupRefused != "" {
		what = append(what, "our sessions' settings are refused ("+p.StartupRefused+")")
	}
	return failure(name, "a pooler in transaction or statement mode stands in between: "+strings.Join(what, "; ")+
		". Two servers could then migrate at once, and statements fail at random", remedy)
}

func role(ctx context.Context, db *store.Diagnosis) check {
	r, err := db.Role(ctx)
	if err != nil {
		return unasked("role", err)
	}
	return roleVerdict(r)
}

func roleVerdict(r store.Role) check {
	var may string
	switch {
	case r.Superuser:
		may = "is a superuser"
	case r.Owner:
		may = "owns the tables"
	case r.Replicates:
		may = "may set session_replication_role"
	default:
		return fine("role", r.Name+" can neither switch off nor drop what keeps the audit log and the receipts")
	}
	return warning("role", fmt.Sprintf("%s %s: whoever has its password can switch off the triggers that keep the audit log and the receipts", r.Name, may),
		"run migrate up as the owner, and serve as a role that may only read and write: docs/operating.md has the statements")
}

func fencesUp(ctx context.Context, db *store.Diagnosis) check {
	down, err := db.FencesDown(ctx)
	switch {
	case err != nil:
		return unasked("fences", err)
	case len(down) > 0:
		return failure("fences", "gone or switched off: "+strings.Join(down, ", ")+": the database no longer refuses what they refuse",
			"find out who did so, and what was changed since; then enable them, or restore the schema from a backup")
	}
	return fine("fences", "the constraints and triggers that refuse double bookings and changed history are in place")
}

func damage(ctx context.Context, db *store.Diagnosis) check {
	found, err := db.Damage(ctx)
	switch {
	case err != nil:
		return unasked("integrity", err)
	case len(found) > 0:
		return failure("integrity", "the file is damaged: "+strings.Join(found, "; "), "stop the server, keep a copy of the file, and return to a backup")
	}
	return fine("integrity", "quick_check finds nothing wrong")
}

// schemaState tells whether this binary's schema is what the database has.
func schemaState(ctx context.Context, db *store.Diagnosis) (check, bool) {
	s, err := db.Schema(ctx)
	if err != nil {
		return unasked("schema", err), false
	}
	return schemaVerdict(s)
}

func schemaVerdict(s store.SchemaState) (check, bool) {
	switch {
	case len(s.Newer) > 0:
		return failure("schema", fmt.Sprintf("the database has migrations that this version does not know: %v", s.Newer), "use the newer Slotkeeper that made them"), false
	case len(s.Pending) > 0:
		return failure("schema", fmt.Sprintf("%d migrations are not applied: %s", len(s.Pending), strings.Join(s.Pending, ", ")),
			"run migrate up, or start the server, which does so; make a backup first"), false
	}
	return fine("schema", fmt.Sprintf("all %d migrations are applied", s.Applied)), true
}

func (d *doctor) keyFits(ctx context.Context, db *store.Diagnosis, v *vault.Vault) bool {
	made, err := db.KeyFits(ctx, v)
	switch {
	case err != nil:
		d.add(failure("key", err.Error(), "give the key that this database was made with"))
	case !made:
		d.add(warning("key", "nothing was sealed yet: the server was never started on this database", "start it once"))
	default:
		d.add(fine("key", "it opens what was sealed at the first start"))
		return true
	}
	return false
}

func databaseClock(ctx context.Context, db *store.Diagnosis, now func() time.Time) check {
	const name = "clock and database"
	if !isPostgres(db) {
		return fine(name, "SQLite has no clock of its own")
	}
	ahead, within, err := db.Clock(ctx, now)
	if err != nil {
		return unasked(name, err)
	}
	return clockVerdict(name, "the database's", ahead, within)
}

// How far clocks may be apart before somebody should look, and before signatures
// and tickets are judged wrongly.
const (
	clockWarning = 2 * time.Second
	clockFailure = 2 * time.Minute
)

// clockVerdict judges how far this machine's clock is ahead of another; within is
// how unsure that is.
func clockVerdict(name, whose string, ahead, within time.Duration) check {
	const remedy = "keep the clocks of all machines by NTP: signatures are judged by age, and the audit log tells times"
	apart := max(ahead.Abs()-within, 0)
	detail := fmt.Sprintf("this machine's clock and %s agree", whose)
	if apart > 0 {
		word := "ahead of"
		if ahead < 0 {
			word = "behind"
		}
		detail = fmt.Sprintf("this machine's clock is %s %s %s", apart.Round(time.Millisecond), word, whose)
	}
	switch {
	case apart > clockFailure:
		return failure(name, detail, remedy)
	case apart > clockWarning:
		return warning(name, detail, remedy)
	}
	return fine(name, detail)
}
