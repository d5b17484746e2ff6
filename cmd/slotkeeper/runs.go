package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// runJSON is a reading of an account's bookings.
type runJSON struct {
	ID         uuid.UUID  `json:"id"`
	Kind       string     `json:"kind"`
	Cause      string     `json:"cause"`
	From       time.Time  `json:"from"`
	To         time.Time  `json:"to"`
	Status     string     `json:"status"`
	Pages      int        `json:"pages"`
	Requests   int        `json:"requests"`
	AtProvider int        `json:"at_provider"`
	Here       int        `json:"here"`
	Differed   int        `json:"differed"`
	Conflicts  int        `json:"conflicts"`
	Refused    int        `json:"refused"`
	Unreadable int        `json:"unreadable"`
	Error      string     `json:"error,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

func newRunJSON(r booking.Run) *runJSON {
	return &runJSON{
		ID: r.ID, Kind: string(r.Kind), Cause: r.Cause, From: r.From, To: r.To, Status: string(r.Status), Pages: r.Pages, Requests: r.Requests,
		AtProvider: r.AtProvider, Here: r.Here, Differed: r.Differed, Conflicts: r.Conflicts, Refused: r.Refused, Unreadable: r.Unreadable,
		Error: r.Error, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

func (c *cli) connectionsSync() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync ID",
		Short: "Compare a connection with its provider now, and set right what differs",
		Args:  exactly(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd.Context(), args[0], *asJSON, false, func(e *engine, conn providers.Connection) (booking.Run, error) {
			return e.accounts.Reconcile(cmd.Context(), conn, "asked", booking.ActorSystem)
		})
	}
	return cmd
}

func (c *cli) connectionsBackfill() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill ID --from DAY",
		Short: "Bring in what is booked from a day on",
		Long: `Bring in everything that is booked from a day on, canceled bookings too. What is
newer here stays. Interrupted, it goes on where it was when it is run again, or
by itself once the server runs.`,
		Args: exactly(1),
	}
	asJSON := jsonFlag(cmd)
	from := cmd.Flags().String("from", "", "the first day, such as 2026-11-01")
	detach := cmd.Flags().Bool("detach", false, "leave it to the server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		day, err := dayOrNone("--from", *from)
		if err != nil {
			return err
		}
		if day == nil {
			return &booking.InvalidError{Field: "--from", Detail: "name the first day, such as 2026-11-01"}
		}
		return c.run(cmd.Context(), args[0], *asJSON, *detach, func(e *engine, conn providers.Connection) (booking.Run, error) {
			return e.accounts.Begin(cmd.Context(), conn, booking.RunBackfill, "asked", *day, booking.ActorSystem)
		})
	}
	return cmd
}

// How often a run that somebody else works on is looked at.
const runPoll = time.Second

// run begins a run and works on it until it has ended, telling how far it is.
func (c *cli) run(ctx context.Context, id string, asJSON, detach bool, begin func(*engine, providers.Connection) (booking.Run, error)) error {
	connection, err := parseID("connection", id)
	if err != nil {
		return err
	}
	return c.withExisting(ctx, func(inst *installation) error {
		conn, err := inst.store.Connection(ctx, connection)
		if err != nil {
			return noConnection("connection", connection, err)
		}
		return c.withEngine(ctx, inst, func(e *engine) error {
			asked := c.now().Truncate(time.Microsecond)
			r, err := c.runOnce(ctx, inst, e, conn, detach, begin)
			if err == nil && r.Kind == booking.RunReconcile && r.StartedAt.Before(asked) {
				// It was under way already, and may have read past what changed since.
				r, err = c.runOnce(ctx, inst, e, conn, detach, begin)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(newRunJSON(r))
			}
			c.printRun(r)
			switch r.Status {
			case booking.RunFailed:
				return fmt.Errorf("the run failed: %s", r.Error)
			case booking.RunStopped:
				return errors.New("somebody stopped the run: what it had read stays")
			case booking.RunRunning, booking.RunDone:
			}
			return nil
		})
	})
}

// runOnce begins a run, or joins the one that is under way, and stays to its end.
func (c *cli) runOnce(ctx context.Context, inst *installation, e *engine, conn providers.Connection, detach bool, begin func(*engine, providers.Connection) (booking.Run, error)) (booking.Run, error) {
	r, err := begin(e, conn)
	for err == nil && r.Status == booking.RunRunning && !detach {
		r, err = c.workOn(ctx, inst, e, conn.Provider, r)
	}
	return r, err
}

func (c *cli) workOn(ctx context.Context, inst *installation, e *engine, provider string, r booking.Run) (booking.Run, error) {
	err := e.accounts.Work(ctx, r.ID)
	var later *providers.LaterError
	wait := runPoll
	switch {
	case errors.As(err, &later):
		wait = providers.Tempo(c.cfg.Tempo).Wait(later.After)
	case err != nil:
		return r, account.Remedied(provider, err)
	}
	if r, err = inst.store.Run(ctx, r.ID); err != nil || r.Status != booking.RunRunning {
		return r, err
	}
	conn, err := inst.store.Connection(ctx, r.ConnectionID)
	if err != nil {
		return r, err
	}
	if conn.Health.NeedsSignIn {
		return r, fmt.Errorf("the key or token is not accepted any more: give another with connect %s --reconnect %s; the run goes on then (%s)",
			conn.Provider, conn.ID, conn.Health.Failure)
	}
	fmt.Fprintf(c.stderr, "%d pages, %d bookings at the provider, %d differed\n", r.Pages, r.AtProvider, r.Differed)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return r, nil
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
}

func (c *cli) printRun(r booking.Run) {
	fmt.Fprintf(c.stdout, "%s: %d at the provider, %d differed (%d conflicts, %d refused, %d unreadable); %d requests\n",
		r.Status, r.AtProvider, r.Differed, r.Conflicts, r.Refused, r.Unreadable, r.Requests)
}

func (c *cli) connectionsDisconnect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disconnect ID",
		Short: "End a connection: its webhook goes, its bookings and receipts stay",
		Args:  exactly(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("connection", args[0])
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			conn, err := inst.store.Connection(cmd.Context(), id)
			if err != nil {
				return noConnection("connection", id, err)
			}
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				left, err := e.accounts.Disconnect(cmd.Context(), id)
				if errors.Is(err, account.ErrDisconnected) {
					fmt.Fprintln(c.stderr, "it was disconnected already: nothing was changed")
					return nil
				}
				if err != nil {
					return err
				}
				if left != nil {
					fmt.Fprintf(c.stderr, "the webhook may be left at the provider: %v\n", account.Remedied(conn.Provider, left))
				}
				return nil
			})
		})
	}
	return cmd
}

func (c *cli) connectionsStop() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Stop what is being read of a connection: its import and its comparison",
		Long: `Stop what is under way of a connection: the import, the comparison, or --run one of
them. What was read stays. Whoever reads on finds out within half a minute. The next
comparison begins by itself; an import begins anew with backfill.`,
		Args: exactly(1),
	}
	asJSON := jsonFlag(cmd)
	one := cmd.Flags().String("run", "", "the id of the only run to stop")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("connection", args[0])
		if err != nil {
			return err
		}
		run, err := idOrNone("--run", *one)
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if _, err := inst.store.Connection(cmd.Context(), id); err != nil {
				return noConnection("connection", id, err)
			}
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				stopped, err := c.stop(cmd.Context(), inst, e, id, run)
				if err != nil {
					return err
				}
				if *asJSON {
					return c.printJSON(stopped)
				}
				for _, r := range stopped {
					fmt.Fprintf(c.stdout, "%s %s of %s is stopped after %d pages\n", r.Kind, r.ID, r.From.Format(time.DateOnly), r.Pages)
				}
				return nil
			})
		})
	}
	return cmd
}

// stop stops a connection's runs that are under way, or the one that is named.
func (c *cli) stop(ctx context.Context, inst *installation, e *engine, connection, run uuid.UUID) ([]*runJSON, error) {
	open, err := inst.store.OpenRuns(ctx)
	if err != nil {
		return nil, err
	}
	var out []*runJSON
	for _, r := range open {
		if r.ConnectionID != connection || run != uuid.Nil && r.ID != run {
			continue
		}
		stopped, err := e.accounts.StopRun(ctx, r.ID, booking.ActorSystem)
		if ended := (*booking.ConflictError)(nil); errors.As(err, &ended) {
			continue // by itself, meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, newRunJSON(stopped))
	}
	if len(out) == 0 {
		return nil, &booking.ConflictError{Detail: "nothing is under way that could be stopped"}
	}
	return out, nil
}
