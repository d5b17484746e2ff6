package calendly

import (
	"net/url"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// The events that concern bookings, by Calendly's names.
const (
	inviteeCreated  = "invitee.created"
	inviteeCanceled = "invitee.canceled"
	noShowCreated   = "invitee_no_show.created"
	noShowDeleted   = "invitee_no_show.deleted"
)

func kindOf(event string) booking.Kind {
	switch event {
	case inviteeCreated:
		return booking.KindCreated
	case inviteeCanceled:
		return booking.KindCanceled
	case noShowCreated, noShowDeleted:
		return booking.KindNoShow
	}
	return providers.OwnKind(event)
}

// Parse says what the body means.
func (*Provider) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	root, f := providers.ScanObject(r.Body)
	if f != nil {
		return o.Failed(providers.KindUnknown, r.Body, f)
	}
	event, payload := root.Get("event").Text(), root.Get("payload")
	kind := kindOf(event)
	switch {
	case retired(root, kind):
		return o.Failed(kind, r.Body, providers.Faultf(providers.CodeBodyRetired,
			"this is a body of Calendly's webhooks v1, retired in August 2025; delete the old hook and subscribe with API v2"))
	case event == "":
		return o.Failed(kind, r.Body, providers.Faultf(providers.CodeKindMissing, "the body does not name its event; Calendly's bodies do"))
	case kind.Action() == "":
		return o.Ignored(kind, r.Body)
	case !payload.Object():
		return o.Failed(kind, r.Body, providers.Faultf(providers.CodePayloadMissing, "payload is missing or not an object"))
	}

	e, f := invitee(payload, event, o)
	if f != nil {
		return o.Failed(kind, r.Body, f)
	}
	if !payload.Get("scheduled_event").Said() {
		if !eventPath.MatchString(e.Session.ExternalID) {
			return o.Failed(kind, r.Body, providers.Faultf(providers.CodeIDInvalid, "payload.event is not the URI of a scheduled event, so that its time cannot be fetched"))
		}
		return o.Pending(kind, e.Key, e.ExternalID)
	}
	return o.Delivered(e)
}

// retired tells a body of webhooks v1, whose envelope has another time, and in
// which invitee and event are objects. Other events' payloads may hold objects
// of those names.
func retired(root providers.Value, kind booking.Kind) bool {
	if root.Get("time").Said() && !root.Get("created_at").Said() {
		return true
	}
	payload := root.Get("payload")
	return kind.Action() != "" && (payload.Get("invitee").Object() || payload.Get("event").Object())
}

// invitee reads the payload that the events about invitees share.
func invitee(payload providers.Value, event string, o providers.Origin) (*booking.Event, *providers.Fault) {
	kind, scheduled := kindOf(event), payload.Get("scheduled_event")
	var in providers.Fields
	e := &booking.Event{
		Kind:        kind,
		At:          in.NeedTime(payload.Get("updated_at"), "payload.updated_at"),
		ExternalID:  path(&in, payload.Get("uri"), "payload.uri"),
		Predecessor: path(&in, payload.Get("old_invitee"), "payload.old_invitee"),
		Successor:   path(&in, payload.Get("new_invitee"), "payload.new_invitee"),
		Title:       in.Text(scheduled.Get("name")),
		Location:    place(scheduled.Get("location")),
		BookedAt:    in.Time(payload.Get("created_at"), "payload.created_at"),
		Session:     session(&in, payload, scheduled, kind == booking.KindCreated),
	}
	if e.ExternalID == "" {
		in.Fail(providers.Faultf(providers.CodeIDMissing, "payload.uri is missing; without it nobody can tell which booking this is about"))
	}
	if e.Predecessor == e.ExternalID {
		e.Predecessor = ""
	}
	if e.Successor == e.ExternalID {
		e.Successor = ""
	}
	if kind == booking.KindCanceled {
		e.Reason = booking.ReasonCanceled
		if moved, _ := payload.Get("rescheduled").Bool(); moved || e.Successor != "" {
			e.Reason = booking.ReasonRescheduled
		}
	}
	e.Attendees = attendee(&in, payload, event, o)
	if f := in.Fault(); f != nil {
		return nil, f
	}
	e.Key = o.Key(event, e.ExternalID, providers.KeyTime(e.At))
	return e, nil
}

