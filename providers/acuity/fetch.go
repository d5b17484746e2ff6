package acuity

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"slotkeeper/providers"
)

// Fetch asks for the appointment, and for the calendars when it is in one that
// nobody asked about lately.
func (p *Provider) Fetch(ctx context.Context, client *http.Client, c providers.Connection, subject string, _ []byte) (providers.Fetched, error) {
	return p.fetch(ctx, newAPI(client, c), subject)
}

func (p *Provider) fetch(ctx context.Context, a *api, subject string) (providers.Fetched, error) {
	var none providers.Fetched
	answer, err := one(ctx, a, subject)
	if err != nil {
		return none, err
	}
	host, err := p.calendars.host(ctx, a, numeral(answer.Get("calendarID")))
	if err != nil {
		return none, err
	}
	snapshot, err := providers.Snapshot(reduce(answer, host.Email))
	return providers.Fetched{Snapshot: snapshot, Forms: formsOf(answer, a.conn)}, err
}

// one asks for an appointment.
func one(ctx context.Context, a *api, subject string) (providers.Value, error) {
	id, f := appointmentID(subject)
	if f != nil {
		return providers.Value{}, errors.New(f.Text)
	}
	answer, err := a.get(ctx, "/appointments/"+id, url.Values{"pastFormAnswers": {"false"}}, maxAppointment)
	if err != nil {
		return providers.Value{}, err
	}
	return answer, check(answer, id)
}

// check tells an appointment from anything else that answers 200: what is no
// appointment is asked for again instead of being believed, above all where it
// seems to say that nothing is canceled.
func check(answer providers.Value, id string) error {
	if numeral(answer.Get("id")) != id {
		return providers.BadAnswer("it is not about the appointment that was asked for")
	}
	if _, ok := answer.Get("canceled").Bool(); !ok {
		return providers.BadAnswer("it does not say whether the appointment is canceled")
	}
	for _, name := range []string{"datetime", "duration", "calendarID", "appointmentTypeID"} {
		if numeral(answer.Get(name)) == "" {
			return providers.BadAnswer("it has no " + name)
		}
	}
	return nil
}

// reduce makes the snapshot of an answer: confirmation pages, forms, notes and
// codes stay where they are, for snapshots are shown and replayed (formsOf). What the answer does not have, the snapshot does not
// have either: null and silence differ (classID).
func reduce(answer providers.Value, calendarEmail string) []byte {
	var out providers.Object
	out.Copy(answer, "id", "datetime", "datetimeCreated", "duration", "appointmentTypeID", "classID", "calendarID",
		"email", "timezone", "calendarTimezone", "canceled", "noShow")
	for _, name := range []string{"firstName", "lastName", "phone", "type", "calendar"} {
		if text := providers.Plain(answer.Get(name).Text()); text != nil {
			out.AddText(name, *text)
		}
	}
	// Who has a meeting's link can join it.
	if place := providers.Place(answer.Get("location").Text()); place != nil {
		out.AddText("location", *place)
	}
	if calendarEmail != "" {
		out.AddText("calendarEmail", calendarEmail)
	}
	return out.JSON()
}
