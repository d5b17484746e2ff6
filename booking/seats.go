package booking

import (
	"cmp"
	"slices"
	"time"
)

// R10: a Cal.com uid may stand for several attendees' bookings, and nothing says
// so but a number of seats that some body may bring late. So what each body says
// is kept by listed e-mail, and the uid's bookings follow from that.

// listed are the attendees of a shared event; a body that lists nobody counts
// for the uid itself, under the empty key.
func listed(e *Event) []Attendee {
	if len(e.Attendees) == 0 {
		return []Attendee{{}}
	}
	return e.Attendees
}

// attend keeps what a shared event says of each listed attendee.
func (t *turn) attend() {
	e := t.event
	all := listed(e)
	for _, person := range all {
		a := t.attendance(Ref{e.Source, e.ExternalID}, person.Key)
		switch e.Action() {
		case Request:
			a.Request = newest(a.Request, t.clock)
		case Create:
			a.Create = newest(a.Create, t.clock)
		case Move:
			if e.Confirmed {
				a.ConfirmMove = newest(a.ConfirmMove, t.clock)
			} else {
				a.Move = newest(a.Move, t.clock)
			}
		case Cancel:
			a.close(t.clock, e.Reason)
		case Details, NoShow, Release, AcceptOverlap:
		}
		t.foldText(&a.Title, e.Title)
		t.foldText(&a.Location, e.Location)
		t.foldInvitee(&a.Invitee, &a.NoShow, &a.NoShowAt, person)
		a.BookedAt = earliest(a.BookedAt, e.BookedAt)
		a.Alone = a.Alone || (len(all) == 1 && e.Action() != NoShow)
		t.attendances.put(AttendanceKey{Ref{e.Source, e.ExternalID}, person.Key}, a)
	}
}

func (w *work) attendance(ref Ref, key string) Attendance {
	k := AttendanceKey{ref, key}
	w.index.attend(k)
	if a, ok := w.attendances.get(k); ok {
		return a
	}
	return Attendance{Source: ref.Source, ExternalID: ref.ExternalID, Key: key}
}

func newest(a, b Clock) Clock {
	if b.After(a) {
		return b
	}
	return a
}

func (a *Attendance) close(at Clock, reason Reason) {
	if at.After(a.Closing) {
		a.Closing, a.CloseReason = at, reason
	}
	if a.Strongest == NoReason || reason.strength() > a.Strongest.strength() {
		a.Strongest = reason
	}
}

// opened is the newest request or create: what a seat was last taken by.
func (a *Attendance) opened() Clock { return newest(a.Create, a.Request) }

// said tells whether any body listed the e-mail as an attendee's.
func (a *Attendance) said() bool {
	return a.opened().Said() || a.ConfirmMove.Said() || a.Move.Said() || a.Closing.Said()
}

// wanted is the state that a booking should have by what was said: New for
// none, Active for whatever the provider confirmed.
type wanted struct {
	status Status
	reason Reason
}

// seat is the state that a listed e-mail's seat should have.
func (a *Attendance) seat() wanted {
	switch {
	case !a.said():
		return wanted{status: New}
	case a.Closing.Said() && !a.opened().After(a.Closing):
		return wanted{Canceled, a.CloseReason}
	case newest(a.Create, a.ConfirmMove).After(a.Closing):
		return wanted{status: Active}
	}
	return wanted{status: Pending}
}

// followSeats lets the bookings of the event's uid follow from what is kept.
func (t *turn) followSeats() {
	e := t.event
	ref := Ref{e.Source, e.ExternalID}
	if e.Action() != NoShow {
		t.list(ref)
	}
	t.follow(ref, e)
}

// list keeps the newest list of attendees of a uid, from which its invitee is
// read while it is not seated.
func (t *turn) list(ref Ref) {
	keys := make([]string, 0, len(t.event.Attendees))
	for _, a := range t.event.Attendees {
		keys = append(keys, a.Key)
	}
	a := t.attendance(ref, roster)
	if len(keys) > 0 && t.clock.After(a.ListedAt) {
		a.Listed, a.ListedAt = keys, t.clock
	}
	t.attendances.put(AttendanceKey{ref, roster}, a)
}

// roster is the key under which the newest list itself is kept; no HMAC is "*".
const roster = "*"

// follow makes the bookings of a shared uid what they should be. e is the event
// about this uid, or nil when another uid's event closed it by a link.
func (t *turn) follow(ref Ref, e *Event) {
	s := t.session(ref)
	t.touch(s.ID)
	if s.Seated {
		t.adopt(ref)
		t.followSeated(ref, &s, e)
	} else {
		t.followUnseated(ref, &s, e)
	}
}

