package calendar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	ics "github.com/arran4/golang-ical"
)

// EntryStatus is what a feed says of an entry.
type EntryStatus string

// The statuses that RFC 5545 knows for an event.
const (
	Confirmed EntryStatus = "CONFIRMED"
	Tentative EntryStatus = "TENTATIVE"
	Cancelled EntryStatus = "CANCELLED"
)

// Entry is an event of an iCalendar feed.
type Entry struct {
	// UID stays with what is meant, wherever it moves: a program that follows the feed
	// takes two events with one UID for one, and another UID for another event.
	UID string
	// Sequence rises when the entry changes.
	Sequence int
	Status   EntryStatus
	// Free lets others book over it: a canceled entry blocks nobody's time.
	Free     bool
	StartsAt time.Time
	EndsAt   time.Time
	// Stamp is when this was said, and Modified when it last changed; zero is unknown.
	Stamp    time.Time
	Modified time.Time

	Summary     string
	Location    string
	Description string
	URL         string // an absolute address, "" for none
}

// Feed is what an iCalendar feed says of itself.
type Feed struct {
	// Product names the program that wrote it, as RFC 5545 wants: -//who//what//EN.
	Product string
	Name    string
	// Refresh is how long a program that follows the feed may wait to look again.
	Refresh time.Duration
}

// The longest texts that a feed carries, in characters. What comes from strangers'
// forms has no end of its own, and some calendars refuse a whole feed for one line.
const (
	maxSummary     = 250
	maxLocation    = 1000
	maxDescription = 8000
)

// ICS writes a feed, entry by entry: it holds one at a time. Lines end in CRLF and
// are folded at 75 octets, never inside a character; all times are UTC.
type ICS struct {
	w     io.Writer
	begun bool // whether it has an entry
}

var serialization = &ics.SerializationConfiguration{MaxLength: 75, PropertyMaxLength: 75, NewLine: string(ics.WithNewLineWindows)}

const endOfCalendar = "END:VCALENDAR\r\n"

// NewICS begins a feed.
func NewICS(w io.Writer, f Feed) (*ICS, error) {
	cal := &ics.Calendar{}
	cal.SetProductId(plain(f.Product, maxSummary))
	cal.SetVersion("2.0")
	cal.SetCalscale("GREGORIAN")
	cal.SetMethod(ics.MethodPublish)
	if name := oneLine(f.Name, maxSummary); name != "" {
		cal.SetName(name)
		// The name of before RFC 7986, which most programs still read alone.
		cal.SetXWRCalName(name)
	}
	if f.Refresh > 0 {
		every := fmt.Sprintf("PT%dM", int(f.Refresh.Minutes()))
		cal.SetRefreshInterval(every)
		cal.SetXPublishedTTL(every)
	}
	var head bytes.Buffer
	if err := cal.SerializeTo(&head, serialization); err != nil {
		return nil, fmt.Errorf("calendar: begin the feed: %w", err)
	}
	open, whole := strings.CutSuffix(head.String(), endOfCalendar)
	if !whole {
		return nil, errors.New("calendar: the feed does not end as iCalendar does")
	}
	if _, err := io.WriteString(w, open); err != nil {
		return nil, err
	}
	return &ICS{w: w}, nil
}

// Write adds an entry.
func (i *ICS) Write(e Entry) error {
	if e.UID == "" || e.StartsAt.IsZero() || !e.EndsAt.After(e.StartsAt) {
		return fmt.Errorf("calendar: an entry of a feed needs a uid, and an end after its start: %q", e.UID)
	}
	v := ics.NewEvent(oneLine(e.UID, maxSummary))
	v.SetDtStampTime(e.Stamp)
	v.SetStartAt(e.StartsAt)
	v.SetEndAt(e.EndsAt)
	v.SetSequence(e.Sequence)
	v.SetStatus(ics.ObjectStatus(e.Status))
	transparency := ics.TransparencyOpaque
	if e.Free {
		transparency = ics.TransparencyTransparent
	}
	v.SetTimeTransparency(transparency)
	v.SetSummary(oneLine(e.Summary, maxSummary))
	if !e.Modified.IsZero() {
		v.SetModifiedAt(e.Modified)
	}
	if s := oneLine(e.Location, maxLocation); s != "" {
		v.SetLocation(s)
	}
	if s := plain(e.Description, maxDescription); s != "" {
		v.SetDescription(s)
	}
	if e.URL != "" {
		v.SetURL(e.URL)
	}
	i.begun = true
	if err := v.SerializeTo(i.w, serialization); err != nil {
		return fmt.Errorf("calendar: entry %s: %w", e.UID, err)
	}
	return nil
}

// Close ends the feed. A feed without its end is refused by every reader, which is
// how one that was cut on the way is told from a whole one.
func (i *ICS) Close() error {
	if !i.begun {
		if err := i.zone(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(i.w, endOfCalendar)
	return err
}

// zone is what a feed has that has no entry: RFC 5545 wants a component, and some
// programs take a calendar without one for damaged.
func (i *ICS) zone() error {
	z := ics.NewTimezone("Etc/UTC")
	standard := z.AddStandard()
	standard.SetProperty(ics.ComponentPropertyDtStart, "19700101T000000")
	standard.SetProperty(ics.ComponentProperty(ics.PropertyTzoffsetfrom), "+0000")
	standard.SetProperty(ics.ComponentProperty(ics.PropertyTzoffsetto), "+0000")
	if err := z.SerializeTo(i.w, serialization); err != nil {
		return fmt.Errorf("calendar: an empty feed: %w", err)
	}
	return nil
}

// plain makes a text of what strangers typed: valid UTF-8, lines that end in \n, and
// nothing that does not show but changes how the rest does. iCalendar has no way to
// write other control characters, and a NUL ends the text in many readers.
func plain(s string, most int) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
			return -1
		}
		return r
	}, s)
	return cut(strings.TrimSpace(s), most)
}

// oneLine is a text as a line: a calendar shows no more of a title.
func oneLine(s string, most int) string {
	return cut(strings.Join(strings.Fields(plain(s, utf8.RuneCountInString(s))), " "), most)
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most-1])) + "…"
}
