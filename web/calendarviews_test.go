package web_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
	"slotkeeper/web"
)

var views = []string{"agenda", "day", "week", "month", "resources"}

// Every view is a whole page in both languages, of a full house and of an empty one,
// with every filter and with a detail open.
func TestEveryView(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*records{"empty": {}, "full": full()} {
		w := newWorld(t, data, nil)
		browser := w.user(t, "ayu", access.Operator)
		for _, view := range views {
			for _, query := range []string{
				"", "&q=rani", "&q=nobody", "&provider=calendly&resource=" + id(10).String(), "&status=canceled", "&first=sunday",
				"&booking=" + id(21).String(), "&booking=" + id(22).String(), "&booking=" + id(24).String(), "&booking=" + id(99).String(), "&booking=no-id",
				"&date=2026-10-25&zone=Europe/Berlin", "&date=2026-04-05&zone=Australia/Lord_Howe", "&date=2011-12-30&zone=Pacific/Apia", "&zone=No/Where", "&days=1", "&days=7777",
			} {
				for _, lang := range []string{"en", "id"} {
					path := "/calendar?view=" + view + query
					t.Run(name+" "+lang+" "+path, func(t *testing.T) {
						t.Parallel()
						res := w.get(t, browser, path, "Accept-Language", lang)
						if res.StatusCode != http.StatusOK {
							t.Fatalf("status %d: %s", res.StatusCode, res.body)
						}
						wholesome(t, res, lang)
					})
				}
			}
		}
		t.Run(name+" keys", func(t *testing.T) {
			t.Parallel()
			wholesome(t, w.get(t, browser, "/keys", "Accept-Language", "id"), "id")
		})
	}
}

// On the days on which clocks are changed each booking stands at the hour that its
// city's clocks show, under that day: the server is in a zone that is neither.
func TestDaysThatClocksChange(t *testing.T) {
	t.Parallel()
	chatham, err := time.LoadLocation("Pacific/Chatham")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		zone, date, from, to string
		// In the day's grid: the text of the hour lines from the first shown on, and
		// where the booking stands.
		hours []string
		class string
		when  string // in the agenda
	}{
		"Berlin, the first 02:30":      {"Europe/Berlin", "2026-10-25", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", []string{"02:00 CEST", "02:00 CET", "03:00"}, "t6 h6", "02:30–02:00 | 02:30 CEST–02:00 CET"},
		"Berlin, the second 02:30":     {"Europe/Berlin", "2026-10-25", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z", []string{"02:00 CET", "03:00"}, "t6 h6", "02:30–03:00"},
		"Berlin, no 02:30":             {"Europe/Berlin", "2027-03-28", "2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z", []string{"01:00 CET", "03:00 CEST", "04:00"}, "t6 h12", "01:30 CET–03:30 CEST"},
		"New York, the second 01:15":   {"America/New_York", "2026-11-01", "2026-11-01T06:15:00Z", "2026-11-01T07:15:00Z", []string{"01:00 EST", "02:00"}, "t3 h12", "01:15–02:15"},
		"Lord Howe, half an hour more": {"Australia/Lord_Howe", "2026-04-05", "2026-04-04T15:15:00Z", "2026-04-04T16:00:00Z", []string{"02:00 UTC+10:30", "03:00"}, "", "01:45–02:30"},
		"Kolkata":                      {"Asia/Kolkata", "2026-10-25", "2026-10-25T02:45:00Z", "2026-10-25T03:45:00Z", []string{"08:00", "09:00"}, "t3 h12", "08:15–09:15"},
		"Kathmandu":                    {"Asia/Kathmandu", "2026-10-25", "2026-10-25T02:30:00Z", "2026-10-25T03:00:00Z", []string{"08:00", "09:00"}, "t3 h6", "08:15–08:45"},
		"Jakarta":                      {"Asia/Jakarta", "2026-10-25", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z", []string{"08:00", "09:00"}, "t6 h12", "08:30–09:30"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, booked(tt.from, tt.to), nil, func(d *web.Deps) { d.Zone = chatham })
			browser := w.user(t, "ayu", access.Viewer)
			res := w.get(t, browser, "/calendar?view=day&zone="+tt.zone+"&date="+tt.date)
			hours := shows(t, res, "hour")
			at := slices.Index(hours, tt.hours[0])
			if at < 0 || !slices.Equal(hours[at:at+len(tt.hours)], tt.hours) {
				t.Errorf("the hours are %q, want %q among them", hours, tt.hours)
			}
			if !strings.Contains(res.body, `class="entry is-active `+tt.class) {
				t.Errorf("it does not stand at %q", tt.class)
			}
			res = w.get(t, browser, "/calendar?zone="+tt.zone+"&date="+tt.date)
			times := shows(t, res, "when")
			if len(times) != 1 || !slices.ContainsFunc(strings.Split(tt.when, " | "), func(s string) bool { return strings.Contains(times[0], s) }) {
				t.Errorf("in the agenda it is at %q, want %q", times, tt.when)
			}
			// And in the week it is in that day's column, and in no other.
			res = w.get(t, browser, "/calendar?view=week&zone="+tt.zone+"&date="+tt.date)
			columns := 0
			for _, day := range shows(t, res, "day") {
				if strings.Contains(day, "Only one") {
					columns++
					if !strings.Contains(day, strings.TrimLeft(tt.date[8:], "0")) {
						t.Errorf("it is in the column %q, not of %s", day, tt.date)
					}
				}
			}
			if columns != 1 {
				t.Errorf("it is in %d columns", columns)
			}
		})
	}
}

