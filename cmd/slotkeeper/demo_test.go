package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// The clinic's hours, Monday to Friday.
const (
	demoOpens  = 9
	demoCloses = 18
)

// TestDemoDays looks at every hour of years that are told apart by what clocks and
// calendars do: the story is on days when the clinic is open, and the first of them is
// on the page that the demo opens on.
func TestDemoDays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo", "UTC"} {
		zone, err := time.LoadLocation(name)
		must(t, err)
		from := time.Date(2026, 9, 1, 0, 30, 0, 0, time.UTC)
		for now := from; now.Before(from.AddDate(1, 7, 0)); now = now.Add(time.Hour) {
			days, today := newDemoDays(now, zone), calendar.DateOf(now, zone)
			dates := make([]calendar.Date, 0, 4)
			for _, d := range []demoDay{days.last, days.next, days.after, days.later} {
				open, closed := d.at(demoOpens, 0).In(zone), d.at(demoCloses, 0).In(zone)
				if wd := open.Weekday(); wd == time.Saturday || wd == time.Sunday || open.Hour() != demoOpens || closed.Sub(open) != (demoCloses-demoOpens)*time.Hour {
					t.Fatalf("%s, at %s: a day from %s to %s", name, now.In(zone), open, closed)
				}
				dates = append(dates, calendar.DateOf(open, zone))
			}
			if dates[0].Compare(today) >= 0 || dates[1].Compare(today) <= 0 || dates[1].Compare(today.AddDays(3)) > 0 ||
				dates[2].Compare(dates[1]) <= 0 || dates[3].Compare(dates[2]) <= 0 || dates[0].Compare(today.AddDays(-3)) < 0 {
				t.Fatalf("%s, on %s: the days are %v", name, today, dates)
			}
		}
	}
}

// TestDemoAtAnyDate plays the demo at moments at which its days are easily got wrong:
// its bookings lie in the clinic's hours, overlap only where the story means them to,
// say nothing that nobody can know yet, and stand on the page that it opens on.
func TestDemoAtAnyDate(t *testing.T) {
	t.Parallel()
	long(t)
	for _, at := range []struct{ what, zone, now string }{
		// All are past: queue, sessions and time limits go by the machine's clock, and
		// to them what is made in the future is over too soon or never due.
		{"a Monday morning", "Europe/Berlin", "2025-12-01T08:15:00+01:00"},
		{"late on a Friday", "Europe/Berlin", "2025-12-05T23:58:00+01:00"},
		{"a Sunday at midnight", "America/New_York", "2025-12-07T00:00:00-05:00"},
		{"the year's last second", "Europe/Berlin", "2025-12-31T23:59:59+01:00"},
		{"the end of February", "America/New_York", "2024-02-28T17:00:00-05:00"},
		{"the day before the missing hour in Berlin", "Europe/Berlin", "2025-03-29T02:30:00+01:00"},
		{"in the repeated hour in New York", "America/New_York", "2025-11-02T01:30:00-05:00"},
		{"after the missing hour in New York", "America/New_York", "2025-03-09T03:10:00-04:00"},
		{"the first hour of a month in Jakarta", "Asia/Jakarta", "2025-09-01T00:20:00+07:00"},
	} {
		t.Run(at.what, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, at.now)
			must(t, err)
			zone, err := time.LoadLocation(at.zone)
			must(t, err)
			all, page := playDemo(t, now, zone)
			if len(all) < 20 {
				t.Errorf("only %d bookings were told", len(all))
			}
			for _, b := range all {
				if wrong := implausible(b, now, zone); wrong != "" {
					t.Errorf("%s, %s: %s", b.Invitee.Name, b.Title, wrong)
				}
			}
			if got, want := overlapping(all), []string{"Aiko Tanaka and Nadia Rahman", "Kofi Mensah and Priya Raman"}; !slices.Equal(got, want) {
				t.Errorf("overlaps: %v, want %v", got, want)
			}
			for _, want := range []string{"2 conflicts need a person", "Priya Raman", "Kofi Mensah", "Elif Kaya"} {
				if !strings.Contains(page, want) {
					t.Errorf("the page that it opens on does not show %q", want)
				}
			}
		})
	}
}

// implausible says what about a booking could not be at that time.
func implausible(b booking.View, now time.Time, zone *time.Location) string {
	if b.StartsAt == nil || b.EndsAt == nil {
		return "it has no time"
	}
	from, to := b.StartsAt.In(zone), b.EndsAt.In(zone)
	switch day := calendar.DateOf(from, zone); {
	case day.Weekday() == time.Saturday || day.Weekday() == time.Sunday:
		return fmt.Sprintf("on %s the clinic is closed", from.Weekday())
	case from.Hour() < demoOpens, to.Hour() > demoCloses, to.Hour() == demoCloses && to.Minute() > 0, calendar.DateOf(to, zone) != day:
		return fmt.Sprintf("it is from %s to %s", from, to)
	case b.NoShow && now.Before(to):
		return fmt.Sprintf("nobody came, to what ends at %s", to)
	case b.BookedAt != nil && (b.BookedAt.After(now.Add(time.Hour)) || b.BookedAt.After(from)):
		return fmt.Sprintf("it was booked at %s for %s", b.BookedAt.In(zone), from)
	}
	return ""
}

// overlapping are the pairs that are not canceled and want one resource at one time.
func overlapping(all []booking.View) []string {
	var out []string
	for i, a := range all {
		for _, b := range all[:i] {
			if a.Status == booking.Canceled || b.Status == booking.Canceled || a.SessionID == b.SessionID || !a.StartsAt.Before(*b.EndsAt) || !b.StartsAt.Before(*a.EndsAt) {
				continue
			}
			if slices.ContainsFunc(a.ResourceIDs, func(id uuid.UUID) bool { return slices.Contains(b.ResourceIDs, id) }) {
				pair := []string{a.Invitee.Name, b.Invitee.Name}
				slices.Sort(pair)
				out = append(out, strings.Join(pair, " and "))
			}
		}
	}
	slices.Sort(out)
	return out
}

// playDemo runs the demo on a machine in a zone, whose clock goes on from a moment. It is
// all bookings and the page that the printed link leads to.
func playDemo(t *testing.T, at time.Time, zone *time.Location) (all []booking.View, page string) {
	t.Helper()
	out := &lockedBuffer{}
	env := map[string]string{"SLOTKEEPER_LISTEN": freeAddress(t)}
	began := time.Now()
	c := &cli{
		environment: environment{func(name string) string { return env[name] }, strings.NewReader(""), out, out},
		now:         func() time.Time { return at.Add(time.Since(began)).UTC() }, zone: zone, patience: commandPatience,
	}
	c.command() // reads the settings
	must(t, c.cfg.validate())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must(t, c.demo(ctx, func(ctx context.Context, inst *installation) (err error) {
		defer cancel()
		if all, err = booking.Everything(ctx, inst.store.Bookings); err != nil {
			return err
		}
		page, err = entered(ctx, regexp.MustCompile(`http://\S+/link/\S+`).FindString(out.String()))
		return err
	}))
	return all, page
}

// entered uses a sign-in link as a browser does, and is the calendar that it leads to.
func entered(ctx context.Context, link string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := browser.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/calendar" {
		return "", fmt.Errorf("the link leads to %s: %s", resp.Request.URL, resp.Status)
	}
	return string(page), err
}
