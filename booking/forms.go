package booking

import "time"

// Forms are what a client told in a provider's intake forms, and the notes that the
// account's people keep about the booking: health data, as a rule. They are kept of
// connections for which somebody asked for it, sealed and apart from bookings, and no
// list, feed, export or webhook has them.
type Forms struct {
	Notes  string `json:"notes,omitempty"`
	Filled []Form `json:"forms,omitempty"`
	// Cut says that the provider has more than is kept.
	Cut bool `json:"cut,omitempty"`
}

// Form is one form with what was filled in.
type Form struct {
	Name   string      `json:"name,omitempty"`
	Fields []FormField `json:"fields,omitempty"`
}

// FormField is a question of a form and its answer, which may be empty.
type FormField struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Empty tells whether nothing was told.
func (f Forms) Empty() bool { return f.Notes == "" && len(f.Filled) == 0 }

// KeptForms are a booking's as they were told last.
type KeptForms struct {
	Forms
	ToldAt time.Time
}