// A link that somebody sends shows the same to whoever opens it: another zone, another
// first weekday and another day change nothing.
func TestSharedLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	mine := w.user(t, "ayu", access.Operator)
	theirs := w.user(t, "budi", access.Viewer)
	for _, u := range w.store.users {
		if u.Name == "budi" {
			if err := w.accounts.SetDisplay(t.Context(), access.System, u.ID, access.Display{Language: "en", Timezone: "America/New_York", FirstWeekday: time.Sunday}); err != nil {
				t.Fatal(err)
			}
		}
	}
	body := func(res answer) string {
		_, body, _ := strings.Cut(res.body, `<div id="calendar-live">`)
		body, _, _ = strings.Cut(body, `<p class="calendar-foot">`)
		return link.ReplaceAllString(body, "") // whose zone it is, links to a booking say
	}
	var sent []string
	for _, view := range views {
		res := w.get(t, mine, "/calendar?view="+view+"&provider=calendly&q=a&status=active&status=canceled")
		_, address, found := strings.Cut(res.body, `<p class="calendar-foot"><a href="`)
		address, _, _ = strings.Cut(address, `"`)
		if !found {
			t.Fatalf("%s has no link to itself", view)
		}
		sent = append(sent, strings.ReplaceAll(address, "&amp;", "&"))
	}
	for _, address := range sent {
		if got, want := body(w.get(t, theirs, address)), body(w.get(t, mine, address)); got != want {
			t.Errorf("%s shows something else to another person:\n%s\nand\n%s", address, got, want)
		}
		for _, want := range []string{"zone=Asia%2FJakarta", "date=2026-11-30", "provider=calendly", "q=a", "status=canceled"} {
			if !strings.Contains(address, want) {
				t.Errorf("%s has no %s", address, want)
			}
		}
	}
}

var link = regexp.MustCompile(`href="[^"]*"`)

// A booking that was moved leaves a mark at its old time, with a way to the new one,
// whether its provider moved it or booked another in its stead.
func TestFormerPlaces(t *testing.T) {
	t.Parallel()
	r := full()
	r.former = []booking.FormerPlace{{BookingID: id(21), ResourceID: id(10), StartsAt: noon.Add(-2 * time.Hour), EndsAt: noon.Add(-time.Hour)}}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range []string{"day", "week", "resources"} {
		res := w.get(t, browser, "/calendar?view="+view)
		marks := shows(t, res, "former")
		for _, want := range []string{"→ 14:00 moved to 14:00 Rani Wijaya 10:00–11:00", "→ 09:15 moved to 09:15 Siti Rahma 09:00–09:30"} {
			if !slices.Contains(marks, want) {
				t.Errorf("%s: %q, want %q", view, marks, want)
			}
		}
		if !strings.Contains(res.body, "booking="+id(24).String()+"&amp;date=2026-11-30") {
			t.Errorf("%s: no way to where it went", view)
		}
	}
	res := w.get(t, browser, "/calendar")
	if marks := shows(t, res, "is-gone"); len(marks) != 2 {
		t.Errorf("in the agenda: %q", marks)
	}
	// They stand for what is active; who looks at canceled ones sees the booking itself.
	for query, want := range map[string]int{"&status=pending": 0, "&status=active&status=canceled": 1} {
		if marks := shows(t, w.get(t, browser, "/calendar?view=day"+query), "former"); len(marks) != want {
			t.Errorf("%s: %q", query, marks)
		}
	}
}

