package main

import (
	"encoding/json"
	"fmt"
	"time"

	"slotkeeper/calendar"
)

// demoPost is a delivery of the demo: a body as its provider writes it, and how
// many copies of it come.
type demoPost struct {
	provider string
	body     []byte
	copies   int
}

// The people of the demo are invented.
var (
	maren = demoHost{"Maren Oduya", "maren.oduya@harbourclinic.example", "u-maren"}
	theo  = demoHost{"Theo Adeyemi", "theo.adeyemi@harbourclinic.example", "u-theo"}
)

type demoHost struct{ name, email, id string }

// demoDays are the days of the story: those on which the clinic is open, Monday to
// Friday, around now, in its zone. All are counted from one instant: a demo that is started at midnight
// would else have the two sides of a double booking on two days.
type demoDays struct {
	last, next, after, later demoDay
}

func newDemoDays(now time.Time, zone *time.Location) demoDays {
	today := calendar.DateOf(now, zone)
	day := func(n int) demoDay {
		d := openDay(today, n)
		return demoDay{day: time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, zone), now: now}
	}
	return demoDays{last: day(-1), next: day(1), after: day(2), later: day(3)}
}

// openDay is the nth day after a date on which the clinic is open; of a negative n,
// before it.
func openDay(d calendar.Date, n int) calendar.Date {
	by := 1
	if n < 0 {
		by, n = -1, -n
	}
	for n > 0 {
		d = d.AddDays(by)
		if d.Weekday() != time.Saturday && d.Weekday() != time.Sunday {
			n--
		}
	}
	return d
}

// demoDay builds the story's bodies around one day: at is an hour of it, ago is
// minutes before now.
type demoDay struct {
	day time.Time
	now time.Time
}

// zone is the name of the clinic's.
func (d demoDay) zone() string { return d.day.Location().String() }

func (d demoDay) at(hour, minute int) time.Time {
	return time.Date(d.day.Year(), d.day.Month(), d.day.Day(), hour, minute, 0, 0, d.day.Location()).UTC()
}

func (d demoDay) ago(minutes int) time.Time {
	return d.now.Add(-time.Duration(minutes) * time.Minute).UTC().Truncate(time.Millisecond)
}

// demoStory is what happens at the clinic, in the order in which it arrives:
// every way in which a naive handler goes wrong.
func demoStory(days demoDays) []demoPost {
	last, d, next := days.last, days.next, days.after
	var out []demoPost
	say := func(provider string, copies int, body map[string]any) {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // maps of strings and numbers
		}
		out = append(out, demoPost{provider, b, copies})
	}

	// A plain booking, delivered three times.
	say("calcom", 2, d.calcom("BOOKING_CREATED", "harbour-0001", "ACCEPTED", 300, "Intro call", maren, "Priya Raman", d.at(10, 0), d.at(10, 30)))
	// The same hour of the same host, taken by another provider.
	say("calendly", 0, d.calendly("invitee.created", "1001", "1001", 240, "First visit", "Kofi Mensah", d.at(10, 0), d.at(10, 45), 1, nil, maren))
	// A cancel overtakes its create: the slot stays free.
	say("calendly", 0, d.calendly("invitee.canceled", "1002", "1002", 200, "Follow-up", "Lena Fischer", d.at(11, 0), d.at(11, 30), 1, nil, maren))
	say("calendly", 0, d.calendly("invitee.created", "1002", "1002", 220, "Follow-up", "Lena Fischer", d.at(11, 0), d.at(11, 30), 1, nil, maren))
	// A group: three people, one place in the calendar; one leaves.
	for i, who := range []string{"Sunniva Berg", "Jonas Whitfield", "Amara Okafor"} {
		id := fmt.Sprintf("200%d", i+1)
		say("calendly", 0, d.calendly("invitee.created", "2000", id, 180-i, "Back school", who, d.at(14, 0), d.at(15, 0), 8, nil, theo))
	}
	say("calendly", 0, d.calendly("invitee.canceled", "2000", "2002", 90, "Back school", "Jonas Whitfield", d.at(14, 0), d.at(15, 0), 8, nil, theo))
	// A reschedule by a quarter of an hour: the new half comes first.
	say("calendly", 0, d.calendly("invitee.created", "3001", "3001", 170, "Check-up", "Seán O'Brien", d.at(16, 0), d.at(16, 30), 1, nil, maren))
	say("calendly", 1, d.calendly("invitee.created", "3002", "3002", 80, "Check-up", "Seán O'Brien", d.at(16, 15), d.at(16, 45), 1, map[string]string{"old_invitee": "3001/3001"}, maren))
	say("calendly", 0, d.calendly("invitee.canceled", "3001", "3001", 79, "Check-up", "Seán O'Brien", d.at(16, 0), d.at(16, 30), 1, map[string]string{"new_invitee": "3002/3002"}, maren))
	// A collective: both hosts are busy.
	say("calendly", 0, d.calendly("invitee.created", "4001", "4001", 60, "Case conference", "Noor Haddad", d.at(12, 0), d.at(13, 0), 1, nil, maren, theo))
	// Requests that wait for the host.
	say("calcom", 0, d.calcom("BOOKING_REQUESTED", "harbour-0002", "PENDING", 50, "Consultation", theo, "Mira Santoso", d.at(9, 0), d.at(9, 45)))
	say("calcom", 0, next.calcom("BOOKING_CREATED", "harbour-0003", "ACCEPTED", 40, "Consultation", theo, "Budi Hartono", next.at(9, 30), next.at(10, 15)))
	// Somebody who did not come: that is told when the time is over.
	say("calcom", 0, last.calcom("BOOKING_CREATED", "harbour-0005", "ACCEPTED", demoWeek, "Consultation", theo, "Oscar Lind", last.at(15, 0), last.at(15, 45)))
	say("calcom", 0, noShow("harbour-0005", "Oscar Lind", last.at(15, 45)))
	// A no-show of a booking that nobody told of yet: it waits.
	say("calcom", 0, noShow("harbour-0009", "Unknown Guest", last.at(17, 0)))
	// The front desk's own system.
	say("generic", 0, d.generic("invitee.created", "desk-1", 20, "Blood test", "Treatment room 2", "Ines Duarte", d.at(10, 0), d.at(10, 20)))
	// An hour that Acuity has given away: the one that can be canceled from here.
	say("calcom", 0, next.calcom("BOOKING_CREATED", "harbour-0004", "ACCEPTED", 18, "Consultation", theo, "Aiko Tanaka", next.at(11, 15), next.at(12, 0)))
	say("generic", 0, next.generic("invitee.created", "desk-2", 15, "Blood test", "Treatment room 2", "Yusuf Demir", next.at(11, 0), next.at(11, 20)))
	return out
}

