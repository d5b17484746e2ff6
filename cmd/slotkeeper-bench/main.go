// Command slotkeeper-bench measures how fast the way in is: what PostgreSQL does
// for one commit and for the statements of one delivery (the floor P), and what
// the built server does, under load over loopback, with PostgreSQL and with the
// embedded database. It measures the reading of a calendar's week too, and the
// way in after a year of growth. docs/performance.md says what the figures mean.
//
// make bench runs it, with a private PostgreSQL whose commits are durable.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slotkeeper-bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line sets.
type settings struct {
	binary   string        // the server to measure
	postgres string        // a superuser's URL, from the environment
	each     time.Duration // how long a phase lasts
	rounds   int
	only     string // the one part to run; "" is all
	receipts int    // of the year of growth
	replayed int    // receipts that are replayed
}

func partNames() []string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.name)
	}
	return all
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("slotkeeper-bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	s := settings{postgres: getenv("TEST_DATABASE_URL")}
	f.StringVar(&s.binary, "server", "bin/slotkeeper", "the built server")
	f.DurationVar(&s.each, "time", 5*time.Second, "how long each phase lasts")
	f.IntVar(&s.rounds, "rounds", 3, "how often all phases are run, one after the other")
	f.StringVar(&s.only, "only", "", "run one part alone: "+strings.Join(partNames(), ", "))
	f.IntVar(&s.receipts, "growth", 1_000_000, "how many receipts a year of growth has")
	f.IntVar(&s.replayed, "replayed", 50_000, "how many receipts are replayed")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.postgres == "" {
		return errors.New("TEST_DATABASE_URL names no PostgreSQL: use make bench, which starts one")
	}
	if s.rounds < 1 || s.each < time.Second || s.each%time.Second != 0 {
		return fmt.Errorf("%d rounds of %s: pgbench counts in whole seconds", s.rounds, s.each)
	}
	if s.only != "" && !slices.Contains(partNames(), s.only) {
		return fmt.Errorf("there is no part %q: use %s", s.only, strings.Join(partNames(), ", "))
	}
	if s.replayed < 1 {
		return fmt.Errorf("%d receipts are nothing to replay", s.replayed)
	}
	if s.receipts < 3 {
		return fmt.Errorf("%d receipts are no growth", s.receipts)
	}
	dir, err := os.MkdirTemp("", "slotkeeper-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: s, dir: dir, progress: stderr}
	b.files, err = unpack(dir)
	if err != nil {
		return err
	}
	describeMachine(ctx, stdout)
	if err := b.assertDurable(ctx, stdout); err != nil {
		return err
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	return b.report(stdout)
}
