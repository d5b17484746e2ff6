package calcom

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"slotkeeper/providers"
)

const (
	hooksPage = 250
	// maxHookPages bounds a list that never ends.
	maxHookPages = 20

	whereHooks = "Settings → Developer → Webhooks"

	outOfOfficeCreated = "OOO_CREATED"
)

// HookKinds are the events of a webhook.
func (*Provider) HookKinds() []providers.HookKind {
	return []providers.HookKind{
		{Name: created, Of: providers.TopicBooked},
		{Name: requested, Of: providers.TopicRequested},
		{Name: rescheduled, Of: providers.TopicMoved},
		{Name: cancelled, Of: providers.TopicCanceled},
		{Name: rejected, Of: providers.TopicDeclined},
		{Name: paymentInitiated, Of: providers.TopicUnpaid, Newer: true},
		{Name: noShowUpdated, Of: providers.TopicNoShow, Newer: true},
		{Name: outOfOfficeCreated, Of: providers.TopicAbsence, Newer: true},
	}
}

// triggerSets are the events to subscribe to, from all that we use down to what
// every version has: one that does not know a name refuses the whole list.
func triggerSets() [][]string {
	var all, bookings []string
	for _, kind := range (*Provider)(nil).HookKinds() {
		all = append(all, kind.Name)
		if !kind.Newer {
			bookings = append(bookings, kind.Name)
		}
	}
	return [][]string{all, all[:len(all)-1], bookings}
}

// hook is a webhook as the API tells of it. The secret is told by some versions
// only.
type hook struct {
	providers.Hook
	url    string
	secret string
}

// Hooks are the user's webhooks that post to target. A *ManualError says that this
// API does not tell them.
func (*Provider) Hooks(ctx context.Context, client *http.Client, c providers.Connection, target string) ([]providers.Hook, error) {
	found, err := hooksTo(ctx, client, c, target)
	if err != nil {
		return nil, manual(err)
	}
	return plain(c.Secrets, found), nil
}

// plain says of each whether its posts are refused for their secret. Dots in its
// place tell nothing.
func plain(s providers.Secrets, hooks []hook) []providers.Hook {
	var out []providers.Hook
	for _, h := range hooks {
		told := strings.Trim(h.secret, "*•.") != ""
		h.Foreign = told && h.secret != s.Current && h.secret != s.Previous
		out = append(out, h.Hook)
	}
	return out
}

// Subscribe makes the one webhook that a user may have for a URL, or takes over
// the one that there is: it gets our secret and our events, and loses a payload
// template, which would make bodies that nobody can read.
func (*Provider) Subscribe(ctx context.Context, client *http.Client, c providers.Connection, target string, _ providers.Profile) ([]providers.Hook, error) {
	if c.Secrets.Current == "" {
		return nil, errors.New("the connection has no secret to sign with")
	}
	stands, err := hooksTo(ctx, client, c, target)
	if err == nil && len(stands) == 0 {
		var h hook
		h, err = makeHook(ctx, client, c, target)
		switch {
		case err == nil:
			return plain(c.Secrets, []hook{h}), nil
		case status(err) == http.StatusConflict: // somebody was quicker, or an answer was lost
			stands, err = hooksTo(ctx, client, c, target)
		}
	}
	if err != nil {
		return nil, manual(err)
	}
	for i, h := range stands {
		if h.ours(c.Secrets.Current) {
			continue
		}
		if stands[i], err = adopt(ctx, client, c, h); err != nil {
			return nil, manual(err)
		}
	}
	return plain(c.Secrets, stands), nil
}

// ours tells whether nothing is to be changed. A version that tells no secrets
// leaves that open, and then all is set anew.
func (h hook) ours(secret string) bool {
	all := triggerSets()[0]
	return h.secret == secret && h.Active && !h.Templated && len(h.Kinds) == len(all) &&
		!slices.ContainsFunc(all, func(trigger string) bool { return !slices.Contains(h.Kinds, trigger) })
}

