package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

// succession is a user whose session w1 was given another token by several at once.
type succession struct {
	*store.WebSessions
	accounts *access.Accounts
	user     access.User
	clock    *atomic.Pointer[time.Time]
	token    string // the one that won
	tokens   []string
}

func succeeded(t *testing.T, url string) *succession {
	t.Helper()
	var clock atomic.Pointer[time.Time]
	now := installedAt
	clock.Store(&now)
	read := func() time.Time { return *clock.Load() }
	s := openWith(t, url, vault.NewKey())
	c := &succession{WebSessions: s.WebSessions(read), accounts: access.NewAccounts(s.Accounts(), read), clock: &clock}
	var err error
	if c.user, err = c.accounts.AddUser(t.Context(), access.System, "ayu", access.Viewer, ""); err != nil {
		t.Fatal(err)
	}
	data, expiry := c.data(t, "before"), installedAt.Add(time.Hour)
	if err := c.CommitCtx(t.Context(), "w1", data, expiry); err != nil {
		t.Fatal(err)
	}
	data = c.data(t, "after")
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		won  int
	)
	for i := range 8 {
		token := fmt.Sprint("heir", i)
		c.tokens = append(c.tokens, token)
		wait.Go(func() {
			ok, err := c.SucceedCtx(t.Context(), "w1", token, data, expiry)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if ok {
				won++
				c.token = token
			}
		})
	}
	wait.Wait()
	if won != 1 {
		t.Fatalf("%d of those who tried at once succeeded", won)
	}
	return c
}

func (c *succession) data(t *testing.T, agent string) []byte {
	t.Helper()
	data, err := scs.GobCodec{}.Encode(installedAt.Add(time.Hour), map[string]any{access.SessionUser: c.user.ID.String(), access.SessionAgent: agent})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// stand tells how many tokens lead to a session.
func (c *succession) stand(t *testing.T) int {
	t.Helper()
	n := 0
	for _, token := range append(c.tokens, "w1") {
		_, found, err := c.FindCtx(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			n++
		}
	}
	return n
}

// A session has one successor, which is listed once, is found by the old token for a
// moment and not longer, and ends by whichever of the two it is ended.
func TestSessionsSucceedOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, url string) {
		c := succeeded(t, url)
		if n := c.stand(t); n != 2 {
			t.Errorf("%d tokens lead to the session, want the old and the new", n)
		}
		all, err := c.accounts.Sessions(t.Context(), c.user.ID)
		if err != nil || len(all) != 1 || all[0].Agent != "after" || all[0].ID != access.SessionID(c.token) {
			t.Errorf("listed %+v, %v", all, err)
		}
		// What is written by the old token is written into the session.
		if err := c.CommitCtx(t.Context(), "w1", c.data(t, "late"), installedAt.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if all, err = c.accounts.Sessions(t.Context(), c.user.ID); err != nil || len(all) != 1 || all[0].Agent != "late" {
			t.Errorf("listed %+v, %v", all, err)
		}
		later := installedAt.Add(time.Minute)
		c.clock.Store(&later)
		if _, found, err := c.FindCtx(t.Context(), "w1"); found || err != nil {
			t.Errorf("the old token goes on: %v", err)
		}
		if _, found, err := c.FindCtx(t.Context(), c.token); !found || err != nil {
			t.Errorf("the new one does not: %v", err)
		}
	})
}

func TestSuccessorsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *succession) error{
		"by the new token": func(t *testing.T, c *succession) error { t.Helper(); return c.DeleteCtx(t.Context(), c.token) },
		"by the old token": func(t *testing.T, c *succession) error { t.Helper(); return c.DeleteCtx(t.Context(), "w1") },
		"from a list of before": func(t *testing.T, c *succession) error {
			t.Helper()
			return c.accounts.EndSession(t.Context(), access.System, access.Session{ID: access.SessionID("w1"), UserID: c.user.ID})
		},
		"everywhere": func(t *testing.T, c *succession) error {
			t.Helper()
			return c.accounts.EndSessions(t.Context(), access.System, c.user.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, url string) {
				c := succeeded(t, url)
				if err := end(t, c); err != nil {
					t.Fatal(err)
				}
				if n := c.stand(t); n != 0 {
					t.Errorf("%d tokens still lead to the session", n)
				}
				if ok, err := c.SucceedCtx(t.Context(), c.token, "again", c.data(t, "again"), installedAt.Add(time.Hour)); ok || err != nil {
					t.Errorf("it got a successor: %v", err)
				}
				err := c.accounts.EndSession(t.Context(), access.System, access.Session{ID: access.SessionID(c.token), UserID: c.user.ID})
				if !errors.Is(err, booking.ErrNotFound) {
					t.Errorf("ended again: %v", err)
				}
			})
		})
	}
}
