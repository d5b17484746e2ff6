package calcomtest

import (
	"fmt"
	"strings"
	"time"
)

// JoinSecret stands wherever a body or an answer has what nobody may be shown.
const JoinSecret = "pwd-of-the-stand-in"

// The spellings of a time in bodies (B).
const (
	madeTime    = "2006-01-02T15:04:05Z"
	settledTime = "2006-01-02T15:04:05.000Z"
	closedTime  = "2006-01-02T15:04:05+00:00"
)

// payload is what bodies about bookings share.
func (b *row) payload(layout string) map[string]any {
	return map[string]any{
		"bookerUrl": "https://cal.com", "type": b.Type.Slug, "title": b.Title, "description": "", "eventTypeId": b.Type.ID,
		"startTime": b.Start.Format(layout), "endTime": b.End.Format(layout), "length": b.Type.Minutes,
		"organizer": b.Host.wire(), "uid": b.UID, "bookingId": b.ID, "location": b.Location, "customInputs": map[string]any{},
		"userFieldsResponses": map[string]any{}, "responses": map[string]any{}, "iCalUID": b.UID + "@Cal.com",
		"eventTitle": b.Type.Title, "currency": "usd", "price": nil,
	}
}

// made is the body of a new booking, request or move (B): those who came with it,
// the seats that there are, and a team's others.
func (b *row) made(who []Seat) map[string]any {
	out := b.payload(madeTime)
	list := make([]any, 0, len(who)+len(b.Guests))
	for _, seat := range who {
		list = append(list, seat.wire())
	}
	for _, g := range b.Guests {
		list = append(list, g.wire())
	}
	out["attendees"] = list
	out["seatsPerTimeSlot"] = seatsOrNull(b.Type.Seats)
	out["status"] = strings.ToUpper(b.Status)
	out["price"], out["iCalSequence"] = 0, 0
	out["oneTimePassword"] = JoinSecret
	out["metadata"] = map[string]any{}
	if link := b.link(); link != "" {
		out["metadata"] = map[string]any{"videoCallUrl": link}
		out["videoCallData"] = map[string]any{"type": "daily_video", "id": "cal-" + b.UID, "password": JoinSecret, "url": link}
	}
	if len(who) == 1 && who[0].UID != "" {
		out["attendeeSeatId"] = who[0].UID
	}
	if len(b.Type.Team) > 0 {
		members := make([]any, 0, len(b.Type.Team))
		for _, m := range b.Type.Team {
			members = append(members, m.wire())
		}
		out["team"] = map[string]any{"id": 1, "name": "Team", "members": members}
	}
	return out
}

// settled is the body of a confirmed or declined request (B): silent about seats,
// with a team's others among the attendees.
func (b *row) settled() map[string]any {
	out := b.payload(settledTime)
	list := b.attendees()
	for _, m := range b.Type.Team {
		list = append(list, m.person().wire())
	}
	out["attendees"], out["status"], out["requiresConfirmation"] = list, strings.ToUpper(b.Status), true
	if b.Status == Rejected {
		out["rejectionReason"] = b.Reason
	}
	if link := b.link(); link != "" {
		out["metadata"] = map[string]any{"videoCallUrl": link}
	}
	return out
}

// closed is the body of a cancel (B).
func (b *row) closed(attendees []any) map[string]any {
	out := b.payload(closedTime)
	out["attendees"], out["status"] = attendees, "CANCELLED"
	out["seatsPerTimeSlot"], out["iCalSequence"] = seatsOrNull(b.Type.Seats), 1
	return out
}

func (s *Server) away(h Host, from, to time.Time) map[string]any {
	n := s.number()
	now := s.now().Format(settledTime)
	return map[string]any{"oooEntry": map[string]any{
		"id": n, "uuid": fmt.Sprintf("dd000000-0000-4000-8000-%012d", n), "start": from.UTC().Format(settledTime), "end": to.UTC().Format(settledTime),
		"createdAt": now, "updatedAt": now, "notes": JoinSecret, "reason": map[string]any{"emoji": "🏝️", "reason": "ooo_reasons_vacation"}, "reasonId": 2,
		"user": map[string]any{"id": h.ID, "name": h.Name, "username": h.Username, "timeZone": h.Timezone, "email": h.Email}, "toUser": nil,
	}}
}

func (b *row) attendees() []any {
	out := make([]any, 0, len(b.Seats)+len(b.Guests))
	for _, seat := range b.Seats {
		out = append(out, seat.wire())
	}
	for _, g := range b.Guests {
		out = append(out, g.wire())
	}
	return out
}

// rawAttendee is how a seat's cancel lists who leaves: the row of the database (B).
func (b *row) rawAttendee(seat Seat) any {
	out := seat.wire()
	out["id"], out["bookingId"], out["locale"], out["noShow"] = 1, b.ID, "en", seat.Absent
	return out
}

func (p Person) wire() map[string]any {
	return map[string]any{"name": p.Name, "email": p.Email, "timeZone": p.Timezone, "phoneNumber": textOrNull(p.Phone), "language": map[string]any{"locale": "en"}}
}

func (h Host) wire() map[string]any {
	return map[string]any{
		"id": h.ID, "name": h.Name, "email": h.Email, "username": h.Username, "timeZone": h.Timezone, "timeFormat": "HH:mm",
		"language": map[string]any{"locale": "en"},
	}
}

func (h Host) person() Person { return Person{Name: h.Name, Email: h.Email, Timezone: h.Timezone} }

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// link is the meeting's, where the place is a service (B).
func (b *row) link() string {
	switch b.Location {
	case "integrations:daily":
		return "https://app.cal.com/video/" + b.UID + "?t=" + JoinSecret
	case "integrations:google:meet":
		return "https://meet.google.com/" + JoinSecret
	}
	return ""
}
