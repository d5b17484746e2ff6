package web

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// Going on from the last days of a month leaves out no month and no day, in any view.
func TestMovesAtMonthEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ view, from, previous, next string }{
		{viewMonth, "2027-01-30", "2026-12-30", "2027-02-28"},
		{viewMonth, "2027-01-31", "2026-12-31", "2027-02-28"},
		{viewMonth, "2027-03-30", "2027-02-28", "2027-04-30"},
		{viewMonth, "2028-03-31", "2028-02-29", "2028-04-30"},
		{viewMonth, "2026-12-31", "2026-11-30", "2027-01-31"},
		{viewWeek, "2026-12-31", "2026-12-24", "2027-01-07"},
		{viewWeek, "2027-02-28", "2027-02-21", "2027-03-07"},
		{viewDay, "2028-02-28", "2028-02-27", "2028-02-29"},
		{viewDay, "2027-03-01", "2027-02-28", "2027-03-02"},
		{viewDay, "2026-12-31", "2026-12-30", "2027-01-01"},
		{viewResources, "2027-01-31", "2027-01-30", "2027-02-01"},
		{viewAgenda, "2027-02-28", "2027-02-14", "2027-03-14"},
	} {
		q := readCalendarQuery(url.Values{"view": {tt.view}, "date": {tt.from}}, time.UTC, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
		for link, want := range map[string]string{q.Previous(): tt.previous, q.Next(): tt.next} {
			if !strings.Contains(link, "date="+want) {
				t.Errorf("from %s the %s leads to %s, want %s", tt.from, tt.view, link, want)
			}
		}
	}
}
