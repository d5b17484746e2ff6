package providers

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"slotkeeper/booking"
)

// What fields may hold. Identities and e-mails beyond their limit make the body
// unusable, for a cut one would be another's; texts for people are cut.
const (
	MaxAttendees = 1000
	MaxID        = 255
	maxEmail     = 320
	maxText      = 1000
	maxCapacity  = 1_000_000
)

// Fields reads a body's fields into the domain's terms and keeps the first
// fault, so that an adapter reads them all and asks once, at the end.
// The names that its methods take stand in the fault's text.
type Fields struct {
	fault *Fault
}

// Fault is the first thing that was wrong; nil when nothing was.
func (r *Fields) Fault() *Fault { return r.fault }

// Fail keeps a fault if it is the first.
func (r *Fields) Fail(f *Fault) {
	if r.fault == nil {
		r.fault = f
	}
}

// Time is an RFC 3339 time in UTC and microseconds; nil when the body does not
// say it ("" and null are silence: Cal.com sends "" for times it does not have).
func (r *Fields) Time(v Value, name string) *time.Time {
	if !v.Said() {
		return nil
	}
	text := v.Text()
	if text == "" && v.is(kindString) {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC().Truncate(time.Microsecond)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		r.Fail(Faultf(CodeTimeInvalid, "%s is not an RFC 3339 time with its offset, such as 2026-11-03T15:00:00Z", name))
		return nil
	}
	return &t
}

// NeedTime is Time of what the body must say.
func (r *Fields) NeedTime(v Value, name string) time.Time {
	t := r.Time(v, name)
	if t == nil {
		r.Fail(Faultf(CodeTimeMissing, "%s is missing; without it the event has no place in time", name))
		return time.Time{}
	}
	return *t
}

// Window is when a meeting begins and ends. One that need not be said may be
// half said: it then says nothing.
func (r *Fields) Window(start, end Value, startName, endName string, need bool) (from, to *time.Time) {
	from, to = r.Time(start, startName), r.Time(end, endName)
	switch {
	case from == nil && need:
		r.Fail(Faultf(CodeTimeMissing, "%s is missing; a booking needs its beginning and its end", startName))
	case to == nil && need:
		r.Fail(Faultf(CodeTimeMissing, "%s is missing; a booking needs its beginning and its end", endName))
	case from == nil || to == nil:
	case !to.After(*from):
		r.Fail(Faultf(CodeEndBeforeStart, "%s is not after %s", endName, startName))
	case to.Sub(*from) > booking.MaxLength:
		r.Fail(Faultf(CodeTooLong, "%s is more than %d days after %s; no booking may be longer", endName, int(booking.MaxLength/(24*time.Hour)), startName))
	default:
		return from, to
	}
	return nil, nil
}

// ID is an identity, or "" when the body has none.
func (r *Fields) ID(v Value, name string) string {
	return r.CheckID(strings.TrimSpace(v.Text()), name)
}

// NeedID is ID of what the body must have.
func (r *Fields) NeedID(v Value, name string) string {
	id := r.ID(v, name)
	if id == "" {
		r.Fail(Faultf(CodeIDMissing, "%s is missing; without it nobody can tell which booking this is about", name))
	}
	return id
}

// CheckID refuses an identity that cannot be kept as it is.
func (r *Fields) CheckID(id, name string) string {
	if strings.ContainsFunc(id, unicode.IsControl) {
		r.Fail(Faultf(CodeIDInvalid, "%s has control characters", name))
		return ""
	}
	if len(id) > MaxID {
		r.Fail(Faultf(CodeFieldTooLong, "%s is longer than %d bytes", name, MaxID))
		return ""
	}
	return id
}

// Email in the spelling that identities compare; "" when the body has none, or
// something else in its place (Cal.com writes "Email-less").
func (r *Fields) Email(v Value, name string) string {
	e := booking.NormalizeEmail(v.Text())
	if i := strings.Index(e, "@"); i < 1 || i == len(e)-1 || strings.ContainsFunc(e, unicode.IsSpace) {
		return ""
	}
	if len(e) > maxEmail {
		r.Fail(Faultf(CodeFieldTooLong, "%s is longer than %d bytes", name, maxEmail))
		return ""
	}
	return e
}

// Text for people, cut where it is too long; nil when the body has none.
func (r *Fields) Text(v Value) *string { return Plain(v.Text()) }

// Plain trims a text for people and cuts it where it is too long; nil when
// nothing is left, which says nothing.
func Plain(s string) *string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	if utf8.RuneCountInString(s) > maxText {
		s = string([]rune(s)[:maxText-1]) + "…"
	}
	return &s
}

// Zone is an IANA time zone; nil when the body has none.
func (r *Fields) Zone(v Value, name string) *string {
	z := strings.TrimSpace(v.Text())
	if z == "" {
		return nil
	}
	if !zoneExists(z) {
		r.Fail(Faultf(CodeZoneUnknown, "%s is not a time zone of the IANA database, such as Europe/Berlin", name))
		return nil
	}
	return &z
}

// Count is a number of seats; nil when the body gives none, or one that is not
// a whole number of at least 1.
func (r *Fields) Count(v Value, name string) *int {
	n, ok := v.Whole()
	if !ok || n < 1 {
		return nil
	}
	if n > maxCapacity {
		r.Fail(Faultf(CodeNumberTooLarge, "%s is larger than %d", name, maxCapacity))
		return nil
	}
	count := int(n)
	return &count
}

// Attendees gathers invitees as a body lists them: each e-mail once, where it
// stands first.
type Attendees struct {
	fields *Fields
	origin Origin
	name   string
	seen   map[string]struct{}
	list   []booking.Attendee
}

// Attendees begins a list; name stands in its faults.
func (r *Fields) Attendees(o Origin, name string) *Attendees {
	return &Attendees{fields: r, origin: o, name: name, seen: map[string]struct{}{}}
}

// Add lists an attendee and gives its key; it answers false once the list is
// longer than any that we keep.
func (a *Attendees) Add(at booking.Attendee) bool {
	if len(a.list) >= MaxAttendees {
		a.fields.Fail(Faultf(CodeTooManyAttendees, "%s lists more than %d attendees", a.name, MaxAttendees))
		return false
	}
	if at.Email != "" {
		if _, again := a.seen[at.Email]; again {
			return true
		}
		a.seen[at.Email] = struct{}{}
		at.Key = a.origin.EmailKey(at.Email)
	}
	a.list = append(a.list, at)
	return true
}

// List is all that were added, in order.
func (a *Attendees) List() []booking.Attendee { return a.list }
