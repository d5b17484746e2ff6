package access

import (
	"testing"

	"github.com/google/uuid"
)

func TestMay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		action                          Action
		viewer, operator, administrator bool
	}{
		{View, true, true, true},
		{ScrapeMetrics, true, true, true},
		{MapResources, false, true, true},
		{ActAtProvider, false, true, true},
		{AcceptOverlaps, false, true, true},
		{SyncConnections, false, true, true},
		{ReadRawBodies, false, true, true},
		{ExportAudit, false, true, true},
		{ReadAdminLog, false, true, true},
		{ManageConnections, false, false, true},
		{ManageAccounts, false, false, true},
		{"unheard_of", false, false, false},
	}
	for _, tt := range tests {
		for role, want := range map[Role]bool{Viewer: tt.viewer, Operator: tt.operator, Administrator: tt.administrator, "": false, "root": false} {
			if got := May(role, tt.action); got != want {
				t.Errorf("May(%q, %q) = %v", role, tt.action, got)
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
