package storetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// testScope reads every list as somebody does who sees some resources only, and
// searches as somebody from whom names are hidden.
func testScope(t *testing.T, b *Bench) {
	b.Apply(t,
		created("mine", "10:00", "10:30"),
		bt.New(bt.Calendly, booking.KindCreated, "theirs", 11, bt.When("11:00", "11:30"), bt.With("rangga"), bt.For("agus"), bt.Title("Call with Agus")),
		bt.New(bt.Calendly, booking.KindCreated, "both", 12, bt.When("12:00", "12:30"), bt.With("putri", "rangga"), bt.For("dewi")),
		canceled("tomb"))
	var putri uuid.UUID
	for _, v := range b.bookings(t, booking.Filter{}) {
		if v.ExternalID == "mine" {
			putri = v.ResourceIDs[0]
		}
	}
	if putri == uuid.Nil {
		t.Fatal("the booking has no resource")
	}
	one := booking.Scope{Limited: true, Resources: []uuid.UUID{putri}}
	nothing := booking.Scope{Limited: true}
	for _, c := range []struct {
		name                  string
		scope                 booking.Scope
		bookings              string
		slots, log, resources int
	}{
		{"all", booking.Scope{}, "both mine theirs tomb", 4, 4, 2},
		{"one", one, "both mine", 2, 2, 1},
		{"nothing", nothing, "", 0, 0, 0},
		{"nobody", booking.Nothing(), "", 0, 0, 0},
	} {
		f := booking.Filter{Scope: c.scope}
		if got := sortedNames(b.bookings(t, f)); got != c.bookings {
			t.Errorf("%s sees the bookings %q, not %q", c.name, got, c.bookings)
		}
		if got := len(b.slots(t, f)); got != c.slots {
			t.Errorf("%s sees %d slots, not %d", c.name, got, c.slots)
		}
		if got := len(b.transitions(t, f)); got != c.log {
			t.Errorf("%s sees %d transitions, not %d", c.name, got, c.log)
		}
		if l, err := b.Resources(t.Context(), f, booking.Page{}); err != nil || len(l.Items) != c.resources {
			t.Errorf("%s sees %d resources, not %d: %v", c.name, len(l.Items), c.resources, err)
		}
	}

	testScopedPaging(t, b, one)

	// A filter by what is not seen finds nothing, and counts nothing.
	theirs := booking.ID(bt.Calendly, "theirs", "")
	late := b.Post(created("tomb", "10:00", "10:30"))
	b.ApplyPosts(t, late) // refused: the tombstone stands
	if got := b.transitions(t, booking.Filter{Scope: one, BookingID: &theirs}); len(got) != 0 {
		t.Errorf("the log of another's booking shows %d", len(got))
	}
	if tally, err := b.Tally(t.Context(), booking.Filter{Scope: nothing, Troubled: true}); err != nil || len(tally) != 0 {
		t.Errorf("who sees nothing counts %+v: %v", tally, err)
	}

	// What is hidden is not found: not by name, address, or the name in a title.
	hide := booking.Scope{HideNames: true}
	for text, shown := range map[string][2]int{
		"agus": {1, 0}, "dewi": {3, 0}, "agus@mail.example": {1, 0}, "Call with": {1, 0}, "theirs": {1, 1}, "nobody": {0, 0},
	} {
		for i, scope := range []booking.Scope{{}, hide} {
			f := booking.Filter{Scope: scope, Text: text, Outcome: booking.Applied}
			found := map[uuid.UUID]bool{}
			for _, tr := range b.transitions(t, f) {
				found[tr.BookingID] = true
			}
			if len(found) != shown[i] {
				t.Errorf("%q with names hidden %v finds %d bookings, not %d", text, scope.HideNames, len(found), shown[i])
			}
		}
	}
}

// Who sees no phone number finds none by it: neither all of it nor digit by digit,
// in whichever text it stands.
func testHiddenNumbers(t *testing.T, b *Bench) {
	number := "+62 811 98"
	callable := func(id, title string, n int) *booking.Event {
		e := bt.New(bt.Calendly, booking.KindCreated, id, n, bt.When("11:00", "11:30"), bt.For("agus"), bt.Title(title))
		e.Attendees[0].Phone = &number
		return e
	}
	b.Apply(t,
		callable("+62 811 98", "Check", 10),
		callable("in the title", "Call 0811 98 for 30 min", 11),
		callable("calm", "Visit of 30 min", 12),
		callable("8811", "Room 7", 13))
	for _, c := range []struct {
		text          string
		shown, hidden int
	}{
		{"811 98", 2, 0},
		{"811 97", 0, 0},
		{"98", 2, 0},
		{"Call 0", 1, 0},
		{"Call", 1, 1},
		{"+62 811 98", 1, 0},
		{"8811", 1, 1},
		{"881", 1, 0},
		{"30 min", 2, 1},
		{"Room 7", 1, 1},
		{"Agus@mail.example", 4, 4},
	} {
		for hidden, want := range map[bool]int{false: c.shown, true: c.hidden} {
			f := booking.Filter{Scope: booking.Scope{HidePhones: hidden}, Text: c.text}
			if got := b.bookings(t, f); len(got) != want {
				t.Errorf("%q with numbers hidden %v finds %d bookings, not %d", c.text, hidden, len(got), want)
			}
			found := map[uuid.UUID]bool{}
			for _, tr := range b.transitions(t, f) {
				found[tr.BookingID] = true
			}
			if len(found) != want {
				t.Errorf("%q with numbers hidden %v finds the history of %d bookings, not %d", c.text, hidden, len(found), want)
			}
		}
	}
}

