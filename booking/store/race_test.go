//go:build race

package store_test

// The race detector makes the embedded database some twenty times slower: with
// it fewer orders run, and `make test` runs them all without it.
const raceDetector = true
