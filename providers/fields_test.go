package providers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
)

func TestPlain(t *testing.T) {
	long := strings.Repeat("é", maxText+1)
	for in, want := range map[string]string{
		"":                           "",
		" \n\t ":                     "",
		"  Room 4 ":                  "Room 4",
		strings.Repeat("é", maxText): strings.Repeat("é", maxText),
		long:                         strings.Repeat("é", maxText-1) + "…",
	} {
		got := Plain(in)
		if (got == nil) != (want == "") || got != nil && *got != want {
			t.Errorf("%.20q: %v, want %.20q", in, got, want)
		}
	}
}

func TestPlace(t *testing.T) {
	for in, want := range map[string]string{
		"Pier House, 12 Dock Lane":               "Pier House, 12 Dock Lane",
		"+49 30 23125 014":                       "+49 30 23125 014",
		"https://us02web.zoom.us/j/1?pwd=x":      "Zoom",
		"https://teams.microsoft.com/l/meetup/x": "Microsoft Teams",
		"https://evilzoom.us/j/1":                OnlineMeeting,
		"www.rooms.example/1":                    OnlineMeeting,
		"see https://zoom.us/j/1":                OnlineMeeting,
		"http://%zz":                             OnlineMeeting,
	} {
		if got := Place(in); got == nil || *got != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

func TestZoneExists(t *testing.T) {
	for zone, want := range map[string]bool{
		"UTC": true, "Europe/Berlin": true, "Asia/Calcutta": true, "US/Eastern": true, "Etc/GMT+5": true, "Europe/Kyiv": true,
		"Local": false, "": true, "Europe/Atlantis": false, "../etc/passwd": false, "/etc/localtime": false, "europe/ber\\lin": false,
	} {
		for range 2 { // the second answer is remembered
			if got := zoneExists(zone); got != want {
				t.Errorf("%q exists: %t, want %t", zone, got, want)
			}
		}
	}
}

func TestEmail(t *testing.T) {
	body, f := Scan([]byte(`["  Mara@NorthPier.example ","Email-less","@x","x@","a b@c","Mara <m@x.example>",7,null]`))
	if f != nil {
		t.Fatal(f.Text)
	}
	var got []string
	var in Fields
	for v := range body.Items() {
		got = append(got, in.Email(v, "e-mail"))
	}
	if want := "mara@northpier.example,,,,,,,"; strings.Join(got, ",") != want || in.Fault() != nil {
		t.Errorf("%q (%v), want %q", got, in.Fault(), want)
	}
}

func TestTheFirstFaultCounts(t *testing.T) {
	body, f := Scan([]byte(`{"a":"soon"}`))
	if f != nil {
		t.Fatal(f.Text)
	}
	var in Fields
	in.NeedTime(body.Get("a"), "a")
	in.NeedTime(body.Get("absent"), "absent")
	if in.Fault() == nil || in.Fault().Code != CodeTimeInvalid {
		t.Errorf("%v", in.Fault())
	}
}

// A database keeps microseconds; a finer time would come back as another.
func TestTimesAreInMicroseconds(t *testing.T) {
	body, f := Scan([]byte(`"2026-12-08T14:00:00.1234567+01:00"`))
	if f != nil {
		t.Fatal(f.Text)
	}
	var in Fields
	if got, want := in.NeedTime(body, "it"), time.Date(2026, 12, 8, 13, 0, 0, 123456000, time.UTC); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestKey(t *testing.T) {
	o := Origin{EmailKey: func(e string) string { return "<" + e + ">" }}
	if got, want := o.Key("kind", "A@b.example", "x|y", "plain"), "kind|hmac:<a@b.example>|hmac:<x|y>|plain"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOwnKind(t *testing.T) {
	for in, want := range map[string]booking.Kind{
		"": KindUnknown, "PING": "PING", "event_type.created": "event_type.created", "a b@c\n": "a_b_c_", strings.Repeat("é", 99): booking.Kind(strings.Repeat("_", 32)),
	} {
		if got := OwnKind(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMatchSecret(t *testing.T) {
	all := func(string) bool { return true }
	for _, c := range []struct {
		s    Secrets
		want string
	}{
		{Secrets{}, ""},
		{Secrets{Current: "a"}, ByCurrent},
		{Secrets{Previous: "a"}, ByPrevious},
		{Secrets{Current: "a", Previous: "b"}, ByCurrent},
	} {
		var none error
		if c.want == "" {
			none = ErrSignatureInvalid
		}
		if by, err := MatchSecret(c.s, all); by != c.want || !errors.Is(err, none) {
			t.Errorf("%+v: %q, %v", c.s, by, err)
		}
	}
}
