// Package migrations holds the database's schema, one directory of goose files
// per database with the same tables in both, and brings a database up to it.
//
// A released file is never edited: what is different gets a new file. Every
// constraint has a name, since errors are told apart by it.
package migrations

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Dialect names a kind of database.
type Dialect string

// The databases that there are migrations for; each is also its directory.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Migration is one file and whether it was applied.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is zero while the migration is pending.
	AppliedAt time.Time
}

// Files are the migrations of a dialect.
func Files(d Dialect) (fs.FS, error) {
	if d != Postgres && d != SQLite {
		return nil, fmt.Errorf("migrations: no migrations for %q", d)
	}
	return fs.Sub(files, string(d))
}

// Up applies what is pending and says how many that were. It holds a lock
// meanwhile: of several processes that start at once one migrates, the others
// wait and then find nothing to do. The connections of db must have no
// statement timeout, for a migration may take long.
func Up(ctx context.Context, db *sql.DB, d Dialect) (int, error) {
	p, err := provider(ctx, db, d)
	if err != nil {
		return 0, err
	}
	applied, err := p.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	return len(applied), nil
}

// Down takes all migrations back, newest first, and with them all data.
func Down(ctx context.Context, db *sql.DB, d Dialect) error {
	p, err := provider(ctx, db, d)
	if err != nil {
		return err
	}
	if _, err := p.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

// Status lists all migrations, oldest first.
func Status(ctx context.Context, db *sql.DB, d Dialect) ([]Migration, error) {
	p, err := provider(ctx, db, d)
	if err != nil {
		return nil, err
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	out := make([]Migration, 0, len(status))
	for _, s := range status {
		m := Migration{Version: s.Source.Version, Name: cmp.Or(s.Source.Path, "river")}
		if s.State == goose.StateApplied {
			m.AppliedAt = s.AppliedAt.UTC()
		}
		out = append(out, m)
	}
	return out, nil
}

func provider(ctx context.Context, db *sql.DB, d Dialect) (*goose.Provider, error) {
	dir, err := Files(d)
	if err != nil {
		return nil, err
	}
	if err := connect(ctx, db); err != nil {
		return nil, fmt.Errorf("migrations: connect: %w", err)
	}
	dialect, locker := goose.DialectSQLite3, lock.SessionLocker(&fileLocker{})
	if d == Postgres {
		dialect = goose.DialectPostgres
		// Asked once a second, for ten minutes: a migration of a large table may
		// take that long, and whoever waits must not start on the old schema.
		if locker, err = lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)); err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
	}
	p, err := goose.NewProvider(dialect, db, dir, goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(riverMigration(d)))
	if err != nil {
		return nil, errors.Join(errors.New("migrations: the files are unusable"), err)
	}
	return p, nil
}
