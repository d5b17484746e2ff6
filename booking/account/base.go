package account

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
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
	u.Fragment, u.RawPath, u.Path = "", "", strings.TrimRight(path.Clean("/"+u.Path), "/")
	u.Host = host(u)
	return u.String(), nil
}

// host is the URL's in one spelling: two of one API would double its bookings.
func host(u *url.URL) string {
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(name); err == nil {
		name = ip.Unmap().String()
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == map[string]uint64{"http": 80, "https": 443}[u.Scheme] {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, strconv.FormatUint(port, 10))
}
