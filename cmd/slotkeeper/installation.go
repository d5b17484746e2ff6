package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/providers"
)

// installation is an opened database with what its key guards.
type installation struct {
	store    *store.Store
	accounts *access.Accounts
	pepper   []byte
}

func (i *installation) emailKey(email string) string { return vault.EmailKey(i.pepper, email) }

func (i *installation) close() error { return i.store.Close() }

// open migrates and opens the database with its key. Commands do so too, so
// that they work before the first start of the server.
func (c *cli) open(ctx context.Context) (*installation, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	v, err := vault.New(key)
	if err != nil {
		return nil, err
	}
	if _, err := store.Migrate(ctx, c.cfg.database()); err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, c.cfg.database(), store.Options{Vault: v, Patience: c.patience})
	if err != nil {
		return nil, err
	}
	pepper, err := st.Installation(ctx, c.now())
	if errors.Is(err, vault.ErrWrongKey) {
		err = errors.Join(err, c.unfinishedRotation())
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &installation{store: st, accounts: access.NewAccounts(st.Accounts(), c.now), pepper: pepper}, nil
}

// key is SLOTKEEPER_SECRET_KEY, or for the embedded database a file beside it
// that is made at the first start.
func (c *cli) key() ([]byte, error) {
	if c.cfg.SecretKey != "" {
		key, err := vault.KeyFromText(c.cfg.SecretKey)
		if err != nil {
			return nil, fmt.Errorf("SLOTKEEPER_SECRET_KEY: %w", err)
		}
		return key, nil
	}
	if c.cfg.DatabaseURL != "" {
		return nil, errors.New("SLOTKEEPER_SECRET_KEY is missing: with a database URL it must be given, 32 bytes in base64; make one with `openssl rand -base64 32` and keep it apart from the database's backups")
	}
	if err := os.MkdirAll(c.cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	path := c.cfg.keyFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && c.hasDatabase() {
		// A new key could not read it, and might be taken for the lost one.
		return nil, fmt.Errorf("%s is missing, but %s is there and needs it: put your copy of the key back, or give it in SLOTKEEPER_SECRET_KEY; nothing was changed", path, c.cfg.file())
	}
	key, made, err := vault.KeyFile(path)
	if err != nil {
		return nil, err
	}
	if made {
		fmt.Fprintf(c.stderr, "made a new database in %s and its key %s: without the key it cannot be read, so back it up, apart from the database\n", c.cfg.DataDir, path)
	}
	return key, nil
}

// hasDatabase tells whether the embedded database was made already.
func (c *cli) hasDatabase() bool {
	_, err := os.Stat(c.cfg.file())
	return err == nil
}

// with opens the installation for the length of fn.
func (c *cli) with(ctx context.Context, fn func(*installation) error) error {
	inst, err := c.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(inst), inst.close())
}

// withExisting is with, for commands that make no sense on a new installation:
// run in the wrong directory, they would make one and say that it is empty.
func (c *cli) withExisting(ctx context.Context, fn func(*installation) error) error {
	if c.cfg.DatabaseURL == "" && !c.hasDatabase() {
		return fmt.Errorf("there is no database in %s: start the server there first, or say with SLOTKEEPER_DATA_DIR where it is", c.cfg.DataDir)
	}
	return c.with(ctx, fn)
}

// source is where the identities of a provider are: its one connected account,
// or the one of that API.
func (i *installation) source(ctx context.Context, provider, base string) (booking.Source, error) {
	all, err := i.connections(ctx)
	if err != nil {
		return booking.Source{}, err
	}
	found := map[booking.Source]bool{}
	var source booking.Source
	for _, conn := range all {
		if conn.Provider == provider && (base == "" || conn.APIBase == base) {
			source = conn.Source()
			found[source] = true
		}
	}
	switch len(found) {
	case 0:
		return source, &booking.InvalidError{Field: "provider", Detail: fmt.Sprintf("no connection to %s: see connections list", provider)}
	case 1:
		return source, nil
	}
	return source, &booking.InvalidError{Field: "--api-url", Detail: "there are several accounts of " + provider + ": say whose identity it is (api_base in connections list --json)"}
}

func (i *installation) resource(ctx context.Context, id uuid.UUID) (booking.Resource, error) {
	all, err := i.resources(ctx)
	if err != nil {
		return booking.Resource{}, err
	}
	for _, r := range all {
		if r.ID == id {
			return r.Resource, nil
		}
	}
	return booking.Resource{}, &booking.InvalidError{Field: "--resource", Detail: fmt.Sprintf("there is no resource %s: see resources list", id)}
}

func (i *installation) connections(ctx context.Context) ([]providers.Connection, error) {
	return booking.Everything(ctx, i.store.Connections)
}

func (i *installation) resources(ctx context.Context) ([]booking.ResourceView, error) {
	return booking.Everything(ctx, i.store.Resources)
}
