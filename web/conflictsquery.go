package web

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// What the page of conflicts shows: those that need a person, or those whose
// overlap was accepted.
const (
	showOpen     = "open"
	showAccepted = "accepted"
)

// conflictsQuery is what the page of conflicts shows, all of it in the query
// string.
type conflictsQuery struct {
	Show     string
	Resource uuid.UUID
	Provider string
	Booking  uuid.UUID // only this one
	Past     bool      // those that are over too
	// Over begins at those that are over, which follow the others.
	Over   bool
	Cursor string
}

func readConflictsQuery(q url.Values) conflictsQuery {
	out := conflictsQuery{Show: showOpen, Provider: q.Get("provider"), Past: q.Get("past") != "", Over: q.Get("over") != "", Cursor: q.Get("cursor")}
	if q.Get("show") == showAccepted {
		out.Show = showAccepted
	}
	out.Resource, _ = uuid.Parse(q.Get("resource")) // none when it is no id
	out.Booking, _ = uuid.Parse(q.Get("booking"))
	return out
}

func (q conflictsQuery) values() url.Values {
	v := url.Values{}
	if q.Show != showOpen {
		v.Set("show", q.Show)
	}
	if q.Resource != uuid.Nil {
		v.Set("resource", q.Resource.String())
	}
	if q.Provider != "" {
		v.Set("provider", q.Provider)
	}
	if q.Booking != uuid.Nil {
		v.Set("booking", q.Booking.String())
	}
	if q.Past {
		v.Set("past", "1")
	}
	if q.Over {
		v.Set("over", "1")
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// Link is the address of what is shown.
func (q conflictsQuery) Link() string { return q.at("/conflicts") }

// at is a path with the query, so that whatever is done there leads back.
func (q conflictsQuery) at(path string) string {
	if v := q.values(); len(v) > 0 {
		return path + "?" + v.Encode()
	}
	return path
}

// From is a path that leads back to what is shown.
func (q conflictsQuery) From(path string) string {
	return path + "?" + url.Values{"conflicts": {q.values().Encode()}}.Encode()
}

// done is what is shown, with what was just done.
func (q conflictsQuery) done(what string) string {
	v := q.values()
	v.Set("done", what)
	return "/conflicts?" + v.Encode()
}

// cameFromConflicts is the page of conflicts that a query says to lead back to.
// Only what that page understands is taken over, so that no link leads elsewhere.
func cameFromConflicts(q url.Values) (conflictsQuery, bool) {
	if !q.Has("conflicts") {
		return conflictsQuery{}, false
	}
	v, err := url.ParseQuery(q.Get("conflicts"))
	if err != nil {
		return conflictsQuery{Show: showOpen}, true
	}
	return readConflictsQuery(v), true
}

// Filtered tells whether some are hidden that are not hidden by default.
func (q conflictsQuery) Filtered() bool {
	return q.Resource != uuid.Nil || q.Provider != "" || q.Booking != uuid.Nil
}

// First is the list from its beginning.
func (q conflictsQuery) First() string { return q.first().Link() }

func (q conflictsQuery) first() conflictsQuery { q.Over, q.Cursor = false, ""; return q }

// Next is the list from a cursor on.
func (q conflictsQuery) Next(cursor string) string { q.Cursor = cursor; return q.Link() }

// All is the list without filters.
func (q conflictsQuery) All() string {
	return conflictsQuery{Show: q.Show, Past: q.Past}.Link()
}

// As is the list of the others.
func (q conflictsQuery) As(show string) string { q = q.first(); q.Show = show; return q.Link() }

// filter is of those that are not over, or of those that have begun.
func (q conflictsQuery) filter(now time.Time) booking.Filter {
	f := booking.Filter{Provider: q.Provider, OpenConflicts: q.Show == showOpen, AcceptedOverlaps: q.Show == showAccepted}
	if q.Over {
		f.To = &now
	} else {
		f.From = &now
	}
	if q.Resource != uuid.Nil {
		f.ResourceID = &q.Resource
	}
	if q.Booking != uuid.Nil {
		f.BookingID = &q.Booking
	}
	return f
}
