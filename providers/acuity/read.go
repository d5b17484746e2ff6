package acuity

import (
	"strconv"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// stampLayout is how Acuity writes instants: RFC 3339 but for the colon.
const stampLayout = "2006-01-02T15:04:05-0700"

// Read says what a snapshot means: the appointment is canceled, or this is what
// stands.
func (*Provider) Read(snapshot []byte, o providers.Origin, at time.Time, kind booking.Kind, eventKey string) booking.Delivery {
	root, f := providers.ScanObject(snapshot)
	if f != nil {
		return o.Fetched(kind, eventKey, nil, f)
	}
	var in providers.Fields
	e := appointment(&in, root, o)
	e.At = at.UTC().Truncate(time.Microsecond)
	return o.Fetched(kind, eventKey, e, in.Fault())
}

func appointment(in *providers.Fields, root providers.Value, o providers.Origin) *booking.Event {
	e := &booking.Event{
		Kind:       booking.KindSnapshot,
		ExternalID: number(in, root.Get("id"), "id"),
		Title:      in.Text(root.Get("type")),
		Location:   providers.Place(root.Get("location").Text()),
		BookedAt:   stamp(in, root.Get("datetimeCreated"), "datetimeCreated"),
	}
	canceled, said := root.Get("canceled").Bool()
	if !said {
		in.Fail(providers.Faultf(providers.CodePayloadMissing, "canceled is missing; an appointment says whether it is"))
	}
	if canceled {
		e.Kind, e.Reason = booking.KindCanceled, booking.ReasonCanceled
	}
	e.Session = session(in, root, e.ExternalID, !canceled)
	list := in.Attendees(o, "the appointment")
	list.Add(attendee(in, root, canceled))
	e.Attendees = list.List()
	return e
}

func attendee(in *providers.Fields, root providers.Value, canceled bool) booking.Attendee {
	a := booking.Attendee{
		Email:    in.Email(root.Get("email"), "email"),
		Name:     providers.Plain(strings.TrimSpace(root.Get("firstName").Text()) + " " + strings.TrimSpace(root.Get("lastName").Text())),
		Phone:    in.Text(root.Get("phone")),
		Timezone: in.Zone(root.Get("timezone"), "timezone"),
	}
	if absent, said := root.Get("noShow").Bool(); said && canceled {
		a.NoShow = &absent
	}
	return a
}

// session is the appointment's own, or the class's that it is a seat of. A class
// has no identity of its own in the API that an appointment would always name.
func session(in *providers.Fields, root providers.Value, id string, needTime bool) booking.SessionFacts {
	calendar := number(in, root.Get("calendarID"), "calendarID")
	s := booking.SessionFacts{
		ExternalID: "appointment|" + id,
		Hosts:      host(in, root, calendar),
	}
	s.StartsAt, s.EndsAt = window(in, root, needTime)
	switch class := root.Get("classID"); {
	case class.Null():
		one := 1
		s.Capacity = &one
	case class.Said() && s.StartsAt != nil:
		s.ExternalID = strings.Join([]string{
			"class", calendar, number(in, root.Get("appointmentTypeID"), "appointmentTypeID"), s.StartsAt.Format(time.RFC3339),
		}, "|")
	}
	return s
}

func host(in *providers.Fields, root providers.Value, calendar string) []booking.Host {
	h := booking.Host{
		ExternalID: calendarHost(calendar),
		Email:      in.Email(root.Get("calendarEmail"), "calendarEmail"),
	}
	if name := in.Text(root.Get("calendar")); name != nil {
		h.Name = *name
	}
	return []booking.Host{h}
}

// numeral is a number's text, whether it is written as a number or, as Acuity does
// with durations, as a text; "" of anything else.
func numeral(v providers.Value) string {
	if text := v.Number(); text != "" {
		return text
	}
	return strings.TrimSpace(v.Text())
}

// number is an id in its one spelling.
func number(in *providers.Fields, v providers.Value, name string) string {
	text := numeral(v)
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
		in.Fail(providers.Faultf(providers.CodeIDMissing, "%s is missing; without it nobody can tell what this is about", name))
		return ""
	case err != nil || n <= 0:
		in.Fail(providers.Faultf(providers.CodeIDInvalid, "%s is not a number that Acuity gives", name))
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// stamp is an instant; nil when the answer has none.
func stamp(in *providers.Fields, v providers.Value, name string) *time.Time {
	text := strings.TrimSpace(v.Text())
	if text == "" {
		return nil
	}
	t, err := time.Parse(stampLayout, text)
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	t = t.UTC().Truncate(time.Microsecond)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		in.Fail(providers.Faultf(providers.CodeTimeInvalid, "%s is not a time with its offset, such as 2026-11-03T15:00:00-0400", name))
		return nil
	}
	return &t
}

// window is the time of the appointment: its beginning and as many minutes as its
// duration says.
func window(in *providers.Fields, root providers.Value, need bool) (from, to *time.Time) {
	from = stamp(in, root.Get("datetime"), "datetime")
	text := numeral(root.Get("duration"))
	if !need && (from == nil || text == "") {
		return nil, nil
	}
	minutes, err := strconv.ParseInt(text, 10, 64)
	switch {
	case from == nil:
		in.Fail(providers.Faultf(providers.CodeTimeMissing, "datetime is missing; a booking needs its beginning and its end"))
	case text == "":
		in.Fail(providers.Faultf(providers.CodeTimeMissing, "duration is missing; a booking needs its beginning and its end"))
	case err != nil:
		in.Fail(providers.Faultf(providers.CodeTimeInvalid, "duration is not a number of minutes"))
	case minutes <= 0:
		in.Fail(providers.Faultf(providers.CodeEndBeforeStart, "duration is not above 0"))
	case minutes > int64(booking.MaxLength/time.Minute):
		in.Fail(providers.Faultf(providers.CodeTooLong, "duration is more than %d days; no booking may be longer", int(booking.MaxLength/(24*time.Hour))))
	default:
		end := from.Add(time.Duration(minutes) * time.Minute)
		return from, &end
	}
	return nil, nil
}
