package booking_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// What other systems are told of each way in which a booking can change.
func TestEndpointEvent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event    booking.Action
		from, to booking.Status
		outcome  booking.Outcome
		want     booking.EndpointEvent
	}{
		{booking.Request, booking.New, booking.Pending, booking.Applied, ""},
		{booking.Create, booking.New, booking.Active, booking.Applied, booking.EventActive},
		{booking.Create, booking.Pending, booking.Active, booking.Applied, booking.EventActive},
		{booking.Create, booking.New, booking.Conflicted, booking.Applied, booking.EventConflicted},
		{booking.Create, booking.Conflicted, booking.Active, booking.Applied, booking.EventReleased},
		{booking.Move, booking.New, booking.Active, booking.Applied, booking.EventActive},
		{booking.Move, booking.New, booking.Pending, booking.Applied, ""},
		{booking.Move, booking.Pending, booking.Pending, booking.Applied, booking.EventMoved},
		{booking.Move, booking.Active, booking.Active, booking.Applied, booking.EventMoved},
		{booking.Move, booking.Active, booking.Conflicted, booking.Applied, booking.EventConflicted},
		{booking.Move, booking.Conflicted, booking.Conflicted, booking.Applied, booking.EventMoved},
		{booking.Move, booking.Conflicted, booking.Active, booking.Applied, booking.EventMoved},
		{booking.Release, booking.Conflicted, booking.Active, booking.Applied, booking.EventReleased},
		{booking.Cancel, booking.Active, booking.Canceled, booking.Applied, booking.EventCanceled},
		{booking.Cancel, booking.New, booking.Canceled, booking.Applied, booking.EventCanceled},
		{booking.Cancel, booking.Canceled, booking.Canceled, booking.Applied, ""},
		{booking.AcceptOverlap, booking.Conflicted, booking.Conflicted, booking.Applied, ""},
		{booking.Create, booking.Canceled, booking.Canceled, booking.Rejected, booking.EventRejected},
		{booking.Move, booking.Active, booking.Active, booking.Rejected, booking.EventRejected},
	} {
		tr := booking.Transition{Event: tt.event, From: tt.from, To: tt.to, Outcome: tt.outcome}
		if got := tr.EndpointEvent(); got != tt.want {
			t.Errorf("%s from %q to %q, %s: told is %q, want %q", tt.event, tt.from, tt.to, tt.outcome, got, tt.want)
		}
	}
}

func TestEndpointHears(t *testing.T) {
	t.Parallel()
	one, other := uuid.New(), uuid.New()
	for name, tt := range map[string]struct {
		e         booking.Endpoint
		event     booking.EndpointEvent
		resources []uuid.UUID
		want      bool
	}{
		"everything":                {booking.Endpoint{}, booking.EventMoved, nil, true},
		"nothing":                   {booking.Endpoint{}, "", []uuid.UUID{one}, false},
		"an event it chose":         {booking.Endpoint{Events: []booking.EndpointEvent{booking.EventMoved}}, booking.EventMoved, nil, true},
		"an event it did not":       {booking.Endpoint{Events: []booking.EndpointEvent{booking.EventMoved}}, booking.EventActive, nil, false},
		"a resource of its":         {booking.Endpoint{Resources: []uuid.UUID{one}}, booking.EventMoved, []uuid.UUID{other, one}, true},
		"another's resource":        {booking.Endpoint{Resources: []uuid.UUID{one}}, booking.EventMoved, []uuid.UUID{other}, false},
		"what is about no resource": {booking.Endpoint{Resources: []uuid.UUID{one}}, booking.EventFailing, nil, false},
	} {
		if got := tt.e.Hears(tt.event, tt.resources); got != tt.want {
			t.Errorf("%s: heard %v", name, got)
		}
	}
}

