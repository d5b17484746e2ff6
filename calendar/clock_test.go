package calendar_test

import (
	"fmt"
	"testing"
	"time"

	"slotkeeper/calendar"
)

// TestPlaceOnDaysThatClocksChange places bookings in a week around the day on which
// the clocks of a city are changed. The server, and so whatever it read from its
// database, is in a zone that is neither the city's nor UTC. Of each booking stand
// the day that it is under, the hour of the grid that it stands at, how far below,
// and its column.
func TestPlaceOnDaysThatClocksChange(t *testing.T) {
	t.Parallel()
	server := zone(t, "Pacific/Chatham") // 12:45 or 13:45 ahead
	tests := []struct {
		name, zone, day string
		spans           [][2]string
		want            []string
	}{
		{
			"Berlin, 02:30 happens twice", "Europe/Berlin", "2026-10-25",
			[][2]string{{"2026-10-25T02:30:00+02:00", "2026-10-25T02:50:00+02:00"}, {"2026-10-25T02:30:00+01:00", "2026-10-25T02:50:00+01:00"}, {"2026-10-25T09:00:00+01:00", "2026-10-25T10:00:00+01:00"}},
			[]string{"2026-10-25 02:00 CEST +30m 20m 0/1", "2026-10-25 02:00 CET +30m 20m 0/1", "2026-10-25 09:00 CET +0m 60m 0/1"},
		},
		{
			"Berlin, 02:30 does not happen", "Europe/Berlin", "2026-03-29",
			[][2]string{{"2026-03-29T01:30:00+01:00", "2026-03-29T03:15:00+02:00"}, {"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}, {"2026-03-29T09:00:00+02:00", "2026-03-29T10:00:00+02:00"}},
			// The first is 45 minutes long, whatever its clock times look like.
			[]string{"2026-03-29 01:00 CET +30m 45m 0/2", "2026-03-29 03:00 CEST +0m 30m 1/2", "2026-03-29 09:00 CEST +0m 60m 0/1"},
		},
		{
			"New York, both 01:15s, one beside the other's end", "America/New_York", "2026-11-01",
			[][2]string{{"2026-11-01T01:15:00-04:00", "2026-11-01T01:30:00-05:00"}, {"2026-11-01T01:15:00-05:00", "2026-11-01T01:45:00-05:00"}},
			[]string{"2026-11-01 01:00 EDT +15m 75m 0/2", "2026-11-01 01:00 EST +15m 30m 1/2"},
		},
		{
			"New York, over midnight into the short day", "America/New_York", "2026-03-08",
			[][2]string{{"2026-03-07T23:30:00-05:00", "2026-03-08T03:30:00-04:00"}},
			[]string{"2026-03-07 23:00 EST +30m 30m 0/1 after", "2026-03-08 00:00 EST +0m 150m 0/1 before"},
		},
		{
			"Lord Howe, half an hour happens twice", "Australia/Lord_Howe", "2026-04-05",
			[][2]string{{"2026-04-05T01:45:00+11:00", "2026-04-05T01:30:00+10:30"}, {"2026-04-05T01:45:00+10:30", "2026-04-05T02:15:00+10:30"}, {"2026-04-05T09:00:00+10:30", "2026-04-05T09:45:00+10:30"}},
			[]string{"2026-04-05 01:00 +11 +45m 20m 0/1", "2026-04-05 01:00 +11 +75m 30m 0/1", "2026-04-05 09:00 +1030 +0m 45m 0/1"},
		},
		{
			"Lord Howe, half an hour does not happen", "Australia/Lord_Howe", "2026-10-04",
			[][2]string{{"2026-10-04T01:30:00+10:30", "2026-10-04T02:45:00+11:00"}, {"2026-10-04T09:00:00+11:00", "2026-10-04T09:30:00+11:00"}},
			[]string{"2026-10-04 01:00 +1030 +30m 45m 0/1", "2026-10-04 09:00 +11 +0m 30m 0/1"},
		},
		{
			"Kolkata, half an hour off", "Asia/Kolkata", "2026-10-25",
			[][2]string{{"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}, {"2026-10-25T18:00:00Z", "2026-10-25T19:00:00Z"}},
			[]string{"2026-10-25 06:00 IST +30m 60m 0/1", "2026-10-25 23:00 IST +30m 30m 0/1 after", "2026-10-26 00:00 IST +0m 30m 0/1 before"},
		},
		{
			"Kathmandu, three quarters off", "Asia/Kathmandu", "2026-03-29",
			[][2]string{{"2026-03-29T00:15:00Z", "2026-03-29T01:15:00Z"}, {"2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"}},
			[]string{"2026-03-29 06:00 +0545 +0m 60m 0/2", "2026-03-29 06:00 +0545 +15m 30m 1/2"},
		},
		{
			"Jakarta, on the day that Berlin's clocks change", "Asia/Jakarta", "2026-10-25",
			[][2]string{{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"}, {"2026-10-24T23:30:00+07:00", "2026-10-25T00:15:00+07:00"}},
			[]string{"2026-10-24 23:00 WIB +30m 30m 0/1 after", "2026-10-25 00:00 WIB +0m 20m 0/1 before", "2026-10-25 07:00 WIB +30m 60m 0/1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var spans []calendar.Span
			for _, s := range tt.spans {
				spans = append(spans, calendar.Span{Start: instant(t, s[0]).In(server), End: instant(t, s[1]).In(server)})
			}
			var got []string
			for _, d := range calendar.Days(date(t, tt.day).AddDays(-3), 7, zone(t, tt.zone)) {
				for _, p := range grid.Place(d, spans).Placed {
					got = append(got, where(d, p))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// where reads an entry's place off the grid, as people do: the last hour line above
// it, and how far below that it begins.
func where(d calendar.Day, p calendar.Placed) string {
	var line calendar.Hour
	for _, h := range d.Hours() {
		if h.Offset <= p.Top {
			line = h
		}
	}
	out := fmt.Sprintf("%s %s +%dm %dm %d/%d", d.Date, line.At.Format("15:04 MST"), int((p.Top-line.Offset)/time.Minute), int(p.Height/time.Minute), p.Column, p.Columns)
	if p.Before {
		out += " before"
	}
	if p.After {
		out += " after"
	}
	return out
}
