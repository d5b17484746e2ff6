package calendly

import "slotkeeper/providers"

// What is read of the parts of a body.
var (
	keptOfPayload = []string{
		"uri", "event", "email", "name", "timezone", "text_reminder_number", "created_at", "updated_at",
		"old_invitee", "new_invitee", "rescheduled", "status",
	}
	keptOfNoShow = []string{"uri", "created_at"}
	keptOfEvent  = []string{"uri", "name", "start_time", "end_time", "updated_at", "status"}
	keptOfMember = []string{"user", "user_email", "user_name"}
)

// merge makes a payload as webhooks have it of an invitee and its scheduled event,
// which the API answers apart, reduced to what is read of them.
func merge(invitee, event providers.Value) []byte {
	var out providers.Object
	out.Copy(invitee, keptOfPayload...)
	switch noShow := invitee.Get("no_show"); {
	case noShow.Object():
		var kept providers.Object
		kept.Copy(noShow, keptOfNoShow...)
		out.Add("no_show", kept.JSON())
	case noShow.Null():
		out.Copy(invitee, "no_show")
	}
	out.Add("scheduled_event", scheduledEvent(event))
	return out.JSON()
}

func scheduledEvent(event providers.Value) []byte {
	var out providers.Object
	out.Copy(event, keptOfEvent...)
	out.Add("location", location(event.Get("location")))
	if counter := event.Get("invitees_counter"); counter.Object() {
		var limit providers.Object
		limit.Copy(counter, "limit")
		out.Add("invitees_counter", limit.JSON())
	}
	if members := event.Get("event_memberships"); members.Array() {
		list := []byte{'['}
		for m := range members.Items() {
			var member providers.Object
			member.Copy(m, keptOfMember...)
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, member.JSON()...)
		}
		out.Add("event_memberships", append(list, ']'))
	}
	return out.JSON()
}

// location is where the meeting is, without the link to it.
func location(v providers.Value) []byte {
	var out providers.Object
	out.Copy(v, "type")
	if p := place(v); p != nil {
		out.AddText("location", *p)
	}
	return out.JSON()
}
