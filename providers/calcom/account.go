package calcom

import (
	"context"
	"net/http"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Identify asks whose key it is. A key belongs to a user and sees that user's
// bookings; who else may be booked in his teams it does not tell.
func (*Provider) Identify(ctx context.Context, client *http.Client, c providers.Connection) (providers.Profile, error) {
	answer, err := get(ctx, client, c, "/me", bookingsVersion)
	if err != nil {
		return providers.Profile{}, err
	}
	me := answer.Get("data")
	var in providers.Fields
	p := providers.Profile{
		ExternalID:   in.CheckID(numeral(me.Get("id")), "id"),
		Email:        in.Email(me.Get("email"), "email"),
		Timezone:     strings.TrimSpace(me.Get("timeZone").Text()),
		Organization: numeral(me.Get("organizationId")),
	}
	if p.Organization == "" {
		p.Organization = numeral(me.Get("organization", "id"))
	}
	for _, name := range []string{"name", "username"} {
		if text := in.Text(me.Get(name)); text != nil && p.Name == "" {
			p.Name = *text
		}
	}
	if in.Fault() != nil || p.ExternalID == "" {
		return providers.Profile{}, providers.BadAnswer("it does not say whose key it is")
	}
	if p.Email != "" {
		p.Hosts = []booking.Host{{ExternalID: p.Email, Email: p.Email, Name: p.Name}}
	}
	return p, nil
}

// numeral is an id, whether the API writes it as a number or as a text.
func numeral(v providers.Value) string {
	if n := v.Number(); n != "" {
		return n
	}
	return strings.TrimSpace(v.Text())
}

// Selftest is a body as Cal.com would send it, that says only that it came: Parse
// makes a selftest of it, which is ignored. The id tells one test from the next.
func (*Provider) Selftest(id string) []byte {
	var payload, out providers.Object
	payload.AddText("id", id)
	out.AddText("triggerEvent", string(booking.KindSelftest))
	out.Add("payload", payload.JSON())
	return out.JSON()
}
