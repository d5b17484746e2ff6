package calcomtest

import "strings"

// api is a booking as version 2024-08-13 writes it (R): without seats the answers
// of the booker stand at the booking, with them at each attendee, less the e-mail.
func (b *row) api() map[string]any {
	location := b.Location
	if link := b.link(); link != "" {
		location = link
	}
	out := map[string]any{
		"id": b.ID, "uid": b.UID, "title": b.Title, "description": "", "status": b.Status, "absentHost": false,
		"hosts": []any{map[string]any{"id": b.Host.ID, "name": b.Host.Name, "email": b.Host.Email, "displayEmail": b.Host.Email, "username": b.Host.Username, "timeZone": b.Host.Timezone}},
		"start": b.Start.Format(apiTime), "end": b.End.Format(apiTime), "duration": b.Type.Minutes,
		"eventTypeId": b.Type.ID, "eventType": map[string]any{"id": b.Type.ID, "slug": b.Type.Slug},
		"location": location, "meetingUrl": location, "createdAt": b.Created.Format(apiTime), "updatedAt": b.Updated.Format(apiTime),
		"metadata": map[string]any{"note": JoinSecret}, "rating": nil, "icsUid": b.UID + "@Cal.com",
	}
	for name, text := range map[string]string{"rescheduledFromUid": b.From, "recurringBookingUid": b.Series} {
		if text != "" {
			out[name] = text
		}
	}
	if b.Status == Cancelled {
		out["cancellationReason"] = textOrNull(b.Reason)
		if b.To != "" && b.Series == "" { // of a series' bookings the successor is not told (R)
			out["rescheduledToUid"] = b.To
		}
	}
	b.people(out)
	return out
}

// people lists who attends: those booked, the booker's guests, and a team's
// others, who have no seat (R).
func (b *row) people(out map[string]any) {
	list := make([]any, 0, len(b.Seats)+len(b.Guests)+len(b.Type.Team))
	add := func(p Person, absent bool) map[string]any {
		a := map[string]any{"name": p.Name, "email": p.Email, "displayEmail": p.Email, "timeZone": p.Timezone, "language": "en", "absent": absent}
		if p.Phone != "" && b.Type.Seats == 0 {
			a["phoneNumber"] = p.Phone
		}
		list = append(list, a)
		return a
	}
	for _, seat := range b.Seats {
		a := add(seat.Person, seat.Absent)
		if b.Type.Seats > 0 {
			answers := map[string]any{"name": seat.Name, "notes": JoinSecret}
			if seat.Phone != "" {
				answers["attendeePhoneNumber"] = seat.Phone
			}
			a["seatUid"], a["bookingFieldsResponses"], a["metadata"] = seat.UID, answers, map[string]any{}
		}
	}
	guests := make([]any, 0, len(b.Guests))
	for _, g := range b.Guests {
		add(g, false)
		guests = append(guests, g.Email)
	}
	for _, m := range b.Type.Team {
		add(m.person(), false)
	}
	out["attendees"] = list
	if b.Type.Seats == 0 && len(b.Seats) > 0 {
		out["guests"] = guests
		out["bookingFieldsResponses"] = map[string]any{"name": b.Seats[0].Name, "email": b.Seats[0].Email, "guests": guests, "notes": JoinSecret}
	}
}

// oldAPI is a booking as an older version writes it (M): other names, and states in
// capitals.
func (b *row) oldAPI() map[string]any {
	return map[string]any{
		"id": b.ID, "uid": b.UID, "title": b.Title, "startTime": b.Start.Format(apiTime), "endTime": b.End.Format(apiTime),
		"status": strings.ToUpper(b.Status), "eventTypeId": b.Type.ID,
	}
}
