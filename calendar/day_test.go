package calendar_test

import (
	"testing"
	"time"

	"slotkeeper/calendar"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func date(t *testing.T, s string) calendar.Date {
	t.Helper()
	d, err := calendar.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestDay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		zone, date string
		start, end string // UTC
		regular    bool
	}{
		"UTC":                        {"UTC", "2026-11-29", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z", true},
		"Jakarta":                    {"Asia/Jakarta", "2026-11-29", "2026-11-28T17:00:00Z", "2026-11-29T17:00:00Z", true},
		"Kolkata, half an hour":      {"Asia/Kolkata", "2026-11-29", "2026-11-28T18:30:00Z", "2026-11-29T18:30:00Z", true},
		"Kathmandu, three quarters":  {"Asia/Kathmandu", "2026-11-29", "2026-11-28T18:15:00Z", "2026-11-29T18:15:00Z", true},
		"Berlin, an hour less":       {"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", false},
		"Berlin, an hour more":       {"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", false},
		"New York, an hour less":     {"America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", false},
		"New York, an hour more":     {"America/New_York", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", false},
		"Lord Howe, half less":       {"Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z", false},
		"Lord Howe, half more":       {"Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z", false},
		"Havana, midnight twice":     {"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", false},
		"Sao Paulo, no midnight":     {"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", false},
		"Sao Paulo, 23 twice":        {"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z", false},
		"Sao Paulo, day after":       {"America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00Z", "2018-02-19T03:00:00Z", true},
		"Toronto, gap over midnight": {"America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z", "1919-04-01T04:00:00Z", false},
		"Apia, a day that was not":   {"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", false},
		"Apia, the day after":        {"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := date(t, tt.date).In(zone(t, tt.zone))
			if !d.Start.Equal(instant(t, tt.start)) || !d.End.Equal(instant(t, tt.end)) {
				t.Errorf("got %s to %s, want %s to %s", d.Start.UTC().Format(time.RFC3339), d.End.UTC().Format(time.RFC3339), tt.start, tt.end)
			}
			if d.Regular() != tt.regular {
				t.Errorf("regular is %v, want %v", d.Regular(), tt.regular)
			}
		})
	}
}

// Days of a zone are a partition of time: none overlap, nothing is between them,
// and every instant's day is the one of its date.
func TestDaysLeaveNoGap(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "America/Havana",
		"America/Sao_Paulo", "Africa/Cairo", "Asia/Beirut", "Pacific/Apia", "Africa/Casablanca", "America/Toronto", "Pacific/Chatham",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, from := range []string{"2010-12-30", "2018-01-01", "2025-12-30"} {
				days := calendar.Days(date(t, from), 800, zone(t, name))
				for i, d := range days {
					if i > 0 && !d.Start.Equal(days[i-1].End) {
						t.Fatalf("%s begins at %s, the day before ends at %s", d.Date, d.Start, days[i-1].End)
					}
					if !d.End.After(d.Start) {
						continue
					}
					if got := calendar.DateOf(d.Start, d.Start.Location()); got != d.Date {
						t.Fatalf("%s begins on %s", d.Date, got)
					}
					if got := calendar.DateOf(d.End.Add(-time.Nanosecond), d.Start.Location()); got != d.Date {
						t.Fatalf("%s ends on %s", d.Date, got)
					}
				}
			}
		})
	}
}

