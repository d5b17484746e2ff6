package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// bench is one run of all phases, some rounds of them.
type bench struct {
	settings

	dir      string            // goes when the run ends
	files    map[string]string // the scripts
	progress io.Writer
	results  []map[phase]figures
}

// phase is something that is measured in every round.
type phase struct {
	name        string
	connections int
}

const (
	bareCommit  = "bare commit"
	floor       = "floor P"
	closed      = "PostgreSQL"
	closedMixed = "PostgreSQL, 20 % copies, 5 % conflicts"
	halfRate    = "PostgreSQL, open loop at half the top rate"
	embeddedOne = "SQLite, sets of one"
	embedded    = "SQLite, sets"
)

// connections are how many clients send at once.
var connections = []int{1, 16, 64}

const (
	most     = 64
	maxSet   = 64
	warmUp   = time.Second
	warmedBy = 16
)

// round measures every phase once, on empty databases, those that are compared
// close together.
func (b *bench) round(ctx context.Context, n int) (r map[phase]figures, err error) {
	r = map[phase]figures{}
	if err := b.onPostgres(ctx, n, r); err != nil {
		return nil, err
	}
	return r, b.onSQLite(ctx, r)
}

func (b *bench) onPostgres(ctx context.Context, n int, r map[phase]figures) (err error) {
	floorDB, connection, err := b.floorDatabase(ctx, "floor_"+strconv.Itoa(n))
	if err != nil {
		return err
	}
	database, err := b.database(ctx, "server_"+strconv.Itoa(n))
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, database, maxSet)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	stored := people
	count := func(latencies []time.Duration) { stored += len(latencies) }

	// Statistics as autovacuum would have gathered within a minute, for both.
	warm, _, err := closedLoop(ctx, s.account, warmedBy, false, warmUp)
	if err != nil {
		return err
	}
	count(warm)
	if _, err := b.floor(ctx, floorDB, connection, warmedBy, warmUp); err != nil {
		return err
	}
	for _, db := range []string{database, floorDB} {
		if _, err := b.psql(ctx, db, "-c", "ANALYZE"); err != nil {
			return err
		}
	}

	if r[phase{bareCommit, 1}], err = b.bareCommit(ctx, floorDB); err != nil {
		return err
	}
	var top float64
	for _, c := range connections {
		if r[phase{floor, c}], err = b.floor(ctx, floorDB, connection, c, b.each); err != nil {
			return err
		}
		for _, name := range []string{closed, closedMixed} {
			f, latencies, err := b.measure(s, func() ([]time.Duration, time.Duration, error) {
				return closedLoop(ctx, s.account, c, name == closedMixed, b.each)
			})
			if err != nil {
				return fmt.Errorf("%s at %d: %w", name, c, err)
			}
			count(latencies)
			r[phase{name, c}] = f
		}
		top = max(top, r[phase{closed, c}].rate)
	}
	f, latencies, err := b.measure(s, func() ([]time.Duration, time.Duration, error) {
		return openLoop(ctx, s.account, most, top/2, b.each)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", halfRate, err)
	}
	count(latencies)
	r[phase{halfRate, most}] = f
	return b.assertStored(ctx, database, stored)
}

// assertStored holds what was answered against what the database has: a rate of
// deliveries that are not there would say nothing.
func (b *bench) assertStored(ctx context.Context, database string, answered int) error {
	stored, err := b.psql(ctx, database, "-c", "SELECT count(*) FROM deliveries")
	if err == nil && stored != strconv.Itoa(answered) {
		err = fmt.Errorf("%d deliveries were answered, and %s are stored", answered, stored)
	}
	return err
}

func (b *bench) onSQLite(ctx context.Context, r map[phase]figures) (err error) {
	servers := map[string]*server{}
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.stop())
		}
	}()
	for name, set := range map[string]int{embeddedOne: 1, embedded: maxSet} {
		s, err := b.serve(ctx, "", set)
		if err != nil {
			return err
		}
		servers[name] = s
		if _, _, err := closedLoop(ctx, s.account, warmedBy, false, warmUp); err != nil {
			return err
		}
	}
	for _, c := range connections {
		for _, name := range []string{embeddedOne, embedded} {
			s := servers[name]
			r[phase{name, c}], _, err = b.measure(s, func() ([]time.Duration, time.Duration, error) {
				return closedLoop(ctx, s.account, c, false, b.each)
			})
			if err != nil {
				return fmt.Errorf("%s at %d: %w", name, c, err)
			}
		}
	}
	return nil
}

// measure runs a load against a server and looks at what it cost the server.
func (b *bench) measure(s *server, load func() ([]time.Duration, time.Duration, error)) (figures, []time.Duration, error) {
	before, err := s.cpu()
	if err != nil {
		return figures{}, nil, err
	}
	latencies, elapsed, err := load()
	if err != nil {
		return figures{}, nil, err
	}
	after, err1 := s.cpu()
	f := figuresOf(latencies, elapsed, after-before)
	var err2 error
	f.peak, err2 = s.peak()
	return f, latencies, errors.Join(err1, err2)
}

// phases are all, in the order of the report.
func phases() []phase {
	all := []phase{{bareCommit, 1}}
	for _, name := range []string{floor, closed, closedMixed} {
		for _, c := range connections {
			all = append(all, phase{name, c})
		}
	}
	all = append(all, phase{halfRate, most})
	for _, name := range []string{embeddedOne, embedded} {
		for _, c := range connections {
			all = append(all, phase{name, c})
		}
	}
	return all
}
