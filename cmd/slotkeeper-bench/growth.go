package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// The phases of a year of growth.
const (
	young         = "PostgreSQL, empty"
	grown         = "PostgreSQL, after the year"
	embeddedYoung = "SQLite, empty"
	embeddedGrown = "SQLite, after the year"
)

// year is so many receipts, of which a third are cancels, of as many people as
// it takes.
func year(receipts int) past {
	const cancelEvery, weeks = 2, 52
	bookings := max(receipts*cancelEvery/(cancelEvery+1), 1)
	return past{people: max(people, bookings/(weeks*perWeek)), bookings: bookings, cancelEvery: cancelEvery}
}

// growth measures first deliveries after a year against the same on an empty
// database. The grown one is filled once: what a round adds to it is nothing
// beside the year. The empty one is new in each round.
func (b *bench) growth(ctx context.Context) error {
	if err := b.grow(ctx, "grown", "young", young, grown); err != nil {
		return err
	}
	return b.grow(ctx, "", "", embeddedYoung, embeddedGrown)
}

// grow does so on PostgreSQL where the databases have names, else on SQLite.
func (b *bench) grow(ctx context.Context, oldName, newName, small, large string) (err error) {
	p := year(b.receipts)
	b.say("%s: writing %d receipts", large, p.receipts())
	old, err := b.filled(ctx, oldName, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(ctx, old, oldName)) }()
	return b.eachRound(large, func(n int, r map[phase]figures) (err error) {
		name := newName
		if name != "" {
			name += "_" + strconv.Itoa(n)
		}
		fresh, err := b.fresh(ctx, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.end(ctx, fresh, name)) }()
		if err := errors.Join(b.warm(ctx, fresh), b.warm(ctx, old)); err != nil {
			return err
		}
		if name != "" {
			if _, err := b.psql(ctx, fresh.database, "-c", "ANALYZE"); err != nil {
				return err
			}
		}
		// Neither is always the one that runs after the other.
		if n%2 == 1 {
			if err := b.closedLoop(ctx, old, phase{large, several}, old.firsts(false), r); err != nil {
				return err
			}
		}
		if err := b.closedLoop(ctx, fresh, phase{small, several}, fresh.firsts(false), r); err != nil {
			return err
		}
		if n%2 == 0 {
			if err := b.closedLoop(ctx, old, phase{large, several}, old.firsts(false), r); err != nil {
				return err
			}
		}
		return errors.Join(b.assertStored(ctx, fresh), b.assertStored(ctx, old))
	})
}

// filled is a server on a database with a past. Without a name it is embedded.
func (b *bench) filled(ctx context.Context, name string, p past) (*server, error) {
	var database string
	var err error
	if name != "" {
		if database, err = b.database(ctx, name); err != nil {
			return nil, err
		}
	}
	i, err := b.install(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, i, p); err != nil {
		return nil, fmt.Errorf("filling: %w", err)
	}
	s, err := b.start(ctx, i, maxSet)
	if err != nil {
		return nil, err
	}
	s.answered += int64(p.receipts())
	return s, nil
}

// fresh is a server on an empty database. Without a name it is embedded.
func (b *bench) fresh(ctx context.Context, name string, more ...string) (*server, error) {
	if name == "" {
		return b.serve(ctx, "", maxSet, more...)
	}
	database, err := b.database(ctx, name)
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, database, maxSet, more...)
}

// end stops a server and removes what it worked on.
func (b *bench) end(ctx context.Context, s *server, name string) error {
	err := errors.Join(s.stop(), s.remove())
	if name != "" {
		err = errors.Join(err, b.drop(ctx, name))
	}
	return err
}
