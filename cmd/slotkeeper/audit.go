package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/auditfile"
)

func (c *cli) auditCommand() *cobra.Command {
	return group("audit", "Read and check the audit log of bookings", c.auditExport(), c.auditVerify())
}

// auditFlags are what to export, as it was typed.
type auditFlags struct {
	view, format                                                                            string
	from, to, provider, connection, resource, booking, outcome, reason, actor, text, action string
	troubled                                                                                bool
}

// The logs that can be exported, named as the audit page's views.
const (
	viewBookings = "bookings"
	viewAdmin    = "admin"
)

func (c *cli) auditExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export --format csv|jsonl [--view admin] [filters]",
		Short: "Write the audit log to standard output, newest first, as the audit page exports it",
		Long: `Writes the audit log of bookings, or with --view admin the log of accounts and
actions (sign-ins, changes, exports, looks at bodies), newest first, as the audit
page exports them. With --view admin the filters are --from, --to, --actor and
--action.`,
		Args: cobra.NoArgs,
	}
	var f auditFlags
	for _, s := range []struct {
		into        *string
		name, usage string
	}{
		{&f.from, "from", "only what was recorded from this time on, like 2026-11-29 or 2026-11-29T10:00:00Z; a day is UTC's"},
		{&f.to, "to", "only what was recorded before this time"},
		{&f.provider, "provider", "only bookings of this provider"},
		{&f.connection, "connection", "only what this connection's deliveries did, by its id"},
		{&f.resource, "resource", "only bookings of this resource, by its id"},
		{&f.booking, "booking", "only this booking, by its id"},
		{&f.outcome, "outcome", "applied or rejected"},
		{&f.reason, "reason", "only what has this reason, like illegal_transition"},
		{&f.actor, "actor", "only what this actor did: webhook, backfill, reconcile, replay, system, user, token, user:ID or token:ID"},
		{&f.text, "text", "only bookings with this in their title, their id, or their invitee's name or e-mail"},
		{&f.action, "action", "with --view admin: only this action, like user.signed_in"},
	} {
		cmd.Flags().StringVar(s.into, s.name, "", s.usage)
	}
	cmd.Flags().StringVar(&f.format, "format", string(auditfile.CSV), "csv or jsonl")
	cmd.Flags().StringVar(&f.view, "view", viewBookings, "bookings, or admin for the log of accounts and actions")
	cmd.Flags().BoolVar(&f.troubled, "troubled", false, "only what was refused or ended in conflict, which is what the page opens on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		as := auditfile.Format(f.format)
		if as != auditfile.CSV && as != auditfile.JSONL {
			return &booking.InvalidError{Field: "--format", Detail: "is csv or jsonl"}
		}
		switch f.view {
		case viewBookings:
			return c.exportBookings(cmd, as, f)
		case viewAdmin:
			return c.exportAdminLog(cmd, as, f)
		}
		return &booking.InvalidError{Field: "--view", Detail: "is bookings or admin"}
	}
	return cmd
}

func (c *cli) exportBookings(cmd *cobra.Command, as auditfile.Format, f auditFlags) error {
	if f.action != "" {
		return &booking.InvalidError{Field: "--action", Detail: "goes with --view admin"}
	}
	filter, err := f.filter()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return c.withExisting(ctx, func(inst *installation) error {
		names, err := inst.auditNames(ctx)
		if err != nil {
			return err
		}
		if err := inst.accounts.Note(ctx, access.System, access.DidExportAudit, "", auditfile.Detail(as, filter)); err != nil {
			return err
		}
		out := bufio.NewWriter(c.stdout)
		n, err := auditfile.Write(ctx, out, auditfile.Export{
			Format: as, Filter: filter, Names: names, Transitions: inst.store.Transitions, Flushed: out.Flush,
		})
		if err != nil {
			return fmt.Errorf("after %s: %w", counted(n, "transition"), err)
		}
		return nil
	})
}

