package storetest

import (
	"slices"
	"testing"
	"time"

	"slotkeeper/booking"
)

// testDrifts: what an import found, and no comparison can see, stays for a person to
// see to; what a run could have seen, and did not, is as it should be by now.
func testDrifts(t *testing.T, b *Bench) {
	const day = 24 * time.Hour
	after := func(days int) *time.Time {
		at := Now.Add(time.Duration(days) * day)
		return &at
	}
	old, recent := after(-400), after(-30)
	began := Now.Add(time.Hour)
	conn := b.Conn["calendly"]
	for _, d := range []booking.Drift{
		{ExternalID: "compared", Kind: booking.DriftRefused, StartsAt: after(3)},
		{ExternalID: "compared, over for long", Kind: booking.DriftRefused, StartsAt: after(-8)},
		{ExternalID: "compared, unreadable", Kind: booking.DriftUnreadable},
		{ExternalID: "compared, gone", Kind: booking.DriftGone},
		{ExternalID: "imported, near", Kind: booking.DriftRefused, StartsAt: after(3), ImportFrom: old},
		{ExternalID: "imported, far", Kind: booking.DriftRefused, StartsAt: after(100), ImportFrom: recent},
		{ExternalID: "imported, long ago", Kind: booking.DriftUnreadable, StartsAt: after(-200), ImportFrom: old},
		{ExternalID: "imported, unreadable", Kind: booking.DriftUnreadable, ImportFrom: recent},
		{ExternalID: "imported from far back, unreadable", Kind: booking.DriftUnreadable, ImportFrom: old},
		{ExternalID: "another's", Kind: booking.DriftUnreadable},
		{ExternalID: "seen since", Kind: booking.DriftUnreadable, SeenAt: began},
	} {
		d.ConnectionID, d.Detail, d.FoundAt = conn, "as it is", Now
		if d.SeenAt.IsZero() {
			d.SeenAt = Now
		}
		if d.ExternalID == "another's" {
			d.ConnectionID = b.Conn["calcom"]
		}
		if err := b.NoteDrift(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	left := func() []string {
		t.Helper()
		var all []string
		for _, c := range []string{"calendly", "calcom"} {
			drifts, err := b.Drifts(t.Context(), b.Conn[c], 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range drifts {
				all = append(all, d.ExternalID)
			}
		}
		return all
	}
	stay := left()
	for _, c := range []struct {
		run   booking.Run
		found []string
	}{
		{booking.Run{Kind: booking.RunBackfill, From: *recent, To: *after(366)}, []string{
			"compared", "compared, over for long", "imported, near", "imported, far", "imported, unreadable",
		}},
		{booking.Run{Kind: booking.RunReconcile, From: *after(-7), To: *after(60)}, []string{"compared, unreadable", "compared, gone"}},
		{booking.Run{Kind: booking.RunReconcile, From: *after(-7), To: *after(60)}, nil},
		{booking.Run{Kind: booking.RunBackfill, From: *old, To: *after(366)}, []string{"imported, long ago", "imported from far back, unreadable"}},
	} {
		c.run.ConnectionID, c.run.StartedAt = conn, began
		if err := b.ForgetDrifts(t.Context(), c.run); err != nil {
			t.Fatal(err)
		}
		stay = slices.DeleteFunc(stay, func(id string) bool { return slices.Contains(c.found, id) })
		if now := left(); !slices.Equal(now, stay) {
			t.Errorf("after a %s from %s on stay\n%q, want\n%q", c.run.Kind, c.run.From.Format(time.DateOnly), now, stay)
		}
	}
	if want := []string{"seen since", "another's"}; !slices.Equal(stay, want) {
		t.Errorf("in the end %q stay", stay)
	}
}
