package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// The queue's own tables are made by River, in goose's line and under its lock.
// A River that needs more gets another goose version with a higher target.
const (
	riverGooseVersion = 8
	riverTarget       = 8
)

func riverMigration(d Dialect) *goose.Migration {
	run := func(direction rivermigrate.Direction, target int) *goose.GoFunc {
		return &goose.GoFunc{RunDB: func(ctx context.Context, db *sql.DB) error {
			var driver riverdriver.Driver[*sql.Tx] = riverdatabasesql.New(db)
			if d == SQLite {
				driver = riversqlite.New(db)
			}
			m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				_, err = m.Migrate(ctx, direction, &rivermigrate.MigrateOpts{TargetVersion: target})
			}
			if err != nil {
				return fmt.Errorf("the queue's tables: %w", err)
			}
			return nil
		}}
	}
	return goose.NewGoMigration(riverGooseVersion, run(rivermigrate.DirectionUp, riverTarget), run(rivermigrate.DirectionDown, -1))
}
