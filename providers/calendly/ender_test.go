package calendly_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/calendly"
)

func TestEndedBy(t *testing.T) {
	t.Parallel()
	p := calendly.New(time.Hour)
	for file, want := range map[string]providers.Party{
		"01_one_on_one_invitee_created.json":                       {},
		"02_one_on_one_invitee_canceled_by_invitee.json":           {Name: "Jonas Whitfield", Role: providers.RoleInvitee},
		"03_one_on_one_invitee_canceled_by_host_empty_reason.json": {Name: "Mara Lindqvist", Role: providers.RoleHost},
		"04_reschedule_01_invitee_canceled_old_half.json":          {Name: "Priya Raman", Role: providers.RoleInvitee},
		"04_reschedule_02_invitee_created_new_half.json":           {},
		"10_no_show_created.json":                                  {},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.EndedBy(body); got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
	for body, want := range map[string]providers.Party{
		`{"payload":{"scheduled_event":{"cancellation":{"canceled_by":"Mara Lindqvist","canceler_type":"host"}}}}`: {Name: "Mara Lindqvist", Role: providers.RoleHost},
		`{"payload":{"cancellation":{"canceled_by":"Mara Lindqvist","canceler_type":"robot"}}}`:                    {Name: "Mara Lindqvist"},
		`{"payload":{"cancellation":{"canceled_by":["x"],"canceler_type":"host"}}}`:                                {Role: providers.RoleHost},
		`{"payload":{"cancellation":{}}}`: {},
		`{"payload":[]}`:                  {},
		``:                                {},
	} {
		if got := p.EndedBy([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}
