package account_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/store"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

// hooked is an account with a webhook, and what stands of that at its provider.
type hooked struct {
	store    *store.Store
	accounts *account.Accounts
	conn     account.Connected
	log      *bytes.Buffer
	// posted are the events that are posted to us.
	posted func() []string
}

func hook(t *testing.T, database string, p providers.Provider, r account.Request) *hooked {
	t.Helper()
	h := &hooked{store: storetest.NewBench(t, database).Store, log: &bytes.Buffer{}}
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: leaseTempo, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	h.accounts = account.New(account.Options{
		Store: h.store, Client: client, Providers: map[string]providers.Provider{p.Name(): p},
		PublicURL: &url.URL{Scheme: "https", Host: "127.0.0.1:1"}, EmailKey: func(email string) string { return "hmac of " + email },
		Now: time.Now, Log: slog.New(slog.NewTextHandler(h.log, nil)), Tempo: leaseTempo, Wake: func(context.Context, uuid.UUID) error { return nil },
	})
	r.Provider, r.Name, r.By = p.Name(), "Harbour", booking.ActorSystem
	if h.conn, err = h.accounts.Connect(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return h
}

func served(t *testing.T, s interface {
	Start(ctx context.Context) error
	Close() error
},
) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // nothing is kept
}

func hookedAcuity(t *testing.T, database string, subscribe bool) (*hooked, *acuitytest.Server) {
	t.Helper()
	const user, key = "29999999", "planted-acuity-key"
	s := acuitytest.New(acuitytest.Options{UserID: user, APIKey: key, AnyTarget: true, Tempo: leaseTempo, Now: time.Now})
	served(t, s)
	h := hook(t, database, acuity.New(time.Now, leaseTempo), account.Request{APIBase: s.APIBase(), API: providers.Credentials{User: user}, Secret: key, Subscribe: subscribe})
	h.posted = func() []string { return s.HookEvents(h.conn.Target) }
	return h, s
}

func hookedCalcom(t *testing.T, database string, o calcomtest.Options) (*hooked, *calcomtest.Server) {
	t.Helper()
	o.Key, o.Tempo, o.Now = "cal_live_planted", leaseTempo, time.Now
	o.User = calcomtest.Host{ID: 7, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Username: "maren", Timezone: "Europe/London"}
	s := calcomtest.New(o)
	served(t, s)
	h := hook(t, database, calcom.New(), account.Request{APIBase: s.APIBase(), API: providers.Credentials{Token: o.Key}, Subscribe: true})
	h.posted = func() []string {
		var out []string
		for _, w := range s.Webhooks() {
			if w.Active && w.Template == "" && w.Secret == h.now(t).Secrets.Current {
				out = append(out, w.Triggers...)
			}
		}
		slices.Sort(out)
		return out
	}
	return h, s
}

func hookedCalendly(t *testing.T, database string) (*hooked, *calendlytest.Server) {
	t.Helper()
	s := calendlytest.New(calendlytest.Options{Token: "planted-calendly-token", Tempo: leaseTempo, Now: time.Now})
	served(t, s)
	h := hook(t, database, calendly.New(time.Hour), account.Request{APIBase: s.APIBase(), API: providers.Credentials{Token: "planted-calendly-token"}, Subscribe: true})
	h.posted = func() []string { return s.SubscribedTo(h.conn.Target) }
	return h, s
}

