package intake

import (
	"context"
	"errors"
	"fmt"

	"slotkeeper/booking"
)

// Replay has a set of stored receipts applied by apply, in the caller's turn, so that
// deliveries slip in before and after, and tells of it as of any other set. Within
// apply the set has a set's time. The error is booking.ErrUnavailable when the
// intake is stopping, or when nothing is known to be stored.
func (in *Intake) Replay(ctx context.Context, set []booking.Post, apply func(context.Context) ([]booking.Answer, error)) ([]booking.Answer, error) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	if in.closed {
		return nil, fmt.Errorf("intake: stopping: %w", booking.ErrUnavailable)
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), aloneTimeout)
	defer cancel()
	answers, err := apply(within)
	if err != nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w: %s", errTooSlow, err.Error())
	}
	if err != nil {
		return nil, err
	}
	in.committed(set, answers)
	return answers, nil
}
