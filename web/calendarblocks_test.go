package web_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func block(name string, resource uuid.UUID, from, to time.Time) booking.BlockView {
	return booking.BlockView{
		Block: booking.Block{
			Source: booking.Source{Provider: "calcom"}, ExternalID: name, Host: booking.Host{ExternalID: "host-" + name, Email: "ayu@example.com"},
			StartsAt: from.UTC(), EndsAt: to.UTC(),
		},
		ResourceID: resource,
	}
}

func (r *records) Blocks(_ context.Context, from, to time.Time, resources []uuid.UUID) ([]booking.BlockView, error) {
	if err := r.failing(); err != nil {
		return nil, err
	}
	var out []booking.BlockView
	for _, b := range r.blocks {
		if b.StartsAt.Before(to) && from.Before(b.EndsAt) && (len(resources) == 0 || slices.Contains(resources, b.ResourceID)) {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b booking.BlockView) int { return a.StartsAt.Compare(b.StartsAt) })
	return out, nil
}

// away is a house with one booking of a host who is away.
func away(t *testing.T, from, to, awayFrom, awayTo string) *records {
	t.Helper()
	r := booked(from, to)
	r.bookings[0].ResourceIDs = []uuid.UUID{id(11)}
	r.resources = []booking.ResourceView{{Resource: booking.Resource{ID: id(11), Name: "Ayu Lestari"}}, {Resource: booking.Resource{ID: id(12), Name: "Room"}}}
	start, err := time.Parse(time.RFC3339, awayFrom)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339, awayTo)
	if err != nil {
		t.Fatal(err)
	}
	r.blocks = []booking.BlockView{block("1", id(11), start, end)}
	return r
}

// shows are the texts of a page's elements that have a class, each in one line.
func shows(t *testing.T, res answer, class string) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(res.body))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if classes, ok := attr(n, "class"); ok && slices.Contains(strings.Fields(classes), class) {
			p := &inspection{t: t, ids: map[string]int{}}
			p.walk(n)
			out = append(out, strings.Join(strings.Fields(p.text.String()), " "))
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	return out
}

func TestAgendaShowsAbsences(t *testing.T) {
	t.Parallel()
	const from, to = "2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z"
	tests := map[string]struct {
		awayFrom, awayTo, query, lang string
		want                          []string
	}{
		"within a day": {"2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z", "", "en", []string{"⊘ Unavailable 13:00–15:00 Ayu Lestari · Cal.com"}},
		"Indonesian":   {"2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z", "", "id", []string{"⊘ Tidak tersedia 13.00–15.00 Ayu Lestari · Cal.com"}},
		"over midnight, under both days": {"2026-11-30T16:00:00Z", "2026-11-30T18:00:00Z", "", "en", []string{
			"⊘ Unavailable 23:00 – Tue 1 Dec 01:00 Ayu Lestari · Cal.com", "⊘ Unavailable Mon 30 Nov 23:00 – 01:00 Ayu Lestari · Cal.com",
		}},
		"until midnight": {"2026-11-30T16:00:00Z", "2026-11-30T17:00:00Z", "", "en", []string{"⊘ Unavailable 23:00–00:00 Ayu Lestari · Cal.com"}},
		"over the hour that comes twice": {
			"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "zone=Europe/Berlin&date=2026-10-25", "en",
			[]string{"⊘ Unavailable 02:30 CEST–02:30 CET Ayu Lestari · Cal.com"},
		},
		"over the hour that is not": {
			"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "zone=Europe/Berlin&date=2026-03-29", "en",
			[]string{"⊘ Unavailable 01:30 CET–03:30 CEST Ayu Lestari · Cal.com"},
		},
		"since the year before": {"2025-01-01T00:00:00Z", "2026-12-01T00:00:00Z", "date=2026-12-01", "en", []string{
			"⊘ Unavailable Wed 1 Jan 07:00 – 07:00 Ayu Lestari · Cal.com",
		}},
		"of another resource":          {"2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z", "resource=" + id(12).String(), "en", nil},
		"of a provider that is hidden": {"2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z", "provider=generic", "en", nil},
		"past the period":              {"2026-12-20T06:00:00Z", "2026-12-20T08:00:00Z", "", "en", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, away(t, from, to, tt.awayFrom, tt.awayTo), nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?"+tt.query, "Accept-Language", tt.lang)
			if got := shows(t, res, "off"); !slices.Equal(got, tt.want) {
				t.Errorf("%q, not %q", got, tt.want)
			}
			wholesome(t, res, tt.lang)
		})
	}
}

