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

// unpack writes the scripts where pgbench finds them.
func unpack(dir string) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{"floor.sql", "floor-setup.sql", "commit.sql"} {
		b, err := scripts.ReadFile("testdata/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], b, 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
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
	c, err := b.connect(ctx, b.environment(b.dir, database, "127.0.0.1:0", 1))
	if err != nil {
		return "", "", err
	}
	_, err = b.psql(ctx, database, "-f", b.files["floor-setup.sql"])
	return database, c.ID, err
}

// pgbench runs a script for some whole seconds and returns how many times a
// second it was run.
func (b *bench) pgbench(ctx context.Context, database string, connections int, each time.Duration, args ...string) (float64, error) {
	args = append([]string{
		"-n", "-M", "prepared", "-T", strconv.Itoa(int(each.Seconds())),
		"-c", strconv.Itoa(connections), "-j", strconv.Itoa(min(connections, 2)),
	}, args...)
	cmd := exec.CommandContext(ctx, "pgbench", append(args, database)...) //nolint:gosec // G204: the arguments are ours
	cmd.Dir = b.dir
	out, err := output(cmd)
	if err != nil {
		return 0, err
	}
	return rateOf(out)
}

var reported = regexp.MustCompile(`(?m)^tps = ([0-9.]+) `)

func rateOf(out []byte) (float64, error) {
	m := reported.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench tells no rate: %s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// bareCommit measures one-row updates on one connection.
func (b *bench) bareCommit(ctx context.Context, database string) (figures, error) {
	rate, err := b.pgbench(ctx, database, 1, b.each, "-f", b.files["commit.sql"], "--log", "--log-prefix", "latencies")
	if err != nil {
		return figures{}, err
	}
	logs, err := filepath.Glob(filepath.Join(b.dir, "latencies.*"))
	if err != nil {
		return figures{}, err
	}
	var latencies []time.Duration
	for _, name := range logs {
		text, err := os.ReadFile(name) //nolint:gosec // G304: a directory of ours
		if err != nil {
			return figures{}, err
		}
		some, err := latenciesOf(text)
		if err := errors.Join(err, os.Remove(name)); err != nil {
			return figures{}, err
		}
		latencies = append(latencies, some...)
	}
	slices.Sort(latencies)
	return figures{rate: rate, p50: percentile(latencies, 50), p99: percentile(latencies, 99)}, nil
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

// deliveriesPerRun is how many deliveries one run of floor.sql stands for.
const deliveriesPerRun = 2

// floor measures P on some connections, in deliveries a second.
func (b *bench) floor(ctx context.Context, database, connection string, connections int, each time.Duration) (figures, error) {
	rate, err := b.pgbench(ctx, database, connections, each, "-f", b.files["floor.sql"], "-D", "connection="+connection)
	return figures{rate: rate * deliveriesPerRun}, err
}