func TestHours(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		zone, date string
		want       []string // from the third hour on
		count      int
	}{
		"Berlin, 2 is not":      {"Europe/Berlin", "2026-03-29", []string{"3 CEST 2h0m0s changed", "4 CEST 3h0m0s"}, 23},
		"Berlin, 2 twice":       {"Europe/Berlin", "2026-10-25", []string{"2 CEST 2h0m0s", "2 CET 3h0m0s changed", "3 CET 4h0m0s"}, 25},
		"New York, 1 twice":     {"America/New_York", "2026-11-01", []string{"1 EST 2h0m0s changed", "2 EST 3h0m0s"}, 25},
		"Lord Howe, half less":  {"Australia/Lord_Howe", "2026-10-04", []string{"3 +11 2h30m0s changed", "4 +11 3h30m0s"}, 23},
		"Lord Howe, half more":  {"Australia/Lord_Howe", "2026-04-05", []string{"2 +1030 2h30m0s changed", "3 +1030 3h30m0s"}, 24},
		"Kathmandu, regular":    {"Asia/Kathmandu", "2026-10-25", []string{"2 +0545 2h0m0s", "3 +0545 3h0m0s"}, 24},
		"Havana, 0 comes twice": {"America/Havana", "2026-11-01", []string{"1 CST 2h0m0s", "2 CST 3h0m0s"}, 25},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hours := date(t, tt.date).In(zone(t, tt.zone)).Hours()
			if len(hours) != tt.count {
				t.Errorf("%d hours, want %d", len(hours), tt.count)
			}
			for i, want := range tt.want {
				h := hours[2+i]
				got := h.At.Format("15 MST ") + h.Offset.String()
				if got[0] == '0' {
					got = got[1:]
				}
				if h.Changed {
					got += " changed"
				}
				if got != want {
					t.Errorf("hour %d is %q, want %q", 2+i, got, want)
				}
			}
		})
	}
}

// What a clock shows twice is told apart by its zone, and nothing else needs it.
func TestRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		zone, at string
		want     bool
	}{
		"before the hour":                {"America/New_York", "2026-11-01T04:59:00Z", false},
		"the first 01:00":                {"America/New_York", "2026-11-01T05:00:00Z", true},
		"the first 01:59":                {"America/New_York", "2026-11-01T05:59:00Z", true},
		"the second 01:00":               {"America/New_York", "2026-11-01T06:00:00Z", true},
		"the second 01:59":               {"America/New_York", "2026-11-01T06:59:00Z", true},
		"02:00":                          {"America/New_York", "2026-11-01T07:00:00Z", false},
		"before the gap":                 {"America/New_York", "2026-03-08T06:59:00Z", false},
		"after the gap":                  {"America/New_York", "2026-03-08T07:00:00Z", false},
		"half an hour twice, 01:29":      {"Australia/Lord_Howe", "2026-04-04T14:29:00Z", false},
		"half an hour twice, 01:30":      {"Australia/Lord_Howe", "2026-04-04T14:30:00Z", true},
		"half an hour twice, 02:00":      {"Australia/Lord_Howe", "2026-04-04T15:30:00Z", false},
		"a zone without changes to come": {"Asia/Jakarta", "2026-11-01T05:00:00Z", false},
		"UTC":                            {"UTC", "2026-11-01T05:00:00Z", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := calendar.Repeated(instant(t, tt.at).In(zone(t, tt.zone))); got != tt.want {
				t.Errorf("repeated: %t", got)
			}
		})
	}
}

func TestWeek(t *testing.T) {
	t.Parallel()
	// A Sunday belongs to the week that began the Monday before it.
	for _, s := range []string{"2026-11-23", "2026-11-26", "2026-11-29"} {
		week := calendar.Week(date(t, s), time.UTC)
		if len(week) != 7 || week[0].String() != "2026-11-23" || week[6].String() != "2026-11-29" {
			t.Errorf("week of %s is %s to %s", s, week[0], week[6])
		}
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "2026-02-30", "26-1-1", "2026-11-29T00:00:00Z"} {
		if _, err := calendar.ParseDate(bad); err == nil {
			t.Errorf("%q is taken for a date", bad)
		}
	}
	if got := date(t, "2024-02-28").AddDays(2).String(); got != "2024-03-01" {
		t.Errorf("two days after 28 February 2024 is %s", got)
	}
	// The viewer's zone decides the date, not the server's or the instant's.
	at := instant(t, "2026-11-29T20:00:00-05:00")
	if got := calendar.DateOf(at, zone(t, "Asia/Jakarta")).String(); got != "2026-11-30" {
		t.Errorf("in Jakarta it is %s", got)
	}
}
