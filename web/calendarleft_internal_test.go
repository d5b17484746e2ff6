package web

import (
	"net/url"
	"testing"
	"time"

	"slotkeeper/booking"
)

// Where a booking went is said as short as it can be told: a weekday alone never means
// two days.
func TestWhereItWentIsShort(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 12, 7, 15, 0, 0, 0, time.UTC)
	days := func(n int) time.Time { return monday.AddDate(0, 0, n).Add(30 * time.Minute) }
	for name, tt := range map[string]struct {
		view string
		now  time.Time
		want string
	}{
		"the same day":           {viewDay, days(0), "15:30"},
		"the next day":           {viewDay, days(1), "Tue 15:30"},
		"six days later":         {viewDay, days(6), "Sun 15:30"},
		"a week later":           {viewDay, days(7), "Mon\u00a014\u00a0Dec 15:30"},
		"the day before":         {viewDay, days(-1), "Sun\u00a06\u00a0Dec 15:30"},
		"in the week":            {viewWeek, days(5), "Sat 15:30"},
		"in the week before":     {viewWeek, days(-1), "Sun\u00a06\u00a0Dec 15:30"},
		"in the month, far away": {viewMonth, days(9), "Wed\u00a016\u00a0Dec 15:30"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := readCalendarQuery(url.Values{"view": {tt.view}, "date": {"2026-12-07"}}, time.UTC, monday)
			w := window{query: q, days: q.Days(), language: &language{dates: &englishDates}}
			if got := w.nowBegins(booking.View{StartsAt: &tt.now}, monday); got != tt.want {
				t.Errorf("it went to %q, want %q", got, tt.want)
			}
		})
	}
}