// testPeople asks who may be named in a booking's title, and which connections told
// of a resource whose host is known by e-mail only.
func testPeople(t *testing.T, b *Bench) {
	group := []bt.Option{bt.When("10:00", "11:00"), bt.With("putri"), bt.In("class"), bt.Room(8)}
	b.Apply(t,
		bt.New(bt.Calendly, booking.KindCreated, "one", 10, append(group, bt.For("agus"))...),
		bt.New(bt.Calendly, booking.KindCreated, "two", 11, append(group, bt.For("dewi"))...),
		bt.New(bt.Generic, booking.KindCreated, "alone", 12, bt.When("12:00", "12:30"), bt.With("rangga"), bt.For("siti")),
		canceled("tomb"))
	all := map[string]booking.View{}
	var ids []uuid.UUID
	for _, v := range b.bookings(t, booking.Filter{}) {
		all[v.ExternalID] = v
		ids = append(ids, v.ID, v.ID)
	}
	people, err := b.PeopleOf(t.Context(), append(ids, uuid.New()))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{"one": {"Agus", "Dewi"}, "two": {"Agus", "Dewi"}, "alone": {"Siti"}, "tomb": {""}} {
		var names []string
		for _, p := range people[all[id].ID] {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		if names = slices.Compact(names); !slices.Equal(names, want) {
			t.Errorf("%q stands with %q, not %q", id, names, want)
		}
	}
	if none, err := b.PeopleOf(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("of no bookings: %v, %v", none, err)
	}

	for _, id := range []string{"one", "alone"} {
		v := all[id]
		got, err := b.ConnectionsOf(t.Context(), v.ResourceIDs)
		if err != nil || !slices.Equal(got, []uuid.UUID{v.ConnectionID}) {
			t.Errorf("of %q's resource told %v, not %v: %v", id, got, v.ConnectionID, err)
		}
	}
	for _, of := range [][]uuid.UUID{nil, {uuid.New()}} {
		if got, err := b.ConnectionsOf(t.Context(), of); err != nil || len(got) != 0 {
			t.Errorf("of no resource told %v: %v", got, err)
		}
	}
}

// testScopedPaging turns the pages of the log as somebody who sees some of it: nothing
// is left out or shown twice, and no page's cursor says or proves which number a row
// has, which would tell how much goes on elsewhere.
func testScopedPaging(t *testing.T, b *Bench, scope booking.Scope) {
	t.Helper()
	read := func(scope booking.Scope, cursor string) (booking.List[booking.TransitionView], error) {
		return b.Transitions(t.Context(), booking.Filter{Scope: scope}, booking.Page{Limit: 1, Cursor: cursor})
	}
	var paged []int64
	sealed, cursor := "", ""
	for {
		l, err := read(scope, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range l.Items {
			paged = append(paged, v.Seq)
		}
		if l.Next == "" {
			break
		}
		plain, err := base64.RawURLEncoding.DecodeString(l.Next)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{sealed, cursor}, l.Next) || len(plain) < 32 || string(plain[:len("transitions")]) == "transitions" {
			t.Errorf("who is limited gets the cursor %q", plain)
		}
		sealed, cursor = l.Next, l.Next
	}
	var whole []int64
	for _, v := range b.transitions(t, booking.Filter{Scope: scope}) {
		whole = append(whole, v.Seq)
	}
	if !slices.Equal(paged, whole) || len(whole) < 2 {
		t.Errorf("page by page there are %v, at once %v", paged, whole)
	}

	// A link that was passed on works for who sees all; the other way, or guessed, none.
	if l, err := read(booking.Scope{}, sealed); err != nil || len(l.Items) != 1 {
		t.Errorf("a sealed cursor gives who sees all %+v: %v", l.Items, err)
	}
	all, err := read(booking.Scope{}, "")
	if err != nil || all.Next == "" {
		t.Fatalf("%+v: %v", all, err)
	}
	guess := base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("transitions|%s|2", all.Items[0].RecordedAt.UTC().Format("2006-01-02T15:04:05.000000Z"))))
	for _, cursor := range []string{all.Next, guess, sealed[:len(sealed)-2] + "AA"} {
		var invalid *booking.InvalidError
		if _, err := read(scope, cursor); !errors.As(err, &invalid) || invalid.Field != "cursor" {
			t.Errorf("%q is taken from who is limited: %v", cursor, err)
		}
	}
}
