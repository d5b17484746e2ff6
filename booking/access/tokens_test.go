package access_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		text, token, err := h.CreateToken(ctx, access.System, "dashboard", access.Read)
		if err != nil || !strings.HasPrefix(text, "slk_") || len(text) < 40 {
			t.Fatalf("CreateToken = %q, %v", text, err)
		}
		p, err := h.Authenticate(ctx, text)
		if err != nil || p.ID != token.ID || p.Role != access.Viewer || p.Actor() != booking.Actor("token:"+token.ID.String()) {
			t.Fatalf("Authenticate = %+v, %v", p, err)
		}
		if !p.May(access.View) || p.May(access.ManageAccounts) {
			t.Error("scope read is not the viewer")
		}
		lastUse := func() time.Time {
			all, err := h.Tokens(ctx)
			if err != nil || len(all) != 1 || all[0].LastUsedAt == nil {
				t.Fatalf("Tokens = %+v, %v", all, err)
			}
			return *all[0].LastUsedAt
		}
		first := lastUse()
		if !first.Equal(*h.now.Load()) {
			t.Errorf("last used at %v", first)
		}
		for _, step := range []struct {
			after time.Duration
			moves bool
		}{{30 * time.Second, false}, {time.Minute, true}} {
			h.advance(step.after)
			if _, err := h.Authenticate(ctx, text); err != nil {
				t.Fatal(err)
			}
			if moved := lastUse().After(first); moved != step.moves {
				t.Errorf("after %v more: last used at %v", step.after, lastUse())
			}
		}
		for _, bad := range []string{"", "slk_", "Bearer " + text, text + "x", strings.TrimPrefix(text, "slk_")} {
			if _, err := h.Authenticate(ctx, bad); !errors.Is(err, access.ErrBadToken) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if err := h.RevokeToken(ctx, access.System, token.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Authenticate(ctx, text); !errors.Is(err, access.ErrBadToken) {
			t.Errorf("a revoked token works: %v", err)
		}
		if err := h.RevokeToken(ctx, access.System, token.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		actions := []string{}
		for _, l := range h.log(t) {
			actions = append(actions, l.action)
		}
		if want := []string{access.DidCreateToken, access.DidRevokeToken}; strings.Join(actions, " ") != strings.Join(want, " ") {
			t.Errorf("logged %v, want %v", actions, want)
		}
		var invalid *booking.InvalidError
		for _, bad := range []struct {
			name  string
			scope access.Scope
		}{{"", access.Read}, {"x", "viewer"}, {"x", ""}} {
			if _, _, err := h.CreateToken(ctx, access.System, bad.name, bad.scope); !errors.As(err, &invalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}
