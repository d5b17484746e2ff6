package web

import (
	"bytes"

	"slotkeeper/booking"
)

// straight shows the characters that turn a text's direction for what they are.
// Nothing that we write has any, so that on a finished page every one is from
// outside.
func straight(page []byte) []byte {
	for _, d := range booking.Directions() {
		if bytes.Contains(page, []byte(d)) {
			page = bytes.ReplaceAll(page, []byte(d), []byte("\uFFFD"))
		}
	}
	return page
}
