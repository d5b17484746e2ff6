package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

func (c *cli) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the embedded database, and keep that beside it; the server must be stopped",
		Args:  exactly(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.cfg.DatabaseURL != "" {
			return store.ErrNotEmbedded
		}
		ctx := cmd.Context()
		if c.cfg.SecretKey == "" {
			// A key that is made here would open no backup, and might be taken for the
			// lost one.
			if _, err := os.Stat(c.cfg.keyFile()); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is missing: put your copy of the key there first, or give it in SLOTKEEPER_SECRET_KEY; nothing was changed", c.cfg.keyFile())
			}
		}
		v, err := c.vault()
		if err != nil {
			return err
		}
		if err := c.makeDataDir(); err != nil {
			return err
		}
		aside := c.cfg.file() + ".before-restore-" + c.now().UTC().Format("20060102T150405.000Z")
		state, kept, err := store.Restore(ctx, args[0], c.cfg.database(), aside, v)
		if err != nil {
			return err
		}
		out := backupOf(args[0], state)
		if kept != "" {
			out.Replaced = &kept
		}
		return c.withExisting(ctx, func(inst *installation) error {
			if err := inst.accounts.Note(ctx, access.System, access.DidRestore, "", out.detail()); err != nil {
				return err
			}
			if err := c.eraseWhoWas(ctx, inst, kept, v); err != nil {
				return err
			}
			if !out.AuditIntact {
				fmt.Fprintln(c.stderr, "the audit log in it was changed before it was backed up: see audit verify.")
			}
			if *asJSON {
				return c.printJSON(out)
			}
			fmt.Fprintf(c.stdout, "restored %s: %s\n", out.File, out.contents())
			if kept != "" {
				fmt.Fprintf(c.stdout, "what was there before is %s\n", kept)
			}
			fmt.Fprintln(c.stdout, "Start the server: it compares each account with its provider and brings in what came since.")
			return nil
		})
	}
	return cmd
}

// eraseWhoWas erases again whom the database that was replaced knew to be erased: the
// backup may be from before. Where that cannot be read any more, its operator has to.
func (c *cli) eraseWhoWas(ctx context.Context, inst *installation, replaced string, v *vault.Vault) error {
	if replaced == "" {
		fmt.Fprintln(c.stderr, "Who was erased since this backup was made is in it again: slotkeeper erase --from your list of them, if there are any.")
		return nil
	}
	list, err := store.ErasedIn(ctx, replaced, v)
	var again booking.Erasure
	if err == nil && len(list.People) > 0 {
		again, err = inst.store.EraseAgain(ctx, list, booking.AgainRestored, access.System, c.now(), false)
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "Who was erased since this backup was made may be in it again, since it is not known from %s: %v. Slotkeeper erase --from your list of them.\n", replaced, err)
		return nil
	}
	switch {
	case len(list.People) == 0:
	case again.Nothing():
		fmt.Fprintln(c.stderr, "Who had been erased in what was there before is erased in what was restored already: nothing was left to do.")
	default:
		fmt.Fprintf(c.stderr, "Who had been erased in what was there before is erased in what was restored too: %s of theirs.\n", counted(int(again.Bookings), "booking"))
	}
	return nil
}
