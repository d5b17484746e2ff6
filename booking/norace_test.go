//go:build !race

package booking_test

const raceDetector = false
