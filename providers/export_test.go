package providers

import (
	"net/http"
	"time"
)

// What the tests name although nothing else does.
var (
	Message = message
	Spent   = spent
)

// NewPacedClient is NewClient's client over another way to send.
func NewPacedClient(next http.RoundTripper, tempo Tempo, now func() time.Time) *http.Client {
	return &http.Client{Transport: newPaced(next, next, tempo, callTimeout, now)}
}

// Lanes is how many lanes a client knows.
func Lanes(c *http.Client) int {
	p, ok := c.Transport.(*paced)
	if !ok {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lanes)
}
