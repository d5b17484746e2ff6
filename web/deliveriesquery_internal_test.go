package web

import (
	"net/url"
	"testing"
	"time"
)

// A period that begins at the wrong hour counts other deliveries than the page says.
func TestDeliveryPeriods(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 18, 20, 0, 0, time.UTC) // clocks were set back in New York that morning
	for name, want := range map[string]map[string]string{
		"America/New_York": {periodToday: "2026-11-01T04:00:00Z", periodDay: "2026-10-31T19:00:00Z", periodWeek: "2026-10-26T04:00:00Z", periodMonth: "2026-10-03T04:00:00Z"},
		"Asia/Kathmandu":   {periodToday: "2026-11-01T18:15:00Z", periodDay: "2026-10-31T19:15:00Z", periodWeek: "2026-10-26T18:15:00Z", periodMonth: "2026-10-03T18:15:00Z"},
		"Asia/Jakarta":     {periodToday: "2026-11-01T17:00:00Z", periodDay: "2026-10-31T19:00:00Z", periodWeek: "2026-10-26T17:00:00Z", periodMonth: "2026-10-03T17:00:00Z"},
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for period, begins := range want {
			q := deliveriesQuery{Period: period}
			if got := q.since(zone, now).Format(time.RFC3339); got != begins {
				t.Errorf("%s in %s begins at %s, want %s", period, name, got, begins)
			}
		}
		if (deliveriesQuery{Period: periodAll}).since(zone, now) != nil {
			t.Error("all time begins somewhere")
		}
	}
}

// A link that is shared shows what its sender saw.
func TestDeliveriesLink(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "range=7d", "status=failed", "range=24h&status=failed", "kind=invitee.created", "q=h-1", "q=h-1&range=today", "connection=c&provider=p&range=all"} {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q := readDeliveriesQuery(v)
		u, err := url.Parse(q.Link())
		if err != nil {
			t.Fatal(err)
		}
		if got := readDeliveriesQuery(u.Query()); got != q {
			t.Errorf("%q: %+v links to %s, which is %+v", query, q, q.Link(), got)
		}
	}
}
