package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
)

type erasureJSON struct {
	Erased   bool  `json:"erased"`
	Bookings int64 `json:"bookings"`
	Seats    int64 `json:"seats"`
	Receipts int64 `json:"receipts"`
	Effects  int64 `json:"effects"`
	Emails   int64 `json:"emails"`
}

func (c *cli) eraseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "erase --email E | --phone P [--yes]",
		Short: "Remove a person from everything that is kept, and keep it so; without --yes, count what that would be",
		Long: `Removes an invitee's name, e-mail, phone and time zone from bookings, with titles
and places that may name the person, the bodies and snapshots that tell of the
person, intake forms and notes, and what is still to be sent. Bookings and the audit log, which names nobody,
stay. What comes about the person later (copies, imports, comparisons, replays, new
bookings) is kept without the person. The server may run.

A backup that was made before still has the person: erase again after restoring one.`,
		Args: cobra.NoArgs,
	}
	var who store.Person
	cmd.Flags().StringVar(&who.Email, "email", "", "the invitee's e-mail, however it is spelt")
	cmd.Flags().StringVar(&who.Phone, "phone", "", "the invitee's phone number with its country's code; the e-mails of its bookings are erased too")
	yes := cmd.Flags().Bool("yes", false, "do it; it cannot be undone")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if (who.Email == "") == (who.Phone == "") {
			return &booking.InvalidError{Field: "--email", Detail: "give it, or --phone: one of them"}
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			found, err := inst.store.Erase(cmd.Context(), who, access.System, c.now(), !*yes)
			if err != nil {
				return err
			}
			if *asJSON {
				return c.printJSON(erasureJSON{*yes, found.Bookings, found.Attendances, found.Receipts, found.Effects, found.Emails})
			}
			what := fmt.Sprintf("%s, %s, %s with a body, %s", counted(int(found.Bookings), "booking"), counted(int(found.Attendances), "seat"),
				counted(int(found.Receipts), "receipt"), counted(int(found.Effects), "effect"))
			if !*yes {
				fmt.Fprintf(c.stdout, "would erase the person from %s; nothing was changed: --yes does it, and cannot be undone\n", what)
				return nil
			}
			fmt.Fprintf(c.stdout, "erased the person from %s\n", what)
			return nil
		})
	}
	return cmd
}
