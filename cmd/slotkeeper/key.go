package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

func (c *cli) keyCommand() *cobra.Command {
	return group("key", "Change the secret key", c.keyRotate())
}

// saidEvery many values a long rotation tells how far it is.
const saidEvery = 10_000

type rotationJSON struct {
	Values  int64   `json:"values"`
	Already bool    `json:"already"`
	KeyFile *string `json:"key_file"`
}

func (c *cli) keyRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Seal everything anew under a new key; the server must be stopped",
		Long: `Seals all secrets and raw bodies anew under a new key. Every server and command on
the database must have ended; until this is done, none starts. Interrupted, run it
again: it goes on where it was.

With SLOTKEEPER_SECRET_KEY set to the key of before, give the new one in
SLOTKEEPER_NEW_SECRET_KEY or --new-secret-key-file, and set SLOTKEEPER_SECRET_KEY to
it afterwards. With the key file in the data directory a new key is made there.

Backups keep the key that they were made under: keep it as long as them.`,
		Args: cobra.NoArgs,
	}
	given := c.secretFlag(cmd, "new-secret-key", "the key to seal with from now on")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if c.cfg.DatabaseURL == "" && !c.hasDatabase() {
			return fmt.Errorf("there is no database in %s: start the server there first, or say with SLOTKEEPER_DATA_DIR where it is", c.cfg.DataDir)
		}
		current, err := c.vault()
		if err != nil {
			return err
		}
		// Before anything is made or opened: what has it open would be in the way.
		if err := store.Alone(ctx, c.cfg.database()); err != nil {
			return err
		}
		text, err := given()
		if err != nil {
			return err
		}
		next, file, err := c.nextKey(text)
		if err != nil {
			return err
		}
		if _, err := store.Migrate(ctx, c.cfg.database()); err != nil {
			return err
		}
		// One connection: another of ours would be taken for a server's.
		st, err := store.Open(ctx, c.cfg.database(), store.Options{Vault: current, MaxConns: 1})
		if err != nil {
			return err
		}
		said := int64(0)
		done, err := st.Rekey(ctx, next, c.now(), func(values int64) error {
			if values-said >= saidEvery {
				said = values
				fmt.Fprintf(c.stderr, "%d values sealed under the new key…\n", values)
			}
			return ctx.Err()
		})
		if err := errors.Join(err, st.Close()); err != nil {
			return err
		}
		out := rotationJSON{Values: done.Values, Already: done.Already}
		if file != "" {
			// The key of before is forgotten.
			if err := os.Rename(file, c.cfg.keyFile()); err != nil {
				return fmt.Errorf("everything is sealed under %s, and that cannot take the place of the key file: move it there yourself: %w", file, err)
			}
			path := c.cfg.keyFile()
			out.KeyFile = &path
		}
		if *asJSON {
			return c.printJSON(out)
		}
		if done.Already {
			fmt.Fprintln(c.stdout, "everything is sealed under the new key already")
		} else {
			fmt.Fprintf(c.stdout, "%s sealed under the new key\n", counted(int(done.Values), "value"))
		}
		if file != "" {
			fmt.Fprintf(c.stdout, "%s is the new key: make a copy, apart from the database\n", c.cfg.keyFile())
		} else {
			fmt.Fprintln(c.stdout, "set SLOTKEEPER_SECRET_KEY to the new key before anything is started")
		}
		return nil
	}
	return cmd
}

// nextKey is the new key: the one that was given, or, beside a key file, one that
// is made, or was by a run that did not end. file is where such a one lies.
func (c *cli) nextKey(given string) (next *vault.Vault, file string, err error) {
	var key []byte
	switch {
	case given != "" && c.cfg.SecretKey == "":
		return nil, "", fmt.Errorf("the key is in %s: a new one is made there, and none is to be given", c.cfg.keyFile())
	case given != "":
		if key, err = vault.KeyFromText(given); err != nil {
			return nil, "", fmt.Errorf("SLOTKEEPER_NEW_SECRET_KEY: %w", err)
		}
	case c.cfg.SecretKey != "":
		return nil, "", errors.New("SLOTKEEPER_NEW_SECRET_KEY is missing: make a key with `openssl rand -base64 32`, and keep it")
	default:
		file = filepath.Join(c.cfg.DataDir, "secret.key.new")
		if key, _, err = vault.KeyFile(file); err != nil {
			return nil, "", err
		}
	}
	if next, err = vault.New(key); err != nil {
		return nil, "", err
	}
	if current, err := c.vault(); err == nil && next.SameKey(current) {
		return nil, "", errors.New("the new key is the key of before")
	}
	return next, file, nil
}

// unfinishedRotation says what to do about a new key beside the key file.
func (c *cli) unfinishedRotation() error {
	if c.cfg.SecretKey != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.cfg.DataDir, "secret.key.new")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return store.ErrRekeying
}
