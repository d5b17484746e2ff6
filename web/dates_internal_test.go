package web

import (
	"strings"
	"testing"
	"time"

	"slotkeeper/calendar"
)

// A line ends between a date and a time, if at all: one that is torn apart is read
// wrongly, and a zone alone on a line is read as that of nothing. Here _ stands for a
// space that holds, and ~ for what holds after a dash.
func TestDatesHoldTogether(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, berlin)
	}
	on := func(month time.Month, day int) calendar.Date { return calendar.DateOf(at(month, day, 12), berlin) }
	en, id := &englishDates, &indonesianDates
	for want, got := range map[string]string{
		"30_Nov_2026, 16:00_CET":                                en.stamp(at(11, 30, 16)),
		"30_Nov_2026, 16.00.00_CET":                             id.exact(at(11, 30, 16)),
		"Monday, 30_November_2026":                              en.day(on(11, 30)),
		"Desember_2026":                                         id.month(on(12, 1)),
		"Mon_30_Nov":                                            en.shortDay(on(11, 30)),
		"7–~20_December_2026":                                   en.period(on(12, 7), on(12, 20)),
		"30_November_– 6_December_2026":                         en.period(on(11, 30), on(12, 6)),
		"16:00–~17:00":                                          en.hours(at(11, 30, 16), at(11, 30, 17), on(11, 30)),
		"23:00_– Tue_1_Dec_03:00":                               en.hours(at(11, 30, 23), at(12, 1, 3), on(11, 30)),
		"Mon_30_Nov_23:00_– 03:00":                              en.hours(at(11, 30, 23), at(12, 1, 3), on(12, 1)),
		"02:00_CEST–~03:00_CET":                                 en.hours(time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC).In(berlin), at(10, 25, 3), on(10, 25)),
		"Senin, 30_November_2026, 16.00–~17.00_CET":             id.span(at(11, 30, 16), at(11, 30, 17)),
		"Monday, 30_November_2026, 23:00_– Tue_1_Dec_03:00_CET": en.span(at(11, 30, 23), at(12, 1, 3)),
	} {
		if got = strings.NewReplacer(nb, "_", joiner, "~").Replace(got); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
