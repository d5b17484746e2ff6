package booking

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// EndpointEvent is what other systems are told of.
type EndpointEvent string

// The events. One transition is one of them at most.
const (
	EventActive     EndpointEvent = "booking.active"
	EventCanceled   EndpointEvent = "booking.canceled"
	EventMoved      EndpointEvent = "booking.moved"
	EventConflicted EndpointEvent = "booking.conflicted"
	EventReleased   EndpointEvent = "booking.released"
	EventRejected   EndpointEvent = "transition.rejected"
	EventFailing    EndpointEvent = "connection.failing"
	EventRecovered  EndpointEvent = "connection.recovered"
)

// EventTest is what an endpoint's test sends: no endpoint chooses it, all take it.
const EventTest EndpointEvent = "endpoint.test"

// EndpointEvents are those that an endpoint can choose.
func EndpointEvents() []EndpointEvent {
	return []EndpointEvent{
		EventActive, EventCanceled, EventMoved, EventConflicted, EventReleased, EventRejected, EventFailing, EventRecovered,
	}
}

// EndpointEvent is what a transition is to other systems; "" for what they are not
// told of: that a request came, or what was only accepted or filled in.
func (t *Transition) EndpointEvent() EndpointEvent {
	switch {
	case t.Outcome == Rejected:
		return EventRejected
	case t.From == Canceled:
		return "" // only what is told of it changed
	case t.To == Canceled:
		return EventCanceled
	case t.To == Conflicted && t.From != Conflicted:
		return EventConflicted
	case t.Event == Release:
		return EventReleased
	case t.To == Active && (t.From == New || t.From == Pending):
		return EventActive
	case t.Event == Move && t.From != New:
		return EventMoved
	case t.To == Active && t.From == Conflicted:
		return EventReleased // a create that found its slot free
	}
	return ""
}

// EndpointOff says why an endpoint is not told of anything; "" of one that is.
type EndpointOff string

// A person switched it off, it answered 410, or nothing got through for
// EndpointPatience.
const (
	OffByHand  EndpointOff = "by_hand"
	OffGone    EndpointOff = "gone"
	OffFailing EndpointOff = "failing"
)

// EndpointOffs are all of them.
func EndpointOffs() []EndpointOff { return []EndpointOff{OffByHand, OffGone, OffFailing} }

// Bounds of endpoints.
const (
	// EndpointPatience is how long nothing may get through before an endpoint is
	// switched off.
	EndpointPatience = 5 * 24 * time.Hour
	// EndpointBacklog is how many messages of an endpoint are open at once: what is
	// more stays in the audit log alone until some are done, so that a system that is
	// away does not fill the database.
	EndpointBacklog = 1000

	// MaxEndpoints there are at most: each is looked after twice a second.
	MaxEndpoints = 50

	maxEndpointName      = 100
	maxEndpointURL       = 2000
	maxEndpointResources = 50
)

// Endpoint is another system's URL that is told of events.
type Endpoint struct {
	ID   uuid.UUID
	Name string
	// URL may hold a secret, as may its query: it is sealed, and shown to
	// administrators only.
	URL string
	// Events and Resources narrow what is told; none is all. What is about no resource
	// is told to endpoints that are narrowed to none.
	Events    []EndpointEvent
	Resources []uuid.UUID
	// People says that names, e-mail addresses and phone numbers are told.
	People bool
	// Secret signs, in the form whsec_…, and OldSecret besides while a rotation is
	// under way; "" otherwise.
	Secret, OldSecret string
	// Cursor is the ledger's seq up to which the endpoint was told.
	Cursor int64
	// FailingSince is when what was sent began to fail without a success in between.
	FailingSince *time.Time
	Off          EndpointOff
	OffAt        *time.Time
	CreatedBy    Actor
	CreatedAt    time.Time
}

// failingSoon is when the alerts' page says that nothing gets through: once the second
// try, five seconds after the first, had its time too. warnAfter later it is a warning,
// for whoever is told of no less.
const failingSoon = time.Minute

