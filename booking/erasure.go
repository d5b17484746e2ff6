package booking

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
)

// CodeBodyRetired is the code of a receipt that nothing more can be done about,
// since its body is gone.
const CodeBodyRetired = "body_retired"

// ErrTracesLeft says that a person was erased, and that the embedded database's files
// still have traces in places that it does not use: erasing again removes them, when
// less is going on.
var ErrTracesLeft = errors.New("erased, but unused places of the database's files still have it: erase again when less is going on")

// Whom says who is to be erased: by one or the other.
type Whom struct {
	Email string
	Phone string
}

// A phone number has at least so many digits, and at most as many as E.164 has, with the
// zeros that stand for its +.
const (
	leastDigits = 7
	mostDigits  = 17
)

// Check refuses what is no e-mail address or phone number, with an *InvalidError that
// says what to give: a name that was typed there by mistake would be found nowhere, and
// whoever asked would take the person for erased.
func (w Whom) Check() error {
	switch email, phone := NormalizeEmail(w.Email), strings.TrimSpace(w.Phone); {
	case (email == "") == (phone == ""):
		return &InvalidError{Field: "person", Detail: "give one e-mail address, or one phone number with its country's code"}
	case email != "" && !isEmail(email):
		return &InvalidError{Field: "email", Detail: "is no e-mail address: give one like rani@example.com, or a phone number as one"}
	case phone != "" && !isPhone(phone):
		return &InvalidError{Field: "phone", Detail: "is no phone number: give one with its country's code, like +62 812 5550 1234, or an e-mail address as one"}
	}
	return nil
}

// isEmail tells whether a text has the form of one address. Which hosts and mailboxes
// there are is not for us to say: providers let people type what they like.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at == len(s)-1 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(",;<>", r)
	})
}

// isPhone takes digits with what people write between them.
func isPhone(s string) bool {
	digits := 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("+ -./()\u00A0\u2011", r):
			return false
		}
	}
	return digits >= leastDigits && digits <= mostDigits
}

// Erasure is what erasing a person removed, or would: of what was erased before already
// nothing is counted again.
type Erasure struct {
	Bookings    int64
	Attendances int64 // what is kept of seats beside their bookings
	Receipts    int64 // whose bodies, snapshots or waiting events tell of the person
	Effects     int64 // whose payloads do
	Forms       int64 // bookings whose intake forms and notes do
	// Emails says how many addresses the person was found with: by a phone number,
	// those of its bookings are erased too.
	Emails int64
	// Hosts are those of a list who are hosts now, and were left out.
	Hosts int64
}

// Nothing tells whether there was nothing left to remove.
func (e Erasure) Nothing() bool {
	return e.Bookings == 0 && e.Attendances == 0 && e.Receipts == 0 && e.Effects == 0 && e.Forms == 0
}

// ErasedDomain is where what stands in the place of an erased e-mail pretends to be: it
// can be nobody's (RFC 2606).
const ErasedDomain = "@erased.invalid"

// Erased tells whether the person's data was erased. What is left in the place of the
// e-mail tells the bookings of a meeting apart; it is nothing to show to people.
func (p Person) Erased() bool { return strings.HasSuffix(p.Email, ErasedDomain) }

// ErasedKind says what of a person a key stands for.
type ErasedKind string

// The kinds of keys.
const (
	ErasedEmail ErasedKind = "email"
	ErasedPhone ErasedKind = "phone"
)

// ErasedKey is what stays of somebody who was erased: an HMAC under the installation's
// pepper, of which nobody can be found who is not asked about.
type ErasedKey struct {
	Kind     ErasedKind
	Key      string
	ErasedAt time.Time
	// By are those on whose word it was done at first, as far as the log knows; more
	// than one where several people were erased again together.
	By []Actor
}

// Why people are erased again.
const (
	AgainRestored = "a backup was restored"
	AgainListed   = "a list of them was given"
)

// ErasedList are all who were erased, so that they can be erased again in a database
// that was restored from before. It fits no other installation.
type ErasedList struct {
	Installation string
	People       []ErasedKey
}

// By are those on whose word people of the list were erased at first, each once.
func (l ErasedList) By() []string {
	var out []string
	for _, p := range l.People {
		for _, a := range p.By {
			out = append(out, string(a))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
