package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"slotkeeper/booking/store"
)

func (c *cli) migrateCommand() *cobra.Command {
	up := &cobra.Command{
		Use: "up", Short: "Apply what is missing; serve does so too", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.makeDataDir(); err != nil {
				return err
			}
			n, err := store.Migrate(cmd.Context(), c.cfg.database())
			if err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "%d migrations applied\n", n)
			return nil
		},
	}
	status := &cobra.Command{Use: "status", Short: "List the migrations and when each was applied", Args: cobra.NoArgs}
	asJSON := jsonFlag(status)
	status.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.makeDataDir(); err != nil {
			return err
		}
		all, err := store.MigrationStatus(cmd.Context(), c.cfg.database())
		if err != nil {
			return err
		}
		if *asJSON {
			out := make([]migrationJSON, 0, len(all))
			for _, m := range all {
				out = append(out, migrationJSON{m.Version, m.Name, optionalTime(m.AppliedAt)})
			}
			return c.printJSON(out)
		}
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		for _, m := range all {
			applied := "pending"
			if !m.AppliedAt.IsZero() {
				applied = m.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
			}
			fmt.Fprintf(w, "%d\t%s\t%s\n", m.Version, m.Name, applied)
		}
		return w.Flush()
	}
	return group("migrate", "Bring the database's schema up to date, or see how far it is", up, status)
}

func (c *cli) makeDataDir() error {
	if c.cfg.DatabaseURL != "" {
		return nil
	}
	return os.MkdirAll(c.cfg.DataDir, 0o700)
}

type migrationJSON struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