// Trouble is what somebody has to see to about an endpoint. One that a person switched
// off is none.
func (e Endpoint) Trouble(now time.Time) (Trouble, bool) {
	t := Trouble{Kind: TroubleEndpoint, Subject: e.ID.String(), Count: 1, Resources: e.Resources}
	switch {
	case e.Off == OffByHand:
		return t, false
	case e.Off != "":
		t.Detail, t.Since = "off_"+string(e.Off), *e.OffAt
	case e.FailingSince != nil && now.Sub(*e.FailingSince) >= failingSoon:
		t.Since = *e.FailingSince
	default:
		return t, false
	}
	return t, true
}

// EndpointQueue is how an endpoint is, and what it is still to be told.
type EndpointQueue struct {
	ID      uuid.UUID
	Off     EndpointOff
	Waiting int
	// Oldest is when the first of what waits was asked for; nil where nothing does.
	Oldest *time.Time
}

// Rotating tells whether two secrets sign.
func (e Endpoint) Rotating() bool { return e.OldSecret != "" }

// Target is where an endpoint's effects go.
func (e Endpoint) Target() string { return EndpointTarget(e.ID) }

const endpointTarget = "endpoint:"

// EndpointTarget is the target of the effects that tell an endpoint.
func EndpointTarget(id uuid.UUID) string { return endpointTarget + id.String() }

// EndpointOf is the endpoint that effects of a target go to.
func EndpointOf(target string) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(target, endpointTarget)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// Hears tells whether an endpoint is told of an event about such resources.
func (e Endpoint) Hears(event EndpointEvent, resources []uuid.UUID) bool {
	if event == "" || len(e.Events) > 0 && !slices.Contains(e.Events, event) {
		return false
	}
	return len(e.Resources) == 0 || slices.ContainsFunc(resources, func(id uuid.UUID) bool { return slices.Contains(e.Resources, id) })
}

// Scope is how much of a booking an endpoint is told.
func (e Endpoint) Scope() Scope { return Scope{HideNames: !e.People, HidePhones: !e.People} }

// Host is what people see of the URL: the rest may be secret.
func (e Endpoint) Host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Check refuses what cannot be told: its errors name the field. private tells whether a
// "host:port" is one that may be reached on a private network: to those alone nothing
// need be encrypted.
func (e Endpoint) Check(private func(address string) bool) error {
	switch {
	case e.Name == "" || utf8.RuneCountInString(e.Name) > maxEndpointName || strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' }):
		return &InvalidError{Field: "endpoint_name", Detail: fmt.Sprintf("an endpoint has a name of at most %d characters, on one line", maxEndpointName)}
	case !e.reachable(private):
		return &InvalidError{Field: "endpoint_url", Detail: fmt.Sprintf("give a URL that begins with https://, without a user name or fragment, of at most %d bytes; http:// is for hosts that SLOTKEEPER_ALLOW_PRIVATE_HOSTS lists", maxEndpointURL)}
	case slices.ContainsFunc(e.Events, func(v EndpointEvent) bool { return !slices.Contains(EndpointEvents(), v) }):
		return &InvalidError{Field: "event", Detail: "an event is one of those that can be chosen: see docs/outgoing-webhooks.md"}
	case len(e.Resources) > maxEndpointResources:
		return &InvalidError{Field: "resource", Detail: fmt.Sprintf("an endpoint has at most %d resources: leave them out for all", maxEndpointResources)}
	}
	return nil
}

// ErrManyEndpoints says that there are MaxEndpoints already.
var ErrManyEndpoints = &InvalidError{Field: "endpoints", Detail: fmt.Sprintf("there are %d endpoints already, and no more: remove one", MaxEndpoints)}