// Where an account is down its resources say so in every view: a day that looks
// empty may be full.
func TestStaleResources(t *testing.T) {
	t.Parallel()
	r := full()
	since := noon.Add(-3 * time.Hour)
	r.connections[0].Health = providers.Health{FailingSince: &since, Failures: 4, Failure: "no answer"}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Operator)
	for _, view := range views {
		res := w.get(t, browser, "/calendar?view="+view)
		stale := shows(t, res, "stale")
		if want := "No data from Clinic since 09:00 WIB. It is tried again by itself. See what to do Clinic"; len(stale) != 1 ||
			!strings.Contains(stale[0], want) || !strings.Contains(stale[0], "may be missing here: Consulting room , Ayu Lestari") {
			t.Errorf("%s: %q", view, stale)
		}
		// Once is enough: it is said by the calendar, and not by the frame as well.
		if strings.Contains(res.body, "Bookings may be missing since") {
			t.Errorf("%s says twice that the account is down", view)
		}
		if !strings.Contains(res.body, "Consulting room (no data)") {
			t.Errorf("%s: the list to choose from does not say so", view)
		}
	}
	heads := shows(t, w.get(t, browser, "/calendar?view=resources"), "no-data")
	if len(heads) == 0 || !strings.Contains(heads[0], "No data from Clinic since 09:00 WIB") {
		t.Errorf("over the columns: %q", heads)
	}
	res := w.get(t, browser, "/calendar?view=day&date=2028-01-01")
	if empty := shows(t, res, "empty"); len(empty) != 1 || !strings.Contains(empty[0], "This may be incomplete: bookings from the account above are not all arriving.") {
		t.Errorf("empty: %q", empty)
	}
	if stale := shows(t, res, "stale"); len(stale) != 1 {
		t.Errorf("over the empty day: %q", stale)
	}
	for _, path := range []string{"/conflicts", "/bookings/" + id(21).String()} {
		if trouble := shows(t, w.get(t, browser, path), "trouble"); len(trouble) == 0 || !strings.Contains(trouble[0], "Clinic (Calendly): it cannot be asked. Bookings may be missing since") {
			t.Errorf("%s: %q", path, trouble)
		}
	}
}

// A banner says what to do as far as whoever reads it may do it, of an account whose
// resources are not known too: it must never look merely empty.
func TestStaleSaysWhatToDo(t *testing.T) {
	t.Parallel()
	since := noon.Add(-3 * time.Hour)
	const missing = "may be missing here."
	tests := map[string]struct {
		health providers.Health
		role   access.Role
		want   string
		ends   string
	}{
		"who may connect it again": {providers.Health{FailingSince: &since, Failures: 4, NeedsSignIn: true}, access.Administrator, "Calendly no longer accepts its key or token. Connect again Clinic", missing},
		"who may look at it":       {providers.Health{FailingSince: &since, Failures: 4, NeedsSignIn: true}, access.Operator, "Calendly no longer accepts its key or token. See what to do Clinic", missing},
		"what mends itself":        {providers.Health{FailingSince: &since, Failures: 4}, access.Administrator, "It is tried again by itself. See what to do Clinic", missing},
		"what only comes late":     {providers.Health{HookLostAt: &since}, access.Administrator, "It is compared every 15 minutes, and its webhook is set up again by itself as soon as that works. See what to do Clinic", "shows up here late."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := booked("2026-11-30T03:00:00Z", "2026-11-30T04:00:00Z")
			r.connections = []providers.Connection{{ID: id(1), Provider: "calendly", APIBase: "https://api.calendly.com", Name: "Clinic", Health: tt.health}}
			w := newWorld(t, r, nil)
			browser := w.user(t, "ayu", tt.role)
			for _, query := range []string{"", "view=day&date=2028-01-01", "view=month&date=2028-01-01"} {
				res := w.get(t, browser, "/calendar?"+query)
				stale := shows(t, res, "stale")
				if len(stale) != 1 || !strings.Contains(stale[0], "since 09:00 WIB. "+tt.want) && !strings.Contains(stale[0], "2026, 09:00 WIB. "+tt.want) || !strings.HasSuffix(stale[0], tt.ends) {
					t.Errorf("%q: %q, want %q … %q", query, stale, tt.want, tt.ends)
				}
				wholesome(t, res, "en")
			}
		})
	}
}

