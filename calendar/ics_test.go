package calendar_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	ical "github.com/emersion/go-ical"

	"slotkeeper/calendar"
)

var feedDay = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func entry(change func(*calendar.Entry)) calendar.Entry {
	e := calendar.Entry{
		UID: "5c1d7c1e-0000-4000-8000-000000000001@slotkeeper", Status: calendar.Confirmed, StartsAt: feedDay, EndsAt: feedDay.Add(45 * time.Minute),
		Stamp: feedDay.Add(-time.Hour), Modified: feedDay.Add(-time.Hour), Summary: "Intake call",
	}
	if change != nil {
		change(&e)
	}
	return e
}

func feedOf(t testing.TB, entries ...calendar.Entry) string {
	t.Helper()
	var out bytes.Buffer
	f, err := calendar.NewICS(&out, calendar.Feed{Product: "-//Slotkeeper//Slotkeeper//EN", Name: "Maya; room, 2", Refresh: 15 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := f.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// wellFormed checks what RFC 5545 asks of every line, which parsers forgive.
func wellFormed(t testing.TB, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Error("the feed is not UTF-8")
	}
	lines := strings.Split(text, "\r\n")
	if lines[len(lines)-1] != "" || lines[len(lines)-2] != "END:VCALENDAR" {
		t.Errorf("the feed ends with %q", lines[len(lines)-2:])
	}
	for _, l := range lines {
		if len(l) > 75 {
			t.Errorf("a line has %d octets: %q", len(l), l)
		}
		if i := strings.IndexFunc(l, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
			t.Errorf("a line has the control character %q: %q", l[i], l)
		}
	}
}

// read is the feed as a library reads it that has nothing in common with the one
// that wrote it.
func read(t testing.TB, text string) *ical.Calendar {
	t.Helper()
	cal, err := ical.NewDecoder(strings.NewReader(text)).Decode()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cal
}

func textOf(t testing.TB, c *ical.Component, name string) string {
	t.Helper()
	s, err := c.Props.Text(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

func TestICS(t *testing.T) {
	t.Parallel()
	text := feedOf(t, entry(func(e *calendar.Entry) {
		e.Sequence, e.Location, e.URL = 3, "Room 2; left, then \\right", "https://slots.example/bookings/1"
		e.Description = "Invitee: Rani Wijaya\nE-mail: rani@example.com"
		// Feeds are UTC, whatever zone the time was made in.
		e.StartsAt = e.StartsAt.In(time.FixedZone("WIB", 7*3600))
	}), entry(func(e *calendar.Entry) {
		e.UID, e.Status, e.Free = "2@slotkeeper", calendar.Cancelled, true
	}), entry(func(e *calendar.Entry) {
		e.UID, e.Status, e.Modified = "3@slotkeeper", calendar.Tentative, time.Time{}
	}))
	wellFormed(t, text)
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\n", "VERSION:2.0\r\n", "PRODID:-//Slotkeeper//Slotkeeper//EN\r\n", "METHOD:PUBLISH\r\n",
		"NAME:Maya\\; room\\, 2\r\n", "X-WR-CALNAME:Maya\\; room\\, 2\r\n", "REFRESH-INTERVAL;VALUE=DURATION:PT15M\r\n", "X-PUBLISHED-TTL:PT15M\r\n",
		"DTSTART:20261130T090000Z\r\n", "DTEND:20261130T094500Z\r\n", "DTSTAMP:20261130T080000Z\r\n", "LAST-MODIFIED:20261130T080000Z\r\n",
		"SEQUENCE:3\r\n", "LOCATION:Room 2\\; left\\, then \\\\right\r\n", "URL:https://slots.example/bookings/1\r\n",
		"DESCRIPTION:Invitee: Rani Wijaya\\nE-mail: rani@example.com\r\n",
		"STATUS:CANCELLED\r\nTRANSP:TRANSPARENT\r\n", "STATUS:TENTATIVE\r\nTRANSP:OPAQUE\r\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the feed lacks %q:\n%s", want, text)
		}
	}
	events := read(t, text).Events()
	if len(events) != 3 {
		t.Fatalf("%d events", len(events))
	}
	if got := textOf(t, events[0].Component, ical.PropLocation); got != `Room 2; left, then \right` {
		t.Errorf("location %q", got)
	}
	if got := textOf(t, events[0].Component, ical.PropDescription); got != "Invitee: Rani Wijaya\nE-mail: rani@example.com" {
		t.Errorf("description %q", got)
	}
	start, err := events[0].DateTimeStart(time.UTC)
	if err != nil || !start.Equal(feedDay) || start.Location() != time.UTC {
		t.Errorf("start %v: %v", start, err)
	}
}

// Texts come from strangers' forms: none may break out of its property, name
// another, or hide what stands beside it.
func TestICSHostileTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é界𝄞a ", 2000)
	for name, c := range map[string]struct{ in, want string }{
		"another property":    {"Call\r\nATTENDEE:mailto:x@example.com", "Call ATTENDEE:mailto:x@example.com"},
		"the end":             {"Call\nEND:VEVENT\nEND:VCALENDAR", "Call END:VEVENT END:VCALENDAR"},
		"bare CR":             {"Call\rBEGIN:VALARM", "Call BEGIN:VALARM"},
		"unicode line ends":   {"Call\u2028BEGIN:VALARM\u2029x\u0085y", "Call BEGIN:VALARM x y"},
		"NUL":                 {"Ca\x00ll", "Call"},
		"escape sequences":    {`a\nb\,c\\`, `a\nb\,c\\`},
		"separators":          {`a,b;c:d"e`, `a,b;c:d"e`},
		"right to left":       {"\u202egnissim\u202c ok \u2066x\u2069\u200f", "gnissim ok x"},
		"controls":            {"a\x07\x1b[31mb\x7f", "a[31mb"},
		"no UTF-8":            {"a\xff\xfeb", "a\uFFFDb"},
		"a byte order mark":   {"\ufeffCall", "Call"},
		"spaces alone":        {" \t\n ", ""},
		"folds at a space":    {strings.Repeat("word ", 40) + "end", strings.Repeat("word ", 40) + "end"},
		"without any space":   {strings.Repeat("界", 200), strings.Repeat("界", 200)},
		"10,000 characters":   {long, string([]rune(strings.Join(strings.Fields(long), " "))[:249]) + "…"},
		"an emoji of several": {"👩‍👩‍👧 family", "👩‍👩‍👧 family"},
	} {
		text := feedOf(t, entry(func(e *calendar.Entry) {
			e.Summary, e.Location, e.Description = c.in, c.in, c.in
		}))
		wellFormed(t, text)
		cal := read(t, text)
		if len(cal.Children) != 1 || len(cal.Children[0].Children) != 0 {
			t.Errorf("%s: made %d events:\n%s", name, len(cal.Children), text)
			continue
		}
		e := cal.Children[0]
		if got := textOf(t, e, ical.PropSummary); got != c.want {
			t.Errorf("%s: the summary is %q, not %q", name, got, c.want)
		}
		if len(e.Props["ATTENDEE"]) > 0 {
			t.Errorf("%s: an attendee came in:\n%s", name, text)
		}
	}
	// A description keeps its lines.
	cal := read(t, feedOf(t, entry(func(e *calendar.Entry) { e.Description = "one\r\n\r\ntwo\rthree" })))
	if got := textOf(t, cal.Children[0], ical.PropDescription); got != "one\n\ntwo\nthree" {
		t.Errorf("description %q", got)
	}
}

