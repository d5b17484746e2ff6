package calcom

import (
	"slices"
	"strconv"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// The triggers that concern bookings. There are no others: none tells of a
// confirmation by that name, a reassigned host or a new place.
const (
	created          = "BOOKING_CREATED"
	requested        = "BOOKING_REQUESTED"
	paymentInitiated = "BOOKING_PAYMENT_INITIATED"
	rescheduled      = "BOOKING_RESCHEDULED"
	cancelled        = "BOOKING_CANCELLED"
	rejected         = "BOOKING_REJECTED"
	noShowUpdated    = "BOOKING_NO_SHOW_UPDATED"
)

func kindOf(trigger string) booking.Kind {
	switch trigger {
	case created:
		return booking.KindCreated
	case requested, paymentInitiated:
		return booking.KindRequested
	case rescheduled:
		return booking.KindMoved
	case cancelled, rejected:
		return booking.KindCanceled
	case noShowUpdated:
		return booking.KindNoShow
	}
	return providers.OwnKind(trigger)
}

// Parse says what the body means, whatever its content type says it is.
func (*Provider) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	root, f := providers.Scan(r.Body)
	switch {
	case f != nil && f.Code == providers.CodeJSONInvalid && providers.NeverJSON(r.Body):
		return o.Failed(providers.KindUnknown, r.Body, templateChanged("it is not JSON"))
	case f != nil:
		return o.Failed(providers.KindUnknown, r.Body, f)
	}
	trigger, payload := root.Get("triggerEvent").Text(), root.Get("payload")
	kind := kindOf(trigger)
	switch {
	case trigger == "":
		return o.Failed(kind, r.Body, templateChanged("it has no triggerEvent"))
	case kind.Action() == "" && trigger != outOfOfficeCreated:
		return o.Ignored(kind, r.Body)
	case !payload.Object():
		return o.Failed(kind, r.Body, templateChanged("it has no payload"))
	case trigger == outOfOfficeCreated:
		b, f := outOfOffice(root, o)
		if f != nil {
			return o.Failed(kind, r.Body, f)
		}
		return o.Told(kind, b)
	}

	read := bookingEvent
	if kind == booking.KindNoShow {
		read = noShow
	}
	e, f := read(root, payload, trigger, o)
	if f != nil {
		return o.Failed(kind, r.Body, f)
	}
	return o.Delivered(e)
}

func templateChanged(what string) *providers.Fault {
	return providers.Faultf(providers.CodeTemplateChanged,
		`the body is not Cal.com's own: %s. In Cal.com open the webhook's settings, switch "Custom payload template" off and save`, what)
}

// bookingEvent reads the payload that the triggers about bookings share.
func bookingEvent(root, payload providers.Value, trigger string, o providers.Origin) (*booking.Event, *providers.Fault) {
	var in providers.Fields
	kind := kindOf(trigger)
	closing := kind == booking.KindCanceled
	seats := payload.Get("seatsPerTimeSlot")
	e := &booking.Event{
		Kind:       kind,
		At:         in.NeedTime(root.Get("createdAt"), "createdAt"),
		ExternalID: in.NeedID(payload.Get("uid"), "payload.uid"),
		Shared:     true,
		Seats:      in.Count(seats, "payload.seatsPerTimeSlot"),
		Title:      in.Text(payload.Get("title")),
		Location:   place(payload.Get("location").Text()),
	}
	e.Session = booking.SessionFacts{
		ExternalID: e.ExternalID,
		Hosts:      hosts(&in, payload),
		HostsCut:   closing || trigger == created && !seats.Present(),
		Capacity:   e.Seats,
	}
	if seats.Null() {
		one := 1
		e.Session.Capacity = &one
	}
	e.Session.StartsAt, e.Session.EndsAt = in.Window(payload.Get("startTime"), payload.Get("endTime"), "payload.startTime", "payload.endTime", !closing)
	if old := in.ID(payload.Get("rescheduleUid"), "payload.rescheduleUid"); old != e.ExternalID {
		e.Predecessor = old
	}
	switch trigger {
	case cancelled:
		e.Reason = booking.ReasonCanceled
	case rejected:
		e.Reason = booking.ReasonDeclined
	default:
		at := e.At
		e.BookedAt = &at
	}
	e.Confirmed = trigger == rescheduled && payload.Get("status").Text() == "ACCEPTED"

	list := in.Attendees(o, "payload.attendees")
	for a := range payload.Get("attendees").Items() {
		if !list.Add(attendee(&in, a)) {
			break
		}
	}
	e.Attendees = list.List()
	return finish(e, &in, trigger, o)
}

