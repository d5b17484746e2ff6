package booking_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// What is hidden stands nowhere in a booking, whichever of its texts the provider
// put it into.
func TestScopeHides(t *testing.T) {
	t.Parallel()
	b := booking.View{
		Title:    "30 Min between Dr. Maren Oduya and Priya Raman (priya.raman@mail.example)",
		Location: "Call Priya's mobile: +49 (0)151 / 2345-6789",
		Invitee:  booking.Person{Name: "Priya Raman", Email: "priya.raman@mail.example", Phone: "+4915123456789", Timezone: "Asia/Kolkata"},
	}
	tests := []struct {
		name          string
		scope         booking.Scope
		hidden, shown []string
	}{
		{
			"all",
			booking.Scope{},
			nil,
			[]string{"Priya Raman", "priya.raman@mail.example", "+4915123456789", "2345-6789", "30 Min between"},
		},
		{
			"names",
			booking.Scope{HideNames: true},
			[]string{"priya", "raman"},
			[]string{"P.R.", "30 Min between Dr. Maren Oduya and — —", "+4915123456789", "2345-6789", "Asia/Kolkata"},
		},
		{
			"phones",
			booking.Scope{HidePhones: true},
			[]string{"15123456789", "2345", "6789"},
			[]string{"Priya Raman", "priya.raman@mail.example", "Call Priya's mobile: —"},
		},
		{
			"both",
			booking.Scope{HideNames: true, HidePhones: true},
			[]string{"priya", "raman", "15123456789", "2345"},
			[]string{"30 Min between", "Maren Oduya"},
		},
	}
	for _, tt := range tests {
		got := tt.scope.Booking(b)
		text := strings.Join([]string{got.Title, got.Location, got.Invitee.Name, got.Invitee.Email, got.Invitee.Phone, got.Invitee.Timezone}, "\n")
		for _, s := range tt.hidden {
			if strings.Contains(strings.ToLower(text), s) {
				t.Errorf("%s: %q shows in\n%s", tt.name, s, text)
			}
		}
		for _, s := range tt.shown {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q is missing in\n%s", tt.name, s, text)
			}
		}
	}
}

// A meeting's address is no phone number, and a name that is no letters is hidden
// all the same.
func TestScopeLeavesTheRest(t *testing.T) {
	t.Parallel()
	hide := booking.Scope{HideNames: true, HidePhones: true}
	for _, tt := range []struct{ name, location, wantName, wantLocation string }{
		{"Ann", "https://meet.example/j/98765432100", "A.", "https://meet.example/j/98765432100"},
		{"", "Room 12, 2nd floor", "", "Room 12, 2nd floor"},
		{"🎉", "Harbour Street 5, 10115 Berlin", "—", "Harbour Street 5, 10115 Berlin"},
		{"ayu dewi putri lestari", "030 1234567", "A.D.P.", "—"},
	} {
		got := hide.Booking(booking.View{Location: tt.location, Invitee: booking.Person{Name: tt.name}})
		if got.Invitee.Name != tt.wantName || got.Location != tt.wantLocation {
			t.Errorf("%q at %q shows as %q at %q", tt.name, tt.location, got.Invitee.Name, got.Location)
		}
	}
}

func TestScopeLimits(t *testing.T) {
	t.Parallel()
	mine, other := uuid.New(), uuid.New()
	s := booking.Scope{Limited: true, Resources: []uuid.UUID{mine}}
	for _, tt := range []struct {
		name  string
		scope booking.Scope
		of    []uuid.UUID
		want  bool
	}{
		{"everything", booking.Scope{}, []uuid.UUID{other}, true},
		{"everything, of no resource", booking.Scope{}, nil, true},
		{"its own", s, []uuid.UUID{mine}, true},
		{"together with its own", s, []uuid.UUID{other, mine}, true},
		{"another", s, []uuid.UUID{other}, false},
		{"of no resource", s, nil, false},
		{"limited to nothing", booking.Scope{Limited: true}, []uuid.UUID{mine}, false},
		{"nobody was let in", booking.Nothing(), []uuid.UUID{mine}, false},
	} {
		if got := tt.scope.Sees(tt.of...); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if got := s.Booking(booking.View{ResourceIDs: []uuid.UUID{other, mine}}).ResourceIDs; len(got) != 1 || got[0] != mine {
		t.Errorf("a collective's other hosts show: %v", got)
	}
}
