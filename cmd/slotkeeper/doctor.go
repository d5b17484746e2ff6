package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
	"slotkeeper/migrations"
)

// checkStatus is how a check of doctor went.
type checkStatus string

// A warning is what works and will hurt some day; failed is what does not work.
const (
	statusOK      checkStatus = "ok"
	statusWarning checkStatus = "warning"
	statusFailed  checkStatus = "failed"
)

// check is one thing that doctor looked at.
type check struct {
	Name   string      `json:"name"`
	Status checkStatus `json:"status"`
	// Detail is what was found and what that means, Remedy what to do about it.
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func fine(name, detail string) check { return check{Name: name, Status: statusOK, Detail: detail} }

func warning(name, detail, remedy string) check {
	return check{Name: name, Status: statusWarning, Detail: detail, Remedy: remedy}
}

func failure(name, detail, remedy string) check {
	return check{Name: name, Status: statusFailed, Detail: detail, Remedy: remedy}
}

// unasked is a check that could not be made.
func unasked(name string, err error) check {
	return failure(name, "it could not be asked: "+err.Error(), "")
}

func (c *cli) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check key, database, clocks, public URL and connections, and say what to do",
		Long: `Look at everything that an installation needs, with the settings that this command
is given, and say what is wrong and what to do: the key, the database and its
settings, the schema, the clocks, the public URL, each connection. Run it where the
server's data is, with its settings. It changes nothing, neither here nor at a
provider, but for the row by which it proves that the database can be written.

Only the check of the public URL needs the running server. The exit code is 1 when
a check failed; warnings leave it 0.`,
		Args: cobra.NoArgs,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := &doctor{cli: c}
		d.examine(cmd.Context())
		return d.print(*asJSON)
	}
	return cmd
}

// doctor examines an installation. It never migrates: what is wrong with an
// installation is to be seen, not changed.
type doctor struct {
	*cli
	checks []check
}

func (d *doctor) add(c ...check) { d.checks = append(d.checks, c...) }

func (d *doctor) examine(ctx context.Context) {
	if d.cfg.DatabaseURL == "" {
		if !d.hasDatabase() {
			d.add(failure("data directory", "there is no database in "+d.cfg.DataDir,
				"start the server there first, or say with SLOTKEEPER_DATA_DIR where it is"))
			return
		}
		d.add(d.dataDirectory())
	}
	v := d.secretKey()
	db, err := store.Diagnose(ctx, d.cfg.database())
	if err != nil {
		remedy := "is PostgreSQL running, and is SLOTKEEPER_DATABASE_URL right?"
		if d.cfg.DatabaseURL == "" {
			remedy = "is the file readable and writable by this user, and not damaged?"
		}
		d.add(failure("database", "it cannot be reached: "+err.Error(), remedy))
		d.publicURL(ctx, nil)
		return
	}
	if d.database(ctx, db, v) {
		d.publicURL(ctx, db)
		d.opened(ctx, db, v)
	} else {
		d.publicURL(ctx, nil)
		d.add(warning("connections", "they were not looked at", "first mend what failed above"))
	}
	if err := db.Close(); err != nil {
		d.add(unasked("database", err))
	}
}

// opened makes the checks that need the store as the server has it.
func (d *doctor) opened(ctx context.Context, db *store.Diagnosis, v *vault.Vault) {
	err := d.withoutMigrating(ctx, v, func(inst *installation) error {
		d.add(d.retention(ctx, inst))
		d.add(d.endpoints(ctx, inst)...)
		return d.withEngine(ctx, inst, func(e *engine) error {
			return d.connections(ctx, db, inst, e.accounts)
		})
	})
	if err != nil {
		d.add(unasked("connections", err))
	}
}

func (d *doctor) withoutMigrating(ctx context.Context, v *vault.Vault, fn func(*installation) error) error {
	st, err := store.Open(ctx, d.cfg.database(), store.Options{Vault: v})
	if err != nil {
		return err
	}
	pepper, err := st.Installation(ctx, d.now())
	if err == nil {
		err = fn(&installation{store: st, accounts: access.NewAccounts(st.Accounts(), d.now), pepper: pepper})
	}
	return errors.Join(err, st.Close())
}

// dataDirectory: what lies there are people's names and the key to the rest.
func (d *doctor) dataDirectory() check {
	const name = "data directory"
	for _, path := range []string{d.cfg.DataDir, d.cfg.file()} {
		info, err := os.Stat(path)
		if err != nil {
			return unasked(name, err)
		}
		if mode := info.Mode().Perm(); mode&0o007 != 0 || !info.IsDir() && mode&0o077 != 0 {
			return warning(name, fmt.Sprintf("others than its owner may read %s (mode %04o): people's names are in it", path, mode),
				"chmod go-rwx "+path)
		}
	}
	free, err := freeSpace(d.cfg.DataDir)
	if err != nil {
		return unasked(name, err)
	}
	at, err := filepath.Abs(d.cfg.DataDir)
	if err != nil {
		at = d.cfg.DataDir
	}
	return diskSpace(name, at, free)
}

// Below enough space SQLite will soon store nothing, and providers are told to
// come back.
const (
	littleSpace = 1 << 30
	leastSpace  = 64 << 20
)

// freeSpace is how much of a folder's file system this user may still fill, in bytes.
func freeSpace(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // G115: a block's size is never negative
}

func diskSpace(name, path string, free uint64) check {
	const remedy = "make room: without it nothing can be stored, and senders are told to come back later"
	detail := fmt.Sprintf("%s, %d MiB free", path, free>>20)
	switch {
	case free < leastSpace:
		return failure(name, detail, remedy)
	case free < littleSpace:
		return warning(name, detail, remedy)
	}
	return fine(name, detail)
}

// secretKey is the vault, nil when there is no usable key. Whether it is this
// database's is for the database to say.
func (d *doctor) secretKey() *vault.Vault {
	key, err := d.key()
	if err == nil {
		var v *vault.Vault
		if v, err = vault.New(key); err == nil {
			return v
		}
	}
	d.add(failure("key", err.Error(), "give the key that this database was made with"))
	return nil
}

// print prints the checks; the error says how many failed.
func (d *doctor) print(asJSON bool) error {
	worst, failed := statusOK, 0
	for _, k := range d.checks {
		switch {
		case k.Status == statusFailed:
			worst = statusFailed
			failed++
		case k.Status == statusWarning && worst == statusOK:
			worst = statusWarning
		}
	}
	if asJSON {
		err := d.printJSON(struct {
			Status checkStatus `json:"status"`
			Checks []check     `json:"checks"`
		}{worst, d.checks})
		if err != nil {
			return err
		}
	} else {
		for _, k := range d.checks {
			writeFinding(d.stdout, k.Status, k.Name+": "+k.Detail, k.Remedy)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(d.checks))
	}
	return nil
}

// writeFinding writes what was found for people, and below it what to do.
func writeFinding(w io.Writer, status checkStatus, text, remedy string) {
	fmt.Fprintf(w, "%-8s %s\n", status, text)
	if remedy != "" {
		fmt.Fprintf(w, "%-8s → %s\n", "", remedy)
	}
}

// isPostgres tells the databases apart.
func isPostgres(db *store.Diagnosis) bool { return db.Dialect() == migrations.Postgres }
