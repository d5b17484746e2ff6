package intake

import (
	"context"
	"time"
)

const (
	// restFor is how many times as long as a set took is rested after it: whoever
	// posts finds the ledger free three times out of four, and most of the machine.
	// An import is held up by its provider's limits for longer than by that.
	restFor = 3
	// longestRest is for sets that are slow because others are at work: resting in
	// proportion, an import beside them would hardly get on.
	longestRest = 60 * time.Millisecond
)

// Rest leaves the machine to those who post, in proportion to how long a set took
// that nobody waits for: of an import, a comparison or a replay. It ends with ctx.
func Rest(ctx context.Context, took time.Duration) {
	timer := time.NewTimer(min(restFor*took, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
