// Package calendar is the arithmetic of a calendar page: days and weeks of a
// time zone, the hours of a day, and where entries stand in it. It knows nothing
// of bookings and does no I/O. It also writes what it is given as an iCalendar feed
// ([ICS]).
//
// A day is the half-open span of instants that have its date in a zone. It is
// not always 24 hours long: clocks are put back and forward, by an hour or by
// half of one, sometimes at midnight, and one date never happened in Samoa. So
// everything here counts real time from the day's first instant: an hour that
// happens twice takes two rows, and one that does not happen takes none.
package calendar

import (
	// The zones are part of the program: a host without them would show UTC or
	// refuse to start.
	_ "time/tzdata"
)
