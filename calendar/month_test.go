package calendar_test

import (
	"testing"
	"time"

	"slotkeeper/calendar"
)

func TestWeekFrom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first      time.Weekday
		on, begins string
		number     int
	}{
		{time.Monday, "2026-11-29", "2026-11-23", 48},
		{time.Monday, "2026-11-23", "2026-11-23", 48},
		// Where weeks begin on Sunday, that Sunday is in the next one.
		{time.Sunday, "2026-11-29", "2026-11-29", 49},
		{time.Sunday, "2026-11-28", "2026-11-22", 48},
		{time.Saturday, "2026-11-29", "2026-11-28", 49},
		{time.Monday, "2027-01-01", "2026-12-28", 53},
		{time.Sunday, "2027-01-03", "2027-01-03", 1},
	} {
		week := calendar.WeekFrom(date(t, tt.on), tt.first, time.UTC)
		if len(week) != 7 || week[0].String() != tt.begins {
			t.Errorf("the week of %s from %s on begins on %s, want %s", tt.on, tt.first, week[0], tt.begins)
		}
		if n := calendar.WeekNumber(week[0].Date); n != tt.number {
			t.Errorf("the week from %s on is number %d, want %d", week[0], n, tt.number)
		}
	}
}

func TestMonth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first       time.Weekday
		on          string
		begin, last string
	}{
		{time.Monday, "2026-11-30", "2026-10-26", "2026-12-06"},
		{time.Sunday, "2026-11-01", "2026-11-01", "2026-12-05"},
		{time.Monday, "2027-02-14", "2027-02-01", "2027-02-28"}, // four weeks to the day
		{time.Monday, "2026-03-29", "2026-02-23", "2026-04-05"},
		{time.Sunday, "2026-08-10", "2026-07-26", "2026-09-05"}, // six weeks
	} {
		// The month in which a clock is changed has every day once.
		days := calendar.Month(date(t, tt.on), tt.first, zone(t, "Europe/Berlin"))
		if days[0].String() != tt.begin || days[len(days)-1].String() != tt.last || len(days)%7 != 0 {
			t.Errorf("the month of %s is %s to %s, want %s to %s", tt.on, days[0], days[len(days)-1], tt.begin, tt.last)
		}
		for i := 1; i < len(days); i++ {
			if !days[i].Start.Equal(days[i-1].End) {
				t.Errorf("between %s and %s there is something", days[i-1], days[i])
			}
		}
	}
}

func TestAddMonths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from string
		n    int
		want string
	}{
		{"2026-01-31", 1, "2026-02-28"},
		{"2028-01-31", 1, "2028-02-29"},
		{"2026-03-31", -1, "2026-02-28"},
		{"2026-12-15", 1, "2027-01-15"},
		{"2026-01-01", -1, "2025-12-01"},
		{"2026-05-05", 0, "2026-05-05"},
	} {
		if got := date(t, tt.from).AddMonths(tt.n).String(); got != tt.want {
			t.Errorf("%d months after %s is %s, want %s", tt.n, tt.from, got, tt.want)
		}
	}
}
