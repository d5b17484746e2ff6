package web_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// What is narrowed says to what, as many as the button on a phone counts; canceled
// bookings that are merely shown too narrow nothing.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	room := id(10).String()
	tests := map[string]struct {
		query, lang string
		narrowed    []string
		summary     string
	}{
		"nothing":            {"", "en", nil, "Search and filters"},
		"a text":             {"&q=rani", "en", []string{"Only what has “rani” in it Clear"}, "Search and filters (1 set)"},
		"a resource":         {"&resource=" + room, "en", []string{"Narrowed · Consulting room Clear"}, "Search and filters (1 set)"},
		"states":             {"&status=active", "en", []string{"Narrowed · only active Clear"}, "Search and filters (1 set)"},
		"all of them":        {"&q=rani&provider=calendly&resource=" + room + "&status=active&status=canceled", "en", []string{"Only what has “rani” in it · Consulting room · Calendly · only active, canceled Clear"}, "Search and filters (4 set)"},
		"canceled too":       {"&status=pending&status=active&status=conflicted&status=canceled", "en", []string{"Canceled bookings are shown too. Hide them"}, "Search and filters"},
		"in Indonesian":      {"&status=active", "id", []string{"Dipersempit · hanya aktif Hapus filter"}, "Cari dan filter (1 dipakai)"},
		"a text, and so too": {"&q=rani&status=pending&status=active&status=conflicted&status=canceled", "en", []string{"Only what has “rani” in it Clear", "Canceled bookings are shown too. Hide them"}, "Search and filters (1 set)"},
	}
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := w.get(t, browser, "/calendar?view=week"+tt.query, "Accept-Language", tt.lang)
			if got := shows(t, res, "narrowed"); !slices.Equal(got, tt.narrowed) {
				t.Errorf("it says %q, want %q", got, tt.narrowed)
			}
			if got := section(t, res.body, "<summary>", "</summary>"); got != tt.summary {
				t.Errorf("the button says %q, want %q", got, tt.summary)
			}
			wholesome(t, res, tt.lang)
		})
	}
}

// Nobody is warned of an account that a filter leaves out, nor of days that were over
// before it went down; but of one whose resources are not known always.
func TestStaleOfWhatIsShown(t *testing.T) {
	t.Parallel()
	since := noon.Add(-3 * time.Hour)
	tests := map[string]struct {
		query string
		told  bool
	}{
		"all":                   {"", true},
		"its provider":          {"provider=calendly", true},
		"another provider":      {"provider=calcom", false},
		"a resource of it":      {"resource=" + id(10).String(), true},
		"a resource of another": {"resource=" + id(60).String(), false},
		"days before":           {"view=day&date=2026-11-29", false},
		"the day":               {"view=day&date=2026-11-30", true},
		"its month":             {"view=month&date=2026-11-02", true},
		"a month before":        {"view=month&date=2026-09-15", false},
	}
	r := full()
	r.resources = append(r.resources, booking.ResourceView{Resource: booking.Resource{ID: id(60), Name: "Garden"}})
	r.connections[0].Health = providers.Health{FailingSince: &since, Failures: 4, Failure: "no answer"}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Operator)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := w.get(t, browser, "/calendar?"+tt.query)
			stale := shows(t, res, "stale")
			if (len(stale) > 0) != tt.told {
				t.Errorf("it warns %q", stale)
			}
			if name == "a resource of it" && (len(stale) != 1 || strings.Contains(stale[0], "Ayu Lestari")) {
				t.Errorf("it warns of what is not shown: %q", stale)
			}
			if !strings.Contains(res.body, "Consulting room (no data)") {
				t.Error("the list to choose from does not say so")
			}
		})
	}
}

// A period after all that is booked leads back to it, and a search that finds nothing
// anywhere says so, and how to end it.
func TestEmptyIsNoDeadEnd(t *testing.T) {
	t.Parallel()
	const later = "/calendar?date=2031-01-01"
	w := newWorld(t, booked("2026-12-07T07:00:00Z", "2026-12-07T08:00:00Z"), nil)
	browser := w.user(t, "ayu", access.Viewer)
	has(t, "after all", section(t, w.get(t, browser, later).body, `<section class="empty"`, "</section>"),
		"Nothing later is booked either. The last booking is on", `/calendar?date=2026-12-07&amp;zone=Asia%2FJakarta">Monday, 7 December 2026</a>`,
		`href="/calendar?date=2026-11-30&amp;zone=Asia%2FJakarta">Today</a>`)
	has(t, "no match", section(t, w.get(t, browser, later+"&q=nobody").body, `<section class="empty"`, "</section>"),
		"No other period has it either.", `href="/calendar?date=2031-01-01&amp;zone=Asia%2FJakarta">Clear</a>`, "Look in the audit")
	for query, why := range map[string]string{"&q=only": "another period has it", "&q=nobody&provider=calendly": "other providers are not searched"} {
		hasNot(t, why, w.get(t, browser, later+query).body, "No other period has it either")
	}
	hasNot(t, "a match elsewhere", section(t, w.get(t, browser, later+"&q=nobody").body, `<section class="empty"`, "</section>"), "Search all states")
	none := newWorld(t, booked("2020-01-01T00:00:00Z", "2020-01-01T01:00:00Z"), nil)
	hasNot(t, "today", section(t, none.get(t, none.user(t, "ayu", access.Viewer), "/calendar").body, `<section class="empty"`, "</section>"), ">Today<")
}
