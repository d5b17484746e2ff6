package booking_test

import (
	"strings"
	"testing"

	"slotkeeper/booking"
)

// A name is hidden however it is written, and whoever's of the session it is.
func TestScopeHidesNamesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what, title   string
		invitee       string
		others        []string
		hidden, shown []string
	}{
		{"another seat", "Group with Grupo Unoson", "Grupo Dueson", []string{"Grupo Unoson"}, []string{"grupo", "unoson"}, []string{"Group with"}},
		{"both of a call", "Intro Call between Rani Wijaya and Jonas Keller", "Rani Wijaya", []string{"Jonas Keller"}, []string{"rani", "wijaya", "jonas", "keller"}, []string{"Intro Call between"}},
		{"decomposed", "Call with Jose\u0301 Nu\u0301n\u0303ez", "José Núñez", nil, []string{"jose", "nu"}, []string{"Call with"}},
		{"composed", "Call with José Núñez", "Jose\u0301 Nu\u0301n\u0303ez", nil, []string{"jos", "ez"}, []string{"Call with"}},
		{"without its marks", "Call with Jose Mueller", "José Müller", nil, []string{"jose", "mueller"}, []string{"Call with"}},
		{"glued in the title", "Visit: KarlHeinzmann", "Karl Heinzmann", nil, []string{"karl", "heinz"}, []string{"Visit"}},
		{"glued in the name", "Visit: Karl Heinzmann", "KarlHeinzmann", nil, []string{"karl", "heinz"}, []string{"Visit"}},
		{"short and glued", "Visit: BoLi", "Bo Li", nil, []string{"boli"}, []string{"Visit"}},
		{"plural", "The Heinzmanns' check", "Eva Heinzmann", nil, []string{"heinz"}, []string{"The", "check"}},
		{"plural of a y", "The Kennedies", "Ted Kennedy", nil, []string{"kenned"}, []string{"The"}},
		{"sharp s in capitals", "Termin GROSSMANN", "Uwe Großmann", nil, []string{"gross"}, []string{"Termin"}},
		{"full width", "Call ＲＡＮＩ", "Rani", nil, []string{"ｒａｎｉ"}, []string{"Call"}},
		{"cut by what does not show", "Call Wi\u200bja\u00adya", "Rani Wijaya", nil, []string{"wi", "ja"}, []string{"Call"}},
		{"no spaces in the script", "山田様 面談", "山田太郎", nil, []string{"山田"}, []string{"面談"}},
		{"the name in an address", "Call priyaraman", "", []string{"", "priya.raman@mail.example"}, []string{"priya"}, []string{"Call"}},
	} {
		var others []booking.Person
		for _, name := range tt.others {
			p := booking.Person{Name: name}
			if strings.Contains(name, "@") {
				p = booking.Person{Email: name}
			}
			others = append(others, p)
		}
		scope := booking.Scope{HideNames: true}
		b := scope.Booking(booking.View{Title: tt.title, Location: tt.title, ExternalID: tt.title, Invitee: booking.Person{Name: tt.invitee}}, others...)
		tr := scope.Transition(booking.TransitionView{Title: tt.title, Invitee: tt.invitee}, others...)
		for _, text := range []string{b.Title, b.Location, b.ExternalID, tr.Title} {
			for _, h := range tt.hidden {
				if strings.Contains(strings.ToLower(text), h) {
					t.Errorf("%s: %q shows in %q", tt.what, h, text)
				}
			}
			for _, s := range tt.shown {
				if !strings.Contains(text, s) {
					t.Errorf("%s: %q is gone from %q", tt.what, s, text)
				}
			}
		}
	}
}

// A number is hidden whatever stands between its digits and beside it, and a short
// one when it is the invitee's.
func TestScopeHidesNumbersAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	const own = "+62 811 555 0199"
	for _, tt := range []struct{ phone, text, want string }{
		{"", "0811 555 0199 or https://meet.example/j/98765432100", "— or https://meet.example/j/98765432100"},
		{"", "https://meet.example/j/98765432100\u00a00811\u00a0555\u00a00199", "https://meet.example/j/98765432100\u00a0—"},
		{"", "0811\u00a0555\u00a00199", "—"},
		{"", "0811\u2011555\u20110199", "—"},
		{"", "0811\u200b555 – 0199", "—"},
		{"", "811,555,0199", "—"},
		{"", "٠٨١١ ٥٥٥ ٠١٩٩", "—"},
		{"", "tel:555-123", "tel:—"},
		{"", "Tel: 555 123 please", "Tel:— please"},
		{"", "https://wa.me/628115550199", "—"},
		{"", "https://x.example/call?phone=%2B62811", "—"},
		{"", "Hotel 12, floor 3", "Hotel 12, floor 3"},
		{"", "30 min, Room 204", "30 min, Room 204"},
		{"555 12", "extension 555-12", "extension —"},
		{"555 12", "Room 204", "Room 204"},
		{own, "ends in 0199", "ends in —"},
		{own, "0811 55", "—"},
		{own, "0811:555:0199", "—"},
		{own, "https://meet.example/62-811-555-0199", "—"},
		{own, "https://meet.example/j/98765432100", "https://meet.example/j/98765432100"},
	} {
		b := booking.Scope{HidePhones: true}.Booking(booking.View{
			Title: tt.text, Location: tt.text, ExternalID: tt.phone, Invitee: booking.Person{Name: tt.text, Phone: tt.phone, Email: "x@mail.example"},
		})
		if b.Title != tt.want || b.Location != tt.want || b.Invitee.Name != tt.want {
			t.Errorf("%q of who has %q shows as %q, %q and %q, not %q", tt.text, tt.phone, b.Title, b.Location, b.Invitee.Name, tt.want)
		}
		if tt.phone != "" && b.ExternalID != "—" {
			t.Errorf("the id shows the number: %q", b.ExternalID)
		}
		other := booking.Scope{HidePhones: true}.Booking(booking.View{Title: tt.text}, booking.Person{Phone: tt.phone})
		if other.Title != tt.want {
			t.Errorf("%q of another seat's shows as %q", tt.text, other.Title)
		}
	}
	if b := (booking.Scope{HidePhones: true}).Booking(booking.View{ExternalID: "1234567890", Invitee: booking.Person{Phone: own, Email: "628115550199@mail.example"}}); b.ExternalID != "1234567890" || b.Invitee.Email != "" {
		t.Errorf("an id of digits shows as %q, an address made of the number as %q", b.ExternalID, b.Invitee.Email)
	}
	r := booking.Scope{HidePhones: true, HideNames: true}.Receipt(booking.ReceiptView{EventKey: "visit-rani|created"}, booking.Person{Name: "Rani Wijaya"})
	if r.EventKey != "visit-—|created" {
		t.Errorf("a receipt's key shows as %q", r.EventKey)
	}
}