// demoWeek is longer ago, in minutes, than the clinic was last open.
const demoWeek = 7 * 24 * 60

func noShow(uid, who string, at time.Time) map[string]any {
	return map[string]any{
		"triggerEvent": "BOOKING_NO_SHOW_UPDATED", "createdAt": iso(at),
		"payload": map[string]any{
			"message": "marked as no-show", "bookingUid": uid,
			"attendees": []any{map[string]any{"email": person(who), "noShow": true}},
		},
	}
}

func iso(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

func micro(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000Z") }

func person(name string) string {
	var b []rune
	for _, r := range name {
		switch {
		case r == ' ':
			b = append(b, '.')
		case r >= 'A' && r <= 'Z':
			b = append(b, r-'A'+'a')
		case r >= 'a' && r <= 'z':
			b = append(b, r)
		case r == 'á':
			b = append(b, 'a')
		}
	}
	return string(b) + "@mail.example"
}

func (d demoDay) calcom(trigger, uid, status string, ago int, title string, host demoHost, who string, from, to time.Time) map[string]any {
	return map[string]any{
		"triggerEvent": trigger, "createdAt": iso(d.ago(ago)),
		"payload": map[string]any{
			"uid": uid, "title": title + " with " + who, "type": "visit", "status": status,
			"startTime": iso(from), "endTime": iso(to), "seatsPerTimeSlot": nil,
			"organizer": map[string]any{"name": host.name, "email": host.email, "timeZone": d.zone()},
			"attendees": []any{map[string]any{"name": who, "email": person(who), "timeZone": d.zone()}},
			"location":  "Harbour Street 12",
		},
	}
}

func (d demoDay) calendly(event, session, invitee string, ago int, title, who string, from, to time.Time, limit int, links map[string]string, hosts ...demoHost) map[string]any {
	const api = "https://api.calendly.com"
	uri := func(session, invitee string) string {
		return fmt.Sprintf("%s/scheduled_events/harbour-%s/invitees/harbour-%s", api, session, invitee)
	}
	var members []any
	for _, h := range hosts {
		members = append(members, map[string]any{"user": api + "/users/" + h.id, "user_email": h.email, "user_name": h.name})
	}
	state := "active"
	payload := map[string]any{
		"uri": uri(session, invitee), "event": api + "/scheduled_events/harbour-" + session,
		"name": who, "email": person(who), "timezone": d.zone(), "rescheduled": links["new_invitee"] != "",
		"created_at": micro(d.ago(ago + 30)), "updated_at": micro(d.ago(ago)), "old_invitee": nil, "new_invitee": nil,
		"scheduled_event": map[string]any{
			"uri": api + "/scheduled_events/harbour-" + session, "name": title, "status": "active",
			"start_time": micro(from), "end_time": micro(to), "event_memberships": members,
			"invitees_counter": map[string]any{"total": 1, "active": 1, "limit": limit},
			"location":         map[string]any{"type": "physical", "location": "Harbour Street 12"},
		},
	}
	if event == "invitee.canceled" {
		state = "canceled"
		payload["cancellation"] = map[string]any{"canceled_by": who, "reason": "", "canceler_type": "invitee"}
	}
	payload["status"] = state
	for name, path := range links {
		payload[name] = uri(path[:4], path[5:])
	}
	return map[string]any{"event": event, "created_at": micro(d.ago(ago)), "created_by": api + "/users/" + maren.id, "payload": payload}
}

func (d demoDay) generic(kind, id string, ago int, title, resource, who string, from, to time.Time) map[string]any {
	return map[string]any{
		"type": kind, "occurred_at": iso(d.ago(ago)),
		"booking": map[string]any{
			"id": id, "title": title, "resource": resource, "starts_at": iso(from), "ends_at": iso(to),
			"invitee": map[string]any{"name": who, "email": person(who)},
		},
	}
}