func (h *hooked) now(t *testing.T) providers.Connection {
	t.Helper()
	c, err := h.store.Connection(t.Context(), h.conn.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (h *hooked) check(t *testing.T) account.Finding {
	t.Helper()
	f, err := h.accounts.Check(t.Context(), h.conn.ID)
	if err != nil || f.Err != nil {
		t.Fatalf("the check: %v, %v", err, f.Err)
	}
	return f
}

// webhookHop is what a selftest says of the webhook.
func (h *hooked) webhookHop(t *testing.T) account.Hop {
	t.Helper()
	hops, err := h.accounts.SelfTest(t.Context(), h.conn.ID)
	if err != nil {
		t.Fatal(err)
	}
	return hops[len(hops)-1]
}

// TestNarrowedWebhook: what somebody takes from our webhook at the provider is found,
// named and put back. Cancellations that no longer come would leave bookings standing
// that nobody will keep, under a page that says that all is well.
func TestNarrowedWebhook(t *testing.T) {
	t.Parallel()
	type narrow struct {
		trouble providers.HookTrouble
		names   string // what the log names
		act     func(target string)
	}
	cases := map[string]func(t *testing.T, database string) (*hooked, map[string]narrow){
		"acuity": func(t *testing.T, database string) (*hooked, map[string]narrow) {
			h, s := hookedAcuity(t, database, true)
			return h, map[string]narrow{
				"one of four removed": {providers.HookNarrowed, "appointment.canceled", func(target string) { s.DropHook(target, "appointment.canceled") }},
				"all disabled":        {providers.HookOff, "switched off", s.DisableHooks},
			}
		},
		"calcom": func(t *testing.T, database string) (*hooked, map[string]narrow) {
			h, s := hookedCalcom(t, database, calcomtest.Options{})
			changed := func(change func(w *calcomtest.Webhook)) func(string) {
				return func(target string) { s.ChangeWebhooks(target, change) }
			}
			without := func(trigger string) func(string) {
				return changed(func(w *calcomtest.Webhook) {
					w.Triggers = slices.DeleteFunc(slices.Clone(w.Triggers), func(t string) bool { return t == trigger })
				})
			}
			return h, map[string]narrow{
				"a trigger taken":       {providers.HookNarrowed, "BOOKING_CANCELLED", without("BOOKING_CANCELLED")},
				"a newer trigger taken": {providers.HookDated, "OOO_CREATED", without("OOO_CREATED")},
				"a template":            {providers.HookTemplated, "payload template", changed(func(w *calcomtest.Webhook) { w.Template = `{"it": "{{title}}"}` })},
				"another secret":        {providers.HookForeign, "another secret", changed(func(w *calcomtest.Webhook) { w.Secret = "somebody-elses" })},
				"switched off":          {providers.HookOff, "switched off", changed(func(w *calcomtest.Webhook) { w.Active = false })},
			}
		},
		"calendly": func(t *testing.T, database string) (*hooked, map[string]narrow) {
			h, s := hookedCalendly(t, database)
			return h, map[string]narrow{
				"an event taken": {providers.HookNarrowed, "invitee.canceled", func(target string) { s.Narrow(target, "invitee.canceled") }},
				"removed":        {providers.HookGone, "gone", s.Unsubscribe},
			}
		},
	}
	for provider, begin := range cases {
		for database, fresh := range map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite} {
			t.Run(provider+" on "+database, func(t *testing.T) {
				t.Parallel()
				h, narrows := begin(t, fresh(t))
				whole := h.posted()
				if f := h.check(t); f.Remade || f.Hook.Trouble != "" {
					t.Fatalf("of a new webhook the check found %+v", f.Hook)
				}
				for name, n := range narrows {
					n.act(h.conn.Target)
					asked, err := h.accounts.Ask(t.Context(), h.conn.ID)
					if err != nil || asked.Hook.Trouble != n.trouble {
						t.Errorf("%s: asked, it is %+v, %v", name, asked.Hook, err)
					}
					hop := h.webhookHop(t)
					if hop.Name != account.HopWebhook || hop.Found == account.FoundHook || !strings.Contains(hop.Detail, n.names) || hop.OK != asked.Hook.Posted() {
						t.Errorf("%s: the selftest says %+v", name, hop)
					}
					h.log.Reset()
					if f := h.check(t); !f.Remade || f.Hook.Trouble != n.trouble {
						t.Errorf("%s: the check found %+v, remade %t", name, f.Hook, f.Remade)
					}
					if !strings.Contains(h.log.String(), n.names) {
						t.Errorf("%s: the log does not name it:\n%s", name, h.log)
					}
					if got := h.posted(); !slices.Equal(got, whole) {
						t.Errorf("%s: then %q are posted, want %q", name, got, whole)
					}
					if f := h.check(t); f.Remade || h.now(t).State(time.Now()) == providers.StateFailing {
						t.Errorf("%s: it is made anew for ever, %+v", name, h.now(t).Health)
					}
				}
			})
		}
	}
}

// TestOldCalcomIsNotRemade: a Cal.com that does not know all of our events has a whole
// webhook. Were it made anew at each check, each would be followed by a comparison.
func TestOldCalcomIsNotRemade(t *testing.T) {
	t.Parallel()
	h, _ := hookedCalcom(t, migratetest.SQLite(t), calcomtest.Options{
		Triggers: []string{"BOOKING_CREATED", "BOOKING_REQUESTED", "BOOKING_RESCHEDULED", "BOOKING_CANCELLED", "BOOKING_REJECTED"}, HideSecrets: true,
	})
	for range 2 {
		if f := h.check(t); f.Remade || f.Recovered || f.Hook.Trouble != providers.HookDated {
			t.Errorf("the check found %+v", f)
		}
	}
	if c := h.now(t); c.State(time.Now()) == providers.StateFailing || c.Health.Failure != "" {
		t.Errorf("it is %s, %+v", c.State(time.Now()), c.Health)
	}
	if hop := h.webhookHop(t); !hop.OK || !hop.Mind() || !strings.Contains(hop.Detail, "OOO_CREATED") {
		t.Errorf("the selftest says %+v", hop)
	}
}

// TestHookByHandIsNotMissed: Acuity's API does not list hooks that a person made in
// its pages. Who took them for gone would make four more, and have all come twice.
func TestHookByHandIsNotMissed(t *testing.T) {
	t.Parallel()
	h, _ := hookedAcuity(t, migratetest.SQLite(t), false)
	if f := h.check(t); f.Remade || f.Hook.Trouble != "" || len(h.posted()) != 0 {
		t.Errorf("the check found %+v and made %q", f, h.posted())
	}
	if hop := h.webhookHop(t); !hop.OK || hop.Found != account.FoundHookByHand {
		t.Errorf("the selftest says %+v", hop)
	}
}

// TestUndelivered: while Calendly cannot deliver the account fails since then, though
// all of it answers, before Calendly switches the webhook off without a word. It is not
// made anew, which would take the posts along that are still tried again.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	for database, fresh := range map[string]func(testing.TB) string{"postgres": migratetest.Postgres, "sqlite": migratetest.SQLite} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			h, s := hookedCalendly(t, fresh(t))
			began := time.Now()
			s.Fail(h.conn.Target, false)
			if f := h.check(t); f.Remade || f.Recovered || f.Hook.Trouble != providers.HookFailing {
				t.Errorf("the check found %+v", f)
			}
			c := h.now(t)
			since := c.DownSince()
			if c.State(time.Now()) != providers.StateFailing || !c.OnlyHookLost() || since == nil || since.Before(began.Add(-time.Second)) || c.Health.Failures != 0 {
				t.Errorf("it is %s since %v, %+v", c.State(time.Now()), since, c.Health)
			}
			if providers.HookStateIn(c.Health.Failure, nil).Trouble != providers.HookFailing || !strings.Contains(c.Health.Failure, "switches it off") {
				t.Errorf("it says %q", c.Health.Failure)
			}
			if !strings.Contains(h.log.String(), "cannot deliver to us") {
				t.Errorf("the log does not tell of it:\n%s", h.log)
			}
			if hop := h.webhookHop(t); !hop.OK || !hop.Mind() || hop.Found != account.FoundHookFailing {
				t.Errorf("the selftest says %+v", hop)
			}
			s.Recover(h.conn.Target)
			if f := h.check(t); f.Remade || !f.Recovered {
				t.Errorf("of what gets through again the check found %+v", f)
			}
			if c := h.now(t); c.State(time.Now()) == providers.StateFailing || c.Health.Failure != "" {
				t.Errorf("at last it is %s, %+v", c.State(time.Now()), c.Health)
			}
			// What was tried for a day is switched off, and made anew.
			s.Fail(h.conn.Target, true)
			if f := h.check(t); !f.Remade || f.Hook.Trouble != providers.HookOff || len(h.posted()) != 4 {
				t.Errorf("of one that is switched off the check found %+v, %q are posted", f, h.posted())
			}
		})
	}
}