func (e Endpoint) reachable(private func(address string) bool) bool {
	u, err := url.Parse(e.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Contains(e.URL, "#") || len(e.URL) > maxEndpointURL {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && private(u.Hostname()+":"+port)
}

// EffectWebhook tells an endpoint of an event.
const EffectWebhook EffectKind = "webhook"

// WebhookOf is the effect that tells an endpoint of a transition. Its id is the
// message's, the same however often it is asked for and sent.
func (e Endpoint) WebhookOf(t *Transition, requestID string, now time.Time) Effect {
	return Effect{
		ID: derive("webhook", t.ID.String(), e.ID.String()), Action: t.ID, Kind: EffectWebhook, Event: t.EndpointEvent(),
		Lane: Lane{BookingID: t.BookingID, Target: e.Target()}, RequestID: requestID, Actor: t.Actor, Status: EffectPending, CreatedAt: now, DueAt: now,
	}
}

// ConnectionNotice is the payload of what tells of a connection.
type ConnectionNotice struct {
	// Since is when it began to fail, Cause a word for why.
	Since time.Time `json:"since"`
	Cause string    `json:"cause,omitempty"`
}

// ConnectionEvent is what an alert's step is to other systems, and the action of the
// effects that tell of it; "" for nothing.
func (s AlertStep) ConnectionEvent() (EndpointEvent, uuid.UUID) {
	if s.Alert.Kind != TroubleConnection {
		return "", uuid.Nil
	}
	switch s.Event {
	case AlertOpened, AlertReturned:
		return EventFailing, s.Alert.tells(EventFailing)
	case AlertRecovered:
		return EventRecovered, s.Alert.tells(EventRecovered)
	case AlertWorse:
	}
	return "", uuid.Nil
}

func (a Alert) tells(e EndpointEvent) uuid.UUID {
	return derive("alert", a.ID.String(), string(e), strconv.Itoa(a.Returns))
}

// ToldFailing is the action by which endpoints were told that what an alert is about
// began to fail: whoever was hears of its end.
func (a Alert) ToldFailing() uuid.UUID { return a.tells(EventFailing) }

// WebhookOfConnection is the effect that tells an endpoint of a connection.
func (e Endpoint) WebhookOfConnection(event EndpointEvent, action, connection uuid.UUID, payload []byte, now time.Time) Effect {
	return Effect{
		ID: derive("webhook", action.String(), e.ID.String()), Action: action, Kind: EffectWebhook, Event: event, Lane: Lane{Target: e.Target()},
		ConnectionID: connection, Actor: ActorSystem, Status: EffectPending, CreatedAt: now, DueAt: now, Payload: payload,
	}
}

// WebhookSchedule are the waits between tries, as the Standard Webhooks
// specification proposes them: ten tries in some three days.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability
func WebhookSchedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// AttemptCause is why a try failed; "" of one that got through.
type AttemptCause string

// An endpoint refuses, leads elsewhere, or does not answer: in time, because nobody
// knows its host, because nothing listens there, because its certificate is not valid,
// because it is on a private network, or for another reason. A message that cannot be
// made is our fault.
const (
	AttemptRefused     AttemptCause = "refused"
	AttemptRedirected  AttemptCause = "redirected"
	AttemptTimeout     AttemptCause = "timeout"
	AttemptNoHost      AttemptCause = "no_host"
	AttemptNobody      AttemptCause = "nobody"
	AttemptCertificate AttemptCause = "certificate"
	AttemptPrivate     AttemptCause = "private"
	AttemptUnanswered  AttemptCause = "unanswered"
	AttemptUnmade      AttemptCause = "unmade"
)

// AttemptCauses are all of them.
func AttemptCauses() []AttemptCause {
	return []AttemptCause{
		AttemptRefused, AttemptRedirected, AttemptTimeout, AttemptNoHost, AttemptNobody, AttemptCertificate, AttemptPrivate, AttemptUnanswered, AttemptUnmade,
	}
}

// Attempt is one try to tell an endpoint, and how it ended.
type Attempt struct {
	Effect uuid.UUID
	Number int
	At     time.Time
	Took   time.Duration
	// Status is that of the answer; 0 when there was none.
	Status int
	// Answer is the beginning of what a refusal said.
	Answer string
	// Cause and Error say why it failed; "" of one that got through.
	Cause AttemptCause
	Error string
	// RetryAfter is how long the endpoint asked to be left alone.
	RetryAfter time.Duration
}

// Gone tells whether the endpoint said that it wants no more of it, ever.
func (a Attempt) Gone() bool { return a.Status == 410 }

// After is an endpoint after a try: switched off when it is gone, or when nothing got
// through for too long.
func (e Endpoint) After(a Attempt) Endpoint {
	switch {
	case a.Error == "":
		e.FailingSince = nil
	case e.FailingSince == nil:
		e.FailingSince = &a.At
	}
	switch {
	case e.Off != "":
	case a.Gone():
		e.Off, e.OffAt = OffGone, &a.At
	case e.FailingSince != nil && a.At.Sub(*e.FailingSince) >= EndpointPatience:
		e.Off, e.OffAt = OffFailing, &a.At
	}
	return e
}
