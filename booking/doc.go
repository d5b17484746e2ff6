// Package booking is the pure heart of Slotkeeper: what a booking is, how its
// state may change, and what a set of deliveries makes of what is stored. It
// does no I/O and reads no clock; ids are derived, never drawn.
//
// [Decide] is the way in: (what is stored, deliveries in order) to (net changes,
// verdicts). The rules R1-R14 that it follows stand in docs/how-it-works.md;
// files are named after them: machine.go (states), seats.go (R10), links.go (R5),
// places.go (R8, R9, R11, R12), decide.go (R13).
package booking
