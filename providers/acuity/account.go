package acuity

import (
	"cmp"
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

// ProveKey asks as the user whose key it is. Without his id the account's own is taken,
// which is his where the account has one user.
func (*Provider) ProveKey(ctx context.Context, client *http.Client, c providers.Connection) error {
	user := cmp.Or(c.API.User, c.Owner.ExternalID)
	c.API = providers.Credentials{User: user}
	me, err := newAPI(client, c).get(ctx, "/me", nil, maxAccount)
	if _, refused := refusedWith(err, http.StatusUnauthorized, http.StatusForbidden); refused {
		return &providers.KeyError{Err: err}
	}
	if err != nil {
		return err
	}
	var in providers.Fields
	id := number(&in, me.Get("id"), "id")
	switch {
	case in.Fault() != nil:
		return providers.BadAnswer("it does not say whose account it is")
	case id != c.Owner.ExternalID:
		return &providers.KeyError{Foreign: true}
	}
	return nil
}
