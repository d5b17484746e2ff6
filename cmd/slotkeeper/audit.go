package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/auditfile"
)

func (c *cli) auditCommand() *cobra.Command {
	return group("audit", "Read and check the audit log of bookings", c.auditExport(), c.auditVerify())
}

// auditFlags are the filters of an export, as they were typed.
type auditFlags struct {
	from, to, provider, connection, resource, booking, outcome, reason, actor, text string
	troubled                                                                        bool
}

func (c *cli) auditExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export --format csv|jsonl [filters]",
		Short: "Write the audit log to standard output, newest first, as the audit page exports it",
		Args:  cobra.NoArgs,
	}
	format := cmd.Flags().String("format", string(auditfile.CSV), "csv or jsonl")
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
	} {
		cmd.Flags().StringVar(s.into, s.name, "", s.usage)
	}
	cmd.Flags().BoolVar(&f.troubled, "troubled", false, "only what was refused or ended in conflict, which is what the page opens on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		as := auditfile.Format(*format)
		if as != auditfile.CSV && as != auditfile.JSONL {
			return &booking.InvalidError{Field: "--format", Detail: "is csv or jsonl"}
		}
		filter, err := f.filter()
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			ctx := cmd.Context()
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
	return cmd
}

func (f auditFlags) filter() (booking.Filter, error) {
	out := booking.Filter{
		Provider: f.provider, Reason: booking.Reason(f.reason), Actor: f.actor, Text: f.text, Outcome: booking.Outcome(f.outcome), Troubled: f.troubled,
	}
	if f.outcome != "" && out.Outcome != booking.Applied && out.Outcome != booking.Rejected {
		return out, &booking.InvalidError{Field: "--outcome", Detail: "is applied or rejected"}
	}
	for _, t := range []struct {
		flag, text string
		into       **time.Time
	}{{"--from", f.from, &out.From}, {"--to", f.to, &out.To}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			if at, err = time.Parse(time.DateOnly, t.text); err != nil {
				return out, &booking.InvalidError{Field: t.flag, Detail: "is a time like 2026-11-29T10:00:00Z, or a day like 2026-11-29"}
			}
		}
		at = at.UTC()
		*t.into = &at
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
