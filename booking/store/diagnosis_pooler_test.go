package store_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"slotkeeper/booking/store"
	"slotkeeper/migrations/migratetest"
)

// pooler is a pooler in transaction mode: a client has one of its few sessions
// until its transaction ends, the one that was given back last. It plays what
// PgBouncer does.
type pooler struct {
	free chan struct{} // one for each session that is free
	mu   sync.Mutex
	last []*pgconn.HijackedConn
	// refused are parameters of a session's beginning that it does not take; the
	// rest it does not pass on.
	refused []string
}

func (p *pooler) take() *pgconn.HijackedConn {
	<-p.free
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.last[len(p.last)-1]
	p.last = p.last[:len(p.last)-1]
	return h
}

func (p *pooler) give(h *pgconn.HijackedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = append(p.last, h)
	p.free <- struct{}{}
}

// startPooler starts one before a database, and returns the URL to it.
func startPooler(t *testing.T, url string, sessions int, refused ...string) string {
	t.Helper()
	p := &pooler{free: make(chan struct{}, sessions), refused: refused}
	for range sessions {
		c, err := pgconn.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		p.give(h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			clients.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		clients.Wait()
		for _, h := range p.last {
			_ = h.Conn.Close()
		}
	})
	return "postgres://postgres@" + l.Addr().String() + "/x?sslmode=disable"
}

func (p *pooler) serve(c net.Conn) {
	client := pgproto3.NewBackend(c, c)
	if !p.greet(client) {
		_ = c.Close()
		return
	}
	var held *pgconn.HijackedConn
	defer func() {
		_ = c.Close()
		if held != nil {
			p.give(held)
		}
	}()
	for {
		message, err := client.Receive()
		if err != nil {
			return
		}
		if _, ends := message.(*pgproto3.Terminate); ends {
			return
		}
		if held == nil {
			held = p.take()
		}
		held.Frontend.Send(message)
		if err := held.Frontend.Flush(); err != nil {
			return
		}
		switch message.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
		default:
			continue // there is more to come
		}
		status, err := answer(held, client)
		if err != nil {
			return
		}
		if status == 'I' { // the transaction has ended
			p.give(held)
			held = nil
		}
	}
}

// answer passes on what the session says until it is ready for more.
func answer(held *pgconn.HijackedConn, client *pgproto3.Backend) (status byte, err error) {
	for {
		message, err := held.Frontend.Receive()
		if err != nil {
			return 0, err
		}
		client.Send(message)
		if ready, ok := message.(*pgproto3.ReadyForQuery); ok {
			return ready.TxStatus, client.Flush()
		}
	}
}

func (p *pooler) greet(client *pgproto3.Backend) bool {
	message, err := client.ReceiveStartupMessage()
	start, ok := message.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return false
	}
	for name := range start.Parameters {
		if slices.Contains(p.refused, name) {
			client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + name})
			_ = client.Flush()
			return false
		}
	}
	client.Send(&pgproto3.AuthenticationOk{})
	h := p.take()
	for name, value := range h.ParameterStatuses {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	p.give(h)
	client.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return client.Flush() == nil
}

// TestAPoolerInBetweenIsFound puts a pooler in transaction mode in between, that
// takes our settings or not, with sessions to spare or none.
func TestAPoolerInBetweenIsFound(t *testing.T) {
	t.Parallel()
	url := migratetest.Postgres(t)
	for name, c := range map[string]struct {
		sessions int
		refused  []string
	}{
		"one session":  {sessions: 1},
		"two sessions": {sessions: 2},
		"and refuses":  {sessions: 2, refused: store.Timeouts()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := diagnose(t, startPooler(t, url, c.sessions, c.refused...))
			p, err := d.Pooling(t.Context())
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if !p.Broken() || !p.Moved || (p.StartupRefused != "") != (c.refused != nil) {
				t.Errorf("found %+v", p)
			}
			if c.sessions == 1 && (!p.Shared || !p.LocksLost) {
				t.Errorf("with one session: %+v", p)
			}
			if c.sessions == 2 && !p.StatementsLost {
				t.Errorf("with two sessions: %+v", p)
			}
		})
	}
}
