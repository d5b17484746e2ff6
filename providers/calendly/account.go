package calendly

import (
	"context"
	"net/http"
	"net/url"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Identify asks who the token's user is, and, where he is an owner or administrator
// of his organization, who else is in it. Whether a user who is neither is answered
// with 403 or with a list is not documented: both leave only himself.
func (*Provider) Identify(ctx context.Context, client *http.Client, c providers.Connection) (providers.Profile, error) {
	a := &api{client: client, connection: c}
	me, err := a.me(ctx)
	if err != nil {
		return providers.Profile{}, err
	}
	p := providers.Profile{
		ExternalID: me.host.ExternalID, Name: me.host.Name, Email: me.host.Email, Timezone: me.timezone,
		Organization: address(me.organization), Hosts: []booking.Host{me.host},
	}
	seen := map[string]bool{me.host.ExternalID: true}
	hosts := p.Hosts
	err = a.each(ctx, "/organization_memberships", url.Values{"organization": {p.Organization}}, func(m providers.Value) {
		h := member(m.Get("user"))
		if h.ExternalID == me.host.ExternalID {
			role := m.Get("role").Text()
			p.Wide = p.Wide || role == "owner" || role == "admin"
		}
		if h.ExternalID != "" && !seen[h.ExternalID] {
			seen[h.ExternalID] = true
			hosts = append(hosts, h)
		}
	})
	if _, no := forbidden(err); err != nil && !no {
		return providers.Profile{}, err
	}
	if err != nil {
		p.Wide = false
	}
	if p.Wide {
		p.Hosts = hosts
	}
	return p, nil
}

// user is the token's own.
type user struct {
	host         booking.Host
	timezone     string
	organization string // its path
}

func (a *api) me(ctx context.Context) (user, error) {
	answer, err := a.call(ctx, http.MethodGet, "/users/me", nil, nil, maxResource, true)
	if err != nil {
		return user{}, err
	}
	found := answer.Get("resource")
	u := user{host: member(found), organization: identity(found.Get("current_organization"))}
	if !userPath.MatchString(u.host.ExternalID) || !organizationPath.MatchString(u.organization) {
		return user{}, providers.BadAnswer("it does not name the user and the organization")
	}
	var in providers.Fields
	if zone := in.Zone(found.Get("timezone"), "timezone"); zone != nil {
		u.timezone = *zone
	}
	return u, nil
}

// member is a user as bookings name their hosts. What cannot be read of it is left
// out.
func member(v providers.Value) booking.Host {
	var in providers.Fields
	h := booking.Host{ExternalID: path(&in, v.Get("uri"), "uri"), Email: in.Email(v.Get("email"), "email")}
	if name := in.Text(v.Get("name")); name != nil {
		h.Name = *name
	}
	return h
}
