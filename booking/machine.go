package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looplab/fsm"
)

// Status of a booking.
type Status string

// New is the state of a booking that nobody told of yet; it is never stored.
// Canceled is final.
const (
	New        Status = ""
	Pending    Status = "pending"
	Active     Status = "active"
	Conflicted Status = "conflicted"
	Canceled   Status = "canceled"
)

// Statuses are all that a stored booking can have.
func Statuses() []Status { return []Status{Pending, Active, Conflicted, Canceled} }

// Action is an event of the state machine.
type Action string

// The machine's events (DESIGN §3). Release, AcceptOverlap and the Cancel of a
// predecessor are ours; the others come from providers.
const (
	Request       Action = "request"
	Create        Action = "create"
	Move          Action = "move"
	Cancel        Action = "cancel"
	Release       Action = "release"
	Details       Action = "details"
	NoShow        Action = "no_show"
	AcceptOverlap Action = "accept_overlap"
)

// Actions are all events of the machine.
func Actions() []Action {
	return []Action{Request, Create, Move, Cancel, Release, Details, NoShow, AcceptOverlap}
}

// rank breaks ties of time: request < create < details < move < no_show < cancel (R2).
func (a Action) rank() int {
	return 1 + slices.Index([]Action{Request, Create, Details, Move, NoShow, Cancel}, a)
}

// Guard is the condition under which a row of the table holds; it is decided
// before the machine is asked.
type Guard string

// The guards: whether the slot is held by another, and whether a moved booking
// is confirmed.
const (
	Free        Guard = ""
	Held        Guard = "held"
	Unconfirmed Guard = "unconfirmed"
)

type rule struct {
	action Action
	guard  Guard
	from   []Status
	to     Status // same: unchanged
}

const same Status = "same"

// rules is every way in which a booking's state may change (DESIGN §3).
// What is not listed is refused, recorded and logged.
var rules = []rule{
	{Request, Free, []Status{New, Pending}, Pending},
	{Create, Free, []Status{New, Pending, Active, Conflicted}, Active},
	{Create, Held, []Status{New, Pending, Active, Conflicted}, Conflicted},
	{Move, Free, []Status{New, Pending, Active, Conflicted}, Active},
	{Move, Held, []Status{New, Pending, Active, Conflicted}, Conflicted},
	{Move, Unconfirmed, []Status{New, Pending}, Pending},
	{Cancel, Free, []Status{New, Pending, Active, Conflicted, Canceled}, Canceled},
	{Release, Free, []Status{Conflicted}, Active},
	{AcceptOverlap, Free, []Status{Conflicted}, same},
	{Details, Free, []Status{Pending, Active, Conflicted, Canceled}, same},
	{NoShow, Free, []Status{Pending, Active, Conflicted, Canceled}, same},
}

func eventName(a Action, g Guard) string {
	if g == Free {
		return string(a)
	}
	return fmt.Sprintf("%s [%s]", a, g)
}

// initial is New's name inside the machine: a state needs one to be drawn.
const initial = "new"

func stateName(s Status) string {
	if s == New {
		return initial
	}
	return string(s)
}

func machineEvents() fsm.Events {
	var out fsm.Events
	for _, r := range rules {
		for _, from := range r.from {
			to := r.to
			if to == same {
				to = from
			}
			out = append(out, fsm.EventDesc{Name: eventName(r.action, r.guard), Src: []string{stateName(from)}, Dst: stateName(to)})
		}
	}
	return out
}

var events = machineEvents()

// IllegalTransitionError says that the table has no row for an event.
type IllegalTransitionError struct {
	From   Status
	Action Action
}

func (e *IllegalTransitionError) Error() string {
	return fmt.Sprintf("booking: no transition for %s from %s", e.Action, stateName(e.From))
}

// Next judges the state alone: the status that an event leads to from another,
// or *IllegalTransitionError. A machine is made for each decision: one that is
// kept could be left stuck (looplab/fsm#115), and making one is cheap.
func Next(from Status, a Action, g Guard) (Status, error) {
	m := fsm.NewFSM(stateName(from), events, nil)
	err := m.Event(context.Background(), eventName(a, g))
	var stays fsm.NoTransitionError
	if err != nil && !errors.As(err, &stays) {
		return from, &IllegalTransitionError{From: from, Action: a}
	}
	return Status(m.Current()), nil
}

// Allowed lists the events that the table has a row for from a state, for whoever
// asks what would have been possible.
func Allowed(from Status) []Action {
	var out []Action
	for _, r := range rules {
		if slices.Contains(r.from, from) && !slices.Contains(out, r.action) {
			out = append(out, r.action)
		}
	}
	return out
}

// Diagram draws the table as a Mermaid state diagram; its golden file stands in
// docs/.
func Diagram() (string, error) {
	return fsm.VisualizeWithType(fsm.NewFSM(initial, events, nil), fsm.MermaidStateDiagram)
}
