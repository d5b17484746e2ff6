package acuity

import (
	"strings"

	"slotkeeper/providers"
)

const (
	site    = "https://acuityscheduling.com"
	apiPath = "/api/v1"
	scope   = "api-v1"
)

// OAuth is where an app is authorised. Its token opens the API and no more: what
// Acuity posts is signed with the API key of the user who made the hook, which the
// token does not reveal and a connection needs all the same. base may be a site or
// the address of its API.
func (*Provider) OAuth(base string) providers.OAuthEndpoint {
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/"), apiPath)
	if base == "" {
		base = site
	}
	return providers.OAuthEndpoint{
		AuthURL: base + "/oauth2/authorize", TokenURL: base + "/oauth2/token", Scopes: []string{scope}, InParams: true,
	}
}
