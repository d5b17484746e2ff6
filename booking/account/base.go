package account

import (
	"net/url"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Base is where an account's API lives, in its one spelling: it is part of every
// booking's identity. "" is the provider's own. A provider without an API has no
// base; its connections are their own (generic).
func Base(p providers.Provider, raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return p.APIBase(), nil
	}
	if p.APIBase() == "" {
		return "", &booking.InvalidError{Field: "api_url", Detail: p.Name() + " has no API"}
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return "", &booking.InvalidError{Field: "api_url", Detail: "give it as https://host[/path]"}
	}
	u.Host, u.Fragment = strings.ToLower(u.Host), ""
	return strings.TrimRight(u.String(), "/"), nil
}
