package calendly

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// maxEvent is the most that we read of a scheduled event.
const maxEvent = 1 << 20

var (
	// eventPath is what may be asked for: a signed body must not send our token
	// anywhere else.
	eventPath = regexp.MustCompile(`^/scheduled_events/[A-Za-z0-9_-]{1,64}$`)

	errNoToken   = errors.New("the connection has no API token; bodies without scheduled_event need one to be completed")
	errBadSource = errors.New("the body does not name the scheduled event to fetch")
)

// Fetch asks for the scheduled event that an old body leaves out, and gives the
// body as it would be sent today, reduced to what Parse reads.
func (*Provider) Fetch(ctx context.Context, client *http.Client, c providers.Connection, _ string, body []byte) ([]byte, error) {
	root, f := providers.ScanObject(body)
	if f != nil {
		return nil, errBadSource
	}
	var in providers.Fields
	wanted := path(&in, root.Get("payload", "event"), "payload.event")
	if !eventPath.MatchString(wanted) {
		return nil, errBadSource
	}
	if c.API.Token == "" {
		return nil, errNoToken
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.APIBase+wanted, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.API.Token)
	answer, err := providers.Ask(client, r, maxEvent, c.API.Token)
	if err != nil {
		return nil, err
	}
	event := answer.Get("resource")
	if path(&in, event.Get("uri"), "uri") != wanted {
		return nil, providers.BadAnswer("it is not about the event that was asked for")
	}
	if event.Get("start_time").Text() == "" || event.Get("end_time").Text() == "" {
		return nil, providers.BadAnswer("it has no time")
	}
	return providers.Snapshot(merge(root, event))
}

// What Parse reads of the parts of a body.
var (
	keptOfPayload = []string{
		"uri", "event", "email", "name", "timezone", "text_reminder_number", "created_at", "updated_at",
		"old_invitee", "new_invitee", "rescheduled",
	}
	keptOfEvent  = []string{"uri", "name", "start_time", "end_time", "updated_at"}
	keptOfMember = []string{"user", "user_email", "user_name"}
)

func merge(root, event providers.Value) []byte {
	var scheduled providers.Object
	scheduled.Copy(event, keptOfEvent...)
	scheduled.Add("location", location(event.Get("location")))
	if counter := event.Get("invitees_counter"); counter.Object() {
		var limit providers.Object
		limit.Copy(counter, "limit")
		scheduled.Add("invitees_counter", limit.JSON())
	}
	if members := event.Get("event_memberships"); members.Array() {
		list := []byte{'['}
		for m := range members.Items() {
			var member providers.Object
			member.Copy(m, keptOfMember...)
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, member.JSON()...)
		}
		scheduled.Add("event_memberships", append(list, ']'))
	}
	var payload, out providers.Object
	payload.Copy(root.Get("payload"), keptOfPayload...)
	payload.Add("scheduled_event", scheduled.JSON())
	out.Copy(root, "event", "created_at")
	out.Add("payload", payload.JSON())
	return out.JSON()
}

// location is where the meeting is, without the link to it.
func location(v providers.Value) []byte {
	var out providers.Object
	out.Copy(v, "type")
	if p := place(v); p != nil {
		out.AddText("location", *p)
	}
	return out.JSON()
}

// Read says what a completed body means: as Parse does, and at the time that the
// body gives, for the body is what tells of the change (R2).
func (p *Provider) Read(snapshot []byte, o providers.Origin, _ time.Time, kind booking.Kind, eventKey string) booking.Delivery {
	d := p.Parse(providers.Request{Body: snapshot}, o)
	switch {
	case d.Event != nil:
		return o.Fetched(kind, eventKey, d.Event, nil)
	case d.Status == booking.StatusFailed:
		return o.Fetched(kind, eventKey, nil, &providers.Fault{Code: d.Code, Text: d.Error})
	}
	return o.Fetched(kind, eventKey, nil, providers.Faultf(providers.CodePayloadMissing, "the fetched answer has no scheduled event"))
}
