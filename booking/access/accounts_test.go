package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		root := h.addUser(t, "root", access.Administrator, goodPassword)
		u := h.addUser(t, "budi", access.Viewer, goodPassword)
		by := access.By{Actor: root.Principal().Actor(), Remote: remote}

		var conflict *booking.ConflictError
		if _, err := h.AddUser(ctx, by, "BUDI", access.Viewer, goodPassword); !errors.As(err, &conflict) {
			t.Errorf("the name was taken twice: %v", err)
		}
		var invalid *booking.InvalidError
		if _, err := h.AddUser(ctx, by, "joko", "emperor", goodPassword); !errors.As(err, &invalid) {
			t.Errorf("a role that is none: %v", err)
		}

		if err := h.SetPassword(ctx, by, "Budi", "another good one"); err != nil {
			t.Fatal(err)
		}
		if l := h.lastLog(t, 3); l.action != access.DidSetPassword || l.subject != "user:"+u.ID.String() || l.actor != "user:"+root.ID.String() {
			t.Errorf("logged %+v", l)
		}
		changed, err := h.User(ctx, u.ID)
		if err != nil || changed.Stamp() == u.Stamp() {
			t.Errorf("sessions of the old password go on: %v", err)
		}
		if _, err := h.SignIn(ctx, "budi", goodPassword, remote); !errors.Is(err, access.ErrBadCredentials) {
			t.Errorf("the old password works: %v", err)
		}

		if changed.Display != access.NewDisplay() {
			t.Errorf("a new user begins with %+v", changed.Display)
		}
		liked := access.Display{
			Language: "id", Timezone: "Asia/Jakarta", FirstWeekday: time.Sunday, ShortcutsOff: true, Sound: true, Appearance: access.AppearanceDark,
		}
		if err := h.SetDisplay(ctx, by, u.ID, liked); err != nil {
			t.Fatal(err)
		}
		if got, err := h.User(ctx, u.ID); err != nil || got.Display != liked || got.Stamp() != changed.Stamp() {
			t.Errorf("User = %+v, %v", got, err)
		}
		for what, d := range map[string]access.Display{
			"a zone that does not exist": {Timezone: "Asia/Atlantis", FirstWeekday: time.Monday},
			"the server's own zone":      {Timezone: "Local", FirstWeekday: time.Monday},
			"a week from Wednesday":      {FirstWeekday: time.Wednesday},
			"a day that does not exist":  {FirstWeekday: 7},
			"an unknown appearance":      {FirstWeekday: time.Monday, Appearance: "sepia"},
			"a language too long":        {FirstWeekday: time.Monday, Language: strings.Repeat("x", 36)},
		} {
			if err := h.SetDisplay(ctx, by, u.ID, d); !errors.As(err, &invalid) {
				t.Errorf("%s: %v", what, err)
			}
		}

		if err := h.DisableUser(ctx, by, "root"); !errors.As(err, &conflict) {
			t.Errorf("the last administrator was disabled: %v", err)
		}
		if err := h.DisableUser(ctx, by, "budi"); err != nil {
			t.Fatal(err)
		}
		if _, err := h.User(ctx, u.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("a disabled user goes on: %v", err)
		}
		if _, err := h.SignIn(ctx, "budi", "another good one", remote); !errors.Is(err, access.ErrBadCredentials) {
			t.Errorf("a disabled user signs in: %v", err)
		}
		if _, err := h.SignInLink(ctx, by, u.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("a disabled user gets a link: %v", err)
		}
		for name, err := range map[string]error{
			"SetPassword": h.SetPassword(ctx, by, "nobody", goodPassword),
			"DisableUser": h.DisableUser(ctx, by, "nobody"),
			"SetDisplay":  h.SetDisplay(ctx, by, uuid.New(), access.NewDisplay()),
			"EnableUser":  h.EnableUser(ctx, by, "nobody"),
			"SetRole":     h.SetRole(ctx, by, "nobody", access.Viewer),
			"LimitUser":   h.LimitUser(ctx, by, "nobody", access.Limit{}),
			"EndSessions": h.EndSessions(ctx, by, uuid.New()),
			"EndSession":  h.EndSession(ctx, by, access.Session{ID: "none"}),
		} {
			if !errors.Is(err, booking.ErrNotFound) {
				t.Errorf("%s of nobody: %v", name, err)
			}
		}
	})
}

// What is stored signs nobody in, and what was done cannot be undone.
func TestAccountsAtRest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		u := h.addUser(t, "rina", access.Viewer, goodPassword)
		text, _, err := h.CreateToken(ctx, access.System, "ci", access.Operate)
		if err != nil {
			t.Fatal(err)
		}
		link, err := h.SignInLink(ctx, access.System, u.ID)
		if err != nil {
			t.Fatal(err)
		}
		for table, column := range map[string]string{
			"users": "password_hash", "api_tokens": "hash", "signin_links": "hash", "admin_log": "detail",
		} {
			for _, stored := range h.column(t, column, table) {
				for _, secret := range []string{goodPassword, text, strings.TrimPrefix(text, "slk_"), link} {
					if strings.Contains(stored, secret) {
						t.Errorf("%s holds a secret in clear", table)
					}
				}
			}
		}
		for _, q := range []string{`UPDATE admin_log SET actor = 'nobody'`, `DELETE FROM admin_log`} {
			if _, err := h.raw.ExecContext(ctx, q); err == nil || !strings.Contains(err.Error(), "admin_log_append_only") {
				t.Errorf("%s: %v", q, err)
			}
		}
	})
}

func TestAccountsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		h.addUser(t, "rina", access.Viewer, goodPassword)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := h.SignIn(ctx, "rina", goodPassword, remote); !errors.Is(err, booking.ErrUnavailable) {
			t.Errorf("SignIn = %v", err)
		}
	})
}
