package acuity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"slotkeeper/providers"
)

// HookKinds are what we have posted, each by a hook of its own. "changed" comes
// beside the others and tells of no-shows and edits, which they do not.
func (*Provider) HookKinds() []providers.HookKind {
	return []providers.HookKind{
		{Name: "appointment.scheduled", Of: providers.TopicBooked},
		{Name: "appointment.rescheduled", Of: providers.TopicMoved},
		{Name: "appointment.canceled", Of: providers.TopicCanceled},
		{Name: "appointment.changed", Of: providers.TopicChanged},
	}
}

const (
	active = "active"
	// where hooks are made by hand.
	where = "Integrations → Webhooks"
	// undoTime is how long hooks are taken back that were made in vain, though
	// whoever asked for them may have left.
	undoTime = 30 * time.Second
	maxHooks = 1 << 20
)

// Hooks are those made over the API; hooks made in Acuity's pages are in no list.
// The API does not tell who made one, and thus whose key it signs with.
func (*Provider) Hooks(ctx context.Context, client *http.Client, c providers.Connection, target string) ([]providers.Hook, error) {
	return newAPI(client, c).hooks(ctx, target)
}

func (a *api) hooks(ctx context.Context, target string) ([]providers.Hook, error) {
	answer, err := a.list(ctx, "/webhooks", nil, maxHooks, "webhooks")
	if err != nil {
		return nil, err
	}
	var all []providers.Hook
	for _, listed := range answer {
		if listed.Get("target").Text() != target {
			continue
		}
		h, err := hook(listed)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

func hook(v providers.Value) (providers.Hook, error) {
	var in providers.Fields
	h := providers.Hook{
		ID: number(&in, v.Get("id"), "id"), Active: v.Get("status").Text() == active, Kinds: []string{v.Get("event").Text()},
	}
	if in.Fault() != nil || h.Kinds[0] == "" {
		return providers.Hook{}, providers.BadAnswer("a webhook in it has no id or no event")
	}
	return h, nil
}

// Subscribe makes the hooks that are missing, and makes those anew that Acuity
// disabled: there is no way to enable one. They sign with the API key of the user
// who makes them, which is the connection's secret. A hook that is active is
// adopted: it was made for this target, which only this connection has. When one
// cannot be made, those made before are taken back.
func (p *Provider) Subscribe(ctx context.Context, client *http.Client, c providers.Connection, target string, _ providers.Profile) ([]providers.Hook, error) {
	a := newAPI(client, c)
	before, err := a.hooks(ctx, target)
	if err != nil {
		return nil, manual(err)
	}
	stands := map[string]providers.Hook{}
	for _, h := range before {
		if _, twice := stands[h.Kinds[0]]; h.Active && !twice {
			stands[h.Kinds[0]] = h
			continue
		}
		// What is disabled, or is there twice, takes one of the account's 25 places.
		if err := a.unhook(ctx, h.ID); err != nil {
			return nil, err
		}
	}
	kinds := p.HookKinds()
	all := make([]providers.Hook, 0, len(kinds))
	for _, kind := range kinds {
		h, found := stands[kind.Name]
		if !found {
			if h, err = a.hook(ctx, kind.Name, target); err != nil {
				return nil, errors.Join(manual(err), a.undo(ctx, before, target))
			}
		}
		all = append(all, h)
	}
	return all, nil
}

// hook makes one. The next past 25 of the account is refused with 400.
func (a *api) hook(ctx context.Context, event, target string) (providers.Hook, error) {
	answer, err := a.do(ctx, http.MethodPost, "/webhooks", nil, map[string]string{"event": event, "target": target}, maxHooks)
	if err != nil {
		return providers.Hook{}, err
	}
	h, err := hook(answer)
	if err == nil && h.Kinds[0] != event {
		err = providers.BadAnswer("it is not the webhook that was asked for")
	}
	return h, err
}

func (a *api) unhook(ctx context.Context, id string) error {
	_, err := a.do(ctx, http.MethodDelete, "/webhooks/"+id, nil, nil, maxHooks)
	if errors.Is(err, providers.ErrGone) {
		return nil
	}
	return err
}

// undo removes what was not there before. It asks again what there is: a hook may
// have been made whose answer never came.
func (a *api) undo(ctx context.Context, before []providers.Hook, target string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	kept := map[string]bool{}
	for _, h := range before {
		kept[h.ID] = true
	}
	now, err := a.hooks(ctx, target)
	for _, h := range now {
		if !kept[h.ID] {
			err = errors.Join(err, a.unhook(ctx, h.ID))
		}
	}
	if err != nil {
		return fmt.Errorf("take back the webhooks made so far: %w", err)
	}
	return nil
}

// manual makes of a refusal what a person has to do about it: the account has no
// place for another hook, or may not make any over the API.
func manual(err error) error {
	answer, refused := refusedWith(err, http.StatusBadRequest, http.StatusForbidden)
	if !refused {
		return err
	}
	why := answer.Message
	if why == "" {
		why = answer.Error()
	}
	return &providers.ManualError{Why: why, Said: answer.Message, Where: where}
}

// Unsubscribe removes the hooks made over the API. Those made by hand are removed
// by hand.
func (*Provider) Unsubscribe(ctx context.Context, client *http.Client, c providers.Connection, target string) error {
	a := newAPI(client, c)
	all, err := a.hooks(ctx, target)
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := a.unhook(ctx, h.ID); err != nil {
			return err
		}
	}
	return nil
}
