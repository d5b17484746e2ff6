package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
)

var operator = access.By{Actor: "user:0b9d6f0e-0000-4000-8000-0000000000aa", Remote: "192.0.2.7"}

func onBoth(t *testing.T, f func(t *testing.T, b *storetest.Bench)) {
	t.Helper()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, storetest.NewBench(t, fresh(t)))
		})
	}
}

func resourceOf(host string) uuid.UUID {
	return booking.ResourceIDByEmail(host + "@harbourclinic.example")
}

func calcom(id string, n int, from, to string, hosts ...string) *booking.Event {
	return bt.New(bt.Calcom, cre, id, n, bt.When(from, to), bt.With(hosts...), bt.For("priya"))
}

// states are "id=status" of all bookings; what is stored must keep the promises.
func states(t *testing.T, b *storetest.Bench) string {
	t.Helper()
	all, err := b.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if why := bt.Check(all); why != "" {
		t.Error(why)
	}
	var out []string
	for _, v := range all.Bookings {
		out = append(out, v.ExternalID+"="+string(v.Status))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func affected(list []booking.Affected) string {
	var out []string
	for _, a := range list {
		var with []string
		for _, o := range a.With {
			with = append(with, o.ExternalID)
		}
		slices.Sort(with)
		out = append(out, a.StartsAt.Format("15:04")+" "+a.Booking.ExternalID+" with "+strings.Join(with, "+"))
	}
	return strings.Join(out, ", ")
}

// log is what the admin log says: "actor action subject detail remote".
func log(t *testing.T, b *storetest.Bench) []string {
	t.Helper()
	rows, err := b.SQL.QueryContext(t.Context(), "SELECT actor, action, subject, detail, remote FROM admin_log ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var a [5]string
		if err := rows.Scan(&a[0], &a[1], &a[2], &a[3], &a[4]); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join(a[:], " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMergeResources(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		maya, maren := resourceOf("maya"), resourceOf("maren")
		b.Apply(t,
			calcom("b", 0, "10:00", "10:30", "maren"), calcom("wide", 1, "10:00", "10:30", "maya", "putri"),
			calcom("both", 2, "12:00", "12:30", "maya", "maren"), calcom("waits", 3, "10:00", "10:30", "putri"),
			bt.New(bt.Calendly, cre, "cal", 4, bt.In("s1"), bt.When("11:00", "11:30"), bt.With("maya"), bt.For("lena")))
		before := states(t, b)

		seen, err := b.PreviewMerge(t.Context(), maya, maren, storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		if got := affected(seen.Conflicts); got != "10:00 wide with b+waits" {
			t.Errorf("conflicts %q", got)
		}
		if got := affected(seen.Released); got != "10:00 waits with wide" {
			t.Errorf("released %q", got)
		}
		if after := states(t, b); after != before || len(log(t, b)) != 0 {
			t.Fatalf("the preview changed %s to %s", before, after)
		}

		// Somebody booked since: what was agreed to is not what would be done.
		b.Apply(t, calcom("new", 5, "11:15", "11:45", "maren"))
		if _, err := b.MergeResources(t.Context(), operator, maya, maren, seen.Mark(), storetest.Now); !errors.Is(err, booking.ErrImpactChanged) {
			t.Fatalf("merged with the agreement to another impact: %v", err)
		}
		if seen, err = b.PreviewMerge(t.Context(), maya, maren, storetest.Now); err != nil {
			t.Fatal(err)
		}
		done, err := b.MergeResources(t.Context(), operator, maya, maren, seen.Mark(), storetest.Now)
		if err != nil || done.Mark() != seen.Mark() {
			t.Fatalf("merging did %+v: %v", done, err)
		}
		if got, want := states(t, b), "b=active both=active cal=conflicted new=active waits=active wide=conflicted"; got != want {
			t.Errorf("bookings\n got %s\nwant %s", got, want)
		}
		want := []string{string(operator.Actor) + " resource.merged resource:" + maya.String() + ` {"into":"` + maren.String() + `"} 192.0.2.7`}
		if got := log(t, b); !slices.Equal(got, want) {
			t.Errorf("the log says %q, want %q", got, want)
		}
		transitions, err := b.Transitions(t.Context(), booking.Filter{}, booking.Page{})
		if err != nil || transitions.Items[0].Actor != booking.ActorSystem || transitions.Items[1].Actor != operator.Actor {
			t.Errorf("transitions %+v: %v", transitions.Items[:2], err)
		}

		// A later delivery for the merged one's e-mail goes to the other.
		b.Apply(t, calcom("later", 6, "10:15", "10:45", "maya"),
			bt.New(bt.Calendly, cre, "later2", 7, bt.In("s2"), bt.When("12:15", "12:45"), bt.NoEmail("maya"), bt.For("sean")))
		if got := states(t, b); !strings.Contains(got, "later2=conflicted later=conflicted") {
			t.Errorf("later deliveries: %s", got)
		}
		if list, err := b.Resources(t.Context(), booking.Filter{}, booking.Page{}); err != nil || len(list.Items) != 2 {
			t.Errorf("resources %+v: %v", list.Items, err)
		}
		listed, err := b.Bookings(t.Context(), booking.Filter{ResourceID: &maren}, booking.Page{})
		if err != nil || len(listed.Items) != 7 {
			t.Errorf("%d bookings of the other: %v", len(listed.Items), err)
		}
		// Mapping to the merged one's e-mail means the other.
		to, _, err := b.MapIdentity(t.Context(), operator, booking.Identity{Source: bt.Generic, ExternalID: "room 2"},
			booking.Resource{ID: maya, Name: "maya@harbourclinic.example"}, storetest.Now)
		if err != nil || to.ID != maren {
			t.Errorf("mapped to %+v: %v", to, err)
		}
	})
}

func TestMergeRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		b.Apply(t, calcom("a", 0, "10:00", "10:30", "maya"), calcom("b", 1, "11:00", "11:30", "maren"), calcom("c", 2, "12:00", "12:30", "putri"))
		maya, maren, putri := resourceOf("maya"), resourceOf("maren"), resourceOf("putri")
		if _, err := b.MergeResources(t.Context(), operator, maya, maren, "", storetest.Now); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			from, into uuid.UUID
			field      string
		}{
			"itself":            {putri, putri, "into"},
			"nobody":            {uuid.New(), putri, "from"},
			"into nobody":       {putri, uuid.New(), "into"},
			"merged already":    {maya, putri, "from"},
			"into a merged one": {putri, maya, "into"},
			"into what it was":  {maren, maya, "into"},
		} {
			var invalid *booking.InvalidError
			if _, err := b.MergeResources(t.Context(), operator, c.from, c.into, "", storetest.Now); !errors.As(err, &invalid) || invalid.Field != c.field {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := b.PreviewMerge(t.Context(), c.from, c.into, storetest.Now); !errors.As(err, &invalid) || invalid.Field != c.field {
				t.Errorf("preview of %s: %v", name, err)
			}
		}
		for what, err := range map[string]error{
			"rename": b.RenameResource(t.Context(), operator, maya, "Maya", storetest.Now),
			"zone":   b.SetZone(t.Context(), operator, maya, "Asia/Jakarta", storetest.Now),
		} {
			var invalid *booking.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(invalid.Detail, "was merged into "+maren.String()) {
				t.Errorf("%s of a merged one: %v", what, err)
			}
		}
		if n := len(log(t, b)); n != 1 {
			t.Errorf("%d entries in the log", n)
		}
	})
}

