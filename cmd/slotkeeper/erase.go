package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type erasureJSON struct {
	Erased   bool  `json:"erased"`
	Bookings int64 `json:"bookings"`
	Seats    int64 `json:"seats"`
	Receipts int64 `json:"receipts"`
	Effects  int64 `json:"effects"`
	Forms    int64 `json:"forms"`
	Emails   int64 `json:"emails"`
}

func (c *cli) eraseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "erase --email E | --phone P | --from FILE [--yes]",
		Short: "Remove a person from everything that is kept, and keep it so; without --yes, count what that would be",
		Long: `Removes an invitee's name, e-mail, phone and time zone from bookings, with titles
and places that may name the person, the bodies and snapshots that tell of the
person, intake forms and notes, and what is still to be sent. Bookings and the audit log, which names nobody,
stay. What comes about the person later (copies, imports, comparisons, replays, new
bookings) is kept without the person. The server may run.

A backup that was made before still has the person. --list prints who was erased, as
keyed hashes that name nobody: keep it apart from the backups. After restoring one,
--from erases them all again.`,
		Args: cobra.NoArgs,
	}
	var who booking.Whom
	cmd.Flags().StringVar(&who.Email, "email", "", "the invitee's e-mail, however it is spelt")
	cmd.Flags().StringVar(&who.Phone, "phone", "", "the invitee's phone number with its country's code; the e-mails of its bookings are erased too")
	from := cmd.Flags().String("from", "", "erase again whoever stands in this file, which --list has printed")
	list := cmd.Flags().Bool("list", false, "print who was erased, as JSON for --from")
	yes := cmd.Flags().Bool("yes", false, "do it; it cannot be undone")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, given := cmd.Context(), 0
		for _, g := range []bool{who.Email != "", who.Phone != "", *from != "", *list} {
			if g {
				given++
			}
		}
		if given != 1 {
			return &booking.InvalidError{Field: "--email", Detail: "give it, --phone, --from or --list: one of them"}
		}
		return c.withExisting(ctx, func(inst *installation) error {
			if *list {
				return c.listErased(ctx, inst)
			}
			found, err := c.erase(ctx, inst, who, *from, !*yes)
			if err != nil {
				return err
			}
			if *asJSON {
				return c.printJSON(erasureJSON{*yes, found.Bookings, found.Attendances, found.Receipts, found.Effects, found.Forms, found.Emails})
			}
			c.tellErasure(found, *from != "", !*yes)
			return nil
		})
	}
	return cmd
}

func (c *cli) erase(ctx context.Context, inst *installation, who booking.Whom, from string, dry bool) (booking.Erasure, error) {
	if from == "" {
		return inst.store.Erase(ctx, who, access.System, c.now(), dry)
	}
	list, err := readErased(from)
	if err != nil {
		return booking.Erasure{}, err
	}
	return inst.store.EraseAgain(ctx, list, booking.AgainListed, access.System, c.now(), dry)
}

func (c *cli) tellErasure(found booking.Erasure, again, dry bool) {
	what := fmt.Sprintf("%s, %s, %s with a body, %s, %s", counted(int(found.Bookings), "booking"), counted(int(found.Attendances), "seat"),
		counted(int(found.Receipts), "receipt"), counted(int(found.Effects), "effect"), counted(int(found.Forms), "intake form"))
	if found.Hosts > 0 {
		fmt.Fprintf(c.stderr, "left out: %s of a host, by which bookings are told apart\n", counted(int(found.Hosts), "e-mail"))
	}
	if found.Nothing() {
		switch {
		case again:
			fmt.Fprintln(c.stdout, "nothing is left to erase: whoever stands in the list is erased already")
		case dry:
			fmt.Fprintln(c.stdout, "nothing is left to erase: nothing that is kept tells of the person; nothing was changed. With --yes, what comes later is kept without the person")
		default:
			fmt.Fprintln(c.stdout, "nothing was left to erase: nothing that is kept told of the person. What comes later is kept without the person")
		}
		return
	}
	if dry {
		fmt.Fprintf(c.stdout, "would erase from %s; nothing was changed: --yes does it, and cannot be undone\n", what)
		return
	}
	fmt.Fprintf(c.stdout, "erased from %s\n", what)
}

// erasedJSON is the file of --list and --from.
type erasedJSON struct {
	Installation string          `json:"installation"`
	Erased       []erasedKeyJSON `json:"erased"`
}

type erasedKeyJSON struct {
	Kind     booking.ErasedKind `json:"kind"`
	Key      string             `json:"key"`
	ErasedAt time.Time          `json:"erased_at"`
	By       []booking.Actor    `json:"erased_by,omitempty"` // none: not known
}

func (c *cli) listErased(ctx context.Context, inst *installation) error {
	list, err := inst.store.ErasedPeople(ctx, c.now())
	if err != nil {
		return err
	}
	out := erasedJSON{Installation: list.Installation, Erased: make([]erasedKeyJSON, len(list.People))}
	for i, p := range list.People {
		out.Erased[i] = erasedKeyJSON(p)
	}
	return c.printJSON(out)
}

func readErased(file string) (booking.ErasedList, error) {
	text, err := os.ReadFile(file) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return booking.ErasedList{}, err
	}
	var in erasedJSON
	if err := json.Unmarshal(text, &in); err != nil || in.Installation == "" {
		return booking.ErasedList{}, fmt.Errorf("%s is not what erase --list prints", file)
	}
	list := booking.ErasedList{Installation: in.Installation}
	for _, k := range in.Erased {
		list.People = append(list.People, booking.ErasedKey(k))
	}
	return list, nil
}
