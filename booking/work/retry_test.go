package work

import (
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"

	"slotkeeper/providers"
)

// Each try waits about twice as long as the one before, up to half an hour, and a
// test's tempo shortens all alike.
func TestRetriesWaitEverLonger(t *testing.T) {
	for _, tempo := range []providers.Tempo{1, 60} {
		for failures, want := range []time.Duration{
			5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second,
			320 * time.Second, 640 * time.Second, 1280 * time.Second, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute,
		} {
			job := &rivertype.JobRow{Errors: make([]rivertype.AttemptError, failures)}
			got := time.Until(retryPolicy{tempo}.NextRetry(job))
			// A quarter less or more, and a moment for the machine.
			low, high := tempo.Wait(want*3/4)-time.Second, tempo.Wait(want*5/4)
			if got < low || got > high {
				t.Errorf("after %d failures at tempo %d: %s, want %s to %s", failures, tempo, got, low, high)
			}
		}
	}
}
