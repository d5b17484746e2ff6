package access_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// addResource puts a resource into the database, past the application.
func (h *house) addResource(t *testing.T, name string, mergedInto *uuid.UUID) uuid.UUID {
	t.Helper()
	id := uuid.New()
	var into any
	if mergedInto != nil {
		into = mergedInto.String()
	}
	if _, err := h.raw.ExecContext(t.Context(),
		`INSERT INTO resources (id, name, merged_into) VALUES ($1, $2, $3)`, id.String(), name, into); err != nil {
		t.Fatal(err)
	}
	return id
}

// A viewer that is limited never sees everything: not when what it was limited to
// is gone, not when it is limited to nothing.
func TestLimitedViewer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		root := h.addUser(t, "root", access.Administrator, "")
		by := access.By{Actor: root.Principal().Actor()}
		u := h.addUser(t, "budi", access.Viewer, "")
		room, desk := h.addResource(t, "Room 1", nil), h.addResource(t, "Desk", nil)
		scope := func() booking.Scope {
			t.Helper()
			got, err := h.User(ctx, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got.Principal().Scope
		}
		if s := scope(); s.Limited {
			t.Errorf("begins limited: %+v", s)
		}
		limit := access.Limit{Limited: true, Resources: []uuid.UUID{room}}
		if err := h.LimitUser(ctx, by, "budi", limit); err != nil {
			t.Fatal(err)
		}
		if s := scope(); !s.Limited || !slices.Equal(s.Resources, []uuid.UUID{room}) || s.Sees(desk) {
			t.Errorf("limited to one sees %+v", s)
		}

		// The room is found to be the desk: who may see it sees what it is now.
		if _, err := h.raw.ExecContext(ctx, `UPDATE resources SET merged_into = $1 WHERE id = $2`, desk.String(), room.String()); err != nil {
			t.Fatal(err)
		}
		if s := scope(); !s.Limited || !slices.Equal(s.Resources, []uuid.UUID{desk}) {
			t.Errorf("after the merge sees %+v", s)
		}

		if err := h.LimitUser(ctx, by, "budi", access.Limit{Limited: true}); err != nil {
			t.Fatal(err)
		}
		if s := scope(); !s.Limited || s.Sees(desk) || s.Sees() {
			t.Errorf("limited to nothing sees %+v", s)
		}
		var invalid *booking.InvalidError
		if err := h.LimitUser(ctx, by, "budi", access.Limit{Limited: true, Resources: []uuid.UUID{uuid.New()}}); !errors.As(err, &invalid) {
			t.Errorf("a resource that is not there: %v", err)
		}
		if s := scope(); !s.Limited {
			t.Error("a refused limit opened everything")
		}
		if err := h.LimitUser(ctx, by, "root", limit); !errors.As(err, &invalid) {
			t.Errorf("an administrator was limited: %v", err)
		}

		// An operator is not limited; a viewer again, it is as before.
		if err := h.SetRole(ctx, by, "budi", access.Operator); err != nil {
			t.Fatal(err)
		}
		if s := scope(); s.Limited {
			t.Errorf("an operator is limited: %+v", s)
		}
		if err := h.SetRole(ctx, by, "budi", access.Viewer); err != nil {
			t.Fatal(err)
		}
		if s := scope(); !s.Limited {
			t.Error("a viewer again, it sees everything")
		}
		if err := h.LimitUser(ctx, by, "budi", access.Limit{}); err != nil {
			t.Fatal(err)
		}
		if s := scope(); s.Limited {
			t.Errorf("sees only %+v", s)
		}
	})
}

