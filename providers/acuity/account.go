package acuity

import (
	"context"
	"net/http"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Identify says whose account it is, and which calendars it has. Whoever may call
// Acuity's API sees the whole account; there are no wider and narrower keys.
// planCapabilities is not asked: it was recorded as forbidding the API on an
// account whose calls worked.
func (*Provider) Identify(ctx context.Context, client *http.Client, c providers.Connection) (providers.Profile, error) {
	a := newAPI(client, c)
	me, err := a.get(ctx, "/me", nil, maxAccount)
	if err != nil {
		return providers.Profile{}, err
	}
	var id, rest providers.Fields
	p := providers.Profile{ExternalID: number(&id, me.Get("id"), "id"), Email: rest.Email(me.Get("email"), "email"), Wide: true}
	if id.Fault() != nil {
		return providers.Profile{}, providers.BadAnswer("it does not say whose account it is")
	}
	if name := rest.Text(me.Get("name")); name != nil {
		p.Name = *name
	}
	if zone := rest.Zone(me.Get("timezone"), "timezone"); zone != nil {
		p.Timezone = *zone
	}
	all, err := listCalendars(ctx, a)
	if err != nil {
		return providers.Profile{}, err
	}
	p.Hosts = make([]booking.Host, 0, len(all))
	for _, listed := range all {
		p.Hosts = append(p.Hosts, listed.host)
	}
	return p, nil
}
