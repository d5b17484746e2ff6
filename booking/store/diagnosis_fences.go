package store

import (
	"context"
	"slices"

	"slotkeeper/migrations"
)

// fences are what the schema refuses by, whatever an application does. Whoever
// may alter the tables may have taken one away.
var fences = map[migrations.Dialect][]string{
	migrations.Postgres: {
		"admin_log_append_only", "admin_log_no_truncate", "bodies_are_kept", "no_overlapping_slots", "one_booking_per_slot",
		"one_receipt_per_event", "receipts_are_kept", "receipts_no_truncate", "slots_never_move", "transitions_append_only",
		"transitions_no_truncate",
	},
	migrations.SQLite: {
		"admin_log_append_only", "admin_log_no_delete", "bodies_are_kept", "no_overlapping_slots", "no_overlapping_slots_update",
		"one_booking_per_slot", "receipts_are_kept", "slots_never_move", "transitions_append_only", "transitions_no_delete",
		"transitions_no_replace",
	},
}

const postgresFences = `
	SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND c.relnamespace = current_schema()::regnamespace
	UNION SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		WHERE x.indisunique AND x.indisvalid AND i.relnamespace = current_schema()::regnamespace
	UNION SELECT conname FROM pg_constraint WHERE contype = 'x' AND connamespace = current_schema()::regnamespace`

const sqliteFences = `SELECT name FROM sqlite_master WHERE type = 'trigger' OR type = 'index' AND sql LIKE 'CREATE UNIQUE%'`

// FencesDown are the schema's own guards that are gone or switched off.
func (d *Diagnosis) FencesDown(ctx context.Context) ([]string, error) {
	query := postgresFences
	if d.address.dialect == migrations.SQLite {
		query = sqliteFences
	}
	up, err := values[string](ctx, d.db, query)
	if err != nil {
		return nil, err
	}
	var down []string
	for _, name := range fences[d.address.dialect] {
		if !slices.Contains(up, name) {
			down = append(down, name)
		}
	}
	return down, nil
}

// Role is what the database lets us do beyond our work.
type Role struct {
	Name      string
	Superuser bool
	// Owner says that it owns tables, and so may disable and drop their triggers.
	Owner bool
	// Replicates says that it may set session_replication_role, which passes over
	// triggers.
	Replicates bool
}

// Role asks PostgreSQL about the role that we connect as.
func (d *Diagnosis) Role(ctx context.Context) (Role, error) {
	var r Role
	err := d.one(ctx, `SELECT r.rolname, r.rolsuper, has_parameter_privilege('session_replication_role', 'SET'),
			coalesce((SELECT bool_or(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c
				WHERE c.oid IN (to_regclass('transitions'), to_regclass('webhook_receipts'), to_regclass('slots'), to_regclass('admin_log'))), false)
		FROM pg_roles r WHERE r.rolname = current_user`, &r.Name, &r.Superuser, &r.Replicates, &r.Owner)
	return r, err
}

// Extension is the version of a PostgreSQL extension: "" when it is not installed,
// and available tells whether it could be.
func (d *Diagnosis) Extension(ctx context.Context, name string) (version string, available bool, err error) {
	found, err := values[string](ctx, d.db, "SELECT coalesce(installed_version, '') FROM pg_available_extensions WHERE name = $1", name)
	if err != nil || len(found) == 0 {
		return "", false, err
	}
	return found[0], true, nil
}