// A feed without an event is still a calendar: some programs refuse one that has
// nothing in it, and their users see an error instead of a free week.
func TestICSOfNothing(t *testing.T) {
	t.Parallel()
	text := feedOf(t)
	wellFormed(t, text)
	cal := read(t, text)
	if len(cal.Children) != 1 || cal.Children[0].Name != ical.CompTimezone || len(cal.Events()) != 0 {
		t.Errorf("an empty feed:\n%s", text)
	}
}

func TestICSRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	f, err := calendar.NewICS(io.Discard, calendar.Feed{Product: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*calendar.Entry){
		"no uid":                func(e *calendar.Entry) { e.UID = "" },
		"no start":              func(e *calendar.Entry) { e.StartsAt = time.Time{} },
		"ends as it starts":     func(e *calendar.Entry) { e.EndsAt = e.StartsAt },
		"ends before it starts": func(e *calendar.Entry) { e.EndsAt = e.StartsAt.Add(-time.Second) },
	} {
		if err := f.Write(entry(change)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// A reader that leaves is told of at once: a feed must not go on for nobody.
func TestICSStopsWithItsReader(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	w := &failing{after: 1, err: gone}
	f, err := calendar.NewICS(w, calendar.Feed{Product: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(entry(nil)), f.Close()); !errors.Is(err, gone) {
		t.Errorf("wrote on: %v", err)
	}
}

type failing struct {
	after int
	err   error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, f.err
	}
	return len(p), nil
}

func FuzzICS(f *testing.F) {
	for _, s := range []string{"Call", "a\r\nEND:VCALENDAR", "\x00", "\u202e", strings.Repeat("x ", 300), "\xff", `\n\,`, "a;b,c"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, summary, rest string) {
		text := feedOf(t, entry(func(e *calendar.Entry) { e.Summary, e.Location, e.Description = summary, rest, rest }))
		wellFormed(t, text)
		cal := read(t, text)
		if len(cal.Children) != 1 || len(cal.Children[0].Children) != 0 {
			t.Fatalf("%q and %q made\n%s", summary, rest, text)
		}
		known := []string{"UID", "DTSTAMP", "DTSTART", "DTEND", "SEQUENCE", "STATUS", "TRANSP", "SUMMARY", "LAST-MODIFIED", "LOCATION", "DESCRIPTION"}
		for name := range cal.Children[0].Props {
			if !slices.Contains(known, name) {
				t.Fatalf("%q and %q made the property %s", summary, rest, name)
			}
		}
	})
}
