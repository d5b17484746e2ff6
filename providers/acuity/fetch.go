package acuity

import (
	"context"
	"errors"
	"net/http"

	"slotkeeper/providers"
)

// The most that we read of an answer.
const (
	maxAppointment = 1 << 20
	maxCalendars   = 4 << 20
)

// errNoCredentials says what to give a connection.
var errNoCredentials = errors.New("the connection has no user id or API key; both stand in Acuity under Integrations, API")

// Fetch asks for the appointment, and for the calendars when it is in one that
// nobody asked about lately.
func (p *Provider) Fetch(ctx context.Context, client *http.Client, c providers.Connection, subject string, _ []byte) ([]byte, error) {
	id, f := appointmentID(subject)
	if f != nil {
		return nil, errors.New(f.Text)
	}
	answer, err := ask(ctx, client, c, "/appointments/"+id+"?pastFormAnswers=false", maxAppointment)
	if err != nil {
		return nil, err
	}
	if err := check(answer, id); err != nil {
		return nil, err
	}
	email, err := p.calendars.email(ctx, client, c, numeral(answer.Get("calendarID")))
	if err != nil {
		return nil, err
	}
	return providers.Snapshot(reduce(answer, email))
}

func ask(ctx context.Context, client *http.Client, c providers.Connection, path string, limit int64) (providers.Value, error) {
	if c.API.User == "" || c.Secrets.Current == "" {
		return providers.Value{}, errNoCredentials
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.APIBase+path, http.NoBody)
	if err != nil {
		return providers.Value{}, err
	}
	r.SetBasicAuth(c.API.User, c.Secrets.Current)
	return providers.Ask(client, r, limit, c.Secrets.Current)
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
// codes stay where they are. What the answer does not have, the snapshot does not
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
