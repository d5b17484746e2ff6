package booking

import (
	"time"

	"github.com/google/uuid"
)

// What comes and goes is one alert. It is over once nothing was wrong for calmFor;
// what begins again within ReturnsWithin of that is the alert from before, and is over
// only after calmReturned. However something flaps, nobody is told more than twice an
// hour of it. What a person ends is over at once, the first time.
const (
	calmFor      = 10 * time.Minute
	calmReturned = time.Hour
	// ReturnsWithin is how long an alert that is over is taken up again.
	ReturnsWithin = time.Hour
)

// Calm is how long nothing may be wrong until the alert is over.
func (a Alert) Calm() time.Duration {
	switch {
	case a.Returns > 0:
		return calmReturned
	case a.Kind == TroubleConflict, a.Kind == TroubleConflicts, a.Kind == TroubleEndpoint && a.Detail != "":
		return 0
	}
	return calmFor
}

// troubleKey is what there is one open alert of.
type troubleKey struct {
	kind    TroubleKind
	subject string
}

// StepAlerts compares the alerts that last, and those that were over within
// ReturnsWithin, with the troubles of now. What still is stays one alert, whatever
// became of its numbers. Of alerts to which nothing happened there is no step.
func StepAlerts(known []Alert, troubles []Trouble, now time.Time) []AlertStep {
	before := make(map[troubleKey]Alert, len(known))
	for _, a := range known {
		k := troubleKey{a.Kind, a.Subject}
		if b, met := before[k]; !met || b.ClosedAt != nil && (a.ClosedAt == nil || a.ClosedAt.After(*b.ClosedAt)) {
			before[k] = a
		}
	}
	var out []AlertStep
	wrong := make(map[troubleKey]bool, len(troubles))
	for _, t := range troubles {
		k := troubleKey{t.Kind, t.Subject}
		wrong[k] = true
		a, met := before[k]
		if step, happened := stepWrong(a, met, t, now); happened {
			out = append(out, step)
		}
	}
	for _, a := range known {
		if a.ClosedAt != nil || wrong[troubleKey{a.Kind, a.Subject}] {
			continue
		}
		if step, happened := stepGone(a, now); happened {
			out = append(out, step)
		}
	}
	return out
}

// stepWrong is what becomes of an alert, if there is one, of what is wrong now.
func stepWrong(a Alert, met bool, t Trouble, now time.Time) (AlertStep, bool) {
	was := a
	back := met && a.GoneAt != nil
	if t.Since.IsZero() { // nobody knows: since it was found
		t.Since = now
		if met && !back {
			t.Since = a.Since
		}
	}
	level := t.Level(now)
	step := AlertStep{Resources: t.Resources}
	switch {
	case !met:
		a = Alert{ID: uuid.Must(uuid.NewV7()), Kind: t.Kind, Subject: t.Subject, Level: level, Since: t.Since, OpenedAt: now}
		step.Event = AlertOpened
	case a.ClosedAt != nil:
		// Whoever saw to it is done with it.
		a.Returns, a.Level, a.ClosedAt, a.AcknowledgedBy, a.AcknowledgedAt = a.Returns+1, level, nil, "", nil
		step.Event = AlertReturned
	case level != a.Level && level.Reaches(a.Level):
		a.Level = level
		step.Event = AlertWorse
	}
	if back {
		a.GoneAt, a.Since = nil, t.Since
	}
	if step.Event == "" && !back && was.Detail == t.Detail && was.Count == t.Count {
		return step, false
	}
	a.Detail, a.Count = t.Detail, t.Count
	step.Alert = a
	return step, true
}

// stepGone is what becomes of an alert that lasts and of which nothing is wrong.
func stepGone(a Alert, now time.Time) (AlertStep, bool) {
	gone := a.GoneAt == nil
	if gone {
		a.GoneAt = &now
	}
	if now.Sub(*a.GoneAt) < a.Calm() {
		return AlertStep{Alert: a}, gone
	}
	a.ClosedAt = &now
	return AlertStep{Alert: a, Event: AlertRecovered}, true
}
