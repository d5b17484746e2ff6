package calendly

import "slotkeeper/providers"

const authBase = "https://auth.calendly.com"

// OAuth is where a web app is authorised: its id and secret go into the header. A
// scope to write holds the one to read; that of scheduled events also decides
// whether a subscription gets posts about them. Since March 2026 a new app has
// nothing that it does not ask for.
func (*Provider) OAuth(base string) providers.OAuthEndpoint {
	if base == "" {
		base = authBase
	}
	return providers.OAuthEndpoint{
		AuthURL: base + "/oauth/authorize", TokenURL: base + "/oauth/token",
		Scopes: []string{"users:read", "organizations:read", "scheduled_events:read", "scheduled_events:write", "webhooks:read", "webhooks:write"},
	}
}
