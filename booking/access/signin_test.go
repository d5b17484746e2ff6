package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		u := h.addUser(t, "Rina.Hartono", access.Operator, goodPassword)
		got, err := h.SignIn(ctx, " RINA.hartono ", goodPassword, remote)
		if err != nil || got.ID != u.ID || got.Role != access.Operator || got.Name != "rina.hartono" {
			t.Fatalf("SignIn = %+v, %v", got, err)
		}
		if l := h.lastLog(t, 2); l.action != access.DidSignIn || l.actor != "user:"+u.ID.String() || l.remote != remote {
			t.Errorf("logged %+v", l)
		}
		for i, tt := range []struct{ name, password, subject, reason string }{
			{"rina.hartono", "wrong password", "user:" + u.ID.String(), "wrong password"},
			{"rina.hartono", "", "user:" + u.ID.String(), "wrong password"},
			{"rina.hartono", strings.Repeat("x", 1<<20), "user:" + u.ID.String(), "wrong password"},
			{"my password in the wrong field", goodPassword, "", "unknown name"},
			{"nul \x00 and \xff", goodPassword, "", "unknown name"},
		} {
			if _, err := h.SignIn(ctx, tt.name, tt.password, remote); !errors.Is(err, access.ErrBadCredentials) {
				t.Errorf("%s: %v", tt.name, err)
			}
			l := h.lastLog(t, 3+i)
			if l.action != access.DidFailSignIn || l.subject != tt.subject || l.detail["reason"] != tt.reason || l.actor != "system" {
				t.Errorf("logged %+v", l)
			}
		}
	})
}

func TestUserWithoutPasswordSignsInByLinkOnly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		u := h.addUser(t, "demo", access.Administrator, "")
		if _, err := h.SignIn(ctx, "demo", "", remote); !errors.Is(err, access.ErrBadCredentials) {
			t.Errorf("an empty password signed in: %v", err)
		}
		secret, err := h.SignInLink(ctx, access.System, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		if p, whose, err := h.Link(ctx, secret); err != nil || p != access.LinkSignIn || whose.ID != u.ID {
			t.Errorf("Link = %q, %+v, %v", p, whose, err)
		}
		got, err := h.SignInByLink(ctx, secret, remote)
		if err != nil || got.ID != u.ID {
			t.Fatalf("SignInByLink = %+v, %v", got, err)
		}
		if _, err := h.SignInByLink(ctx, secret, remote); !errors.Is(err, access.ErrLinkSpent) {
			t.Errorf("the link worked twice: %v", err)
		}
		if l := h.log(t); l[len(l)-1].action != access.DidRefuseLink || l[len(l)-1].remote != remote {
			t.Errorf("logged %+v", l[len(l)-1])
		}
		if _, _, err := h.Link(ctx, secret); !errors.Is(err, access.ErrLinkSpent) {
			t.Errorf("a used link is still shown: %v", err)
		}
	})
}

func TestThrottledSignInTouchesNoTable(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		h.addUser(t, "admin", access.Administrator, goodPassword)
		throttled := 0
		for i := range 30 {
			_, err := h.SignIn(t.Context(), "admin", "wrong password", fmt.Sprintf("198.51.100.%d", i))
			var limit *access.ThrottledError
			switch {
			case errors.As(err, &limit):
				throttled++
				if limit.Seconds() < 1 {
					t.Errorf("Retry-After %d", limit.Seconds())
				}
			case !errors.Is(err, access.ErrBadCredentials):
				t.Fatal(err)
			}
		}
		if rows := len(h.log(t)) - 1; throttled == 0 || rows+throttled != 30 {
			t.Errorf("%d throttled, %d logged", throttled, rows)
		}
		if _, err := h.SignIn(t.Context(), "admin", goodPassword, "127.0.0.1"); err != nil {
			t.Errorf("the administrator is locked out on his own machine: %v", err)
		}
	})
}

func TestLinkIsUsedOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		u := h.addUser(t, "demo", access.Viewer, "")
		secret, err := h.SignInLink(t.Context(), access.System, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		var in, refused atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch _, err := h.SignInByLink(t.Context(), secret, remote); {
				case err == nil:
					in.Add(1)
				case errors.Is(err, access.ErrLinkSpent):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 || refused.Load() != 7 {
			t.Errorf("%d signed in, %d were refused", in.Load(), refused.Load())
		}
	})
}

func TestLinkExpires(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		u := h.addUser(t, "demo", access.Viewer, "")
		secret, err := h.SignInLink(t.Context(), access.System, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		h.advance(access.SignInLinkLife)
		if _, err := h.SignInByLink(t.Context(), secret, remote); !errors.Is(err, access.ErrLinkSpent) {
			t.Errorf("an old link worked: %v", err)
		}
	})
}

