package web_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// at is a booking of an hour of a day of November 2026, on a clock in Jakarta, where
// it is noon on the 30th.
func at(n byte, title string, day, hour int, status booking.Status) booking.View {
	from := time.Date(2026, 11, day, hour-7, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	return booking.View{ID: id(n), Provider: "generic", Title: title, Status: status, StartsAt: &from, EndsAt: &to}
}

// Whoever looks for today in a list finds it, also where nothing is on it; and nobody
// is told that nothing is booked while something is that is not shown.
func TestTodayIsListed(t *testing.T) {
	t.Parallel()
	const nothing = "Nothing is booked today."
	tests := map[string]struct {
		bookings []booking.View
		query    string
		lang     string
		want     []string // what is said of today
		days     []string // the first words of the days that are listed
	}{
		"nothing today":              {[]booking.View{at(21, "Later", 32, 9, booking.Active)}, "", "en", []string{nothing}, []string{"Monday", "Wednesday"}},
		"in Indonesian":              {[]booking.View{at(21, "Later", 32, 9, booking.Active)}, "", "id", []string{"Hari ini tidak ada pemesanan."}, []string{"Senin", "Rabu"}},
		"between days":               {[]booking.View{at(21, "Before", 29, 9, booking.Active), at(22, "After", 31, 9, booking.Active)}, "date=2026-11-28", "en", []string{nothing}, []string{"Sunday", "Monday", "Tuesday"}},
		"only a canceled one":        {[]booking.View{at(21, "Off", 30, 9, booking.Canceled), at(22, "After", 31, 9, booking.Active)}, "", "en", []string{nothing}, []string{"Monday", "Tuesday"}},
		"something today":            {[]booking.View{at(21, "Now", 30, 9, booking.Active)}, "", "en", nil, []string{"Monday"}},
		"another month":              {[]booking.View{at(21, "Then", 50, 9, booking.Active)}, "date=2026-12-15", "en", nil, []string{"Sunday"}},
		"no list at all":             {[]booking.View{at(21, "Then", 90, 9, booking.Active)}, "", "en", nil, nil},
		"hidden by a filter":         {[]booking.View{at(21, "Now", 30, 9, booking.Pending), at(22, "After", 31, 9, booking.Active)}, "status=active", "en", []string{"Nothing today fits what you chose, which hides 1 booking. Show all of today"}, []string{"Monday", "Tuesday"}},
		"not found":                  {[]booking.View{at(21, "Now", 30, 9, booking.Active), at(22, "After", 31, 9, booking.Active)}, "q=after", "en", []string{"Nothing today fits what you chose, which hides 1 booking. Show all of today"}, []string{"Monday", "Tuesday"}},
		"a filter that hides nought": {[]booking.View{at(22, "After", 31, 9, booking.Active)}, "status=active", "en", []string{nothing}, []string{"Monday", "Tuesday"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := booked("2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z")
			r.bookings = tt.bookings
			w := newWorld(t, r, nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?"+tt.query, "Accept-Language", tt.lang)
			if got := shows(t, res, "nothing"); !slices.Equal(got, tt.want) {
				t.Errorf("of today it says %q, want %q", got, tt.want)
			}
			var days []string
			for _, d := range shows(t, res, "day-row") {
				first, _, _ := strings.Cut(d, ",")
				days = append(days, first)
			}
			if days = slices.DeleteFunc(days, func(d string) bool { return d == "" }); !slices.Equal(days, tt.days) {
				t.Errorf("the days are %q, want %q", days, tt.days)
			}
			wholesome(t, res, tt.lang)
		})
	}
}

// A month has the days around it, so that its weeks are whole; a phone does not show
// them. A booking on one of those is none of the month's, of which is then said that
// it is empty, in the three ways in which it can be.
func TestMonthWithoutBookings(t *testing.T) {
	t.Parallel()
	const empty = "Nothing is booked in December 2026"
	off := func(r *records) *records {
		r.blocks = []booking.BlockView{block("1", id(10), time.Date(2026, 12, 8, 2, 0, 0, 0, time.UTC), time.Date(2026, 12, 8, 5, 0, 0, 0, time.UTC))}
		r.resources = []booking.ResourceView{{Resource: booking.Resource{ID: id(10), Name: "Consulting room"}}}
		return r
	}
	of := func(bookings ...booking.View) *records {
		r := booked("2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z")
		r.bookings = append(r.bookings, bookings...)
		return r
	}
	before, after := at(21, "Before", 30, 9, booking.Active), at(22, "After", 63, 9, booking.Active) // 2 January
	tests := map[string]struct {
		records *records
		query   string
		said    string // in the empty state; "" for none
		grid    bool
	}{
		"nothing at all":             {of(), "", empty + " Nothing later is booked either.", false},
		"in Indonesian":              {of(), "", "Tidak ada pemesanan pada Desember 2026 Sesudahnya pun belum ada pemesanan.", false},
		"no connection":              {&records{}, "", "No account is connected yet", false},
		"only in the week before":    {of(before), "", empty + " Nothing later is booked either.", true},
		"only in the week after":     {of(after), "", empty + " The next booking is on Saturday, 2 January 2027", true},
		"only somebody who is away":  {off(of()), "", empty, true},
		"something":                  {of(at(21, "There", 45, 9, booking.Active)), "", "", true},
		"only a canceled one":        {of(at(21, "Off", 45, 9, booking.Canceled)), "", "The filters hide 1 booking", false},
		"hidden, with one before it": {of(before, at(22, "Asked", 45, 9, booking.Pending)), "&status=active", "The filters hide 1 booking", true},
		"found only after it":        {of(after), "&q=after", "Nothing in this period has “after” in it Next match: Saturday, 2 January 2027", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lang := "en"
			if name == "in Indonesian" {
				lang = "id"
			}
			w := newWorld(t, tt.records, nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?view=month&date=2026-12-15"+tt.query, "Accept-Language", lang)
			said := strings.Join(shows(t, res, "empty"), "")
			if !strings.HasPrefix(said, tt.said) || (said == "") != (tt.said == "") {
				t.Errorf("it says %q, want %q", said, tt.said)
			}
			if grid := len(shows(t, res, "month")) > 0; grid != tt.grid {
				t.Errorf("it shows a grid: %t", grid)
			}
			wholesome(t, res, lang)
		})
	}
}
