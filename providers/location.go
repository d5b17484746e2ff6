package providers

import (
	"net/url"
	"strings"
)

// OnlineMeeting stands for a place behind a link that we do not keep.
const OnlineMeeting = "Online meeting"

// meetingHosts are the services that links lead to, by the end of their host.
var meetingHosts = []struct{ host, name string }{
	{"zoom.us", "Zoom"},
	{"meet.google.com", "Google Meet"},
	{"teams.microsoft.com", "Microsoft Teams"},
	{"teams.live.com", "Microsoft Teams"},
	{"webex.com", "Webex"},
	{"goto.com", "GoToMeeting"},
	{"gotomeeting.com", "GoToMeeting"},
	{"whereby.com", "Whereby"},
	{"app.cal.com", "Cal Video"},
}

// HasLink tells whether a text holds a link. Who has a meeting's link can join
// it, so links are secrets.
func HasLink(s string) bool {
	return strings.Contains(s, "://") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "www.")
}

// Place is where a meeting is, for people: an address or a telephone number as
// the body gives it, but of a link only whose it is. Nil when nothing is said.
func Place(s string) *string {
	if !HasLink(s) {
		return Plain(s)
	}
	name := OnlineMeeting
	if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
		host := strings.ToLower(u.Hostname())
		for _, m := range meetingHosts {
			if host == m.host || strings.HasSuffix(host, "."+m.host) {
				name = m.name
			}
		}
	}
	return &name
}