func TestSplitIdentity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		maya, maren := resourceOf("maya"), resourceOf("maren")
		b.Apply(t,
			calcom("a", 0, "10:00", "10:30", "maya"), calcom("b", 1, "10:00", "10:30", "maren"),
			bt.New(bt.Calendly, cre, "cal", 2, bt.In("s1"), bt.When("11:00", "11:30"), bt.With("maya"), bt.For("lena")))
		email := booking.IdentityKey{ExternalID: "maya@harbourclinic.example"}
		own := booking.Resource{ID: uuid.New(), Name: "Maya"}
		var invalid *booking.InvalidError
		if _, err := b.SplitIdentity(t.Context(), operator, email, own, storetest.Now); !errors.As(err, &invalid) {
			t.Errorf("all identities of a resource left it for a new one: %v", err)
		}
		if _, err := b.MergeResources(t.Context(), operator, maya, maren, "", storetest.Now); err != nil {
			t.Fatal(err)
		}
		if got := states(t, b); got != "a=conflicted b=active cal=active" {
			t.Fatalf("merged: %s", got)
		}
		impact, err := b.SplitIdentity(t.Context(), operator, email, own, storetest.Now)
		if err != nil || affected(impact.Released) != "10:00 a with b" || len(impact.Conflicts) != 0 {
			t.Errorf("splitting did %+v: %v", impact, err)
		}
		b.Apply(t, bt.New(bt.Calendly, cre, "later", 3, bt.In("s2"), bt.When("11:15", "11:45"), bt.NoEmail("maya"), bt.For("sean")))
		if got := states(t, b); got != "a=active b=active cal=active later=conflicted" {
			t.Errorf("split: %s", got)
		}
		list, err := b.Resources(t.Context(), booking.Filter{ResourceID: &own.ID}, booking.Page{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "Maya" || len(list.Items[0].Identities) != 2 {
			t.Errorf("the new resource is %+v: %v", list.Items, err)
		}

		// One name to another resource: its place is taken there.
		calendly := booking.IdentityKey{Source: bt.Calendly, ExternalID: "/users/maya"}
		b.Apply(t, calcom("held", 4, "11:00", "11:30", "maren"))
		impact, err = b.SplitIdentity(t.Context(), operator, calendly, booking.Resource{ID: maren}, storetest.Now)
		if err != nil || affected(impact.Conflicts) != "11:00 cal with held" {
			t.Errorf("splitting to another did %+v: %v", impact, err)
		}
		states(t, b)
		for name, c := range map[string]struct {
			key booking.IdentityKey
			to  uuid.UUID
		}{
			"to where it is":    {calendly, maren},
			"to a merged one":   {calendly, maya},
			"an unknown one":    {booking.IdentityKey{Source: bt.Calendly, ExternalID: "/users/nobody"}, own.ID},
			"one of no account": {booking.IdentityKey{Source: bt.Generic, ExternalID: "/users/maya"}, own.ID},
		} {
			if _, err := b.SplitIdentity(t.Context(), operator, c.key, booking.Resource{ID: c.to}, storetest.Now); !errors.As(err, &invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		want := []string{
			fmt.Sprintf(`%s identity.split resource:%s {"resource":%q} 192.0.2.7`, operator.Actor, maren, own.ID),
			fmt.Sprintf(`%s identity.split resource:%s {"identity":"/users/maya","provider":"calendly","resource":%q} 192.0.2.7`, operator.Actor, own.ID, maren),
		}
		if got := log(t, b)[1:]; !slices.Equal(got, want) {
			t.Errorf("the log says %q, want %q", got, want)
		}
	})
}

func TestEditResource(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		bare := func(e *booking.Event) {
			e.Session.Hosts = []booking.Host{{ExternalID: "maya@harbourclinic.example", Email: "maya@harbourclinic.example"}}
		}
		b.Apply(t, bt.New(bt.Calcom, cre, "a", 0, bt.When("10:00", "10:30"), bare, bt.For("priya")))
		id := resourceOf("maya")
		one := func() booking.ResourceView {
			t.Helper()
			list, err := b.Resources(t.Context(), booking.Filter{ResourceID: &id}, booking.Page{})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%+v: %v", list, err)
			}
			return list.Items[0]
		}
		// A person may well give the e-mail as the name: then it is one that is given.
		if err := b.RenameResource(t.Context(), operator, id, "  maya@harbourclinic.example ", storetest.Now); err != nil {
			t.Fatal(err)
		}
		b.Apply(t, calcom("b", 1, "11:00", "11:30", "maya"))
		if r := one(); r.Name != "maya@harbourclinic.example" || !r.NameGiven {
			t.Errorf("a delivery renamed it to %+v", r)
		}
		for _, name := range []string{"", " ", "two\nlines", strings.Repeat("n", 201), "\xff"} {
			var invalid *booking.InvalidError
			if err := b.RenameResource(t.Context(), operator, id, name, storetest.Now); !errors.As(err, &invalid) || invalid.Field != "name" {
				t.Errorf("the name %q: %v", name, err)
			}
		}
		for _, zone := range []string{"Nowhere/Land", "Local", "../etc/passwd", "+02:00"} {
			var invalid *booking.InvalidError
			if err := b.SetZone(t.Context(), operator, id, zone, storetest.Now); !errors.As(err, &invalid) || invalid.Field != "zone" {
				t.Errorf("the zone %q: %v", zone, err)
			}
		}
		for _, zone := range []string{"Asia/Makassar", ""} {
			if err := b.SetZone(t.Context(), operator, id, zone, storetest.Now); err != nil || one().Timezone != zone {
				t.Errorf("the zone %q: %v, %+v", zone, err, one())
			}
		}
		if n := len(log(t, b)); n != 3 {
			t.Errorf("%d entries in the log", n)
		}
	})
}

