//go:build race

package booking_test

// With the race detector fewer orders run, and `make test` runs them all without
// it.
const raceDetector = true
