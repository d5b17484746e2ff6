package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata/*.sql
var scripts embed.FS

// unpack writes the scripts where psql and pgbench find them.
func unpack(dir string) (map[string]string, error) {
	files := map[string]string{}
	write := func(name string, text []byte) error {
		files[name] = filepath.Join(dir, name)
		return os.WriteFile(files[name], text, 0o600)
	}
	for _, name := range []string{floorScript, "floor-setup.sql", "commit.sql", "history-postgres.sql"} {
		text, err := scripts.ReadFile("testdata/" + name)
		if err != nil {
			return nil, err
		}
		if err := write(name, text); err != nil {
			return nil, err
		}
	}
	text, err := scripts.ReadFile("testdata/" + floorScript)
	if err != nil {
		return nil, err
	}
	inTurn, err := oneInTurn(string(text))
	if err != nil {
		return nil, err
	}
	return files, write(inTurnScript, []byte(inTurn))
}

const (
	floorScript  = "floor.sql"
	inTurnScript = "floor-in-turn.sql"
)

var begins = regexp.MustCompile(`(?mi)^begin\b`)

// oneInTurn makes of a script of a create and its cancel one that executes
// either, in turn: pgbench tells how long a run took, and a run is one delivery
// then. A client's variables outlive its runs; standing is 0 before the first.
func oneInTurn(script string) (string, error) {
	at := begins.FindAllStringIndex(script, -1)
	if len(at) != 2 {
		return "", fmt.Errorf("%s begins %d transactions, want a create's and a cancel's", floorScript, len(at))
	}
	create, cancel := script[:at[1][0]], script[at[1][0]:]
	return "\\if :standing\n" + cancel + "\n\\set standing 0\n\\else\n" + create + "\n\\set standing 1\n\\endif\n", nil
}

// database makes an empty database and returns its URL.
func (b *bench) database(ctx context.Context, name string) (string, error) {
	if _, err := b.psql(ctx, b.postgres, "-c", "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(b.postgres)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// drop removes databases, also when the run was stopped.
func (b *bench) drop(ctx context.Context, names ...string) error {
	var all []error
	for _, name := range names {
		_, err := b.psql(context.WithoutCancel(ctx), b.postgres, "-c", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (b *bench) psql(ctx context.Context, database string, args ...string) (string, error) {
	args = append([]string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database}, args...)
	out, err := output(exec.CommandContext(ctx, "psql", args...)) //nolint:gosec // G204: the arguments are ours
	return strings.TrimSpace(string(out)), err
}

// assertDurable refuses to measure commits that a power cut would undo.
func (b *bench) assertDurable(ctx context.Context, stdout io.Writer) error {
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		value, err := b.psql(ctx, b.postgres, "-c", "SHOW "+setting)
		if err != nil {
			return err
		}
		if value != "on" {
			return fmt.Errorf("PostgreSQL has %s = %s: what it commits is not durable", setting, value)
		}
	}
	version, err := b.psql(ctx, b.postgres, "-c", "SHOW server_version")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "PostgreSQL %s with fsync, synchronous_commit and full_page_writes on; all else as it comes.\n", version)
	return nil
}

// floorDatabase is a migrated database where floor.sql runs, and the id of its
// connection.
func (b *bench) floorDatabase(ctx context.Context, name string) (database, connection string, err error) {
	if database, err = b.database(ctx, name); err != nil {
		return "", "", err
	}
	i, err := b.install(ctx, database)
	if err != nil {
		return "", "", err
	}
	_, err = b.psql(ctx, database, "-f", b.files["floor-setup.sql"])
	return database, i.connection.ID, err
}

// pgbench runs a script for some whole seconds and returns how often and for how
// long it was run.
func (b *bench) pgbench(ctx context.Context, database string, connections int, each time.Duration, args ...string) (figures, error) {
	args = append([]string{
		"-n", "-M", "prepared", "-T", strconv.Itoa(int(each.Seconds())), "--log", "--log-prefix", "latencies",
		"-c", strconv.Itoa(connections), "-j", strconv.Itoa(min(connections, 2)),
	}, args...)
	cmd := exec.CommandContext(ctx, "pgbench", append(args, database)...) //nolint:gosec // G204: the arguments are ours
	cmd.Dir = b.dir
	out, err := output(cmd)
	if err != nil {
		return figures{}, err
	}
	rate, err := rateOf(out)
	if err != nil {
		return figures{}, err
	}
	latencies, err := b.logged()
	slices.Sort(latencies)
	return figures{rate: rate, p50: percentile(latencies, 50), p99: percentile(latencies, 99)}, err
}

var reported = regexp.MustCompile(`(?m)^tps = ([0-9.]+) `)

func rateOf(out []byte) (float64, error) {
	m := reported.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench tells no rate: %s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// logged reads pgbench's logs, one of each of its threads, and removes them.
func (b *bench) logged() ([]time.Duration, error) {
	logs, err := filepath.Glob(filepath.Join(b.dir, "latencies.*"))
	if err != nil {
		return nil, err
	}
	var latencies []time.Duration
	for _, name := range logs {
		text, err := os.ReadFile(name) //nolint:gosec // G304: a directory of ours
		if err != nil {
			return nil, err
		}
		some, err := latenciesOf(text)
		if err := errors.Join(err, os.Remove(name)); err != nil {
			return nil, err
		}
		latencies = append(latencies, some...)
	}
	return latencies, nil
}

// latenciesOf reads pgbench's log: the third word of a line is microseconds.
func latenciesOf(log []byte) ([]time.Duration, error) {
	var all []time.Duration
	for lines := bufio.NewScanner(bytes.NewReader(log)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 3 {
			return nil, fmt.Errorf("pgbench's log has a line %q", lines.Text())
		}
		us, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("pgbench's log: %w", err)
		}
		all = append(all, time.Duration(us)*time.Microsecond)
	}
	return all, nil
}

// bareCommit measures one-row updates on one connection.
func (b *bench) bareCommit(ctx context.Context, database string) (figures, error) {
	return b.pgbench(ctx, database, 1, b.each, "-f", b.files["commit.sql"])
}

// floor measures P on some connections, in deliveries.
func (b *bench) floor(ctx context.Context, database, connection string, connections int, each time.Duration) (figures, error) {
	return b.pgbench(ctx, database, connections, each, "-f", b.files[inTurnScript], "-D", "connection="+connection, "-D", "standing=0")
}