func attendee(in *providers.Fields, payload providers.Value, event string, o providers.Origin) []booking.Attendee {
	a := booking.Attendee{
		Email:    in.Email(payload.Get("email"), "payload.email"),
		Name:     in.Text(payload.Get("name")),
		Phone:    in.Text(payload.Get("text_reminder_number")),
		Timezone: in.Zone(payload.Get("timezone"), "payload.timezone"),
	}
	if event == noShowCreated || event == noShowDeleted {
		absent := event == noShowCreated
		a.NoShow = &absent
	}
	list := in.Attendees(o, "payload")
	list.Add(a)
	return list.List()
}

// session is what the body says of the scheduled event. The event's own
// identity stands beside it too, in bodies that do not have it.
func session(in *providers.Fields, payload, scheduled providers.Value, needTime bool) booking.SessionFacts {
	s := booking.SessionFacts{ExternalID: path(in, payload.Get("event"), "payload.event")}
	if s.ExternalID == "" {
		s.ExternalID = path(in, scheduled.Get("uri"), "payload.scheduled_event.uri")
	}
	if s.ExternalID == "" {
		in.Fail(providers.Faultf(providers.CodeIDMissing, "payload.event is missing; without it nobody can tell which meeting this is about"))
	}
	if !scheduled.Said() {
		return s
	}
	s.StartsAt, s.EndsAt = in.Window(scheduled.Get("start_time"), scheduled.Get("end_time"),
		"payload.scheduled_event.start_time", "payload.scheduled_event.end_time", needTime)
	s.Hosts = hosts(in, scheduled.Get("event_memberships"))
	s.Capacity = in.Count(scheduled.Get("invitees_counter", "limit"), "payload.scheduled_event.invitees_counter.limit")
	return s
}

// hosts: bodies of 2022 name only the user's URI, newer ones the e-mail too.
func hosts(in *providers.Fields, memberships providers.Value) []booking.Host {
	var out []booking.Host
	for m := range memberships.Items() {
		h := booking.Host{
			ExternalID: path(in, m.Get("user"), "payload.scheduled_event.event_memberships.user"),
			Email:      in.Email(m.Get("user_email"), "payload.scheduled_event.event_memberships.user_email"),
		}
		if name := in.Text(m.Get("user_name")); name != nil {
			h.Name = *name
		}
		if h.ExternalID != "" {
			out = append(out, h)
		}
	}
	return out
}

// path is the identity inside a URI: the same thing is named under several
// hosts. "" when the body has none.
func path(in *providers.Fields, v providers.Value, name string) string {
	uri := in.ID(v, name)
	if uri == "" {
		return ""
	}
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(u.EscapedPath(), "/") {
		in.Fail(providers.Faultf(providers.CodeIDInvalid, "%s is not a URI such as https://api.calendly.com/scheduled_events/…", name))
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// conferences are the places behind a link, which is not kept.
var conferences = map[string]string{
	"google_conference":          "Google Meet",
	"zoom_conference":            "Zoom",
	"zoom":                       "Zoom",
	"microsoft_teams_conference": "Microsoft Teams",
	"webex_conference":           "Webex",
	"gotomeeting":                "GoToMeeting",
	"gotomeeting_conference":     "GoToMeeting",
}

// place is the location's text by its type; nil when the body names none.
func place(location providers.Value) *string {
	kind := location.Get("type").Text()
	if name, ok := conferences[kind]; ok {
		return &name
	}
	if p := providers.Place(location.Get("location").Text()); p != nil {
		return p
	}
	switch kind {
	case "outbound_call", "inbound_call":
		call := "Phone call"
		return &call
	}
	return nil
}
