package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The phases of the way in.
const (
	bareCommit  = "bare commit"
	floor       = "floor P"
	closed      = "PostgreSQL"
	closedMixed = "PostgreSQL, 20 % copies, 5 % conflicts"
	copies      = "PostgreSQL, copies alone"
	halfRate    = "PostgreSQL, open loop at half the top rate"

	embeddedOne    = "SQLite, sets of one"
	embedded       = "SQLite, sets"
	embeddedMixed  = "SQLite, sets, 20 % copies, 5 % conflicts"
	embeddedCopies = "SQLite, sets, copies alone"
)

// onPostgres measures the way in against the floor, on databases that are new
// in each round.
func (b *bench) onPostgres(ctx context.Context) error {
	return b.eachRound("PostgreSQL", func(n int, r map[phase]figures) (err error) {
		floorName, name := "floor_"+strconv.Itoa(n), "server_"+strconv.Itoa(n)
		floorDB, connection, err := b.floorDatabase(ctx, floorName)
		if err != nil {
			return err
		}
		database, err := b.database(ctx, name)
		if err != nil {
			return err
		}
		s, err := b.serve(ctx, database, maxSet)
		if err != nil {
			return err
		}
		// The next round is not to share the machine with the vacuum of this one's.
		defer func() { err = errors.Join(err, s.stop(), b.drop(ctx, floorName, name)) }()

		// Statistics as autovacuum would have gathered within a minute, for both.
		if err := b.warm(ctx, s); err != nil {
			return err
		}
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
			if err := b.closedLoops(ctx, s, c, closed, copies, closedMixed, r); err != nil {
				return err
			}
			top = max(top, r[phase{closed, c}].rate)
		}
		r[phase{halfRate, most}], err = b.measure(s, s.counted(func() ([]time.Duration, time.Duration, error) {
			return openLoop(ctx, s.host, most, s.firsts(false), top/2, b.each)
		}))
		if err != nil {
			return fmt.Errorf("%s: %w", halfRate, err)
		}
		return b.assertStored(ctx, s)
	})
}

// closedLoops measures first deliveries, copies of stored ones where they are
// compared with them, and the mixed load.
func (b *bench) closedLoops(ctx context.Context, s *server, c int, first, again, mixed string, r map[phase]figures) error {
	if err := b.closedLoop(ctx, s, phase{first, c}, s.firsts(false), r); err != nil {
		return err
	}
	if c == several {
		stock, err := b.stock(ctx, s)
		if err != nil {
			return err
		}
		if err := b.closedLoop(ctx, s, phase{again, c}, copiesOf(stock, c), r); err != nil {
			return err
		}
	}
	return b.closedLoop(ctx, s, phase{mixed, c}, s.firsts(true), r)
}

// stockSize is how many deliveries copies are made of.
const stockSize = 256

// stock sends deliveries for the first time, and returns them as copies.
func (b *bench) stock(ctx context.Context, s *server) ([]delivery, error) {
	next := s.firsts(false)(0)
	var all []delivery
	for range stockSize {
		all = append(all, next())
	}
	if err := prepare(ctx, s.account, all); err != nil {
		return nil, err
	}
	s.answered += stockSize
	for i := range all {
		all[i].want = duplicate
	}
	return all, nil
}

// onSQLite measures the way in on the embedded database.
func (b *bench) onSQLite(ctx context.Context) error {
	return b.eachRound("SQLite", func(_ int, r map[phase]figures) (err error) {
		servers := map[string]*server{}
		defer func() {
			for _, s := range servers {
				err = errors.Join(err, s.stop(), s.remove())
			}
		}()
		for name, set := range map[string]int{embeddedOne: 1, embedded: maxSet} {
			s, err := b.serve(ctx, "", set)
			if err != nil {
				return err
			}
			servers[name] = s
			if err := b.warm(ctx, s); err != nil {
				return err
			}
		}
		one, sets := servers[embeddedOne], servers[embedded]
		for _, c := range connections {
			if err := b.closedLoop(ctx, one, phase{embeddedOne, c}, one.firsts(false), r); err != nil {
				return err
			}
			if err := b.closedLoops(ctx, sets, c, embedded, embeddedCopies, embeddedMixed, r); err != nil {
				return err
			}
		}
		return errors.Join(b.assertStored(ctx, one), b.assertStored(ctx, sets))
	})
}
