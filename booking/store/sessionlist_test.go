package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/vault"
)

// Who is signed in where can be listed and ended, one by one and all at once; of
// a session of nobody there is nothing to list.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		ctx, now := t.Context(), installedAt
		clock := func() time.Time { return now }
		s := openWith(t, url, vault.NewKey())
		w, accounts := s.WebSessions(clock), access.NewAccounts(s.Accounts(), clock)
		add := func(name string) access.User {
			t.Helper()
			u, err := accounts.AddUser(ctx, access.System, name, access.Viewer, "")
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		commit := func(token string, values map[string]any) {
			t.Helper()
			data, err := scs.GobCodec{}.Encode(now.Add(time.Hour), values)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.CommitCtx(ctx, token, data, now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		signedIn := func(u access.User, agent string) map[string]any {
			return map[string]any{
				access.SessionUser: u.ID.String(), access.SessionAgent: agent, access.SessionRemote: "203.0.113.7",
				access.SessionBegan: now.Format(time.RFC3339Nano),
			}
		}
		ayu, budi := add("ayu"), add("budi")
		commit("nobody", map[string]any{"oauth": "begun"})
		commit("a1", signedIn(ayu, "Firefox"))
		now = now.Add(time.Minute)
		commit("a2", signedIn(ayu, "Chrome"))
		commit("b1", signedIn(budi, "Safari"))

		agents := func(u uuid.UUID) string {
			t.Helper()
			all, err := accounts.Sessions(ctx, u)
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, l := range all {
				out += l.Agent + " "
				if l.UserID != u || l.Remote == "" || l.BeganAt.IsZero() || l.SeenAt.IsZero() || l.ExpiresAt.IsZero() {
					t.Errorf("listed %+v", l)
				}
			}
			return out
		}
		if got := agents(ayu.ID); got != "Chrome Firefox " {
			t.Errorf("listed %q", got)
		}
		all, err := accounts.AllSessions(ctx)
		if err != nil || len(all) != 3 {
			t.Errorf("%d of all, %v", len(all), err)
		}

		// The older one is used: a minute after it was listed it is not written, later
		// it is, with the address.
		now = now.Add(access.SessionGrain)
		if err := accounts.SawSession(ctx, access.SessionID("a1"), "198.51.100.9"); err != nil {
			t.Fatal(err)
		}
		if got := agents(ayu.ID); got != "Firefox Chrome " {
			t.Errorf("after it was used listed %q", got)
		}
		mine, err := accounts.Sessions(ctx, ayu.ID)
		if err != nil || mine[0].Remote != "198.51.100.9" || !mine[0].SeenAt.Equal(now) {
			t.Errorf("seen %+v, %v", mine, err)
		}

		if err := accounts.EndSession(ctx, access.System, mine[1]); err != nil {
			t.Fatal(err)
		}
		if err := accounts.EndSession(ctx, access.System, mine[1]); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("ended twice: %v", err)
		}
		if _, found, err := w.FindCtx(ctx, "a2"); found || err != nil {
			t.Errorf("the ended session goes on: %v", err)
		}
		// A page that was under way does not bring it back by being seen.
		now = now.Add(access.SessionGrain)
		if err := accounts.SawSession(ctx, mine[1].ID, "203.0.113.7"); err != nil {
			t.Fatal(err)
		}
		if got := agents(ayu.ID); got != "Firefox " {
			t.Errorf("after one ended listed %q", got)
		}

		before := ayu.Stamp()
		if err := accounts.EndSessions(ctx, access.System, ayu.ID); err != nil {
			t.Fatal(err)
		}
		got, err := accounts.User(ctx, ayu.ID)
		if err != nil || got.Stamp() == before {
			t.Errorf("the stamp stays: %v", err)
		}
		if agents(ayu.ID) != "" || agents(budi.ID) == "" {
			t.Error("not hers alone ended")
		}
	})
}