// What is hidden from a role is hidden from the tokens of its scope.
func TestPrivacyHoldsForTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		u := h.addUser(t, "budi", access.Viewer, "")
		op := h.addUser(t, "citra", access.Operator, "")
		text, token, err := h.CreateToken(ctx, access.By{Actor: op.Principal().Actor()}, "desk", access.Read)
		if err != nil {
			t.Fatal(err)
		}
		if token.CreatedBy != op.Principal().Actor() {
			t.Errorf("made by %q", token.CreatedBy)
		}
		hidden := access.Hidden{Names: true}
		if err := h.SetPrivacy(ctx, access.System, access.RolePrivacy{Role: access.Viewer, Hidden: hidden}); err != nil {
			t.Fatal(err)
		}
		if l := h.log(t); l[len(l)-1].action != access.DidSetPrivacy || l[len(l)-1].detail["role"] != "viewer" {
			t.Errorf("logged %+v", l[len(l)-1])
		}
		want := booking.Scope{HideNames: true}
		if got, err := h.User(ctx, u.ID); err != nil || got.Scope().HideNames != true || got.Scope().HidePhones {
			t.Errorf("a viewer sees %+v, %v", got.Scope(), err)
		}
		if got, err := h.Authenticate(ctx, text); err != nil || got.Scope.HideNames != want.HideNames || got.Scope.HidePhones {
			t.Errorf("a read token sees %+v, %v", got.Scope, err)
		}
		if got, err := h.User(ctx, op.ID); err != nil || got.Scope().Hides() {
			t.Errorf("an operator sees %+v, %v", got.Scope(), err)
		}
		var invalid *booking.InvalidError
		if err := h.SetPrivacy(ctx, access.System, access.RolePrivacy{Role: access.Administrator, Hidden: hidden}); !errors.As(err, &invalid) {
			t.Errorf("hidden from administrators: %v", err)
		}
		if err := h.SetPrivacy(ctx, access.System, access.RolePrivacy{Role: access.Viewer}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.User(ctx, u.ID); err != nil || got.Scope().Hides() {
			t.Errorf("shown again, a viewer sees %+v, %v", got.Scope(), err)
		}
	})
}

// Somebody can always undo what an administrator did: two who lock each other out
// at once do not both succeed, whichever way they do it.
func TestLastAdministrator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		for _, name := range []string{"ana", "ben"} {
			h.addUser(t, name, access.Administrator, "")
		}
		both := []func(context.Context) error{
			func(ctx context.Context) error { return h.DisableUser(ctx, access.System, "ana") },
			func(ctx context.Context) error { return h.SetRole(ctx, access.System, "ben", access.Viewer) },
		}
		errs := make([]error, len(both))
		var wg sync.WaitGroup
		for i, f := range both {
			wg.Go(func() { errs[i] = f(ctx) })
		}
		wg.Wait()
		var conflict *booking.ConflictError
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
				if !errors.As(err, &conflict) {
					t.Errorf("refused with %v", err)
				}
			}
		}
		if refused != 1 {
			t.Errorf("%d of two were refused: %v", refused, errs)
		}
		all, err := h.Users(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(all, func(u access.User) bool { return u.Role == access.Administrator && u.DisabledAt == nil }) {
			t.Error("nobody is administrator any more")
		}
	})
}

// Who was locked out and let in again does not come back by an old session.
func TestEnableUser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		u := h.addUser(t, "budi", access.Viewer, goodPassword)
		var conflict *booking.ConflictError
		if err := h.EnableUser(ctx, access.System, "budi"); !errors.As(err, &conflict) {
			t.Errorf("enabled one who was not disabled: %v", err)
		}
		before := u.Stamp()
		if err := h.DisableUser(ctx, access.System, "budi"); err != nil {
			t.Fatal(err)
		}
		h.advance(time.Minute)
		if err := h.EnableUser(ctx, access.System, "budi"); err != nil {
			t.Fatal(err)
		}
		got, err := h.User(ctx, u.ID)
		if err != nil || got.Stamp() == before {
			t.Errorf("the old sessions go on: %v", err)
		}
		if _, err := h.SignIn(ctx, "budi", goodPassword, remote); err != nil {
			t.Errorf("cannot sign in again: %v", err)
		}
	})
}
