package web

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"slotkeeper/providers"
)

// reach is how far the address that webhook URLs are made of leads.
type reach string

// The reaches. Only what the address itself says is judged: a name may still lead
// nowhere, which the self-test finds out.
const (
	reachPublic  reach = ""
	reachLocal   reach = "local"   // this machine alone
	reachPrivate reach = "private" // the network that it is in
	reachPlain   reach = "plain"   // the internet, but without TLS
)

// privateNames are the ends of names that only a network of one's own knows.
var privateNames = []string{".local", ".lan", ".internal", ".intranet", ".home.arpa"}

// reachOf judges a public URL.
func reachOf(u *url.URL) reach {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", strings.HasSuffix(host, ".localhost"):
		return reachLocal
	case err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified()):
		return reachLocal
	case err == nil && !providers.Public(addr):
		return reachPrivate
	case err != nil && !strings.Contains(host, "."):
		return reachPrivate
	case slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(host, end) }):
		return reachPrivate
	case u.Scheme != "https":
		return reachPlain
	}
	return reachPublic
}

// unreached is what pages about connections warn of: posts that cannot come.
type unreached struct {
	Reach    reach
	URL      string // as it is set
	Provider string // "" of all
}

// unreached is nil when providers may reach us. What posts to a generic connection
// is the operator's own, and may be as near as he likes.
func (s *server) unreached(provider string) *unreached {
	r := reachOf(s.PublicURL)
	if r == reachPublic || provider == generic && r != reachLocal {
		return nil
	}
	return &unreached{Reach: r, URL: s.PublicURL.String(), Provider: provider}
}
