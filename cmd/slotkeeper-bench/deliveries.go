package main

import (
	"bytes"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"slotkeeper/providers/generic"
)

const (
	people = 40
	// In the mixed load one delivery of five is a copy, and one of every eight
	// pairs of a create and its cancel books a half hour that is held: 5 % of all
	// deliveries are conflicts then.
	copyEvery = 5
	wallEvery = 8
	// remembered is how many of its own deliveries back a client's copy is of.
	remembered = 8
)

// The half hours that are held before the mixed load begins, one of each
// person, and where those that are nobody's begin.
var (
	wallStart = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	freeStart = time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC)
)

const (
	bookedAt   = "2026-11-01T09:00:00Z"
	canceledAt = "2026-11-01T10:00:00Z"
)

// account is where and how deliveries are posted.
type account struct {
	host   string
	path   string
	secret string
	last   *atomic.Int64 // the number of the booking that was made last
}

// delivery is a signed request as it goes over the wire, and the status that
// it must be answered with.
type delivery struct {
	request []byte
	want    string
}

// create books a half hour of one of the forty.
func (a account) create(number int64, person int, start time.Time, want string) delivery {
	return a.sign(fmt.Appendf(nil, `{"type":"invitee.created","occurred_at":"%s","booking":{"id":"b-%d","title":"First visit","location":"Room 4",`+
		`"resource":"person%d@harbourclinic.example","starts_at":"%s","ends_at":"%s","capacity":1,`+
		`"invitee":{"name":"Priya Raman","email":"priya.raman@mail.example","timezone":"Europe/London"}}}`,
		bookedAt, number, person, start.Format(time.RFC3339), start.Add(30*time.Minute).Format(time.RFC3339)), want)
}

func (a account) cancel(number int64) delivery {
	return a.sign(fmt.Appendf(nil, `{"type":"invitee.canceled","occurred_at":"%s","booking":{"id":"b-%d"}}`, canceledAt, number), "processed")
}

func (a account) sign(body []byte, want string) delivery {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", a.path, a.host, len(body))
	header := generic.New().Sign(body, a.secret, time.Time{}) // this form's signature has no time
	_ = header.Write(&b)                                      // a buffer takes all
	b.WriteString("\r\n")
	b.Write(body)
	return delivery{b.Bytes(), want}
}

// walls are creates of the half hours that the conflicts are about. They also
// make the forty known, as they are in an installation that runs.
func (a account) walls() []delivery {
	var all []delivery
	for person := range people {
		all = append(all, a.create(a.last.Add(1), person, wallStart, "processed"))
	}
	return all
}

// duplicate is what a copy is answered with.
const duplicate = "duplicate"

// source gives each client its own supply of deliveries.
type source func(client int) func() delivery

// firsts are deliveries that were never sent before, unless mixed: see sequence.
func (a account) firsts(mixed bool) source {
	return func(int) func() delivery { return (&sequence{account: a, mixed: mixed}).next }
}

// copiesOf sends a stock of deliveries over and over. Each of n clients begins
// elsewhere, as copies of one event rarely come at once.
func copiesOf(stock []delivery, n int) source {
	return func(client int) func() delivery {
		at := client * len(stock) / n
		return func() delivery {
			at++
			return stock[at%len(stock)]
		}
	}
}

// sequence is what one client sends, one delivery after the other: a create,
// its cancel, the next create.
type sequence struct {
	account
	mixed bool

	sent, pairs int
	standing    int64 // the booking to be canceled next, or 0
	recent      [remembered]delivery
	firsts      int
}

func (s *sequence) next() delivery {
	s.sent++
	if s.mixed && s.sent%copyEvery == 0 {
		d := s.recent[s.firsts%min(remembered, s.firsts)]
		d.want = duplicate
		return d
	}
	d := s.first()
	s.recent[s.firsts%remembered] = d
	s.firsts++
	return d
}

func (s *sequence) first() delivery {
	if number := s.standing; number != 0 {
		s.standing = 0
		return s.cancel(number)
	}
	number := s.last.Add(1)
	s.standing = number
	s.pairs++
	person := int(number % people)
	if s.mixed && s.pairs%wallEvery == 0 {
		return s.create(number, person, wallStart, "conflict")
	}
	return s.create(number, person, freeStart.Add(time.Duration(number/people)*30*time.Minute), "processed")
}

// answered tells whether the server said what it must.
func (d delivery) answered(status int, body []byte) error {
	if status == http.StatusOK && bytes.Contains(body, []byte(`"status":"`+d.want+`"`)) {
		return nil
	}
	return fmt.Errorf("answered %d %s, want %s", status, bytes.TrimSpace(body), d.want)
}
