package calendly

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"slotkeeper/providers"
)

// The scopes of a subscription that we use.
const (
	scopeUser         = "user"
	scopeOrganization = "organization"
)

// byHand says where a webhook is made by hand: Calendly has no page for it.
const byHand = "Integrations & apps, API and webhooks: make a token there as an owner or administrator whose plan has webhooks, " +
	"and with it POST the URL as url and the secret as signing_key to https://api.calendly.com/webhook_subscriptions"

var errNoSigningKey = errors.New("the connection has no signing key; without one nobody could verify the posts")

// HookKinds are the events of a subscription.
func (*Provider) HookKinds() []providers.HookKind {
	return []providers.HookKind{
		{Name: inviteeCreated, Of: providers.TopicBooked},
		{Name: inviteeCanceled, Of: providers.TopicCanceled},
		{Name: noShowCreated, Of: providers.TopicNoShow},
		{Name: noShowDeleted, Of: providers.TopicNoShow},
	}
}

// subscription is the body of a POST to /webhook_subscriptions.
type subscription struct {
	URL          string   `json:"url"`
	Events       []string `json:"events"`
	Organization string   `json:"organization"`
	User         string   `json:"user,omitempty"`
	Scope        string   `json:"scope"`
	SigningKey   string   `json:"signing_key,omitempty"`
}

// Hooks are the subscriptions to target of the token's user and of the
// organization, as far as he may see them: a list that the API refuses tells of
// none.
func (*Provider) Hooks(ctx context.Context, client *http.Client, c providers.Connection, target string) ([]providers.Hook, error) {
	a := &api{client: client, connection: c}
	me, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	return a.hooks(ctx, address(me.organization), address(me.host.ExternalID), target)
}

func (a *api) hooks(ctx context.Context, organization, user, target string) ([]providers.Hook, error) {
	var out []providers.Hook
	take := func(v providers.Value) {
		id := identity(v.Get("uri"))
		known := slices.ContainsFunc(out, func(h providers.Hook) bool { return h.ID == id })
		if v.Get("callback_url").Text() == target && hookPath.MatchString(id) && !known {
			out = append(out, hook(id, v))
		}
	}
	for _, query := range []url.Values{
		{"organization": {organization}, "scope": {scopeUser}, "user": {user}},
		{"organization": {organization}, "scope": {scopeOrganization}},
	} {
		err := a.each(ctx, "/webhook_subscriptions", query, take)
		if _, no := forbidden(err); err != nil && !no {
			return nil, err
		}
	}
	return out, nil
}

func hook(id string, v providers.Value) providers.Hook {
	var in providers.Fields
	h := providers.Hook{ID: id, Active: v.Get("state").Text() == "active", FailingSince: in.Time(v.Get("retry_started_at"), "retry_started_at")}
	for event := range v.Get("events").Items() {
		h.Kinds = append(h.Kinds, event.Text())
	}
	return h
}

// Subscribe makes a subscription for the organization, or for the user where the
// token sees no more. The API never tells the key of one that stands already, so
// that it is deleted and made anew, disabled ones too, which nothing enables. It is
// made first and the others deleted then, where Calendly lets two stand beside each
// other; where it answers 409, the gap between the two requests is the reconcile's
// to fill.
//
// A subscription made with an OAuth app's token, which is one that can be renewed,
// is signed with the app's own key, which Calendly makes: none is sent along then,
// and Secrets.Current is the app's. What the API makes of another one is not
// documented.
func (v *Provider) Subscribe(ctx context.Context, client *http.Client, c providers.Connection, target string, p providers.Profile) ([]providers.Hook, error) {
	if c.Secrets.Current == "" {
		return nil, errNoSigningKey
	}
	a := &api{client: client, connection: c}
	s := subscription{URL: target, Organization: p.Organization, Scope: scopeOrganization, SigningKey: c.Secrets.Current}
	for _, kind := range v.HookKinds() {
		s.Events = append(s.Events, kind.Name)
	}
	if c.API.Refresh != "" {
		s.SigningKey = ""
	}
	user := address(p.ExternalID)
	if !p.Wide {
		s.Scope, s.User = scopeUser, user
	}
	made, err := a.subscribe(ctx, s)
	again := exists(err)
	if again {
		if err = a.unsubscribe(ctx, p.Organization, user, target, ""); err == nil {
			made, err = a.subscribe(ctx, s)
		}
	}
	if message, no := forbidden(err); no {
		why := strings.TrimPrefix(message, "Permission Denied: ")
		err = &providers.ManualError{Why: why, Said: why, Where: byHand}
	}
	switch {
	case err != nil && again:
		return nil, &providers.UnhookedError{Err: err}
	case err != nil:
		return nil, err
	}
	if err := a.unsubscribe(ctx, p.Organization, user, target, made.ID); err != nil {
		return nil, err
	}
	return []providers.Hook{made}, nil
}

func (a *api) subscribe(ctx context.Context, s subscription) (providers.Hook, error) {
	answer, err := a.call(ctx, http.MethodPost, "/webhook_subscriptions", nil, s, maxResource, false)
	if err != nil {
		return providers.Hook{}, err
	}
	made := answer.Get("resource")
	id := identity(made.Get("uri"))
	if !hookPath.MatchString(id) || made.Get("callback_url").Text() != s.URL {
		return providers.Hook{}, providers.BadAnswer("it is not about the subscription that was made")
	}
	return hook(id, made), nil
}

// exists tells whether the API refused a subscription because one stands already.
func exists(err error) bool {
	var refused *providers.AnswerError
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// Unsubscribe deletes all subscriptions to target that the token's user may see.
func (*Provider) Unsubscribe(ctx context.Context, client *http.Client, c providers.Connection, target string) error {
	a := &api{client: client, connection: c}
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	return a.unsubscribe(ctx, address(me.organization), address(me.host.ExternalID), target, "")
}

func (a *api) unsubscribe(ctx context.Context, organization, user, target, but string) error {
	standing, err := a.hooks(ctx, organization, user, target)
	if err != nil {
		return err
	}
	for _, h := range standing {
		if h.ID == but {
			continue
		}
		_, err := a.call(ctx, http.MethodDelete, h.ID, nil, nil, maxResource, true)
		if err != nil && !errors.Is(err, providers.ErrGone) {
			return err
		}
	}
	return nil
}
