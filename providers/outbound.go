package providers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// How long a call may take. The client's own waiting for its turn is not part of
// it: whoever calls bounds that with a context.
const (
	callTimeout    = 20 * time.Second
	connectTimeout = 5 * time.Second
	idleTimeout    = 60 * time.Second
	// leastTimeout keeps a machine that is busy with tests from seeing failures
	// that are its own, however fast time passes.
	leastTimeout = time.Second

	maxRedirects    = 3
	maxHeader       = 64 << 10
	idlePerHost     = 4
	maxIdle         = 64
	userAgentHeader = "Slotkeeper"
)

// ErrRedirected says that an API sent us elsewhere: credentials go only to the
// host that they were given for.
var ErrRedirected = errors.New("the API redirects to another host")

// Outbound says how calls to providers' APIs are made.
type Outbound struct {
	// Allowed are hosts that may be reached on private networks.
	Allowed AllowedHosts
	Tempo   Tempo
	Now     func() time.Time
}

// NewClient makes the one client for calls to providers' APIs; limits and pauses
// are shared by all who use it. It reaches public addresses only, decided
// when it dials and thus after the name was resolved, uses no proxy, since a proxy
// would resolve names on its own, and speaks HTTP/1.1, where a request in flight
// is a connection, which is what providers count.
func NewClient(o Outbound) *http.Client {
	timeout := func(d time.Duration) time.Duration { return max(o.Tempo.Wait(d), leastTimeout) }
	d := &dialer{allowed: o.Allowed, timeout: timeout(connectTimeout)}
	transport := &http.Transport{
		DialContext:            d.dial,
		TLSHandshakeTimeout:    timeout(connectTimeout),
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		MaxIdleConns:           maxIdle,
		MaxResponseHeaderBytes: maxHeader,
	}
	byAccount := transport.Clone()
	transport.MaxConnsPerHost = maxConnections
	return &http.Client{
		Transport:     newPaced(transport, byAccount, o.Tempo, timeout(callTimeout), o.Now),
		CheckRedirect: sameHost,
	}
}

// NewPoster makes a client for posts to URLs that people give: it dials as NewClient's
// does, with no limits that are shared, follows no redirect, and a post is over, its
// answer read, after timeout.
func NewPoster(o Outbound, timeout time.Duration) *http.Client {
	d := &dialer{allowed: o.Allowed, timeout: max(o.Tempo.Wait(connectTimeout), leastTimeout)}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            d.dial,
			TLSHandshakeTimeout:    d.timeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConnsPerHost:    idlePerHost,
			MaxIdleConns:           maxIdle,
			MaxResponseHeaderBytes: maxHeader,
		},
		// A redirect is an answer like another: where it leads, nobody has checked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       max(o.Tempo.Wait(timeout), leastTimeout),
	}
}

// CauseOf is why a call failed without its URL, which may hold a secret or an e-mail.
func CauseOf(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// errUnreadable is of an answer that is no HTTP. What it is instead is not told: it may
// repeat what was sent.
var errUnreadable = errors.New("the answer is no HTTP")

// PlainCause is CauseOf in words that quote nothing of the answer: texts of errors are
// logged and kept, and whoever answers may repeat what he was told.
func PlainCause(err error) error {
	err = CauseOf(err)
	var (
		address *AddressError
		cert    *tls.CertificateVerificationError
		network net.Error
	)
	switch {
	case errors.As(err, &address), errors.As(err, &cert), errors.As(err, &network), errors.Is(err, context.Canceled), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(syscall.Errno)):
		return err
	}
	return errUnreadable
}

func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		return ErrRedirected
	}
	return nil
}

type dialer struct {
	allowed AllowedHosts
	timeout time.Duration
}

func (d *dialer) dial(ctx context.Context, network, host string) (net.Conn, error) {
	n := net.Dialer{Timeout: d.timeout}
	if !d.allowed.Allows(host) {
		n.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return checkAddress(host, resolved)
		}
	}
	return n.DialContext(ctx, network, host)
}

// ErrAnswerTooLarge says that an API answered with more than we read.
var ErrAnswerTooLarge = errors.New("the API's answer is too large")

// readCapped reads an answer of at most limit bytes.
func readCapped(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrAnswerTooLarge, limit)
	}
	return body, nil
}
