package store_test

import (
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
)

// Mapping a host by hand claims its sessions' places in one transaction: who
// finds one held is conflicted, and the next delivery of that host is mapped.
func TestMapIdentityClaims(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			b.Apply(t,
				bt.New(bt.Calcom, cre, "held", 0, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("kofi")),
				bt.New(bt.Calendly, cre, "loses", 1, bt.In("s1"), bt.When("10:15", "10:45"), bt.NoEmail("maren"), bt.For("priya")),
				bt.New(bt.Calendly, cre, "claims", 2, bt.In("s2"), bt.When("12:00", "12:30"), bt.NoEmail("maren"), bt.For("lena")),
			)
			unmapped, err := b.Unmapped(t.Context(), storetest.Now)
			if err != nil || len(unmapped) != 1 || unmapped[0].ExternalID != "/users/maren" {
				t.Fatalf("unmapped: %+v, %v", unmapped, err)
			}
			maren := booking.Resource{ID: booking.ResourceIDByEmail("maren@harbourclinic.example"), Name: "Maren"}
			to, impact, err := b.MapIdentity(t.Context(), access.System, unmapped[0].Identity, maren, storetest.Now)
			if err != nil || to.ID != maren.ID || len(impact.Conflicts) != 1 || len(impact.Released) != 0 || impact.Sessions != 2 {
				t.Fatalf("mapped to %+v: %+v, %v", to, impact, err)
			}
			b.Apply(t, bt.New(bt.Calendly, cre, "next", 3, bt.In("s3"), bt.When("12:15", "12:45"), bt.NoEmail("maren"), bt.For("sean")))

			all, err := b.Everything(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for id, want := range map[string]booking.Status{
				"loses": booking.Conflicted, "claims": booking.Active, "next": booking.Conflicted,
			} {
				got := all.Bookings[booking.ID(bt.Calendly, id, "")]
				if got.Status != want || got.Reason == booking.ReasonUnmapped {
					t.Errorf("%s is %s %q, want %s", id, got.Status, got.Reason, want)
				}
			}
			if why := bt.Check(all); why != "" {
				t.Error(why)
			}
			if left, err := b.Unmapped(t.Context(), storetest.Now); err != nil || len(left) != 0 {
				t.Errorf("still unmapped: %+v, %v", left, err)
			}
		})
	}
}

const cre = booking.KindCreated
