package calcom

import (
	"bytes"
	"slices"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// A kept booking says of itself what it is, so that it can be told from a body
// that a template made.
const (
	keptName    = "snapshot"
	keptBooking = "calcom.booking"
)

// The states of a booking, as the API spells them.
const (
	statusAccepted     = "accepted"
	statusPending      = "pending"
	statusAwaitingHost = "awaiting_host"
	statusCancelled    = "cancelled"
	statusRejected     = "rejected"
)

// reduce makes of a booking what is kept: links, answers to the booker's form,
// seats' uids (who has one can cancel it), metadata and reasons stay where they
// are.
//
// The API names one host, whoever else takes part. Cal.com stores a team's other
// members among the attendees, after the booker and his guests; who is neither is
// a host, then. Where it does not say who booked, that cannot be told, and the
// list of hosts may be cut.
func reduce(b providers.Value, kind eventType) []byte {
	var out providers.Object
	out.AddText(keptName, keptBooking)
	out.Copy(b, "uid", "status", "start", "end", "createdAt", "updatedAt", "eventTypeId", "rescheduledFromUid", "rescheduledToUid", "recurringBookingUid")
	seated := hasSeats(b)
	invitees, others, cut := split(b, seated)
	title := providers.Plain(b.Get("title").Text())
	if seated && len(invitees) != 1 {
		title = providers.Plain(kind.title) // the booking's own names the first of them
	}
	if title != nil {
		out.AddText("title", *title)
	}
	// In place of its own word for a service the API gives the meeting's link.
	if where := place(b.Get("location").Text()); where != nil {
		out.AddText("location", *where)
	}
	if kind.seats != "" {
		out.Add("seats", []byte(kind.seats))
	}
	var hosts [][]byte
	for h := range b.Get("hosts").Items() {
		hosts = append(hosts, person(h))
	}
	for _, a := range others {
		hosts = append(hosts, person(a))
	}
	out.Add("hosts", array(hosts))
	out.Add("hostsCut", truth(cut))
	out.Add("seated", truth(seated))
	list := make([][]byte, 0, len(invitees))
	for _, a := range invitees {
		list = append(list, invitee(a))
	}
	out.Add("attendees", array(list))
	return out.JSON()
}

// reduceToID keeps which booking it is of one that is too large to keep.
func reduceToID(b providers.Value) []byte {
	var out providers.Object
	out.AddText(keptName, keptBooking)
	if uid := b.Get("uid").Text(); len(uid) <= providers.MaxID {
		out.AddText("uid", uid)
	}
	return out.JSON()
}

// split tells who is invited from who is a host, among those that the API lists
// as attendees. More than we take are not looked at.
func split(b providers.Value, seated bool) (invitees, others []providers.Value, cut bool) {
	invited := guests(b)
	for a := range b.Get("attendees").Items() {
		if len(invitees) > providers.MaxAttendees {
			break
		}
		email := booking.NormalizeEmail(a.Get("email").Text())
		_, listed := invited[email]
		switch {
		case seated && a.Get("seatUid").Text() == "",
			!seated && invited != nil && email != "" && !listed:
			others = append(others, a)
		default:
			invitees = append(invitees, a)
		}
	}
	return invitees, others, !seated && invited == nil && len(invitees) > 1
}

// guests are the booker and whom he brings; nil when the booking does not say, or
// says somebody who does not attend.
func guests(b providers.Value) map[string]struct{} {
	booker := booking.NormalizeEmail(b.Get("bookingFieldsResponses", "email").Text())
	attends := false
	for a := range b.Get("attendees").Items() {
		attends = attends || booking.NormalizeEmail(a.Get("email").Text()) == booker
	}
	if booker == "" || !attends {
		return nil
	}
	out := map[string]struct{}{booker: {}}
	for _, list := range []providers.Value{b.Get("guests"), b.Get("bookingFieldsResponses", "guests")} {
		for g := range list.Items() {
			out[booking.NormalizeEmail(g.Text())] = struct{}{}
		}
	}
	return out
}

func person(v providers.Value) []byte {
	var out providers.Object
	out.Copy(v, "name", "email")
	return out.JSON()
}

func invitee(a providers.Value) []byte {
	var out providers.Object
	out.Copy(a, "name", "email", "timeZone", "absent")
	phone := a.Get("phoneNumber").Text()
	if phone == "" {
		phone = a.Get("bookingFieldsResponses", "attendeePhoneNumber").Text()
	}
	if phone != "" {
		out.AddText("phoneNumber", phone)
	}
	return out.JSON()
}

func array(items [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}

func truth(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}

// standing says what a kept booking means. Keys are the caller's to give.
func standing(kept []byte, o providers.Origin, at time.Time) providers.Standing {
	e, kind, f := standingEvent(kept, o, at)
	return providers.Standing{Delivery: o.Fetched(kind, "", e, f), Body: kept}
}

func standingEvent(kept []byte, o providers.Origin, at time.Time) (*booking.Event, booking.Kind, *providers.Fault) {
	b, f := providers.Scan(kept)
	if f != nil {
		return nil, providers.KindUnknown, f
	}
	var in providers.Fields
	state := b.Get("status").Text()
	kind := kindOfStatus(state)
	if kind == providers.KindUnknown {
		in.Fail(providers.Faultf(providers.CodeKindMissing, "status is none of accepted, pending, awaiting_host, cancelled and rejected"))
	}
	closing := kind == booking.KindCanceled
	e := &booking.Event{
		Kind: kind, At: at.UTC().Truncate(time.Microsecond), ExternalID: in.NeedID(b.Get("uid"), "uid"), Shared: true, Confirmed: state == statusAccepted,
		Title: in.Text(b.Get("title")), Location: in.Text(b.Get("location")), BookedAt: in.Time(b.Get("createdAt"), "createdAt"),
	}
	e.Session = booking.SessionFacts{ExternalID: e.ExternalID, Hosts: keptHosts(&in, b)}
	e.Session.HostsCut, _ = b.Get("hostsCut").Bool()
	e.Session.StartsAt, e.Session.EndsAt = in.Window(b.Get("start"), b.Get("end"), "start", "end", !closing)

	list := in.Attendees(o, "attendees")
	for a := range b.Get("attendees").Items() {
		who := attendee(&in, a)
		if absent, ok := a.Get("absent").Bool(); ok {
			who.NoShow = &absent
		}
		if !list.Add(who) {
			break
		}
	}
	e.Attendees = list.List()
	e.Session.Capacity = in.Count(b.Get("seats"), "seats")
	seated, _ := b.Get("seated").Bool()
	if seated {
		n := max(len(e.Attendees), 1)
		if e.Seats = e.Session.Capacity; e.Seats == nil {
			e.Seats = &n
		}
	}
	links(e, &in, b, state, seated)
	return e, kind, in.Fault()
}

func kindOfStatus(state string) booking.Kind {
	switch state {
	case statusAccepted:
		return booking.KindCreated
	case statusPending, statusAwaitingHost:
		return booking.KindRequested
	case statusCancelled, statusRejected:
		return booking.KindCanceled
	}
	return providers.KindUnknown
}

// links reads what the booking followed and what follows it. With seats the
// predecessor lives on for others, and only some of those listed came from it, at
// a time that the API does not tell: such a link would cancel seats there that
// were taken since.
func links(e *booking.Event, in *providers.Fields, b providers.Value, state string, seated bool) {
	if old := in.ID(b.Get("rescheduledFromUid"), "rescheduledFromUid"); old != e.ExternalID && !seated {
		e.Predecessor = old
	}
	switch state {
	case statusCancelled:
		e.Reason = booking.ReasonCanceled
		if successor := in.ID(b.Get("rescheduledToUid"), "rescheduledToUid"); successor != "" && successor != e.ExternalID {
			e.Reason, e.Successor = booking.ReasonRescheduled, successor
		}
	case statusRejected:
		e.Reason = booking.ReasonDeclined
	}
}

func keptHosts(in *providers.Fields, b providers.Value) []booking.Host {
	var out []booking.Host
	for v := range b.Get("hosts").Items() {
		email := in.Email(v.Get("email"), "hosts.email")
		if email == "" || slices.ContainsFunc(out, func(h booking.Host) bool { return h.Email == email }) {
			continue
		}
		h := booking.Host{ExternalID: in.CheckID(email, "hosts.email"), Email: email}
		if name := in.Text(v.Get("name")); name != nil {
			h.Name = *name
		}
		out = append(out, h)
	}
	return out
}
