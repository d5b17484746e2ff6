package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// bodyTimeout is how long the rest of a body may take once the server ends: a sender
// who is alive needs far less, and one who is not must not hold the end up.
const bodyTimeout = 2 * time.Second

// boundBodies cuts off, once ctx ends, whoever sends half a request and then nothing.
// A request that has come whole is left alone, however long its answer takes.
func boundBodies(ctx context.Context, next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &boundBody{ReadCloser: r.Body, deadline: http.NewResponseController(w).SetReadDeadline}
		// The deadline stays with what did not come whole: the server reads what is left
		// of it once more, before it closes the connection.
		stop := context.AfterFunc(ctx, func() { b.bound(now().Add(bodyTimeout)) })
		defer stop()
		r.Body = b
		next.ServeHTTP(w, r)
	})
}

type boundBody struct {
	io.ReadCloser
	deadline func(time.Time) error

	mu    sync.Mutex
	whole bool
	set   bool
}

// bound gives what is still to come until then.
func (b *boundBody) bound(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.whole {
		b.set = b.deadline(until) == nil
	}
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.over()
	}
	return n, err
}

// over takes the deadline back: the server reads on to notice whether the client
// leaves, and would take a deadline for that.
func (b *boundBody) over() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = true
	if b.set {
		b.set = false
		_ = b.deadline(time.Time{}) // the connection has ended then
	}
}