// exportAdminLog is exportBookings of the log of accounts and actions.
func (c *cli) exportAdminLog(cmd *cobra.Command, as auditfile.Format, f auditFlags) error {
	filter, err := f.entryFilter(cmd.Flags())
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return c.withExisting(ctx, func(inst *installation) error {
		names, err := inst.auditNames(ctx)
		if err != nil {
			return err
		}
		deedNames, err := auditfile.NameDeeds(ctx, names, inst.store)
		if err != nil {
			return err
		}
		if err := inst.accounts.Note(ctx, access.System, access.DidExportAdminLog, "", auditfile.DeedsDetail(as, filter)); err != nil {
			return err
		}
		out := bufio.NewWriter(c.stdout)
		n, err := auditfile.WriteDeeds(ctx, out, auditfile.DeedsExport{
			Format: as, Filter: filter, Names: deedNames, AdminLog: inst.store.AdminLog, Flushed: out.Flush,
		})
		if err != nil {
			return fmt.Errorf("after %s: %w", counted(n, "action"), err)
		}
		return nil
	})
}

// entryFilter refuses what this log cannot be filtered by: a file that has more than
// was asked for is taken for what it is not.
func (f auditFlags) entryFilter(given *pflag.FlagSet) (access.EntryFilter, error) {
	for _, name := range []string{"provider", "connection", "resource", "booking", "outcome", "reason", "text", "troubled"} {
		if given.Changed(name) {
			return access.EntryFilter{}, &booking.InvalidError{Field: "--" + name, Detail: "does not go with --view admin"}
		}
	}
	kind, id, one := strings.Cut(f.actor, ":")
	if _, err := uuid.Parse(id); f.actor != "" && f.actor != string(access.System.Actor) && (!one || err != nil || kind != "user" && kind != "token") {
		return access.EntryFilter{}, &booking.InvalidError{Field: "--actor", Detail: "is system, user:ID or token:ID with --view admin"}
	}
	if f.action != "" && !slices.Contains(access.Deeds(), f.action) {
		return access.EntryFilter{}, &booking.InvalidError{Field: "--action", Detail: "is one of " + strings.Join(access.Deeds(), ", ")}
	}
	out := access.EntryFilter{Actor: booking.Actor(f.actor), Action: f.action}
	var err error
	out.From, out.To, err = f.window()
	return out, err
}

func (f auditFlags) filter() (booking.Filter, error) {
	out := booking.Filter{
		Provider: f.provider, Reason: booking.Reason(f.reason), Actor: f.actor, Text: f.text, Outcome: booking.Outcome(f.outcome), Troubled: f.troubled,
	}
	if f.outcome != "" && out.Outcome != booking.Applied && out.Outcome != booking.Rejected {
		return out, &booking.InvalidError{Field: "--outcome", Detail: "is applied or rejected"}
	}
	var err error
	if out.From, out.To, err = f.window(); err != nil {
		return out, err
	}
	for _, i := range []struct {
		flag, text string
		into       **uuid.UUID
	}{{"--connection", f.connection, &out.ConnectionID}, {"--resource", f.resource, &out.ResourceID}, {"--booking", f.booking, &out.BookingID}} {
		if i.text == "" {
			continue
		}
		id, err := parseID(i.flag, i.text)
		if err != nil {
			return out, err
		}
		*i.into = &id
	}
	return out, nil
}

// window is the time between --from and --to.
func (f auditFlags) window() (from, to *time.Time, err error) {
	for _, t := range []struct {
		flag, text string
		into       **time.Time
	}{{"--from", f.from, &from}, {"--to", f.to, &to}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			if at, err = time.Parse(time.DateOnly, t.text); err != nil {
				return nil, nil, &booking.InvalidError{Field: t.flag, Detail: "is a time like 2026-11-29T10:00:00Z, or a day like 2026-11-29"}
			}
		}
		at = at.UTC()
		*t.into = &at
	}
	return from, to, nil
}

func (i *installation) auditNames(ctx context.Context) (auditfile.Names, error) {
	out := auditfile.Names{Resources: map[uuid.UUID]string{}, Connections: map[uuid.UUID]string{}}
	resources, err := i.resources(ctx)
	if err != nil {
		return out, err
	}
	for _, r := range resources {
		out.Resources[r.ID] = r.Name
	}
	connections, err := i.connections(ctx)
	if err != nil {
		return out, err
	}
	for _, conn := range connections {
		out.Connections[conn.ID] = conn.Name
	}
	return out, nil
}
