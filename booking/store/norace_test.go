//go:build !race

package store

const RaceDetector = false
