package calcom_test

import (
	"os"
	"path/filepath"
	"testing"

	"slotkeeper/providers"
	"slotkeeper/providers/calcom"
)

func TestEndedBy(t *testing.T) {
	t.Parallel()
	p := calcom.New()
	for file, want := range map[string]providers.Party{
		oneOnOne:                   {},
		"booking_cancelled.json":   {Name: "Priya Raman", Role: providers.RoleInvitee},
		"booking_rescheduled.json": {Name: "Priya Raman", Role: providers.RoleInvitee},
		"booking_rejected.json":    {Role: providers.RoleHost},
		"booking_requested.json":   {},
		"ping.json":                {},
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
		`{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"MAREN@clinic.example","organizer":{"email":"maren@clinic.example","name":" "}}}`:                                                    {Name: "maren@clinic.example", Role: providers.RoleHost},
		`{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"theo@clinic.example","organizer":{"email":"m@clinic.example"},"team":{"members":[{"email":"theo@clinic.example","name":"Theo"}]}}}`: {Name: "Theo", Role: providers.RoleHost},
		`{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"office@clinic.example"}}`:                                                                                                           {Name: "office@clinic.example"},
		`{"triggerEvent":"BOOKING_CANCELLED","payload":{"cancelledBy":"whoever I like","attendees":[{"email":"whoever I like"}]}}`:                                                                         {},
		`{"triggerEvent":"BOOKING_CANCELLED","payload":{"rescheduledBy":"theo@clinic.example"}}`:                                                                                                           {},
		`[]`: {},
		``:   {},
	} {
		if got := p.EndedBy([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}
