package apitest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"slotkeeper/providers"
)

// Post is a signed webhook, to be sent once, more than once, or never.
type Post struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Sender posts webhooks as a provider does.
type Sender struct {
	Client *http.Client
	Tempo  providers.Tempo
	// Again tells whether a post with that answer is tried again; status 0 is none
	// at all.
	Again func(status int) bool
	// For is how long it is tried.
	For time.Duration
}

// The pauses between two tries: they double.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// Send posts one after the other, each until it is taken, refused for good, or
// given up, and says with which statuses; 0 is none at all.
func (s Sender) Send(ctx context.Context, posts ...Post) ([]int, error) {
	out := make([]int, 0, len(posts))
	for _, p := range posts {
		status, err := s.send(ctx, p)
		if err != nil {
			return out, err
		}
		out = append(out, status)
	}
	return out, nil
}

func (s Sender) send(ctx context.Context, p Post) (int, error) {
	var waited time.Duration
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		status := s.once(ctx, p)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if !s.Again(status) || waited >= s.For {
			return status, nil
		}
		timer := time.NewTimer(s.Tempo.Wait(pause))
		select {
		case <-timer.C:
			waited += pause
		case <-ctx.Done():
			timer.Stop()
			return 0, context.Cause(ctx)
		}
	}
}

// once gives the answer's status; 0 when there was none that could be read.
func (s Sender) once(ctx context.Context, p Post) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return 0
	}
	r.Header = p.Header.Clone()
	answer, err := s.Client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)); err != nil {
		return 0
	}
	return answer.StatusCode
}
