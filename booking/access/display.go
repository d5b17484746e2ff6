package access

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Appearance is whether pages are light or dark.
type Appearance string

// The appearances.
const (
	AppearanceSystem Appearance = "" // as the system of the browser is
	AppearanceLight  Appearance = "light"
	AppearanceDark   Appearance = "dark"
)

// Appearances are all of them.
func Appearances() []Appearance {
	return []Appearance{AppearanceSystem, AppearanceLight, AppearanceDark}
}

// FirstWeekdays are the days that a week may begin with.
func FirstWeekdays() []time.Weekday { return []time.Weekday{time.Monday, time.Saturday, time.Sunday} }

// Display is how a user likes the pages.
type Display struct {
	Language string // of the message files; "" is the browser's choice
	Timezone string // IANA; "" is the installation's
	// FirstWeekday is the day that the calendar's weeks begin with.
	FirstWeekday time.Weekday
	// ShortcutsOff takes the single keys away: whoever speaks to a computer would
	// press them by every word.
	ShortcutsOff bool
	// Sound plays one when a conflict comes.
	Sound      bool
	Appearance Appearance
}

// NewDisplay is what a new user begins with.
func NewDisplay() Display { return Display{FirstWeekday: time.Monday} }

func (d Display) check() error {
	if d.Timezone != "" {
		if _, err := time.LoadLocation(d.Timezone); err != nil || d.Timezone == "Local" {
			return &booking.InvalidError{Field: "timezone", Detail: "that time zone does not exist"}
		}
	}
	if len(d.Language) > 35 { // the longest tag that BCP 47 asks programs to keep
		return &booking.InvalidError{Field: "language", Detail: "that is no language"}
	}
	if !slices.Contains(FirstWeekdays(), d.FirstWeekday) {
		return &booking.InvalidError{Field: "first_weekday", Detail: "a week begins on Monday, Saturday or Sunday"}
	}
	if !slices.Contains(Appearances(), d.Appearance) {
		return &booking.InvalidError{Field: "appearance", Detail: "an appearance is light, dark, or the system's"}
	}
	return nil
}

// SetDisplay keeps how a user likes the pages.
func (a *Accounts) SetDisplay(ctx context.Context, by By, id uuid.UUID, d Display) error {
	if err := d.check(); err != nil {
		return err
	}
	return a.changeUser(ctx, by, DidSetDisplay, nil, UserChange{ID: id, Display: &d})
}
