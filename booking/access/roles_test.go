package access

import (
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

func TestMay(t *testing.T) {
	t.Parallel()
	limited := booking.Scope{Limited: true, Resources: []uuid.UUID{uuid.New()}}
	// In this order: a viewer, one limited to resources, an operator, one from whom
	// phone numbers are hidden, an administrator.
	who := []Principal{
		{Role: Viewer},
		{Role: Viewer, Scope: limited},
		{Role: Operator},
		{Role: Operator, Scope: booking.Scope{HidePhones: true}},
		{Role: Administrator},
	}
	tests := []struct {
		action Action
		may    [5]bool
	}{
		{View, [5]bool{true, true, true, true, true}},
		{ViewAll, [5]bool{true, false, true, true, true}},
		{ManageSelf, [5]bool{true, true, true, true, true}},
		{ScrapeMetrics, [5]bool{true, false, true, true, true}},
		{MapResources, [5]bool{false, false, true, true, true}},
		{ActAtProvider, [5]bool{false, false, true, true, true}},
		{AcceptOverlaps, [5]bool{false, false, true, true, true}},
		{SyncConnections, [5]bool{false, false, true, true, true}},
		{ReplayDeliveries, [5]bool{false, false, true, true, true}},
		// A raw body has the phone number in it.
		{ReadRawBodies, [5]bool{false, false, true, false, true}},
		{ReadForms, [5]bool{false, false, true, false, true}},
		{ExportAudit, [5]bool{false, false, true, true, true}},
		{ReadAdminLog, [5]bool{false, false, true, true, true}},
		{ManageConnections, [5]bool{false, false, false, false, true}},
		{ManageAccounts, [5]bool{false, false, false, false, true}},
		{ErasePeople, [5]bool{false, false, false, false, true}},
		{"unheard_of", [5]bool{}},
	}
	for _, tt := range tests {
		for i, p := range who {
			if got := p.May(tt.action); got != tt.may[i] {
				t.Errorf("%d, a %s, may %s: %v", i, p.Role, tt.action, got)
			}
		}
		for _, role := range []Role{"", "root"} {
			if (Principal{Role: role}).May(tt.action) {
				t.Errorf("the role %q may %s", role, tt.action)
			}
		}
	}
	if len(tests)-1 != len(needs) {
		t.Errorf("%d actions are tried, the table has %d", len(tests)-1, len(needs))
	}
}

func TestScopesAreRoles(t *testing.T) {
	t.Parallel()
	for scope, want := range map[Scope]Role{Read: Viewer, Operate: Operator, Admin: Administrator, "": "", "viewer": ""} {
		if got := scope.Role(); got != want {
			t.Errorf("scope %q is the role %q", scope, got)
		}
	}
}

func TestActor(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("5c0cb8a5-23f2-4d6b-8b8c-3a8f2a1b0c4d")
	if got := (Principal{ID: id}).Actor(); got != "user:5c0cb8a5-23f2-4d6b-8b8c-3a8f2a1b0c4d" {
		t.Error(got)
	}
	if got := (Principal{ID: id, Token: true}).Actor(); got != "token:5c0cb8a5-23f2-4d6b-8b8c-3a8f2a1b0c4d" {
		t.Error(got)
	}
}
