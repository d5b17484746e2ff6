package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// booked is a house with one booking.
func booked(from, to string) *records {
	start, err := time.Parse(time.RFC3339, from)
	if err != nil {
		panic(err)
	}
	end, err := time.Parse(time.RFC3339, to)
	if err != nil {
		panic(err)
	}
	start, end = start.UTC(), end.UTC()
	return &records{
		connections: []providers.Connection{{ID: id(1), Provider: "generic", Name: "Desk"}},
		bookings: []booking.View{{
			ID: id(21), Provider: "generic", Title: "Only one", Status: booking.Active, StartsAt: &start, EndsAt: &end,
		}},
	}
}

func TestCalendarShowsTheViewersHours(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to, query, lang string
		want                  []string
	}{
		"the installation's zone": {"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "", "en", []string{"Monday, 30 November 2026", "14:00–14:30", "WIB"}},
		"Indonesian":              {"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "", "id", []string{"Senin, 30 November 2026", "14.00–14.30", "WIB"}},
		"another zone, another day": {
			"2026-11-30T02:00:00Z", "2026-11-30T02:30:00Z", "zone=America/New_York&date=2026-11-29", "en",
			[]string{"Sunday, 29 November 2026", "21:00–21:30", "EST"},
		},
		"a quarter of an hour": {
			"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "zone=Asia/Kathmandu", "en", []string{"12:45–13:15", "UTC&#43;05:45"},
		},
		"over midnight": {
			"2026-11-30T16:30:00Z", "2026-11-30T17:30:00Z", "", "en",
			[]string{"23:30 – Tue 1 Dec 00:30", "Mon 30 Nov 23:30 – 00:30"},
		},
		"until midnight": {"2026-11-30T16:30:00Z", "2026-11-30T17:00:00Z", "", "en", []string{"23:30–00:00"}},
		"the first 02:30": {
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:45:00+02:00", "zone=Europe/Berlin&date=2026-10-25", "en", []string{"02:30–02:45", "CEST"},
		},
		"the second 02:30": {
			"2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00", "zone=Europe/Berlin&date=2026-10-25", "en", []string{"02:30–02:45", ">CET<"},
		},
		"over the change": {
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:15:00+01:00", "zone=Europe/Berlin&date=2026-10-25", "en", []string{"02:30 CEST–02:15 CET"},
		},
		"a zone that does not exist": {
			"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "zone=Mars/Base", "en", []string{"There is no time zone “Mars/Base”. Times are shown in yours, Asia/Jakarta.", "14:00–14:30"},
		},
		"a date that does not exist": {
			"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "date=2026-02-30", "en", []string{"2026-02-30 is not a date", "14:00–14:30"},
		},
		"a date that is none, in Indonesian": {
			"2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "date=besok", "id", []string{"besok bukan tanggal", "14.00–14.30"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, booked(tt.from, tt.to), nil)
			browser := w.user(t, "ayu", access.Viewer)
			res := w.get(t, browser, "/calendar?"+tt.query, "Accept-Language", tt.lang)
			for _, want := range tt.want {
				if !strings.Contains(res.body, want) {
					t.Errorf("there is no %q", want)
				}
			}
			wholesome(t, res, tt.lang)
		})
	}
}

