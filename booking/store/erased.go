package store

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/vault"
)

// erasedPeople is what is known of the people who were erased: HMACs, as of a
// number of erasures. The ledger's row tells with every set whether there were
// more, so that what is remembered here is never older than the set.
type erasedPeople struct {
	mu      sync.Mutex
	pepper  []byte
	version int64
	known   people
}

func (e *erasedPeople) set(pepper []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pepper = pepper
}

// people are those of some keys.
type people struct {
	pepper []byte
	emails map[string]bool
	phones map[string]bool
}

func (p people) email(email string) bool {
	return email != "" && p.emails[vault.EmailKey(p.pepper, email)]
}

func (p people) phone(phone string) bool {
	return phone != "" && len(p.phones) > 0 && p.phones[vault.PhoneKey(p.pepper, phone)]
}

// in tells whether a body has one of the e-mails or numbers in it, however it is
// written otherwise.
func (p people) in(body []byte) bool {
	for _, at := range []string{"%40", `\u0040`} {
		body = bytes.ReplaceAll(body, []byte(at), []byte("@"))
	}
	for i, b := range body {
		if b != '@' {
			continue
		}
		from, to := i, i+1
		for from > 0 && mailbox(body[from-1]) {
			from--
		}
		for to < len(body) && (letter(body[to]) || body[to] == '.' || body[to] == '-') {
			to++
		}
		if p.email(strings.Trim(string(body[from:to]), ".")) {
			return true
		}
	}
	return len(p.phones) > 0 && p.dialled(body)
}

// inForms tells whether forms have one of them in it.
func (p people) inForms(f *booking.Forms) bool {
	if f == nil {
		return false
	}
	text := []byte(f.Notes)
	for _, form := range f.Filled {
		text = append(append(text, '\n'), form.Name...)
		for _, field := range form.Fields {
			text = append(append(append(append(text, '\n'), field.Name...), '\n'), field.Value...)
		}
	}
	return p.in(text)
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}

func mailbox(b byte) bool { return letter(b) || strings.IndexByte("!#$%&'*+-./=?^_`{|}~", b) >= 0 }

// dialled looks for numbers: digits with what people write between them.
func (p people) dialled(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if !digit(body[i]) {
			continue
		}
		to := i
		for to < len(body) && (digit(body[to]) || strings.IndexByte(" ()-./+", body[to]) >= 0) {
			to++
		}
		if p.phone(string(body[i:to])) {
			return true
		}
		i = to
	}
	return false
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// forgetErased drops from a set, in place, what it tells of people who were erased.
// erasures is the ledger's count of them.
func (s *Store) forgetErased(tx *gorm.DB, erasures int64, set []booking.Post) error {
	if erasures == 0 {
		return nil
	}
	known, err := s.people.as(tx, erasures)
	if err != nil {
		return err
	}
	for i := range set {
		p := &set[i]
		if known.inForms(p.Forms) {
			p.Forms = nil
		}
		e, told := known.without(p.Event)
		if !told && !known.in(p.Body) && !known.in(p.Snapshot) {
			continue
		}
		p.Event, p.Erased, p.Snapshot, p.Forms = e, true, nil, nil
	}
	return nil
}

func (e *erasedPeople) as(tx *gorm.DB, erasures int64) (people, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.version == erasures {
		return e.known, nil
	}
	if e.pepper == nil {
		return people{}, errors.New("store: people were erased, and the installation was not opened: nobody can tell who")
	}
	var rows []erasedRow
	if err := tx.Table("erased_people").Find(&rows).Error; err != nil {
		return people{}, err
	}
	known := people{pepper: e.pepper, emails: map[string]bool{}, phones: map[string]bool{}}
	for _, r := range rows {
		if r.Kind == booking.ErasedPhone {
			known.phones[r.Key] = true
		} else {
			known.emails[r.Key] = true
		}
	}
	e.known, e.version = known, erasures
	return known, nil
}

// without is the event without the person, and whether it told of one. A title and
// a place may have the name in them, and are dropped with it. The key stays: it
// says which seat is meant, and nobody can be found by it.
func (p people) without(e *booking.Event) (*booking.Event, bool) {
	if e == nil || !slices.ContainsFunc(e.Attendees, p.is) {
		return e, false
	}
	out := *e
	out.Title, out.Location = nil, nil
	out.Attendees = slices.Clone(e.Attendees)
	for i, a := range out.Attendees {
		if p.is(a) {
			out.Attendees[i] = booking.Attendee{Key: a.Key, NoShow: a.NoShow}
			if a.Email != "" {
				out.Attendees[i].Email = vault.ErasedEmail(vault.EmailKey(p.pepper, a.Email))
			}
		}
	}
	return &out, true
}

func (p people) is(a booking.Attendee) bool {
	if p.emails[a.Key] || p.email(a.Email) {
		return true
	}
	return a.Phone != nil && p.phone(*a.Phone)
}
