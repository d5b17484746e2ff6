package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// bench is one run of all parts, some rounds of each.
type bench struct {
	settings

	dir      string            // goes when the run ends
	files    map[string]string // the scripts
	progress io.Writer
	results  []map[phase]figures // of each round
	took     map[string]time.Duration
}

// phase is something that is measured in every round.
type phase struct {
	name        string
	connections int
}

// part is a group of phases that are compared with one another. It can be run
// alone.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

// parts are all, in the order in which they run.
func parts() []part {
	return []part{
		{"postgres", (*bench).onPostgres},
		{"sqlite", (*bench).onSQLite},
		{"reads", (*bench).reads},
		{"audit", (*bench).audit},
		{"replay", (*bench).replays},
		{"import", (*bench).imports},
		{"growth", (*bench).growth},
	}
}

// connections are how many clients send at once.
var connections = []int{1, 16, 64}

const (
	// several is where the ways of sending are compared.
	several  = 16
	most     = 64
	maxSet   = 64
	warmUp   = time.Second
	warmedBy = 16
)

// run measures the parts that are asked for.
func (b *bench) run(ctx context.Context) error {
	b.took = map[string]time.Duration{}
	for range b.rounds {
		b.results = append(b.results, map[phase]figures{})
	}
	for _, p := range parts() {
		if b.only != "" && b.only != p.name {
			continue
		}
		began := time.Now()
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.took[p.name] = time.Since(began)
	}
	return nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// eachRound calls f once a round.
func (b *bench) eachRound(what string, f func(n int, r map[phase]figures) error) error {
	for n, r := range b.results {
		b.say("%s: round %d of %d", what, n+1, b.rounds)
		if err := f(n, r); err != nil {
			return err
		}
	}
	return nil
}

// load sends something and returns each answer's latency, and how long the
// whole took.
type load func() ([]time.Duration, time.Duration, error)

// counted is a load whose deliveries must be stored when it is over.
func (s *server) counted(l load) load {
	return func() ([]time.Duration, time.Duration, error) {
		latencies, elapsed, err := l()
		s.answered += int64(len(latencies))
		return latencies, elapsed, err
	}
}

// measure runs a load against a server and looks at what it cost the server.
func (b *bench) measure(s *server, l load) (figures, error) {
	before, err := s.cpu()
	if err != nil {
		return figures{}, err
	}
	latencies, elapsed, err := l()
	if err != nil {
		return figures{}, err
	}
	after, err1 := s.cpu()
	f := figuresOf(latencies, elapsed, after-before)
	var err2 error
	f.peak, err2 = s.peak()
	return f, errors.Join(err1, err2)
}

// closedLoop measures clients that each send when the last is answered.
func (b *bench) closedLoop(ctx context.Context, s *server, p phase, from source, r map[phase]figures) error {
	f, err := b.measure(s, s.counted(func() ([]time.Duration, time.Duration, error) {
		return closedLoop(ctx, s.host, p.connections, from, b.each)
	}))
	if err != nil {
		return fmt.Errorf("%s at %d: %w", p.name, p.connections, err)
	}
	r[p] = f
	return nil
}

// warm has a server do for a moment what will be measured.
func (b *bench) warm(ctx context.Context, s *server) error {
	_, _, err := s.counted(func() ([]time.Duration, time.Duration, error) {
		return closedLoop(ctx, s.host, warmedBy, s.firsts(false), warmUp)
	})()
	return err
}

// assertStored holds what was answered against what the database has: a rate of
// deliveries that are not there would say nothing.
func (b *bench) assertStored(ctx context.Context, s *server) error {
	stored, err := b.query(ctx, s, "SELECT count(*) FROM deliveries")
	if err == nil && stored != strconv.FormatInt(s.answered, 10) {
		err = fmt.Errorf("%d deliveries were answered, and %s are stored", s.answered, stored)
	}
	return err
}

// query is the one value that a statement finds in a server's database.
func (b *bench) query(ctx context.Context, s *server, statement string) (string, error) {
	if s.database != "" {
		return b.psql(ctx, s.database, "-c", statement)
	}
	return queryEmbedded(ctx, s.file(), statement)
}

// until waits for something in the background to end.
func (b *bench) until(ctx context.Context, longest time.Duration, what string, ended func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if over, err := ended(); err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the %s does not end: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
