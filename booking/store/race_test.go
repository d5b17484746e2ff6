//go:build race

package store

// The race detector makes the embedded database some twenty times slower: with
// it fewer orders run, and `make test` runs them all without it, as it does what
// fills databases.
const RaceDetector = true
