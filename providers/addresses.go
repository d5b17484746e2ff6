package providers

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// PrivateHostsSetting names the setting that lists hosts which may be reached
// although their addresses are not public ones.
const PrivateHostsSetting = "SLOTKEEPER_ALLOW_PRIVATE_HOSTS"

// AddressError says that a call was not made because of where it would go: an
// API's address is given by people, and may come to lead into our own network.
type AddressError struct {
	Host string // as the URL names it, with its port
	Addr netip.Addr
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s leads to %s, which is no public address; if that is meant, name the host in %s", e.Host, e.Addr, PrivateHostsSetting)
}

// AllowedHosts are hosts that may be reached at any address. The zero value
// allows none.
type AllowedHosts struct {
	entries map[string]struct{} // "host" or "host:port"
}

// ParseAllowedHosts reads a list of hosts, each with or without a port, separated
// by commas or blanks: "localhost, acuity.intern:8443, [fd00::7]:443".
func ParseAllowedHosts(list string) (AllowedHosts, error) {
	a := AllowedHosts{entries: map[string]struct{}{}}
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		host, port := entry, ""
		if h, p, err := net.SplitHostPort(entry); err == nil {
			host, port = h, p
			if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
				return AllowedHosts{}, fmt.Errorf("%q: %q is not a port", entry, p)
			}
		}
		host = normalHost(host)
		_, notIP := netip.ParseAddr(host)
		if host == "" || strings.ContainsAny(host, "/*@?#[]") || notIP != nil && strings.Contains(host, ":") {
			return AllowedHosts{}, fmt.Errorf("%q is not a host, nor a host and port; neither URLs nor prefixes can be listed", entry)
		}
		a.entries[joinPort(host, port)] = struct{}{}
	}
	return a, nil
}

// Allows tells whether a "host:port", as a URL names it, is listed.
func (a AllowedHosts) Allows(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	host = normalHost(host)
	_, anyPort := a.entries[host]
	_, thisPort := a.entries[joinPort(host, port)]
	return anyPort || thisPort
}

func joinPort(host, port string) string {
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

func normalHost(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return host
}

// notPublic are the ranges that no provider's API can be in: our own machine and
// network, those of carriers and clouds behind it (metadata services answer there
// with credentials), and what is no single host's. IPv6 is the other way round:
// only what is handed out may be reached.
var (
	notPublic = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/3",
		"168.63.129.16/32", // Azure's platform service, on a public address
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// Public tells whether an address belongs to the public internet.
func Public(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !addr.IsValid() || addr.Is6() && !globalUnicast.Contains(addr) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// checkAddress refuses a resolved "ip:port" of a host that is not public.
func checkAddress(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return fmt.Errorf("dial %s: %w", host, err)
	}
	if !Public(at.Addr()) {
		return &AddressError{Host: host, Addr: at.Addr()}
	}
	return nil
}
