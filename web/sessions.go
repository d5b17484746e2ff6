package web

import (
	"context"
	"crypto/rand"
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

// SessionStore keeps the sessions of the pages; *store.WebSessions.
type SessionStore interface {
	scs.CtxStore
	// SucceedCtx gives a session another token. Of several who try at once one
	// succeeds; for the others it is false, and whatever is asked of the old token
	// within the next seconds is asked of the session under its new one.
	SucceedCtx(ctx context.Context, old, token string, data []byte, expiry time.Time) (bool, error)
}

// sessions are kept in the database, which stores them under a hash of the cookie.
type sessions struct {
	manager *scs.SessionManager
	store   SessionStore
	log     *slog.Logger
	now     func() time.Time
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
	return &sessions{manager: m, store: d.Sessions, log: d.Log, now: d.Now}
}

// load reads the request's session, and saves it before the answer begins.
func (s *sessions) load(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		token := ""
		if cookie, err := c.Cookie(s.manager.Cookie.Name); err == nil {
			token = cookie.Value
		}
		if err := s.read(c, c.Request().Context(), token); err != nil {
			return err
		}
		c.Response().Before(func() { s.save(c) })
		return next(c)
	}
}

// beforeSession is where an echo.Context keeps the context that has no session yet:
// another session can be read only there.
const beforeSession = "slotkeeper.before_session"

// read makes a token's session that of the request.
func (s *sessions) read(c echo.Context, before context.Context, token string) error { //nolint:revive // before is no context of this call
	ctx, err := s.manager.Load(before, token)
	if err != nil {
		return err
	}
	c.Set(beforeSession, before)
	c.SetRequest(c.Request().WithContext(ctx))
	return nil
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
		if s.id(ctx) != access.SessionID(token) {
			return // the browser has the new token already: this is the one before
		}
		s.manager.WriteSessionCookie(ctx, c.Response(), token, expiry)
	case scs.Destroyed:
		s.manager.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	}
}

// begin signs a user in, under a new token: one that was planted is worth nothing.
func (s *sessions) begin(ctx context.Context, u access.User, from *http.Request, remote string) error {
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	s.manager.Put(ctx, access.SessionSelf, access.SessionID(s.manager.Token(ctx)))
	s.manager.Put(ctx, access.SessionUser, u.ID.String())
	s.manager.Put(ctx, access.SessionStamp, u.Stamp())
	s.manager.Put(ctx, access.SessionRole, string(u.Role))
	s.manager.Put(ctx, access.SessionAgent, clip(from.UserAgent(), access.MaxAgent))
	s.manager.Put(ctx, access.SessionRemote, remote)
	s.manager.Put(ctx, access.SessionBegan, s.now().UTC().Format(time.RFC3339Nano))
	return nil
}

// keepRole gives the session of somebody whose role was changed a new token, as a
// sign-in does: once, however many requests the browser sends at the same time. The
// others go on in the same session, without a cookie.
func (s *sessions) keepRole(c echo.Context, role access.Role) error {
	ctx := c.Request().Context()
	if s.manager.GetString(ctx, access.SessionRole) == string(role) {
		return nil
	}
	before, ok := c.Get(beforeSession).(context.Context)
	if !ok {
		return errors.New("web: a session that was not loaded")
	}
	old, token, expiry := s.manager.Token(ctx), rand.Text(), s.manager.Deadline(ctx)
	values := map[string]any{}
	for _, key := range s.manager.Keys(ctx) {
		values[key] = s.manager.Get(ctx, key)
	}
	values[access.SessionRole], values[access.SessionSelf] = string(role), access.SessionID(token)
	data, err := s.manager.Codec.Encode(expiry, values)
	if err != nil {
		return err
	}
	succeeded, err := s.store.SucceedCtx(ctx, old, token, data, expiry)
	if err != nil {
		return err
	}
	if !succeeded {
		return s.read(c, before, old)
	}
	s.manager.WriteSessionCookie(ctx, c.Response(), token, expiry)
	return s.read(c, before, token)
}

// id is what the session is listed under.
func (s *sessions) id(ctx context.Context) string {
	if self := s.manager.GetString(ctx, access.SessionSelf); self != "" {
		return self
	}
	return access.SessionID(s.manager.Token(ctx))
}

// clip cuts a text after so many bytes, between characters.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func (s *sessions) end(ctx context.Context) error { return s.manager.Destroy(ctx) }

// user is who the session says is signed in.
func (s *sessions) user(ctx context.Context) (id uuid.UUID, stamp string) {
	id, err := uuid.Parse(s.manager.GetString(ctx, access.SessionUser))
	if err != nil {
		return uuid.Nil, ""
	}
	return id, s.manager.GetString(ctx, access.SessionStamp)
}

// viewer is who looks at a page, and how they like to see it.
type viewer struct {
	user     *access.User // nil when nobody is signed in
	language *language
	zone     *time.Location
}

// may tells whether the viewer may do it.
func (v viewer) may(a access.Action) bool { return v.user != nil && v.user.Principal().May(a) }

// operator tells whether the viewer works with bookings.
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
				if err := s.sessions.keepRole(c, u.Role); err != nil {
					return err
				}
				ctx = c.Request().Context()
				if again, _ := s.sessions.user(ctx); again != id {
					break // signed out in the same moment
				}
				if err := s.Accounts.SawSession(ctx, s.sessions.id(ctx), c.RealIP()); err != nil {
					return err
				}
				v.user = &u
				ctx = withScope(ctx, u.Scope())
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

// requireUser sends whoever is not signed in to the sign-in page, and back after,
// and lets in who may, by the one table.
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
		if !v.may(routeAction(c.Request().Method, c.Path())) {
			return errNoRole
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
