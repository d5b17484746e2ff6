package account_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
)

// TestSignInWithAnotherKey: by OAuth Acuity's API works whatever API key is typed, and
// every post would be refused for it. The key is proven, and nothing is connected with
// one that signs nothing of the account.
func TestSignInWithAnotherKey(t *testing.T) {
	t.Parallel()
	const user, key = "29999999", "planted-acuity-key"
	app := acuitytest.App{ClientID: "app", ClientSecret: "planted-app-secret", RedirectURI: leaseRedirect}
	s := acuitytest.New(acuitytest.Options{UserID: user, APIKey: key, App: app, AnyTarget: true, Tempo: leaseTempo, Now: time.Now})
	served(t, s)
	bench := storetest.NewBench(t, migratetest.SQLite(t))
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: leaseTempo, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	accounts := account.New(account.Options{
		Store: bench.Store, Client: client, Providers: map[string]providers.Provider{acuity.Name: acuity.New(time.Now, leaseTempo)},
		PublicURL: &url.URL{Scheme: "https", Host: "slots.example"}, EmailKey: func(email string) string { return "hmac of " + email },
		Apps: map[string]account.App{acuity.Name: {ID: app.ClientID, Secret: app.ClientSecret, Base: s.APIBase()}},
		Now:  time.Now, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)), Tempo: leaseTempo, Wake: func(context.Context, uuid.UUID) error { return nil },
	})
	connect := func(id uuid.UUID, user, key string) (account.Connected, error) {
		t.Helper()
		c := signIn(t, accounts, acuity.Name)
		c.User = user
		return accounts.Connect(t.Context(), account.Request{
			ID: id, Provider: acuity.Name, Name: "Harbour", APIBase: s.APIBase(), API: c, Secret: key, Subscribe: true, By: booking.ActorSystem,
		})
	}
	count := func() int {
		t.Helper()
		all, err := booking.Everything(t.Context(), bench.Connections)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := count()
	for name, typed := range map[string][2]string{
		"a mistyped key": {user, key + "x"}, "another's user id": {"30000001", key}, "a key alone, mistyped": {"", "planted-other-key"},
	} {
		_, err := connect(uuid.Nil, typed[0], typed[1])
		var refused *providers.KeyError
		if !errors.As(err, &refused) || refused.Foreign || account.CauseOf(err) != account.CauseKeyRefused || account.Remedy(acuity.Name, err) == "" {
			t.Errorf("%s: %v", name, err)
		} else if text := err.Error(); strings.Contains(text, typed[1]) || strings.Contains(text, key) {
			t.Errorf("%s: the error repeats the key: %s", name, text)
		}
		if n := count(); n != before {
			t.Errorf("%s: %d connections are left", name, n-before)
		}
	}
	var foreign *providers.KeyError
	err = acuity.New(time.Now, leaseTempo).ProveKey(t.Context(), client, providers.Connection{
		APIBase: s.APIBase(), API: providers.Credentials{User: user, Token: "of another"}, Secrets: providers.Secrets{Current: key},
		Owner: providers.Profile{ExternalID: "30000001"},
	})
	if !errors.As(err, &foreign) || !foreign.Foreign || account.CauseOf(err) != account.CauseKeyForeign {
		t.Errorf("the key of another account: %v", err)
	}
	made, err := connect(uuid.Nil, "", key)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.HookEvents(made.Target); len(got) != 4 {
		t.Errorf("%q are posted", got)
	}
	if _, err := connect(made.ID, user, key); err != nil {
		t.Errorf("again, with the user id: %v", err)
	}
	if _, err := connect(made.ID, user, "planted-other-key"); err == nil {
		t.Error("another key was taken when it was connected again")
	}
	if c, err := bench.Connection(t.Context(), made.ID); err != nil || c.Secrets.Current != key {
		t.Errorf("it does not have the key any more that signs: %v", err)
	}
}
