package calcom_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom/calcomtest"
)

var ourTriggers = []string{
	"BOOKING_CREATED", "BOOKING_REQUESTED", "BOOKING_RESCHEDULED", "BOOKING_CANCELLED", "BOOKING_REJECTED",
	"BOOKING_PAYMENT_INITIATED", "BOOKING_NO_SHOW_UPDATED", "OOO_CREATED",
}

func (a *account) subscribe() ([]providers.Hook, error) {
	return a.provider.Subscribe(context.Background(), a.client, a.conn, target, providers.Profile{})
}

func (a *account) hooks(t *testing.T) []providers.Hook {
	t.Helper()
	hooks, err := a.provider.Hooks(context.Background(), a.client, a.conn, target)
	if err != nil {
		t.Fatal(err)
	}
	return hooks
}

func TestSubscribe(t *testing.T) {
	for _, hides := range []bool{false, true} {
		a := newAccount(t, func(o *calcomtest.Options) { o.HideSecrets = hides })
		a.AddWebhook(calcomtest.Webhook{URL: "https://elsewhere.example/", Active: true})
		if got := a.hooks(t); len(got) != 0 {
			t.Fatalf("before: %+v", got)
		}
		for range 2 { // again changes nothing
			got, err := a.subscribe()
			if err != nil || len(got) != 1 || !got[0].Active || !slices.Equal(got[0].Kinds, ourTriggers) || got[0].FailingSince != nil {
				t.Fatalf("%+v (%v)", got, err)
			}
			stands := a.hooks(t)
			if len(stands) != 1 || stands[0].ID != got[0].ID {
				t.Errorf("stands: %+v, made: %+v", stands, got)
			}
		}
		all := a.Webhooks()
		if len(all) != 2 || all[1].Secret != secret || all[1].URL != target || all[1].Template != "" {
			t.Errorf("%+v", all)
		}
		asked := a.Count("/webhooks/" + all[1].ID)
		if (asked > 0) != hides {
			t.Errorf("changed it %d times, secrets hidden: %t", asked, hides)
		}
	}
}

// What is there is taken over: whoever made it, and whatever became of it since.
func TestSubscribeAdopts(t *testing.T) {
	for name, h := range map[string]calcomtest.Webhook{
		"of another secret": {Secret: "old", Triggers: ourTriggers, Active: true},
		"switched off":      {Secret: secret, Triggers: ourTriggers},
		"of fewer events":   {Secret: secret, Triggers: ourTriggers[:1], Active: true},
		"with a template":   {Secret: secret, Triggers: ourTriggers, Active: true, Template: `{"x":"{{title}}"}`},
	} {
		a := newAccount(t)
		h.URL = target
		id := a.AddWebhook(h)
		got, err := a.subscribe()
		if err != nil || len(got) != 1 || got[0].ID != id {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
		now := a.Webhooks()[0]
		if now.Secret != secret || !now.Active || now.Template != "" || !slices.Equal(now.Triggers, ourTriggers) {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

// An older Cal.com refuses the whole list for one name that it does not know.
func TestSubscribeToAnOlderVersion(t *testing.T) {
	for _, known := range []int{5, 7} {
		a := newAccount(t, func(o *calcomtest.Options) { o.Triggers = ourTriggers[:known] })
		for range 2 {
			got, err := a.subscribe()
			if err != nil || len(got) != 1 || !slices.Equal(got[0].Kinds, ourTriggers[:known]) {
				t.Errorf("%d known: %+v (%v)", known, got, err)
			}
		}
	}
	a := newAccount(t, func(o *calcomtest.Options) { o.Triggers = []string{"MEETING_ENDED"} })
	var answer *providers.AnswerError
	if _, err := a.subscribe(); !errors.As(err, &answer) || answer.Status != 400 {
		t.Errorf("none known: %v", err)
	}
}

func TestSubscribeByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*calcomtest.Options)
		set    apitest.Trouble
		why    string
	}{
		{"no such API", func(o *calcomtest.Options) { o.NoWebhooks = true }, "", "no webhooks"},
		{"not for this key", func(*calcomtest.Options) {}, apitest.Forbidden, "Forbidden"},
	} {
		a := newAccount(t, c.change)
		a.Set(c.set, "/webhooks")
		for name, call := range a.calls("none") {
			if !slices.Contains([]string{"hooks", "subscribe", "unsubscribe"}, name) {
				continue
			}
			err := call(context.Background())
			var manual *providers.ManualError
			if !errors.As(err, &manual) || !strings.Contains(manual.Why, c.why) || manual.Where != "Settings → Developer → Webhooks" || providers.NeedsSignIn(err) {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
}

// A key that the webhooks' routes alone do not accept is the key's failure: nobody is
// sent to enter by hand what another key would register.
func TestKeyNotAcceptedForWebhooks(t *testing.T) {
	a := newAccount(t)
	a.Set(apitest.Unauthorized, "/webhooks")
	for name, call := range a.calls("none") {
		if !slices.Contains([]string{"hooks", "subscribe", "unsubscribe"}, name) {
			continue
		}
		var manual *providers.ManualError
		if err := call(context.Background()); !providers.NeedsSignIn(err) || errors.As(err, &manual) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnsubscribe(t *testing.T) {
	a := newAccount(t)
	a.AddWebhook(calcomtest.Webhook{URL: "https://elsewhere.example/"})
	a.AddWebhook(calcomtest.Webhook{URL: target})
	for range 2 { // that there is none is no error
		if err := a.provider.Unsubscribe(context.Background(), a.client, a.conn, target); err != nil {
			t.Fatal(err)
		}
	}
	if all := a.Webhooks(); len(all) != 1 || all[0].URL == target {
		t.Errorf("%+v", all)
	}
}

func TestHooksOnALaterPage(t *testing.T) {
	a := newAccount(t)
	for i := range 600 {
		a.AddWebhook(calcomtest.Webhook{URL: fmt.Sprintf("https://elsewhere.example/%d", i)})
	}
	id := a.AddWebhook(calcomtest.Webhook{URL: target, Active: true, Triggers: []string{"BOOKING_CREATED"}})
	got := a.hooks(t)
	if len(got) != 1 || got[0].ID != id || !got[0].Active || !slices.Equal(got[0].Kinds, []string{"BOOKING_CREATED"}) || a.Count("/webhooks") != 3 {
		t.Errorf("%+v in %d requests", got, a.Count("/webhooks"))
	}
}

func TestSubscribeNeedsASecret(t *testing.T) {
	a := newAccount(t)
	a.conn.Secrets.Current = ""
	if _, err := a.subscribe(); err == nil || len(a.Webhooks()) != 0 {
		t.Errorf("a webhook without a secret: %v", err)
	}
}
