package calendlytest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
)

// The events that subscriptions are for (OFF), of those that concern bookings.
const (
	inviteeCreated  = "invitee.created"
	inviteeCanceled = "invitee.canceled"
	noShowCreated   = "invitee_no_show.created"
	noShowDeleted   = "invitee_no_show.deleted"
)

// subscription was made over the API.
type subscription struct {
	id, url          string
	events           []string
	user             *person // nil for the whole organization
	creator          *person
	key              string
	created, updated time.Time
	disabled         bool
	retrying         time.Time // zero for not
}

func (b *subscription) path() string { return "/webhook_subscriptions/" + b.id }

// wire never has the key (OFF).
func (b *subscription) wire() map[string]any {
	scope, state := "organization", "active"
	var user, retrying any
	if b.user != nil {
		scope, user = "user", uri(b.user.path())
	}
	if b.disabled {
		state = "disabled"
	}
	if !b.retrying.IsZero() {
		retrying = b.retrying.Format(stamp)
	}
	return map[string]any{
		"uri": uri(b.path()), "callback_url": b.url, "created_at": b.created.Format(stamp), "updated_at": b.updated.Format(stamp),
		"retry_started_at": retrying, "state": state, "events": b.events, "scope": scope, "organization": Organization,
		"user": user, "group": nil, "creator": uri(b.creator.path()),
	}
}