// What gets through ends a failure; nothing for five days, or one 410, ends it all.
func TestEndpointAfter(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	failed := func(after time.Duration, status int) booking.Attempt {
		return booking.Attempt{At: began.Add(after), Status: status, Error: fmt.Sprint("answered ", status)}
	}
	for name, tt := range map[string]struct {
		tries   []booking.Attempt
		off     booking.EndpointOff
		failing bool
	}{
		"told":                       {[]booking.Attempt{{At: began, Status: 200}}, "", false},
		"failed once":                {[]booking.Attempt{failed(0, 500)}, "", true},
		"failed and told":            {[]booking.Attempt{failed(0, 500), {At: began.Add(time.Minute), Status: 204}}, "", false},
		"gone":                       {[]booking.Attempt{failed(0, 410)}, booking.OffGone, true},
		"almost five days":           {[]booking.Attempt{failed(0, 500), failed(booking.EndpointPatience-time.Second, 500)}, "", true},
		"five days":                  {[]booking.Attempt{failed(0, 500), failed(booking.EndpointPatience, 0)}, booking.OffFailing, true},
		"five days with one success": {[]booking.Attempt{failed(0, 500), {At: began.Add(time.Hour), Status: 200}, failed(booking.EndpointPatience, 500)}, "", true},
	} {
		var e booking.Endpoint
		for _, a := range tt.tries {
			e = e.After(a)
		}
		if e.Off != tt.off || (e.FailingSince != nil) != tt.failing || (e.OffAt != nil) != (tt.off != "") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestEndpointCheck(t *testing.T) {
	t.Parallel()
	good := booking.Endpoint{Name: "CRM", URL: "https://crm.example/hooks?token=1"}
	for name, tt := range map[string]struct {
		change func(*booking.Endpoint)
		field  string
	}{
		"good":                    {func(*booking.Endpoint) {}, ""},
		"plain http to the world": {func(e *booking.Endpoint) { e.URL = "http://crm.example/hook" }, "endpoint_url"},
		"port 0":                  {func(e *booking.Endpoint) { e.URL = "https://crm.example:0/" }, "endpoint_url"},
		"port 99999":              {func(e *booking.Endpoint) { e.URL = "https://crm.example:99999/" }, "endpoint_url"},
		"no host but a port":      {func(e *booking.Endpoint) { e.URL = "https://:443/" }, "endpoint_url"},
		"an empty fragment":       {func(e *booking.Endpoint) { e.URL += "#" }, "endpoint_url"},
		"ninety umlauts":          {func(e *booking.Endpoint) { e.Name = strings.Repeat("ü", 90) }, ""},
		"plain http":              {func(e *booking.Endpoint) { e.URL = "http://10.0.0.7/hook" }, ""},
		"no name":                 {func(e *booking.Endpoint) { e.Name = "" }, "endpoint_name"},
		"two lines":               {func(e *booking.Endpoint) { e.Name = "a\nb" }, "endpoint_name"},
		"long name":               {func(e *booking.Endpoint) { e.Name = strings.Repeat("x", 101) }, "endpoint_name"},
		"no host":                 {func(e *booking.Endpoint) { e.URL = "https:///x" }, "endpoint_url"},
		"a file":                  {func(e *booking.Endpoint) { e.URL = "file:///etc/passwd" }, "endpoint_url"},
		"credentials":             {func(e *booking.Endpoint) { e.URL = "https://a:b@crm.example" }, "endpoint_url"},
		"a fragment":              {func(e *booking.Endpoint) { e.URL = "https://crm.example/#x" }, "endpoint_url"},
		"long url":                {func(e *booking.Endpoint) { e.URL += strings.Repeat("x", 2000) }, "endpoint_url"},
		"line in url":             {func(e *booking.Endpoint) { e.URL = "https://crm.example/\r\nHost: x" }, "endpoint_url"},
		"no event":                {func(e *booking.Endpoint) { e.Events = []booking.EndpointEvent{"booking.lost"} }, "event"},
		"test event":              {func(e *booking.Endpoint) { e.Events = []booking.EndpointEvent{booking.EventTest} }, "event"},
		"many resources":          {func(e *booking.Endpoint) { e.Resources = make([]uuid.UUID, 51) }, "resource"},
	} {
		e := good
		tt.change(&e)
		err := e.Check(func(address string) bool { return address == "10.0.0.7:80" })
		if tt.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if invalid := (*booking.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A message's id is that of the transition and of whom it is told to: asked for again
// it is the same, told to two it is two.
func TestWebhookIDs(t *testing.T) {
	t.Parallel()
	a, b := booking.Endpoint{ID: uuid.New()}, booking.Endpoint{ID: uuid.New()}
	tr := booking.Transition{ID: uuid.New(), To: booking.Active, Event: booking.Create, Outcome: booking.Applied}
	ids := []uuid.UUID{a.WebhookOf(&tr, "x", time.Time{}).ID, a.WebhookOf(&tr, "y", time.Now()).ID, b.WebhookOf(&tr, "x", time.Time{}).ID}
	if ids[0] != ids[1] || ids[0] == ids[2] {
		t.Errorf("the ids are %v", ids)
	}
	if id, ok := booking.EndpointOf(a.Target()); !ok || id != a.ID {
		t.Errorf("the target %q is of %s", a.Target(), id)
	}
	for _, target := range []string{"", "calendly", a.ID.String(), "endpoint:x"} {
		if _, ok := booking.EndpointOf(target); ok {
			t.Errorf("%q is an endpoint's", target)
		}
	}
	if schedule := booking.WebhookSchedule(); len(schedule) != 9 || !slices.IsSorted(schedule) {
		t.Errorf("the schedule is %v", schedule)
	}
}
