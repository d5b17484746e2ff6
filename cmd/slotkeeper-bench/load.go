package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// client is one connection to the server that stays open. It writes bytes made
// before and reads answers, and does no more: what a load generator takes of the
// machine, the server lacks.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

// answerTimeout is far above any limit of the server's: nobody waits for ever.
const answerTimeout = 30 * time.Second

func dial(ctx context.Context, address string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReader(conn)}, nil
}

func (c *client) send(d delivery) error {
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(d.request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return d.answered(resp.StatusCode, body)
}

// prepare sends deliveries one after the other, before anything is measured.
func prepare(ctx context.Context, a account, all []delivery) error {
	c, err := dial(ctx, a.host)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	for _, d := range all {
		if err := c.send(d); err != nil {
			return err
		}
	}
	return nil
}

// clients opens n connections and runs one on each, with what it is to send; it
// returns what they measured, and how long the whole took. One wrong answer
// fails all: a rate of wrong answers says nothing.
func clients(ctx context.Context, host string, n int, from source, one func(ctx context.Context, c *client, next func() delivery) ([]time.Duration, error)) ([]time.Duration, time.Duration, error) {
	open := make([]*client, 0, n)
	defer func() {
		for _, c := range open {
			_ = c.conn.Close()
		}
	}()
	for range n {
		c, err := dial(ctx, host)
		if err != nil {
			return nil, 0, err
		}
		open = append(open, c)
	}
	var mu sync.Mutex
	var all []time.Duration
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range open {
		group.Go(func() error {
			latencies, err := one(ctx, c, from(i))
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, latencies...)
			return nil
		})
	}
	err := group.Wait()
	return all, time.Since(began), err
}

// closedLoop has each of n clients send its next delivery as soon as the one
// before is answered.
func closedLoop(ctx context.Context, host string, n int, from source, each time.Duration) ([]time.Duration, time.Duration, error) {
	until := time.Now().Add(each)
	return clients(ctx, host, n, from, func(ctx context.Context, c *client, next func() delivery) ([]time.Duration, error) {
		var latencies []time.Duration
		for at := time.Now(); at.Before(until) && ctx.Err() == nil; {
			if err := c.send(next()); err != nil {
				return nil, err
			}
			now := time.Now()
			latencies = append(latencies, now.Sub(at))
			at = now
		}
		return latencies, ctx.Err()
	})
}

// openLoop sends at a rate of its own, whatever the answers: n clients take the
// deliveries as they fall due. Latency counts from when a delivery was due, so
// that a server that stalls is blamed for all whom it kept waiting.
func openLoop(ctx context.Context, host string, n int, from source, rate float64, each time.Duration) ([]time.Duration, time.Duration, error) {
	if rate <= 0 {
		return nil, 0, fmt.Errorf("an open loop at %.1f a second", rate)
	}
	apart := time.Duration(float64(time.Second) / rate)
	began := time.Now()
	var due atomic.Int64
	return clients(ctx, host, n, from, func(ctx context.Context, c *client, next func() delivery) ([]time.Duration, error) {
		var latencies []time.Duration
		for ctx.Err() == nil {
			after := time.Duration(due.Add(1)) * apart
			if after > each {
				break
			}
			d := next()
			time.Sleep(time.Until(began.Add(after)))
			if err := c.send(d); err != nil {
				return nil, err
			}
			latencies = append(latencies, time.Since(began)-after)
		}
		return latencies, ctx.Err()
	})
}
