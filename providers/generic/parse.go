package generic

import (
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Parse says what the body means.
func (*Provider) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	d := parse(r.Body, o)
	d.SourceEventID = eventID(r.Header)
	return d
}

func parse(body []byte, o providers.Origin) booking.Delivery {
	root, f := providers.ScanObject(body)
	if f != nil {
		return o.Failed(providers.KindUnknown, body, f)
	}
	name := root.Get("type").Text()
	kind := providers.OwnKind(name)
	switch booking.Kind(name) {
	case booking.KindRequested, booking.KindCreated, booking.KindMoved, booking.KindCanceled:
	case "":
		return o.Failed(kind, body, providers.Faultf(providers.CodeKindMissing,
			"type is missing; it is booking.requested, invitee.created, booking.moved or invitee.canceled"))
	default:
		return o.Ignored(kind, body)
	}
	e, f := event(root, kind, body, o)
	if f != nil {
		return o.Failed(kind, body, f)
	}
	return o.Delivered(e)
}

// Selftest is a body of a kind that Parse has no use for.
func (*Provider) Selftest(id string) []byte {
	var out providers.Object
	out.AddText("type", string(booking.KindSelftest))
	out.AddText("id", id)
	return out.JSON()
}

func event(root providers.Value, kind booking.Kind, body []byte, o providers.Origin) (*booking.Event, *providers.Fault) {
	b := root.Get("booking")
	if !b.Object() {
		return nil, providers.Faultf(providers.CodePayloadMissing, "booking is missing or not an object")
	}
	var in providers.Fields
	e := &booking.Event{
		Kind:       kind,
		At:         in.NeedTime(root.Get("occurred_at"), "occurred_at"),
		ExternalID: id(&in, b.Get("id"), "booking.id"),
		Title:      in.Text(b.Get("title")),
		Location:   providers.Place(b.Get("location").Text()),
	}
	if e.ExternalID == "" {
		in.Fail(providers.Faultf(providers.CodeIDMissing, "booking.id is missing; without it nobody can tell which booking this is about"))
	}
	if old := id(&in, b.Get("supersedes"), "booking.supersedes"); old != e.ExternalID {
		e.Predecessor = old
	}
	if kind == booking.KindCanceled {
		e.Reason = booking.ReasonCanceled
	} else {
		at := e.At
		e.BookedAt = &at
	}
	e.Session = session(&in, b, e)
	e.Attendees = attendees(&in, b.Get("invitee"), o)
	if f := in.Fault(); f != nil {
		return nil, f
	}
	e.Key = o.Key(string(kind), e.ExternalID, providers.KeyTime(e.At), providers.Digest(body))
	return e, nil
}

func session(in *providers.Fields, b providers.Value, e *booking.Event) booking.SessionFacts {
	s := booking.SessionFacts{ExternalID: id(in, b.Get("session"), "booking.session")}
	if s.ExternalID == "" {
		s.ExternalID = e.ExternalID
	}
	s.StartsAt, s.EndsAt = in.Window(b.Get("starts_at"), b.Get("ends_at"), "booking.starts_at", "booking.ends_at", e.Kind != booking.KindCanceled)
	if h := host(in, b.Get("resource")); h != nil {
		s.Hosts = []booking.Host{*h}
	} else if e.Kind == booking.KindCreated || e.Kind == booking.KindRequested {
		in.Fail(providers.Faultf(providers.CodeResourceMissing, "booking.resource is missing; give the e-mail or the name of what is booked"))
	}
	capacity := b.Get("capacity")
	s.Capacity = in.Count(capacity, "booking.capacity")
	if capacity.Said() && s.Capacity == nil {
		in.Fail(providers.Faultf(providers.CodeCapacityInvalid, "booking.capacity is not a whole number of at least 1; leave it out when it is not known"))
	}
	return s
}

// host: a name is a resource of this connection, an e-mail one of everybody's.
func host(in *providers.Fields, resource providers.Value) *booking.Host {
	if email := in.Email(resource, "booking.resource"); email != "" {
		return &booking.Host{ExternalID: in.CheckID(email, "booking.resource"), Email: email}
	}
	name := id(in, resource, "booking.resource")
	if name == "" {
		return nil
	}
	return &booking.Host{ExternalID: name, Name: name, Named: true}
}

func attendees(in *providers.Fields, invitee providers.Value, o providers.Origin) []booking.Attendee {
	if !invitee.Object() {
		return nil
	}
	list := in.Attendees(o, "booking.invitee")
	list.Add(booking.Attendee{
		Email:    in.Email(invitee.Get("email"), "booking.invitee.email"),
		Name:     in.Text(invitee.Get("name")),
		Phone:    in.Text(invitee.Get("phone")),
		Timezone: in.Zone(invitee.Get("timezone"), "booking.invitee.timezone"),
	})
	return list.List()
}

// id is an identity, which many systems give as a number.
func id(in *providers.Fields, v providers.Value, name string) string {
	if n := v.Number(); n != "" {
		return in.CheckID(n, name)
	}
	return in.CheckID(strings.TrimSpace(v.Text()), name)
}