// postSubscription: an organization's needs an owner or administrator; of one user's
// no two have the same URL (OFF).
func (s *Server) postSubscription(r *http.Request, by *grant) (any, *refusal) {
	var in struct {
		URL          string   `json:"url"`
		Events       []string `json:"events"`
		Organization string   `json:"organization"`
		User         string   `json:"user"`
		Scope        string   `json:"scope"`
		SigningKey   string   `json:"signing_key"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, invalid("body")
	}
	known := []string{inviteeCreated, inviteeCanceled, noShowCreated, noShowDeleted}
	strange := func(name string) bool { return !slices.Contains(known, name) }
	target, err := url.Parse(in.URL)
	switch {
	case err != nil || target.Host == "":
		return nil, invalid("url")
	case len(in.Events) == 0 || slices.ContainsFunc(in.Events, strange):
		return nil, invalid("events")
	case in.Organization != Organization:
		return nil, invalid("organization")
	case in.Scope != "organization" && in.Scope != "user":
		return nil, invalid("scope")
	case s.noHooks:
		return nil, denied("Please upgrade to a paid Calendly account.")
	}
	var user *person
	if in.Scope == "user" {
		i := slices.IndexFunc(s.people, func(p *person) bool { return in.User == uri(p.path()) })
		if i < 0 {
			return nil, invalid("user")
		}
		user = s.people[i]
	}
	if !by.of.manages() && user != by.of {
		return nil, denied("You do not have permission")
	}
	if slices.ContainsFunc(s.subscriptions, func(b *subscription) bool { return b.url == in.URL && b.creator == by.of }) {
		return nil, &refusal{status: http.StatusConflict, message: "Hook with this url already exists"}
	}
	s.next++
	slices.Sort(in.Events)
	b := &subscription{
		id: fmt.Sprintf("0a1b2c3d-0000-4000-8000-%012d", s.next), url: in.URL, events: in.Events, user: user, creator: by.of,
		key: in.SigningKey, created: s.now(), updated: s.now(),
	}
	if by.app { // an app has one key for all (OFF); that it wins over another is INF
		b.key = s.options.App.SigningKey
	}
	s.subscriptions = append(s.subscriptions, b)
	return resource(b.wire()), nil
}

func (s *Server) listSubscriptions(r *http.Request, by *grant) (any, *refusal) {
	q := r.URL.Query()
	scope, user := q.Get("scope"), q.Get("user")
	switch {
	case q.Get("organization") != Organization:
		return nil, invalid("organization")
	case scope != "organization" && scope != "user":
		return nil, invalid("scope")
	case scope == "user" && user == "":
		return nil, invalid("user")
	case !by.of.manages() && (scope == "organization" || user != uri(by.of.path())):
		return nil, denied("You do not have permission")
	}
	var all []map[string]any
	for _, b := range s.subscriptions {
		if scope == "organization" && b.user == nil || scope == "user" && b.user != nil && uri(b.user.path()) == user {
			all = append(all, b.wire())
		}
	}
	return s.paged(r, all)
}

func (s *Server) subscription(r *http.Request) int {
	return slices.IndexFunc(s.subscriptions, func(b *subscription) bool { return b.id == r.PathValue("id") })
}

func (s *Server) getSubscription(r *http.Request, _ *grant) (any, *refusal) {
	i := s.subscription(r)
	if i < 0 {
		return nil, &refusal{status: http.StatusNotFound}
	}
	return resource(s.subscriptions[i].wire()), nil
}

func (s *Server) deleteSubscription(r *http.Request, _ *grant) (any, *refusal) {
	i := s.subscription(r)
	if i < 0 {
		return nil, &refusal{status: http.StatusNotFound}
	}
	s.subscriptions = slices.Delete(s.subscriptions, i, i+1)
	return nil, nil
}

// SetHook subscribes to bodies of before 2023, beside what was subscribed over the
// API; the zero Hook unsubscribes.
func (s *Server) SetHook(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
}

// SetWebhooks says whether the plan has webhooks.
func (s *Server) SetWebhooks(has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noHooks = !has
}

// Fail has the subscriptions to a URL fail since now: they are tried again, or, when
// that took 24 hours, disabled. No notice is given, and nothing enables them (OFF).
func (s *Server) Fail(target string, disabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.subscriptions {
		if b.url == target {
			b.retrying, b.updated, b.disabled = s.now(), s.now(), disabled
		}
	}
}

// Narrow takes an event from the subscriptions to a URL, as one does that was made
// anew by another program.
func (s *Server) Narrow(target, event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.subscriptions {
		if b.url == target {
			b.events = slices.DeleteFunc(slices.Clone(b.events), func(e string) bool { return e == event })
		}
	}
}

// SubscribedTo are the events that are posted to a URL.
func (s *Server) SubscribedTo(target string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, b := range s.subscriptions {
		if b.url == target && !b.disabled {
			out = append(out, b.events...)
		}
	}
	slices.Sort(out)
	return out
}

// Recover has posts to a URL get through again.
func (s *Server) Recover(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.subscriptions {
		if b.url == target {
			b.retrying, b.updated = time.Time{}, s.now()
		}
	}
}

// Unsubscribe deletes the subscriptions to a URL, as a person or another program
// does.
func (s *Server) Unsubscribe(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(b *subscription) bool { return b.url == target })
}

// Subscribed are the URLs that were subscribed over the API, in order.
func (s *Server) Subscribed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, b := range s.subscriptions {
		out = append(out, b.url)
	}
	return out
}

// happening is what posts are about.
type happening struct {
	name  string
	about *invitee
}

// posts are what every subscription is sent of what happened. That a user's own are
// those of the events that he hosts is INF.
func (s *Server) posts(happened ...happening) ([]apitest.Post, error) {
	var out []apitest.Post
	for _, h := range happened {
		if s.hook != (Hook{}) {
			payload := h.about.wire()
			payload["canceled"] = h.about.ended != nil
			p, err := s.post(s.hook.URL, s.hook.Key, h, payload, h.about.event.hosts[0].ID)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
		for _, b := range s.subscriptions {
			if b.disabled || !slices.Contains(b.events, h.name) || b.user != nil && !h.about.event.hostedBy(publicBase+b.user.path()) {
				continue
			}
			p, err := s.post(b.url, b.key, h, h.about.payload(), b.creator.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// post signs with the key of the subscription; without one it signs nothing (INF).
// The envelope's time is in whole seconds (REC).
func (s *Server) post(target, key string, h happening, payload map[string]any, creator string) (apitest.Post, error) {
	now := s.now()
	body, err := json.Marshal(map[string]any{
		"event": h.name, "created_at": now.Truncate(time.Second).Format(stamp), "created_by": publicBase + "/users/" + creator, "payload": payload,
	})
	if err != nil {
		return apitest.Post{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if key != "" {
		header = calendly.New(0).Sign(body, key, now)
	}
	return apitest.Post{URL: target, Header: header, Body: body}, nil
}

// Outbox takes the posts of what was done over the API, in order. What is done by
// this package's methods gives its posts back itself.
func (s *Server) Outbox() []apitest.Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.outbox
	s.outbox = nil
	return out
}

// Sender sends as Calendly does: again after anything but 2xx, for 24 hours, but
// for 410 (OFF).
func (s *Server) Sender(client *http.Client) apitest.Sender {
	return apitest.Sender{
		Client: client, Tempo: s.options.Tempo, For: 24 * time.Hour,
		Again: func(status int) bool {
			return status != http.StatusGone && (status < http.StatusOK || status >= http.StatusMultipleChoices)
		},
	}
}

// Deliver sends posts, in the order given, and does what follows of the answers:
// 410 deletes the subscription, and one whose post was not taken in 24 hours is
// disabled (OFF).
func (s *Server) Deliver(ctx context.Context, client *http.Client, posts ...apitest.Post) ([]int, error) {
	statuses, err := s.Sender(client).Send(ctx, posts...)
	for n, status := range statuses {
		switch {
		case status == http.StatusGone:
			s.Unsubscribe(posts[n].URL)
		case status < http.StatusOK || status >= http.StatusMultipleChoices:
			s.Fail(posts[n].URL, true)
		}
	}
	return statuses, err
}