func TestFindResources(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		b.Apply(t, calcom("a", 0, "10:00", "10:30", "maya"), calcom("b", 1, "10:00", "10:30", "maren"), calcom("c", 2, "10:00", "10:30", "putri"),
			calcom("both", 3, "11:00", "11:30", "maya", "putri"), calcom("off", 4, "12:00", "12:30", "maya"),
			bt.New(bt.Calcom, booking.KindCanceled, "off", 5, bt.With("maya"), bt.For("priya")),
			bt.New(bt.Calendly, cre, "cal", 6, bt.In("s1"), bt.When("13:00", "13:30"), bt.NoEmail("room"), bt.For("lena")),
			bt.New(bt.Calendly, cre, "cal2", 7, bt.In("s2"), bt.When("15:00", "15:30"), bt.NoEmail("room"), bt.For("sean")))
		if err := b.RenameResource(t.Context(), operator, resourceOf("putri"), "100% A_lbert", storetest.Now); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{
			"": "100% A_lbert maren maya", "MA": "maren maya", "putri@": "100% A_lbert", "0% a_L": "100% A_lbert", "%": "100% A_lbert", "nobody": "", `\`: "",
		} {
			var got []string
			p := booking.Page{Limit: 1}
			for {
				list, err := b.FindResources(t.Context(), text, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list.Items {
					got = append(got, r.Name)
				}
				if p.Cursor = list.Next; p.Cursor == "" {
					break
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		coming, err := b.Coming(t.Context(), bt.At("10:15"))
		if err != nil || coming[resourceOf("maya")] != 2 || coming[resourceOf("putri")] != 2 || coming[resourceOf("maren")] != 1 || len(coming) != 3 {
			t.Errorf("coming are %v: %v", coming, err)
		}
		if coming, err = b.Coming(t.Context(), bt.At("11:00")); err != nil || coming[resourceOf("maya")] != 1 || coming[resourceOf("maren")] != 0 {
			t.Errorf("coming are %v: %v", coming, err)
		}
		unmapped, err := b.Unmapped(t.Context(), bt.At("14:00"))
		if err != nil || len(unmapped) != 1 || unmapped[0].ExternalID != "/users/room" || unmapped[0].Bookings != 2 || unmapped[0].Coming != 1 {
			t.Errorf("unmapped are %+v: %v", unmapped, err)
		}
		host := booking.IdentityKey{Source: bt.Calendly, ExternalID: "/users/room"}
		list, err := b.Bookings(t.Context(), booking.Filter{Host: &host}, booking.Page{})
		if err != nil || len(list.Items) != 2 || list.Items[0].ExternalID != "cal" {
			t.Errorf("its bookings are %+v: %v", list.Items, err)
		}
	})
}

// Merging is one transaction over all that both ever had: thousands must not make
// it read the rest of the database, nor take longer than a person waits.
func TestMergeMany(t *testing.T) {
	t.Parallel()
	const many = 200
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		var events []*booking.Event
		for i := range many {
			from := bt.Day.Add(time.Duration(i) * time.Hour)
			to := from.Add(30 * time.Minute)
			for j, host := range []string{"maya", "maren"} {
				e := bt.New(bt.Calcom, cre, fmt.Sprintf("%s-%d", host, i), 2*i+j, bt.With(host), bt.For("priya"))
				shift := time.Duration(j) * 30 * time.Minute // back to back
				if i%50 == 0 {
					shift = 0
				}
				a, z := from.Add(shift), to.Add(shift)
				e.Session.StartsAt, e.Session.EndsAt = &a, &z
				events = append(events, e)
			}
		}
		for part := range slices.Chunk(events, 100) {
			b.Apply(t, part...)
		}
		impact, err := b.MergeResources(t.Context(), operator, resourceOf("maya"), resourceOf("maren"), "", storetest.Now)
		if err != nil || len(impact.Conflicts) != many/50 || impact.Sessions != many {
			t.Fatalf("%d conflicts, %d sessions: %v", len(impact.Conflicts), impact.Sessions, err)
		}
		if got := strings.Count(states(t, b), "=conflicted"); got != many/50 {
			t.Errorf("%d are conflicted", got)
		}
	})
}
