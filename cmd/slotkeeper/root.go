package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
)

// environment is what a command has from outside.
type environment struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// cli is what all commands share.
type cli struct {
	environment
	cfg config
	now func() time.Time
	// zone is this machine's: whoever has chosen none sees times in it.
	zone *time.Location
	// patience is how long a server's lock on the embedded database is waited for; a
	// server waits for commands for less, so that senders hear that it is busy.
	patience time.Duration
}

// commandPatience outlasts a server that commits without a pause.
const commandPatience = 30 * time.Second

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	c := &cli{environment: env, now: func() time.Time { return time.Now().UTC() }, zone: time.Local, patience: commandPatience}
	root := c.command() //nolint:contextcheck // commands take theirs from cobra
	root.SetArgs(args)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(env.stderr, "slotkeeper:", err)
		return 1
	}
	return 0
}

func (c *cli) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "slotkeeper",
		Short:         "One slot calendar over Calendly, Cal.com and whoever else signs, fed by their webhooks",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return c.cfg.validate()
		},
	}
	c.cfg.bind(root.PersistentFlags(), c.getenv)
	root.AddCommand(
		c.serveCommand(), c.demoCommand(), c.migrateCommand(), c.connectCommand(), c.connectionsCommand(),
		c.resourcesCommand(), c.auditCommand(), c.sendCommand(), c.tokenCommand(), c.userCommand(), c.versionCommand(), c.doctorCommand(),
		c.backupCommand(), c.restoreCommand(), c.keyCommand(), c.eraseCommand(), c.replayCommand(), c.feedsCommand(), c.endpointsCommand(), c.healthcheckCommand(),
	)
	return root
}

// group is a command that only has others below it. Without its own run and
// arguments a misspelt one would print help and succeed.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func (c *cli) logger() *slog.Logger {
	if c.cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(c.stderr, nil))
}

// printJSON prints a value as the commands' JSON.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON")
}

// alwaysJSON takes --json for the sake of scripts that give it everywhere.
func alwaysJSON(cmd *cobra.Command) {
	cmd.Flags().Bool("json", false, "print JSON, which this command always does")
}

// exactly n arguments; whoever gives others reads how the command is called.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("arguments: %d given, %d needed; usage: %s", len(args), n, cmd.UseLine())
		}
		return nil
	}
}