// noShow reads BOOKING_NO_SHOW_UPDATED, which names the booking by another
// field and says nothing of its time.
func noShow(root, payload providers.Value, trigger string, o providers.Origin) (*booking.Event, *providers.Fault) {
	var in providers.Fields
	e := &booking.Event{
		Kind:       booking.KindNoShow,
		At:         in.NeedTime(root.Get("createdAt"), "createdAt"),
		ExternalID: in.NeedID(payload.Get("bookingUid"), "payload.bookingUid"),
		Shared:     true,
	}
	e.Session.ExternalID = e.ExternalID
	list := in.Attendees(o, "payload.attendees")
	for a := range payload.Get("attendees").Items() {
		absent, ok := a.Get("noShow").Bool()
		email := in.Email(a.Get("email"), "payload.attendees.email")
		if !ok || email == "" {
			continue
		}
		if !list.Add(booking.Attendee{Email: email, NoShow: &absent}) {
			break
		}
	}
	e.Attendees = list.List()
	if len(e.Attendees) == 0 {
		in.Fail(providers.Faultf(providers.CodeAttendeesMissing, "payload.attendees names nobody by e-mail with noShow true or false"))
	}
	return finish(e, &in, trigger, o)
}

// finish gives the event its key: a uid repeats for each seat, and two seats may
// be taken in one millisecond, so whom the body lists is part of it.
func finish(e *booking.Event, in *providers.Fields, trigger string, o providers.Origin) (*booking.Event, *providers.Fault) {
	if f := in.Fault(); f != nil {
		return nil, f
	}
	whom := make([]string, 0, len(e.Attendees))
	for _, a := range e.Attendees {
		who := a.Key
		if a.NoShow != nil {
			who += "=" + strconv.FormatBool(*a.NoShow)
		}
		whom = append(whom, who)
	}
	slices.Sort(whom)
	e.Key = o.Key(trigger, e.ExternalID, providers.KeyTime(e.At), providers.Digest([]byte(strings.Join(whom, "\n"))))
	return e, nil
}

func attendee(in *providers.Fields, a providers.Value) booking.Attendee {
	return booking.Attendee{
		Email:    in.Email(a.Get("email"), "payload.attendees.email"),
		Name:     in.Text(a.Get("name")),
		Phone:    in.Text(a.Get("phoneNumber")),
		Timezone: in.Zone(a.Get("timeZone"), "payload.attendees.timeZone"),
	}
}

// hosts are the organizer and the team's other members. Cal.com writes a
// placeholder where it has no e-mail; that names nobody.
func hosts(in *providers.Fields, payload providers.Value) []booking.Host {
	var out []booking.Host
	add := func(v providers.Value, name string) {
		email := in.Email(v.Get("email"), name)
		if email == "" || slices.ContainsFunc(out, func(h booking.Host) bool { return h.Email == email }) {
			return
		}
		h := booking.Host{ExternalID: in.CheckID(email, name), Email: email}
		if text := in.Text(v.Get("name")); text != nil {
			h.Name = *text
		}
		out = append(out, h)
	}
	add(payload.Get("organizer"), "payload.organizer.email")
	for m := range payload.Get("team", "members").Items() {
		add(m, "payload.team.members.email")
	}
	return out
}

// places are Cal.com's own words for kinds of places.
var places = map[string]string{
	"integrations:daily":              "Cal Video",
	"integrations:google:meet":        "Google Meet",
	"integrations:zoom":               "Zoom",
	"integrations:office365_video":    "Microsoft Teams",
	"integrations:webex_video":        "Webex",
	"integrations:jitsi":              "Jitsi Meet",
	"integrations:huddle01":           "Huddle01",
	"integrations:whereby_video":      "Whereby",
	"integrations:facetime_video":     "FaceTime",
	"integrations:discord_video":      "Discord",
	"integrations:telegram_video":     "Telegram",
	"integrations:whatsapp_video":     "WhatsApp",
	"integrations:element-call_video": "Element Call",
	"inPerson":                        "In person",
	"attendeeInPerson":                "In person",
	"phone":                           "Phone call",
	"userPhone":                       "Phone call",
	"link":                            providers.OnlineMeeting,
	"conferencing":                    providers.OnlineMeeting,
}

func place(location string) *string {
	if name, ok := places[location]; ok {
		return &name
	}
	if strings.HasPrefix(location, "integrations:") {
		name := providers.OnlineMeeting
		return &name
	}
	return providers.Place(location)
}
