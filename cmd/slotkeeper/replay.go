package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// replayJSON is a replay and its report.
type replayJSON struct {
	ID      uuid.UUID            `json:"id"`
	Status  booking.RunStatus    `json:"status"`
	DryRun  bool                 `json:"dry_run"`
	Refetch bool                 `json:"refetch"`
	Filter  booking.ReplayFilter `json:"filter"`
	Total   *int                 `json:"total"`
	booking.ReplayCounts
	Error      string             `json:"error,omitempty"`
	StartedAt  time.Time          `json:"started_at"`
	FinishedAt *time.Time         `json:"finished_at"`
	Changes    []replayChangeJSON `json:"changes"`
}

type replayChangeJSON struct {
	ReceiptID    uuid.UUID                    `json:"receipt_id"`
	ConnectionID uuid.UUID                    `json:"connection_id"`
	Kind         booking.Kind                 `json:"kind"`
	ReceivedAt   time.Time                    `json:"received_at"`
	Before       booking.ReceiptStatus        `json:"before"`
	After        booking.ReceiptStatus        `json:"after"`
	Verdict      booking.ReceiptStatus        `json:"verdict"`
	Transitions  []booking.ReplayedTransition `json:"transitions"`
}

func newReplayJSON(r booking.Replay, changes []booking.ReplayChange) replayJSON {
	out := replayJSON{
		ID: r.ID, Status: r.Status, DryRun: r.DryRun, Refetch: r.Refetch, Filter: r.Filter, Total: r.Total, ReplayCounts: r.ReplayCounts,
		Error: r.Error, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Changes: []replayChangeJSON{},
	}
	for _, c := range changes {
		out.Changes = append(out.Changes, replayChangeJSON(c))
	}
	return out
}

// replayFlags are a replay's filter as it is typed.
type replayFlags struct {
	connection, provider, kind, from, to string
	status                               []string
	dryRun, refetch, all, detach         bool
}

func (c *cli) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [ID...]",
		Short: "Take stored receipts through today's code once more",
		Long: `Take stored receipts through today's code once more: those of the ids, or those that
fit all that is said of them, the oldest first. What failed or was given up and can be
used by now is applied; what was applied stays, so that replaying twice changes
nothing the second time. --dry-run tells what would change and changes nothing.

Acuity's appointments come from what was fetched when they were told of; --refetch asks
again, within Acuity's limits, once the server runs. Interrupted, a replay goes on by
itself once the server runs.`,
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.connection, "connection", "", "the id of their connection")
	flags.StringVar(&f.provider, "provider", "", "their provider")
	flags.StringVar(&f.kind, "kind", "", "their kind, such as invitee.created")
	flags.StringSliceVar(&f.status, "status", nil, "their status, such as dead or failed,dead")
	flags.StringVar(&f.from, "from", "", "when the first came, such as 2026-11-01 or 2026-11-01T08:00:00Z")
	flags.StringVar(&f.to, "to", "", "before when the last came")
	flags.BoolVar(&f.all, "all", false, "all that ever came")
	flags.BoolVar(&f.dryRun, "dry-run", false, "tell what would change, and change nothing")
	flags.BoolVar(&f.refetch, "refetch", false, "ask the provider again about what only it knows")
	flags.BoolVar(&f.detach, "detach", false, "leave it to the server")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := f.request(args)
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if err := inst.known(cmd.Context(), q.Filter); err != nil {
				return err
			}
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				return c.replay(cmd.Context(), e, q, f.detach, *asJSON)
			})
		})
	}
	return cmd
}

func (f *replayFlags) request(args []string) (booking.ReplayRequest, error) {
	q := booking.ReplayRequest{DryRun: f.dryRun, Refetch: f.refetch, Everything: f.all}
	q.Filter.Provider, q.Filter.Kind = f.provider, booking.Kind(f.kind)
	for _, s := range f.status {
		q.Filter.Statuses = append(q.Filter.Statuses, booking.ReceiptStatus(strings.TrimSpace(s)))
	}
	for _, arg := range args {
		id, err := parseID("receipt", arg)
		if err != nil {
			return q, err
		}
		q.Filter.IDs = append(q.Filter.IDs, id)
	}
	if f.connection != "" {
		id, err := parseID("--connection", f.connection)
		if err != nil {
			return q, err
		}
		q.Filter.ConnectionID = &id
	}
	var err error
	if q.Filter.From, err = timeOrNone("--from", f.from); err != nil {
		return q, err
	}
	if q.Filter.To, err = timeOrNone("--to", f.to); err != nil {
		return q, err
	}
	if f.all && !q.Filter.All() {
		return q, &booking.InvalidError{Field: "--all", Detail: "is all there is: name nothing else with it"}
	}
	if q.Filter.All() && !f.all {
		return q, &booking.InvalidError{Detail: "say which receipts: their ids, --status, --connection, --provider, --kind, --from or --to; or --all"}
	}
	return q, nil
}

