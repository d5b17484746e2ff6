package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The phases of replays: posts at a rate that leaves the server room, without and
// with a replay of everything under way.
const (
	quietAcks  = ", posts at a steady rate"
	replayAcks = ", the same while everything is replayed"
)

const (
	ackRate = 100 // a second
	// replayMemory is how much more a server may have had resident after a replay than
	// before the first one.
	replayMemory = 1.5
	replayWait   = 10 * time.Minute
)

// replays measures what a replay of everything costs those who post meanwhile.
func (b *bench) replays(ctx context.Context) error {
	return errors.Join(b.replaysOn(ctx, postgresKind, "replayed"), b.replaysOn(ctx, sqliteKind, ""))
}

func (b *bench) replaysOn(ctx context.Context, kind, name string) (err error) {
	s, err := b.fresh(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(ctx, s, name)) }()
	b.say("%s, replay: telling of %d bookings", kind, b.replayed)
	if err := b.tell(ctx, s, b.replayed); err != nil {
		return err
	}
	if s.database != "" {
		// As autovacuum would do within a minute, and while one phase is measured.
		if _, err := b.psql(ctx, s.database, "-c", "VACUUM ANALYZE"); err != nil {
			return err
		}
	}
	return b.eachRound(kind+", replay", func(_ int, r map[phase]figures) error {
		var id string
		err := b.beside(ctx, s, phase{kind + quietAcks, several}, phase{kind + replayAcks, several}, r, func() (err error) {
			id, err = b.askReplay(ctx, s)
			return err
		}, func() (string, error) { return b.replayField(ctx, s, id, "status") })
		if err != nil {
			return err
		}
		return errors.Join(b.unchanged(ctx, s, id), b.assertStored(ctx, s))
	})
}

// beside measures posts alone, and again while what is begun is under way.
func (b *bench) beside(ctx context.Context, s *server, alone, during phase, r map[phase]figures, begin func() error, status func() (string, error)) error {
	if err := b.acks(ctx, s, alone, r); err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	if err := b.acks(ctx, s, during, r); err != nil {
		return err
	}
	under, err := status()
	if err == nil && under != "running" {
		b.say("%s: it was %s before the posts ended: have more to do, or post for less long", during.name, under)
	}
	return err
}

// tell has so many deliveries answered, as fast as that goes.
func (b *bench) tell(ctx context.Context, s *server, many int) error {
	var sent atomic.Int64
	_, _, err := s.counted(func() ([]time.Duration, time.Duration, error) {
		return clients(ctx, s.host, most, s.firsts(false), func(ctx context.Context, c *client, next func() delivery) ([]time.Duration, error) {
			var took []time.Duration
			for sent.Add(1) <= int64(many) && ctx.Err() == nil {
				at := time.Now()
				if err := c.send(next()); err != nil {
					return nil, err
				}
				took = append(took, time.Since(at))
			}
			return took, ctx.Err()
		})
	})()
	return err
}

func (b *bench) acks(ctx context.Context, s *server, p phase, r map[phase]figures) error {
	f, err := b.measure(s, s.counted(func() ([]time.Duration, time.Duration, error) {
		return openLoop(ctx, s.host, p.connections, s.firsts(false), ackRate, b.each)
	}))
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	r[p] = f
	return nil
}

// askReplay has the server replay everything, and returns the replay's id.
func (b *bench) askReplay(ctx context.Context, s *server) (string, error) {
	out, err := b.command(ctx, &s.installation, "replay", "--all", "--detach", "--json")
	if err != nil {
		return "", err
	}
	var asked struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(out, &asked); err != nil || strings.ContainsAny(asked.ID, `'"`) {
		return "", fmt.Errorf("replay printed %q, %w", out, err)
	}
	return asked.ID, nil
}

func (b *bench) replayField(ctx context.Context, s *server, id, column string) (string, error) {
	return b.query(ctx, s, "SELECT "+column+" FROM replays WHERE id = '"+id+"'")
}

// unchanged waits for a replay to end and holds it against what it must be: it met
// everything, and everything stood.
func (b *bench) unchanged(ctx context.Context, s *server, id string) error {
	err := b.until(ctx, replayWait, "replay", func() (bool, error) {
		status, err := b.replayField(ctx, s, id, "status")
		return status != "running", err
	})
	if err != nil {
		return err
	}
	got, err := b.replayField(ctx, s, id,
		"CASE WHEN status = 'done' AND looked = total AND looked = unchanged AND looked >= "+strconv.Itoa(b.replayed)+" THEN 'well' ELSE status || ' ' || looked || ' ' || unchanged END")
	if err == nil && got != "well" {
		err = fmt.Errorf("the replay ended as %s", got)
	}
	return err
}

// replayGoals ask a replay of everything to keep nobody waiting.
func replayGoals() []goal {
	var out []goal
	for _, kind := range []string{postgresKind, sqliteKind} {
		before, during := phase{kind + quietAcks, several}, phase{kind + replayAcks, several}
		out = append(out,
			slowestTwice("p99 of posts while everything is replayed, "+kind, " times without", during, before),
			goal{"the server's peak memory after replays, to before, " + kind, []phase{before, during}, fmt.Sprintf("at most %g", replayMemory), func(b *bench) (string, bool) {
				first := b.results[0][before].peak
				grown := float64(b.largest(during)) / float64(max(first, 1))
				return fmt.Sprintf("%.2f", grown), first > 0 && grown <= replayMemory
			}})
	}
	return out
}
