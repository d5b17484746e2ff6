package booking

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Scope is how much of the bookings someone may see. The zero Scope is
// everything: commands and the process itself have it. Reads narrow by it, and
// what they found is masked by it, so that a page cannot forget to.
type Scope struct {
	// Limited narrows to Resources; without any, nothing is seen.
	Limited   bool
	Resources []uuid.UUID
	// HideNames hides invitees' names and e-mail addresses, and HidePhones their
	// phone numbers. What is hidden is not found by a search either.
	HideNames  bool
	HidePhones bool
}

// Nothing is the scope of whoever may see nothing.
func Nothing() Scope { return Scope{Limited: true, HideNames: true, HidePhones: true} }

// Hides tells whether something of an invitee is hidden.
func (s Scope) Hides() bool { return s.HideNames || s.HidePhones }

// Sees tells whether something about these resources is seen. What is about none
// is not seen by who is limited.
func (s Scope) Sees(resources ...uuid.UUID) bool {
	return !s.Limited || slices.ContainsFunc(resources, s.has)
}

func (s Scope) has(id uuid.UUID) bool { return slices.Contains(s.Resources, id) }

// visible are those of a list that are seen.
func (s Scope) visible(ids []uuid.UUID) []uuid.UUID {
	if !s.Limited {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return !s.has(id) })
}

// Booking is a booking as the scope shows it. Others are who may be named in its
// texts besides its invitee: providers name a group's other seats there, too.
func (s Scope) Booking(v View, others ...Person) View {
	m := s.masker(append(slices.Clip(others), v.Invitee)...)
	v.ResourceIDs = s.visible(v.ResourceIDs)
	v.ExternalID = m.id(v.ExternalID) // what a generic sender made of it
	v.Title, v.Location = m.text(v.Title), m.text(v.Location)
	v.Invitee = m.person(v.Invitee)
	return v
}

// Transition is a transition as the scope shows it; others as for Booking.
func (s Scope) Transition(v TransitionView, others ...Person) TransitionView {
	who := Person{Name: v.Invitee}
	m := s.masker(append(slices.Clip(others), who)...)
	v.ResourceIDs = s.visible(v.ResourceIDs)
	if s.Limited {
		v.Seq = 0 // its gaps would tell how much goes on at the other resources
	}
	v.Title, v.Invitee, v.Note = m.text(v.Title), m.person(who).Name, m.text(v.Note)
	return v
}

// Receipt is a receipt about such people as the scope shows it.
func (s Scope) Receipt(v ReceiptView, about ...Person) ReceiptView {
	v.EventKey = s.masker(about...).id(v.EventKey) // the sender's, or made of its ids
	return v
}

func (m masker) person(p Person) Person {
	if m.scope.HidePhones {
		p.Name, p.Phone = m.withoutNumbers(p.Name), ""
		if m.carries(p.Email) {
			p.Email = ""
		}
	}
	if m.scope.HideNames {
		p.Name, p.Email = initials(p.Name), ""
	}
	return p
}

// initials are the first letters of a name, at most three; "" of none.
func initials(name string) string {
	var out strings.Builder
	n := 0
	for _, word := range strings.Fields(name) {
		first, _ := utf8.DecodeRuneInString(word)
		if !unicode.IsLetter(first) || n == 3 {
			continue
		}
		out.WriteRune(unicode.ToUpper(first))
		out.WriteByte('.')
		n++
	}
	if n == 0 && name != "" {
		return hidden
	}
	return out.String()
}
