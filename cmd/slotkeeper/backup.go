package main

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

type backupJSON struct {
	File        string `json:"file"`
	Receipts    int64  `json:"receipts"`
	Bookings    int64  `json:"bookings"`
	Transitions int64  `json:"transitions"`
	Head        string `json:"head"`
	AuditIntact bool   `json:"audit_intact"`
	// Replaced is where a restore put what was there before; null for none.
	Replaced *string `json:"replaced,omitempty"`
}

func backupOf(file string, s store.BackupState) backupJSON {
	return backupJSON{
		File: file, Receipts: s.Receipts, Bookings: s.Bookings, Transitions: s.Rows, Head: hex.EncodeToString(s.Head[:]), AuditIntact: s.Findings == 0,
	}
}

// detail is what the admin log keeps of it.
func (b backupJSON) detail() access.Facts {
	return access.Facts{
		"file": filepath.Base(b.File), "transitions": strconv.FormatInt(b.Transitions, 10), "head": b.Head, "audit_intact": strconv.FormatBool(b.AuditIntact),
	}
}

func (b backupJSON) contents() string {
	return fmt.Sprintf("%s, %s, %s; head %s", counted(int(b.Receipts), "receipt"), counted(int(b.Bookings), "booking"), counted(int(b.Transitions), "transition"), b.Head)
}

func (c *cli) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the embedded database into a new file and prove that it can be restored; the server may run",
		Args:  exactly(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.cfg.DatabaseURL != "" {
			return store.ErrNotEmbedded
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			v, err := c.vault()
			if err != nil {
				return err
			}
			state, err := store.Backup(cmd.Context(), c.cfg.database(), args[0], v)
			if err != nil {
				return err
			}
			out := backupOf(args[0], state)
			if err := inst.accounts.Note(cmd.Context(), access.System, access.DidBackUp, "", out.detail()); err != nil {
				return err
			}
			if !out.AuditIntact {
				fmt.Fprintln(c.stderr, "the audit log was changed: see audit verify. The backup holds it as it is.")
			}
			if *asJSON {
				return c.printJSON(out)
			}
			fmt.Fprintf(c.stdout, "%s: %s\nThe key is not in it: keep that too, and apart from it.\n", out.File, out.contents())
			return nil
		})
	}
	return cmd
}

// vault is the installation's, for what works on files.
func (c *cli) vault() (*vault.Vault, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	return vault.New(key)
}
