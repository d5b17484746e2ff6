package account

import (
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Progress is how far a run has come, for people who wait for it.
type Progress struct {
	// Until is where the reading stands: what begins before it was read. Zero when
	// that is not known.
	Until time.Time
	// Canceled says that what stands was read, and that Until is about the canceled
	// ones.
	Canceled bool
	// Listed says that all bookings were read; the unavailable times follow.
	Listed bool
	// Looking says that all bookings were read, and that those are asked for one by one
	// that stand here and were not among them.
	Looking bool
	// Percent of the window that was read, 0 to 100; -1 when that is not known.
	Percent int
}

// ProgressOf reads how far a run has come from where its next page begins. The
// window is long and mostly empty at its far end, so that a run may jump there.
func ProgressOf(p providers.Provider, r booking.Run) Progress {
	if r.Status == booking.RunDone {
		return Progress{Percent: -1}
	}
	if r.Cursor == blocksNext {
		return Progress{Until: r.To, Listed: true, Percent: 100}
	}
	if strings.HasPrefix(r.Cursor, lookedTo) {
		return Progress{Until: r.To, Looking: true, Percent: 100}
	}
	gauge, ok := p.(providers.Gauge)
	if !ok || r.Cursor == "" {
		return Progress{Percent: -1}
	}
	reached := gauge.Reached(r.Cursor)
	out := Progress{Until: reached.Until, Canceled: reached.Canceled, Percent: -1}
	whole := r.To.Sub(r.From)
	if out.Until.IsZero() || whole <= 0 {
		return out
	}
	// A provider may list by its own days, which begin before the window.
	out.Until = earliestOf(latestOf(out.Until, r.From), r.To)
	out.Percent = int(100 * out.Until.Sub(r.From) / whole)
	return out
}

func earliestOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latestOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
