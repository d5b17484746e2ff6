package calendlytest

import "time"

const (
	active   = "active"
	canceled = "canceled"
)

// JoinSecret stands in every event's join link and password.
const JoinSecret = "pwd-of-the-stand-in"

// cancellation is who ended something, and why.
type cancellation struct {
	by, kind string
	reason   any // null when none was given
	at       time.Time
}

func (c *cancellation) wire() map[string]any {
	return map[string]any{"canceled_by": c.by, "reason": c.reason, "canceler_type": c.kind, "created_at": c.at.Format(stamp)}
}

func (i *invitee) status() string {
	if i.ended != nil {
		return canceled
	}
	return active
}

// wire is what bodies of all years have of an invitee.
func (i *invitee) wire() map[string]any {
	id := i.path[len(i.event.path)+len("/invitees/"):]
	var noShow any
	if !i.absentSince.IsZero() {
		noShow = map[string]any{"uri": publicBase + "/invitee_no_shows/" + id, "created_at": i.absentSince.Format(stamp)}
	}
	out := map[string]any{
		"uri": uri(i.path), "event": uri(i.event.path), "name": i.name, "email": i.email, "first_name": nil, "last_name": nil,
		"status": i.status(), "timezone": "Europe/Berlin", "created_at": i.created.Format(stamp), "updated_at": i.updated.Format(stamp),
		"questions_and_answers": []any{}, "text_reminder_number": nil,
		"tracking": map[string]any{
			"utm_campaign": nil, "utm_source": nil, "utm_medium": nil, "utm_content": nil, "utm_term": nil, "salesforce_uuid": nil,
		},
		"rescheduled": i.successor != "", "old_invitee": uri(i.old), "new_invitee": uri(i.successor),
		"cancel_url":     "https://calendly.com/cancellations/" + id,
		"reschedule_url": "https://calendly.com/reschedulings/" + id,
		"payment":        nil, "no_show": noShow, "reconfirmation": nil, "routing_form_submission": nil,
	}
	if i.ended != nil {
		out["cancellation"] = i.ended.wire()
	}
	return out
}

// answer is an invitee of today, as the API has him: without his event (OFF).
func (i *invitee) answer() map[string]any {
	out := i.wire()
	out["scheduling_method"], out["invitee_scheduled_by"] = nil, nil
	return out
}

// payload is a webhook's of today (OFF).
func (i *invitee) payload() map[string]any {
	out := i.answer()
	out["scheduled_event"] = i.event.wire()
	return out
}

func (e *event) status() string {
	if e.ended != nil {
		return canceled
	}
	return active
}

func (e *event) hostedBy(user string) bool {
	for _, h := range e.hosts {
		if publicBase+"/users/"+h.ID == user {
			return true
		}
	}
	return false
}

// wire is an event as webhooks have it.
func (e *event) wire() map[string]any {
	taken := 0
	for _, i := range e.invitees {
		if i.ended == nil {
			taken++
		}
	}
	members := make([]any, len(e.hosts))
	for n, h := range e.hosts {
		members[n] = map[string]any{"user": publicBase + "/users/" + h.ID, "user_email": h.Email, "user_name": h.Name}
	}
	out := map[string]any{
		"uri": uri(e.path), "name": e.name, "status": e.status(),
		"start_time": e.start.Format(stamp), "end_time": e.end.Format(stamp),
		"event_type": publicBase + "/event_types/4c7d3f85-7e60-4bac-9d43-9f3e802b7d04",
		"location": map[string]any{
			"type": "zoom_conference", "status": "pushed", "join_url": "https://zoom.example/j/90000000001?pwd=" + JoinSecret,
			"data": map[string]any{"id": 90000000001, "password": JoinSecret},
		},
		"invitees_counter":  map[string]any{"total": len(e.invitees), "active": taken, "limit": e.limit},
		"event_memberships": members, "event_guests": []any{}, "meeting_notes_plain": nil, "meeting_notes_html": nil,
		"created_at": e.created.Format(stamp), "updated_at": e.updated.Format(stamp),
	}
	if e.ended != nil {
		out["cancellation"] = e.ended.wire()
	}
	return out
}

// answer is an event as the API has it, with more about its members (REC).
func (e *event) answer() map[string]any {
	out := e.wire()
	members, _ := out["event_memberships"].([]any)
	for _, m := range members {
		if member, ok := m.(map[string]any); ok {
			member["buffered_start_time"], member["buffered_end_time"] = e.start.Format(stamp), e.end.Format(stamp)
		}
	}
	out["calendar_event"] = map[string]any{"kind": "google", "external_id": "ext0001demo"}
	return out
}
