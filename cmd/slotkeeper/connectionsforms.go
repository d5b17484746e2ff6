package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// formsJSON is whether intake forms and notes are kept of a connection.
type formsJSON struct {
	connectionJSON
	// Removed is how many bookings' were, since they are kept no longer.
	Removed int64 `json:"removed"`
}

func (c *cli) connectionsForms() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forms ID --keep | --drop",
		Short: "Keep what clients fill into a connection's intake forms, or remove it",
		Long: `Say whether intake forms of a connection's bookings, and the notes about them, are
kept (Acuity). They are not unless somebody asks for it: as a rule they are health
data. Whoever runs this answers for keeping them, and has to tell the clients.

While they are kept, operators and administrators see them on a booking's page, unless
names or phone numbers are hidden from their role, and each look stands in the admin
log. No list, feed, export, webhook or API has them. They are sealed like bodies, go
as long after they were read last as SLOTKEEPER_KEEP_BODIES says, and with erase.
Backups have them too.

--keep begins with what is read from then on; connections backfill brings earlier ones.
--drop removes all that are kept, at once.`,
		Args: exactly(1),
	}
	alwaysJSON(cmd)
	keep := cmd.Flags().Bool("keep", false, "keep them from now on")
	drop := cmd.Flags().Bool("drop", false, "keep them no longer, and remove those that are kept")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("connection", args[0])
		if err != nil {
			return err
		}
		if *keep == *drop {
			return &booking.InvalidError{Field: "--keep", Detail: "give it, or --drop: one of them"}
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if _, err := inst.store.Connection(cmd.Context(), id); err != nil {
				return noConnection("connection", id, err)
			}
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				removed, err := e.forms.KeepForms(cmd.Context(), id, *keep, access.System)
				if err != nil {
					return err
				}
				conn, err := inst.store.Connection(cmd.Context(), id)
				if err != nil {
					return fmt.Errorf("connection %s: %w", id, err)
				}
				return c.printJSON(formsJSON{c.connectionJSON(conn), removed})
			})
		})
	}
	return cmd
}
