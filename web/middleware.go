package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
)

type contextKey int

const (
	keyRequestID contextKey = iota
	keyViewer
	keyCaller
	keyScope
)

// A request id from outside is kept when it can do no harm in a log.
var saneID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:=+/-]{0,99}$`)

func (s *server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if !saneID.MatchString(id) {
			id = newID().String()
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), keyRequestID, id)))
		return next(c)
	}
}

func requestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(keyRequestID).(string)
	return id
}

// newID is a UUID that sorts by the time it was made.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// logRequest writes one line per request, but for webhooks, which have their
// own, and for what only machines ask for every few seconds. It names the route,
// never the path: a path may hold a secret.
func (s *server) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := s.Now()
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		route := c.Path()
		level := slog.LevelInfo
		switch route {
		case webhookRoute, liveRoute, "/healthz", "/readyz", "/metrics", "/static/:name":
			level = slog.LevelDebug
		}
		ctx := c.Request().Context()
		s.Log.LogAttrs(ctx, level, "request",
			slog.String("request_id", requestIDOf(ctx)),
			slog.String("method", c.Request().Method),
			slog.String("route", route),
			slog.Int("status", c.Response().Status),
			slog.Duration("duration", s.Now().Sub(began)))
		return nil
	}
}

// panicError is a panic that became an error.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func (s *server) catchPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
				panic(v)
			}
			err = &panicError{value: v, stack: debug.Stack()}
		}()
		return next(c)
	}
}

// The policy of every answer: nothing from elsewhere, nothing inline, in nobody's
// frame.
const contentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

func (s *server) securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not no-referrer: browsers would then send posts with "Origin: null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		if s.PublicURL.Scheme == "https" {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		// What is shown needs a session or a token. Static files say otherwise.
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// maxForm is more than any form of ours needs: one with a thousand boxes.
const maxForm = 64 << 10

// wholeForm reads a posted form. One that did not come whole is refused before a
// handler sees it: a box that is missing means "no" to a handler, and would take
// away what it protects.
func wholeForm(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == echo.MIMEMultipartForm:
		err = r.ParseMultipartForm(maxForm)
	case err == nil && kind == echo.MIMEApplicationForm:
		err = r.ParseForm()
	case r.ContentLength == 0:
		err = nil // a button without any field
	default:
		return &refusal{status: http.StatusUnsupportedMediaType, code: "unsupported", cause: err}
	}
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &tooLarge) {
		return err
	}
	return &refusal{status: http.StatusBadRequest, code: "bad_request", cause: err}
}

// sameOrigin refuses posts that another site's page makes in a signed-in
// browser, and forms that did not come whole. Browsers say where a request comes from (Sec-Fetch-Site, else
// Origin), so no form needs a token; the cookie is SameSite=Lax besides. A
// client that sends neither header is no browser and has no cookie to abuse.
func (s *server) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	// A proxy may have replaced Host. A URL with a path or so is refused here
	// only; then the Host must fit.
	_ = protection.AddTrustedOrigin(s.PublicURL.Scheme + "://" + s.PublicURL.Host)
	return func(c echo.Context) error {
		if err := protection.Check(c.Request()); err != nil {
			return &refusal{status: http.StatusForbidden, code: "cross_origin", cause: err}
		}
		if err := wholeForm(c.Response(), c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// clientAddress believes X-Forwarded-For as far as trusted proxies wrote it.
func clientAddress(trusted []netip.Prefix) echo.IPExtractor {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range trusted {
		p = p.Masked()
		options = append(options, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}

// client is who counts as one: an IPv4 address, or an IPv6 /64, of which
// everybody has one.
func client(c echo.Context) string {
	addr, err := netip.ParseAddr(c.RealIP())
	if err != nil {
		return c.RealIP()
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	p, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return p.String()
}

// speaksJSON tells whether the path belongs to programs, not to people.
func speaksJSON(path string) bool {
	for _, p := range []string{"/api", "/webhooks", "/feeds"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return path == "/healthz" || path == "/readyz" || path == "/metrics"
}

// plainQuery refuses queries that are no text: PostgreSQL takes neither NUL nor
// broken UTF-8, and nothing of ours has either.
func plainQuery(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		for name, values := range c.QueryParams() {
			for _, v := range append(values, name) {
				if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
					return &booking.InvalidError{Detail: "the query holds what is no text"}
				}
			}
		}
		return next(c)
	}
}