// In the week a step is five minutes of real time since the first hour shown.
func TestWeekGrid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ from, to, query, want string }{
		"at nine": {"2026-11-30T02:00:00Z", "2026-11-30T03:00:00Z", "", "t12 h12 c0-1"},
		"early, so that the grid begins at six": {
			"2026-11-29T23:30:00Z", "2026-11-30T00:30:00Z", "", "t6 h12 c0-1",
		},
		"the first 02:30":  {"2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+02:00", "zone=Europe/Berlin&date=2026-10-25", "t6 h6 c0-1"},
		"the second 02:30": {"2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00", "zone=Europe/Berlin&date=2026-10-25", "t6 h6 c0-1"},
		"ten minutes are big enough to hit": {
			"2026-11-30T02:00:00Z", "2026-11-30T02:10:00Z", "", "t12 h3 c0-1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, booked(tt.from, tt.to), nil)
			browser := w.user(t, "ayu", access.Viewer)
			res := w.get(t, browser, "/calendar?view=week&"+tt.query)
			if !strings.Contains(res.body, `class="entry is-active `+tt.want) {
				at := strings.Index(res.body, `class="entry`)
				t.Errorf("there is no %q but %q", tt.want, res.body[max(at, 0):min(max(at, 0)+80, len(res.body))])
			}
		})
	}
	w := newWorld(t, booked("2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+02:00"), nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?view=week&zone=Europe/Berlin&date=2026-10-25")
	for _, want := range []string{"02:00 CEST", "02:00 CET", "that day is 60 minutes longer"} {
		if !strings.Contains(res.body, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func TestCalendarEmptyStates(t *testing.T) {
	t.Parallel()
	later := booked("2027-03-01T07:00:00Z", "2027-03-01T08:00:00Z")
	canceled := func() *records { // worlds that run at once share none
		r := booked("2026-11-30T07:00:00Z", "2026-11-30T08:00:00Z")
		r.bookings[0].Status = booking.Canceled
		return r
	}
	none := booked("2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z")
	tests := map[string]struct {
		records     *records
		query, want string
	}{
		"no connection":              {&records{}, "", "No account is connected yet"},
		"nothing here, but later":    {later, "", "The next booking is on</p>"},
		"nothing here or later":      {none, "", "Nothing later is booked either."},
		"only what is hidden":        {canceled(), "", "The filters hide 1 booking"},
		"only of another provider":   {booked("2026-11-30T07:00:00Z", "2026-11-30T08:00:00Z"), "provider=calendly", "The filters hide 1 booking"},
		"hidden, and it can be seen": {canceled(), "status=canceled", "Only one"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.records, nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?"+tt.query)
			if want := strings.TrimSuffix(tt.want, "</p>"); !strings.Contains(res.body, want) {
				t.Errorf("there is no %q", want)
			}
			wholesome(t, res, "en")
		})
	}
	w := newWorld(t, later, nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?zone=America/New_York")
	if !strings.Contains(res.body, "/calendar?date=2027-03-01&amp;zone=America%2FNew_York") {
		t.Error("the way to the next booking is missing, or loses the zone")
	}
}

// No page links to one that is not there, and every filter of a calendar is kept
// by the links around it.
func TestLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Operator)
	seen := map[string]bool{}
	queue := []string{"/calendar", "/calendar?view=week&zone=Europe/Berlin&status=active&provider=calendly", "/audit?show=all&range=all"}
	for len(queue) > 0 && len(seen) < 400 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		res := w.get(t, browser, path)
		if res.StatusCode != http.StatusOK && path != "/" && path != "/signin" {
			t.Errorf("%s: %d", path, res.StatusCode)
			continue
		}
		if strings.Contains(path, "view=week") && strings.Contains(path, "zone=Europe") {
			for _, l := range links(t, res) {
				if strings.HasPrefix(l, "/calendar?") && !strings.Contains(l, "zone=Europe%2FBerlin") {
					t.Errorf("%s leads to %s, in another zone", path, l)
				}
			}
		}
		if strings.HasPrefix(path, "/calendar") && strings.Count(path, "date=20") > 0 {
			continue // calendars go on for ever
		}
		queue = append(queue, slices.DeleteFunc(links(t, res), func(l string) bool { return strings.HasPrefix(l, "/static") && seen[l] })...)
	}
	if len(seen) < 30 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

func TestLongCalendarIsCut(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-30T07:00:00Z", "2026-11-30T08:00:00Z")
	for range 1200 {
		r.bookings = append(r.bookings, r.bookings[0])
	}
	w := newWorld(t, r, nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar")
	if !strings.Contains(res.body, "more bookings in this period than one page shows") {
		t.Error("nobody is told that there is more")
	}
}