// A day with more than fits says how many more, and leads to a list that has them.
func TestMoreThanFits(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-30T03:00:00Z", "2026-11-30T04:00:00Z")
	for n := range 9 {
		b := r.bookings[0]
		b.ID, b.SessionID, b.Title = id(byte(30+n)), id(byte(60+n)), fmt.Sprint("Number ", n)
		r.bookings = append(r.bookings, b)
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for view, want := range map[string]string{"week": "8 more", "day": "3 more", "month": "7 more"} {
		res := w.get(t, browser, "/calendar?view="+view)
		if !strings.Contains(res.body, want) {
			t.Errorf("%s does not say %q", view, want)
		}
		_, to, _ := strings.Cut(res.body, `class="entry more`)
		if view == "month" {
			_, to, _ = strings.Cut(res.body, `class="pill-rest`)
		}
		_, to, _ = strings.Cut(to, `href="`)
		to, _, _ = strings.Cut(to, `"`)
		path, anchor, _ := strings.Cut(strings.ReplaceAll(to, "&amp;", "&"), "#")
		list := w.get(t, browser, path)
		for n := range 9 {
			if !strings.Contains(list.body, fmt.Sprint("Number ", n)) {
				t.Errorf("%s: %s has no number %d", view, path, n)
			}
		}
		if anchor != "" && !strings.Contains(list.body, `id="`+anchor+`"`) {
			t.Errorf("%s: nothing is at %s", view, to)
		}
	}
	// Those of one meeting are one place in the grid.
	for i := range r.bookings {
		r.bookings[i].SessionID = id(60)
	}
	res := w.get(t, browser, "/calendar?view=week")
	if strings.Contains(res.body, "more</a>") || !strings.Contains(res.body, "10 people") {
		t.Error("ten people of one meeting do not stand at one place")
	}
	detail := shows(t, w.get(t, browser, "/calendar?view=week&booking="+id(33).String()), "detail")
	if len(detail) != 1 || !strings.Contains(detail[0], "In the same meeting") {
		t.Errorf("the detail does not name the others: %q", detail)
	}
}

func TestSearchAndFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range []string{"agenda", "week", "day", "resources"} {
		res := w.get(t, browser, "/calendar?view="+view+"&q=siti")
		region := shows(t, res, "is-active")
		if len(region) == 0 || slices.ContainsFunc(region, func(s string) bool { return strings.Contains(s, "Prenatal") }) {
			t.Errorf("%s finds %q", view, region)
		}
		if narrowed := shows(t, res, "narrowed"); len(narrowed) != 1 || !strings.Contains(narrowed[0], "siti") {
			t.Errorf("%s does not say that it is narrowed: %q", view, narrowed)
		}
	}
	month := w.get(t, browser, "/calendar?view=month&q=nobody")
	if !strings.Contains(month.body, "Nothing in this period has “nobody” in it") || strings.Contains(month.body, "month-total") {
		t.Error("the month shows what is not looked for")
	}
	day := w.get(t, browser, "/calendar?view=resources&resource="+id(11).String())
	if heads := shows(t, day, "place"); len(heads) != 1 || heads[0] != "Ayu Lestari" {
		t.Errorf("of one resource there are %q", heads)
	}
}

// A search never ends at a page that only says that nothing fits: it says what is in
// another state, where else the text is found, and keeps it.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-30T03:00:00Z", "2026-11-30T04:00:00Z")
	add := func(n byte, status booking.Status, at string) {
		b := r.bookings[0]
		start, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		end := start.Add(time.Hour)
		b.ID, b.Status, b.Invitee.Name, b.StartsAt, b.EndsAt = id(n), status, "Lena Fischer", &start, &end
		r.bookings = append(r.bookings, b)
	}
	add(30, booking.Canceled, "2026-12-01T03:00:00Z")
	add(31, booking.Active, "2027-03-15T03:00:00Z")
	add(32, booking.Canceled, "2026-05-04T03:00:00Z")
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range []string{"agenda", "week", "month&date=2026-12-10"} {
		body := section(t, w.get(t, browser, "/calendar?q=lena&view="+view).body, `<section class="empty"`, "</section>")
		has(t, view, body, "Nothing in this period has “lena” in it", "1 canceled booking fits", "Monday, 15 March 2027", "Monday, 4 May 2026 (canceled)",
			"q=lena&amp;range=all&amp;show=all")
		links := regexp.MustCompile(`<li>[^<]*<a href="(/calendar[^"]*)"`).FindAllStringSubmatch(body, -1)
		if len(links) != 3 {
			t.Fatalf("%s: there are %d links in %s", view, len(links), body)
		}
		for _, link := range links {
			at := strings.ReplaceAll(link[1], "&amp;", "&")
			if found := w.get(t, browser, at).body; !strings.Contains(at, "q=lena") || !strings.Contains(found, "Lena Fischer") {
				t.Errorf("%s: %s does not show what it says", view, at)
			}
		}
	}
	// What fits in the period does not keep it from saying what does elsewhere.
	has(t, "beside a match", section(t, w.get(t, browser, "/calendar?q=lena&date=2027-03-15").body, `<div class="matches"`, "</div>"), "Tuesday, 1 December 2026 (canceled)")
}

