package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// ErrNotEmbedded says that only the embedded database is backed up by us.
var ErrNotEmbedded = errors.New("PostgreSQL is backed up and restored by its own programs, pg_dump and pg_restore: docs/upkeep.md has the commands")

// ErrInUse says that another process has the database open.
var ErrInUse = errors.New("the database is in use: stop the server, and whatever else has it open, first")

// BackupState is what a backup holds.
type BackupState struct {
	Receipts int64
	Bookings int64
	// Chain is the audit log's, with what is wrong with it.
	Rows     int64
	Head     [32]byte
	Findings int
}

// Backup writes the embedded database, as it is at one moment, into a new file
// that its owner alone may read, and proves that it can be restored. Whoever
// applies deliveries goes on meanwhile. A file that is there is never replaced.
func Backup(ctx context.Context, from, file string, v *vault.Vault) (BackupState, error) {
	var none BackupState
	a, err := parse(from)
	if err != nil {
		return none, err
	}
	if a.dialect != migrations.SQLite {
		return none, ErrNotEmbedded
	}
	if _, err := os.Lstat(file); err == nil {
		return none, fmt.Errorf("%s is there already, and a backup replaces nothing: give another name", file)
	}
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // 0600
	if err != nil {
		return none, fmt.Errorf("backup: %w", err)
	}
	defer os.Remove(draft.Name())
	defer draft.Close()
	db, err := a.plain()
	if err != nil {
		return none, err
	}
	// Into an empty file: one that SQLite makes could be read by others.
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", draft.Name())
	if err := errors.Join(classify(err), db.Close()); err != nil {
		return none, fmt.Errorf("backup: %w", err)
	}
	state, err := ExamineBackup(ctx, draft.Name(), v)
	if err != nil {
		return none, fmt.Errorf("backup: what was written cannot be restored: %w", err)
	}
	if err := draft.Sync(); err != nil {
		return none, fmt.Errorf("backup: %w", err)
	}
	// A link appears whole, and only where nothing stands.
	if err := os.Link(draft.Name(), file); err != nil {
		return none, fmt.Errorf("backup: %w", err)
	}
	return state, syncDir(filepath.Dir(file))
}

// ExamineBackup proves that a file is a whole database of ours that this program
// and this key can go on with. It changes nothing, and leaves nothing beside it.
func ExamineBackup(ctx context.Context, file string, v *vault.Vault) (state BackupState, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return state, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return state, fmt.Errorf("%s is no database", file)
	}
	db, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=ro&immutable=1&_timezone=UTC&_txlock=deferred")
	if err != nil {
		return state, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	d := &Diagnosis{db: db, address: address{dialect: migrations.SQLite, path: file}}
	damage, err := values[string](ctx, db, "PRAGMA integrity_check(5)")
	if err != nil {
		return state, fmt.Errorf("%s is no database that can be read: %w", file, err)
	}
	if len(damage) != 1 || damage[0] != "ok" {
		return state, fmt.Errorf("%s is damaged: %s", file, strings.Join(damage, "; "))
	}
	var orphans int64
	if err := d.one(ctx, "SELECT count(*) FROM pragma_foreign_key_check", &orphans); err != nil {
		return state, err
	}
	if orphans > 0 {
		return state, fmt.Errorf("%s is damaged: %d rows name others that are not there", file, orphans)
	}
	if found, err := d.has(ctx, migrationsTable); err != nil || !found {
		return state, errors.Join(fmt.Errorf("%s is no database of Slotkeeper", file), err)
	}
	if err := d.migratedByUs(ctx); err != nil {
		return state, err
	}
	if made, err := d.KeyFits(ctx, v); err != nil || !made {
		return state, errors.Join(fmt.Errorf("%s does not open with this key", file), err)
	}
	err = d.one(ctx, "SELECT (SELECT count(*) FROM webhook_receipts), (SELECT count(*) FROM bookings)", &state.Receipts, &state.Bookings)
	if err != nil {
		return state, err
	}
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), gormConfig())
	if err != nil {
		return state, err
	}
	chain := booking.Chain{Found: func(booking.Finding) { state.Findings++ }}
	s := &Store{dialect: migrations.SQLite, read: g, write: g, vault: v}
	if err := s.CheckChain(ctx, &chain); err != nil {
		return state, err
	}
	state.Rows, state.Head = chain.Rows, chain.Head
	return state, nil
}

// migratedByUs tells whether this program knows all migrations; those that are
// missing are applied when the database is opened. It does not ask goose, whose
// lock would lie beside the file.
func (d *Diagnosis) migratedByUs(ctx context.Context) error {
	names, err := migrationFiles(d.address.dialect)
	if err != nil {
		return err
	}
	newest := 0
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err == nil {
			newest = max(newest, n)
		}
	}
	var applied int
	if err := d.one(ctx, "SELECT coalesce(max(version_id), 0) FROM "+migrationsTable+" WHERE is_applied", &applied); err != nil {
		return err
	}
	if applied > newest {
		return fmt.Errorf("%s was made by a newer version of this program (migration %d): use that one", d.address.path, applied)
	}
	return nil
}

// Restore puts a backup in the place of the embedded database, which nobody may
// have open, and keeps that under another name. aside is that name, "" when there
// was none. The backup is examined before anything is touched.
func Restore(ctx context.Context, file, to, aside string, v *vault.Vault) (state BackupState, kept string, err error) {
	a, err := parse(to)
	if err != nil {
		return state, "", err
	}
	if a.dialect != migrations.SQLite {
		return state, "", ErrNotEmbedded
	}
	if state, err = ExamineBackup(ctx, file, v); err != nil {
		return state, "", err
	}
	draft, err := copyBeside(file, a.path)
	if err != nil {
		return state, "", fmt.Errorf("restore: %w", err)
	}
	defer os.Remove(draft) // not there any more when all went well
	if _, err := os.Stat(a.path); errors.Is(err, fs.ErrNotExist) {
		return state, "", errors.Join(os.Rename(draft, a.path), syncDir(filepath.Dir(a.path)))
	}
	release, err := a.alone(ctx)
	if err != nil {
		return state, "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := os.Lstat(aside); err == nil {
		return state, "", fmt.Errorf("restore: %s is there already", aside)
	}
	if err := os.Rename(a.path, aside); err != nil {
		return state, "", fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(draft, a.path); err != nil {
		return state, "", errors.Join(fmt.Errorf("restore: %w", err), os.Rename(aside, a.path))
	}
	return state, aside, syncDir(filepath.Dir(a.path))
}

// alone makes the database one file without a log beside it, which SQLite does
// only for whoever is alone with it, and keeps everybody out until release.
func (a address) alone(ctx context.Context) (release func() error, err error) {
	db, err := sql.Open(sqlite.DriverName, "file:"+(&url.URL{Path: a.path}).EscapedPath()+"?_pragma=busy_timeout(0)&_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	if err == nil && mode == "delete" {
		_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	var held *modernc.Error
	switch {
	case errors.As(err, &held) && held.Code()&0xff == sqlite3.SQLITE_BUSY, err == nil && mode != "delete":
		err = ErrInUse
	case err == nil:
		return func() error {
			_, err := db.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, db.Close())
		}, nil
	}
	return nil, errors.Join(err, db.Close())
}

// copyBeside copies a file into the folder of another, whole and on the disk.
func copyBeside(file, other string) (draft string, err error) {
	in, err := os.Open(file) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(other), ".restore-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the operator names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