func makeHook(ctx context.Context, client *http.Client, c providers.Connection, target string) (hook, error) {
	return put(ctx, client, c, request{method: http.MethodPost, path: "/webhooks"}, map[string]any{
		"subscriberUrl": target, "active": true, "secret": c.Secrets.Current,
	})
}

func adopt(ctx context.Context, client *http.Client, c providers.Connection, h hook) (hook, error) {
	return put(ctx, client, c, request{method: http.MethodPatch, path: "/webhooks/" + url.PathEscape(h.ID), repeatable: true}, map[string]any{
		"active": true, "secret": c.Secrets.Current, "payloadTemplate": nil,
	})
}

// put asks with ever fewer events until the API takes the list.
func put(ctx context.Context, client *http.Client, c providers.Connection, r request, body map[string]any) (hook, error) {
	var last error
	for _, triggers := range triggerSets() {
		body["triggers"] = triggers
		r.version, r.json = bookingsVersion, body
		answer, err := send(ctx, client, c, r)
		if err == nil {
			h := readHook(answer.Get("data"))
			if h.ID == "" {
				return hook{}, providers.BadAnswer("the webhook has no id")
			}
			return h, nil
		}
		last = err
		if status(err) != http.StatusBadRequest {
			break
		}
	}
	return hook{}, last
}

// Unsubscribe removes the user's webhooks that post to target.
func (*Provider) Unsubscribe(ctx context.Context, client *http.Client, c providers.Connection, target string) error {
	found, err := hooksTo(ctx, client, c, target)
	if err != nil {
		return manual(err)
	}
	for _, h := range found {
		r := request{method: http.MethodDelete, path: "/webhooks/" + url.PathEscape(h.ID), version: bookingsVersion}
		if _, err := send(ctx, client, c, r); err != nil && !errors.Is(err, providers.ErrGone) {
			return manual(err)
		}
	}
	return nil
}

func hooksTo(ctx context.Context, client *http.Client, c providers.Connection, target string) ([]hook, error) {
	var out []hook
	for page := range maxHookPages {
		path := "/webhooks?take=" + strconv.Itoa(hooksPage) + "&skip=" + strconv.Itoa(page*hooksPage)
		answer, err := get(ctx, client, c, path, bookingsVersion)
		if err != nil {
			return nil, err
		}
		if !answer.Get("data").Array() {
			return nil, providers.BadAnswer("it is not a list of webhooks")
		}
		n := 0
		for v := range answer.Get("data").Items() {
			n++
			if h := readHook(v); h.ID != "" && h.url == target {
				out = append(out, h)
			}
		}
		if n < hooksPage {
			break
		}
	}
	return out, nil
}

func readHook(v providers.Value) hook {
	h := hook{url: v.Get("subscriberUrl").Text(), secret: v.Get("secret").Text()}
	h.Templated = v.Get("payloadTemplate").Text() != ""
	h.ID = numeral(v.Get("id"))
	h.Active, _ = v.Get("active").Bool()
	for t := range v.Get("triggers").Items() {
		if name := t.Text(); name != "" {
			h.Kinds = append(h.Kinds, name)
		}
	}
	return h
}

// manual tells an API that lets nobody register webhooks, and one that lets not this
// key. A key that is not accepted opens nothing, here or elsewhere: it is not for a
// person to enter a webhook by hand, but to give another key.
func manual(err error) error {
	switch {
	case errors.Is(err, providers.ErrGone):
		return &providers.ManualError{Why: "this Cal.com's API has no webhooks", Where: whereHooks}
	case status(err) != http.StatusForbidden:
		return err
	}
	manual := &providers.ManualError{Why: "the key may not register webhooks", Where: whereHooks}
	var answer *providers.AnswerError
	if errors.As(err, &answer) && answer.Message != "" {
		manual.Why, manual.Said = answer.Message, answer.Message
	}
	return manual
}
