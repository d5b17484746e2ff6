package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFloorIsWhatTheServerExecutes has pg_stat_statements count what a server
// with sets of one executes for a create and its cancel, and what one run of
// floor.sql does: the same statements, each as often. A floor of other
// statements would make the ratios to it meaningless.
func TestFloorIsWhatTheServerExecutes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds and starts the server")
	}
	b := testBench(t)
	name := fmt.Sprintf("bench_%d", os.Getpid())
	t.Cleanup(func() {
		if err := b.drop(t.Context(), name+"_floor", name+"_server"); err != nil {
			t.Log(err) // the cluster goes anyway
		}
	})

	floorDB, connection, err := b.floorDatabase(t.Context(), name+"_floor")
	if err != nil {
		t.Fatal(err)
	}
	asked := executed(t, b, floorDB, func() error {
		run := exec.Command("pgbench", "-n", "-M", "prepared", "-t", "1", "-D", "connection="+connection, "-f", b.files["floor.sql"], floorDB)
		_, err := output(run)
		return err
	})

	serverDB, err := b.database(t.Context(), name+"_server")
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.serve(t.Context(), serverDB, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	pair := &sequence{account: s.account}
	served := executed(t, b, serverDB, func() error {
		return prepare(t.Context(), s.account, []delivery{pair.next(), pair.next()})
	})

	all := maps.Clone(asked)
	maps.Copy(all, served)
	for _, statement := range slices.Sorted(maps.Keys(all)) {
		if asked[statement] != served[statement] {
			t.Errorf("floor.sql executes it %d times, the server %d times: %s", asked[statement], served[statement], statement)
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %d statements were seen", len(asked))
	}
}

// others are the statements that have nothing to do with a delivery: the queue's,
// those that look for a connection's secret, this test's own, and what a server does
// from time to time, whenever that is: alerts, retention, readings, other systems.
var others = regexp.MustCompile(`(?i)river_|"connections"|pg_stat_statements|heartbeat|^(begin|commit|listen|set|select \$|--)` +
	`|\b(alerts|alert_recipients|alert_recipient_resources|booking_forms|signin_links|web_sessions|retention_runs|replays|endpoints|runs|drifts|unproven_posts)\b` +
	`|from "?(deliveries|connections)\b|left join sessions|^select status, count|^select count|processed_at is null`)

// executed is how often each statement was executed in a database while f ran.
func executed(t *testing.T, b *bench, database string, f func() error) map[string]int {
	t.Helper()
	const here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
	if _, err := b.psql(t.Context(), database, "-c", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "-c", "SELECT pg_stat_statements_reset(0, "+here+", 0)"); err != nil {
		t.Fatal(err)
	}
	if err := f(); err != nil {
		t.Fatal(err)
	}
	out, err := b.psql(t.Context(), database, "-c",
		`SELECT calls || ' ' || regexp_replace(query, '\s+', ' ', 'g') FROM pg_stat_statements WHERE dbid = `+here)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(out) {
		calls, query, _ := strings.Cut(strings.TrimSpace(line), " ")
		if others.MatchString(query) {
			continue
		}
		var n int
		if _, err := fmt.Sscan(calls, &n); err != nil {
			t.Fatal(err)
		}
		found[shape(query)] += n
	}
	return found
}

// PostgreSQL keeps the constants of some statements and counts those of others.
var (
	listed   = regexp.MustCompile(`(?:any|unnest|VALUES ?)\(`)
	computed = regexp.MustCompile(`sha256\(convert_to\([^()]*\)\)`)
	value    = regexp.MustCompile(`\$\d+|'[^']*'|\b(?:\d+|true)\b`)
)

// shape is a statement without its values, which the server sends and floor.sql
// computes.
func shape(query string) string {
	var b strings.Builder
	for {
		at := listed.FindStringIndex(query)
		if at == nil {
			break
		}
		end, depth := at[1], 1
		for ; end < len(query) && depth > 0; end++ {
			switch query[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		b.WriteString(query[:at[1]] + "…)")
		query = query[end:]
	}
	b.WriteString(query)
	return value.ReplaceAllString(computed.ReplaceAllString(b.String(), "$$1"), "?")
}

func TestOneInTurn(t *testing.T) {
	t.Parallel()
	got, err := oneInTurn("-- what it is\nbegin;\nINSERT;\ncommit;\n\n-- the cancel\nBEGIN;\nUPDATE;\ncommit;\n")
	want := "\\if :standing\nBEGIN;\nUPDATE;\ncommit;\n\n\\set standing 0\n\\else\n" +
		"-- what it is\nbegin;\nINSERT;\ncommit;\n\n-- the cancel\n\n\\set standing 1\n\\endif\n"
	if err != nil || got != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	for _, script := range []string{"", "begin; commit;", "begin;\nbegin;\nbegin;\n"} {
		if _, err := oneInTurn(script); err == nil {
			t.Errorf("%q passed for a create and its cancel", script)
		}
	}
}