// isHost tells whether a listed attendee is one of the meeting's hosts.
func isHost(s *Session, a *Attendance) bool {
	return !a.Alone && a.Invitee.Email.Value != "" && slices.Contains(s.HostEmails, a.Invitee.Email.Value)
}

// invitee is the attendee whose booking a uid is while it is not seated: the
// first of the newest list who is no host.
func (w *work) invitee(ref Ref, s *Session) Attendance {
	list, _ := w.attendances.get(AttendanceKey{ref, roster})
	for _, key := range list.Listed {
		if a := w.attendance(ref, key); !isHost(s, &a) {
			return a
		}
	}
	if len(list.Listed) > 0 {
		return w.attendance(ref, list.Listed[0])
	}
	return Attendance{}
}

// kept are the attendances of a uid, without the list itself.
func (w *work) kept(ref Ref) []Attendance {
	var out []Attendance
	for _, k := range w.index.attendance[ref] {
		if a, ok := w.attendances.get(k); ok && k.Key != roster {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Attendance) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// followUnseated: one booking, whoever is listed first; any closing closes it
// for good.
func (t *turn) followUnseated(ref Ref, s *Session, e *Event) {
	want := wanted{status: New}
	var title, location Text
	var booked *time.Time
	b, existed := t.row(ref)
	before := b
	if !existed {
		b = t.open(ref, "")
	}
	for _, a := range t.kept(ref) {
		if !a.said() {
			continue
		}
		seat := a.seat()
		if a.Closing.Said() {
			seat = wanted{Canceled, a.Strongest}
		}
		want = stronger(want, seat)
		title, location = newestText(title, a.Title), newestText(location, a.Location)
		booked = earliest(booked, a.BookedAt)
	}
	if want.status == New {
		return
	}
	who := t.invitee(ref, s)
	b.Title, b.Location, b.BookedAt = title, location, booked
	b.Invitee, b.NoShow, b.NoShowAt = who.Invitee, who.NoShow, who.NoShowAt
	b.SessionID = s.ID
	t.become(b, before, want, e)
}

// stronger of two wants of one booking: canceled, then active, then pending.
func stronger(a, b wanted) wanted {
	order := []Status{New, Pending, Active, Canceled}
	x, y := slices.Index(order, a.status), slices.Index(order, b.status)
	if y > x || (y == x && b.reason.strength() > a.reason.strength()) {
		return b
	}
	return a
}

func newestText(a, b Text) Text {
	if b.At.After(a.At) {
		return b
	}
	return a
}

// adopt gives the booking of a uid that turned out to be seated to the attendee
// whose it was until now.
func (t *turn) adopt(ref Ref) {
	b, ok := t.row(ref)
	if !ok || b.Invitee.Email.Value == "" {
		return
	}
	kept := t.kept(ref)
	i := slices.IndexFunc(kept, func(a Attendance) bool { return a.Invitee.Email.Value == b.Invitee.Email.Value })
	if i < 0 || kept[i].Key == "" || len(t.seatRows(ref, kept[i].Key)) > 0 {
		return
	}
	b.Seat = kept[i].Key
	t.save(b)
}

// seat is the current booking of a listed e-mail: of a uid that is not seated
// the one booking, if it is that e-mail's.
func (w *work) seat(ref Ref, key string) (Booking, bool) {
	s, ok := w.sessions.get(SessionID(ref.Source, ref.ExternalID))
	if !ok || !s.Seated {
		b, ok := w.row(ref)
		return b, ok && w.invitee(ref, &s).Key == key
	}
	var current Booking
	found := false
	for _, b := range w.seatRows(ref, key) {
		if !found || later(b, current) {
			current, found = b, true
		}
	}
	return current, found
}

// later tells which of a seat's rows is current: the one that is open, else the
// one opened last.
func later(a, b Booking) bool {
	if (a.Status == Canceled) != (b.Status == Canceled) {
		return b.Status == Canceled
	}
	if !a.OpenedAt.Equal(b.OpenedAt) {
		return a.OpenedAt.After(b.OpenedAt)
	}
	return a.ID.String() > b.ID.String()
}

// followSeated: one booking per listed e-mail. No row is reopened or lowered:
// where that would be needed, it is closed and a new one takes its place.
func (t *turn) followSeated(ref Ref, s *Session, e *Event) {
	all, _ := t.attendances.get(AttendanceKey{ref, ""})
	named := map[string]*Event{}
	if e != nil {
		for _, person := range listed(e) {
			named[person.Key] = e
		}
	}
	for _, a := range t.kept(ref) {
		about := named[a.Key]
		// A closing that lists nobody is everybody's.
		if a.said() && all.Closing.Said() {
			a.close(all.Closing, all.CloseReason)
		}
		want := a.seat()
		if a.Key == "" && want.status == Canceled {
			want.status = New
		}
		if isHost(s, &a) && want.status != New {
			want = wanted{Canceled, ReasonRemoved}
		}
		before, existed := t.seat(ref, a.Key)
		switch {
		case want.status == New:
			continue
		case !existed && isHost(s, &a):
			continue
		case !existed:
			t.become(t.filled(t.open(ref, a.Key), &a, s), Booking{}, want, about)
		case before.Status == Canceled && want.status != Canceled:
			t.become(t.filled(t.reopen(ref, &a), &a, s), Booking{}, want, about)
		case before.confirmed() && want.status == Pending:
			// Without a closing, it was another's confirmation that made the uid's
			// one booking active before the number of seats came.
			t.become(before, before, wanted{Canceled, cmp.Or(a.CloseReason, ReasonRemoved)}, nil)
			t.become(t.filled(t.reopen(ref, &a), &a, s), Booking{}, want, about)
		default:
			t.become(t.filled(before, &a, s), before, want, about)
		}
	}
}

// filled is the booking with what is kept of its attendee.
func (t *turn) filled(b Booking, a *Attendance, s *Session) Booking {
	b.SessionID = s.ID
	b.Title, b.Location, b.Invitee = a.Title, a.Location, a.Invitee
	b.NoShow, b.NoShowAt = a.NoShow, a.NoShowAt
	b.BookedAt = a.BookedAt
	return b
}

// reopen makes the row of a seat that is taken again. No two rows of a seat have
// one opening time: it tells them apart.
func (t *turn) reopen(ref Ref, a *Attendance) Booking {
	b := t.open(ref, a.Key)
	b.OpenedAt = newest(a.opened(), newest(a.ConfirmMove, a.Move)).At
	for slices.ContainsFunc(t.seatRows(ref, a.Key), func(o Booking) bool { return o.OpenedAt.Equal(b.OpenedAt) }) {
		b.OpenedAt = b.OpenedAt.Add(time.Microsecond)
	}
	b.ID = derive("booking", ref.Source.Provider, ref.Source.Base, ref.ExternalID, a.Key, stamp(b.OpenedAt))
	b.ChainID = b.ID
	return b
}

// become leads a booking to what is wanted of it. about is the event when it is
// about this booking; otherwise the change is a consequence, and the system's.
func (t *turn) become(b, before Booking, want wanted, about *Event) {
	tg := &target{id: b.ID, before: before}
	switch want.status {
	case Canceled:
		b.Status, b.Reason, b.ConflictsWith = Canceled, want.reason, nil
	case Active:
		if !b.confirmed() {
			b.Status = Conflicted // until it is settled
			tg.place = true
		}
	case Pending:
		if b.Status == New {
			b.Status = Pending
		}
	case New, Conflicted:
	}
	t.touch(b.SessionID)
	t.save(b)
	if about != nil {
		tg.action = about.Action()
		switch tg.action {
		case Request, Create, Move:
			tg.refuse = before.Status == Canceled
		case Cancel, Details, NoShow, Release, AcceptOverlap:
		}
		// An event about a booking that it cannot itself bring to what is wanted
		// (the number of seats came with it) leaves that to the system.
		if tg.refuse || tg.action == NoShow || tg.action == Details ||
			before.Status == b.Status || t.allowed(before.Status, tg.action, want.status) {
			tg.place = tg.place || (want.status == Active && (tg.action == Create || tg.action == Move))
			t.own = append(t.own, tg)
			return
		}
	}
	t.consequence(tg, before.Status, b)
	if about != nil && b.Status == Canceled && about.Action() != Cancel {
		t.own = append(t.own, &target{id: b.ID, before: b, action: about.Action(), refuse: true})
	}
}

// consequence notes a change that followed from an event about something else.
func (t *turn) consequence(tg *target, from Status, b Booking) {
	if from == b.Status {
		return
	}
	en := entry{booking: b.ID, action: Create, from: from, to: b.Status, outcome: Applied, actor: t.actor, open: tg.place}
	switch b.Status {
	case Canceled:
		en.action, en.reason = Cancel, b.Reason
	case Pending:
		en.action = Request
	case Active, Conflicted, New:
	}
	t.changed = true
	t.entries = append(t.entries, en)
	if tg.place {
		t.placing = append(t.placing, b.ID)
	}
}
