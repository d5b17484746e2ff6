package web_test

import (
	"strings"
	"testing"
	"time"

	"slotkeeper/booking/access"
)

// A date that cannot be read is said to be none: today's bookings must not be taken
// for those of the day that was asked for.
func TestUnreadableDateIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for query, told := range map[string]bool{
		"date=2026-02-30": true, "date=tomorrow": true, "date=30.11.2026": true, "date=%3Cb%3E": true,
		"": false, "date=": false, "date=2026-11-30": false,
	} {
		res := w.get(t, browser, "/calendar?"+query)
		if got := strings.Contains(res.body, "is not a date as"); got != told {
			t.Errorf("%q: told %t, want %t", query, got, told)
		}
		if strings.Contains(res.body, "<b> is not") {
			t.Errorf("%q: markup of the query stands in the page", query)
		}
	}
}

// In another week a time alone would be read as one of that week; one that was over
// before the account went down lacks nothing.
func TestStaleSinceHasItsDateInAnotherWeek(t *testing.T) {
	t.Parallel()
	r := full()
	since := noon.Add(-3 * time.Hour)
	r.connections[0].Health.FailingSince, r.connections[0].Health.Failures, r.connections[0].Health.Failure = &since, 4, "no answer"
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Operator)
	stamp := since.In(time.FixedZone("WIB", 7*3600)).Format("2 Jan 2006, 15:04")
	if stale := shows(t, w.get(t, browser, "/calendar?view=week&date=2026-10-12"), "stale"); len(stale) > 0 {
		t.Errorf("a week that is past warns of %q", stale)
	}
	if res := w.get(t, browser, "/calendar?view=week&date=2026-12-14"); !strings.Contains(res.body, "No data from Clinic since "+stamp) {
		t.Errorf("a week that comes does not say %q: %q", stamp, shows(t, res, "stale"))
	}
	if res := w.get(t, browser, "/calendar?view=week"); strings.Contains(res.body, "No data from Clinic since "+stamp) {
		t.Error("this week says the date of today")
	}
}