// Who sees no names is told that they cannot be searched.
func TestSearchWithoutNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	if err := w.accounts.SetPrivacy(t.Context(), access.System, access.RolePrivacy{Role: access.Viewer, Hidden: access.Hidden{Names: true}}); err != nil {
		t.Fatal(err)
	}
	body := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?q=rani&date=2030-01-01").body
	has(t, "page", body, "Your role does not see names", `placeholder="The whole id at the provider"`)
}

// A booking's page leads back to the calendar that it was opened from, and nowhere else.
func TestWayBackToTheCalendar(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	const from = "/calendar?view=week&q=rani&status=active&date=2026-11-30&provider=calendly"
	detail := section(t, w.get(t, browser, from+"&booking="+id(21).String()).body, `<p class="detail-go"><a class="button" href="`, `"`)
	back := section(t, w.get(t, browser, strings.ReplaceAll(detail, "&amp;", "&")).body, `<p class="back"><a href="`, `"`)
	has(t, "back", back, "/calendar?", "view=week", "q=rani", "status=active", "date=2026-11-30", "provider=calendly")
	for _, elsewhere := range []string{"https%3A%2F%2Fevil.example%2F", "%2F%2Fevil.example", "view%3Dnowhere%26next%3D%2F%2Fevil.example", "%25zz", "calendar%3Dcalendar%253Dx"} {
		back := section(t, w.get(t, browser, "/bookings/"+id(21).String()+"?calendar="+elsewhere).body, `<p class="back"><a href="`, `"`)
		if !strings.HasPrefix(back, "/calendar?") || strings.Contains(back, "evil") {
			t.Errorf("%s leads to %s", elsewhere, back)
		}
	}
}

// Paper has every booking of a grid, each with whom to call, and says what it is of.
func TestPaper(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-30T03:00:00Z", "2026-11-30T04:00:00Z")
	for n := range 9 {
		b := r.bookings[0]
		b.ID, b.SessionID = id(byte(30+n)), id(60)
		b.Invitee = booking.Person{Name: fmt.Sprint("Guest ", n), Phone: fmt.Sprint("+62 811 555 010", n)}
		r.bookings = append(r.bookings, b)
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range []string{"day", "week", "month", "resources"} {
		body := w.get(t, browser, "/calendar?view="+view+"&provider=generic").body
		paper := section(t, body, `<section class="paper"`, "</section>")
		for n := range 9 {
			has(t, view, paper, fmt.Sprint("Guest ", n), fmt.Sprintf("811 555 010%d", n))
		}
		has(t, view, section(t, body, `<p class="sheet-head">`, "</p>"), "Times in Asia/Jakarta", "Own system", "As of 30 Nov 2026")
	}
	month := w.get(t, browser, "/calendar?view=month").body
	if n := strings.Count(month, `<li class="pill `); n != 2 || !strings.Contains(month, "9 people") {
		t.Errorf("those of one meeting stand at %d places of the month", n)
	}
}

// Short bookings back to back are drawn as long as they are, one below the other, and
// lists at one time always have one order.
func TestShortBookingsBackToBack(t *testing.T) {
	t.Parallel()
	r := booked("2026-11-30T01:00:00Z", "2026-11-30T01:15:00Z")
	for n := range 2 {
		b := r.bookings[0]
		start := b.StartsAt.Add(time.Duration(n+1) * 15 * time.Minute)
		end := start.Add(15 * time.Minute)
		b.ID, b.StartsAt, b.EndsAt = id(byte(30+n)), &start, &end
		r.bookings = append(r.bookings, b)
	}
	w := newWorld(t, r, nil)
	body := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?view=week").body
	has(t, "week", body, `grid-week fine"`, `is-active t0 h3 c0-1`, `is-active t3 h3 c0-1`, `is-active t6 h3 c0-1`)
}

// What people of a role do not see is not in any view, and is not found.
func TestCalendarHidesNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	if err := w.accounts.SetPrivacy(t.Context(), access.System, access.RolePrivacy{Role: access.Viewer, Hidden: access.Hidden{Names: true, Phones: true}}); err != nil {
		t.Fatal(err)
	}
	browser := w.user(t, "ayu", access.Viewer)
	for _, view := range views {
		for _, open := range []uuid.UUID{id(21), id(24)} {
			res := w.get(t, browser, "/calendar?view="+view+"&booking="+open.String())
			for _, bad := range []string{"Rani Wijaya", "Siti Rahma", "someone@example.com"} {
				if strings.Contains(res.body, bad) {
					t.Errorf("%s shows %s", view, bad)
				}
			}
		}
	}
}
