package account_test

import (
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/generic"
)

// Whoever waits for an import sees a day, whatever the provider's pages are made
// of, and never one outside of what was asked for.
func TestProgress(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return from.AddDate(0, 0, n) }
	user := "&of=%2Fusers%2F1"
	for name, tt := range map[string]struct {
		provider providers.Provider
		cursor   string
		want     account.Progress
	}{
		"acuity, half":               {acuity.New(time.Now, 1), "2026-11-06", account.Progress{Until: day(5), Percent: 50}},
		"acuity, before the window":  {acuity.New(time.Now, 1), "2026-10-31", account.Progress{Until: from, Percent: 0}},
		"acuity, after it":           {acuity.New(time.Now, 1), "2026-11-12", account.Progress{Until: day(10), Percent: 100}},
		"cal.com":                    {calcom.New(), "200 2026-11-03T00:00:00Z", account.Progress{Until: day(2), Percent: 20}},
		"cal.com, not in order":      {calcom.New(), "200", account.Progress{Percent: -1}},
		"calendly":                   {calendly.New(0), "status=active" + user + "&until=2026-11-08T00%3A00%3A00Z", account.Progress{Until: day(7), Percent: 70}},
		"calendly, the canceled":     {calendly.New(0), "status=canceled" + user + "&until=2026-11-02T00%3A00%3A00Z", account.Progress{Until: day(1), Canceled: true, Percent: 10}},
		"calendly, no time":          {calendly.New(0), "status=canceled" + user, account.Progress{Canceled: true, Percent: -1}},
		"calendly, another's cursor": {calendly.New(0), "200", account.Progress{Percent: -1}},
		"nothing read":               {acuity.New(time.Now, 1), "", account.Progress{Percent: -1}},
		"all bookings read":          {acuity.New(time.Now, 1), "unavailable times", account.Progress{Until: day(10), Listed: true, Percent: 100}},
		"what was not listed":        {acuity.New(time.Now, 1), "looked to x", account.Progress{Until: day(10), Looking: true, Percent: 100}},
		"no API":                     {generic.New(), "x", account.Progress{Percent: -1}},
	} {
		got := account.ProgressOf(tt.provider, booking.Run{From: from, To: day(10), Cursor: tt.cursor})
		if !got.Until.Equal(tt.want.Until) || got.Canceled != tt.want.Canceled || got.Listed != tt.want.Listed || got.Looking != tt.want.Looking || got.Percent != tt.want.Percent {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
		if got := account.ProgressOf(tt.provider, booking.Run{From: from, To: day(10), Cursor: tt.cursor, Status: booking.RunDone}); got != (account.Progress{Percent: -1}) {
			t.Errorf("%s: of what is done is said %+v", name, got)
		}
	}
}
