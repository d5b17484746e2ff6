package calendly

import (
	"context"
	"errors"
	"net/http"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

var errBadSource = errors.New("the body does not name the scheduled event to fetch")

// Fetch asks for the scheduled event that an old body leaves out, and gives the
// body as it would be sent today, reduced to what Parse reads.
func (*Provider) Fetch(ctx context.Context, client *http.Client, c providers.Connection, _ string, body []byte) (providers.Fetched, error) {
	var none providers.Fetched
	root, f := providers.ScanObject(body)
	if f != nil {
		return none, errBadSource
	}
	var in providers.Fields
	wanted := path(&in, root.Get("payload", "event"), "payload.event")
	if !eventPath.MatchString(wanted) {
		return none, errBadSource
	}
	event, err := (&api{client: client, connection: c}).resource(ctx, wanted)
	if err != nil {
		return none, err
	}
	if event.Get("start_time").Text() == "" || event.Get("end_time").Text() == "" {
		return none, providers.BadAnswer("it has no time")
	}
	var out providers.Object
	out.Copy(root, "event", "created_at")
	out.Add("payload", merge(root.Get("payload"), event))
	snapshot, err := providers.Snapshot(out.JSON())
	return providers.Fetched{Snapshot: snapshot}, err
}

// Read says what a completed body means: as Parse does, and at the time that the
// body gives, for the body is what tells of the change (R2). The body of a
// Standing means what it meant when it was read.
func (p *Provider) Read(snapshot []byte, o providers.Origin, _ time.Time, kind booking.Kind, eventKey string) booking.Delivery {
	root, f := providers.ScanObject(snapshot)
	if f == nil && root.Get("event").Text() == standingEvent {
		e, f := standing(root.Get("payload"), o)
		return o.Fetched(kind, eventKey, e, f)
	}
	d := p.Parse(providers.Request{Body: snapshot}, o)
	switch {
	case d.Event != nil:
		return o.Fetched(kind, eventKey, d.Event, nil)
	case d.Status == booking.StatusFailed:
		return o.Fetched(kind, eventKey, nil, &providers.Fault{Code: d.Code, Text: d.Error})
	}
	return o.Fetched(kind, eventKey, nil, providers.Faultf(providers.CodePayloadMissing, "the fetched answer has no scheduled event"))
}