// A stranger who makes links up is refused, and cannot fill the log with it.
func TestLinksThatAreMadeUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		for i := range 60 {
			if _, err := h.SignInByLink(t.Context(), fmt.Sprint("guess-", i), remote); !errors.Is(err, access.ErrLinkSpent) {
				t.Fatal(err)
			}
		}
		if n := len(h.log(t)); n == 0 || n > 20 {
			t.Errorf("60 guesses left %d rows in admin_log", n)
		}
	})
}

func TestFirstAdministratorByLink(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		secret, err := h.Begin(ctx, "")
		if err != nil || secret == "" {
			t.Fatalf("Begin = %q, %v", secret, err)
		}
		again, err := h.Begin(ctx, "") // a second start before anybody came
		if err != nil || again == "" || again == secret {
			t.Fatalf("Begin again = %q, %v", again, err)
		}
		if p, _, err := h.Link(ctx, secret); err != nil || p != access.LinkAdministrator {
			t.Errorf("Link = %q, %v", p, err)
		}
		if _, err := h.SignInByLink(ctx, secret, remote); !errors.Is(err, access.ErrLinkSpent) {
			t.Errorf("it signed somebody in: %v", err)
		}
		var invalid *booking.InvalidError
		for _, bad := range []struct{ name, password string }{{"siti", ""}, {"siti", "short"}, {"", goodPassword}, {"with space", goodPassword}} {
			if _, err := h.FirstAdministrator(ctx, secret, bad.name, bad.password, remote); !errors.As(err, &invalid) {
				t.Errorf("%q, %q: %v", bad.name, bad.password, err)
			}
		}
		u, err := h.FirstAdministrator(ctx, secret, "Siti", goodPassword, remote)
		if err != nil || u.Role != access.Administrator || u.Name != "siti" {
			t.Fatalf("FirstAdministrator = %+v, %v", u, err)
		}
		if _, err := h.SignIn(ctx, "siti", goodPassword, remote); err != nil {
			t.Error(err)
		}
		for _, s := range []string{secret, again} {
			if _, err := h.FirstAdministrator(ctx, s, "mallory", goodPassword, remote); !errors.Is(err, access.ErrLinkSpent) {
				t.Errorf("a second administrator was made: %v", err)
			}
		}
		if link, err := h.Begin(ctx, "another password"); err != nil || link != "" {
			t.Errorf("Begin = %q, %v once there is a user", link, err)
		}
	})
}

func TestFirstAdministratorByPassword(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		var wg sync.WaitGroup
		for range 4 { // instances that start at once
			wg.Go(func() {
				if link, err := h.Begin(t.Context(), goodPassword); err != nil || link != "" {
					t.Errorf("Begin = %q, %v", link, err)
				}
			})
		}
		wg.Wait()
		u, err := h.SignIn(t.Context(), access.AdminName, goodPassword, remote)
		if err != nil || u.Role != access.Administrator {
			t.Errorf("SignIn = %+v, %v", u, err)
		}
		if users, err := h.Users(t.Context()); err != nil || len(users) != 1 {
			t.Errorf("%d users, %v", len(users), err)
		}
	})
}

// A link that was made before is worth nothing once its user was signed out
// everywhere, got another password, or was locked out, even when let in again; one
// that is made after works.
func TestLinksEndWithTheSessions(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, h *house, u access.User) error{
		"signed out everywhere": func(ctx context.Context, h *house, u access.User) error {
			return h.EndSessions(ctx, access.System, u.ID)
		},
		"disabled and enabled": func(ctx context.Context, h *house, u access.User) error {
			return errors.Join(h.DisableUser(ctx, access.System, u.Name), h.EnableUser(ctx, access.System, u.Name))
		},
		"another password": func(ctx context.Context, h *house, u access.User) error {
			return h.SetPassword(ctx, access.System, u.Name, goodPassword)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, h *house) {
				ctx := t.Context()
				u, other := h.addUser(t, "ayu", access.Administrator, ""), h.addUser(t, "budi", access.Administrator, "")
				link := func(u access.User) string {
					t.Helper()
					secret, err := h.SignInLink(ctx, access.System, u.ID)
					if err != nil {
						t.Fatal(err)
					}
					return secret
				}
				before, others := link(u), link(other)
				if err := end(ctx, h, u); err != nil {
					t.Fatal(err)
				}
				if _, _, err := h.Link(ctx, before); !errors.Is(err, access.ErrLinkSpent) {
					t.Errorf("the link goes on: %v", err)
				}
				if _, err := h.SignInByLink(ctx, before, remote); !errors.Is(err, access.ErrLinkSpent) {
					t.Errorf("it signs in: %v", err)
				}
				for _, secret := range []string{others, link(u)} {
					if _, err := h.SignInByLink(ctx, secret, remote); err != nil {
						t.Errorf("another link does not: %v", err)
					}
				}
			})
		})
	}
}
