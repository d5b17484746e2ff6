package account

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// renewBefore is how long before its end a certificate should have been renewed.
const renewBefore = 14 * 24 * time.Hour

// checkURL is what to do when the public URL leads nowhere.
const checkURL = "is the server running, and does SLOTKEEPER_PUBLIC_URL lead to it from this machine?"

// Reach goes the way to the public URL from this machine: its address, a
// connection, its certificate. There is at least one hop, and all but the last
// went well.
func (a *Accounts) Reach(ctx context.Context) []Hop {
	u := a.opts.PublicURL
	hops := []Hop{a.hop(ctx, HopAddress, func(ctx context.Context, h *Hop) error { return lookUp(ctx, h, u.Hostname()) })}
	if !hops[0].OK {
		return hops
	}
	var conn net.Conn
	hops = append(hops, a.hop(ctx, HopConnect, func(ctx context.Context, h *Hop) (err error) {
		conn, err = dial(ctx, h, u)
		return err
	}))
	if conn == nil {
		return hops
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	if u.Scheme == "https" {
		hops = append(hops, a.hop(ctx, HopTLS, func(ctx context.Context, h *Hop) error {
			return shakeHands(ctx, h, conn, u.Hostname(), a.opts.Now())
		}))
	}
	return hops
}

// lookUp says which addresses a host has, and whether others can reach them.
func lookUp(ctx context.Context, h *Hop, host string) error {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		h.found(FoundNoAddress, "Host", host)
		h.Remedy = "check the host in SLOTKEEPER_PUBLIC_URL, and that the domain name system knows it"
		return err
	}
	said, plain, reachable := make([]string, 0, len(found)), make([]string, 0, len(found)), false
	for _, addr := range found {
		kind := "private"
		switch {
		case addr.Unmap().IsLoopback():
			kind = "this machine alone"
		case providers.Public(addr):
			kind, reachable = "public", true
		}
		said, plain = append(said, fmt.Sprintf("%s (%s)", addr.Unmap(), kind)), append(plain, addr.Unmap().String())
	}
	h.Detail = host + " is " + strings.Join(said, ", ")
	public, private := FoundAddress, FoundPrivate
	if _, err := netip.ParseAddr(host); err == nil {
		h.Detail = strings.Join(said, ", ")
		public, private = FoundIP, FoundPrivateIP
	}
	h.found(public, "Host", host, "Addresses", strings.Join(plain, ", "))
	if !reachable {
		h.found(private, "Host", host, "Addresses", strings.Join(plain, ", "))
		h.Remedy = "a provider on the internet does not reach it, unless the name has another address outside"
	}
	return nil
}

func dial(ctx context.Context, h *Hop, u *url.URL) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		h.found(FoundNoWay)
		h.Remedy = checkURL
		if errors.Is(err, syscall.ECONNREFUSED) {
			h.found(FoundNobody)
			h.Remedy = "nothing listens there: " + checkURL
		}
		return nil, err
	}
	h.found(FoundConnected, "Address", conn.RemoteAddr().String())
	h.Detail = fmt.Sprintf("%s is connected to, from %s", conn.RemoteAddr(), conn.LocalAddr())
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if u.Scheme == "http" && (!ok || !tcp.IP.IsLoopback()) {
		h.found(FoundPlain, "Address", conn.RemoteAddr().String())
		h.Remedy = "posts come in clear, and most providers demand https: see docs/tls.md"
	}
	return conn, nil
}

// shakeHands proves the certificate as a provider would.
func shakeHands(ctx context.Context, h *Hop, conn net.Conn, host string, now time.Time) error {
	c := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := c.HandshakeContext(ctx); err != nil {
		h.found(FoundBadCertificate)
		h.Remedy = "a provider will not post there: see docs/tls.md"
		if refused := (*tls.CertificateVerificationError)(nil); errors.As(err, &refused) && len(refused.UnverifiedCertificates) > 0 {
			return fmt.Errorf("%w; the certificate is %s", err, certificate(refused.UnverifiedCertificates[0]))
		}
		return err
	}
	leaf := c.ConnectionState().PeerCertificates[0]
	h.Detail = "the certificate is " + certificate(leaf)
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	h.found(FoundCertificate, "Issuer", leaf.Issuer.CommonName, "Until", until)
	if leaf.NotAfter.Sub(now) < renewBefore {
		h.found(FoundCertificateEnds, "Issuer", leaf.Issuer.CommonName, "Until", until)
		h.Remedy = "it ends soon: is it renewed by itself?"
	}
	return nil
}

// certificate says for whom one is, and until when.
func certificate(c *x509.Certificate) string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = []string{"no name"}
	}
	return fmt.Sprintf("for %s, by %s, until %s", strings.Join(names, ", "), c.Issuer.CommonName, c.NotAfter.UTC().Format(time.DateOnly))
}

// posted is what a post was answered.
type posted struct {
	status int
	header http.Header
	body   []byte
}

