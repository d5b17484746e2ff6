package providers

import "time"

// Tempo is how many times faster than a clock on the wall time passes for calls
// to providers: limits, timeouts, pauses and back-offs, and the stand-ins of the
// tests, all alike. Tests set it so that a minute may take a second; below 2 it is
// real time. Durations that adapters name (LaterError.After) are never scaled:
// whoever waits scales, once.
type Tempo int

func (t Tempo) factor() int { return max(int(t), 1) }

// Wait is how long a duration takes on the wall.
func (t Tempo) Wait(d time.Duration) time.Duration { return d / time.Duration(t.factor()) }

// Passed is how much time has passed for us when d has passed on the wall.
func (t Tempo) Passed(d time.Duration) time.Duration { return d * time.Duration(t.factor()) }

// Rate is how often on the wall something happens that happens perSecond.
func (t Tempo) Rate(perSecond float64) float64 { return perSecond * float64(t.factor()) }
