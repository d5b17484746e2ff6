package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// sessionLife is how long a sign-in lasts. It does not grow with use, so that a
// page view is no write.
const sessionLife = 7 * 24 * time.Hour

const (
	sessionUser  = "user"
	sessionStamp = "stamp"
)

// sessions are kept in the database, which stores them under a hash of the cookie.
type sessions struct {
	manager *scs.SessionManager
	log     *slog.Logger
}

func newSessions(d Deps) *sessions {
	m := scs.New()
	m.Store = d.Sessions
	m.Lifetime = sessionLife
	m.Cookie.Name = "slotkeeper_session"
	m.Cookie.HttpOnly = true
	m.Cookie.SameSite = http.SameSiteLaxMode
	if d.PublicURL.Scheme == "https" {
		m.Cookie.Secure = true
		m.Cookie.Name = "__Host-" + m.Cookie.Name
	}
	return &sessions{manager: m, log: d.Log}
}

// load reads the request's session, and saves it before the answer begins.
func (s *sessions) load(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		token := ""
		if cookie, err := c.Cookie(s.manager.Cookie.Name); err == nil {
			token = cookie.Value
		}
		ctx, err := s.manager.Load(c.Request().Context(), token)
		if err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Before(func() { s.save(c) })
		return next(c)
	}
}

func (s *sessions) save(c echo.Context) {
	ctx := c.Request().Context()
	switch s.manager.Status(ctx) {
	case scs.Unmodified:
	case scs.Modified:
		token, expiry, err := s.manager.Commit(ctx)
		if err != nil {
			// Whoever signed in is asked to do so again.
			s.log.LogAttrs(ctx, slog.LevelError, "session not saved", slog.String("request_id", requestIDOf(ctx)), slog.Any("error", err))
			return
		}
		s.manager.WriteSessionCookie(ctx, c.Response(), token, expiry)
	case scs.Destroyed:
		s.manager.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	}
}

// begin signs a user in, under a new token: one that was planted is worth nothing.
func (s *sessions) begin(ctx context.Context, u access.User) error {
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	s.manager.Put(ctx, sessionUser, u.ID.String())
	s.manager.Put(ctx, sessionStamp, u.Stamp())
	return nil
}

func (s *sessions) end(ctx context.Context) error { return s.manager.Destroy(ctx) }

// user is who the session says is signed in.
func (s *sessions) user(ctx context.Context) (id uuid.UUID, stamp string) {
	id, err := uuid.Parse(s.manager.GetString(ctx, sessionUser))
	if err != nil {
		return uuid.Nil, ""
	}
	return id, s.manager.GetString(ctx, sessionStamp)
}

// viewer is who looks at a page, and how they like to see it.
type viewer struct {
	user     *access.User // nil when nobody is signed in
	language *language
	zone     *time.Location
}

// may tells whether the viewer may do it.
func (v viewer) may(a access.Action) bool { return v.user != nil && v.user.Principal().May(a) }

// operator tells whether the viewer works with bookings, and may see what
// providers sent.
func (v viewer) operator() bool { return v.may(access.MapResources) }

// identify finds out who looks. The user is read with every request: one that
// was disabled, or has another password since, is signed out.
func (s *server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		v := viewer{language: s.languages.of("", c.Request().Header.Get("Accept-Language")), zone: s.Zone}
		if id, stamp := s.sessions.user(ctx); id != uuid.Nil {
			u, err := s.Accounts.User(ctx, id)
			switch {
			case errors.Is(err, booking.ErrNotFound) || err == nil && u.Stamp() != stamp:
				if err := s.sessions.end(ctx); err != nil {
					return err
				}
			case err != nil:
				return err
			default:
				v.user = &u
				v.language = s.languages.of(u.Language, c.Request().Header.Get("Accept-Language"))
				if zone, err := loadZone(u.Timezone); err == nil {
					v.zone = zone
				}
			}
		}
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, keyViewer, v)))
		return next(c)
	}
}

func (s *server) viewer(c echo.Context) viewer {
	if v, ok := c.Request().Context().Value(keyViewer).(viewer); ok {
		return v
	}
	return viewer{language: s.languages.of("", c.Request().Header.Get("Accept-Language")), zone: s.Zone}
}

// requireUser sends whoever is not signed in to the sign-in page, and back after.
func (s *server) requireUser(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		v := s.viewer(c)
		if v.user == nil {
			to := "/signin"
			if c.Request().Method == http.MethodGet {
				to += "?next=" + url.QueryEscape(c.Request().URL.RequestURI())
			}
			return c.Redirect(http.StatusSeeOther, to)
		}
		if !v.may(access.View) {
			return &refusal{status: http.StatusForbidden, code: "forbidden"}
		}
		return next(c)
	}
}

// localPath is where to go after signing in: a path of ours, whatever a link
// that somebody sent says.
func localPath(s string) string {
	const fallback = "/calendar"
	u, err := url.Parse(s)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(s, "/") ||
		strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") || strings.HasPrefix(u.Path, "/signin") || u.Path == "/" {
		return fallback
	}
	return u.RequestURI()
}
