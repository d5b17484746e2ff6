// Package booking is the pure heart of Slotkeeper: what a booking is, how its
// state may change, and what a set of deliveries makes of what is stored. It
// does no I/O and reads no clock; ids are derived, never drawn.
//
// [Decide] is the way in: (what is stored, deliveries in order) to (net changes,
// verdicts). The rules R1-R14 that it follows stand in docs/how-it-works.md. An
// event passes through these files: decide.go (a set, a member, a turn), links.go
// (R5), sessions.go (R1, R9), single.go or seats.go (R3, R4, R6, or R10), places.go
// (R8, R11), conflicts.go (R12), verdict.go (R13), changes.go.
package booking