// A booking inside is warned of wherever it shows, whatever hides the absence
// itself; a canceled one, and one that only touches it, is not.
func TestBookingsInAbsencesWarn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to, query string
		change          func(*records)
		want            bool
	}{
		"inside":                              {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", want: true},
		"partly":                              {from: "2026-11-30T05:30:00Z", to: "2026-11-30T06:30:00Z", want: true},
		"ends as it begins":                   {from: "2026-11-30T05:30:00Z", to: "2026-11-30T06:00:00Z"},
		"begins as it ends":                   {from: "2026-11-30T08:00:00Z", to: "2026-11-30T08:30:00Z"},
		"in conflict":                         {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", change: func(r *records) { r.bookings[0].Status = booking.Conflicted }, want: true},
		"canceled":                            {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", query: "&status=canceled", change: func(r *records) { r.bookings[0].Status = booking.Canceled }},
		"of somebody else":                    {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", change: func(r *records) { r.bookings[0].ResourceIDs[0] = id(12) }},
		"neither has a resource":              {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", change: func(r *records) { r.bookings[0].ResourceIDs, r.blocks[0].ResourceID = nil, uuid.Nil }},
		"the absence is hidden":               {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", query: "&provider=generic", want: true},
		"the calendar is of another resource": {from: "2026-11-30T07:00:00Z", to: "2026-11-30T07:30:00Z", query: "&resource=" + id(12).String(), change: func(r *records) { r.bookings[0].ResourceIDs = []uuid.UUID{id(11), id(12)} }, want: true},
		"only past the period, over midnight": {
			from: "2026-12-13T16:30:00Z", to: "2026-12-13T18:00:00Z", want: true,
			change: func(r *records) {
				r.blocks[0].StartsAt, r.blocks[0].EndsAt = r.bookings[0].StartsAt.Add(time.Hour), r.bookings[0].StartsAt.Add(2*time.Hour)
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := away(t, tt.from, tt.to, "2026-11-30T06:00:00Z", "2026-11-30T08:00:00Z")
			if tt.change != nil {
				tt.change(r)
			}
			w := newWorld(t, r, nil)
			browser := w.user(t, "ayu", access.Viewer)
			const warning = "Ayu Lestari is unavailable "
			for _, path := range []string{"/calendar?date=2026-11-30" + tt.query, "/calendar?view=week&date=" + r.bookings[0].StartsAt.Format(time.DateOnly) + tt.query, "/bookings/" + id(21).String()} {
				res := w.get(t, browser, path)
				if got := strings.Contains(res.body, warning); got != tt.want {
					t.Errorf("%s warns: %v", path, got)
				}
				wholesome(t, res, "en")
			}
		})
	}
}

// In the week an absence stands behind what is booked, as long as it is; what the
// hours that are shown leave out stands on top of the day.
func TestWeekHatchesAbsences(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to, query string
		bands, top      []string
		off             int // days that are hatched as a whole
	}{
		"at nine": {from: "2026-11-30T02:00:00Z", to: "2026-11-30T03:10:00Z", bands: []string{"t12 h14 c0-1"}},
		"five minutes are five minutes": {
			from: "2026-11-30T02:00:00Z", to: "2026-11-30T02:05:00Z", bands: []string{"t12 h1 c0-1"},
		},
		"from before the hours that are shown": {from: "2026-11-29T23:00:00Z", to: "2026-11-30T03:00:00Z", bands: []string{"t0 h24 c0-1"}},
		"outside of them":                      {from: "2026-11-29T22:00:00Z", to: "2026-11-30T01:00:00Z", top: []string{"⊘ Unavailable 05:00–08:00 Ayu Lestari · Cal.com"}},
		"over midnight and the night": {
			from: "2026-11-30T10:00:00Z", to: "2026-12-01T02:00:00Z", bands: []string{"t108 h12 c0-1", "t0 h12 c0-1"},
		},
		"a whole day": {
			from: "2026-11-29T17:00:00Z", to: "2026-12-01T02:00:00Z", bands: []string{"t0 h12 c0-1"},
			top: []string{"⊘ Unavailable 00:00 – Tue 1 Dec 09:00 Ayu Lestari · Cal.com"},
		},
		"a whole day of the one that is shown": {
			from: "2026-11-29T17:00:00Z", to: "2026-12-01T02:00:00Z", query: "&resource=" + id(11).String(), bands: []string{"t0 h12 c0-1"},
			top: []string{"⊘ Unavailable 00:00 – Tue 1 Dec 09:00 Ayu Lestari · Cal.com"}, off: 1,
		},
		"a day of 25 hours": {
			from: "2026-10-25T08:00:00Z", to: "2026-10-25T09:00:00Z", query: "&zone=Europe/Berlin&date=2026-10-25", bands: []string{"t24 h12 c0-1"},
		},
	}
	class := regexp.MustCompile(`class="band (t\d+ h\d+ c\d-\d)"`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, away(t, "2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z", tt.from, tt.to), nil)
			res := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?view=week"+tt.query)
			var bands []string
			for _, m := range class.FindAllStringSubmatch(res.body, -1) {
				bands = append(bands, m[1])
			}
			if !slices.Equal(bands, tt.bands) {
				t.Errorf("bands %q, not %q", bands, tt.bands)
			}
			if top := shows(t, res, "off-day"); !slices.Equal(top, tt.top) {
				t.Errorf("on top %q, not %q", top, tt.top)
			}
			if n := strings.Count(res.body, ` off">`); n != tt.off {
				t.Errorf("%d days are hatched as a whole, not %d", n, tt.off)
			}
			for _, said := range shows(t, res, "band") {
				if !strings.HasPrefix(said, "⊘ Unavailable ") || !strings.HasSuffix(said, "Ayu Lestari · Cal.com") {
					t.Errorf("a band says %q", said)
				}
			}
			wholesome(t, res, "en")
		})
	}
}

// Many absences are folded away, none is left out.
func TestManyAbsences(t *testing.T) {
	t.Parallel()
	for n, folded := range map[int]int{5: 0, 6: 0, 9: 4} {
		r := away(t, "2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", "2026-11-30T02:00:00Z", "2026-11-30T03:00:00Z")
		first := r.blocks[0]
		for i := 1; i < n; i++ {
			b := first
			b.ExternalID = fmt.Sprint("more ", i)
			r.blocks = append(r.blocks, b)
		}
		w := newWorld(t, r, nil)
		browser := w.user(t, "ayu", access.Viewer)
		res := w.get(t, browser, "/calendar")
		if got := strings.Count(strings.Join(shows(t, res, "off"), " "), "Unavailable"); got != n {
			t.Errorf("%d of %d stand in the agenda", got, n)
		}
		if got := strings.Contains(res.body, fmt.Sprintf("%d more unavailable times", folded)); got != (folded > 0) {
			t.Errorf("of %d some are folded away: %v", n, got)
		}
		res = w.get(t, browser, "/calendar?view=week")
		if got := len(shows(t, res, "band")) + len(shows(t, res, "off-day")); got != n {
			t.Errorf("%d of %d stand in the week", got, n)
		}
		wholesome(t, res, "en")
	}
}
