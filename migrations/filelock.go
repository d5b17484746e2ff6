package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileLocker is the lock for SQLite, which has none that outlives a
// transaction: an exclusive transaction on an empty database beside the real
// one. The system drops it with the process, so that a crash leaves no lock.
type fileLocker struct {
	db *sql.DB
	tx *sql.Tx
}

// retryEvery is how often a lock that another process holds is asked for.
const retryEvery = 100 * time.Millisecond

// SessionLock waits until ctx ends.
func (l *fileLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var path string
	if err := conn.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&path); err != nil {
		return fmt.Errorf("find the database's file: %w", err)
	}
	if path == "" {
		return errors.New("a database in memory cannot be migrated: it would be gone with its connection")
	}
	dsn := "file:" + (&url.URL{Path: path + "-migrate"}).EscapedPath() + "?_txlock=exclusive"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return fmt.Errorf("open the migration lock: %w", err)
	}
	db.SetMaxOpenConns(1)
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		// The lock outlives ctx, which ends when the migrations are done.
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err == nil {
			l.db, l.tx = db, tx
			return nil
		}
		var held *sqlite.Error
		if !errors.As(err, &held) || held.Code()&0xff != sqlite3.SQLITE_BUSY {
			return errors.Join(fmt.Errorf("take the migration lock: %w", err), db.Close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for another process that migrates: %w", ctx.Err()), db.Close())
		case <-tick.C:
		}
	}
}

// SessionUnlock lets the next one in.
func (l *fileLocker) SessionUnlock(context.Context, *sql.Conn) error {
	return errors.Join(l.tx.Rollback(), l.db.Close())
}

// connectTries, retryEvery apart, are made to open a file that another process
// makes at this moment: switching to the write-ahead log, SQLite waits for nobody.
const connectTries = 50

func connect(ctx context.Context, db *sql.DB) error {
	for try := 1; ; try++ {
		err := db.PingContext(ctx)
		var held *sqlite.Error
		if err == nil || try == connectTries || !errors.As(err, &held) || held.Code()&0xff != sqlite3.SQLITE_BUSY {
			return err
		}
		timer := time.NewTimer(retryEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