// maxAnswer is the most that is read of an answer of our own server.
const maxAnswer = 64 << 10

// client calls our own public URL under the rules of all our calls, but for its
// address, which may be private.
func (a *Accounts) client() (*http.Client, error) {
	own, err := providers.ParseAllowedHosts(a.opts.PublicURL.Host)
	if err != nil {
		return nil, err
	}
	c := providers.NewClient(providers.Outbound{Allowed: own, Tempo: 1, Now: a.opts.Now})
	// A provider may not follow; that there is a redirect is what matters.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

func (a *Accounts) post(ctx context.Context, target string, body []byte, header http.Header) (posted, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return posted{}, err
	}
	r.Header = header
	return a.send(r)
}

// Get reads a page of our own at the public URL: its status and its beginning.
func (a *Accounts) Get(ctx context.Context, path string) (status int, body []byte, err error) {
	ctx, stop := context.WithTimeout(ctx, hopTimeout)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.opts.PublicURL.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	got, err := a.send(r)
	return got.status, got.body, err
}

func (a *Accounts) send(r *http.Request) (posted, error) {
	c, err := a.client()
	if err != nil {
		return posted{}, err
	}
	defer c.CloseIdleConnections()
	r.Header.Set("User-Agent", "Slotkeeper")
	resp, err := c.Do(r)
	if err != nil {
		return posted{}, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return posted{status: resp.StatusCode, header: resp.Header, body: content}, err
}

// Skew is how far our clock is ahead of an API's, as its answer to a question
// without credentials tells; false when it tells nothing.
func (a *Accounts) Skew(ctx context.Context, base string) (time.Duration, bool, error) {
	ctx, stop := context.WithTimeout(ctx, hopTimeout)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, base, http.NoBody)
	if err != nil {
		return 0, false, err
	}
	resp, err := a.opts.Client.Do(r)
	if resp == nil {
		return 0, false, err
	}
	_ = resp.Body.Close() // a redirect that is not followed has an answer and an error
	ahead, told := providers.Skew(resp.Header, a.opts.Now())
	return ahead, told, nil
}

// judge says what an answer to a selftest means.
func (p posted) judge(h *Hop, provider string) (receipt uuid.UUID, err error) {
	var answer struct {
		EventID uuid.UUID             `json:"event_id"`
		Status  booking.ReceiptStatus `json:"status"`
	}
	notOurs := func() error {
		h.found(FoundNotOurs, "Status", strconv.Itoa(p.status))
		h.Said = said(p.body)
		return fmt.Errorf("%w: it said %d %q", errNotOurs, p.status, h.Said)
	}
	if p.status/100 == 2 {
		if json.Unmarshal(p.body, &answer) != nil || answer.EventID == uuid.Nil {
			h.Remedy = checkURL
			return uuid.Nil, notOurs()
		}
		if answer.Status != booking.StatusIgnored {
			h.found(FoundStoredOtherwise)
			return uuid.Nil, fmt.Errorf("a selftest should be ignored, and was answered %s", answer.Status)
		}
		h.found(FoundTaken)
		h.Detail = fmt.Sprintf("%s, as receipt %s", answer.Status, answer.EventID)
		return answer.EventID, nil
	}
	var problem struct{ Code, Detail string }
	ours := json.Unmarshal(p.body, &problem) == nil && problem.Code != ""
	switch {
	case p.status/100 == 3:
		to := "elsewhere"
		if u, err := url.Parse(p.header.Get("Location")); err == nil {
			to = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
		}
		h.found(FoundRedirect, "To", to)
		h.Remedy = "give SLOTKEEPER_PUBLIC_URL as it is after the redirect: providers may not follow it"
		return uuid.Nil, fmt.Errorf("answered %d: sent on to %s", p.status, to)
	case !ours:
		h.Remedy = "whatever stands in front of the server must let posts to /webhooks/ through as they are; or " + checkURL
		return uuid.Nil, notOurs()
	}
	switch problem.Code {
	case "connection_unknown":
		h.found(FoundUnknownThere)
		h.Remedy = "the server that answers does not know the connection: it has another database than this command"
	case "signature_missing":
		h.found(FoundUnsigned)
		h.Remedy = "whatever stands in front of the server takes the signature's header away"
	case "signature_invalid":
		h.found(FoundAltered)
		h.Remedy = "whatever stands in front of the server changes the body, or the server has another database than this command"
	case "signature_too_old":
		h.found(FoundClocks)
		h.Remedy = "the clocks of this machine and of the server differ"
	case "rate_limited":
		h.found(FoundLimited)
		h.Remedy = "too many forged posts came from this address: try again in a minute"
	case "unavailable":
		h.found(FoundNoDatabase)
		h.Remedy = "the server's database is away: see doctor"
	default:
		h.found(FoundRefused, "Status", strconv.Itoa(p.status), "Code", problem.Code)
		h.Remedy = "see the server's log"
	}
	return uuid.Nil, fmt.Errorf("%s's posts would be answered %d %s", provider, p.status, problem.Code)
}