// known refuses what no receipt can have because it is not there at all: a
// misspelt id would else look like nothing to do.
func (i *installation) known(ctx context.Context, f booking.ReplayFilter) error {
	if f.ConnectionID != nil {
		if _, err := i.store.Connection(ctx, *f.ConnectionID); err != nil {
			return noConnection("--connection", *f.ConnectionID, err)
		}
	}
	for _, id := range f.IDs {
		if _, err := i.store.Receipt(ctx, id); errors.Is(err, booking.ErrNotFound) {
			return &booking.InvalidError{Field: "receipt", Detail: fmt.Sprintf("there is none with the id %s", id)}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// timeOrNone is a time, or the beginning of a day, UTC; nil when none is given.
func timeOrNone(field, text string) (*time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		t = t.UTC()
		return &t, nil
	}
	return dayOrNone(field, text)
}

// replay begins a replay and works on it until it has ended, telling how far it is.
func (c *cli) replay(ctx context.Context, e *engine, q booking.ReplayRequest, detach, asJSON bool) error {
	r, err := e.replays.Begin(ctx, q, access.System)
	for err == nil && r.Status == booking.RunRunning && !detach {
		r, err = c.replayOn(ctx, e, r)
	}
	if err != nil {
		return err
	}
	changes, err := e.replays.Changes(ctx, r.ID)
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.printJSON(newReplayJSON(r, changes)); err != nil {
			return err
		}
	} else {
		c.printReplay(r, changes)
	}
	switch r.Status {
	case booking.RunFailed:
		return fmt.Errorf("the replay failed: %s", r.Error)
	case booking.RunStopped:
		return errors.New("somebody stopped the replay: what it did stays")
	case booking.RunRunning, booking.RunDone:
	}
	return nil
}

func (c *cli) replayOn(ctx context.Context, e *engine, r booking.Replay) (booking.Replay, error) {
	if err := e.replays.Work(ctx, r.ID); err != nil {
		return r, err
	}
	r, err := e.replays.Replay(ctx, r.ID)
	if err != nil || r.Status != booking.RunRunning {
		return r, err
	}
	// The server works on it.
	fmt.Fprintf(c.stderr, "%d receipts looked at, %d changed\n", r.Looked, r.Changed)
	timer := time.NewTimer(runPoll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return r, nil
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
}

func (c *cli) printReplay(r booking.Replay, changes []booking.ReplayChange) {
	for _, change := range changes {
		fmt.Fprintf(c.stdout, "%s  %s  %s → %s\n", change.ReceiptID, change.Kind, change.Before, change.After)
		for _, t := range change.Transitions {
			from := string(t.From)
			if from == "" {
				from = "new"
			}
			fmt.Fprintf(c.stdout, "    booking %s: %s, %s → %s", t.BookingID, t.Event, from, t.To)
			if t.Reason != "" {
				fmt.Fprintf(c.stdout, " (%s)", t.Reason)
			}
			if t.Outcome == booking.Rejected {
				fmt.Fprint(c.stdout, ", refused")
			}
			fmt.Fprintln(c.stdout)
		}
	}
	if more := r.Changed + r.Asked - len(changes); more > 0 && len(changes) == booking.MaxReplayChanges {
		fmt.Fprintf(c.stdout, "… and %d more\n", more)
	}
	what := "changed"
	if r.DryRun {
		what = "would change"
	}
	fmt.Fprintf(c.stdout, "%s, %s: %d receipts: %d %s (%d transitions), %d unchanged, %d cannot be used yet, %d still worked on, %d asked about at the provider, %d need --refetch, %d without a body\n",
		r.ID, r.Status, r.Looked, r.Changed, what, r.Transitions, r.Unchanged, r.StillFailed, r.Open, r.Asked, r.NeedRefetch, r.Gone)
}
